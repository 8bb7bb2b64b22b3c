//! `wheel models check`: one cheap call to each model.

use clap::Args as ClapArgs;
use serde_json::json;

use super::super::run::seconds;
use super::super::workspace::ModelArgs;
use super::super::{CliError, Exit, output};
use crate::ask::{BackendError, Connections, Http, Probe, probe};
use crate::domain::Tokens;
use crate::model::{Model, resolve};
use crate::provider::Allowance;
use crate::publish::plain_table;

#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    /// Models, as after `wheel run --model` [default: every entry whose key is set]
    #[arg(value_name = "MODEL")]
    names: Vec<String>,
    #[command(flatten)]
    models: ModelArgs,
    /// Longest time for the call, in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How a model stands.
enum Standing {
    InProcess,
    NotReady(BackendError),
    Tried(Box<Probe>),
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let registry = args.models.load()?;
    let models: Vec<Model> = if args.names.is_empty() {
        registry.models.clone()
    } else {
        args.names
            .iter()
            .map(|name| resolve(name, &registry).map_err(CliError::usage))
            .collect::<Result<_, _>>()?
    };
    let models = models.into_iter().map(|mut model| {
        model.limits.timeout_s = Some(args.timeout);
        model
    });
    let mut connections = Connections::default();
    let ready: Vec<(Model, Result<Option<Http>, BackendError>)> = models
        .map(|model| {
            let http = model
                .provider
                .dialect
                .is_wire()
                .then(|| Http::new(&model, &mut connections, |name| std::env::var(name).ok()))
                .transpose();
            (model, http)
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    let tried = runtime.block_on(futures::future::join_all(ready.into_iter().map(
        |(model, http)| async {
            let standing = match http {
                Ok(Some(http)) => Standing::Tried(Box::new(probe(&model, &http).await)),
                Ok(None) => Standing::InProcess,
                Err(error) => Standing::NotReady(error),
            };
            (model, standing)
        },
    )));
    // Entries whose key nobody set are no failure unless they were named.
    let named = !args.names.is_empty();
    let failed = tried.iter().any(|(_, standing)| match standing {
        Standing::InProcess => false,
        Standing::NotReady(_) => named,
        Standing::Tried(probe) => probe.answer.is_err(),
    });
    if args.json {
        let rows: Vec<_> = tried
            .iter()
            .map(|(model, standing)| as_json(model, standing))
            .collect();
        output::result(&serde_json::to_string_pretty(&rows).map_err(CliError::failed)?)?;
    } else {
        let rows: Vec<Vec<String>> = tried
            .iter()
            .map(|(model, standing)| row(model, standing))
            .collect();
        output::result(&plain_table(
            &[
                "model",
                "reachable",
                "key",
                "answered by",
                "spent on \"ok\"",
                "limits a minute",
                "dropped",
                "remark",
            ],
            &rows,
        ))?;
    }
    Ok(if failed { Exit::Missing } else { Exit::Done })
}

fn row(model: &Model, standing: &Standing) -> Vec<String> {
    let name = model.name.to_string();
    let probe = match standing {
        Standing::InProcess => {
            let mut row = vec![name];
            row.extend(["in this process", "none needed", "", "", "", "", ""].map(str::to_owned));
            return row;
        }
        Standing::NotReady(error) => {
            let mut row = vec![name];
            row.extend(["not tried", "", "", "", "", ""].map(str::to_owned));
            row.push(error.to_string());
            return row;
        }
        Standing::Tried(probe) => probe,
    };
    let key = match (&model.provider.api_key_env, probe.key_accepted()) {
        (None, Some(true)) => "none needed",
        (_, Some(true)) => "accepted",
        (_, Some(false)) => "refused",
        (_, None) => "?",
    };
    let (returned, spent, remark) = match &probe.answer {
        Ok(reply) => (
            reply
                .returned_model
                .clone()
                .unwrap_or_else(|| "?".to_owned()),
            {
                let tokens = reply.tokens;
                let cost = probe.cost.or(reply.cost_reported);
                format!(
                    "{} in, {} out ({} hidden), {}",
                    count(tokens.input),
                    count(tokens.output),
                    count(tokens.reasoning),
                    cost.map_or_else(|| "$?".to_owned(), |cost| cost.to_string())
                )
            },
            match reply.status {
                crate::domain::Status::Ok => String::new(),
                other => format!("reply: {other}"),
            },
        ),
        Err(error) => (
            String::new(),
            String::new(),
            format!("{}: {}", error.class, error.message),
        ),
    };
    let dropped: Vec<String> = probe.dropped.iter().map(ToString::to_string).collect();
    vec![
        name,
        if probe.reachable() { "yes" } else { "no" }.to_owned(),
        key.to_owned(),
        returned,
        spent,
        limits(&probe.limits),
        dropped.join(", "),
        remark,
    ]
}

fn count(tokens: Option<Tokens>) -> String {
    tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.0.to_string())
}

/// The limits that the headers tell, "?" if they tell none.
fn limits(allowances: &[Allowance]) -> String {
    let mut texts: Vec<String> = allowances
        .iter()
        .filter_map(|allowance| {
            let what = if allowance.tokens {
                "tokens"
            } else {
                "requests"
            };
            match (allowance.per_minute(), allowance.limit) {
                (Some(limit), _) => Some(format!("{limit} {what}")),
                (None, Some(limit)) => Some(format!("{limit} {what} over a longer time")),
                (None, None) => None,
            }
        })
        .collect();
    texts.dedup();
    if texts.is_empty() {
        "?".to_owned()
    } else {
        texts.join(", ")
    }
}

fn as_json(model: &Model, standing: &Standing) -> serde_json::Value {
    match standing {
        Standing::InProcess => json!({"model": model.name, "in_process": true}),
        Standing::NotReady(error) => {
            json!({"model": model.name, "tried": false, "remark": error.to_string()})
        }
        Standing::Tried(probe) => {
            let reply = probe.answer.as_ref().ok();
            let error = probe.answer.as_ref().err();
            let dropped: Vec<String> = probe.dropped.iter().map(ToString::to_string).collect();
            json!({
                "model": model.name,
                "tried": true,
                "reachable": probe.reachable(),
                "key_accepted": probe.key_accepted(),
                "returned_model": reply.and_then(|reply| reply.returned_model.clone()),
                "status": reply.map(|reply| reply.status),
                "tokens": reply.map(|reply| reply.tokens),
                "cost_usd": {"computed": probe.cost, "reported": reply.and_then(|reply| reply.cost_reported)},
                "limits": probe.limits.iter().map(|allowance| json!({
                    "of": if allowance.tokens { "tokens" } else { "requests" },
                    "limit": allowance.limit,
                    "left": allowance.left,
                    "resets_in_s": allowance.resets_in.map(|wait| wait.as_secs_f64()),
                })).collect::<Vec<_>>(),
                "dropped": dropped,
                "error": error.map(|error| json!({"class": error.class, "http_status": error.http_status, "message": error.message})),
            })
        }
    }
}
