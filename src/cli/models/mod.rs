//! `wheel models`: list the entries, try them, fetch weights.

mod check;

use clap::{Args as ClapArgs, Subcommand};

use super::workspace::ModelArgs;
#[cfg(feature = "engine")]
use super::workspace::unknown;
use super::{CliError, Exit, output};
#[cfg(feature = "engine")]
use crate::model::Dialect;
use crate::model::{DEFAULT_MODEL, Model, Registry};
use crate::publish::plain_table;

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  wheel models\n  wheel models check gpt-5.4-nano\n  wheel models pull smollm2-135m"
)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    models: ModelArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the models (also without a word)
    List {
        #[command(flatten)]
        models: ModelArgs,
    },
    /// Make one cheap call to each model: reachable, key accepted, limits, refused parameters
    #[command(
        after_help = "Examples:\n  wheel models check                      every entry whose key is set\n  wheel models check ollama/qwen3:8b\n\nExit code 3 if a model cannot be asked."
    )]
    Check(check::Args),
    /// Fetch the weights of a model that runs in this process
    #[cfg(feature = "engine")]
    Pull {
        /// Model or weights
        name: String,
        #[command(flatten)]
        models: ModelArgs,
        /// Only look into the cache
        #[arg(long, env = "WHEEL_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
        offline: bool,
    },
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.action {
        None => list(&args.models.load()?),
        Some(Action::List { models }) => list(&models.load()?),
        Some(Action::Check(args)) => check::run(args),
        #[cfg(feature = "engine")]
        Some(Action::Pull {
            name,
            models,
            offline,
        }) => pull(name, &models.load()?, *offline),
    }
}

fn list(registry: &Registry) -> Result<Exit, CliError> {
    let rows: Vec<Vec<String>> = registry
        .models
        .iter()
        .map(|model| {
            vec![
                model.name.to_string(),
                model.label.clone(),
                model.lab.clone().unwrap_or_else(|| "?".to_owned()),
                match model.open_weights {
                    Some(true) => "open",
                    Some(false) => "closed",
                    None => "?",
                }
                .to_owned(),
                format!("{}/{}", model.provider.name, model.model_id),
                key_state(model),
                model.price.as_ref().map_or_else(
                    || "?".to_owned(),
                    |price| format!("{} / {} ({})", price.input.0, price.output.0, price.as_of),
                ),
            ]
        })
        .collect();
    output::result(&plain_table(
        &[
            "model",
            "label",
            "lab",
            "weights",
            "asked as",
            "key",
            "$ per M tokens, in / out",
        ],
        &rows,
    ))?;
    output::note(&format!(
        "without --model, `wheel run` asks {DEFAULT_MODEL}; provider/model works without an entry"
    ));
    Ok(Exit::Done)
}

fn key_state(model: &Model) -> String {
    match &model.provider.api_key_env {
        None if model.provider.dialect.is_wire() => "no key".to_owned(),
        None => "in this process".to_owned(),
        Some(variable) if std::env::var(variable).is_ok_and(|key| !key.trim().is_empty()) => {
            format!("{variable} is set")
        }
        Some(variable) => format!("{variable} is not set"),
    }
}

#[cfg(feature = "engine")]
fn pull(name: &str, registry: &Registry, offline: bool) -> Result<Exit, CliError> {
    let weights = match registry.model(name) {
        Some(model) if model.provider.dialect == Dialect::InProcess => model.model_id.to_string(),
        Some(model) => {
            return Err(CliError::Usage(format!(
                "model `{name}` is served by {}: there is nothing to fetch",
                model.provider.name
            )));
        }
        None => name.to_owned(),
    };
    if registry.weights(&weights).is_none() {
        let known: Vec<&str> = registry
            .weights
            .iter()
            .map(|weights| weights.name.as_str())
            .collect();
        return Err(unknown("weights", name, &known));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    let path = runtime.block_on(weights_path(&weights, registry, offline, false))?;
    output::result(&path.display().to_string())?;
    Ok(Exit::Done)
}

/// The file of a model id: a path, or weights by name, fetched if they are not in the cache.
#[cfg(feature = "engine")]
pub(super) async fn weights_path(
    model_id: &str,
    registry: &Registry,
    offline: bool,
    quiet: bool,
) -> Result<std::path::PathBuf, CliError> {
    use crate::provider::local::fetch::{Fetching, client};
    let Some(weights) = registry.weights(model_id) else {
        let path = std::path::PathBuf::from(model_id);
        if path.exists() {
            return Ok(path);
        }
        let known: Vec<&str> = registry
            .weights
            .iter()
            .map(|weights| weights.name.as_str())
            .collect();
        return Err(unknown("file and no weights", model_id, &known));
    };
    let say = |line: &str| {
        if !quiet {
            output::note(line);
        }
    };
    let http = client().map_err(CliError::failed)?;
    Fetching::from_environment(offline, quiet)
        .get(weights, &http, &say)
        .await
        .map_err(CliError::failed)
}
