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
}

/// One message, exactly as sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, byte for byte.
    pub content: String,
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
        });
    }

    /// The start of the reply that was put into the model's mouth, if any.
    #[must_use]
    pub fn prefill(&self) -> Option<&str> {
        self.0
            .last()
            .filter(|message| message.role == Role::Assistant)
            .map(|message| message.content.as_str())
    }

    /// Bytes of text over all messages.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.iter().map(|message| message.content.len()).sum()
    }
}
