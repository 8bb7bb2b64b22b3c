use std::sync::Arc;
use std::time::Duration;

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
    /// `OpenAI` Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini generateContent.
    Gemini,
    /// Ollama's own chat endpoint.
    Ollama,
    /// Bare text that the model goes on from, with the probabilities of its tokens.
    OpenaiCompletions,
    /// vLLM: chat completions, and probabilities of the tokens of a prompt.
    Vllm,
    /// The server of llama.cpp: chat completions, and probabilities of forced tokens.
    LlamaCpp,
    /// Weights run in this process.
    InProcess,
    /// A respondent with a known pull, for trying the whole way of a sample at no cost.
    Scripted,
}

impl Dialect {
    /// Whether it gives the probabilities of given answers.
    #[must_use]
    pub fn scores(self) -> bool {
        matches!(
            self,
            Self::InProcess
                | Self::Scripted
                | Self::OpenaiCompletions
                | Self::Vllm
                | Self::LlamaCpp
        )
    }

    /// Whether it is spoken over HTTP.
    #[must_use]
    pub fn is_wire(self) -> bool {
        !matches!(self, Self::InProcess | Self::Scripted)
    }
}

/// How long a reply of a model may take.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// It answers at once.
    Instant,
    /// It thinks before it answers.
    Reasoning,
    /// It runs on a machine of the user's own, on a processor perhaps.
    Local,
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

impl LimitField {
    /// The other name.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// A place that serves models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Name before the slash in `provider/model`.
    pub name: Arc<str>,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Address without the path of the call; a model may give its own.
    pub base_url: Option<String>,
    /// Environment variable that holds the address, where it changes from day to day.
    pub base_url_env: Option<String>,
    /// Environment variable that holds the key; `None` if no key is needed.
    pub api_key_env: Option<String>,
    /// Name of the token limit.
    pub limit_field: LimitField,
    /// Limits for its models that say nothing else.
    pub limits: Limits,
    /// Whether its models take calls of tools as messages of their own.
    pub tools: bool,
}

/// How fast and how long a model may be asked. `None` leaves it to the program's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Most calls in flight at once, from 1.
    pub concurrency: Option<u32>,
    /// Requests started in any minute, from 1.
    pub requests_per_minute: Option<u32>,
    /// Tokens asked for in any minute, from 1.
    pub tokens_per_minute: Option<u32>,
    /// How long its replies take; sets the clocks that are not given.
    pub kind: Option<Kind>,
    /// Whether replies are asked for piece by piece.
    pub stream: Option<bool>,
    /// Longest time to a connection in seconds, above 0.
    pub connect_timeout_s: Option<f64>,
    /// Longest time to the first byte of a reply in seconds, above 0.
    pub first_byte_timeout_s: Option<f64>,
    /// Longest silence within a reply in seconds, above 0.
    pub idle_timeout_s: Option<f64>,
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
            tokens_per_minute: self.tokens_per_minute.or(fallback.tokens_per_minute),
            kind: self.kind.or(fallback.kind),
            stream: self.stream.or(fallback.stream),
            connect_timeout_s: self.connect_timeout_s.or(fallback.connect_timeout_s),
            first_byte_timeout_s: self.first_byte_timeout_s.or(fallback.first_byte_timeout_s),
            idle_timeout_s: self.idle_timeout_s.or(fallback.idle_timeout_s),
            timeout_s: self.timeout_s.or(fallback.timeout_s),
        }
    }
}

/// The four clocks of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// To a connection.
    pub connect: Duration,
    /// From sending to the first byte of the reply.
    pub first_byte: Duration,
    /// Between two bytes of the reply.
    pub idle: Duration,
    /// From sending to the last byte.
    pub total: Duration,
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
    /// Hub repository that holds the file, if one does.
    pub hub_repo: Option<String>,
    /// Python packages that carry the file, or parts of it in order.
    pub python: Vec<PythonPart>,
}

/// A file within a Python package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonPart {
    /// Package with its version.
    pub package: String,
    /// Path inside it.
    pub member: String,
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
    pub model_id: Arc<str>,
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
    /// Whether it takes calls of tools as messages of their own.
    pub tools: bool,
}

impl Model {
    /// How long its replies take: as said, else by its address and effort.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let local = self.provider.base_url.as_ref().is_some_and(|address| {
            let host = url::Url::parse(address).ok();
            let host = host.as_ref().and_then(url::Url::host_str);
            matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
        });
        let thinks = self
            .sampling
            .reasoning_effort
            .as_deref()
            .is_some_and(|effort| !matches!(effort, "none" | "minimal" | "0"));
        self.limits.kind.unwrap_or(if local {
            Kind::Local
        } else if thinks {
            Kind::Reasoning
        } else {
            Kind::Instant
        })
    }

    /// The clocks of its calls. What is not given follows from the kind of model; a call that is not streamed shows
    /// nothing before its end, so that its first byte has the time of the whole.
    #[must_use]
    pub fn clocks(&self) -> Clocks {
        let (first_byte, idle, total) = match self.kind() {
            Kind::Instant => (60.0, 60.0, 120.0),
            Kind::Reasoning => (300.0, 180.0, 600.0),
            Kind::Local => (600.0, 180.0, 1800.0),
        };
        let limits = &self.limits;
        let total = limits.timeout_s.unwrap_or(total);
        let streamed = limits.stream.unwrap_or(false);
        let first_byte =
            limits
                .first_byte_timeout_s
                .unwrap_or(if streamed { first_byte } else { total });
        Clocks {
            connect: Duration::from_secs_f64(limits.connect_timeout_s.unwrap_or(10.0)),
            first_byte: Duration::from_secs_f64(first_byte.min(total)),
            idle: Duration::from_secs_f64(limits.idle_timeout_s.unwrap_or(idle).min(total)),
            total: Duration::from_secs_f64(total),
        }
    }

    /// Whether its calls cost nothing because they stay in this process.
    #[must_use]
    pub fn is_free(&self) -> bool {
        !self.provider.dialect.is_wire() || self.price.as_ref().is_some_and(Price::is_zero)
    }
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
        self.providers
            .iter()
            .find(|provider| *provider.name == *name)
    }

    /// The weights of this name.
    #[must_use]
    pub fn weights(&self, name: &str) -> Option<&Weights> {
        self.weights.iter().find(|weights| weights.name == name)
    }
}
