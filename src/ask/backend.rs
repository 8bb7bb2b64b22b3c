//! Where a model's calls go over HTTP: dialect, address and key.

use std::sync::Arc;

use secrecy::SecretString;

use super::client::{Client, Connections};
use crate::model::{self, Model};
use crate::provider::{
    AnthropicMessages, Dialect, Gemini, Ollama, OpenaiChat, OpenaiCompletions, OpenaiResponses,
    ScoringChat,
};

/// A server and how it is spoken to.
#[derive(Clone)]
pub struct Http {
    /// How the server is spoken to.
    pub dialect: Arc<dyn Dialect>,
    /// The connection, with the key.
    pub client: Client,
    /// Address without the path.
    pub base_url: String,
}

/// A model that cannot be asked; found before any call.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A variable is not set.
    #[error("model `{model}` needs {what}: set the environment variable {variable}")]
    NotSet {
        /// Which model.
        model: String,
        /// What it holds.
        what: &'static str,
        /// Which variable.
        variable: String,
    },
    /// A value that cannot be a key.
    #[error("the value of {0} holds blanks or other characters that no key has")]
    BadKey(String),
    /// An address that is none.
    #[error("the value of {0} is no http address, or holds credentials")]
    BadAddress(String),
    /// No address.
    #[error("model `{0}` has no base_url")]
    NoAddress(String),
    /// No HTTP at all.
    #[error("HTTP cannot be set up on this machine: {0}")]
    Http(#[from] reqwest::Error),
}

/// The dialect of a word in `models.yaml`; `None` for models in this process.
fn dialect_of(word: model::Dialect) -> Option<Arc<dyn Dialect>> {
    Some(match word {
        model::Dialect::OpenaiChat => Arc::new(OpenaiChat),
        model::Dialect::OpenaiResponses => Arc::new(OpenaiResponses),
        model::Dialect::AnthropicMessages => Arc::new(AnthropicMessages),
        model::Dialect::Gemini => Arc::new(Gemini),
        model::Dialect::Ollama => Arc::new(Ollama),
        model::Dialect::OpenaiCompletions => Arc::new(OpenaiCompletions),
        model::Dialect::Vllm => Arc::new(ScoringChat::VLLM),
        model::Dialect::LlamaCpp => Arc::new(ScoringChat::LLAMA_CPP),
        model::Dialect::InProcess | model::Dialect::Scripted => return None,
    })
}

impl Http {
    /// A backend over HTTP for a model of a wire dialect. `read_variable` looks up an environment variable.
    ///
    /// # Errors
    /// The key or the address is missing or cannot be one.
    pub fn new(
        model: &Model,
        connections: &mut Connections,
        read_variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BackendError> {
        let read = |variable: &String, what| {
            let value = read_variable(variable)
                .unwrap_or_default()
                .trim()
                .to_owned();
            if value.is_empty() {
                return Err(BackendError::NotSet {
                    model: model.name.to_string(),
                    what,
                    variable: variable.clone(),
                });
            }
            Ok(value)
        };
        let key = match &model.provider.api_key_env {
            None => None,
            Some(variable) => {
                let value = read(variable, "a key")?;
                if !value.chars().all(|c| c.is_ascii_graphic()) {
                    return Err(BackendError::BadKey(variable.clone()));
                }
                Some(SecretString::from(value))
            }
        };
        let base_url = match (&model.provider.base_url, &model.provider.base_url_env) {
            (Some(address), _) => address.clone(),
            (None, Some(variable)) => {
                let value = read(variable, "an address")?;
                let plain = url::Url::parse(&value).is_ok_and(|url| {
                    matches!(url.scheme(), "http" | "https")
                        && url.username().is_empty()
                        && url.password().is_none()
                        && url.query().is_none()
                });
                if !plain {
                    return Err(BackendError::BadAddress(variable.clone()));
                }
                value.trim_end_matches('/').to_owned()
            }
            (None, None) => return Err(BackendError::NoAddress(model.name.to_string())),
        };
        let dialect = dialect_of(model.provider.dialect)
            .ok_or_else(|| BackendError::NoAddress(model.name.to_string()))?;
        let clocks = model.clocks();
        Ok(Self {
            client: Client::new(connections, key, dialect.as_ref(), clocks)?,
            dialect,
            base_url,
        })
    }
}
