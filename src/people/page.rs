//! The page that a person sees: one file, without anything from elsewhere.

use base64::Engine as _;
use minijinja::Environment;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::wording;
use crate::bank::Bank;
use crate::domain::Condition;

/// The page. `served` says whether answers are sent to the server it came from; otherwise the person saves them as a file.
///
/// # Errors
/// The page's own template.
pub fn page(bank: &Bank, served: bool) -> Result<String, minijinja::Error> {
    const SCRIPT: &str = include_str!("page.js");
    let questions: Vec<Value> = bank
        .items
        .iter()
        .map(|item| {
            json!({
                "item": item.id,
                "low": wording(item, Condition::Low),
                "high": wording(item, Condition::High),
            })
        })
        .collect();
    let data = json!({"questions": questions, "served": served}).to_string();
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()));
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html"))?;
    let fields = json!({
        "count": bank.items.len(),
        "script": SCRIPT,
        "script_hash": hash,
        // Within a script element only its end could be taken for markup.
        "data": data.replace('<', "\\u003c"),
    });
    environment
        .get_template("page.html")?
        .render(minijinja::Value::from(minijinja::value::Serde(fields)))
}
