//! Generated cases: the published numbers, our wording, and what a person may change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wheel::bank::cases::{Case, Content, Demonstration, Draw, Extra, Size, Warmup, check};
use wheel::domain::{Condition, Side, Suite};
use wheel::task::{Form, Task, check_prompts};
use wiremock::ResponseTemplate;

use super::support::{Folder, Server, built_in_tasks, built_in_wording, shared};

/// Our tasks and the folders of the published sets.
const SETS: [(&str, &str); 6] = [
    ("external", "external"),
    ("history", "history"),
    ("icl", "icl"),
    ("icl-dist", "icl_dist"),
    ("rag", "rag"),
    ("tool", "tool"),
];

fn draw(case: &Case) -> &Draw {
    match &case.content {
        Content::Drawn(draw, _) => draw,
        Content::Published(_) => panic!("generated"),
    }
}

fn generate(task: &Task) -> Vec<Case> {
    task.cases.as_ref().unwrap().generate(&built_in_wording())
}

/// The numbers of a case in the words of the published files.
fn numbers(case: &Case) -> Value {
    let draw = draw(case);
    let hidden: Vec<usize> = (0..5).filter(|slot| draw.hidden[*slot]).collect();
    let demonstrations = |set: &[Demonstration; 3]| -> Value {
        let one = |one: &Demonstration| json!([one.ratings, one.answer]);
        set.iter().map(one).collect()
    };
    let warmup = |warmup: &Warmup| json!([warmup.theta, warmup.ratings]);
    let pair = |side| {
        let (a, b) = draw.pair(side, case.facts.gold);
        json!([a, b])
    };
    let extra = match &draw.extra {
        Extra::None => Value::Null,
        Extra::Warmups(low, high) => {
            json!([warmup(low), warmup(high), pair(Side::Low), pair(Side::High)])
        }
        Extra::Demonstrations(set) => demonstrations(set),
        Extra::AnchoredDemonstrations(sets) => sets.iter().map(demonstrations).collect(),
    };
    json!({
        "id": case.id,
        "domain": case.facts.domain,
        "difficulty": case.facts.difficulty,
        "theta": draw.theta,
        "ratings": draw.ratings,
        "hidden": hidden,
        "gold": case.facts.gold,
        "anchors": draw.anchors.map(|(low, high)| json!([low, high])),
        "choices": [
            draw.choices.labels, draw.choices.scenario, draw.choices.question, draw.choices.phrase,
        ],
        "extra": extra,
    })
}

/// The same of a published case.
fn published(case: &Value) -> Value {
    let parts = &case["y_star_components"];
    let values = |evidence: &Value| -> Value {
        let evidence = evidence.as_array().unwrap().iter();
        evidence.map(|one| one["value"].clone()).collect()
    };
    let demonstrations = |set: &Value| -> Value {
        let one = |one: &Value| json!([values(&one["evidence"]), one["answer"]]);
        set.as_array().unwrap().iter().map(one).collect()
    };
    let warmup = |one: &Value| json!([one["theta"], values(&one["evidence_structured"])]);
    let (tags, history) = (&case["tags"], &case["history"]);
    let extra = if history.is_object() {
        json!([
            warmup(&history["warmup_low"]),
            warmup(&history["warmup_high"]),
            history["subset_indices_low"],
            history["subset_indices_high"],
        ])
    } else if tags["icl_demos"].is_array() {
        demonstrations(&tags["icl_demos"])
    } else if tags["icl_dist_demos_low"].is_array() {
        ["control", "low", "high"]
            .map(|set| demonstrations(&tags[&format!("icl_dist_demos_{set}")]))
            .into_iter()
            .collect()
    } else {
        Value::Null
    };
    let anchors = &case["anchors"];
    json!({
        "id": case["item_id"],
        "domain": case["domain"],
        "difficulty": case["difficulty"],
        "theta": case["theta"],
        "ratings": parts["evidence_values_raw"],
        "hidden": parts["missing_indices"],
        "gold": case["y_star_evidence"].as_f64(),
        "anchors": (!history.is_object()).then(|| json!([anchors["low"], anchors["high"]])),
        "choices": [
            case["evidence_label_family_idx"], case["scenario_template_idx"],
            case["question_template_idx"], case["anchor_phrasing_idx"],
        ],
        "extra": extra,
    })
}

#[test]
fn every_number_of_every_published_case_comes_out() {
    let tasks = built_in_tasks();
    for (name, folder) in SETS {
        let file = format!("anchorbench-full/{folder}/itemspecs.jsonl.xz");
        let Some(text) = shared(&file) else { return };
        let wanted: Vec<Value> = text
            .lines()
            .map(|line| published(&serde_json::from_str(line).unwrap()))
            .collect();
        let made: Vec<Value> = generate(tasks.get(name).unwrap())
            .iter()
            .map(numbers)
            .collect();
        assert_eq!(made.len(), 360);
        for (made, wanted) in made.iter().zip(&wanted) {
            assert_eq!(made, wanted, "{name}");
        }
        assert_eq!(made.len(), wanted.len());
    }
}

#[test]
fn every_set_passes_its_checks_and_every_prompt_holds_its_anchor() {
    for task in &built_in_tasks().of(Suite::Anchorbench).0 {
        let cases = generate(task);
        assert_eq!(check(&cases), [], "{}", task.name);
        let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
        let some: Vec<Arc<Case>> = cases.iter().step_by(7).cloned().collect();
        let faults = check_prompts(task, &some).unwrap();
        assert_eq!(faults, Vec::<String>::new(), "{}", task.name);
    }
}

#[test]
fn sizes_are_parts_of_one_another() {
    let task = built_in_tasks();
    for (name, smoke, pilot) in [("external", 6, 180), ("history", 6, 180)] {
        let cases = generate(task.get(name).unwrap());
        let of = |size: Size| -> BTreeSet<String> {
            let held = cases.iter().filter(|case| size.holds(case, "pricing_wtp"));
            held.map(|case| case.id.to_string()).collect()
        };
        let (smoke_ids, pilot_ids) = (of(Size::Smoke), of(Size::Pilot));
        assert_eq!((smoke_ids.len(), pilot_ids.len()), (smoke, pilot));
        assert!(smoke_ids.is_subset(&pilot_ids) && pilot_ids.is_subset(&of(Size::Core)));
        assert_eq!(of(Size::Core).len(), 360);
    }
}

/// The prompts of one easy and one hard case under every condition, in both forms.
#[test]
fn the_prompts_of_every_task_of_cases_are_those_in_the_snapshots() {
    for task in &built_in_tasks().of(Suite::Anchorbench).0 {
        let cases = generate(task);
        let mut text = String::new();
        for case in [&cases[0], &cases[cases.len() / 2 + 31]] {
            for condition in &task.conditions {
                let plain = outline(task, case, *condition, false);
                let called = outline(task, case, *condition, true);
                writeln!(text, "=== {} {condition}\n{plain}", case.id).unwrap();
                if called != plain {
                    writeln!(text, "=== the same with calls\n{called}").unwrap();
                }
            }
        }
        insta::assert_snapshot!(format!("cases_{}", task.name), text);
    }
}

fn outline(task: &Task, case: &Case, condition: Condition, tools: bool) -> String {
    let form = Form {
        prefill: false,
        tools,
    };
    let mut text = String::new();
    for message in &task.outline(case, condition, form).unwrap().0 {
        let call = message.call.as_ref().map_or_else(String::new, |call| {
            format!(" {} {}", call.name, call.arguments)
        });
        writeln!(text, "[{}{call}] {}", message.role, message.content).unwrap();
    }
    text
}

#[test]
fn no_two_tasks_send_the_same_prompts() {
    // The published elicited variant is word for word its base; ours are really different, in either form.
    let tasks = built_in_tasks().of(Suite::Anchorbench);
    let mut seen: BTreeMap<(String, bool), String> = BTreeMap::new();
    for task in &tasks.0 {
        let cases = generate(task);
        for tools in [false, true] {
            // Its sampling alone is another, and without calls everything is plain.
            if task.name.as_str() == "external-sampling"
                || (task.name.as_str() == "tool-plain" && !tools)
            {
                continue;
            }
            let prompts: Vec<String> = task
                .conditions
                .iter()
                .map(|condition| outline(task, &cases[17], *condition, tools))
                .collect();
            if let Some(other) = seen.insert((prompts.join("\n"), tools), task.name.to_string()) {
                panic!("{} and {other} send the same prompts", task.name);
            }
        }
    }
}

#[test]
fn a_sixth_pathway_is_a_task_file() {
    let folder = Folder::new();
    folder.write(
        "tasks/badge.yaml",
        "name: badge\nsuite: anchorbench\ntitle: Badge\ncases: {prefix: BADGE, seed: 7, offsets: [20], domains: business}\n\
         conditions: [control, irrelevant_low, irrelevant_high, plausible_low, plausible_high]\nmessages:\n  - user: |-\n      \
         {% if anchor %}{{ say[relevance] }}{% endif %}\n      {{ scenario }}\n      {{ evidence }}\n      {{ question }}\n  - ask: [estimate]\n",
    );
    folder.wheel("tasks check").expect(0);
    folder
        .wheel("run --task badge --size smoke --model scripted/irrelevant=0.1,plausible=0.4")
        .expect(0);
    assert_eq!(
        folder
            .lines("scripted%2Firrelevant%3D0.1%2Cplausible%3D0.4", "badge")
            .len(),
        10
    );
}

#[test]
fn faults_of_task_and_wording_files_are_named_with_line_and_mend() {
    let folder = Folder::new();
    let task = |conditions: &str, message: &str| {
        format!(
            "name: mine\nsuite: anchorbench\ncases: {{prefix: M, offsets: [20], domains: business}}\nconditions: [{conditions}]\nmessages:\n  - user: \"{message}\"\n  - ask: [estimate]\n"
        )
    };
    let check = |text: &str, words: &[&str]| {
        folder.write("tasks/mine.yaml", text);
        folder.wheel("tasks check").expect(2).says(words);
    };
    check(
        &task("irrelevant_low, irrelevant_high", "{{ anchor }}"),
        &["mine.yaml", "there is no control", "add control"],
    );
    check(
        &task("control, irrelevant_low", "{{ anchor }}"),
        &["low and high belong together"],
    );
    check(
        &task("control, low, high", "{{ anchor }}"),
        &["mine.yaml:4", "low"],
    );
    check(
        &task("control, irrelevant_low, irrelevant_high", "{{ evidence }}"),
        &["the prompts under low and high are the same"],
    );
    check(
        &task("control, irrelevant_low, irrelevant_high", "{{ anchor }}"),
        &["mine.yaml:5", "does not hold the rating", "{{ evidence }}"],
    );
    // What the two cases that stand in for all do not show, the whole set does.
    check(
        &task(
            "control, irrelevant_low, irrelevant_high",
            "{% if metric != 'policy compliance' %}{{ evidence }}{% endif %} {{ anchor }} {{ question }}",
        ),
        &[
            "case `M-legal_policy-",
            "does not hold the rating",
            "{{ evidence }}",
        ],
    );
    check(
        &task("control, irrelevant_low, irrelevant_high", "{{ anchr }}"),
        &["undefined", "templates may use scenario"],
    );
    check(
        &task("control, irrelevant_low, irrelevant_high", "{{ anchor }}")
            .replace("business", "space"),
        &[
            "there are no domains `space`",
            "there are business, medical, other",
        ],
    );
    std::fs::remove_file(folder.path().join("tasks/mine.yaml")).unwrap();
    folder.write(
        "wording/more.yaml",
        "name: more\ndomains:\n  - id: tides\n    metric: tide height\n    labels:\n      - [a, b, c, d]\n    scenarios: [Harbor 12 is silting up.]\n",
    );
    folder.wheel("tasks").expect(2).says(&[
        "wording/more.yaml:6",
        "a family holds five labels",
        "wording/more.yaml:7",
        "holds a number of its own",
    ]);
}

#[test]
fn a_server_that_takes_no_tools_is_named_with_the_way_on() {
    let folder = Folder::new();
    let server = Server::new(|_, _| {
        ResponseTemplate::new(400)
            .set_body_json(json!({"error": {"message": "tools is not supported by this model"}}))
    });
    folder.write("models.yaml", &server.models("    tools: true\n"));
    let run = "run --task tool --item TOOL-pricing_wtp-e-off15-001 --model served";
    folder
        .wheel(run)
        .expect(3)
        .says(&["tools is not supported", "tools: false in models.yaml"]);
}

#[test]
fn tool_calls_go_to_models_that_take_them_and_are_told_to_the_others() {
    let folder = Folder::new();
    let server = Server::steady("50", Duration::ZERO);
    let run = "run --task tool --item TOOL-pricing_wtp-e-off15-001 --model served -q";
    folder.write("models.yaml", &server.models("    tools: true\n"));
    folder.wheel(run).expect(0);
    folder
        .wheel(&format!("{run} --store plain --task tool-plain"))
        .expect(0);
    folder.write("models.yaml", &server.models(""));
    folder.wheel(&format!("{run} --store told")).expect(0);
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 5 + 10 + 5);
    let (called, told): (Vec<&Value>, Vec<&Value>) =
        bodies.iter().partition(|body| body["tools"].is_array());
    assert_eq!((called.len(), told.len()), (10, 10));
    for body in called {
        let roles: Vec<&str> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["role"].as_str().unwrap())
            .collect();
        assert_eq!(
            roles,
            ["system", "user", "assistant", "tool", "assistant", "tool"]
        );
        assert_eq!(body["tool_choice"], "none");
        let user = body["messages"][1]["content"].as_str().unwrap();
        assert!(!user.contains("look_up_reference returned"));
    }
    for body in told {
        let user = body["messages"][1]["content"].as_str().unwrap();
        assert!(user.contains("look_up_reference returned"), "{user}");
    }
    // What was sent is recorded, and the form shows in the scores.
    let called = folder.lines("served", "tool");
    assert_eq!(
        called[0]["conversation"][2]["call"]["name"],
        "summarize_ratings"
    );
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    assert_eq!(scores["cells"][0]["with_calls"], 5);
    assert_eq!(scores["cells"][0]["other_wording"], 0);
}

#[test]
fn a_larger_size_asks_only_for_what_is_new() {
    let folder = Folder::new();
    let run = "run --task external --model scripted/pull=0.2 --size";
    folder.wheel(&format!("{run} smoke")).expect(0);
    folder
        .wheel(&format!("{run} pilot"))
        .expect(0)
        .says(&["870 samples to ask, 30 already"]);
}
