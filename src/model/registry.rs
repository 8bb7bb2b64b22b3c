use serde::Serialize;

use crate::domain::{ModelName, Sampling, Usd, UsdPerMTok};

/// The shipped `models.yaml`.
#[must_use]
pub fn built_in() -> &'static str {
    include_str!("../../models.yaml")
}

/// How a server wants to be spoken to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Dialect {
    /// `OpenAI` chat completions and every server that copies them.
    OpenaiChat,
    /// Weights run in this process.
    InProcess,
    /// A respondent with a known pull, for trying the whole way of a sample at no cost.
    Scripted,
}

/// Which request field limits the generated tokens.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum LimitField {
    /// The older name, the only one that some servers heed.
    #[default]
    MaxTokens,
    /// The newer name, which counts reasoning; `OpenAI` refuses the older one on its reasoning models.
    MaxCompletionTokens,
}

/// A place that serves models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Name before the slash in `provider/model`.
    pub name: String,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Address without the path of the call; a model may give its own.
    pub base_url: Option<String>,
    /// Environment variable that holds the key; `None` if no key is needed.
    pub api_key_env: Option<String>,
    /// Name of the token limit.
    pub limit_field: LimitField,
    /// Limits for its models that say nothing else.
    pub limits: Limits,
}

/// How fast and how long a model may be asked. `None` leaves it to the program's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Calls in flight at once, from 1.
    pub concurrency: Option<u32>,
    /// Requests started in any minute, from 1.
    pub requests_per_minute: Option<u32>,
    /// Longest time for one call in seconds, above 0.
    pub timeout_s: Option<f64>,
}

impl Limits {
    /// These limits, with those of `fallback` where nothing is said.
    #[must_use]
    pub fn or(self, fallback: Limits) -> Limits {
        Limits {
            concurrency: self.concurrency.or(fallback.concurrency),
            requests_per_minute: self.requests_per_minute.or(fallback.requests_per_minute),
            timeout_s: self.timeout_s.or(fallback.timeout_s),
        }
    }
}

/// What tokens cost, and who says so.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// Prompt tokens.
    pub input: UsdPerMTok,
    /// Generated tokens, reasoning included.
    pub output: UsdPerMTok,
    /// Prompt tokens that came from a cache; as `input` if not said.
    pub cached_input: Option<UsdPerMTok>,
    /// Price list.
    pub source: String,
    /// Its date.
    pub as_of: String,
}

impl Price {
    /// Cost of one call; `None` if a count that matters is unknown.
    #[must_use]
    pub fn cost(&self, tokens: &crate::domain::TokenCounts) -> Option<Usd> {
        use crate::domain::Tokens;
        if self.is_zero() {
            return Some(Usd::default());
        }
        let input = tokens.input?;
        let cached = tokens.cached.unwrap_or_default().min(input);
        let fresh = Tokens(input.0 - cached.0);
        Some(
            fresh * self.input
                + cached * self.cached_input.unwrap_or(self.input)
                + tokens.output? * self.output,
        )
    }

    /// Whether every token is free.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        let free = UsdPerMTok::default();
        self.input == free && self.output == free && self.cached_input.unwrap_or(free) == free
    }
}

/// Weights that can be fetched once and run in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// Name for `wheel models pull`.
    pub name: String,
    /// What they are.
    pub about: String,
    /// Licence of the weights.
    pub licence: String,
    /// File name in the hub repository.
    pub file: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal digits.
    pub sha256: String,
    /// Hub repository that holds the file.
    pub hub_repo: String,
    /// Python package, with its version, that carries the file.
    pub python_package: Option<String>,
    /// Path of the file inside that package.
    pub python_member: Option<String>,
}

/// One model as it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Name on the command line and in the store.
    pub name: ModelName,
    /// Name in lists.
    pub label: String,
    /// Where it is served, with the model's own address and key variable filled in.
    pub provider: Provider,
    /// Model id as sent; a path for weights in a file.
    pub model_id: String,
    /// Who made it.
    pub lab: Option<String>,
    /// Whether its weights are public.
    pub open_weights: Option<bool>,
    /// What tokens cost, where known.
    pub price: Option<Price>,
    /// Pace and patience.
    pub limits: Limits,
    /// Sent with each call.
    pub sampling: Sampling,
    /// Whether the answer label is put at the start of its reply.
    pub prefill: bool,
}

/// All providers, weights and models in use.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Providers by name.
    pub providers: Vec<Provider>,
    /// Weights by name.
    pub weights: Vec<Weights>,
    /// Models by name.
    pub models: Vec<Model>,
}

impl Registry {
    /// The entry of this name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name.as_str() == name)
    }

    /// The provider of this name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// The weights of this name.
    #[must_use]
    pub fn weights(&self, name: &str) -> Option<&Weights> {
        self.weights.iter().find(|weights| weights.name == name)
    }
}
