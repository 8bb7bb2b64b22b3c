//! Reading a judge: the one JSON object of a reply, with a score or a label in it.

use serde_json::{Deserializer, Map, Value};

use super::visible;
use crate::domain::{Given, NoValue, Standard, Verdict};

/// Reads a reply of a judge.
///
/// The object may stand in a code fence or beside other text; what is thought aloud is left out. Several objects are read
/// if they say the same. A score may be a number or a text that is one, and is given as it stands: clipping comes later.
/// Truth values, null and anything that is not finite are no scores. A label is told apart without regard to case.
#[must_use]
pub fn read_verdict(text: &str, standard: &Standard) -> Verdict {
    let text = visible::drop_thinking(text);
    let no = |why| Verdict {
        given: Err(why),
        accept: None,
    };
    if text.trim().is_empty() {
        return no(NoValue::Empty);
    }
    let field = match standard {
        Standard::Score { .. } => "score",
        Standard::Label(_) => "label",
    };
    let all = objects(&text);
    let mut with_field = all.iter().filter(|object| object.contains_key(field));
    let Some(object) = with_field.next() else {
        return no(if all.is_empty() {
            NoValue::NoObject
        } else {
            NoValue::NoField
        });
    };
    let given = |object: &Map<String, Value>| match standard {
        Standard::Score { .. } => score(&object[field]),
        Standard::Label(labels) => {
            let said = object[field].as_str().unwrap_or_default().trim();
            let place = labels
                .iter()
                .position(|label| label.eq_ignore_ascii_case(said));
            place.map(Given::Label).ok_or(NoValue::UnknownLabel)
        }
    };
    let verdict = Verdict {
        given: given(object),
        accept: object.get("accept").and_then(Value::as_bool),
    };
    if with_field.any(|other| given(other) != verdict.given) {
        return no(NoValue::Ambiguous);
    }
    verdict
}

/// The outermost objects of a text, in order.
fn objects(text: &str) -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut values = Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        match values.next() {
            Some(Ok(object)) => {
                rest = &rest[values.byte_offset()..];
                found.push(object);
            }
            // What is inside an object that is broken or cut off is a part of it, and no verdict.
            _ if rest[1..].trim_start().starts_with('"') => rest = behind(rest),
            _ => rest = &rest[1..],
        }
    }
    found
}

/// What follows the bracket that closes the first one; nothing if none does.
fn behind(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

fn score(value: &Value) -> Result<Given, NoValue> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            // Rust reads "inf" and "nan" as numbers.
            let digits = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            let digits = digits && !text.contains(['n', 'N']);
            digits.then(|| text.parse().ok()).flatten()
        }
        _ => None,
    };
    let number = number.filter(|number| number.is_finite());
    number.map(Given::Score).ok_or(NoValue::NotNumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Scale;

    fn scores(text: &str) -> Verdict {
        let scale = Scale { from: 0.0, to: 5.0 };
        read_verdict(
            text,
            &Standard::Score {
                scale,
                threshold: 4.0,
            },
        )
    }

    #[test]
    fn one_object_is_read_with_or_without_a_fence() {
        for text in [
            r#"{"score": 4.25, "accept": true, "rationale": "fine", "flags": []}"#,
            "```json\n{\"score\": 4.25, \"accept\": true}\n```",
            "```\n{\"accept\": true, \"score\": \"4.25\"}```\nThat is my verdict.",
            "Coherent {mostly}, fluent.\n\n{\"score\": 4.25, \"accept\": true, \"flags\": [\"{\"]}",
            "<think>{\"score\": 1}</think>{\"score\": 4.25, \"accept\": true}",
            "{\"score\": 4.25, \"accept\": true}\n{\"score\": 4.25}",
        ] {
            let verdict = scores(text);
            assert_eq!(verdict.given, Ok(Given::Score(4.25)), "{text}");
            assert_eq!(verdict.accept, Some(true), "{text}");
        }
        // Off the scale is a score all the same; the clip comes later.
        assert_eq!(scores(r#"{"score": 7}"#).given, Ok(Given::Score(7.0)));
        assert_eq!(scores(r#"{"score": "-1"}"#).given, Ok(Given::Score(-1.0)));
    }

    #[test]
    fn what_is_no_verdict_has_its_reason() {
        for (text, why) in [
            ("", NoValue::Empty),
            ("<think>{\"score\": 3}</think>", NoValue::Empty),
            ("I would give it a 4.", NoValue::NoObject),
            ("{\"score\": 4", NoValue::NoObject),
            ("{\"score\": NaN}", NoValue::NoObject),
            (
                "{\"criteria\": {\"score\": 4}, \"score\": 2, \"rationale\": \"cut",
                NoValue::NoObject,
            ),
            (
                "{\"a\": {\"score\": 4}, \"b\": \"a \"quoted\" word\"}",
                NoValue::NoObject,
            ),
            ("{\"rating\": 4}", NoValue::NoField),
            ("{\"score\": true}", NoValue::NotNumeric),
            ("{\"score\": null}", NoValue::NotNumeric),
            ("{\"score\": \"high\"}", NoValue::NotNumeric),
            ("{\"score\": \"inf\"}", NoValue::NotNumeric),
            ("{\"score\": \"NaN\"}", NoValue::NotNumeric),
            ("{\"score\": \"4/5\"}", NoValue::NotNumeric),
            ("{\"score\": [4]}", NoValue::NotNumeric),
            ("{\"score\": 4} or {\"score\": 3}", NoValue::Ambiguous),
        ] {
            assert_eq!(scores(text).given, Err(why), "{text}");
        }
    }

    #[test]
    fn a_label_is_one_of_the_set() {
        let standard = Standard::Label(["booking".into(), "fault".into()].into());
        let read = |text: &str| read_verdict(text, &standard).given;
        assert_eq!(read(r#"{"label": " Fault "}"#), Ok(Given::Label(1)));
        assert_eq!(read(r#"{"label": "other"}"#), Err(NoValue::UnknownLabel));
        assert_eq!(read(r#"{"label": 1}"#), Err(NoValue::UnknownLabel));
        assert_eq!(read(r#"{"score": 1}"#), Err(NoValue::NoField));
    }
}
