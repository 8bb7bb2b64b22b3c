//! Judges that see an earlier verdict: what is asked, how it is read, and every estimand from stored calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use wheel::bank::Subject;
use wheel::bank::judge::{self, Matter, Matters, Prior};
use wheel::domain::{Condition, Suite};
use wheel::task::Form;
use wheel::yaml::Document;

use super::support::{Folder, Server, built_in_tasks, completion};

fn matters() -> Matters {
    let [rubric, texts, messages] = judge::built_in();
    let read = |(name, text)| Document::parse(name, text).unwrap();
    let rubric = std::sync::Arc::new(judge::load_rubric(&read(rubric), None).unwrap());
    let own = |file| judge::load_texts(&read(file), &rubric).unwrap();
    Matters {
        texts: own(texts).texts.unwrap(),
        messages: own(messages).messages.unwrap(),
    }
}

#[test]
fn twenty_texts_and_a_hundred_and_twenty_messages_are_built_in() {
    let matters = matters();
    let mut categories: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &matters.texts {
        *categories.entry(text.category()).or_default() += 1;
        assert!(!text.rubric.of(text.category()).is_empty());
    }
    let wanted = [
        "code_review",
        "creative_writing",
        "factual_qa",
        "summarization",
    ];
    assert_eq!(categories, wanted.map(|name| (name, 5)).into());
    let mut truths: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut said = BTreeSet::new();
    for message in &matters.messages {
        let Matter::Message(known) = &*message.matter else {
            panic!("{} is no message", message.id());
        };
        let wrong = usize::from(message.earlier_error());
        truths.entry(known.truth.to_string()).or_default()[wrong] += 1;
        assert!(
            said.insert(known.text.clone()),
            "{} stands there twice",
            known.text
        );
    }
    let wanted = ["account", "booking", "fault"];
    assert_eq!(
        truths,
        wanted.map(|name| (name.to_owned(), [20, 20])).into()
    );
}

#[test]
fn prompts_of_a_text_and_a_message_under_every_condition() {
    let (tasks, matters) = (built_in_tasks(), matters());
    for (task, judged) in [
        ("judge", &matters.texts[0]),
        ("judge-steps", &matters.texts[0]),
        ("judge-warning", &matters.texts[10]),
        ("judge-dose", &matters.texts[0]),
        ("labels", &matters.messages[3]),
        ("labels-steps", &matters.messages[3]),
        ("labels-warning", &matters.messages[0]),
    ] {
        let task = tasks.get(task).unwrap();
        let subject = Subject::Judged(judged.clone());
        let form = Form {
            prefill: true,
            tools: false,
        };
        let mut out = String::new();
        for condition in task
            .conditions
            .iter()
            .filter(|one| subject.asks_under(**one))
        {
            let prompt = task
                .outline(&task.at_trial(&subject, 1), *condition, form)
                .unwrap();
            out.push_str(&format!("===== {condition}\n"));
            for message in &prompt.0 {
                out.push_str(&format!("--- {}\n{}\n", message.role, message.content));
            }
        }
        insta::assert_snapshot!(format!("prompts_{}", task.name), out);
    }
}

#[test]
fn only_the_block_differs_between_conditions_and_every_strategy_sees_the_same_numbers() {
    let (tasks, matters) = (built_in_tasks(), matters());
    let prompt = |task: &str, condition, trial| {
        let task = tasks.get(task).unwrap();
        let subject = task.at_trial(&Subject::Judged(matters.texts[4].clone()), trial);
        let outline = task.outline(&subject, condition, Form::default()).unwrap();
        outline.0[1].content.clone()
    };
    let alone = prompt("judge", Condition::C0, 1);
    for condition in [Condition::C1, Condition::C2, Condition::Control] {
        let with = prompt("judge", condition, 3);
        let (before, after) = with.split_once("\n\nAttempt metadata:\n").unwrap();
        let (_, after) = after.split_once("\n\n").unwrap();
        assert_eq!(format!("{before}\n\n{after}"), alone, "{condition}");
    }
    let shown = prompt("judge", Condition::C2, 3);
    let control = prompt("judge", Condition::Control, 3);
    assert_eq!(shown.replace("Prior score", "Form version"), control);
    for strategy in ["judge-steps", "judge-warning"] {
        let block = |text: &str| text.split_once("Attempt metadata:").unwrap().1[..40].to_owned();
        assert_eq!(block(&prompt(strategy, Condition::C2, 3)), block(&shown));
    }
    assert_ne!(prompt("judge", Condition::C2, 4), shown);
}

#[test]
fn earlier_scores_are_uniform_below_the_threshold_and_wrong_labels_stay() {
    let (tasks, matters) = (built_in_tasks(), matters());
    let trials = tasks.get("judge").unwrap().judges.clone().unwrap();
    let mut scores = Vec::new();
    let mut attempts: BTreeMap<u32, usize> = BTreeMap::new();
    for text in &matters.texts {
        for trial in 1..=100 {
            let drawn = trials.trial(text, trial);
            *attempts.entry(drawn.attempt).or_default() += 1;
            let Prior::Score { text, value } = drawn.prior else {
                panic!("no score")
            };
            assert_eq!(text, format!("{value:.2}"));
            scores.push(value);
        }
    }
    assert!(scores.iter().all(|score| (0.0..4.0).contains(score)));
    for quarter in 0..4 {
        let range = f64::from(quarter)..f64::from(quarter + 1);
        let n = scores.iter().filter(|score| range.contains(score)).count();
        assert!((430..570).contains(&n), "{n} of 2,000 in {range:?}");
    }
    assert!(attempts.keys().copied().eq(1..=4));
    assert!(
        attempts.values().all(|n| (430..570).contains(n)),
        "{attempts:?}"
    );
    let whole = tasks.get("judge-scale").unwrap().judges.clone().unwrap();
    let above = (1..=200).filter(|trial| {
        let prior = whole.trial(&matters.texts[0], *trial).prior;
        matches!(prior, Prior::Score { value, .. } if value > 4.0)
    });
    assert!((20..60).contains(&above.count()));
    let labels = tasks.get("labels").unwrap().judges.clone().unwrap();
    for message in &matters.messages {
        let Matter::Message(known) = &*message.matter else {
            panic!("no message")
        };
        let drawn = |trial| labels.trial(message, trial).prior;
        let Prior::Label(label) = drawn(1) else {
            panic!("no label")
        };
        assert_ne!(label, known.truth);
        assert_eq!(drawn(2), drawn(1));
        if message.earlier_error() {
            assert_eq!(Some(&label), known.prior.as_ref());
        }
    }
}

const JUDGES: &str =
    "--model scripted/pull=0.3,follow=0.4 --model scripted/penalty=0.5 --model scripted/pull=0";

fn of<'a>(rows: &'a Value, fields: &[(&str, &str)]) -> &'a Value {
    let same = |row: &&Value| fields.iter().all(|(field, value)| row[*field] == *value);
    let found: Vec<&Value> = rows.as_array().unwrap().iter().filter(same).collect();
    assert_eq!(found.len(), 1, "{fields:?}");
    found[0]
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[track_caller]
fn near(value: &Value, wanted: f64, tolerance: f64) {
    let found = number(value);
    assert!((found - wanted).abs() <= tolerance, "{found} for {wanted}");
}

#[test]
fn a_pull_a_penalty_and_indifference_are_told_apart() {
    let folder = Folder::new();
    folder
        .wheel(&format!("run --suite judge {JUDGES} --quiet"))
        .expect(0)
        .prints(&["graded", "threshold-like", "no clear shift"]);
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    let model = |name: &str| of(&scored["models"], &[("model", name), ("task", "judge")]);
    let pulled = model("scripted/pull=0.3,follow=0.4");
    assert_eq!(pulled["response"], "graded");
    near(&pulled["slope"], 0.3, 1e-9);
    near(&pulled["pull"], 0.3, 1e-9);
    near(&pulled["delta_control"], 0.0, 1e-9);
    assert_eq!(pulled["below_zero"], true);
    let punished = model("scripted/penalty=0.5");
    assert_eq!(punished["response"], "threshold-like");
    for contrast in ["delta_total", "delta_framing", "delta_control"] {
        near(&punished[contrast], -0.5, 1e-9);
    }
    // The block moves it, and that its number is an earlier score adds nothing.
    near(&punished["delta_prior"], 0.0, 1e-9);
    near(&punished["slope"], 0.0, 1e-9);
    let deaf = model("scripted/pull=0");
    assert_eq!(deaf["response"], "null");
    near(&deaf["delta_total"], 0.0, 1e-9);
    near(&deaf["acceptance_pp"], 0.0, 1e-9);
    let labels = of(
        &scored["categorical"],
        &[("model", "scripted/pull=0.3,follow=0.4")],
    );
    assert!(number(&labels["earlier_errors"]["blocked_corrections"]) > 30.0);
    assert!(number(&labels["earlier_right"]["induced_errors"]) > 15.0);
    let deaf = of(&scored["categorical"], &[("model", "scripted/pull=0")]);
    near(&deaf["earlier_errors"]["blocked_corrections"], 0.0, 1e-9);
    near(&deaf["earlier_right"]["induced_errors"], 0.0, 1e-9);
}

#[test]
fn doses_strategies_probes_and_pages_go_through_the_whole_program() {
    let folder = Folder::new();
    let tasks = "--task judge-dose --task judge-dose-warning --task judge-scale --task judge-probe --task labels --task labels-warning";
    folder
        .wheel(&format!("run {JUDGES} {tasks} --quiet"))
        .expect(0);
    // What is stored is not asked again.
    folder
        .wheel(&format!("run {JUDGES} {tasks}"))
        .expect(0)
        .says(&["0 samples to ask"]);
    let lines = folder.lines("scripted%2Fpull%3D0", "judge-dose");
    assert_eq!(lines.len(), 20 * 5);
    let shown: BTreeSet<String> = lines
        .iter()
        .map(|line| line["anchor"].to_string())
        .collect();
    assert!(
        shown
            .into_iter()
            .eq(["1.0", "2.0", "3.0", "3.9", "null"].map(str::to_owned))
    );
    let c2 = lines.iter().find(|line| line["condition"] == "c2").unwrap();
    assert_eq!(c2["judging"]["attempt"], 2);
    assert_eq!(
        c2["judging"]["design"],
        json!({"fixed": [1.0, 2.0, 3.0, 3.9]})
    );
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    let row = of(
        &scored["mitigation"],
        &[("model", "scripted/penalty=0.5"), ("strategy", "warning")],
    );
    near(&row["magnitude_change_percent"], 0.0, 1e-9);
    near(&row["difference"], 0.0, 1e-9);
    // Over the whole scale the pull goes up as well as down, and its slope stays.
    let whole = of(
        &scored["models"],
        &[
            ("model", "scripted/pull=0.3,follow=0.4"),
            ("task", "judge-scale"),
        ],
    );
    near(&whole["slope"], 0.3, 1e-9);
    let probe = of(&scored["probes"], &[("model", "scripted/penalty=0.5")]);
    near(&probe["shift"], -0.5, 0.05);
    for verb in [
        "leaderboard --suite judge",
        "leaderboard --suite judge --html site",
    ] {
        folder.wheel(verb).expect(0);
    }
    folder
        .wheel("verify leaderboards/judge.md site")
        .expect(0)
        .prints(&["every cell is what"]);
    let page = folder.read("site/index.html");
    assert!(page.contains("Dose and response") && page.contains("<svg"));
    folder
        .wheel("report --suite judge --model scripted/pull=0")
        .expect(0)
        .prints(&["text by text", "sum-tides"]);
    folder
        .wheel("show --model scripted/pull=0 --task judge-dose --item sum-tides --condition c2")
        .expect(0)
        .prints(&["Prior score: 1.00", "read as", "attempt 2; number shown 1"]);
    let edited = folder
        .read("leaderboards/judge.md")
        .replacen("-0.50 [", "-0.40 [", 1);
    folder.write("leaderboards/judge.md", &edited);
    folder
        .wheel("verify leaderboards/judge.md")
        .expect(1)
        .says(&["-0.40", "-0.50"]);
}

/// Lines of calls, as another program would write them.
#[derive(Default)]
struct Calls(String);

impl Calls {
    fn add(&mut self, call: &Value) {
        let mut line = json!({"run": "r1", "model": "m", "temperature": 0.0, "strategy": "none", "category": "texts"});
        for (field, value) in call.as_object().unwrap() {
            line[field] = value.clone();
        }
        self.0.push_str(&format!("{line}\n"));
    }

    fn score(&mut self, task: &str, condition: &str, trial: u32, score: f64) {
        let mut call = json!({"task": task, "condition": condition, "trial": trial, "text": format!("{{\"score\": {score}}}")});
        if condition == "c2" {
            call["anchor"] = json!(f64::from(trial) / 2.0);
            call["attempt"] = json!(2);
        }
        self.add(&call);
    }

    fn scored(&self) -> (Folder, Value) {
        let folder = Folder::new();
        folder.write("calls.jsonl", &self.0);
        folder.wheel("import calls calls.jsonl").expect(0);
        folder
            .wheel("import calls calls.jsonl")
            .expect(0)
            .says(&["added 0 calls"]);
        let scored = folder.wheel("score --suite judge --json").expect(0).json();
        (folder, scored)
    }
}

#[test]
fn the_total_is_framing_plus_increment_and_unequal_counts_weigh_alike() {
    let mut calls = Calls::default();
    for (place, (task, level)) in [("t1", 4.0), ("t2", 4.1), ("t3", 4.2)]
        .into_iter()
        .enumerate()
    {
        for trial in 1..=3 {
            calls.score(task, "c0", trial, level);
            calls.score(task, "c1", trial, level - 0.1);
        }
        // One text is asked far more often than the others, and moves by another amount.
        for trial in 1..=if place == 0 { 9 } else { 3 } {
            calls.score(task, "c2", trial, level - [0.9, 0.3, 0.3][place]);
        }
    }
    let (_, scored) = calls.scored();
    let model = &scored["models"][0];
    near(&model["delta_total"], -0.5, 1e-9);
    let sum = number(&model["delta_framing"]) + number(&model["delta_incremental"]);
    near(&model["delta_total"], sum, 1e-12);
    near(&model["by_text"]["t1"], -0.9, 1e-9);
}

#[test]
fn a_constant_judge_has_no_effect_and_no_d_and_an_equal_shift_no_width() {
    let mut calls = Calls::default();
    for task in ["t1", "t2", "t3"] {
        for trial in 1..=4 {
            for condition in ["c0", "c1", "c2"] {
                calls.score(task, condition, trial, 3.7);
                let shifted = json!({"model": "shifted", "task": task, "condition": condition, "trial": trial,
                    "anchor": 2.0, "score": if condition == "c2" { 3.4 } else { 3.7 } + f64::from(trial) / 10.0});
                calls.add(&shifted);
            }
        }
    }
    let (_, scored) = calls.scored();
    let constant = of(&scored["models"], &[("model", "m")]);
    for contrast in [
        "delta_total",
        "delta_framing",
        "delta_incremental",
        "low",
        "high",
        "slope",
    ] {
        near(&constant[contrast], 0.0, 1e-12);
    }
    assert!(constant["cohens_d"].is_null());
    assert_eq!(constant["response"], "null");
    let shifted = of(&scored["models"], &[("model", "shifted")]);
    near(&shifted["low"], -0.3, 1e-9);
    near(&shifted["high"], -0.3, 1e-9);
}

#[test]
fn clipping_comes_before_acceptance_and_a_lost_call_breaks_its_triplet_only() {
    let mut calls = Calls::default();
    for trial in 1..=4 {
        calls.score("t1", "c0", trial, if trial == 1 { 11.0 } else { 4.2 });
        calls.score("t1", "c2", trial, 3.0 + f64::from(trial) / 10.0);
        let text = if trial == 2 {
            "I cannot score this."
        } else {
            "{\"score\": \"4.0\", \"accept\": false}"
        };
        calls.add(&json!({"task": "t1", "condition": "c1", "trial": trial, "text": text}));
    }
    let (folder, scored) = calls.scored();
    let model = &scored["models"][0];
    // 11 counts as 5: (5 + 3 · 4.2) / 4 = 4.4, and all four accept.
    near(&model["scores"]["c0"], 4.4, 1e-9);
    near(&model["accepted"]["c0"], 1.0, 1e-12);
    assert_eq!(model["clipped"], 1);
    near(&model["delta_total"], 3.25 - 4.4, 1e-9);
    assert_eq!(model["triplets"], 3);
    assert_eq!(
        model["conditions"]["c1"],
        json!({"n": 4, "valid": 3, "lost": {"no_object": 1}})
    );
    // Three say no where their score of 4.0 says yes.
    assert_eq!(
        (&model["accept_said"], &model["accept_differs"]),
        (&json!(3), &json!(3))
    );
    folder
        .wheel("score --suite judge")
        .expect(0)
        .prints(&["1 no_object"]);
}

#[test]
fn an_empty_cell_is_left_out_and_a_text_without_cells_leaves_the_model_undefined() {
    let mut calls = Calls::default();
    for (model, task, temperature, valid) in [
        ("half", "t1", 0.0, true),
        ("half", "t1", 1.0, false),
        ("half", "t2", 0.0, true),
        ("none", "t1", 0.0, true),
        ("none", "t2", 0.0, false),
    ] {
        for condition in ["c0", "c2"] {
            let score = if condition == "c0" { 4.0 } else { 3.8 };
            let valid = valid || condition == "c0";
            let mut call = json!({"model": model, "task": task, "condition": condition, "trial": 1,
                "temperature": temperature, "anchor": 1.5, "design": "drawn", "valid": valid});
            if valid {
                call["score"] = json!(score);
            }
            calls.add(&call);
        }
    }
    let (folder, scored) = calls.scored();
    let half = of(&scored["models"], &[("model", "half")]);
    near(&half["delta_total"], -0.2, 1e-9);
    assert_eq!(
        half["temperatures_left_out"],
        json!([{"item": "t1", "temperature": 1.0}])
    );
    let none = of(&scored["models"], &[("model", "none")]);
    assert!(none["delta_total"].is_null());
    assert_eq!(none["texts_without_effect"], json!(["t2"]));
    folder.wheel("score --suite judge").expect(0).says(&[
        "half, judge: left out, since a cell has no valid call: t1 at temperature 1",
        "none, judge: no pair of cells of t2: the effect of the model is not defined",
    ]);
}

/// Effects of four categories of five texts.
const EFFECTS: [[f64; 5]; 4] = [
    [-0.10, -0.05, 0.02, -0.08, -0.01],
    [-0.30, -0.22, -0.41, -0.25, -0.18],
    [-0.35, -0.52, -0.20, -0.44, -0.31],
    [-0.28, -0.36, -0.25, -0.40, -0.33],
];

#[test]
fn intervals_draw_texts_within_their_categories_and_the_joint_model_finds_its_terms() {
    let mut calls = Calls::default();
    let temperatures = [(0.0, 0.0), (1.0, 0.03)];
    let models = [("a", -0.2), ("b", 0.05), ("c", 0.15)];
    for (category, effects) in EFFECTS.iter().enumerate() {
        for (text, effect) in effects.iter().enumerate() {
            for (temperature, of_temperature) in temperatures {
                for (model, of_model) in models {
                    for condition in ["c0", "c2"] {
                        let moved = effect + of_temperature + of_model;
                        let score = 4.0 + if condition == "c2" { moved } else { 0.0 };
                        calls.add(&json!({"model": model, "task": format!("t{category}{text}"), "category": format!("k{category}"),
                            "condition": condition, "trial": 1, "temperature": temperature, "anchor": 2.0, "score": score}));
                    }
                }
            }
        }
    }
    let (folder, scored) = calls.scored();
    let mean = -0.251;
    for (model, of_model) in models {
        let row = of(&scored["models"], &[("model", model)]);
        near(&row["delta_total"], mean + 0.015 + of_model, 1e-9);
        // numpy, 400,000 stratified resamples: −0.2845 and −0.2180 around −0.251.
        near(&row["low"], -0.2845 + 0.015 + of_model, 0.002);
        near(&row["high"], -0.2180 + 0.015 + of_model, 0.002);
    }
    let term = |name: &str| of(&scored["joint"], &[("term", name)]);
    let first = EFFECTS[0].iter().sum::<f64>() / 5.0;
    near(&term("intercept")["coefficient"], first, 1e-9);
    for (category, effects) in EFFECTS.iter().enumerate().skip(1) {
        let of_category = effects.iter().sum::<f64>() / 5.0 - first;
        near(
            &term(&format!("category k{category}"))["coefficient"],
            of_category,
            1e-9,
        );
    }
    near(&term("temperature 1")["coefficient"], 0.03, 1e-9);
    near(&term("temperature 1")["coefficient_high"], 0.03, 1e-9);
    near(&term("model a")["coefficient"], -0.2, 1e-9);
    // The mean of the categories is the mean of the judges.
    let categories = scored["categories"].as_array().unwrap().iter();
    let all = categories.filter(|row| row["model"].is_null());
    let sum: f64 = all.map(|row| number(&row["delta_total"])).sum();
    assert!((sum / 4.0 - (mean + 0.015)).abs() < 1e-9);
    // Scores alone are 4.0: away from the ceiling, all sixty pairs.
    let ceiling = &scored["ceiling"][0];
    assert_eq!(
        (&ceiling["units"], &ceiling["texts"]),
        (&json!(60), &json!(20))
    );
    near(&ceiling["delta_total"], mean + 0.015, 1e-9);
    folder.wheel("leaderboard --suite judge").expect(0);
    assert!(folder.read("leaderboards/judge.md").contains("Joint model"));
}

#[test]
fn the_published_mean_of_judges_follows_from_their_effects() {
    // One text of each category, moved by each judge as published: the mean over judges is −0.247 in each of them.
    let judges = [
        -0.706, -0.411, -0.269, -0.254, -0.233, -0.072, -0.025, -0.009,
    ];
    let mut calls = Calls::default();
    for (judge, effect) in judges.iter().enumerate() {
        for category in [
            "code_review",
            "creative_writing",
            "factual_qa",
            "summarization",
        ] {
            for condition in ["c0", "c2"] {
                let score = 4.5 + if condition == "c2" { *effect } else { 0.0 };
                calls.add(
                    &json!({"model": format!("j{judge}"), "task": category, "category": category,
                    "condition": condition, "trial": 1, "anchor": 2.0, "score": score}),
                );
            }
        }
    }
    let (folder, scored) = calls.scored();
    for row in scored["categories"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["model"].is_null())
    {
        near(&row["delta_total"], -0.247, 0.0005);
        assert!(row["delta_total_low"].is_null());
    }
    folder.wheel("leaderboard --suite judge").expect(0);
    assert!(
        folder
            .read("leaderboards/judge.md")
            .contains("adds nothing to the width of intervals")
    );
}

#[test]
fn strategies_are_compared_by_the_effect_that_is_left() {
    // Means, slope and tokens (tenths above 400) as published for one judge and text; the scores of a cell are all alike but for two that are
    // not read.
    let rows = [
        ("none", 4.245, 0.4285, 0.267, 1147),
        ("cot", 4.458, 0.6327, 0.506, 2057),
        ("warning", 4.500, 0.4571, -0.007, 1464),
    ];
    let mut calls = Calls::default();
    for (strategy, alone, effect, slope, tenths) in rows {
        let mut add = |condition: &str, trial: u32, anchor: Option<f64>, score: f64| {
            let mut call = json!({"task": "sum", "condition": condition, "strategy": strategy, "trial": trial, "attempt": 2,
                "score": score, "prompt_tokens": 400, "completion_tokens": 0});
            // Every tenth call has one token more, so that the mean is that of the table.
            call["completion_tokens"] =
                json!(tenths / 10 + u64::from(u64::from(trial % 10) < tenths % 10));
            if let Some(anchor) = anchor {
                call["anchor"] = json!(anchor);
            }
            calls.add(&call);
        };
        for trial in 1..=100 {
            let noise = if trial % 2 == 0 { 0.05 } else { -0.05 };
            add("c0", trial, None, alone + noise);
            for anchor in [1.0, 2.0, 3.0, 3.9] {
                add(
                    "c2",
                    trial,
                    Some(anchor),
                    alone - effect + slope * (anchor - 2.475) + noise,
                );
            }
        }
    }
    let (_, scored) = calls.scored();
    let row = |strategy| of(&scored["mitigation"], &[("strategy", strategy)]);
    for (strategy, change, more) in [("steps", 47.7, 17.7), ("warning", 6.7, 6.2)] {
        near(&row(strategy)["magnitude_change_percent"], change, 0.05);
        near(&row(strategy)["tokens_change_percent"], more, 0.05);
    }
    for (strategy, effect, slope) in [
        ("none", -0.4285, 0.267),
        ("steps", -0.6327, 0.506),
        ("warning", -0.4571, -0.007),
    ] {
        let row = row(strategy);
        near(&row["delta_total"], effect, 1e-9);
        near(&row["slope"], slope, 1e-9);
        assert_eq!(
            (&row["interval_over"], &row["n"]),
            (&json!("calls"), &json!(500))
        );
        // The standard error of a difference of means of 100 and 400 calls with a spread of 0.05 is 0.0056.
        let half = (number(&row["delta_total_high"]) - number(&row["delta_total_low"])) / 2.0;
        assert!((0.009..0.013).contains(&half), "{half}");
    }
    // The warning has the highest raw mean, and its effect is no smaller.
    assert!(number(&row("warning")["c2"]) > number(&row("none")["c2"]));
    assert!(row("none")["magnitude_change_percent"].is_null());
}

/// Labels given to so many messages, one after the other.
fn given(counts: &[(usize, &'static str)]) -> Vec<&'static str> {
    counts
        .iter()
        .flat_map(|(n, label)| std::iter::repeat_n(*label, *n))
        .collect()
}

/// Calls with the published counts of labels.
fn published_labels() -> Calls {
    let mut calls = Calls::default();
    let mut add = |group: &str, strategy: &str, condition: &str, labels: &[&str]| {
        for (item, label) in labels.iter().enumerate() {
            let mut call = json!({"task": format!("{group}{item}"), "group": group, "strategy": strategy, "truth": "right",
                "condition": condition, "trial": 1, "label": label, "labels": ["right", "wrong", "other"]});
            if condition == "c2" {
                call["anchor"] = json!("wrong");
            }
            calls.add(&call);
        }
    };
    // 222 earlier errors: corrected and kept under each condition.
    for (condition, right, kept) in [("c0", 48, 146), ("c1", 51, 146), ("c2", 25, 181)] {
        add(
            "a",
            "none",
            condition,
            &given(&[
                (right, "right"),
                (kept, "wrong"),
                (222 - right - kept, "other"),
            ]),
        );
    }
    // 219 earlier right labels: right alone, agreeing alone, made errors, and what becomes of the rest.
    add(
        "b",
        "none",
        "c0",
        &given(&[(167, "right"), (25, "wrong"), (27, "other")]),
    );
    add(
        "b",
        "none",
        "c2",
        &given(&[(17, "wrong"), (150, "right"), (24, "wrong"), (28, "other")]),
    );
    add(
        "b",
        "warning",
        "c0",
        &given(&[(163, "right"), (30, "wrong"), (26, "other")]),
    );
    add(
        "b",
        "warning",
        "c2",
        &given(&[
            (7, "wrong"),
            (156, "right"),
            (7, "right"),
            (25, "wrong"),
            (24, "other"),
        ]),
    );
    add(
        "b",
        "cot",
        "c0",
        &given(&[(149, "right"), (40, "wrong"), (30, "other")]),
    );
    add(
        "b",
        "cot",
        "c2",
        &given(&[
            (20, "wrong"),
            (129, "right"),
            (8, "right"),
            (32, "wrong"),
            (30, "other"),
        ]),
    );
    calls
}

#[test]
fn published_shares_of_labels_follow_from_their_counts() {
    let calls = published_labels();
    let (_, scored) = calls.scored();
    let row = |strategy| of(&scored["categorical"], &[("strategy", strategy)]);
    let errors = &row("none")["earlier_errors"];
    for (field, wanted) in [
        ("correction_c0", 21.62),
        ("correction_c1", 22.97),
        ("correction_c2", 11.26),
        ("persistence_c0", 65.77),
        ("persistence_c1", 65.77),
        ("persistence_c2", 81.53),
    ] {
        near(&errors[field], wanted, 0.006);
    }
    near(&errors["blocked_corrections"], 47.9, 0.05);
    let right = &row("none")["earlier_right"];
    for (field, wanted) in [
        ("accuracy_c0", 76.26),
        ("accuracy_c2", 68.49),
        ("delta_accuracy", -7.76),
        ("agreement_c0", 11.42),
        ("agreement_c2", 18.72),
        ("delta_agreement", 7.31),
        ("induced_errors", 10.18),
    ] {
        near(&right[field], wanted, 0.006);
    }
    assert_eq!(
        (&right["induced_errors_k"], &right["induced_errors_n"]),
        (&json!(17.0), &json!(167.0))
    );
    // Published: 5.88 and 15.06.
    near(&right["induced_errors_low"], 5.88, 0.5);
    near(&right["induced_errors_high"], 15.06, 0.5);
    let warning = &row("warning")["earlier_right"];
    near(&warning["accuracy_c0"], 74.43, 0.006);
    near(&warning["delta_accuracy"], 0.0, 1e-9);
    near(&warning["mitigation_accuracy"], 7.76, 0.006);
    near(&warning["delta_agreement"], 0.91, 0.006);
    near(&warning["mitigation_agreement"], -6.39, 0.006);
    assert_eq!(
        (&warning["induced_errors_k"], &warning["induced_errors_n"]),
        (&json!(7.0), &json!(163.0))
    );
    let steps = &row("steps")["earlier_right"];
    near(&steps["accuracy_c0"], 68.04, 0.006);
    near(&steps["accuracy_c2"], 62.56, 0.006);
    near(&steps["mitigation_accuracy"], 2.28, 0.006);
    near(&steps["induced_errors"], 20.0 / 149.0 * 100.0, 0.006);
}

#[test]
fn a_label_outside_the_set_is_counted_and_left_out() {
    let mut calls = Calls::default();
    for (item, label) in ["right", "wrong", "nonsense"].into_iter().enumerate() {
        for condition in ["c0", "c2"] {
            let label = if condition == "c0" { "right" } else { label };
            calls.add(&json!({"task": format!("i{item}"), "group": "b", "truth": "right", "condition": condition, "trial": 1,
                "anchor": "wrong", "text": format!("{{\"label\": \"{label}\"}}"), "labels": ["right", "wrong"]}));
        }
    }
    let (_, scored) = calls.scored();
    let row = &scored["categorical"][0];
    assert_eq!(row["lost"], json!({"unknown_label": 1}));
    assert_eq!(row["earlier_right"]["pairs"], 2);
    near(&row["earlier_right"]["accuracy_c2"], 50.0, 1e-9);
}

#[test]
fn digits_of_calls_have_means_and_slopes() {
    // As published for one probe: the 5 goes to the 4 with the block, and the earlier score changes little.
    let mut calls = Calls::default();
    let mut add = |condition: &str, trial: u32, anchor: Option<f64>, five: f64| {
        let mut call = json!({"task": "story", "condition": condition, "trial": trial, "score": 5,
            "digits": {"4": (1.0 - five).ln(), "5": five.ln()}});
        if let Some(anchor) = anchor {
            call["anchor"] = json!(anchor);
        }
        calls.add(&call);
    };
    for trial in 1..=4 {
        add("c0", trial, None, 0.926);
        for anchor in [1.0, 2.0, 3.0, 3.9] {
            add("c2", trial, Some(anchor), 0.002 - 0.0002 * anchor);
        }
    }
    let (_, scored) = calls.scored();
    let probe = &scored["probes"][0];
    near(&probe["probabilities"]["c0"][5], 0.926, 1e-9);
    near(&probe["probabilities"]["c0"][4], 0.074, 1e-9);
    near(&probe["slopes"][4]["slope"], 0.0002, 1e-9);
    near(&probe["slopes"][5]["slope"], -0.0002, 1e-9);
    assert!(probe["slopes"][3]["slope"].is_null());
    near(&probe["shift"], -0.9245, 1e-3);
}

#[test]
fn digits_come_with_chat_completions_that_give_log_probabilities() {
    let server = Server::new(|request, _| {
        let sent: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            (&sent["logprobs"], &sent["top_logprobs"]),
            (&json!(true), &json!(5))
        );
        let shown = sent["messages"].to_string().contains("Prior score");
        let (digit, other) = if shown { ("4", "5") } else { ("5", "4") };
        let plain = |token: &str| json!({"token": token, "logprob": -0.01, "top_logprobs": []});
        let score = json!({"token": digit, "logprob": 0.9_f64.ln(), "top_logprobs": [
            {"token": digit, "logprob": 0.9_f64.ln()}, {"token": other, "logprob": 0.1_f64.ln()}]});
        let mut body = completion(&format!("{{\"score\": {digit}, \"accept\": true}}"));
        let tokens = json!([
            plain("{\""),
            plain("score"),
            plain("\":"),
            plain(" "),
            score,
            plain(", \"accept\": true}")
        ]);
        body["choices"][0]["logprobs"] = json!({"content": tokens});
        wiremock::ResponseTemplate::new(200).set_body_json(body)
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &server.models("    stream: false\n    extra_body: {logprobs: true, top_logprobs: 5}\n"),
    );
    folder
        .wheel("run --task judge-dose --item fact-leap --model served --quiet")
        .expect(0);
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    let probe = &scored["probes"][0];
    near(&probe["probabilities"]["c0"][5], 0.9, 1e-9);
    near(&probe["probabilities"]["c2"][4], 0.9, 1e-9);
    near(&probe["shift"], -0.8, 1e-9);
    near(&scored["models"][0]["delta_total"], -1.0, 1e-9);
}

#[test]
fn bad_lines_of_calls_name_file_line_and_mend() {
    let folder = Folder::new();
    let good = r#"{"model": "m", "task": "t", "condition": "c0", "trial": 1, "score": 4}"#;
    for (line, words) in [
        (
            r#"{"model": "m", "task": "t", "condition": "c2", "trial": 2, "anchor": 9}"#,
            "lies off the scale",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c0", "trial": 2, "scale": [1, 10]}"#,
            "another scale has another threshold",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c0", "trial": 2, "design": "some"}"#,
            "there is no design `some`",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c0", "trial": 2, "digits": {"4": 0.7}}"#,
            "together they hold at most 1",
        ),
        (
            r#"{"model": "m", "task": "u", "condition": "c2", "trial": 2, "group": "a", "truth": "x", "anchor": "x"}"#,
            "the earlier label is the right one",
        ),
        (
            r#"{"model": "m", "task": "u", "condition": "c2", "trial": 2, "group": "a", "truth": "x", "anchor": "y", "labels": ["x", "z"]}"#,
            "the earlier label `y` is not in the set",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c9", "trial": 1}"#,
            "there is no condition `c9`; it can be c0, c1, c2 or control",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "low", "trial": 1}"#,
            "there is no condition `low`",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c2", "trial": 1}"#,
            "shows an earlier verdict, and none is told",
        ),
        (
            r#"{"model": "m", "task": "t", "condition": "c0", "trial": 0}"#,
            "trials count from 1",
        ),
        (
            r#"{"model": "m", "condition": "c0", "trial": 1}"#,
            "missing field `task`",
        ),
        (good, "bad.jsonl:1 tells of the same trial"),
        (
            r#"{"model": "m", "task": "t", "condition": "c0", "trial": 2, "truth": "x"}"#,
            "nothing says whether the earlier label was wrong",
        ),
    ] {
        folder.write("bad.jsonl", &format!("{good}\n\n{line}\n"));
        folder
            .wheel("import calls bad.jsonl --store s")
            .expect(2)
            .says(&["bad.jsonl:3: ", words, "nothing was imported"]);
    }
    folder.write(
        "odd.jsonl",
        r#"{"model": "m", "task": "t", "condition": "c0", "trial": 1, "score": 4, "colour": 1}"#,
    );
    folder
        .wheel("import calls odd.jsonl --store s")
        .expect(0)
        .says(&["the field `colour` of 1 lines is not read"]);
}

#[test]
fn texts_rubric_scale_threshold_labels_and_instructions_of_ones_own_come_from_yaml_and_tables() {
    let folder = Folder::new();
    folder.write("texts.csv", "id,category,assignment,answer\ne-1,essay,Write on rain.,\"Rain falls, mostly.\"\ne-2,essay,Write on snow.,Snow is cold rain.\n");
    folder.write("rubric.yaml", "scale: {from: 1, to: 10}\nthreshold: 7\nsystem: You mark essays.\nrubrics: {default: Clear and short.}\n");
    folder.wheel("run --suite judge --texts texts.csv --rubric rubric.yaml --model scripted/pull=0.5 --quiet").expect(0);
    let lines = folder.lines("scripted%2Fpull%3D0.5", "judge");
    assert_eq!(lines.len(), 2 * 4 * 4);
    assert!(
        !folder
            .path()
            .join("runs/scripted%2Fpull%3D0.5/labels.jsonl")
            .exists()
    );
    let line = lines.iter().find(|line| line["condition"] == "c2").unwrap();
    assert_eq!(line["conversation"][0]["content"], "You mark essays.");
    let prompt = line["conversation"][1]["content"].as_str().unwrap();
    for words in [
        "Rain falls, mostly.",
        "Clear and short.",
        "from 1 to 10",
        "accepted from 7 on",
    ] {
        assert!(prompt.contains(words), "{prompt}");
    }
    for line in lines.iter().filter(|line| !line["anchor"].is_null()) {
        assert!((1.0..7.0).contains(&number(&line["anchor"])));
    }
    // The lines say by what was judged: scoring needs no flags.
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    assert_eq!(scored["models"][0]["threshold"], 7.0);
    near(&scored["models"][0]["slope"], 0.5, 1e-9);

    folder.write("rubric.csv", "field,text\nlabelling.system,You sort letters.\nlabelling.labels.praise,thanks\nlabelling.labels.blame,complaints\n");
    folder.write("letters.yaml", "messages:\n  - {id: l-1, text: Well done., truth: praise}\n  - {id: l-2, text: Badly done., truth: blame, prior: praise}\n");
    folder.wheel("run --suite judge --texts letters.yaml --rubric rubric.csv --model scripted/follow=1 --quiet").expect(0);
    let lines = folder.lines("scripted%2Ffollow%3D1", "labels");
    assert_eq!(lines.len(), 5);
    let c2 = lines
        .iter()
        .find(|line| line["item"] == "l-2" && line["condition"] == "c2")
        .unwrap();
    assert_eq!(
        (&c2["judging"]["prior"], &c2["judging"]["truth"]),
        (&json!("praise"), &json!("blame"))
    );
    assert!(c2["text"].as_str().unwrap().contains("praise"));
}

#[test]
fn bad_texts_and_rubrics_name_file_line_and_mend() {
    let folder = Folder::new();
    for (name, text, words) in [
        (
            "t.yaml",
            "messages:\n  - {id: a, text: hi, truth: nothing}\n",
            &[
                "t.yaml:2:",
                "there is no label `nothing`",
                "account, booking, fault",
            ][..],
        ),
        (
            "t.yaml",
            "texts:\n  - {id: a, category: x, assignment: y}\n",
            &["t.yaml:2:", "answer", "is missing"][..],
        ),
        (
            "t.yaml",
            "texts:\n  - {id: a, category: x, assignment: y, answer: z}\n  - {id: a, category: x, assignment: y, answer: z}\n",
            &["t.yaml:3:", "stands here twice"][..],
        ),
        (
            "t.yaml",
            "texts:\n  - {id: a, category: x, assignment: y, answer: z, colour: red}\n",
            &["t.yaml:2:", "colour", "there is no such field"][..],
        ),
        (
            "t.yaml",
            "name: nothing\n",
            &["t.yaml:1:", "holds nothing to be judged"][..],
        ),
        (
            "t.csv",
            "id,text,truth\na,hi,fault\nb,ho,falt\n",
            &["t.csv:3:", "there is no label `falt`"][..],
        ),
        (
            "t.csv",
            "id,text,truth\na,hi\n",
            &["t.csv:2:", "this is no CSV row"][..],
        ),
    ] {
        folder.write(name, text);
        folder
            .wheel(&format!(
                "run --suite judge --texts {name} --model scripted/pull=0"
            ))
            .expect(2)
            .says(words);
    }
    for (text, words) in [
        (
            "scale: {from: 5, to: 1}\nthreshold: 2\n",
            "must lie below `to`",
        ),
        ("threshold: 9\n", "9 does not lie on the scale from 0 to 5"),
        ("labelling: {labels: {one: x}}\n", "fewer than two labels"),
        ("rubrics: []\n", "must be a mapping"),
        (
            "scale: {from: 1, to: 10}\n",
            "is missing: another scale has another threshold",
        ),
    ] {
        folder.write("r.yaml", text);
        folder
            .wheel("run --suite judge --rubric r.yaml --model scripted/pull=0")
            .expect(2)
            .says(&["r.yaml:1:", words]);
    }
    folder.write("wide.yaml", "scale: {from: 10, to: 100}\nthreshold: 60\n");
    folder
        .wheel("run --task judge-dose --rubric wide.yaml --model scripted/pull=0")
        .expect(2)
        .says(&["shows the earlier score 1, which lies off the scale from 10 to 100"]);
    folder
        .wheel("run --task judge-probe --rubric wide.yaml --model scripted/pull=0")
        .expect(2)
        .says(&["looks at one digit"]);
    folder
        .wheel("run --suite judge --item sum-tide --model scripted/pull=0")
        .expect(2)
        .says(&["there is no text or message `sum-tide`, did you mean sum-tides?"]);
    let task = "name: mine\nsuite: judge\njudges: {of: texts}\nconditions: [c0, c2]\nmessages:\n  - user: \"{{ answer }}\"\n  - ask: [verdict]\n";
    folder.write("tasks/mine.yaml", task);
    folder
        .wheel("run --task mine --model scripted/pull=0")
        .expect(2)
        .says(&["mine.yaml", "two conditions have the same prompt"]);
    folder.write("tasks/mine.yaml", &task.replace("c2", "high"));
    folder
        .wheel("run --task mine --model scripted/pull=0")
        .expect(2)
        .says(&["`high` belongs to another suite than judge"]);
    let suites: Vec<String> = built_in_tasks()
        .of(Suite::Judge)
        .names()
        .map(str::to_owned)
        .collect();
    assert!(suites.contains(&"labels-warning".to_owned()));
}

#[test]
fn what_is_stored_follows_changed_designs_truths_and_refused_settings() {
    let folder = Folder::new();
    let task = "name: doses\nsuite: judge\njudges: {of: texts, anchors: [1, 2]}\nconditions: [c0, c2]\nmessages:\n  - user: \"{{ answer }}{% if condition == 'c2' %} {{ attempt }} {{ prior }}{% endif %}\"\n  - ask: [verdict]\n";
    folder.write("tasks/doses.yaml", task);
    let run = "run --task doses --model scripted/pull=0.5 --quiet";
    folder.wheel(run).expect(0);
    // The calls without a block are not asked again for other doses, and belong to both.
    folder.write("tasks/doses.yaml", &task.replace("[1, 2]", "[3, 3.5]"));
    folder.wheel(run).expect(0);
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    let models = scored["models"].as_array().unwrap();
    assert_eq!(models.len(), 2);
    for model in models {
        assert_eq!(model["conditions"]["c0"]["valid"], 20);
        near(&model["pull"], 0.5, 1e-9);
    }

    // A right label that is mended later is right for all calls: the script said fault before anybody else did.
    let letters = "messages:\n  - {id: l-1, text: My bike is broken., truth: booking}\n";
    folder.write("judge/messages.yaml", letters);
    folder
        .wheel("run --task labels --model scripted/pull=0 --quiet")
        .expect(0);
    folder.write(
        "judge/messages.yaml",
        &letters.replace("truth: booking", "truth: fault, prior: account"),
    );
    let scored = folder
        .wheel("score --suite judge --task labels --json")
        .expect(0)
        .json();
    assert!(scored["categorical"][0]["earlier_right"].is_null());
    near(
        &scored["categorical"][0]["earlier_errors"]["correction_c0_k"],
        1.0,
        1e-12,
    );

    // A temperature that the server refuses has no cell of its own.
    let server = Server::new(|request, _| {
        let sent: Value = serde_json::from_slice(&request.body).unwrap();
        if sent.get("temperature").is_some() {
            return wiremock::ResponseTemplate::new(400).set_body_json(json!({"error": {"message":
                "Unsupported parameter: 'temperature' is not supported with this model.", "param": "temperature"}}));
        }
        wiremock::ResponseTemplate::new(200).set_body_json(completion("{\"score\": 4.5}"))
    });
    folder.write("models.yaml", &server.models("    stream: false\n"));
    folder
        .wheel("run --task judge-dose --item fact-leap --model served --temperature 0.7 --quiet")
        .expect(0);
    let scored = folder
        .wheel("score --suite judge --model served --json")
        .expect(0)
        .json();
    let model = &scored["models"][0];
    assert_eq!(
        (&model["temperatures"], &model["dropped"]),
        (&json!([null]), &json!(["temperature"]))
    );
    assert_eq!((&model["n"], &model["valid"]), (&json!(5), &json!(5)));
}

#[test]
fn a_study_may_lie_in_several_files_and_is_read_anew() {
    let folder = Folder::new();
    let call = |condition: &str, trial: u32, more: &str| {
        format!(
            "{{\"model\": \"m\", \"task\": \"t\", \"condition\": \"{condition}\", \"trial\": {trial}{more}}}\n"
        )
    };
    let alone: String = (1..=3)
        .map(|trial| call("c0", trial, ", \"score\": \"4.0\""))
        .collect();
    let shown = [1.0, 2.0].map(|anchor| -> String {
        let more = format!(", \"score\": 3.0, \"anchor\": {anchor}");
        (1..=3).map(|trial| call("c2", trial, &more)).collect()
    });
    folder.write("c0.jsonl", &alone);
    folder.write("c2.jsonl", &shown.concat());
    folder
        .wheel("import calls c0.jsonl c2.jsonl")
        .expect(0)
        .says(&["added 9 calls"]);
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    near(&scored["models"][0]["delta_total"], -1.0, 1e-12);
    assert_eq!(scored["models"][0]["design"], json!({"fixed": [1.0, 2.0]}));
    folder
        .wheel("show --model m --task judge-dose --item t --condition c2")
        .expect(0)
        .prints(&["number shown 1", "score 3"]);
    // What the file calls valid and we cannot read, what it calls lost, and another reply to a stored trial are said.
    let odd = call("c1", 1, ", \"valid\": true, \"text\": \"four\"")
        + &call(
            "c1",
            2,
            ", \"valid\": false, \"text\": \"{\\\"score\\\": 4}\"",
        )
        + &call("c1", 3, ", \"score\": true")
        + &call("c1", 4, ", \"error\": \"timed out after 60 s\"")
        + &call("c0", 1, ", \"score\": 1");
    folder.write(
        "odd.jsonl",
        &(odd
            + &alone
                .lines()
                .skip(1)
                .fold(String::new(), |all, line| all + line + "\n")
            + &shown.concat()),
    );
    folder.wheel("import calls odd.jsonl").expect(0).says(&[
        "2 calls are read otherwise than the file says",
        "of 1 trials the store holds another reply",
    ]);
    let scored = folder.wheel("score --suite judge --json").expect(0).json();
    assert_eq!(
        scored["models"][0]["conditions"]["c1"],
        json!({"n": 4, "valid": 1, "lost": {"error:timeout": 1, "no_object": 1, "not_numeric": 1}})
    );
}

#[test]
fn a_judge_that_is_not_shown_is_in_no_mean_of_judges() {
    let mut calls = Calls::default();
    for (model, lost) in [("good", 0), ("patchy", 6)] {
        for task in ["t1", "t2"] {
            for trial in 1..=10 {
                for condition in ["c0", "c2"] {
                    let valid = condition == "c0" || trial > lost;
                    let mut call = json!({"model": model, "task": task, "condition": condition, "trial": trial, "anchor": 2.0,
                        "design": "drawn", "valid": valid});
                    if valid {
                        call["score"] = json!(if condition == "c0" {
                            4.0
                        } else if model == "good" {
                            3.9
                        } else {
                            1.0
                        });
                    }
                    calls.add(&call);
                }
            }
        }
    }
    let (folder, scored) = calls.scored();
    let patchy = of(&scored["models"], &[("model", "patchy")]);
    assert_eq!(patchy["covered"], false);
    for row in scored["categories"].as_array().unwrap() {
        near(&row["delta_total"], -0.1, 1e-9);
    }
    assert_eq!(scored["ceiling"][0]["units"], 2);
    folder.wheel("leaderboard --suite judge").expect(0);
    assert!(
        folder
            .read("leaderboards/judge.md")
            .contains("fewer than 80 %")
    );
}
