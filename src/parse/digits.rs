//! The probabilities of digits where a score begins, out of the body of a chat completion.

use serde::Deserialize;

use crate::domain::Digits;

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    logprobs: Option<Logprobs>,
}

#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Token>>,
}

#[derive(Deserialize)]
struct Token {
    #[serde(rename = "token")]
    text: String,
    logprob: f64,
    #[serde(default)]
    top_logprobs: Vec<Top>,
}

#[derive(Deserialize)]
struct Top {
    token: String,
    logprob: f64,
}

/// The digits at the first place of the number behind `"score":`, from the alternatives that the server names there; the
/// probabilities of tokens that begin with the same digit add up. `None` of a body without log-probabilities or score.
///
/// `start` is the given start of the reply, which no body holds. A digit that is not among the alternatives is unknown, not impossible.
#[must_use]
pub fn digits_of_body(body: &str, start: &str) -> Option<Digits> {
    // Most bodies have none, and need not be read again.
    if !body.contains("\"top_logprobs\"") {
        return None;
    }
    let body: Body = serde_json::from_str(body).ok()?;
    let tokens = body.choices.into_iter().next()?.logprobs?.content?;
    let said: String = tokens.iter().map(|token| token.text.as_str()).collect();
    let at = score_begins(&format!("{start}{said}"))?.checked_sub(start.len())?;
    let mut end = 0;
    for token in &tokens {
        let begin = end;
        end += token.text.len();
        if at >= end {
            continue;
        }
        // What stands in the token before the digit, a blank or the colon, is the same in its alternatives.
        let lead = &token.text[..at - begin];
        let own = std::iter::once((token.text.as_str(), token.logprob));
        let tops = token.top_logprobs.iter();
        let tops = tops.map(|top| (top.token.as_str(), top.logprob));
        let mut sums = [0.0; 10];
        let all: Vec<(&str, f64)> = if token.top_logprobs.is_empty() {
            own.collect()
        } else {
            tops.collect()
        };
        for (text, logprob) in all {
            let first = text.strip_prefix(lead).and_then(|rest| rest.chars().next());
            if let Some(digit) = first.and_then(|c| c.to_digit(10)) {
                sums[digit as usize] += logprob.exp();
            }
        }
        return Some(sums.map(|sum| (sum > 0.0).then(|| sum.ln())));
    }
    None
}

/// Where the first digit of the score stands.
fn score_begins(said: &str) -> Option<usize> {
    let key = said.find("\"score\"")? + "\"score\"".len();
    let rest = &said[key..];
    let at = rest.find(|c: char| !(c.is_whitespace() || c == ':' || c == '"'))?;
    rest[at..]
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(key + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(tokens: &serde_json::Value) -> String {
        serde_json::json!({"choices": [{"message": {"content": ""}, "logprobs": {"content": tokens}}]})
            .to_string()
    }

    #[test]
    fn digits_are_looked_up_where_the_score_begins() {
        let plain = |token: &str| {
            serde_json::json!({"token": token, "logprob": -0.5, "top_logprobs": [
            {"token": "9", "logprob": -0.1}]})
        };
        let at = serde_json::json!({"token": " 4", "logprob": -0.2, "top_logprobs": [
            {"token": " 4", "logprob": -0.2}, {"token": " 5", "logprob": -2.0}, {"token": " 5.", "logprob": -3.0},
            {"token": "4", "logprob": -4.0}]});
        let tokens =
            serde_json::json!([plain("{\""), plain("score"), plain("\":"), at, plain(".5")]);
        let digits = digits_of_body(&body(&tokens), "").unwrap();
        assert!((digits[4].unwrap() + 0.2).abs() < 1e-12);
        let five = (-2.0_f64).exp() + (-3.0_f64).exp();
        assert!((digits[5].unwrap() - five.ln()).abs() < 1e-12);
        assert_eq!(digits[9], None);
        // Behind a given start the reply begins with the score.
        let tokens = serde_json::json!([tokens[3], tokens[4]]);
        let behind = digits_of_body(&body(&tokens), "{\"score\":").unwrap();
        assert_eq!(behind, digits);
        for without in [
            r#"{"choices": [{"logprobs": null}]}"#.to_owned(),
            body(&serde_json::json!([plain("no"), plain("score")])),
            "\"top_logprobs\"".to_owned(),
        ] {
            assert_eq!(digits_of_body(&without, ""), None, "{without}");
        }
    }
}
