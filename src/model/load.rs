use strum::VariantNames;

use super::registry::{
    Dialect, Kind, LimitField, Limits, Model, Price, Provider, PythonPart, Registry, Weights,
};
use super::secret::{has_key_prefix, looks_like_key};
use crate::domain::{Sampling, UsdPerMTok};
use crate::yaml::{Document, Faults, Fields, Node, Value};

/// A day, in seconds: a longer limit for one call is a slip.
pub const LONGEST_TIMEOUT: f64 = 86_400.0;

/// Reads model files, the shipped one first. Later entries replace earlier ones of the same name.
///
/// # Errors
/// Every fault of every file. A file that seems to hold a key is refused without showing it.
pub fn load(files: &[(String, String)]) -> Result<Registry, Faults> {
    let mut faults = Faults::default();
    let mut registry = Registry::default();
    let mut documents = Vec::new();
    for (name, text) in files {
        match Document::parse(name.clone(), text) {
            Ok(document) => {
                refuse_keys(&document, &document.root, None, &mut faults);
                documents.push(document);
            }
            // A text that is not YAML is refused without its line, which may hold a key.
            Err(mut more) => {
                for fault in &mut more.0 {
                    fault.source_line = None;
                }
                faults.extend(more);
            }
        }
    }
    if !faults.any_error() {
        // The providers of all files come first, so that a changed provider reaches every model.
        for document in &documents {
            read_file(document, &mut registry, Part::Providers, &mut faults);
        }
        for document in &documents {
            read_file(document, &mut registry, Part::Models, &mut faults);
        }
    }
    // A fault shows its line, and a line of this file may hold a key whose form nobody knows.
    for fault in &mut faults.0 {
        let field = fault.field.as_deref().unwrap_or_default().to_lowercase();
        if ["key", "secret", "token", "auth", "password"]
            .iter()
            .any(|word| field.contains(word))
            && !matches!(field.as_str(), "max_output_tokens" | "tokens_per_minute")
        {
            fault.source_line = None;
        }
    }
    faults.sort();
    if faults.any_error() {
        Err(faults)
    } else {
        Ok(registry)
    }
}

fn refuse_keys(document: &Document, node: &Node, field: Option<&str>, faults: &mut Faults) {
    match &node.value {
        Value::Text { text, .. } if is_secret(text, field) => {
            let mut fault = document.fault(
                node.at,
                field,
                "a key seems to be pasted here",
                "keep the key in an environment variable and name it: api_key_env: OPENAI_API_KEY",
            );
            fault.source_line = None;
            faults.0.push(fault);
        }
        Value::List(items) => {
            for item in items {
                refuse_keys(document, item, field, faults);
            }
        }
        Value::Map(entries) => {
            for (name, _, value) in entries {
                refuse_keys(document, value, Some(name), faults);
            }
        }
        Value::Text { .. } | Value::Null => {}
    }
}

/// Names of models and files may be long and mixed; a key in them is known by its prefix only.
fn is_secret(text: &str, field: Option<&str>) -> bool {
    let is_name = matches!(
        field,
        Some("model" | "name" | "label" | "file" | "hub_repo")
    );
    let looks = if is_name {
        has_key_prefix(text)
    } else {
        looks_like_key(text)
    };
    looks || has_password(text)
}

fn has_password(text: &str) -> bool {
    text.starts_with("http")
        && url::Url::parse(text).is_ok_and(|url| {
            url.password().is_some() || !url.username().is_empty() || url.query().is_some()
        })
}

/// What a pass over a file reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Providers,
    Models,
}

fn read_file(document: &Document, registry: &mut Registry, part: Part, faults: &mut Faults) {
    let Some(mut root) = Fields::open(document, &document.root, "the file", faults) else {
        return;
    };
    let providers = root.list("providers");
    let weights = root.list("weights");
    let models = root.list("models");
    if part == Part::Models {
        root.close();
        read_models(document, models, registry, faults);
        return;
    }
    for node in providers {
        if let Some(provider) =
            Fields::open(document, node, "a provider", faults).and_then(read_provider)
        {
            replace(&mut registry.providers, provider, |a, b| a.name == b.name);
        }
    }
    for node in weights {
        if let Some(weights) =
            Fields::open(document, node, "an entry of weights", faults).and_then(read_weights)
        {
            replace(&mut registry.weights, weights, |a, b| a.name == b.name);
        }
    }
}

fn read_models(document: &Document, models: &[Node], registry: &mut Registry, faults: &mut Faults) {
    let mut names: Vec<String> = Vec::new();
    for node in models {
        let Some(fields) = Fields::open(document, node, "a model", faults) else {
            continue;
        };
        if let Some(model) = read_model(fields, &registry.providers, &mut names) {
            replace(&mut registry.models, model, |a, b| a.name == b.name);
        }
    }
}

fn replace<T>(list: &mut Vec<T>, entry: T, same: impl Fn(&T, &T) -> bool) {
    match list.iter_mut().find(|known| same(known, &entry)) {
        Some(known) => *known = entry,
        None => list.push(entry),
    }
}

fn read_provider(mut fields: Fields<'_, '_>) -> Option<Provider> {
    let name = fields.required("name");
    if let Some(name) = &name {
        fields.call(format!("provider `{}`", name.text));
    }
    if !fields.has("dialect") {
        fields.required("dialect");
    }
    let dialect = fields.choice("dialect", Dialect::VARIANTS);
    let base_url = read_url(&mut fields);
    let base_url_env = read_variable(&mut fields, "base_url_env");
    let api_key_env = read_variable(&mut fields, "api_key_env");
    let limit_field = fields
        .choice("limit_field", LimitField::VARIANTS)
        .unwrap_or_default();
    let limits = read_limits(&mut fields);
    let tools = fields.flag("tools").unwrap_or(false);
    fields.close();
    Some(Provider {
        name: name?.text.into(),
        dialect: dialect?,
        base_url,
        base_url_env,
        api_key_env,
        limit_field,
        limits,
        tools,
    })
}

fn read_weights(mut fields: Fields<'_, '_>) -> Option<Weights> {
    let name = fields.required("name");
    let about = fields.scalar("about");
    let licence = fields.required("licence");
    let file = fields.required("file");
    let bytes = fields.number("bytes");
    let sha256 = fields.required("sha256");
    let hub_repo = fields.scalar("hub_repo").map(|scalar| scalar.text);
    let nodes = fields.list("python");
    let python = nodes
        .iter()
        .filter_map(|node| {
            let mut part = fields.entry(node, "a part in a Python package")?;
            let (package, member) = (part.required("package"), part.required("member"));
            part.close();
            Some(PythonPart {
                package: package?.text,
                member: member?.text,
            })
        })
        .collect();
    fields.close();
    let name = name?.text;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a file size below 2^53"
    )]
    Some(Weights {
        about: about.map_or_else(|| name.clone(), |about| about.text),
        name,
        licence: licence?.text,
        file: file?.text,
        bytes: bytes?.0 as u64,
        sha256: sha256?.text.to_lowercase(),
        hub_repo,
        python,
    })
}

fn read_model(
    mut fields: Fields<'_, '_>,
    providers: &[Provider],
    names: &mut Vec<String>,
) -> Option<Model> {
    let name = fields.required("name");
    if let Some(name) = &name {
        fields.call(format!("model `{}`", name.text));
        if names.contains(&name.text) {
            fields.fault(
                "name",
                name.at,
                "the name is given twice in this file",
                "replies are stored by name: give each entry its own",
            );
        }
        names.push(name.text.clone());
    }
    let label = fields.scalar("label");
    let provider = fields.required("provider").and_then(|scalar| {
        let found = providers.iter().find(|known| *known.name == *scalar.text);
        if found.is_none() {
            let known: Vec<&str> = providers.iter().map(|known| &*known.name).collect();
            fields.fault(
                "provider",
                scalar.at,
                format!("there is no provider `{}`", scalar.text),
                format!("known: {}; or add one under providers:", known.join(", ")),
            );
        }
        found.cloned()
    });
    let model_id = fields.required("model");
    let base_url = read_url(&mut fields);
    let api_key_env = read_variable(&mut fields, "api_key_env");
    let lab = fields.scalar("lab").map(|scalar| scalar.text);
    let open_weights = fields.flag("open_weights");
    let price = fields.nested("price", read_price).flatten();
    let limits = read_limits(&mut fields);
    let sampling = read_sampling(&mut fields);
    let prefill = fields.flag("prefill").unwrap_or(false);
    let tools = fields.flag("tools");
    let at = fields.at();
    if let Some(provider) = &provider
        && provider.dialect.is_wire()
        && provider.base_url.is_none()
        && provider.base_url_env.is_none()
        && base_url.is_none()
    {
        fields.fault(
            "base_url",
            at,
            format!("provider `{}` has no address of its own", provider.name),
            "add a line such as base_url: http://localhost:8000/v1",
        );
    }
    fields.close();
    let mut provider = provider?;
    provider.base_url = base_url.or(provider.base_url);
    provider.api_key_env = api_key_env.or(provider.api_key_env);
    let name = name?.text;
    Some(Model {
        label: label.map_or_else(|| name.clone(), |label| label.text),
        name: name.into(),
        limits: limits.or(provider.limits),
        tools: tools.unwrap_or(provider.tools),
        provider,
        model_id: model_id?.text.into(),
        lab,
        open_weights,
        price,
        sampling,
        prefill,
    })
}

fn read_url(fields: &mut Fields<'_, '_>) -> Option<String> {
    let scalar = fields.scalar("base_url")?;
    match url::Url::parse(&scalar.text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            Some(scalar.text.trim_end_matches('/').to_owned())
        }
        _ => {
            fields.fault(
                "base_url",
                scalar.at,
                "is not an http address",
                "such as https://api.example.com/v1, without the path of the call",
            );
            None
        }
    }
}

/// The name of an environment variable; never its value.
fn read_variable(fields: &mut Fields<'_, '_>, field: &'static str) -> Option<String> {
    let scalar = fields.scalar(field)?;
    let is_name = scalar
        .text
        .chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if !is_name || scalar.text.is_empty() {
        fields.fault(
            field,
            scalar.at,
            "must be the name of an environment variable, in capitals; a key never stands in this file",
            format!("such as {field}: OPENAI_{}", field.trim_end_matches("_env").to_uppercase()),
        );
        return None;
    }
    Some(scalar.text)
}

fn read_limits(fields: &mut Fields<'_, '_>) -> Limits {
    Limits {
        concurrency: fields.from_one("concurrency"),
        requests_per_minute: fields.from_one("requests_per_minute"),
        tokens_per_minute: fields.from_one("tokens_per_minute"),
        kind: fields.choice("kind", Kind::VARIANTS),
        stream: fields.flag("stream"),
        connect_timeout_s: read_seconds(fields, "connect_timeout_s"),
        first_byte_timeout_s: read_seconds(fields, "first_byte_timeout_s"),
        idle_timeout_s: read_seconds(fields, "idle_timeout_s"),
        timeout_s: read_seconds(fields, "timeout_s"),
    }
}

fn read_seconds(fields: &mut Fields<'_, '_>, field: &'static str) -> Option<f64> {
    let (value, at) = fields.number(field)?;
    let fits = value > 0.0 && value <= LONGEST_TIMEOUT;
    if !fits {
        fields.fault(
            field,
            at,
            "must be above 0 and at most 86400 seconds",
            "such as 120",
        );
    }
    fits.then_some(value)
}

fn read_sampling(fields: &mut Fields<'_, '_>) -> Sampling {
    let temperature = fields.number("temperature").and_then(|(value, at)| {
        if value < 0.0 {
            fields.fault("temperature", at, "must be 0 or above", "such as 0 or 1");
        }
        (value >= 0.0).then_some(value)
    });
    let top_p = fields.number("top_p").and_then(|(value, at)| {
        let fits = value > 0.0 && value <= 1.0;
        if !fits {
            fields.fault("top_p", at, "must be above 0 and at most 1", "such as 0.95");
        }
        fits.then_some(value)
    });
    Sampling {
        temperature,
        top_p,
        seed: fields.count("seed"),
        max_output_tokens: fields.from_one("max_output_tokens"),
        reasoning_effort: fields.scalar("reasoning_effort").map(|scalar| scalar.text),
        extra_body: read_extra(fields),
    }
}

/// Fields for the request body that only the server knows.
fn read_extra(fields: &mut Fields<'_, '_>) -> Option<serde_json::Value> {
    let node = fields.node("extra_body")?;
    if !matches!(node.value, Value::Map(_)) {
        fields.fault(
            "extra_body",
            node.at,
            "must be a mapping",
            "such as extra_body: {top_k: 40}",
        );
        return None;
    }
    Some(json_of(node))
}

/// A value as JSON: numbers, `true` and `false` as such, anything else as text.
fn json_of(node: &Node) -> serde_json::Value {
    use serde_json::Value as Json;
    match &node.value {
        Value::Null => Json::Null,
        Value::Text { text, .. } => match serde_json::from_str::<Json>(text) {
            Ok(value @ (Json::Bool(_) | Json::Number(_))) => value,
            _ => Json::String(text.clone()),
        },
        Value::List(items) => Json::Array(items.iter().map(json_of).collect()),
        Value::Map(entries) => entries
            .iter()
            .map(|(name, _, value)| (name.clone(), json_of(value)))
            .collect(),
    }
}

fn read_price(fields: &mut Fields<'_, '_>) -> Option<Price> {
    let mut price = |field, required: bool| {
        let scalar = if required {
            fields.required(field)
        } else {
            fields.scalar(field)
        }?;
        let read: Option<rust_decimal::Decimal> = scalar.text.parse().ok();
        if let Some(value) = read.filter(|value| !value.is_sign_negative()) {
            Some(UsdPerMTok(value))
        } else {
            fields.fault(
                field,
                scalar.at,
                "is not a price",
                "US dollars per million tokens, such as 0.20",
            );
            None
        }
    };
    let input = price("input", true);
    let output = price("output", true);
    let cached_input = price("cached_input", false);
    let source = fields.required("source");
    let as_of = fields.required("as_of");
    Some(Price {
        input: input?,
        output: output?,
        cached_input,
        source: source?.text,
        as_of: as_of?.text,
    })
}
