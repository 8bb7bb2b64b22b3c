use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Who speaks in a message.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Standing instructions; only where a task writes them.
    System,
    /// The asking side.
    User,
    /// The model: an earlier reply, or the start of the reply that is asked for.
    Assistant,
    /// What a tool gave back to the model.
    Tool,
    /// Nobody: bare text that the model goes on from, without its chat template.
    Text,
}

/// A tool that the model is said to have called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that ties the result to the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as a JSON object.
    pub arguments: String,
}

/// One message, exactly as sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, byte for byte.
    pub content: String,
    /// Of the assistant the call that it makes, of a tool the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCall>,
}

/// The messages of one call in order.
///
/// A last message of the assistant is a prefill: the model goes on from there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conversation(pub Vec<Message>);

impl Conversation {
    /// Appends a message.
    pub fn say(&mut self, role: Role, content: impl Into<String>) {
        self.0.push(Message {
            role,
            content: content.into(),
            call: None,
        });
    }

    /// Appends a tool call of the assistant, said with `words` if any, and what the tool gave back.
    pub fn call(&mut self, call: ToolCall, words: impl Into<String>, output: impl Into<String>) {
        self.0.push(Message {
            role: Role::Assistant,
            content: words.into(),
            call: Some(call.clone()),
        });
        self.0.push(Message {
            role: Role::Tool,
            content: output.into(),
            call: Some(call),
        });
    }

    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.0
            .iter()
            .filter(|message| message.role == Role::Assistant)
            .filter_map(|message| message.call.as_ref())
    }

    /// The start of the reply that was put into the model's mouth, if any.
    #[must_use]
    pub fn prefill(&self) -> Option<&str> {
        self.0
            .last()
            .filter(|message| message.role == Role::Assistant && message.call.is_none())
            .map(|message| message.content.as_str())
    }

    /// Bytes of text over all messages.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.iter().map(|message| message.content.len()).sum()
    }
}

/// A conversation with its hash, shared by all samples that send it.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The messages.
    pub conversation: Arc<Conversation>,
    /// First 32 hexadecimal digits of the BLAKE3 hash of the messages as JSON, for comparing prompts at a glance.
    pub hash: Arc<str>,
}

impl From<Conversation> for Prompt {
    fn from(conversation: Conversation) -> Self {
        let text = serde_json::to_string(&conversation).unwrap_or_default();
        Self {
            conversation: Arc::new(conversation),
            hash: blake3::hash(text.as_bytes()).to_hex()[..32].into(),
        }
    }
}

impl Deref for Prompt {
    type Target = Conversation;

    fn deref(&self) -> &Conversation {
        &self.conversation
    }
}
