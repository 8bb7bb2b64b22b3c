//! Bodies that hold several JSON documents: event streams and lines.

use serde_json::{Deserializer, Value};

/// What a body holds.
#[derive(Debug, PartialEq)]
pub(super) enum Documents {
    /// One document.
    One(Value),
    /// The documents of a stream, in order.
    Stream(Vec<Value>),
    /// Something else, or a document that breaks off.
    None,
}

/// Splits a body. An event stream is known by its type or by its first field, whatever was asked for.
pub(super) fn documents(content_type: &str, body: &str) -> Documents {
    let start = body.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let is_stream = content_type.contains("event-stream")
        || ["data:", "event:", "id:", ":"]
            .iter()
            .any(|field| start.starts_with(field));
    if is_stream {
        return match event_data(body) {
            Some(events) if !events.is_empty() => Documents::Stream(events),
            _ => Documents::None,
        };
    }
    let mut all = Vec::new();
    for document in Deserializer::from_str(start).into_iter::<Value>() {
        match document {
            Ok(document) => all.push(document),
            // A line that breaks off makes the stream incomplete, which its dialect notices; one document is whole or none.
            Err(_) if all.is_empty() => return Documents::None,
            Err(_) => break,
        }
    }
    match all.len() {
        0 => Documents::None,
        1 => Documents::One(all.remove(0)),
        _ => Documents::Stream(all),
    }
}

/// The word that closes many a stream; among the events it is a text.
pub(super) const DONE: &str = "[DONE]";

/// The JSON of each event, without comments; `None` if one is broken.
///
/// Source: the event stream format of the HTML standard, section 9.2.6; several data lines make one event.
fn event_data(body: &str) -> Option<Vec<Value>> {
    let mut events = Vec::new();
    let mut data = String::new();
    for line in body.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("data:") {
            if !data.is_empty() {
                data.push('\n');
            }
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        } else if line.is_empty() && !data.is_empty() {
            events.push(match data.trim() {
                DONE => Value::from(DONE),
                data => serde_json::from_str(data).ok()?,
            });
            data.clear();
        }
    }
    Some(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_is_one_document_or_a_stream() {
        assert_eq!(
            documents("application/json", " {\"a\":1}\n"),
            Documents::One(json!({"a": 1}))
        );
        assert_eq!(
            documents("application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n"),
            Documents::Stream(vec![json!({"a": 1}), json!({"a": 2})])
        );
        let sse = ": waiting\n\nevent: x\ndata: {\"a\":\ndata: 1}\n\ndata: [DONE]\n\n";
        let events = vec![json!({"a": 1}), json!(DONE)];
        assert_eq!(documents("", sse), Documents::Stream(events));
        for broken in ["", "<html>", "{\"a\":", "data: {\"a\":"] {
            assert_eq!(documents("text/plain", broken), Documents::None, "{broken}");
        }
    }
}
