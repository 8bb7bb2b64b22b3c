//! Stimuli and the probabilities of given answers: published numbers, known pulls, bad files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wheel::bank::stimuli::{Excerpt, load_csv};
use wheel::domain::{Coalition, Condition};
use wheel::task::Form;

use super::support::{Folder, built_in_tasks, shared, shared_path};

const DATA: &str = "anchors-in-the-machine";

/// The published scores, imported and scored; `None` where they are not at hand.
fn published() -> Option<(Folder, Value)> {
    let scores = shared_path(&format!("{DATA}/Simulation"))?;
    let folder = Folder::new();
    let import = format!("import scores {} --store published", scores.display());
    folder
        .wheel(&import)
        .expect(0)
        .says(&["added 144 scored prompts, already there 0"]);
    folder
        .wheel(&import)
        .expect(0)
        .says(&["added 0", "already there 144"]);
    let scored = folder
        .wheel("score --suite spinner --store published --json")
        .expect(0)
        .json();
    Some((folder, scored))
}

fn rows(path: PathBuf) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path)
        .unwrap()
        .deserialize()
        .map(Result::unwrap)
        .collect()
}

/// The model in the name of a file, without its organisation.
fn model_of(name: &str, middle: &str) -> (String, String) {
    let (model, regime) = name
        .trim_start_matches("anchoring_")
        .trim_end_matches(".csv")
        .split_once(middle)
        .unwrap();
    let model = model.split_once('_').map_or(model, |(_, model)| model);
    let regime = if regime == "standard" { "S" } else { "D" };
    (model.to_owned(), regime.to_owned())
}

fn near(found: &Value, wanted: f64) -> bool {
    let found = found.as_f64().unwrap_or(f64::NAN);
    (found - wanted).abs() <= 1e-9 * wanted.abs()
}

#[test]
fn every_row_of_the_published_summary_follows_from_the_published_scores() {
    let Some((_, scored)) = published() else {
        return;
    };
    let variations = scored["variations"].as_array().unwrap();
    assert_eq!(variations.len(), 72);
    // To the last bit, as the specification asks.
    let exact = [
        "CI1_lower",
        "CI1_upper",
        "CI2_lower",
        "CI2_upper",
        "p_Permutation",
        "W_LogProb",
    ];
    let mut compared = 0;
    for file in std::fs::read_dir(shared_path(&format!("{DATA}/Stats")).unwrap()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (model, regime) = model_of(&name, "_statistical_summary_");
        for row in rows(path) {
            let id: u64 = row["VariationID"].parse().unwrap();
            let found = variations
                .iter()
                .find(|one| {
                    one["model"] == model.as_str()
                        && one["regime"] == regime.as_str()
                        && one["VariationID"] == id
                })
                .unwrap();
            for (column, wanted) in &row {
                let ours = &found[column.replace("Shapley", "Banzhaf")];
                let place = format!("{name}, variation {id}, {column}: {ours} for {wanted}");
                match wanted.parse::<f64>() {
                    Ok(wanted) if exact.contains(&column.as_str()) => {
                        assert_eq!(ours.as_f64(), Some(wanted), "{place}");
                    }
                    Ok(wanted) => assert!(near(ours, wanted), "{place}"),
                    Err(_) if wanted.is_empty() => {
                        assert!(ours.is_null() || ours == "", "{place}");
                    }
                    Err(_) => assert_eq!(ours, wanted.as_str(), "{place}"),
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 72 * 38);
}

#[test]
fn the_published_composite_follows_by_variation_and_by_model() {
    let Some((folder, scored)) = published() else {
        return;
    };
    let variations = scored["variations"].as_array().unwrap();
    let per_variation = rows(shared_path(&format!("{DATA}/ABSS/bss_per_variation.csv")).unwrap());
    assert_eq!(per_variation.len(), 66);
    for row in per_variation {
        let found = variations
            .iter()
            .find(|one| {
                one["model"] == row["Model"].as_str() && one["variation"] == row["Var"].as_str()
            })
            .unwrap();
        let wanted: f64 = row["BSS_var"].parse().unwrap();
        assert!(near(&found["abss"], wanted), "{row:?} {}", found["abss"]);
        // The value is made of its parts.
        let part = |name: &str| found[name].as_f64().unwrap();
        let made = part("rho") * (part("s_b") * part("w_log") + part("s_a") * part("w_attr"))
            + 0.15 * part("concordance");
        assert!((made - wanted).abs() < 1e-9);
    }
    let models = scored["models"].as_array().unwrap();
    let mut order: Vec<(&str, f64)> = Vec::new();
    let published = rows(shared_path(&format!("{DATA}/ABSS/bss_by_model.csv")).unwrap());
    for row in &published {
        let found = models
            .iter()
            .find(|one| one["model"] == row["Model"].as_str())
            .unwrap();
        assert!(near(&found["abss"], row["BSS_model_sum"].parse().unwrap()));
        assert!(near(
            &found["abss_mean"],
            row["BSS_model_avg"].parse().unwrap()
        ));
        assert_eq!(found["n"], 10);
        order.push((
            found["model"].as_str().unwrap(),
            found["abss"].as_f64().unwrap(),
        ));
    }
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names: Vec<&str> = order.iter().map(|(name, _)| *name).collect();
    let wanted = [
        "gemma-2b",
        "phi-2",
        "Llama-2-7b-hf",
        "gpt2",
        "falcon-rw-1b",
        "gpt-neo-125M",
    ];
    assert_eq!(names, wanted);
    // The 7.17 points of the abstract: the median over models of the shift of medians, with the same anchors everywhere.
    let mut shifts: Vec<f64> = models
        .iter()
        .map(|one| one["shift_of_medians"]["S"].as_f64().unwrap())
        .collect();
    shifts.sort_by(f64::total_cmp);
    assert!((f64::midpoint(shifts[2], shifts[3]) - 7.1656).abs() < 1e-4);
    // The board says the same, and is checked.
    folder
        .wheel("leaderboard --suite spinner --store published --out boards")
        .expect(0);
    let board = folder.read("boards/spinner.md");
    assert!(board.contains("no independent observations"));
    assert!(board.contains("| gemma-2b | 10 | 0.44 ["), "{board}");
    folder
        .wheel("verify boards/spinner.md --store published")
        .expect(0);
    folder.write("boards/spinner.md", &board.replace("| 9.83 |", "| 9.84 |"));
    folder
        .wheel("verify boards/spinner.md --store published")
        .expect(1)
        .says(&["gemma-2b", "9.84", "9.83"]);
}

#[test]
fn published_stimuli_give_prompts_with_the_published_hashes() {
    let (Some(table), Some(hashes)) = (
        shared(&format!("{DATA}/stimuli.csv")),
        shared(&format!("{DATA}/prompt_hashes.json")),
    ) else {
        return;
    };
    let stimuli = load_csv("stimuli.csv", &table).unwrap();
    let hashes: Value = serde_json::from_str(&hashes).unwrap();
    let tasks = built_in_tasks();
    let task = tasks.get("spinner").unwrap();
    let mut wanted: Vec<String> = Vec::new();
    collect(&hashes, &mut wanted);
    assert_eq!(wanted.len(), 384);
    let mut found: Vec<String> = Vec::new();
    for stimulus in &stimuli.0 {
        for condition in [Condition::Low, Condition::High] {
            for coalition in Coalition::all() {
                let excerpt = Excerpt::new(stimulus, coalition);
                let prompt = task.outline(&excerpt, condition, Form::default()).unwrap();
                let digest = Sha256::digest(prompt.0[0].content.as_bytes());
                let digits = digest.iter().fold(String::new(), |digits, byte| {
                    digits + &format!("{byte:02x}")
                });
                found.push(digits);
            }
        }
    }
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    found.dedup();
    assert_eq!(found.len(), 209);
}

/// Every hash in a file, however it is nested.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) => {
            into.push(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
        Value::Object(map) => map.values().for_each(|value| collect(value, into)),
        _ => {}
    }
}

#[test]
fn a_known_pull_comes_out_with_all_parts_and_nothing_is_asked_twice() {
    let folder = Folder::new();
    let run = "run --suite spinner --model scripted/pull=0.5 --quiet";
    folder.wheel(run).expect(0);
    let lines = folder.lines("scripted%2Fpull%3D0.5", "spinner");
    // 11 variations, 2 anchors, 16 coalitions are 352 prompts; without the anchor many are the same.
    assert!((100..352).contains(&lines.len()), "{}", lines.len());
    let prompts: std::collections::BTreeSet<&str> = lines
        .iter()
        .map(|line| line["conversation"][0]["content"].as_str().unwrap())
        .collect();
    assert_eq!(prompts.len(), lines.len());
    assert_eq!(lines[0]["scored"]["mode"], "exact");
    assert_eq!(lines[0]["scored"]["targets"][57], "57%");
    assert_eq!(lines[0]["conversation"][0]["role"], "text");
    folder.wheel(run).expect(0);
    assert_eq!(
        folder.lines("scripted%2Fpull%3D0.5", "spinner").len(),
        lines.len()
    );
    let scored = folder
        .wheel("score --suite spinner --json")
        .expect(0)
        .json();
    let variations = scored["variations"].as_array().unwrap();
    assert_eq!(variations.len(), 11);
    for one in variations {
        // The ends of the scale cut the normal curve by little.
        assert!((one["index"].as_f64().unwrap() - 0.5).abs() < 0.02, "{one}");
        assert!((one["mass_low"].as_f64().unwrap() - 0.5).abs() < 1e-9);
        // Shapley values add up to the whole prompt above the empty one: the script heeds the anchor alone.
        let value = |field: &str| one["shapley"][field]["high"].as_f64().unwrap();
        assert!(value("scene").abs() < 1e-9 && value("absolute").abs() < 1e-9);
        let both = [
            one["banzhaf"]["anchor"]["high"].as_f64().unwrap(),
            value("anchor"),
        ];
        assert!(
            (both[0] - both[1]).abs() < 1e-9 && both[0] != 0.0,
            "{both:?}"
        );
    }
    let model = &scored["models"][0];
    assert_eq!(model["n"], 10);
    assert!((model["softev_index"].as_f64().unwrap() - 0.5).abs() < 0.02);
    assert!(model["mass"].as_f64().unwrap() > 0.49);
    // A part of a run has no attribution, and says so with null.
    let part = Folder::new();
    part.wheel("run --suite spinner --item V1-S --model scripted/pull=0.2 --quiet")
        .expect(0);
    assert_eq!(part.lines("scripted%2Fpull%3D0.2", "spinner").len(), 24);
    part.wheel("score --suite spinner")
        .expect(0)
        .prints(&["V1-S", "scripted/pull=0.2"]);
    part.wheel("show --task spinner --item V1-S --model scripted/pull=0.2")
        .expect(0)
        .prints(&["scored exact", "101 answers hold", "%  "]);
    // Deterministic scores are not asked again, and shards score each prompt once.
    let shards = Folder::new();
    for shard in ["1/2", "2/2"] {
        let run = "run --suite spinner --model scripted/pull=0.2 --epochs 3 --quiet";
        shards
            .wheel(&format!("{run} --shard {shard} --store s{}", &shard[..1]))
            .expect(0);
    }
    let keys: Vec<String> = ["s1", "s2"]
        .iter()
        .flat_map(|store| {
            let text = shards.read(&format!("{store}/scripted%2Fpull%3D0.2/spinner.jsonl"));
            text.lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    let distinct: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), distinct.len()), (lines.len(), lines.len()));
    // One half alone attributes nothing, and gives no composite.
    let half = shards.wheel("score --suite spinner --store s1 --json");
    if half.code == 0 {
        assert!(half.json()["models"][0]["abss"].is_null());
    }
}

#[test]
fn boards_and_pages_show_both_distributions_and_every_field() {
    let folder = Folder::new();
    folder
        .wheel("run --suite spinner --model scripted/pull=0.3 --quiet")
        .expect(0);
    folder.wheel("leaderboard --suite spinner").expect(0);
    let board = folder.read("leaderboards/spinner.md");
    for part in [
        "## Scored exact",
        "### What each field adds",
        "probability held",
        "V5-D",
    ] {
        assert!(board.contains(part), "no {part} in\n{board}");
    }
    folder.wheel("verify leaderboards/spinner.md").expect(0);
    folder
        .wheel("leaderboard --suite spinner --html site")
        .expect(0);
    let pages: Vec<String> = std::fs::read_dir(folder.path().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(pages.len(), 1 + 1 + 11);
    let page = pages
        .iter()
        .find(|name| name.starts_with("variation-"))
        .unwrap();
    let html = folder.read(&format!("site/{page}"));
    assert_eq!(html.matches("<polyline").count(), 2);
    assert_eq!(html.matches("<rect").count(), 8);
    folder.wheel("verify site").expect(0);
    folder
        .wheel("report --suite spinner --model scripted/pull=0.3")
        .expect(0)
        .prints(&["behaviour", "scene, low", "V0"]);
}

#[test]
fn a_question_of_the_wheel_by_probability_has_the_known_index() {
    let folder = Folder::new();
    folder
        .wheel("run --task classic --task classic-grid --task baseline-grid --model scripted/known=0,fuzzy=0.3,fermi=0.8 --quiet")
        .expect(0);
    let line = &folder.lines(
        "scripted%2Fknown%3D0%2Cfuzzy%3D0.3%2Cfermi%3D0.8",
        "classic-grid",
    )[0];
    assert_eq!(
        line["conversation"].as_array().unwrap().last().unwrap()["content"],
        "ESTIMATE:"
    );
    let targets = line["scored"]["targets"].as_array().unwrap();
    assert!(
        targets.len() > 50
            && targets
                .iter()
                .all(|text| text.as_str().unwrap().ends_with('\n'))
    );
    let score = folder.wheel("score --json").expect(0).json();
    let cells = score["cells"].as_array().unwrap();
    let cell = |task: &str| cells.iter().find(|cell| cell["task"] == task).unwrap();
    let sampled = cell("classic")["index"].as_f64().unwrap();
    let implied = cell("classic-grid")["index"].as_f64().unwrap();
    assert!(
        (sampled - 0.475).abs() < 1e-3 && (implied - 0.475).abs() < 0.01,
        "{sampled} {implied}"
    );
    assert!((cell("classic-grid")["mass"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    assert!(cell("classic")["mass"].is_null());
    assert_eq!(cell("classic-grid")["usable"], 40);
}

const HEADER: &str = "VariationID,Anchor,TargetToken,LogProbFullPrompt,Shapley_scene,Shapley_comparative,Shapley_absolute,Shapley_anchor,TargetInt";

/// One variation under the anchors 10 and 65; line 2 is the answer 0 % under 10, line 103 the same under 65.
fn table() -> Vec<String> {
    let mut lines = vec![HEADER.to_owned()];
    for anchor in [10, 65] {
        for value in 0..=100 {
            let score = 1 + (value * 37 + anchor) % 50;
            lines.push(format!(
                "1,{anchor},{value}%,-{score}.5,0.1,0.2,0.3,0.{score},{value}"
            ));
        }
    }
    lines
}

/// A mistake that is put into a table.
type Change = fn(&mut Vec<String>);

#[test]
fn bad_tables_are_named_by_file_and_line() {
    let folder = Folder::new();
    let name = "in/anchoring_org_tiny_results_standard.csv";
    std::fs::create_dir_all(folder.path().join("in")).unwrap();
    let mistakes: [(Change, &[&str]); 8] = [
        (
            |lines| drop(lines.remove(103)),
            &[":103:", "anchor 65", "none for the answer 1;"],
        ),
        (
            |lines| lines.retain(|line| !line.ends_with(",57")),
            &[":58:", ":158:", "none for the answer 57;"],
        ),
        (
            |lines| lines[0] = lines[0].replace("TargetInt", "Target"),
            &[":1:", "the column `Target` is not known"],
        ),
        (
            |lines| lines.truncate(102),
            &[":2:", "variation 1 has the anchors 10, not two"],
        ),
        (
            |lines| lines.push("1,80,0%,-1,0,0,0,0,0".to_owned()),
            &["has the anchors 10, 65, 80, not two"],
        ),
        (
            |lines| lines.push(lines[202].clone()),
            &[":204:", "stands in line 203 too"],
        ),
        (
            |lines| lines[2] = lines[2].replace(",-", ",much-"),
            &[":3:", "`much-", "is no number"],
        ),
        (
            |lines| lines[2] = lines[2].replace(",-", ","),
            &[":3:", "is above 0"],
        ),
    ];
    for (change, says) in mistakes {
        for ends in ["\n", "\r\n"] {
            let mut lines = table();
            change(&mut lines);
            folder.write(name, &(lines.join(ends) + ends));
            folder
                .wheel("import scores in --store s")
                .expect(2)
                .says(says)
                .says(&[name, "nothing was imported"]);
            assert!(!folder.path().join("s").exists());
        }
    }
    // Scores that are missing are left out of the sums; what cannot be computed is null, weighs 0, and is listed.
    let mut lines = table();
    for line in &mut lines[2..102] {
        let (start, end) = (line.find("%,").unwrap() + 2, line.find(",0.1").unwrap());
        line.replace_range(start..end, "");
    }
    folder.write(name, &(lines.join("\n") + "\n"));
    folder.wheel("import scores in --store s").expect(0);
    let run = folder
        .wheel("score --suite spinner --store s --json")
        .expect(0);
    let scored = run.says(&["p_LogProb", "cannot be computed"]).json();
    let one = &scored["variations"][0];
    assert_eq!(
        (&one["n1"], &one["n2"], &one["w_log"]),
        (&json!(1), &json!(101), &json!(0.0))
    );
    assert!(one["p_LogProb"].is_null());
    assert!(
        one["missing_p"]
            .as_array()
            .unwrap()
            .contains(&json!("p_LogProb"))
    );
}

#[test]
fn stimuli_of_ones_own_are_checked_and_asked() {
    let folder = Folder::new();
    folder.write(
        "mine.yaml",
        "name: mine\nstimuli:\n  - id: A1\n    scene: \"It shows\"\n    comparative: \"More than \"\n    absolute: How much?\n    anchors: {S: [10, 10], Q: [1, 2]}\n",
    );
    folder
        .wheel("run --suite spinner --stimuli mine.yaml --model scripted/pull=0 --quiet")
        .expect(2)
        .says(&[
            "mine.yaml:4:12",
            "must end in a blank",
            "both anchors are 10",
            "there is no set `Q`",
        ]);
    folder.write(
        "mine.csv",
        "VariationID,Regime,Tag,scene,comparative,absolute,anchor_low,anchor_high\n1,standard,X-S,\"It shows \",\"More than \",How much?,20,70\n",
    );
    folder
        .wheel("run --suite spinner --stimuli mine.csv --model scripted/pull=1 --quiet")
        .expect(0)
        .prints(&["X-S"]);
    // Without the table its lines belong to nothing.
    folder
        .wheel("score --suite spinner")
        .expect(2)
        .says(&["stimuli in other words", "--stimuli"]);
    folder.write(
        "bad.csv",
        "VariationID,Regime,Tag,scene,comparative,absolute,anchor_low\n",
    );
    folder
        .wheel("run --suite spinner --stimuli bad.csv --model scripted/pull=1")
        .expect(2)
        .says(&["bad.csv:1", "no column `anchor_high`"]);
}
