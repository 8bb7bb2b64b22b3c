//! Question banks: the cases of `tests/cases/banks`, and what the shipped bank owes.

use serde::Deserialize;
use wheel::bank::{self, Bank, BankFile, Strictness};
use wheel::domain::Tier;
use wheel::yaml::{Faults, Severity};

use super::support::Folder;

#[derive(Deserialize)]
struct Expected {
    files: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    file: String,
    kind: String,
    outcome: String,
    #[serde(default)]
    values: std::collections::BTreeMap<String, serde_json::Value>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    line: Vec<u64>,
    other_line: Option<u64>,
    field: Option<String>,
    mention: Vec<Mention>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Mention {
    One(String),
    AnyOf(Vec<String>),
}

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/banks")
}

fn load_bank(text: &str) -> Result<(Bank, Faults), Faults> {
    let file = BankFile {
        name: "bank.yaml".to_owned(),
        text: text.to_owned(),
    };
    bank::load(&[file], Strictness::Usable)
}

/// The value at a path such as `questions[0].reference`, or of a field of all questions.
fn value_at(bank: &Bank, order: &[String], path: &str) -> serde_json::Value {
    let field = path.rsplit('.').next().unwrap();
    let of = |id: &str| {
        let item = bank.get(&id.into()).unwrap();
        match field {
            "id" => serde_json::json!(item.id),
            "text" => serde_json::json!(item.text),
            "reference" => serde_json::json!(item.reference),
            other => panic!("no such field: {other}"),
        }
    };
    match path.split(['[', ']']).nth(1) {
        Some("") => order.iter().map(|id| of(id)).collect(),
        Some(index) => of(&order[index.parse::<usize>().unwrap()]),
        None => unreachable!("`name` is checked by the caller"),
    }
}

#[test]
fn every_bank_case_behaves_as_stated() {
    let expected: Expected =
        serde_saphyr::from_str(&std::fs::read_to_string(folder().join("expected.yaml")).unwrap())
            .unwrap();
    assert_eq!(expected.files.len(), 12);
    for case in &expected.files {
        let text = String::from_utf8(std::fs::read(folder().join(&case.file)).unwrap()).unwrap();
        if case.kind == "models" {
            let files = [
                ("built in".to_owned(), wheel::model::built_in().to_owned()),
                (case.file.clone(), text),
            ];
            let registry = wheel::model::load(&files).unwrap();
            let model = registry.model("local-grok").unwrap();
            assert_eq!(case.values["models[0].model"], *model.model_id);
            continue;
        }
        let loaded = load_bank(&text);
        match case.outcome.as_str() {
            "accept" => {
                let (bank, warnings) =
                    loaded.unwrap_or_else(|faults| panic!("{}: {faults}", case.file));
                assert!(warnings.0.is_empty(), "{}: {warnings}", case.file);
                // The bank is sorted; the file's own order comes from its lines.
                let order: Vec<String> = text
                    .lines()
                    .filter_map(|line| {
                        line.trim_start_matches('\u{feff}')
                            .trim()
                            .strip_prefix("- id: ")
                    })
                    .map(str::to_owned)
                    .collect();
                for (path, wanted) in case.values.iter().filter(|(path, _)| *path != "name") {
                    let found = value_at(&bank, &order, path);
                    let same = match (found.as_f64(), wanted.as_f64()) {
                        (Some(found), Some(wanted)) => found == wanted,
                        _ => found == *wanted,
                    };
                    assert!(same, "{}: {path} is {found}", case.file);
                }
            }
            outcome => {
                let faults = match loaded {
                    Ok((_, warnings)) if outcome == "warn_or_error" => warnings,
                    Ok(_) => panic!("{}: accepted", case.file),
                    Err(faults) => faults,
                };
                check_message(case, &faults);
            }
        }
    }
}

fn check_message(case: &Case, faults: &Faults) {
    let message = case.message.as_ref().unwrap();
    let text = faults.to_string();
    let named = faults.0.iter().find(|fault| {
        message.line.contains(&fault.line)
            && (message.field.is_none() || message.field == fault.field)
    });
    assert!(named.is_some(), "{}: {text}", case.file);
    assert!(text.contains("bank.yaml:"), "{text}");
    assert!(
        faults.0.iter().all(|fault| !fault.mend.is_empty()),
        "{text}"
    );
    if let Some(line) = message.other_line {
        assert!(text.contains(&format!("bank.yaml:{line}")), "{text}");
    }
    for mention in &message.mention {
        let found = match mention {
            Mention::One(word) => text.contains(word),
            Mention::AnyOf(words) => words.iter().any(|word| text.contains(word)),
        };
        assert!(found, "{}: {text}", case.file);
    }
}

#[test]
fn a_hash_without_a_space_before_it_is_no_comment() {
    let text = std::fs::read_to_string(folder().join("s10_hash_in_text.yaml")).unwrap();
    let (_, warnings) = load_bank(&text).unwrap();
    assert_eq!(warnings.0.len(), 1, "{warnings}");
    assert_eq!(warnings.0[0].severity, Severity::Warning);
}

#[test]
fn all_faults_of_a_file_are_reported_at_once() {
    let folder = Folder::new();
    folder.write(
        "bad.yaml",
        "name: bad\nquestions:\n  - id: a b\n    tier: knwon\n    text: How high is it?\n    unitt: m\n    reference: 1,5\n  - id: zero\n    tier: fermi\n    text: the number of nothings\n    reference: 0\n    anchors: {low: 5, high: 2}\n  - tier: fermi\n    text: the number of things\n    reference: .nan\n",
    );
    let run = folder.wheel("questions check bad.yaml").expect(2).says(&[
        "bad.yaml:3:9: id: question `a b`",
        "bad.yaml:4:11: tier: question `a b`: `knwon` is not known here",
        "did you mean known?",
        "bad.yaml:5:11: text: question `a b`: must be a noun phrase",
        "bad.yaml:6:5: unitt: question `a b`: there is no such field",
        "did you mean unit?",
        "bad.yaml:7:16: reference: question `a b`: `1,5` is not a plain number",
        "bad.yaml:11:16: reference: question `zero`: 0 is not greater than 0",
        "bad.yaml:12:14: anchors: question `zero`",
        "bad.yaml:13:5: id: question 3: is missing",
        "bad.yaml:15:16: reference: question 3: `.nan` is not a plain number",
        "9 faults to mend",
    ]);
    assert!(run.out.is_empty());
}

#[test]
fn the_shipped_bank_owes_its_readers_nothing() {
    let (bank, warnings) = bank::load(&bank::built_in(), Strictness::Published).unwrap();
    assert!(warnings.0.is_empty());
    let count = |tier| bank.items.iter().filter(|item| item.tier == tier).count();
    assert_eq!(
        (count(Tier::Known), count(Tier::Fuzzy), count(Tier::Fermi)),
        (10, 10, 20)
    );
    let anchors = |id: &str| {
        let anchors = bank.get(&id.into()).unwrap().anchors;
        (anchors.low.get(), anchors.high.get())
    };
    // The check values of the post.
    assert_eq!(anchors("everest-height"), (3500.0, 22_000.0));
    assert_eq!(anchors("chicago-piano-tuners"), (50.0, 310.0));
    assert_eq!(anchors("lego-car-bricks"), (160_000.0, 1_000_000.0));
    assert_eq!(anchors("bathtub-ping-pong-balls"), (2400.0, 15_000.0));
}

#[test]
fn a_question_is_six_lines_of_yaml() {
    let folder = Folder::new();
    folder.write(
        "questions/mine.yaml",
        "name: mine\nquestions:\n  - id: bridge-cables\n    tier: fuzzy\n    text: the number of wires in a main cable of the Golden Gate Bridge\n    reference: 27572\n    source: Golden Gate Bridge, Highway and Transportation District\n    as_of: \"2024\"\n",
    );
    folder.wheel("questions check --strict questions").expect(0);
    let run = folder
        .wheel("run --model scripted/pull=0.25 --task classic")
        .expect(0);
    assert!(run.out.contains("0.25"), "{}", run.out);
}
