//! Checks of the prompts of a set of cases, before anything is asked.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Form, RenderError, Task};
use crate::bank::cases::{Case, ExtraKind};
use crate::domain::{Conversation, Message};

/// Renders all prompts of a task and looks them through: no two alike, and the anchor in every prompt that has one, except
/// where solved cases lie around it. Gives what is wrong, if anything is.
///
/// # Errors
/// A prompt that cannot be rendered.
pub fn check_prompts(task: &Task, cases: &[Arc<Case>]) -> Result<Vec<String>, RenderError> {
    let mut faults = Vec::new();
    let around = task
        .cases
        .as_ref()
        .is_some_and(|spec| spec.extra == ExtraKind::AnchoredDemonstrations);
    for case in cases {
        let mut seen: HashMap<Conversation, String> = HashMap::new();
        for condition in &task.conditions {
            for tools in [false, true] {
                let form = Form {
                    prefill: false,
                    tools,
                };
                let prompt = task.outline(case.as_ref(), *condition, form)?;
                if let Some(anchor) = case.anchor(*condition) {
                    let anchor = crate::domain::plain(anchor);
                    if !around && !says(&prompt, &anchor) {
                        faults.push(format!(
                            "task `{}`, case `{}`: the prompt under {condition} does not hold its anchor {anchor}",
                            task.name, case.id
                        ));
                    }
                }
                let same = seen.insert(prompt, condition.to_string());
                if let Some(other) = same.filter(|other| *other != condition.to_string()) {
                    faults.push(format!(
                        "task `{}`, case `{}`: {other} and {condition} have the same prompt",
                        task.name, case.id
                    ));
                }
            }
        }
    }
    Ok(faults)
}

/// Whether a number stands in a conversation, not as a part of another.
fn says(conversation: &Conversation, number: &str) -> bool {
    let stands = |text: &str| {
        text.match_indices(number).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + number.len()..].chars().next();
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            !digit(before) && !digit(after)
        })
    };
    conversation
        .0
        .iter()
        .any(|Message { content, .. }| stands(content))
}
