//! The in-process engine against golden values, where the weights are at hand.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;
use wheel::domain::{Conversation, Role, Sampling, Scoring, ScoringMode, Status};
use wheel::provider::local::fetch::Fetching;
use wheel::provider::local::{Engine, Generation, Request};
use wheel::provider::{InProcessCall, Respondent};

#[derive(Deserialize)]
struct Golden {
    tokens: Vec<Tokenised>,
    greedy: Vec<Greedy>,
    targets: Vec<String>,
    logprobs: Vec<Logprobs>,
    #[serde(default)]
    reference: Vec<Logprobs>,
}

#[derive(Deserialize)]
struct Tokenised {
    text: String,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
struct Greedy {
    prompt: String,
    max_new_tokens: u32,
    reply: String,
}

#[derive(Deserialize)]
struct Logprobs {
    prompt: String,
    logprobs: Vec<f64>,
}

static GOLDEN: LazyLock<Golden> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/smollm2.json")).unwrap());

/// The fetched weights; a test without them says so and passes.
static ENGINE: LazyLock<Option<Engine>> =
    LazyLock::new(|| weights("smollm2-135m-instruct", "smollm2-135m"));

fn weights(name: &str, model: &str) -> Option<Engine> {
    let registry =
        wheel::model::load(&[("built in".into(), wheel::model::built_in().into())]).unwrap();
    let weights = registry.weights(name).unwrap();
    let path: PathBuf = Fetching::from_environment(true, true).path(weights);
    if !path.is_file() {
        // Written past the test harness, which would keep it to itself.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: no weights at {}; `wheel models pull {model}` fetches them",
            path.display()
        );
        return None;
    }
    Some(Engine::load(&path, 1).unwrap())
}

fn generate(engine: &Engine, requests: &[Request]) -> Vec<Generation> {
    let mut replies = Vec::new();
    let done = engine.generate(requests, &mut |reply| {
        replies.push(reply);
        ControlFlow::Continue(())
    });
    done.unwrap();
    replies.sort_by_key(|reply| reply.request);
    replies
}

#[test]
fn texts_become_the_golden_token_ids() {
    let Some(engine) = &*ENGINE else { return };
    for case in &GOLDEN.tokens {
        assert_eq!(
            engine.encode(&case.text).unwrap(),
            case.ids,
            "{:?}",
            case.text
        );
    }
}

#[test]
fn greedy_replies_are_the_golden_ones() {
    let Some(engine) = &*ENGINE else { return };
    for case in &GOLDEN.greedy {
        let mut conversation = Conversation::default();
        conversation.say(Role::User, &case.prompt);
        let prompt = engine
            .encode(&engine.prompt(&conversation).unwrap())
            .unwrap();
        let settings = Sampling {
            max_output_tokens: Some(case.max_new_tokens),
            ..Sampling::default()
        };
        let request = Request {
            prompt,
            sampling: settings,
            line: None,
        };
        let reply = generate(engine, &[request]).remove(0);
        assert_eq!(engine.decode(&reply.ids).unwrap(), case.reply);
    }
}

#[test]
fn log_probabilities_lie_within_a_thousandth_of_the_golden_ones() {
    let Some(engine) = &*ENGINE else { return };
    // The first prompt with every fourth target, the others with the ends and the middle.
    for (n, case) in GOLDEN.logprobs.iter().enumerate() {
        let prompt = engine.encode(&case.prompt).unwrap();
        let step = if n == 0 { 4 } else { 50 };
        for at in (0..GOLDEN.targets.len()).step_by(step) {
            let target = engine.encode(&GOLDEN.targets[at]).unwrap();
            let found = engine.log_probability(&prompt, &target).unwrap();
            let wanted = case.logprobs[at];
            assert!(
                (found - wanted).abs() < 1e-3,
                "{:?} {:?}: {found} for {wanted}",
                case.prompt,
                GOLDEN.targets[at]
            );
        }
    }
}

#[test]
fn replies_of_a_batch_are_those_of_one_by_one() {
    let Some(engine) = &*ENGINE else { return };
    // Prompts of different length, one of them twice, with limits that end the sequences at different times.
    let texts = [
        "The height of the tower is about",
        "Say a number:",
        "Say a number:",
        "The height of a tower",
        "A",
        "The",
        "The height of the tower is far above",
        "Say",
        "Of the ten towers",
        "Say a word:",
    ];
    let requests: Vec<Request> = (1..)
        .zip(texts)
        .map(|(seed, text)| {
            let sampling = Sampling {
                temperature: Some(1.0),
                seed: Some(seed),
                max_output_tokens: Some(8 + seed),
                ..Sampling::default()
            };
            Request {
                prompt: engine.encode(text).unwrap(),
                sampling,
                line: None,
            }
        })
        .collect();
    let together = generate(engine, &requests);
    for (request, reply) in requests.iter().zip(&together) {
        assert_eq!(
            generate(engine, std::slice::from_ref(request))[0].ids,
            reply.ids
        );
    }
    assert_ne!(together[1].ids[..8], together[2].ids[..8]);
}

/// The targets of the golden file, without the blank that every answer follows.
fn scoring(mode: ScoringMode) -> Scoring {
    Scoring {
        mode,
        targets: GOLDEN
            .targets
            .iter()
            .map(|target| target.trim_start().into())
            .collect(),
    }
}

#[test]
fn a_tree_of_answers_gives_the_golden_log_probabilities() {
    let Some(engine) = &*ENGINE else { return };
    for case in GOLDEN.logprobs.iter().take(8) {
        let found = engine
            .score(&case.prompt, &scoring(ScoringMode::Exact))
            .unwrap();
        assert_eq!(found.merged, 0);
        for (found, wanted) in found.log_probabilities.iter().zip(&case.logprobs) {
            let found = found.unwrap();
            assert!(
                (found - wanted).abs() < 1e-3,
                "{:?}: {found} for {wanted}",
                case.prompt
            );
        }
    }
    // Within 1e-4 of a reference in double precision.
    for case in &GOLDEN.reference {
        let found = engine
            .score(&case.prompt, &scoring(ScoringMode::Exact))
            .unwrap();
        for (found, wanted) in found.log_probabilities.iter().zip(&case.logprobs) {
            let found = found.unwrap();
            assert!(
                (found - wanted).abs() < 1e-4,
                "{:?}: {found} for {wanted}",
                case.prompt
            );
        }
    }
}

#[test]
fn the_scores_of_the_paper_look_up_the_ids_of_the_answer_alone() {
    let Some(engine) = &*ENGINE else { return };
    let prompt = &GOLDEN.logprobs[1].prompt;
    let found = engine.score(prompt, &scoring(ScoringMode::Paper)).unwrap();
    for at in [0, 7, 57, 100] {
        // Digits stand alone here, so the ids of "57%" are the last ones of the whole text too, without its blank.
        let target = GOLDEN.targets[at].trim_start();
        let joint = engine.encode(&format!("{prompt} {target}")).unwrap();
        let bare = engine.encode(target).unwrap();
        let (before, _) = joint.split_at(joint.len() - bare.len());
        let wanted = engine.log_probability(before, &bare).unwrap();
        let found = found.log_probabilities[at].unwrap();
        assert!(
            (found - wanted).abs() < 1e-3,
            "{target}: {found} for {wanted}"
        );
    }
}

#[derive(Deserialize)]
struct GoldenGemma {
    tokens: Vec<Tokenised>,
    logprobs: Vec<GemmaLogprobs>,
}

#[derive(Deserialize)]
struct GemmaLogprobs {
    prompt: String,
    targets: Vec<String>,
    logprobs: Vec<f64>,
}

#[test]
fn a_reply_that_was_begun_for_a_base_model_ends_with_its_line() {
    let Some(engine) = weights("gemma3-270m", "gemma3-270m") else {
        return;
    };
    let sampling = Sampling {
        max_output_tokens: Some(64),
        ..Sampling::default()
    };
    let reply = |start: Option<&str>| {
        let mut conversation = Conversation::default();
        conversation.say(Role::User, "Q: How many days has a week?");
        if let Some(start) = start {
            conversation.say(Role::Assistant, start);
        }
        let call = InProcessCall {
            conversation: &conversation,
            sampling: &sampling,
            scoring: None,
        };
        let mut replies = Vec::new();
        engine.answer(&[call], &mut |answer| {
            replies.push(answer.reply.unwrap());
            ControlFlow::Continue(())
        });
        replies.remove(0)
    };
    let begun = reply(Some("A:"));
    assert_eq!(begun.status, Status::Ok, "{:?}", begun.text);
    assert_eq!(begun.text.trim().lines().count(), 1, "{:?}", begun.text);
    assert_eq!(reply(None).status, Status::Truncated);
}

#[test]
fn gemma3_gives_the_ids_and_probabilities_of_a_plain_implementation_of_its_weights() {
    let Some(engine) = weights("gemma3-270m", "gemma3-270m") else {
        return;
    };
    let golden: GoldenGemma = serde_json::from_str(include_str!("../data/gemma3.json")).unwrap();
    for case in &golden.tokens {
        assert_eq!(
            engine.encode(&case.text).unwrap(),
            case.ids,
            "{:?}",
            case.text
        );
        assert_eq!(engine.decode(&case.ids).unwrap(), case.text);
    }
    // The last prompt is longer than the window of most layers.
    for case in &golden.logprobs {
        let scoring = Scoring {
            mode: ScoringMode::Exact,
            targets: case
                .targets
                .iter()
                .map(|target| target.trim_start().into())
                .collect(),
        };
        let found = engine.score(&case.prompt, &scoring).unwrap();
        for (found, wanted) in found.log_probabilities.iter().zip(&case.logprobs) {
            let found = found.unwrap();
            assert!(
                (found - wanted).abs() < 1e-3,
                "{:.40?}: {found} for {wanted}",
                case.prompt
            );
        }
    }
}
