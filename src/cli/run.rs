//! `wheel run`: ask what is missing.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args as ClapArgs;
use tokio_util::sync::CancellationToken;

use super::workspace::{ModelArgs, QuestionArgs, StoreArgs, TaskArgs, check_tasks, unknown};
use super::{CliError, Exit, output};
use crate::ask::{
    self, Backend, Job, Lane, ModelSummary, Progress, Settings, Stored, Wanted, http_client, plan,
};
use crate::bank::{Bank, Item};
use crate::domain::{Conversation, ErrorClass, Role, Tier, grouped};
use crate::model::{DEFAULT_MODEL, Dialect, LONGEST_TIMEOUT, Model, Registry, resolve};
use crate::provider::{Facts, Respondent, Scripted};
use crate::publish::{cells_table, models_table};
use crate::store::{self, CellFile, Recorder, cell_path};
use crate::task::{Task, Tasks};

/// Output budget where neither the command nor the model entry says anything, in tokens.
const OUTPUT_BUDGET: u32 = 8000;

const EXAMPLES: &str = "\
Examples:
  wheel run --task classic                            the default model, in this process, without a key
  wheel run --model gpt-5.4-nano --model gpt-5.5      all tasks, two models of models.yaml
  wheel run --model http://localhost:8000/v1#qwen3    any OpenAI-compatible server
  wheel run --model ./some.gguf --task ticket         weights in a file
  wheel run --tier fermi --limit 5 --dry-run          what would be asked

A run asks only for what the store does not hold: type the same command again to go on.";

#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Model: an entry of models.yaml, provider/model, <http://address/v1#model> or a .gguf file; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Task; repeat for more [default: all]
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// Only questions of this tier; repeat for more
    #[arg(long, value_name = "T")]
    tier: Vec<String>,
    /// Only this question; repeat for more
    #[arg(long, value_name = "ID")]
    item: Vec<String>,
    /// Ask each prompt this many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    epochs: u32,
    /// Only the first N questions of the selection
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Calls in flight at once, for each model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: Option<u32>,
    /// Requests per minute, for each model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// Temperature to send [default: that of the model entry; none is sent without one]
    #[arg(long, value_name = "X", value_parser = temperature)]
    temperature: Option<f64>,
    /// Most tokens of a reply, reasoning included [default: that of the model entry, else 8000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_output_tokens: Option<u32>,
    /// Longest time for one call, in seconds [default: that of the model entry, else 120]
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,
    /// Show what would be asked and ask nothing
    #[arg(long)]
    dry_run: bool,
    /// No progress bar and no remarks
    #[arg(long, short)]
    quiet: bool,
    /// Never fetch weights
    #[arg(long, env = "WHEEL_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    offline: bool,
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("must be a number from 0".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= LONGEST_TIMEOUT => Ok(value),
        _ => Err("must be a number of seconds above 0, at most 86400".to_owned()),
    }
}

/// What the command asks for, with names resolved.
struct Selection {
    models: Vec<Model>,
    tasks: Vec<Arc<Task>>,
    items: Vec<Arc<Item>>,
    bank: Bank,
    all_tasks: Tasks,
    #[cfg_attr(
        not(feature = "engine"),
        expect(dead_code, reason = "only the engine looks up weights")
    )]
    registry: Registry,
}

/// One model × task with its file and its jobs.
struct CellPlan {
    model: usize,
    path: PathBuf,
    jobs: Vec<Job>,
    answered: usize,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let selection = selection(args)?;
    if args.dry_run {
        dry_run(args, &selection)?;
        return Ok(Exit::Done);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    let (summaries, interrupted) = runtime.block_on(ask_all(args, &selection))?;
    // Work that was dropped by a second interrupt must not hold the program.
    runtime.shutdown_background();
    report(args, &summaries, interrupted);
    let exit = exit_of(&summaries, interrupted);
    match show_scores(args, &selection) {
        // Who reads the scores may stop reading; how the run ended stays the same.
        Ok(()) | Err(CliError::Closed) => Ok(exit),
        Err(error) => Err(error),
    }
}

fn selection(args: &Args) -> Result<Selection, CliError> {
    let bank = args.questions.load()?;
    let all_tasks = args.tasks.load()?;
    let registry = args.models.load()?;
    check_tasks(&args.task, &all_tasks)?;
    let tasks = all_tasks
        .0
        .iter()
        .filter(|task| {
            args.task.is_empty() || args.task.iter().any(|name| name == task.name.as_str())
        })
        .map(|task| Arc::new(task.clone()))
        .collect();
    let mut names = args.model.clone();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if names.is_empty() {
        let preferred = std::env::var("WHEEL_MODEL")
            .ok()
            .filter(|name| !name.is_empty());
        names.push(preferred.unwrap_or_else(|| DEFAULT_MODEL.to_owned()));
    }
    let models = names
        .iter()
        .map(|name| {
            let mut model = resolve(name, &registry).map_err(CliError::usage)?;
            override_settings(args, &mut model);
            Ok(model)
        })
        .collect::<Result<_, CliError>>()?;
    Ok(Selection {
        items: items(args, &bank)?,
        models,
        tasks,
        bank,
        all_tasks,
        registry,
    })
}

fn items(args: &Args, bank: &Bank) -> Result<Vec<Arc<Item>>, CliError> {
    let tiers = args
        .tier
        .iter()
        .map(|name| {
            name.parse::<Tier>()
                .map_err(|_| unknown("tier", name, <Tier as strum::VariantNames>::VARIANTS))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<&str> = bank.items.iter().map(|item| item.id.as_str()).collect();
    if let Some(name) = args.item.iter().find(|name| !ids.contains(&name.as_str())) {
        return Err(unknown("question", name, &ids));
    }
    let items: Vec<Arc<Item>> = bank
        .items
        .iter()
        .filter(|item| tiers.is_empty() || tiers.contains(&item.tier))
        .filter(|item| {
            args.item.is_empty() || args.item.iter().any(|name| name == item.id.as_str())
        })
        .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
        .map(|item| Arc::new(item.clone()))
        .collect();
    if items.is_empty() {
        return Err(CliError::Usage(
            "no question is left by --tier and --item together".to_owned(),
        ));
    }
    Ok(items)
}

fn override_settings(args: &Args, model: &mut Model) {
    let sampling = &mut model.sampling;
    sampling.temperature = args.temperature.or(sampling.temperature);
    sampling.max_output_tokens = args
        .max_output_tokens
        .or(sampling.max_output_tokens)
        .or(Some(OUTPUT_BUDGET));
    model.limits.concurrency = args.concurrency.or(model.limits.concurrency);
    model.limits.requests_per_minute = args.rpm.or(model.limits.requests_per_minute);
    model.limits.timeout_s = args.timeout.or(model.limits.timeout_s);
}

/// Plans every cell against what its file holds.
fn plan_cells(args: &Args, selection: &Selection) -> Result<Vec<CellPlan>, CliError> {
    let mut cells = Vec::new();
    for (place, model) in selection.models.iter().enumerate() {
        for task in &selection.tasks {
            let path = cell_path(&args.store.store, &model.name, &task.name);
            let mut stored = Stored::default();
            if path.is_file() {
                store::read_file(&path, |record| {
                    if record.model == model.name {
                        stored.add(&record);
                    }
                })
                .map_err(CliError::failed)?;
            }
            let wanted = Wanted {
                model,
                task,
                items: &selection.items,
                epochs: args.epochs,
            };
            let (jobs, answered) = plan(&wanted, &stored).map_err(CliError::usage)?;
            cells.push(CellPlan {
                model: place,
                path,
                jobs,
                answered,
            });
        }
    }
    Ok(cells)
}

fn dry_run(args: &Args, selection: &Selection) -> Result<(), CliError> {
    let cells = plan_cells(args, selection)?;
    let mut rows = Vec::new();
    for (cell, task) in cells.iter().zip(selection.tasks.iter().cycle()) {
        let model = &selection.models[cell.model];
        let bytes: usize = cell.jobs.iter().map(|job| job.outline.len_bytes()).sum();
        let limit = model.sampling.max_output_tokens.unwrap_or(OUTPUT_BUDGET);
        let most = f64::from(limit) * count(cell.jobs.len());
        rows.push(vec![
            model.name.to_string(),
            task.name.to_string(),
            cell.answered.to_string(),
            (cell.jobs.len() * task.asks().count()).to_string(),
            format!("about {}", grouped(count(bytes / 4))),
            format!("at most {}", grouped(most)),
        ]);
    }
    let header = [
        "model",
        "task",
        "stored",
        "calls to make",
        "prompt tokens",
        "reply tokens",
    ];
    output::result(&crate::publish::plain_table(&header, &rows))?;
    for task in &selection.tasks {
        let Some(condition) = task.conditions.last() else {
            continue;
        };
        let prefill = selection.models[0].prefill;
        let conversation = task
            .outline(&selection.items[0], *condition, prefill)
            .map_err(CliError::usage)?;
        output::result(&format!(
            "\n{}, {}, {condition}:\n{}",
            task.name,
            selection.items[0].id,
            prompt_text(&conversation)
        ))?;
    }
    Ok(())
}

fn count(n: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let n = n as f64;
    n
}

/// A conversation for the eye: each message under its role.
pub(super) fn prompt_text(conversation: &Conversation) -> String {
    let mut out = String::new();
    for message in &conversation.0 {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        out.push_str(&format!("--- {role}\n{}\n", message.content));
    }
    out
}

async fn ask_all(
    args: &Args,
    selection: &Selection,
) -> Result<(Vec<ModelSummary>, bool), CliError> {
    let http = http_client().map_err(CliError::failed)?;
    let mut backends = Vec::new();
    // Everything that can be checked without a call comes first: keys, then files, then weights.
    for model in &selection.models {
        backends.push(match model.provider.dialect {
            Dialect::OpenaiChat => Some(
                Backend::http(model, &http, timeout(model), |name| {
                    std::env::var(name).ok()
                })
                .map_err(CliError::usage)?,
            ),
            Dialect::InProcess | Dialect::Scripted => None,
        });
    }
    if (args.rpm.is_some() || args.timeout.is_some()) && backends.iter().any(Option::is_none) {
        output::note("warning: --rpm and --timeout do nothing for models that run in this process");
    }
    // The lock comes before the plan, so that nobody adds samples between the two.
    let mut files = Vec::new();
    for model in &selection.models {
        for task in &selection.tasks {
            let path = cell_path(&args.store.store, &model.name, &task.name);
            let (file, warning) = CellFile::open(path).map_err(CliError::failed)?;
            if let Some(warning) = warning {
                output::note(&format!("warning: {warning}"));
            }
            files.push(file);
        }
    }
    let cells = plan_cells(args, selection)?;
    let total: usize = cells.iter().map(|cell| cell.jobs.len()).sum();
    let answered: usize = cells.iter().map(|cell| cell.answered).sum();
    if !args.quiet {
        output::note(&format!(
            "{total} samples to ask, {answered} already in {}",
            args.store.store.display()
        ));
    }
    if total == 0 {
        return Ok((Vec::new(), false));
    }
    let mut lanes: Vec<Lane> = Vec::new();
    for (place, model) in selection.models.iter().enumerate() {
        let own: Vec<&CellPlan> = cells.iter().filter(|cell| cell.model == place).collect();
        if own.iter().all(|cell| cell.jobs.is_empty()) {
            continue;
        }
        let backend = match backends[place].take() {
            Some(backend) => backend,
            None => in_process(args, selection, model, &own).await?,
        };
        let workers = match &backend {
            Backend::InProcess(respondent) => respondent.workers(),
            Backend::Http { .. } => 8,
        };
        lanes.push(Lane {
            concurrency: model.limits.concurrency.map_or(workers, |n| n as usize),
            requests_per_minute: model.limits.requests_per_minute.and_then(NonZeroU32::new),
            model: model.clone(),
            backend,
            jobs: Vec::new(),
        });
        let lane = lanes.last_mut().expect("just pushed");
        for (file, cell) in cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.model == place)
        {
            debug_assert_eq!(files[file].path(), cell.path);
            lane.jobs
                .extend(cell.jobs.iter().map(|job| (file, job.clone())));
        }
    }
    let recorder = Recorder::start(files);
    let progress = Progress::new(total as u64, args.quiet);
    let settings = Settings {
        recorder: &recorder,
        progress: &progress,
        stop: CancellationToken::new(),
        abort: CancellationToken::new(),
    };
    let watcher = watch_interrupts(settings.stop.clone(), settings.abort.clone());
    let summaries = ask::run(lanes, &settings).await;
    watcher.abort();
    progress.finish();
    let interrupted = settings.stop.is_cancelled();
    recorder.finish().map_err(CliError::failed)?;
    Ok((summaries.map_err(CliError::failed)?, interrupted))
}

/// The first Ctrl-C stops sending and waits for calls in flight, which are paid for; the second drops them.
fn watch_interrupts(
    stop: CancellationToken,
    abort: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            output::note(
                "\nstopping: waiting for the calls in flight; press Ctrl-C again to drop them",
            );
            stop.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            abort.cancel();
        }
    })
}

fn timeout(model: &Model) -> Duration {
    Duration::from_secs_f64(model.limits.timeout_s.unwrap_or(120.0))
}

async fn in_process(
    args: &Args,
    selection: &Selection,
    model: &Model,
    cells: &[&CellPlan],
) -> Result<Backend, CliError> {
    let respondent: Arc<dyn Respondent> = match model.provider.dialect {
        Dialect::Scripted => {
            let facts = cells
                .iter()
                .flat_map(|cell| &cell.jobs)
                .map(|job| {
                    let facts = Facts {
                        tier: job.item.tier,
                        reference: job.item.reference,
                        anchor: job.item.anchor(job.condition),
                    };
                    (job.outline.clone(), facts)
                })
                .collect();
            Arc::new(Scripted::new(&model.model_id, facts).map_err(CliError::usage)?)
        }
        Dialect::InProcess | Dialect::OpenaiChat => engine(args, selection, model).await?,
    };
    Ok(Backend::InProcess(respondent))
}

#[cfg(feature = "engine")]
async fn engine(
    args: &Args,
    selection: &Selection,
    model: &Model,
) -> Result<Arc<dyn Respondent>, CliError> {
    let path = super::models::weights_path(
        &model.model_id,
        &selection.registry,
        args.offline,
        args.quiet,
    )
    .await?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let workers = model.limits.concurrency.map_or(cores, |n| n as usize);
    let engine =
        tokio::task::spawn_blocking(move || crate::provider::local::Engine::load(&path, workers));
    let engine = engine.await.map_err(CliError::failed)?;
    Ok(Arc::new(engine.map_err(CliError::failed)?))
}

#[cfg(not(feature = "engine"))]
#[expect(clippy::unused_async, reason = "the same form as with the engine")]
async fn engine(
    _args: &Args,
    _selection: &Selection,
    model: &Model,
) -> Result<Arc<dyn Respondent>, CliError> {
    Err(CliError::Usage(format!(
        "model `{}` runs in this process, and this wheel was built without the feature `engine`: build with it, or ask a server with --model http://localhost:8000/v1#name",
        model.name
    )))
}

fn show_scores(args: &Args, selection: &Selection) -> Result<(), CliError> {
    let mut records = Vec::new();
    for model in &selection.models {
        for task in &selection.tasks {
            let path = cell_path(&args.store.store, &model.name, &task.name);
            store::read_file(&path, |record| records.push(record)).map_err(CliError::failed)?;
        }
    }
    if records.is_empty() {
        return Ok(());
    }
    // A run of some of the questions is scored on these; the whole bank is what `wheel score` looks at.
    let bank = Bank {
        items: selection
            .items
            .iter()
            .map(|item| Item::clone(item))
            .collect(),
    };
    let scores = crate::score::score(&records, &bank, &selection.all_tasks);
    let cells: Vec<_> = scores.cells.iter().collect();
    let models: Vec<_> = scores.models.iter().collect();
    if bank.items.len() < selection.bank.items.len() {
        output::result(&format!(
            "on {} of {} questions:",
            bank.items.len(),
            selection.bank.items.len()
        ))?;
    }
    output::result(&cells_table(&cells))?;
    output::result(&models_table(&models))
}

fn report(args: &Args, summaries: &[ModelSummary], interrupted: bool) {
    for summary in summaries {
        let mut parts = Vec::new();
        for (class, n) in &summary.failed {
            parts.push(format!("{n} failed ({class})"));
        }
        if summary.not_asked > 0 {
            parts.push(format!("{} not asked", summary.not_asked));
        }
        if let Some(reason) = &summary.stopped {
            parts.push(format!("stopped: {reason}"));
        }
        if !parts.is_empty() {
            output::note(&format!("{}: {}", summary.model, parts.join(", ")));
        }
    }
    let missing = summaries
        .iter()
        .any(|summary| summary.not_asked > 0 || !summary.failed.is_empty());
    if (missing || interrupted) && !args.quiet {
        output::note(
            "every reply so far is kept; type the same command again to ask for what is missing",
        );
    }
}

fn exit_of(summaries: &[ModelSummary], interrupted: bool) -> Exit {
    let failed = |class| {
        summaries
            .iter()
            .any(|summary| summary.failed.contains_key(&class))
    };
    if interrupted {
        Exit::Interrupted
    } else if failed(ErrorClass::Quota) {
        Exit::Stopped
    } else if summaries
        .iter()
        .any(|summary| summary.not_asked > 0 || !summary.failed.is_empty())
    {
        Exit::Missing
    } else {
        Exit::Done
    }
}
