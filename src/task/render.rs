//! Rendering: task × item × condition × replies so far → the conversation of the next call.

use minijinja::{UndefinedBehavior, context};

use super::{Part, Step, Task};
use crate::bank::Item;
use crate::domain::{Condition, Conversation, Role, grouped, plain};

/// A template that cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error("task `{task}`, item `{item}`, condition {condition}: {source}")]
pub struct RenderError {
    task: String,
    item: String,
    condition: Condition,
    source: minijinja::Error,
}

/// What stands in a conversation for a reply that is not known yet.
#[must_use]
pub fn reply_stand_in(turn: usize) -> String {
    format!("⟨reply {turn}⟩")
}

/// A template engine in which a missing name is an error and nothing is escaped.
pub(super) fn environment() -> minijinja::Environment<'static> {
    let mut environment = minijinja::Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
}

impl Task {
    /// The conversation of the ask that follows `replies`, and what its reply is read for; `None` when all asks are
    /// answered.
    ///
    /// Numbers enter templates as text, so that two conditions differ in the anchor and in nothing else.
    ///
    /// # Errors
    /// The template names something that the condition does not have, such as an anchor in the unanchored one.
    pub fn conversation(
        &self,
        item: &Item,
        condition: Condition,
        replies: &[String],
        prefill: bool,
    ) -> Result<Option<(Conversation, &[Part])>, RenderError> {
        let phrase = |number: String| {
            if item.unit.is_empty() {
                number
            } else {
                format!("{number} {}", item.unit)
            }
        };
        let anchor = item.anchor(condition).map(|anchor| {
            context! {
                grouped => grouped(anchor.get()),
                plain => plain(anchor.get()),
                phrase => phrase(grouped(anchor.get())),
            }
        });
        let mut names = context! { question => item.text.as_str(), unit => item.unit.as_str(), replies => replies.to_vec() };
        if let Some(anchor) = anchor {
            names = context! { anchor => anchor, ..names };
        }
        let asks = self.asks().count();
        let mut conversation = Conversation::default();
        let mut turn = 0;
        for step in &self.steps {
            match step {
                Step::Say { role, template } => {
                    let text = self
                        .environment
                        .get_template(template)
                        .and_then(|template| template.render(&names))
                        .map_err(|source| RenderError {
                            task: self.name.to_string(),
                            item: item.id.to_string(),
                            condition,
                            source,
                        })?;
                    conversation.say(*role, text);
                }
                Step::Ask { reads } => {
                    if let Some(reply) = replies.get(turn) {
                        conversation.say(Role::Assistant, reply);
                        turn += 1;
                        continue;
                    }
                    if let (true, true, Some(start)) = (prefill, turn + 1 == asks, &self.prefill) {
                        conversation.say(Role::Assistant, start);
                    }
                    return Ok(Some((conversation, reads)));
                }
            }
        }
        Ok(None)
    }

    /// The conversation of the last ask with stand-ins for earlier replies: what identifies a sample.
    ///
    /// # Errors
    /// As [`Task::conversation`].
    pub fn outline(
        &self,
        item: &Item,
        condition: Condition,
        prefill: bool,
    ) -> Result<Conversation, RenderError> {
        let replies: Vec<String> = (1..self.asks().count()).map(reply_stand_in).collect();
        let last = self.conversation(item, condition, &replies, prefill)?;
        Ok(last
            .map(|(conversation, _)| conversation)
            .unwrap_or_default())
    }
}
