//! The published data set: read as it is, asked to the letter, exported and read again.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wiremock::ResponseTemplate;

use super::support::{Folder, Server, completion, shared, shared_path};

/// The hash that published prompts carry.
pub fn hash(text: &str) -> String {
    let mut hash = "sha256:".to_owned();
    for byte in &Sha256::digest(text.as_bytes())[..8] {
        write!(hash, "{byte:02x}").unwrap();
    }
    hash
}

#[test]
fn the_whole_published_sets_are_read_and_asked_to_the_letter() {
    let Some(sets) = shared_path("anchorbench-full") else {
        return;
    };
    let folder = Folder::new();
    let import = format!("import anchorbench {}", sets.display());
    let run = folder.wheel(&import).expect(0);
    for line in [
        "external: 360 cases, 1800 prompts",
        "external-partial-3: 360 cases, 1800 prompts",
        "icl-dist: 360 cases, 1800 prompts",
    ] {
        assert!(run.err.contains(line), "{line}: {}", run.err);
    }
    // Again changes nothing.
    folder.wheel(&import).expect(0);
    // Everything is asked as published: the texts have the published hashes.
    let model = "scripted/irrelevant=0.1,plausible=0.4";
    folder
        .wheel(&format!(
            "run --suite anchorbench --size pilot --model {model} -q"
        ))
        .expect(0);
    let mut seen = 0;
    for (task, suite) in [
        ("external", "external"),
        ("history", "history"),
        ("icl-dist", "icl_dist"),
        ("tool", "tool"),
    ] {
        let text = shared(&format!(
            "anchorbench-full/{suite}/promptviews_core.jsonl.xz"
        ))
        .unwrap();
        let views: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for line in folder.lines("scripted%2Firrelevant%3D0.1%2Cplausible%3D0.4", task) {
            let messages = line["conversation"].as_array().unwrap();
            let said: Vec<&str> = messages
                .iter()
                .filter(|message| message["role"] == "user")
                .map(|message| message["content"].as_str().unwrap())
                .collect();
            let view = views
                .iter()
                .find(|view| {
                    view["item_id"] == line["item"] && view["condition"] == line["condition"]
                })
                .unwrap();
            if view["prompt_components"]["stage2_user_message"].is_string() && line["turn"] == 1 {
                continue;
            }
            assert_eq!(view["prompt_hash"], hash(&said.join("\n\n---\n\n")));
            seen += 1;
        }
    }
    assert_eq!(seen, 4 * 900);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let cells = scores["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        assert_eq!(cell["other_wording"], 0, "{cell}");
        let pull = cell["uai_plausible"]["value"].as_f64().unwrap();
        assert!((pull - 0.4).abs() < 1e-9);
    }
    answers_come_back(&folder);
}

/// Exported in the published form and read again elsewhere, answers give the same scores.
fn answers_come_back(folder: &Folder) {
    folder.wheel("export anchorbench --out results").expect(0);
    folder
        .wheel("import anchorbench results --store elsewhere")
        .expect(0);
    let score = |store: &str| {
        let words = format!("score --suite anchorbench --store {store} --json");
        let scores = folder.wheel(&words).expect(0).json();
        let cells = scores["cells"].as_array().unwrap().iter();
        cells
            .map(|cell| {
                json!([
                    cell["task"],
                    cell["n"],
                    cell["parse_rate"],
                    cell["mae"],
                    cell["uai_irrelevant"],
                    cell["uai_plausible"],
                    cell["by_difficulty"]["hard"]["uai_plausible"],
                ])
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(score("runs"), score("elsewhere"));
    // Where only answers were read, the same lines go out again.
    folder
        .wheel("export anchorbench --store elsewhere --out again")
        .expect(0);
    let lines = |out: &str| {
        let model = "scripted_irrelevant=0.1,plausible=0.4";
        folder.read(&format!("{out}/external/{model}/results.jsonl"))
    };
    assert!(lines("results").contains("\"y_star_theta\":"));
    assert_eq!(lines("results"), lines("again"));
}

/// A set of our own of one item in the published form.
fn small_set() -> (Value, Vec<Value>) {
    let rating = |value: u8| json!({"type": "rating", "value": value, "value_raw": value, "label": "a", "missing": false});
    let spec = json!({
        "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "difficulty": "easy",
        "y_star_evidence": 52, "y_star_theta": 55, "evidence_structured": [rating(50), rating(51), rating(52), rating(53), rating(54)],
        "anchors": {"low": 35, "high": 65, "offset": 15},
    });
    let view = |condition: &str, anchor: Value| {
        let text = format!("Ratings 50 51 52 53 54. {condition} {anchor}");
        json!({
            "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "condition": condition,
            "prompt_text": text, "anchor_value": anchor, "prompt_hash": hash(&text),
        })
    };
    let views = vec![
        view("control", Value::Null),
        view("plausible_low", json!(35)),
        view("plausible_high", json!(65)),
    ];
    (spec, views)
}

fn write(folder: &Folder, spec: &Value, views: &[Value]) {
    let lines: Vec<String> = views.iter().map(Value::to_string).collect();
    folder.write("set/itemspecs.jsonl", &spec.to_string());
    folder.write("set/promptviews.jsonl", &lines.join("\n"));
}

/// A set that is refused in these words; nothing of it is kept.
fn refused(folder: &Folder, spec: &Value, views: &[Value], words: &[&str]) {
    write(folder, spec, views);
    folder.wheel("import anchorbench set").expect(2).says(words);
    assert!(!folder.path().join("runs").exists());
}

/// Views of which one has another value in a field.
fn with(views: &[Value], place: usize, field: &str, value: Value) -> Vec<Value> {
    let mut views = views.to_vec();
    views[place][field] = value;
    views
}

#[test]
fn bad_lines_are_named_with_file_line_and_mend_and_nothing_is_imported() {
    let folder = Folder::new();
    let refuse =
        |spec: &Value, views: &[Value], words: &[&str]| refused(&folder, spec, views, words);
    let (spec, views) = small_set();
    let changed = |place, field, value| with(&views, place, field, value);
    refuse(
        &spec,
        &changed(1, "prompt_text", json!("Ratings 50 51 52 53 55.")),
        &[
            "set/promptviews.jsonl:2",
            "has the hash sha256:",
            "the text was changed",
            "nothing was imported",
        ],
    );
    refuse(
        &spec,
        &changed(2, "condition", json!("sideways_high")),
        &[
            "set/promptviews.jsonl:3",
            "no task knows the condition `sideways_high` of suite `external`",
            "conditions such as",
        ],
    );
    refuse(
        &spec,
        &changed(1, "anchor_value", json!(135)),
        &["set/promptviews.jsonl:2", "anchor 135 is not on the scale"],
    );
    refuse(
        &spec,
        &views[1..],
        &[
            "set/promptviews.jsonl:1",
            "item `EXT-d-e-off15-001` has no control",
        ],
    );
    refuse(
        &spec,
        &changed(0, "item_id", json!("EXT-x")),
        &["promptviews.jsonl:1", "item `EXT-x` has no specification"],
    );
    let mut off = spec.clone();
    off["evidence_structured"][3]["value"] = json!(153);
    refuse(
        &off,
        &views,
        &[
            "set/itemspecs.jsonl:1",
            "rating 153 is not on the scale from 0 to 100",
        ],
    );
    let mut gold = spec.clone();
    gold["y_star_evidence"] = json!(60);
    refuse(
        &gold,
        &views,
        &[
            "set/itemspecs.jsonl:1",
            "the gold is 60, but the visible ratings come to 52",
        ],
    );
    let mut theta = spec.clone();
    theta["y_star_theta"] = json!(-1);
    let words = "theta -1 is not on the scale from 0 to 100";
    refuse(&theta, &views, &["set/itemspecs.jsonl:1", words]);
    folder.write("empty/readme.txt", "nothing");
    folder
        .wheel("import anchorbench empty")
        .expect(2)
        .says(&["holds no itemspecs"]);
}

#[test]
fn prompts_that_cannot_be_scored_and_files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    let refuse =
        |spec: &Value, views: &[Value], words: &[&str]| refused(&folder, spec, views, words);
    let (spec, views) = small_set();
    let changed = |place, field, value| with(&views, place, field, value);
    refuse(
        &spec,
        &changed(1, "anchor_value", Value::Null),
        &["set/promptviews.jsonl:2", "names no anchor"],
    );
    let mut twice = changed(1, "prompt_text", views[2]["prompt_text"].clone());
    twice[1]["prompt_hash"] = views[2]["prompt_hash"].clone();
    refuse(
        &spec,
        &twice,
        &[
            "set/promptviews.jsonl:3",
            "has the prompt of another condition under plausible_high",
        ],
    );
    refuse(
        &spec,
        &[json!([])],
        &["set/promptviews.jsonl:1", "expected an object"],
    );
    refuse(&spec, &[], &["holds no prompt and no answer"]);
    std::fs::write(
        folder.path().join("set/promptviews.jsonl"),
        b"\n\n{\"item_id\": \"\xff\"}",
    )
    .unwrap();
    folder
        .wheel("import anchorbench set")
        .expect(2)
        .says(&["promptviews.jsonl", "line 3 is not UTF-8"]);
    folder
        .wheel("import anchorbench set/promptviews.jsonl")
        .expect(2)
        .says(&["name the folder of the files"]);
}

#[test]
fn answers_that_do_not_belong_are_named_and_not_imported() {
    let folder = Folder::new();
    let (spec, views) = small_set();
    write(&folder, &spec, &views);
    folder.wheel("import anchorbench set").expect(0);
    // Answers of another set do not belong to this one.
    folder.write(
        "answers/results.jsonl",
        &json!({
            "model_id": "m", "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "difficulty": "easy",
            "condition": "control", "y_star_evidence": 70, "raw_text": "52",
        })
        .to_string(),
    );
    folder.wheel("import anchorbench answers").expect(2).says(&[
        "results.jsonl:1",
        "the gold of",
        "a store of their own",
    ]);
    // Nor do answers to an item that it has not, answers without their anchor, or of nobody.
    for (field, value, words) in [
        (
            "item_id",
            json!("EXT-d-e-off15-009"),
            "has no item `EXT-d-e-off15-009`",
        ),
        ("model_id", json!(" "), "the name of the model is empty"),
        (
            "y_star_theta",
            json!(54),
            "the theta of `EXT-d-e-off15-001` is 54, but was 55 before",
        ),
        (
            "suite",
            json!("badge"),
            "no task knows the condition `control` of suite `badge`",
        ),
    ] {
        let mut line = json!({
            "model_id": "m", "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "difficulty": "easy",
            "condition": "control", "y_star_evidence": 52, "raw_text": "52",
        });
        line[field] = value;
        folder.write("answers/results.jsonl", &line.to_string());
        folder
            .wheel("import anchorbench answers")
            .expect(2)
            .says(&["results.jsonl:1", words]);
    }
    let line = json!({
        "model_id": "m", "item_id": "EXT-1", "suite": "external", "domain": "d", "difficulty": "easy",
        "condition": "plausible_low", "y_star_evidence": 52, "raw_text": "52",
    });
    folder.write("answers/results.jsonl", &line.to_string());
    folder
        .wheel("import anchorbench answers --store other")
        .expect(2)
        .says(&["names no anchor", "write its anchor_value"]);
}

/// One answer of "m" to a case under its control.
fn answer(text: &str) -> String {
    json!({
        "model_id": "m", "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "difficulty": "easy",
        "condition": "control", "y_star_evidence": 52, "raw_text": text,
    })
    .to_string()
}

#[test]
fn what_one_import_does_not_know_of_a_case_another_one_adds() {
    let folder = Folder::new();
    folder.write("in/results.jsonl", &answer("50"));
    folder.wheel("import anchorbench in").expect(0);
    let (mut spec, views) = small_set();
    write(&folder, &spec, &views);
    folder
        .wheel("import anchorbench set --store prompts")
        .expect(0);
    folder.wheel("merge runs prompts --into joined").expect(0);
    let theta = |store: &str| {
        let words = format!("export anchorbench --store {store} --out out-{store}");
        folder.wheel(&words).expect(0);
        let line = folder.read(&format!("out-{store}/external/m/results.jsonl"));
        serde_json::from_str::<Value>(&line).unwrap()["y_star_theta"].clone()
    };
    assert_eq!(theta("runs"), Value::Null);
    assert_eq!(theta("joined"), 55);
    folder.wheel("import anchorbench set").expect(0);
    assert_eq!(theta("runs"), 55);
    // What it does know, nothing changes.
    spec["y_star_theta"] = json!(54);
    write(&folder, &spec, &views);
    folder
        .wheel("import anchorbench set")
        .expect(2)
        .says(&["promptviews.jsonl:1", "was specified otherwise before"]);
}

#[test]
fn how_much_of_partial_evidence_is_shown_only_its_prompts_say() {
    let folder = Folder::new();
    let (spec, views) = small_set();
    let mut line: Value = serde_json::from_str(&answer("50")).unwrap();
    line["suite"] = json!("external_uncertain");
    line["condition"] = json!("uncertain_p1_control");
    folder.write("in/itemspecs.jsonl", &spec.to_string());
    folder.write("in/results.jsonl", &line.to_string());
    folder.wheel("import anchorbench in").expect(0);
    let shown = || {
        let set = folder.read("runs/published.jsonl");
        serde_json::from_str::<Value>(set.lines().next().unwrap()).unwrap()["shown"].clone()
    };
    assert_eq!(shown(), Value::Null);
    let partial: Vec<Value> = views
        .into_iter()
        .map(|mut view| {
            let condition = view["condition"].as_str().unwrap();
            view["condition"] = json!(format!("uncertain_p1_{condition}"));
            view["suite"] = json!("external_uncertain");
            view["prompt_components"] = json!({"visible_indices": "0"});
            view
        })
        .collect();
    write(&folder, &spec, &partial);
    folder.wheel("import anchorbench set").expect(0);
    assert_eq!(shown(), 1);
}

#[test]
fn answers_of_one_run_never_replace_those_of_another() {
    let folder = Folder::new();
    folder.write("runs-of/one/results.jsonl", &answer("50"));
    folder.write("runs-of/two/results.jsonl", &answer("60"));
    folder.wheel("import anchorbench runs-of").expect(2).says(&[
        "two/results.jsonl:1",
        "is answered otherwise in runs-of/one/results.jsonl:1",
        "nothing was imported",
    ]);
    folder.wheel("import anchorbench runs-of/one").expect(0);
    folder
        .wheel("import anchorbench runs-of/two")
        .expect(2)
        .says(&["two/results.jsonl:1", "holds another answer to this ask"]);
    folder
        .wheel("import anchorbench runs-of/one")
        .expect(0)
        .says(&["added 0 replies, already there 1"]);
    // A failure that was asked again is no other answer; a second answer in one file is told.
    let lines = [answer("ERROR: HTTP 500"), answer("50")];
    folder.write("again/results.jsonl", &lines.join("\n"));
    let again = folder.wheel("import anchorbench again --store again-store");
    assert!(!again.expect(0).err.contains("once more"));
    let lines = [answer("50"), answer("60")];
    folder.write("twice/results.jsonl", &lines.join("\n"));
    let twice = "import anchorbench twice --store twice-store";
    let told = "1 of the answers stand once more";
    folder.wheel(twice).expect(0).says(&[told]);
    let known = "added 0 replies, already there 2";
    folder.wheel(twice).expect(0).says(&[known]);
    // A failure takes nothing back, in its file or in another.
    folder.write("runs-of/two/results.jsonl", &answer("ERROR: HTTP 500"));
    folder
        .wheel("import anchorbench runs-of --store failed")
        .expect(0)
        .says(&["added 1 replies"]);
    let lines = [answer("50"), answer("ERROR: HTTP 500")];
    folder.write("runs-of/one/results.jsonl", &lines.join("\n"));
    folder.write("runs-of/two/results.jsonl", &answer("60"));
    folder
        .wheel("import anchorbench runs-of --store failed")
        .expect(2)
        .says(&["is answered otherwise in runs-of/one/results.jsonl:1"]);
}

#[test]
fn a_history_whose_first_call_failed_comes_back_as_a_failure() {
    let folder = Folder::new();
    let mut line: Value = serde_json::from_str(&answer("")).unwrap();
    for (field, value) in [
        ("suite", json!("history_matched")),
        ("item_id", json!("HIST-d-e-001")),
        ("condition", json!("plausible_low")),
        ("status", json!("error")),
        (
            "error",
            json!({"class": "overload", "http_status": 529, "message": "busy"}),
        ),
    ] {
        line[field] = value;
    }
    folder.write("in/results.jsonl", &line.to_string());
    folder.wheel("import anchorbench in").expect(0);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let losses = &scores["cells"][0]["losses"];
    assert_eq!(losses["error:overload"], 1, "{losses}");
}

#[test]
fn retrieval_views_are_measured_from_the_control_of_their_task() {
    let folder = Folder::new();
    let line = |condition: &str, anchor: Value, answer: u8| {
        json!({
            "model_id": "m", "item_id": "RAG-d-e-off15-001", "suite": "rag", "domain": "d", "difficulty": "easy",
            "condition": condition, "anchor_value": anchor, "y_star_evidence": 52, "answer_int": answer,
        })
        .to_string()
    };
    let lines = [
        line("control", Value::Null, 50),
        line("plausible_low_order_first", json!(30), 40),
        line("plausible_high_order_first", json!(70), 60),
    ];
    folder.write("in/results.jsonl", &lines.join("\n"));
    let run = folder.wheel("import anchorbench in").expect(0);
    assert!(
        !run.err.contains("no answer under a control"),
        "{}",
        run.err
    );
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let mut cells = scores["cells"].as_array().unwrap().iter();
    let first = cells.find(|cell| cell["task"] == "rag-first").unwrap();
    assert_eq!(first["uai_plausible"]["value"], 0.5, "{first}");
    // Controls that came before are known.
    folder.write("control/results.jsonl", &answer("50"));
    folder.wheel("import anchorbench control").expect(0);
    let mut anchored: Value = serde_json::from_str(&answer("40")).unwrap();
    anchored["condition"] = json!("plausible_low");
    anchored["anchor_value"] = json!(30);
    folder.write("anchored/results.jsonl", &anchored.to_string());
    let run = folder.wheel("import anchorbench anchored").expect(0);
    assert!(!run.err.contains("warning"), "{}", run.err);
}

#[test]
fn cut_refused_and_failed_replies_come_back_as_what_they_were() {
    let folder = Folder::new();
    let server = Server::new(|request, _| {
        let body = String::from_utf8_lossy(&request.body);
        let reply = |finish: &str| {
            let mut reply = completion("I would say 64, though");
            reply["choices"][0]["finish_reason"] = json!(finish);
            ResponseTemplate::new(200).set_body_json(reply)
        };
        if body.contains("control") {
            reply("length")
        } else if body.contains("plausible_low") {
            reply("content_filter")
        } else {
            ResponseTemplate::new(400).set_body_json(json!({"error": {"message": "no"}}))
        }
    });
    let (spec, views) = small_set();
    write(&folder, &spec, &views);
    folder.wheel("import anchorbench set").expect(0);
    folder.wheel(&format!(
        "run --task external --model {} -q",
        server.model()
    ));
    let losses = |store: &str| {
        let words = format!("score --suite anchorbench --json --store {store}");
        let cell = folder.wheel(&words).expect(0).json()["cells"][0].clone();
        (cell["losses"].clone(), cell["parsed"].clone())
    };
    let here = losses("runs");
    let all = json!({"error:bad_request": 1, "refusal": 1, "truncated": 1});
    assert_eq!(here.0, all);
    folder.wheel("export anchorbench --out out").expect(0);
    folder
        .wheel("import anchorbench out --store elsewhere")
        .expect(0);
    assert_eq!(here, losses("elsewhere"));
}

#[test]
fn a_control_in_two_turns_comes_back_into_its_own_set() {
    let folder = Folder::new();
    let (mut spec, _) = small_set();
    spec["item_id"] = json!("HIST-d-e-001");
    let view = |condition: &str, stages: &[&str], anchor: Value| {
        let text = stages.join("\n\n---\n\n");
        let parts = match stages {
            [first, last] => json!({"stage1_user_message": first, "stage2_user_message": last}),
            _ => json!({}),
        };
        json!({
            "item_id": "HIST-d-e-001", "suite": "history", "domain": "d", "condition": condition,
            "prompt_text": text, "prompt_components": parts, "anchor_value": anchor, "prompt_hash": hash(&text),
        })
    };
    let views = [
        view("control", &["Ratings 50 52 54?"], Value::Null),
        view(
            "control_twostage",
            &["Read this first.", "Ratings 50 52 54?"],
            Value::Null,
        ),
        view("plausible_low", &["Only 40?", "And 50 52 54?"], Value::Null),
    ];
    write(&folder, &spec, &views);
    folder.wheel("import anchorbench set").expect(0);
    let server = Server::steady("50.4", Duration::ZERO);
    folder
        .wheel(&format!("run --task history --model {} -q", server.model()))
        .expect(0);
    folder.wheel("export anchorbench --out out").expect(0);
    let file = walk(&folder.path().join("out"));
    let lines: Vec<Value> = folder
        .read(file.strip_prefix(folder.path()).unwrap().to_str().unwrap())
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |condition: &str| {
        let mut lines = lines.iter();
        lines.find(|line| line["condition"] == condition).unwrap()
    };
    for line in &lines {
        assert_eq!(line["y_star_evidence"], spec["y_star_evidence"]);
        assert_eq!(line["y_star_theta"], spec["y_star_theta"]);
    }
    assert_eq!(of("control_twostage")["stage1_raw_text"], "50.4");
    assert_eq!(of("control_twostage")["stage1_answer"], Value::Null);
    // The anchor of a history is its first answer, in whole numbers as there.
    assert_eq!(of("plausible_low")["anchor_value"], 50);
    assert_eq!(of("plausible_low")["stage1_answer"], 50);
    let score = |store: &str| {
        let words = format!("score --suite anchorbench --json --store {store}");
        let cells = folder.wheel(&words).expect(0).json();
        let mut cell = cells["cells"][0].clone();
        cell["model"] = Value::Null;
        cell
    };
    folder
        .wheel("import anchorbench set --store elsewhere")
        .expect(0);
    folder
        .wheel("import anchorbench out --store elsewhere")
        .expect(0);
    for field in ["n", "parse_by_condition", "mae", "losses"] {
        assert_eq!(score("runs")[field], score("elsewhere")[field], "{field}");
    }
    // Published lines of such a control keep nothing of its first turn.
    let mut bare = of("control_twostage").clone();
    bare.as_object_mut().unwrap().remove("stage1_raw_text");
    bare.as_object_mut().unwrap().remove("stage1_answer");
    folder.write("bare/results.jsonl", &bare.to_string());
    folder
        .wheel("import anchorbench set --store third")
        .expect(0);
    folder
        .wheel("import anchorbench bare --store third")
        .expect(0);
    assert_eq!(
        score("third")["parse_by_condition"]["control_twostage"]["parsed"],
        1
    );
}

/// The one file below a folder.
fn walk(folder: &std::path::Path) -> std::path::PathBuf {
    let entry = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    if entry.path().is_dir() {
        walk(&entry.path())
    } else {
        entry.path()
    }
}

#[test]
fn published_prompts_are_sent_over_the_wire_as_they_are() {
    let folder = Folder::new();
    let (spec, views) = small_set();
    write(&folder, &spec, &views);
    folder.wheel("import anchorbench set").expect(0);
    let server = Server::steady("52", Duration::ZERO);
    folder
        .wheel(&format!(
            "run --task external --model {} -q",
            server.model()
        ))
        .expect(0);
    let bodies = server.bodies();
    let asked: Vec<&Value> = bodies
        .iter()
        .map(|body| &body["messages"][0]["content"])
        .collect();
    for view in &views {
        assert!(asked.contains(&&view["prompt_text"]));
    }
    assert_eq!(asked.len(), 3);
}

#[test]
fn failed_answers_count_and_either_rules_score_without_a_model() {
    let folder = Folder::new();
    let line = |condition: &str, anchor: Value, text: &str| {
        json!({
            "model_id": "m/one", "item_id": "EXT-d-e-off15-001", "suite": "external", "domain": "d", "difficulty": "easy",
            "condition": condition, "anchor_value": anchor, "y_star_evidence": 52, "raw_text": text,
        })
        .to_string()
    };
    let lines = [
        line("control", Value::Null, "I would say 50 on a 0–100 scale"),
        line("plausible_low", json!(30), "40"),
        line("plausible_high", json!(70), "ERROR: HTTP 429"),
    ];
    folder.write("in/results.jsonl", &lines.join("\n"));
    folder.wheel("import anchorbench in").expect(0);
    let cell = |rules: &str| {
        let words = format!("score --suite anchorbench --rules {rules} --json");
        folder.wheel(&words).expect(0).json()["cells"][0].clone()
    };
    let (ours, theirs) = (cell("wheel"), cell("anchorbench"));
    assert_eq!(ours["losses"], json!({"error:server": 1}));
    assert_eq!((&ours["parsed"], &ours["samples"]), (&json!(2), &json!(3)));
    // Two of three is below the coverage rule; the answers themselves differ by the rules.
    assert!(ours["why"].as_str().unwrap().starts_with("2 of 3 samples"));
    let shown = |rules: &str| {
        folder
            .wheel(&format!("show --task external --item EXT-d-e-off15-001 --model m/one --condition control --rules {rules}"))
            .expect(0)
            .out
    };
    assert!(shown("wheel").contains("estimate 50"), "{}", shown("wheel"));
    assert!(
        shown("anchorbench").contains("estimate 100"),
        "{}",
        shown("anchorbench")
    );
    assert_eq!(theirs["parsed"], 2);
}

#[test]
fn answers_without_prompts_are_kept_apart_and_later_imports_are_seen() {
    let folder = Folder::new();
    let line = |item: &str, condition: &str, anchor: Value, answer: u8| {
        json!({
            "model_id": "m", "item_id": item, "suite": "external", "domain": "d", "difficulty": "easy",
            "condition": condition, "anchor_value": anchor, "y_star_evidence": 52, "answer_int": answer,
        })
        .to_string()
    };
    let import = |name: &str, item: &str, answers: [u8; 2]| {
        let lines = [
            line(item, "control", Value::Null, answers[0]),
            line(item, "plausible_low", json!(30), answers[1]),
        ];
        folder.write(&format!("{name}/results.jsonl"), &lines.join("\n"));
        folder
            .wheel(&format!("import anchorbench {name}"))
            .expect(0)
            .err
    };
    // The same answers to two cases are four answers.
    assert!(
        import("a", "EXT-d-e-off15-001", [60, 60]).contains("added 2 replies, already there 0")
    );
    assert!(
        import("b", "EXT-d-e-off15-002", [60, 60]).contains("added 2 replies, already there 0")
    );
    assert!(
        import("b", "EXT-d-e-off15-002", [60, 60]).contains("added 0 replies, already there 2")
    );
    let cases = |store: &str| {
        let words = format!("score --suite anchorbench --json --store {store}");
        folder.wheel(&words).expect(0).json()["cells"][0]["n"].clone()
    };
    assert_eq!(cases("runs"), 2);
    // A packed set does not hide what comes later.
    let set = std::fs::read(folder.path().join("runs/published.jsonl")).unwrap();
    std::fs::remove_file(folder.path().join("runs/published.jsonl")).unwrap();
    let packed = std::fs::File::create(folder.path().join("runs/published.jsonl.xz")).unwrap();
    let mut writer =
        lzma_rust2::XzWriter::new(packed, lzma_rust2::XzOptions::with_preset(1)).unwrap();
    std::io::Write::write_all(&mut writer, &set).unwrap();
    writer.finish().unwrap();
    import("c", "EXT-d-e-off15-003", [50, 40]);
    assert_eq!(cases("runs"), 3);
    // Joined stores keep the cases of both.
    folder.wheel("import anchorbench a --store other").expect(0);
    folder.wheel("merge runs other --into joined").expect(0);
    assert_eq!(cases("joined"), 3);
    // An anchor that is not that of the prompt is another prompt.
    let wrong = line("EXT-d-e-off15-001", "plausible_low", json!(99), 60);
    folder.write("d/results.jsonl", &wrong);
    folder.wheel("import anchorbench d").expect(2).says(&[
        "d/results.jsonl:1",
        "holds the anchor 99",
        "30 before",
    ]);
}
