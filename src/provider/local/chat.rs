//! The chat template of the model file, rendered as its authors' tools render it.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::EngineError;
use super::gguf::Gguf;
use crate::domain::Conversation;

const NAME: &str = "chat";

pub(super) struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// The template of the file; `None` for a base model, which has none.
    pub(super) fn from_gguf(gguf: &Gguf) -> Result<Option<Self>, EngineError> {
        match gguf.text("tokenizer.chat_template") {
            Ok(text) => Self::new(text).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn new(text: String) -> Result<Self, EngineError> {
        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()?,
        );
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function(
            "raise_exception",
            |message: String| -> Result<Value, Error> {
                Err(Error::new(ErrorKind::InvalidOperation, message))
            },
        );
        environment.add_template_owned(NAME, text)?;
        Ok(Self { environment })
    }

    /// The prompt up to the point where the model goes on; a prefill stands at its end.
    pub(super) fn render(&self, conversation: &Conversation) -> Result<String, EngineError> {
        let prefill = conversation.prefill();
        let said = match prefill {
            Some(_) => &conversation.0[..conversation.0.len() - 1],
            None => &conversation.0[..],
        };
        let messages: Vec<Value> = said
            .iter()
            .map(|message| {
                let role: &'static str = message.role.into();
                context! { role => role, content => message.content.as_str() }
            })
            .collect();
        let prompt = self
            .environment
            .get_template(NAME)?
            .render(context! { messages => messages, add_generation_prompt => true })?;
        Ok(prompt + prefill.unwrap_or_default())
    }
}
