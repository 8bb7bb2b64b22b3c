//! Run files of Kaggle's benchmark SDK (`*.run.json`, proto3 JSON).
//!
//! What the format leaves out is not made up: zeros vanish from numbers, a prompt's question stands only in the result that
//! the task returned or in the prompt itself, and an empty reply is an empty text.

use rust_decimal::Decimal;
use serde_json::Value;

use super::Foreign;
use crate::domain::{TokenCounts, Tokens, Usd};

/// What a run file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFile {
    /// The replies of the run and of the runs within it.
    pub replies: Vec<Foreign>,
    /// What the file says its result is.
    pub result: Option<OwnResult>,
}

/// The result that a run file states.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnResult {
    /// Task and model.
    pub about: String,
    /// The value; a number that the format leaves out is 0.
    pub value: f64,
    /// Half the width of its interval, where there is one.
    pub radius: Option<f64>,
}

/// Reads a run file. `place` is its name.
///
/// # Errors
/// No JSON, or no run.
pub fn run_file(bytes: &[u8], place: &str) -> Result<RunFile, String> {
    let run: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("{place}: this is no JSON: {error}"))?;
    if run.get("taskVersion").is_none() && run.get("conversations").is_none() {
        return Err(format!(
            "{place}: this is no run file: it has no taskVersion"
        ));
    }
    let mut file = RunFile::default();
    collect(&run, place, None, &mut file.replies);
    let numeric = results(&run).find_map(|result| result.get("numericResult"));
    file.result = numeric.map(|numeric| OwnResult {
        about: format!(
            "{}, {}",
            run["taskVersion"]["name"].as_str().unwrap_or("?"),
            model_of(&run).unwrap_or_else(|| "?".to_owned())
        ),
        value: number(&numeric["value"]).unwrap_or(0.0),
        radius: number(&numeric["confidenceInterval"]),
    });
    Ok(file)
}

fn results(run: &Value) -> impl Iterator<Item = &Value> {
    run["results"].as_array().into_iter().flatten()
}

/// A number, which proto3 JSON writes as text if it is a long integer.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    }
}

fn model_of(run: &Value) -> Option<String> {
    let slug = run["modelVersion"]["slug"].as_str()?;
    Some(slug.strip_suffix("@default").unwrap_or(slug).to_owned())
}

fn collect(run: &Value, place: &str, outer: Option<&str>, into: &mut Vec<Foreign>) {
    let model = model_of(run).or_else(|| outer.map(str::to_owned));
    let mut here = Vec::new();
    for conversation in run["conversations"].as_array().into_iter().flatten() {
        for request in conversation["requests"].as_array().into_iter().flatten() {
            here.push(exchange(request));
        }
    }
    let started = run["startTime"].as_str().map(str::to_owned);
    let failed = run["state"]
        .as_str()
        .is_some_and(|state| state.ends_with("ERRORED"));
    for foreign in &mut here {
        foreign.started.clone_from(&started);
        if failed && foreign.reply.is_none() {
            foreign.error = run["errorMessage"].as_str().map(str::to_owned);
        }
    }
    // A task that returns what it asked says more than its prompt, if it made one call.
    if let Some(said) = results(run).find_map(|result| result.get("dictResult"))
        && said.get("qid").is_some()
    {
        let mut foreign = match here.as_slice() {
            [one] => one.clone(),
            _ => Foreign {
                started: started.clone(),
                ..Foreign::default()
            },
        };
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        foreign.item = text("qid");
        foreign.task = text("task");
        foreign.condition = text("condition").and_then(|name| name.parse().ok());
        foreign.anchor = number(&said["anchor"]);
        foreign.reply = text("reply").or(foreign.reply);
        here = vec![foreign];
    }
    for (number, mut foreign) in here.into_iter().enumerate() {
        let own = run.get("subruns").map_or_else(
            || run.to_string(),
            |_| {
                let mut own = run.clone();
                own["subruns"] = Value::Null;
                own.to_string()
            },
        );
        let hash = blake3::hash(own.as_bytes()).to_hex();
        foreign.source = format!("kaggle-{}-{number}", &hash[..16]);
        place.clone_into(&mut foreign.place);
        foreign.model = model.clone().unwrap_or_default();
        into.push(foreign);
    }
    for inner in run["subruns"].as_array().into_iter().flatten() {
        collect(inner, place, model.as_deref(), into);
    }
}

/// The last question of a request and its answer.
fn exchange(request: &Value) -> Foreign {
    let mut foreign = Foreign::default();
    for content in request["contents"].as_array().into_iter().flatten() {
        let parts = content["parts"].as_array().into_iter().flatten();
        let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
        match content["role"].as_str() {
            Some("CONTENT_ROLE_USER") => {
                foreign.prompt = Some(text);
                foreign.reply = None;
            }
            Some("CONTENT_ROLE_ASSISTANT") => foreign.reply = Some(text),
            _ => {}
        }
    }
    let metrics = &request["metrics"];
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "token counts; casts of floats saturate"
    )]
    let tokens = |name: &str| number(&metrics[name]).map(|count| Tokens(count as u64));
    foreign.tokens = TokenCounts {
        input: tokens("inputTokens"),
        output: tokens("outputTokens"),
        ..TokenCounts::default()
    };
    let nano = |name: &str| -> Option<Decimal> {
        let text = match &metrics[name] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        text.parse().ok()
    };
    foreign.cost = nano("inputTokensCostNanodollars")
        .zip(nano("outputTokensCostNanodollars"))
        .and_then(|(input, output)| input.checked_add(output))
        .map(|nano| Usd((nano / Decimal::from(1_000_000_000)).normalize()));
    foreign
}
