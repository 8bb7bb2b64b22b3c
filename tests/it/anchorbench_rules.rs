//! Two ways of reading a reply to a case: the published rules, holes included, and ours.

use serde_json::{Value, json};
use wheel::domain::NoValue;
use wheel::parse::{Said, read_as_anchorbench, read_on_scale};

use super::support::Folder;

/// Inputs and outputs of the published rules. Origin: an independent implementation of the rules at commits 329fe0b3 and
/// 185601a6 of `AnchorBench` (CC BY 4.0).
const VECTORS: &str = include_str!("../cases/anchorbench/parser_vectors.json");

#[test]
fn the_published_rules_read_all_vectors_as_stated() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    assert_eq!(vectors.len(), 72);
    let wrong: Vec<String> = vectors
        .iter()
        .filter_map(|vector| {
            let reading = read_as_anchorbench(&Said {
                text: vector["raw_text"].as_str().unwrap(),
                prompt: vector["prompt_text"].as_str().unwrap(),
                structured: vector["structured_raw"].as_str(),
            });
            let read = json!([reading.value.ok(), reading.rule.to_string()]);
            let wanted = json!([vector["answer"].as_f64(), vector["strategy"]]);
            (read != wanted).then(|| format!("{}: {read}, not {wanted}", vector["name"]))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn our_rules_close_the_holes_of_the_published_ones() {
    for (text, wanted) in [
        // The scale itself is no answer.
        (
            "I can't give an estimate between 0 and 100.",
            Err(NoValue::Refusal),
        ),
        ("On a scale of 0–100 this is good", Err(NoValue::NoNumber)),
        ("On a scale of 0-100 this is good", Err(NoValue::NoNumber)),
        ("I would say 64 on a 0–100 scale", Ok(64.0)),
        ("I would say 64 on a 0-100 scale", Ok(64.0)),
        (
            "0 to 100\n\nThe estimate is in that range.",
            Err(NoValue::NoNumber),
        ),
        ("64/100", Ok(64.0)),
        ("64 out of 100", Ok(64.0)),
        // Decimals stay.
        ("Answer: 28.9", Ok(28.9)),
        ("76.6", Ok(76.6)),
        // Off the scale is off the scale.
        ("1,234", Err(NoValue::OffScale)),
        ("150", Err(NoValue::OffScale)),
        ("-5", Err(NoValue::OffScale)),
        ("100.4", Err(NoValue::OffScale)),
        // The numbers of a list are no answers.
        (
            "1. Look at data\n2. Average them\n3. Report",
            Err(NoValue::NoNumber),
        ),
        ("1. Add them up.\n2. Divide.\n62", Ok(62.0)),
        ("- 64", Ok(64.0)),
        // A fraction that nobody worked out.
        ("38/5", Err(NoValue::Ambiguous)),
        ("Answer: 3/4", Err(NoValue::Ambiguous)),
        ("388 / 5 = 77.6\n78", Ok(78.0)),
        ("I would say 64 on a 1-100 scale", Ok(64.0)),
        // What both read alike.
        ("72", Ok(72.0)),
        ("0", Ok(0.0)),
        ("100", Ok(100.0)),
        ("The number is 62.", Ok(62.0)),
        ("**79**", Ok(79.0)),
        ("Considering 80 and 78:\n**79**", Ok(79.0)),
        ("<think>80+78=158, /2 = 79</think>\n79", Ok(79.0)),
        ("30 or 50 or 70", Err(NoValue::Ambiguous)),
        ("", Err(NoValue::Empty)),
    ] {
        assert_eq!(read_on_scale(text).value, wanted, "{text:?}");
    }
}

#[test]
fn replies_are_read_by_either_rules_from_the_command_line() {
    let folder = Folder::new();
    let lines = [
        json!({"reply": "I would say 64 on a 0–100 scale"}),
        json!({"reply": "Weighing 80 and 78 and 55 I land on 71 overall", "prompt": "80 78 55 0 100"}),
        json!({"reply": "noise", "structured": "{\"answer\": 42}"}),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    folder.write("replies.jsonl", &text.join("\n"));
    let read = |words: &str| -> Vec<Value> {
        let run = folder.wheel(words).expect(0);
        let lines = run.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let theirs = read("parse --rules anchorbench replies.jsonl");
    let values: Vec<&Value> = theirs.iter().map(|line| &line["value"]).collect();
    assert_eq!(values, [100.0, 71.0, 42.0]);
    assert_eq!(theirs[2]["rule"], "structured");
    let ours = read("parse --task external replies.jsonl");
    assert_eq!(ours[0]["value"], 64.0);
    assert_eq!(ours[1]["reason"], "ambiguous");
}

#[test]
fn plain_digits_are_read_as_the_whole_reader_reads_them() {
    // A blank and a full stop around them take the long way.
    for text in [
        "0", "7", "62", "100", "101", "62.5", "0.5", "99.99", "12345",
    ] {
        let long = read_on_scale(&format!("The number is {text} ."));
        assert_eq!(read_on_scale(text).value, long.value, "{text}");
    }
}

#[test]
fn calls_of_tools_that_a_model_wrote_down_are_no_answers() {
    let call = r#"{"name": "rate_5", "arguments": {"of": "demand", "max": 55}}"#;
    for (text, wanted) in [
        (call.to_owned(), Err(NoValue::NoNumber)),
        (format!("[{call}]"), Err(NoValue::NoNumber)),
        (format!("```tool_call\n{call}\n```"), Err(NoValue::NoNumber)),
        (format!("[TOOL_CALLS][{call}]"), Err(NoValue::NoNumber)),
        (
            format!("<|python_tag|>{}", call.replace("arguments", "parameters")),
            Err(NoValue::NoNumber),
        ),
        (
            format!(r#"{{"type": "function", "id": "call_7", "function": {call}}}"#),
            Err(NoValue::NoNumber),
        ),
        (
            format!("I look it up first.\n<tool_call>{call}</tool_call>"),
            Err(NoValue::NoNumber),
        ),
        // What stands beside a call is read, whether its tag is closed or not.
        (format!("<tool_call>{call}</tool_call>\n62"), Ok(62.0)),
        (
            format!("<tool_call>\n{call}\n\nThe overall estimate is 64"),
            Ok(64.0),
        ),
        ("I make no <tool_call> here.\n64".to_owned(), Ok(64.0)),
        // An object with a name is no call.
        (r#"{"name": "overall", "value": 62}"#.to_owned(), Ok(62.0)),
    ] {
        assert_eq!(read_on_scale(&text).value, wanted, "{text:?}");
    }
}
