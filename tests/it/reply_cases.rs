//! The reader against the cases of `tests/cases/replies.yaml`.

use serde::Deserialize;
use wheel::parse::{Question, read_reply};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    task: String,
    unit: String,
    anchor: Option<f64>,
    reply: String,
    expect: Expect,
    reason: Option<String>,
    #[serde(default)]
    reason_also: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expect {
    Number(f64),
    Word(#[expect(dead_code, reason = "always the word none")] String),
}

#[test]
fn every_case_comes_out_as_stated() {
    let file: Cases = serde_saphyr::from_str(include_str!("../cases/replies.yaml")).unwrap();
    assert!(file.cases.len() >= 85);
    let mut wrong = Vec::new();
    for case in &file.cases {
        let question = Question {
            unit: &case.unit,
            anchor: case.anchor,
            comparison: matches!(case.task.as_str(), "classic" | "thinking"),
        };
        let reading = read_reply(&case.reply, &question);
        let fits = match (&case.expect, reading.value) {
            (Expect::Number(wanted), Ok(value)) => (value - wanted).abs() <= wanted.abs() * 1e-9,
            (Expect::Word(_), Err(why)) => {
                let why = why.to_string();
                case.reason.as_ref() == Some(&why) || case.reason_also.contains(&why)
            }
            _ => false,
        };
        if !fits {
            wrong.push(format!("{}: {:?} -> {reading:?}", case.id, case.reply));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
