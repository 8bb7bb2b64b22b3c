//! Checks of prompts before anything is asked.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use strum::IntoEnumIterator;

use super::{Form, RenderError, Task};
use crate::bank::cases::{Case, Content, Difficulty, ExtraKind, Wording};
use crate::bank::judge::{self, Matter, Matters};
use crate::bank::stimuli::{Anchor, Excerpt, Stimulus};
use crate::bank::{Item, Provenance, Subject, derive_anchors};
use crate::domain::{Coalition, Conversation, Message, Positive, Side, Suite, Tier};
use crate::yaml::{Document, Faults};

/// Renders all prompts of a task and looks them through: no two alike, the ratings in each, and the anchor in every prompt
/// that has one, except where solved cases lie around it. Gives what is wrong, if anything is.
///
/// # Errors
/// A prompt that cannot be rendered.
pub fn check_prompts(task: &Task, cases: &[Arc<Case>]) -> Result<Vec<String>, RenderError> {
    let mut faults = Vec::new();
    let around = task
        .cases
        .as_ref()
        .is_some_and(|spec| spec.extra == ExtraKind::AnchoredDemonstrations);
    for case in cases {
        let mut seen: HashMap<Conversation, String> = HashMap::new();
        for condition in &task.conditions {
            for tools in [false, true] {
                let form = Form {
                    prefill: false,
                    tools,
                };
                let prompt = task.outline(case.as_ref(), *condition, form)?;
                let unsaid = unsaid(&Subject::Case(Arc::clone(case)), &prompt);
                if let Some((what, mend)) = unsaid {
                    faults.push(format!(
                        "task `{}`, case `{}`: the prompt under {condition} does not hold {what}: {mend}",
                        task.name, case.id
                    ));
                }
                if let Some(anchor) = case.anchor(*condition) {
                    let anchor = crate::domain::plain(anchor);
                    if !around && !says(&prompt, &anchor) {
                        faults.push(format!(
                            "task `{}`, case `{}`: the prompt under {condition} does not hold its anchor {anchor}",
                            task.name, case.id
                        ));
                    }
                }
                let same = seen.insert(prompt, condition.to_string());
                if let Some(other) = same.filter(|other| *other != condition.to_string()) {
                    faults.push(format!(
                        "task `{}`, case `{}`: {other} and {condition} have the same prompt",
                        task.name, case.id
                    ));
                }
            }
        }
    }
    Ok(faults)
}

/// What an answer must rest on and the prompt does not hold, with the mend.
fn unsaid(subject: &Subject, prompt: &Conversation) -> Option<(String, &'static str)> {
    // By words, since a template may quote, escape and number.
    let words = |text: &str| -> HashSet<String> {
        let parts = text.split(|c: char| !c.is_alphanumeric());
        parts.map(str::to_lowercase).collect()
    };
    let messages = prompt.0.iter();
    let said: HashSet<String> = messages
        .flat_map(|message| words(&message.content))
        .chain([String::new()])
        .collect();
    let lacks = |text: &str| !words(text).is_subset(&said);
    match subject {
        Subject::Question(item) => lacks(&item.text).then(|| {
            (
                "the question".to_owned(),
                "put {{ question }} into a message",
            )
        }),
        Subject::Case(case) => {
            let Content::Drawn(draw, _) = &case.content else {
                return None;
            };
            let rating = draw.shown().find(|rating| lacks(&rating.to_string()))?;
            Some((
                format!("the rating {rating} of its case"),
                "put {{ evidence }} into a message",
            ))
        }
        Subject::Excerpt(excerpt) => {
            let stimulus = &excerpt.stimulus;
            let fields = [
                ("the scene", &stimulus.scene),
                ("the comparison", &stimulus.comparative),
                ("the question", &stimulus.absolute),
            ];
            let (what, _) = fields.into_iter().find(|(_, text)| lacks(text))?;
            Some((
                what.to_owned(),
                "put {{ scene }}, {{ comparative }} and {{ absolute }} into a message",
            ))
        }
        Subject::Judged(judged) => match &*judged.matter {
            Matter::Text(text) => lacks(&text.answer).then(|| {
                (
                    "the answer that is judged".to_owned(),
                    "put {{ answer }} into a message",
                )
            }),
            Matter::Message(message) => lacks(&message.text).then(|| {
                (
                    "the message that is labelled".to_owned(),
                    "put {{ text }} into a message",
                )
            }),
        },
    }
}

/// Whether a number stands in a conversation, not as a part of another.
fn says(conversation: &Conversation, number: &str) -> bool {
    let stands = |text: &str| {
        text.match_indices(number).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + number.len()..].chars().next();
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !digit(before) && !digit(after)
        })
    };
    conversation
        .0
        .iter()
        .any(|Message { content, .. }| stands(content))
}

/// Renders a stand-in under each condition: an unknown name or a missing anchor shows before any call.
pub(super) fn check_rendering(task: &Task, wording: &Wording, mut fault: impl FnMut(String, &str)) {
    let (subjects, names): (Vec<Subject>, _) = match &task.cases {
        None if task.suite == Suite::Spinner => (
            vec![Subject::Excerpt(Arc::new(stand_in_excerpt()))],
            "templates may use scene, comparative, absolute and anchor",
        ),
        None if task.judges.is_some() => (
            stand_ins_judged(task),
            "templates may use system, assignment, answer, category, rubric, scale.from, scale.to, threshold, bands, text, labels, guide, condition, strategy, the names under `with`, and under c2 and control attempt and prior",
        ),
        None => (
            vec![Subject::Question(Arc::new(stand_in()))],
            "templates may use question, unit, replies, and with an anchor anchor.grouped, anchor.plain and anchor.phrase",
        ),
        Some(spec) => {
            let groups: Vec<&str> = wording.groups().collect();
            if wording.group(&spec.domains).is_empty() {
                let near = format!("there are {}", groups.join(", "));
                fault(format!("there are no domains `{}`", spec.domains), &near);
                return;
            }
            let cases = spec.generate(wording);
            let of = |difficulty| {
                cases
                    .iter()
                    .find(|case| case.facts.difficulty == difficulty)
            };
            let subjects = Difficulty::iter().filter_map(of);
            (
                subjects
                    .map(|case| Subject::Case(Arc::new(case.clone())))
                    .collect(),
                "templates may use scenario, metric, evidence, question, anchor, condition, relevance, side, tools, say, own, pair, warmup, examples, summary, other, partial, replies and the names under `with`",
            )
        }
    };
    for subject in &subjects {
        let mut rendered = BTreeMap::new();
        for condition in &task.conditions {
            for tools in [false, true] {
                let form = Form {
                    prefill: false,
                    tools,
                };
                match task.outline(subject, *condition, form) {
                    Ok(conversation) => {
                        if let Some((what, mend)) = unsaid(subject, &conversation) {
                            let about =
                                format!("the prompt under {condition} does not hold {what}");
                            fault(about, mend);
                            return;
                        }
                        rendered.insert(*condition, conversation);
                    }
                    Err(error) => {
                        let source = std::error::Error::source(&error);
                        let source = source.map_or_else(String::new, ToString::to_string);
                        fault(format!("{error}: {source}"), names);
                        return;
                    }
                }
            }
        }
        if task.judges.is_some() && rendered.values().collect::<HashSet<_>>().len() < rendered.len()
        {
            fault(
                "two conditions have the same prompt".to_owned(),
                "let c1 say that it is a revision, and put {{ attempt }} and {{ prior }} under c2 and control",
            );
            return;
        }
        for (low, prompt) in &rendered {
            let high = rendered.iter().find(|(high, _)| {
                low.side() == Some(Side::Low)
                    && high.side() == Some(Side::High)
                    && high.anchored().map(|(relevance, _)| relevance)
                        == low.anchored().map(|(relevance, _)| relevance)
            });
            if high.is_some_and(|(_, other)| other == prompt) {
                fault(
                    "the prompts under low and high are the same".to_owned(),
                    "put {{ anchor.grouped }}, {{ anchor.plain }} or {{ anchor.phrase }} into a message; of a case {{ anchor }}",
                );
                return;
            }
        }
    }
}

fn stand_in() -> Item {
    let reference = Positive::try_from(8849.0).expect("a positive literal");
    Item {
        id: "stand-in".into(),
        tier: Tier::Known,
        text: "the height of Mount Everest".to_owned(),
        unit: "meters".to_owned(),
        reference,
        anchors: derive_anchors(reference).expect("anchors of a small number"),
        provenance: Provenance::default(),
    }
}

/// The first text or message that is built in, in its first trial.
fn stand_ins_judged(task: &Task) -> Vec<Subject> {
    let [rubric, texts, messages] = judge::built_in();
    let read = || -> Result<Matters, Faults> {
        let rubric = judge::load_rubric(&Document::parse(rubric.0, rubric.1)?, None)?;
        let rubric = Arc::new(rubric);
        let own = |(name, text)| judge::load_texts(&Document::parse(name, text)?, &rubric);
        Ok(Matters {
            texts: own(texts)?.texts.unwrap_or_default(),
            messages: own(messages)?.messages.unwrap_or_default(),
        })
    };
    let matters = read().expect("what is built in is whole");
    let trials = task.judges.as_ref().expect("it is a task for judges");
    let first = matters.of(trials).iter().take(1);
    let subjects = first.map(|judged| Subject::Judged(Arc::clone(judged)));
    subjects.map(|subject| task.at_trial(&subject, 1)).collect()
}

fn stand_in_excerpt() -> Excerpt {
    let anchor = |text: &str, value| Anchor {
        text: text.to_owned(),
        value,
    };
    let stimulus = Stimulus {
        id: "stand-in".into(),
        regime: "S".into(),
        control: false,
        scene: "The wheel shows ".to_owned(),
        comparative: "Is it more or less than ".to_owned(),
        absolute: "How much is it?".to_owned(),
        anchors: [anchor("10", 10.0), anchor("65", 65.0)],
    };
    Excerpt::new(&Arc::new(stimulus), Coalition::FULL)
}
