//! A task as a notebook for Kaggle's benchmark SDK: our prompts, our index, our interval.

use minijinja::Environment;
use serde_json::{Value, json};

use crate::bank::Bank;
use crate::domain::{Condition, Role};
use crate::score::stats::{RESAMPLES, seed_words, tail};
use crate::task::{Form, RenderError, Task};

/// A task that cannot become a notebook.
#[derive(Debug, thiserror::Error)]
pub enum NotebookError {
    /// The SDK sends one text a prompt.
    #[error(
        "task `{0}` is more than one message of the user and one reply: the SDK's prompt() takes one text, so it cannot be exported"
    )]
    NotOnePrompt(String),
    /// A question cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The notebook's own template.
    #[error(transparent)]
    Template(#[from] minijinja::Error),
}

const ANCHORED: &str = r#"    indices = [
        index_of(low, high, low_prompt["anchor"], high_prompt["anchor"])
        for low_prompt, high_prompt in zip(PROMPTS[0::2], PROMPTS[1::2])
        if (low := estimates[low_prompt["item"], "low"]) is not None
        and (high := estimates[high_prompt["item"], "high"]) is not None
    ]
    print(f"{len(indices)} of {QUESTIONS} questions usable, {lost} samples lost")
    assert 5 * len(indices) >= 4 * QUESTIONS, f"only {len(indices)} of {QUESTIONS} questions are usable"
    index = sum(indices) / len(indices)
    low, high = interval_of(indices)
    print(f"anchoring index {index} [{low}, {high}]")
    return 1 - abs(index), float(high - low) / 2"#;

const UNANCHORED: &str = r#"    graded = [prompt for prompt in PROMPTS if prompt["tier"] in ("known", "fuzzy")]
    near = lambda value, reference: value is not None and abs(value - reference) <= 0.1 * reference * (1 + 1e-9)
    right = sum(near(estimates[prompt["item"], prompt["condition"]], prompt["reference"]) for prompt in graded)
    print(f"{right} of {len(graded)} known and half-known facts within 10 %, {lost} samples lost")
    return right / len(graded)"#;

/// The notebook as jupytext percent text.
///
/// # Errors
/// A task of several messages or asks, or a question that cannot be rendered.
pub fn notebook(task: &Task, bank: &Bank) -> Result<String, NotebookError> {
    let mut prompts: Vec<Value> = Vec::new();
    for item in &bank.items {
        let mut conditions = task.conditions.clone();
        // The scoring takes low and high in turn.
        conditions.sort();
        for condition in conditions {
            let conversation = task.outline(item, condition, Form::default())?;
            let [message] = conversation.0.as_slice() else {
                return Err(NotebookError::NotOnePrompt(task.name.to_string()));
            };
            if message.role != Role::User || task.turns(condition) != 1 || task.targets.is_some() {
                return Err(NotebookError::NotOnePrompt(task.name.to_string()));
            }
            prompts.push(json!({
                "item": item.id,
                "tier": item.tier,
                "unit": item.unit,
                "reference": item.reference,
                "condition": condition,
                "anchor": item.anchor(condition),
                "text": message.content,
            }));
        }
    }
    if task.is_anchored() {
        prompts.retain(|prompt| prompt["condition"] != json!(Condition::Unanchored));
    }
    let tails: Vec<String> = (1..=bank.items.len())
        .map(|n| format!("{n}: {}", tail(n)))
        .collect();
    // A JSON string is a Python string.
    let quoted = |text: &str| Value::String(text.to_owned()).to_string();
    let name = format!("anchoring {}", task.name);
    let anchored = task.is_anchored();
    let mut environment = Environment::new();
    environment.add_template("notebook.py", include_str!("notebook.py"))?;
    let fields = json!({
        "title": task.title,
        "about": task.about.replace('\n', " "),
        "version": env!("CARGO_PKG_VERSION"),
        "task": task.name,
        "name": name,
        "prompts": quoted(&Value::Array(prompts).to_string()),
        "questions": bank.items.len(),
        "seed": seed_words(),
        "resamples": RESAMPLES,
        "tails": format!("{{{}}}", tails.join(", ")),
        "description": quoted(&format!(
            "{}. {}",
            task.about,
            if anchored {
                "1 - |anchoring index|, higher is better; the radius is half the 95 % interval"
            } else {
                "Share of known and half-known facts within 10 % of the reference"
            }
        )),
        "docstring": if anchored { "Resistance and half the width of its interval." } else { "Accuracy without an anchor." },
        "result_type": if anchored { "tuple[float, float]" } else { "float" },
        "scoring": if anchored { ANCHORED } else { UNANCHORED },
    });
    let text = environment
        .get_template("notebook.py")?
        .render(minijinja::Value::from(minijinja::value::Serde(fields)))?;
    Ok(text + "\n")
}
