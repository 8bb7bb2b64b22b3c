//! Where a model's calls go: over HTTP in a dialect, or to a respondent in this process.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::client::Client;
use crate::model::{self, LimitField, Model};
use crate::provider::{Dialect, OpenaiChat, Respondent};

/// Where the calls of one model go.
#[derive(Clone)]
pub enum Backend {
    /// Over HTTP.
    Http {
        /// How the server is spoken to.
        dialect: Arc<dyn Dialect>,
        /// The connection, with the key.
        client: Client,
        /// Address without the path.
        base_url: String,
        /// Name of the token limit.
        limit_field: LimitField,
    },
    /// In this process.
    InProcess(Arc<dyn Respondent>),
}

/// A model that cannot be asked; found before any call.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The key variable is not set.
    #[error("model `{model}` needs a key: set the environment variable {variable}")]
    NoKey {
        /// Which model.
        model: String,
        /// Which variable.
        variable: String,
    },
    /// A value that cannot be a key.
    #[error("the value of {0} holds blanks or other characters that no key has")]
    BadKey(String),
    /// No address.
    #[error("model `{0}` has no base_url")]
    NoAddress(String),
}

impl Backend {
    /// A backend over HTTP for a model of a wire dialect. `read_variable` looks up an environment variable.
    ///
    /// # Errors
    /// The key variable is not set, or there is no address.
    pub fn http(
        model: &Model,
        http: &reqwest::Client,
        timeout: Duration,
        read_variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BackendError> {
        let key = match &model.provider.api_key_env {
            None => None,
            Some(variable) => {
                let value = read_variable(variable)
                    .unwrap_or_default()
                    .trim()
                    .to_owned();
                if value.is_empty() {
                    return Err(BackendError::NoKey {
                        model: model.name.to_string(),
                        variable: variable.clone(),
                    });
                }
                if !value.chars().all(|c| c.is_ascii_graphic()) {
                    return Err(BackendError::BadKey(variable.clone()));
                }
                Some(SecretString::from(value))
            }
        };
        let base_url = model
            .provider
            .base_url
            .clone()
            .ok_or_else(|| BackendError::NoAddress(model.name.to_string()))?;
        let dialect: Arc<dyn Dialect> = match model.provider.dialect {
            model::Dialect::OpenaiChat => Arc::new(OpenaiChat),
            model::Dialect::InProcess | model::Dialect::Scripted => {
                return Err(BackendError::NoAddress(model.name.to_string()));
            }
        };
        Ok(Self::Http {
            dialect,
            client: Client::new(http.clone(), key, timeout),
            base_url,
            limit_field: model.provider.limit_field,
        })
    }
}
