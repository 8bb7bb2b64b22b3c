//! Metrics of cases: the published values, and what a script with a known pull must give.

use serde_json::{Value, json};
use wheel::score::uai::{implied_weight, over_models};

use super::published::hash;
use super::support::Folder;

const SINGLE: &str = include_str!("../cases/anchorbench/synthetic_single_stage.jsonl");
const HISTORY: &str = include_str!("../cases/anchorbench/synthetic_history.jsonl");
const EXPECTED: &str = include_str!("../cases/anchorbench/synthetic_expected.json");
const REAL: &str = include_str!("../cases/anchorbench/real_case_studies.jsonl");
const REAL_METRICS: &str = include_str!("../cases/anchorbench/real_case_studies_metrics.json");
const ABLATION: &str = include_str!("../cases/anchorbench/real_ablation_external_qwen1.5b.csv");
const VIEWS: &str = include_str!("../data/case_views.json");
const PUBLISHED: &str = include_str!("../cases/anchorbench/published_results.json");

/// The cells of answers in the published form, scored as published.
fn cells(results: &str, options: &str) -> Vec<Value> {
    let folder = Folder::new();
    folder.write("in/results.jsonl", results);
    folder.wheel("import anchorbench in").expect(0);
    let words = format!("score --suite anchorbench --clustering published --json {options}");
    let scores = folder.wheel(&words).expect(0).json();
    scores["cells"].as_array().unwrap().clone()
}

/// Our value for a name of the published metrics.
fn ours(cell: &Value, name: &str) -> Value {
    let short = |name: &str| {
        name.replace("plaus", "plausible")
            .replace("irr", "irrelevant")
    };
    let interval = |value: &Value| match value {
        Value::Null => Value::Null,
        value => json!({"mean": value["value"], "lo": value["low"], "hi": value["high"]}),
    };
    let p = |value: &Value, adjusted: bool| value[if adjusted { "adjusted" } else { "p" }].clone();
    match name {
        "acc10_control" => cell["acc10"]["value"].clone(),
        "mae_control" => cell["mae"]["value"].clone(),
        "mae_control_ci" => interval(&cell["mae"]),
        "acr_mean" => cell["correction"]["value"].clone(),
        "rr_mean" => cell["reduction"]["value"].clone(),
        "baseline_condition" => cell["baseline"].clone(),
        "disc_delta" => cell["disc"]["value"].clone(),
        "disc_delta_ci" => interval(&cell["disc_paired"]),
        "epsilon" => cell["epsilon"].clone(),
        "n_items" => cell["n"].clone(),
        "n_records" => cell["samples"].clone(),
        "parse_rate" => cell["parse_rate"]["value"].clone(),
        "p_plaus_vs_irr" | "p_plaus_vs_irr_bh" => p(&cell["p_disc"], name.ends_with("_bh")),
        "p_irr_vs_zero" | "p_irr_vs_zero_bh" => {
            p(&cell["p_zero"]["irrelevant"], name.ends_with("_bh"))
        }
        "p_plaus_vs_zero" | "p_plaus_vs_zero_bh" => {
            p(&cell["p_zero"]["plausible"], name.ends_with("_bh"))
        }
        _ => {
            if let Some(family) = name.strip_prefix("n_uai_") {
                let n = &cell[&format!("uai_{}", short(family))]["n"];
                return if n.is_null() { json!(0) } else { n.clone() };
            }
            let (name, is_interval) = match name.strip_suffix("_ci") {
                Some(name) => (name, true),
                None => (name, false),
            };
            let value = match name.strip_suffix("_ts") {
                Some(name) => &cell["matched"][&short(name)],
                None => &cell[&short(name)],
            };
            if is_interval {
                interval(value)
            } else {
                value["value"].clone()
            }
        }
    }
}

/// Compares every value that is expected; rounding there is to 4 digits, of errors to 2, of p to 6.
fn compare(cell: &Value, expected: &Value, skip: &[&str]) -> usize {
    let mut compared = 0;
    for (name, wanted) in expected.as_object().unwrap() {
        if skip.contains(&name.as_str()) {
            continue;
        }
        if name == "parse_by_condition" {
            for (condition, wanted) in wanted.as_object().unwrap() {
                let ours = &cell[name][condition];
                assert_eq!(ours["parsed"], wanted["n_parsed"], "{condition}");
                assert_eq!(ours["all"], wanted["n_total"], "{condition}");
                compared += 1;
            }
            continue;
        }
        let ours = ours(cell, name);
        let digits = if name.starts_with("mae") {
            2
        } else if name.starts_with("p_") {
            6
        } else {
            4
        };
        same(name, &ours, wanted, 0.5 * 10.0_f64.powi(-digits) + 1e-9);
        compared += 1;
    }
    compared
}

fn same(name: &str, ours: &Value, wanted: &Value, slack: f64) {
    match wanted {
        Value::Object(parts) => {
            for (part, wanted) in parts {
                same(&format!("{name}.{part}"), &ours[part], wanted, slack);
            }
        }
        Value::Number(wanted) => {
            let (ours, wanted) = (ours.as_f64(), wanted.as_f64().unwrap());
            let near = ours.is_some_and(|ours| (ours - wanted).abs() <= slack);
            assert!(near, "{name}: {ours:?}, not {wanted}");
        }
        other => assert_eq!(ours, other, "{name}"),
    }
}

#[test]
fn every_value_of_the_published_golden_test_is_reproduced() {
    let expected: Value = serde_json::from_str(EXPECTED).unwrap();
    let single = &cells(SINGLE, "")[0];
    let mut compared = compare(single, &expected["single_stage"], &[]);
    for (part, ours) in [
        ("single_stage_by_offset", "by_offset"),
        ("single_stage_by_difficulty", "by_difficulty"),
    ] {
        for (key, wanted) in expected[part].as_object().unwrap() {
            // What belongs to the whole file is not repeated in its parts.
            let whole = ["baseline_condition", "epsilon", "n_records", "parse_rate"];
            compared += compare(&single[ours][key], wanted, &whole);
        }
    }
    compared += compare(&cells(HISTORY, "")[0], &expected["history_vs_control"], &[]);
    let twostage = &cells(HISTORY, "--baseline control_twostage")[0];
    compared += compare(twostage, &expected["history_vs_control_twostage"], &[]);
    assert!(compared > 170, "{compared}");
}

#[test]
fn parse_rates_of_parts_of_the_golden_test_follow_from_their_lines() {
    let expected: Value = serde_json::from_str(EXPECTED).unwrap();
    for (key, wanted) in expected["single_stage_by_offset"].as_object().unwrap() {
        let part: Vec<&str> = SINGLE
            .lines()
            .filter(|line| line.contains(&format!("-off{key}-")))
            .collect();
        let cell = &cells(&part.join("\n"), "")[0];
        compare(cell, wanted, &[]);
    }
}

#[test]
fn answers_of_real_models_give_the_stated_metrics() {
    let expected: Value = serde_json::from_str(REAL_METRICS).unwrap();
    // The files say `model_slug` where results say `model_id`.
    let cells = cells(&REAL.replace("\"model_slug\"", "\"model_id\""), "");
    assert_eq!(cells.len(), expected.as_object().unwrap().len());
    for cell in &cells {
        let wanted = &expected[cell["model"].as_str().unwrap()];
        assert!(compare(cell, wanted, &[]) > 15);
    }
}

#[test]
fn placebo_and_authority_answers_give_the_index_stored_beside_them() {
    let mut lines = Vec::new();
    let mut wanted = [Vec::new(), Vec::new()];
    let mut controls = std::collections::BTreeSet::new();
    let mut reader = csv_rows(ABLATION);
    let header = reader.remove(0);
    let at = |name: &str| header.iter().position(|column| *column == name).unwrap();
    for row in &reader {
        let field = |name: &str| row[at(name)].as_str();
        let line = |condition: &str, anchor: Value, answer: &str| {
            json!({
                "model_id": field("model_slug"), "item_id": field("item_id"), "suite": "external",
                "domain": "d", "difficulty": if field("item_id").contains("-h-") { "hard" } else { "easy" },
                "condition": condition, "anchor_value": anchor,
                "y_star_evidence": field("y_star_evidence").parse::<f64>().unwrap(),
                "answer_int": answer.parse::<f64>().ok(),
            })
        };
        if controls.insert(field("item_id").to_owned()) {
            lines.push(line("control", Value::Null, field("core_control_answer")));
        }
        let anchor = json!(field("anchor_value").parse::<f64>().unwrap());
        lines.push(line(field("condition"), anchor, field("answer_int")));
        if let Ok(uai) = field("uai_vs_core_control").parse::<f64>() {
            wanted[usize::from(field("anchor_relevance") == "authority")].push(uai);
        }
    }
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let cell = &cells(&text.join("\n"), "")[0];
    for (name, wanted) in ["uai_placebo", "uai_authority"].into_iter().zip(wanted) {
        assert_eq!(cell[name]["n"], wanted.len());
        let mean = wanted.iter().sum::<f64>() / f64::from(u32::try_from(wanted.len()).unwrap());
        same(name, &cell[name]["value"], &json!(mean), 1e-4);
    }
}

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let rows = text.trim_start_matches('\u{feff}').lines();
    rows.map(|row| row.split(',').map(str::to_owned).collect())
        .collect()
}

/// What the published tables say of their own cells follows from our formulas.
#[test]
fn published_figures_follow_from_the_published_cells() {
    let published: Value = serde_json::from_str(PUBLISHED).unwrap();
    let cells: Vec<&Value> = published["table1"]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["disc"].is_number())
        .collect();
    assert_eq!(cells.len(), 69);
    let number = |cell: &Value, name: &str| cell[name].as_f64().unwrap();
    let positive = |cells: &[&&Value]| {
        cells
            .iter()
            .filter(|cell| number(cell, "disc") > 0.0)
            .count()
    };
    let all: Vec<&&Value> = cells.iter().collect();
    let without_icl: Vec<&&Value> = cells.iter().filter(|cell| cell["suite"] != "ICL").collect();
    assert_eq!(
        (positive(&all), positive(&without_icl), without_icl.len()),
        (55, 48, 55)
    );
    let ceiling = wheel::score::uai::ceiling(5.0, 1.0);
    let above = |cell: &Value| cell["uai_pls_ci95"][0].as_f64().unwrap() > ceiling;
    assert_eq!(cells.iter().filter(|cell| above(cell)).count(), 16);
    let mut heavy = 0;
    for cell in &cells {
        assert_eq!(
            above(cell),
            cell["above_rational_ceiling"].as_bool().unwrap()
        );
        let weight = implied_weight(number(cell, "uai_pls"), 5.0);
        match (weight, cell["implied_weight"].as_f64()) {
            (Some(ours), Some(theirs)) => {
                // Their pulls have four digits, which a pull near 1 blows up.
                let slack = 5.0 * 5e-5 / (1.0 - number(cell, "uai_pls")).powi(2) + 6e-4;
                assert!((ours - theirs).abs() <= slack, "{cell}: {ours}");
            }
            (ours, theirs) => assert_eq!(ours, theirs, "{cell}"),
        }
        heavy += usize::from(weight.is_none_or(|weight| weight > 5.0));
    }
    assert_eq!(heavy, 5);
    for (suite, wanted) in published["suite_means_14_models"]["rows"]
        .as_object()
        .unwrap()
    {
        let of: Vec<&&Value> = cells
            .iter()
            .filter(|cell| cell["suite"] == suite.as_str())
            .collect();
        for name in ["uai_irr", "uai_pls", "disc"] {
            let values: Vec<f64> = of.iter().map(|cell| number(cell, name)).collect();
            let mean = over_models(&values).unwrap();
            assert_eq!(mean.n, of.len());
            same(
                &format!("{suite} {name}"),
                &json!(mean.value),
                &wanted[name],
                0.005 + 1e-9,
            );
        }
        assert_eq!(
            wanted["positive"],
            format!("{}/{}", positive(&of), of.len())
        );
    }
}

#[test]
fn a_known_pull_comes_out_of_every_pathway() {
    let folder = Folder::new();
    folder
        .wheel("run --suite anchorbench --size smoke --model scripted/irrelevant=0.1,plausible=0.4")
        .expect(0)
        .prints(&["external", "history", "icl-dist", "tool"]);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let cells = scores["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        let name = cell["task"].as_str().unwrap();
        same(name, &cell["parse_rate"]["value"], &json!(1.0), 0.0);
        same(name, &cell["mae"]["value"], &json!(0.0), 0.0);
        for (what, wanted) in [
            ("uai_irrelevant", 0.1),
            ("uai_plausible", 0.4),
            ("pull_irrelevant", 0.1),
            ("pull_plausible", 0.4),
            ("disc", 0.3),
            ("tar_plausible", 1.0),
        ] {
            same(
                &format!("{name} {what}"),
                &cell[what]["value"],
                &json!(wanted),
                1e-9,
            );
        }
        // 1/6 beside five ratings and 1/4 beside three, over the directions that have an index.
        let ceiling = cell["ceiling"].as_f64().unwrap();
        assert!((1.0 / 6.0..=0.25).contains(&ceiling), "{name}: {ceiling}");
        assert_eq!(cell["above_ceiling"], true);
    }
}

#[test]
fn a_drift_is_no_pull_once_the_control_is_left_out() {
    // Whatever sentence is added, the answers rise by ten points.
    let mut lines = Vec::new();
    for item in 0..12 {
        for (condition, anchor, answer) in [
            ("control", None, 50),
            ("irrelevant_low", Some(20), 60),
            ("irrelevant_high", Some(80), 60),
        ] {
            lines.push(
                json!({
                    "model_id": "drifter", "item_id": format!("EXT-d-e-off30-{item:03}"),
                    "suite": "external", "domain": "d", "difficulty": "easy", "condition": condition,
                    "anchor_value": anchor, "y_star_evidence": 50, "answer_int": answer,
                })
                .to_string(),
            );
        }
    }
    let cell = &cells(&lines.join("\n"), "")[0];
    same(
        "low",
        &cell["uai_irrelevant_low"]["value"],
        &json!(-1.0 / 3.0),
        1e-9,
    );
    same(
        "high",
        &cell["uai_irrelevant_high"]["value"],
        &json!(1.0 / 3.0),
        1e-9,
    );
    same(
        "control-free",
        &cell["pull_irrelevant"]["value"],
        &json!(0.0),
        1e-9,
    );
}

#[test]
fn a_cell_with_few_answers_is_not_scored_and_says_why() {
    let mut lines: Vec<Value> = SINGLE
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in lines.iter_mut().step_by(3) {
        line["answer_int"] = Value::Null;
    }
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let cell = &cells(&text.join("\n"), "")[0];
    assert_eq!(cell["uai_plausible"], Value::Null);
    assert_eq!(cell["why"], "78 of 120 samples with an answer, 80 % needed");
    assert_eq!(cell["losses"]["empty"], 42);
}

/// A set of cases and the answers to it, as files.
fn write_views(folder: &Folder, data: &Value) {
    let (mut specs, mut views, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for case in data["cases"].as_array().unwrap() {
        let slots = case["ratings"].as_array().unwrap().iter().enumerate();
        let is_hidden = |slot: usize| case["hidden"].as_array().unwrap().contains(&json!(slot));
        let ratings: Vec<Value> = slots
            .map(|(slot, value)| json!({"value": value, "missing": is_hidden(slot)}))
            .collect();
        specs.push(json!({
            "item_id": case["id"], "domain": "d", "difficulty": case["difficulty"],
            "y_star_evidence": case["gold"], "evidence_structured": ratings,
            "anchors": {"low": case["low"], "high": case["high"]},
        }));
        for condition in [
            "control",
            "irrelevant_low",
            "irrelevant_high",
            "plausible_low",
            "plausible_high",
        ] {
            let anchor = condition.split_once('_').map(|(_, side)| &case[side]);
            let text = format!("{} {condition}", case["id"]);
            views.push(json!({
                "item_id": case["id"], "suite": "external", "condition": condition,
                "prompt_text": text, "anchor_value": anchor, "prompt_hash": hash(&text),
            }));
            for (model, answers) in data["answers"].as_object().unwrap() {
                let answers = &answers[case["id"].as_str().unwrap()][condition];
                for (epoch, answer) in answers.as_array().unwrap().iter().enumerate() {
                    results.push(json!({
                        "model_id": model, "item_id": case["id"], "suite": "external", "domain": "d",
                        "difficulty": case["difficulty"], "condition": condition, "anchor_value": anchor,
                        "y_star_evidence": case["gold"], "answer_int": answer, "seed_idx": epoch,
                    }));
                }
            }
        }
    }
    for (name, lines) in [
        ("itemspecs", specs),
        ("promptviews", views),
        ("results", results),
    ] {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        folder.write(&format!("set/{name}.jsonl"), &lines.join("\n"));
    }
}

fn check_views(cell: &Value, expected: &Value) {
    let model = cell["model"].as_str().unwrap();
    let wanted = &expected["models"][model];
    let near = |name: &str, ours: &Value, wanted: &Value, slack: f64| {
        assert!(wanted.is_number(), "{name}");
        same(&format!("{model} {name}"), ours, wanted, slack);
    };
    for name in [
        "uai_irrelevant",
        "uai_plausible",
        "pull_irrelevant",
        "pull_plausible",
        "disc",
        "excess",
    ] {
        near(name, &cell[name]["value"], &wanted[name], 1e-9);
    }
    for name in ["d_irrelevant", "d_plausible", "d_high_low", "ceiling"] {
        near(name, &cell[name], &wanted[name], 1e-9);
    }
    near(
        "implied_weight",
        &cell["implied_weight"],
        &wanted["implied_weight"],
        1e-4,
    );
    for name in ["prompts", "sd", "differing", "sd_pull"] {
        near(name, &cell["noise"][name], &wanted["noise"][name], 1e-9);
    }
    for (condition, wanted) in wanted["effects"].as_object().unwrap() {
        for name in ["d_av", "d_z"] {
            near(
                condition,
                &cell["effects"][condition][name],
                &wanted[name],
                1e-9,
            );
        }
    }
    for (kind, shares) in wanted["shift"].as_object().unwrap() {
        for (which, wanted) in shares.as_object().unwrap() {
            let ours = &cell["shift"][kind][which];
            let ours = json!([ours["harmful"], ours["helpful"], ours["neutral"]]);
            assert_eq!(&ours, wanted, "{model} {kind} {which}");
        }
    }
    let place = expected["order"]
        .as_array()
        .unwrap()
        .iter()
        .position(|known| known == model);
    assert_eq!(cell["rank"]["rank"], json!(place.unwrap() + 1), "{model}");
}

/// Effects, errors, noise, ceilings, doses and ranks against values that numpy and scipy worked out from the same answers.
#[test]
fn every_view_of_a_cell_agrees_with_another_program() {
    let data: Value = serde_json::from_str(VIEWS).unwrap();
    let folder = Folder::new();
    write_views(&folder, &data);
    folder.wheel("import anchorbench set").expect(0);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let expected = &data["expected"];
    let cells = scores["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        check_views(cell, expected);
    }
    let (pathway, wanted) = (&scores["pathways"][0], &expected["pathway"]);
    assert_eq!(pathway["positive"], wanted["positive"]);
    same("p", &pathway["p_adjusted"], &wanted["p_adjusted"], 1e-9);
    for name in ["uai_plausible", "disc"] {
        same(name, &pathway[name]["value"], &wanted[name], 1e-9);
    }
    for (offset, dose) in wanted["dose"].as_object().unwrap() {
        same(offset, &pathway["dose"][offset]["value"], dose, 1e-9);
    }
    for (offset, wanted) in wanted["boundary"].as_object().unwrap() {
        for (which, n) in [("all", "n"), ("inside", "n_inside")] {
            let ours = &pathway["boundary"][offset][which];
            same(which, &ours["value"], &wanted[which], 1e-9);
            assert_eq!(ours["n"], wanted[n]);
            let (low, high) = (
                ours["low"].as_f64().unwrap(),
                ours["high"].as_f64().unwrap(),
            );
            let value = ours["value"].as_f64().unwrap();
            assert!(low < value && value < high, "{ours}");
        }
    }
}

#[test]
fn answers_without_a_control_are_not_scored_and_say_so() {
    let lines: Vec<&str> = SINGLE
        .lines()
        .filter(|line| !line.contains("\"control\""))
        .collect();
    let folder = Folder::new();
    folder.write("in/results.jsonl", &lines.join("\n"));
    folder.wheel("import anchorbench in").expect(0).says(&[
        "in, external: no answer under a control",
        "nothing is scored without",
    ]);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let cell = &scores["cells"][0];
    assert_eq!(
        cell["why"],
        "no answer under control, from which pulls are measured"
    );
    assert_eq!(cell["uai_plausible"], Value::Null);
    assert_eq!(cell["pull_plausible"], Value::Null);
}

#[test]
fn a_lost_control_leaves_the_pull_that_needs_none() {
    let mut lines: Vec<Value> = SINGLE
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let full = cells(SINGLE, "")[0].clone();
    let first = lines[0]["item_id"].clone();
    let control = lines
        .iter_mut()
        .find(|line| line["item_id"] == first && line["condition"] == "control");
    control.unwrap()["answer_int"] = Value::Null;
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let cell = &cells(&text.join("\n"), "")[0];
    assert_eq!(cell["pull_plausible"], full["pull_plausible"]);
    let n = |cell: &Value, name: &str| cell[name]["n"].as_u64().unwrap();
    assert_eq!(n(cell, "mae"), n(&full, "mae") - 1);
    assert!(n(cell, "uai_plausible") < n(&full, "uai_plausible"));
}

/// Answers to some cases as lines of results: model, case, and the answer under each condition with its anchor.
fn answered(model: &str, case: usize, answers: &[(&str, Option<u8>, u8)]) -> Vec<String> {
    let line = |(condition, anchor, answer): &(&str, Option<u8>, u8)| {
        json!({
            "model_id": model, "item_id": format!("EXT-d-e-off30-{case:03}"), "suite": "external",
            "domain": "d", "difficulty": "easy", "condition": condition, "anchor_value": anchor,
            "y_star_evidence": 50, "answer_int": answer,
        })
        .to_string()
    };
    answers.iter().map(line).collect()
}

#[test]
fn comparisons_take_the_directions_that_both_have() {
    // Both drift by ten; the second's control lies at its high anchor, so that only the low direction is left.
    let mut lines = Vec::new();
    for case in 0..8 {
        let of = |control: u8| {
            [
                ("control", None, control),
                ("plausible_low", Some(20), control + 10),
                ("plausible_high", Some(80), control + 10),
            ]
        };
        lines.extend(answered("a", case, &of(50)));
        lines.extend(answered("b", case, &of(79)));
    }
    let folder = Folder::new();
    folder.write("in/results.jsonl", &lines.join("\n"));
    folder.wheel("import anchorbench in").expect(0);
    let words = "compare a b --suite anchorbench --json";
    let contrast = folder.wheel(words).expect(0).json()["contrasts"][0].clone();
    let low = -10.0 / 59.0 - -10.0 / 30.0;
    let uai = &contrast["uai_plausible"];
    same("difference", &uai["value"], &json!(low), 1e-9);
    let (p, adjusted) = (uai["p"].as_f64().unwrap(), uai["p_bh"].as_f64().unwrap());
    assert!(p < 0.01 && p <= adjusted, "{uai}");
    // What an option cannot touch is not taken for an option.
    folder
        .wheel("score --suite anchorbench --index ai")
        .expect(2)
        .says(&["--index and --interval are for scores of the wheel"]);
}

#[test]
fn a_handful_of_cases_is_not_ranked_among_many() {
    let mut lines = Vec::new();
    let of = |pull: u8| {
        [
            ("control", None, 50),
            ("irrelevant_low", Some(20), 50 - pull),
            ("irrelevant_high", Some(80), 50 + pull),
        ]
    };
    for case in 0..20 {
        lines.extend(answered("many", case, &of(6)));
        lines.extend(answered("most", case, &of(3)));
        if case < 4 {
            lines.extend(answered("few", case, &of(0)));
        }
    }
    let folder = Folder::new();
    folder.write("in/results.jsonl", &lines.join("\n"));
    folder.wheel("import anchorbench in").expect(0);
    let scores = folder
        .wheel("score --suite anchorbench --json")
        .expect(0)
        .json();
    let rank = |model: &str| {
        let mut cells = scores["cells"].as_array().unwrap().iter();
        let cell = cells.find(|cell| cell["model"] == model).unwrap();
        assert_eq!(cell["why"], Value::Null);
        cell["rank"]["rank"].clone()
    };
    assert_eq!(
        [rank("few"), rank("most"), rank("many")],
        [Value::Null, json!(1), json!(2)]
    );
    assert_eq!(scores["pathways"][0]["uai_irrelevant"]["n"], 2);
}
