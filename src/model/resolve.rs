use super::registry::{Dialect, Model, Registry};
use crate::domain::Sampling;
use crate::yaml::nearest;

/// The model that is asked when nobody names one: in-process, without a key.
pub const DEFAULT_MODEL: &str = "smollm2-135m";

/// A name that leads to no model.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// No entry, no provider, no address.
    #[error("there is no model `{name}`{}; models with an entry: {known}", near.as_ref().map(|near| format!(", did you mean {near}?")).unwrap_or_default())]
    Unknown {
        /// As typed.
        name: String,
        /// The entry most like it.
        near: Option<String>,
        /// All entries.
        known: String,
    },
    /// An address without the model's name after `#`.
    #[error(
        "`{0}` names no model: write the address, `#` and the model, such as http://localhost:8000/v1#name"
    )]
    NoModelInAddress(String),
    /// Credentials in an address.
    #[error(
        "the address holds a user name or a query, where keys hide: keep the key in an environment variable named in models.yaml"
    )]
    SecretInAddress,
    /// A provider that cannot be used without an entry.
    #[error(
        "provider `{0}` has no address of its own: write the address, `#` and the model, or add an entry to models.yaml"
    )]
    NoAddress(String),
}

/// Finds the model for a name as typed after `--model`.
///
/// In this order: an entry; a `.gguf` file, or a folder with a `config.json`; `http://address/v1#model`; `provider/model`.
///
/// # Errors
/// None of these; the message names the nearest entry.
pub fn resolve(name: &str, registry: &Registry) -> Result<Model, ResolveError> {
    if let Some(model) = registry.model(name) {
        return Ok(model.clone());
    }
    let path = std::path::Path::new(name);
    let is_file = path.extension().is_some_and(|ending| ending == "gguf");
    if is_file || path.join("config.json").is_file() {
        return adhoc(name, "local", name, registry, None);
    }
    if name.starts_with("http://") || name.starts_with("https://") {
        let Some((address, model_id)) = name.split_once('#').filter(|(_, id)| !id.is_empty())
        else {
            return Err(ResolveError::NoModelInAddress(name.to_owned()));
        };
        let secret = url::Url::parse(address).is_ok_and(|url| {
            url.password().is_some() || !url.username().is_empty() || url.query().is_some()
        });
        if secret {
            return Err(ResolveError::SecretInAddress);
        }
        let address = address.trim_end_matches('/').to_owned();
        return adhoc(name, "openai_compatible", model_id, registry, Some(address));
    }
    if let Some((provider, model_id)) = name.split_once('/')
        && registry.provider(provider).is_some()
    {
        return adhoc(name, provider, model_id, registry, None);
    }
    let known: Vec<&str> = registry
        .models
        .iter()
        .map(|model| model.name.as_str())
        .collect();
    Err(ResolveError::Unknown {
        name: name.to_owned(),
        near: nearest(name, known.iter().copied()).map(str::to_owned),
        known: known.join(", "),
    })
}

/// A model without an entry: provider defaults, unknown price.
fn adhoc(
    name: &str,
    provider: &str,
    model_id: &str,
    registry: &Registry,
    base_url: Option<String>,
) -> Result<Model, ResolveError> {
    let Some(mut provider) = registry.provider(provider).cloned() else {
        return Err(ResolveError::NoAddress(provider.to_owned()));
    };
    provider.base_url = base_url.or(provider.base_url);
    if provider.dialect.is_wire() && provider.base_url.is_none() && provider.base_url_env.is_none()
    {
        return Err(ResolveError::NoAddress(provider.name.to_string()));
    }
    // Weights in this process decode greedily unless asked otherwise; servers keep their defaults.
    let temperature = (provider.dialect == Dialect::InProcess).then_some(0.0);
    Ok(Model {
        name: name.into(),
        label: name.to_owned(),
        limits: provider.limits,
        tools: provider.tools,
        provider,
        model_id: model_id.into(),
        lab: None,
        open_weights: None,
        price: None,
        sampling: Sampling {
            temperature,
            ..Sampling::default()
        },
        prefill: false,
    })
}
