//! Rendering: task × item × condition × replies so far → the conversation of the next call.

use minijinja::UndefinedBehavior;

use super::{Form, Part, Step, Task};
use crate::bank::SubjectRef;
use crate::domain::{Condition, Conversation, Role, ToolCall};

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
    pub fn conversation<'s>(
        &self,
        subject: impl Into<SubjectRef<'s>>,
        condition: Condition,
        replies: &[String],
        form: Form,
    ) -> Result<Option<(Conversation, &[Part])>, RenderError> {
        let subject = subject.into();
        let names = self.names(subject, condition, replies, form.tools);
        let render = |template: &str| {
            self.environment
                .get_template(template)
                .and_then(|template| template.render(&names))
                .map_err(|source| RenderError {
                    task: self.name.to_string(),
                    item: subject.id().to_string(),
                    condition,
                    source,
                })
        };
        let mut conversation = Conversation::default();
        let mut turn = 0;
        for step in self.steps_of(condition, form.tools) {
            match step {
                // Bare text begins and ends with something.
                Step::Say {
                    role: Role::Text,
                    template,
                } => conversation.say(Role::Text, render(template)?.trim()),
                Step::Say { role, template } => conversation.say(*role, render(template)?),
                Step::Call { tool, templates } => {
                    let [words, arguments, output] = templates;
                    let call = ToolCall {
                        // Nine letters and digits, which every server takes.
                        id: format!("call{:05}", conversation.calls().count() + 1),
                        name: tool.clone(),
                        arguments: render(arguments)?,
                    };
                    conversation.call(call, render(words)?, render(output)?);
                }
                Step::Ask { reads } => {
                    let number = reads.iter().any(|part| match part {
                        Part::Estimate | Part::Verdict => !self.reasons,
                        Part::Anchor | Part::Draft => true,
                        Part::Comparison => false,
                    });
                    let start = self.prefill.as_deref().filter(|_| form.prefill && number);
                    let Some(reply) = replies.get(turn) else {
                        if let Some(start) = start {
                            conversation.say(Role::Assistant, start);
                        }
                        return Ok(Some((conversation, reads)));
                    };
                    // The model sees its reply as it stood, its given start included.
                    let said = format!("{}{reply}", start.unwrap_or_default());
                    conversation.say(Role::Assistant, said);
                    turn += 1;
                }
            }
        }
        Ok(None)
    }

    /// The conversation of the last ask with stand-ins for earlier replies: what identifies a sample.
    ///
    /// # Errors
    /// As [`Task::conversation`].
    pub fn outline<'s>(
        &self,
        subject: impl Into<SubjectRef<'s>>,
        condition: Condition,
        form: Form,
    ) -> Result<Conversation, RenderError> {
        let replies: Vec<String> = (1..self.turns(condition)).map(reply_stand_in).collect();
        let last = self.conversation(subject, condition, &replies, form)?;
        Ok(last
            .map(|(conversation, _)| conversation)
            .unwrap_or_default())
    }
}
