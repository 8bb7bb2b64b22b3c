//! The asking itself: everything that can be checked without a call first, then locks, plans, and the run.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Args;
use super::batches::{self, BatchPlan};
use super::report::Asked;
use super::script::facts;
use super::selection::{CellPlan, Selection, plan_cells};
use crate::ask::{
    self, BatchSettings, Budget, Connections, Http, InProcessLane, Lane, ModelSummary, Progress,
    Settings,
};
use crate::cli::{CliError, output};
use crate::domain::{ModelName, Parameter, SampleKey};
use crate::model::{Dialect, Model};
use crate::parse::Rules;
use crate::provider::{Respondent, Scripted};
use crate::score::Heard;
use crate::store::{
    self, BatchLog, CellFile, Record, Recorder, StoreError, batch_log_path, cell_path,
};

/// Asks everything that is missing.
pub(super) async fn ask_all(args: &Args, selection: &Selection) -> Result<Asked, CliError> {
    let backends = check(args, selection)?;
    // The locks come before the plan, so that nobody adds samples between the two.
    let mut logs = open_logs(args, selection)?;
    let files = open_files(args, selection, &logs)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path().to_owned()).collect();
    // Replies are read as they are written, so that nothing is read twice.
    let (hear, hearing) = std::sync::mpsc::channel();
    let catalog = Arc::clone(&selection.catalog);
    let recorder = Recorder::start(files, move |record| {
        let _ = hear.send(Heard::new(*record, &catalog, Rules::default()));
    });
    let stop = CancellationToken::new();
    let abort = CancellationToken::new();
    let watcher = watch_interrupts(args, stop.clone(), abort.clone());
    let run = Run {
        args,
        selection,
        backends: &backends,
        paths: &paths,
        recorder: &recorder,
        budget: &Budget::new(args.max_cost),
        progress: &Progress::new(0, args.quiet),
        stop: &stop,
        abort: &abort,
    };
    let outcome = run.go(&mut logs).await;
    watcher.abort();
    run.progress.finish();
    let spent = run.budget.spent();
    recorder.finish().map_err(CliError::failed)?;
    let Outcome {
        summaries,
        mut heard,
        batched,
    } = outcome?;
    let known: HashSet<(SampleKey, u32, u32, Option<Arc<str>>)> = heard
        .iter()
        .filter(|line| line.batch.is_some())
        .map(line_of)
        .collect();
    let asked: BTreeSet<&ModelName> = selection.models.iter().map(|model| &model.name).collect();
    let new = hearing.into_iter().filter(|line| {
        let selected = asked.contains(&line.model)
            && selection.tasks.iter().any(|task| task.name == line.task);
        // What batches brought was read by the plan that followed.
        selected && (line.batch.is_none() || !known.contains(&line_of(line)))
    });
    heard.extend(new);
    Ok(Asked {
        summaries,
        spent,
        interrupted: stop.is_cancelled(),
        heard,
        batched,
    })
}

fn line_of(line: &Heard) -> (SampleKey, u32, u32, Option<Arc<str>>) {
    (
        line.key.clone(),
        line.turn,
        line.attempt,
        line.batch.clone(),
    )
}

/// What the steps of a run share.
struct Run<'a> {
    args: &'a Args,
    selection: &'a Selection,
    backends: &'a [Option<Http>],
    paths: &'a [PathBuf],
    recorder: &'a Recorder,
    budget: &'a Budget,
    progress: &'a Progress,
    stop: &'a CancellationToken,
    abort: &'a CancellationToken,
}

/// How the steps ended.
struct Outcome {
    summaries: Vec<ModelSummary>,
    /// The lines that were there when the last plan was made.
    heard: Vec<Heard>,
    batched: usize,
}

impl Run<'_> {
    /// Collects batches that are known, then asks for what is missing.
    async fn go(&self, logs: &mut [Option<BatchLog>]) -> Result<Outcome, CliError> {
        let (args, selection) = (self.args, self.selection);
        if args.batch {
            let cells = plan_cells(args, selection, logs, &args.again)?;
            self.announce(&cells);
        }
        let plan = BatchPlan {
            args,
            selection,
            backends: self.backends,
            file_of: &|record: &Record| {
                let path = cell_path(&args.store.store, &record.model, &record.task);
                self.paths.iter().position(|known| *known == path)
            },
        };
        let settings = BatchSettings {
            recorder: self.recorder,
            progress: self.progress,
            budget: self.budget,
            max_wait: args.max_wait(),
            poll: Duration::from_secs_f64(args.poll),
            patience: args.patience(),
            store: &args.store.store,
            stop: self.stop.clone(),
            abort: self.abort.clone(),
        };
        let (mut summaries, batched) = batches::run(&plan, logs, &settings).await?;
        let mut cells = plan_cells(args, selection, logs, &args.again)?;
        let heard = cells
            .iter_mut()
            .flat_map(|cell| cell.heard.drain(..))
            .collect();
        if !args.batch {
            self.announce(&cells);
            let (lanes, in_process) =
                lanes(args, selection, self.backends, cells, self.paths).await?;
            let settings = Settings {
                recorder: self.recorder,
                progress: self.progress,
                budget: self.budget,
                max_wait: args.max_wait(),
                patience: args.patience(),
                stop: self.stop.clone(),
                abort: self.abort.clone(),
            };
            let more = ask::run(lanes, in_process, &settings).await;
            summaries.extend(more.map_err(CliError::failed)?);
        }
        Ok(Outcome {
            summaries,
            heard,
            batched,
        })
    }

    /// Says what is to be asked, and sets the length of the bar.
    fn announce(&self, cells: &[CellPlan]) {
        let count = |of: fn(&CellPlan) -> usize| cells.iter().map(of).sum::<usize>();
        let total = count(|cell| cell.jobs.len());
        self.progress.expect(total as u64);
        if self.args.quiet {
            return;
        }
        let waiting = match count(|cell| cell.batched) {
            0 => String::new(),
            n => format!(", {n} in batches"),
        };
        output::note(&format!(
            "{total} samples to ask, {} already in {}{waiting}",
            count(|cell| cell.answered),
            self.args.store.store.display()
        ));
    }
}

/// Checks what needs no call: keys, addresses, prices, what the models can do.
fn check(args: &Args, selection: &Selection) -> Result<Vec<Option<Http>>, CliError> {
    let mut connections = Connections::default();
    let mut backends = Vec::new();
    for model in &selection.models {
        let wire = model.provider.dialect.is_wire();
        if args.max_cost.is_some()
            && model.price.is_none()
            && !model.is_free()
            && !args.allow_unknown_price
        {
            return Err(CliError::Usage(format!(
                "model `{}` has no price, so --max-cost cannot hold: add one to its entry in models.yaml, such as price: {{input: 0.20, output: 1.25, source: price list, as_of: 2026-11-29}}, or pass --allow-unknown-price to leave it out of the count",
                model.name
            )));
        }
        if let (Some(_), Some(name)) = (args.max_cost, limit_in(model.sampling.extra_body.as_ref()))
        {
            return Err(CliError::Usage(format!(
                "extra_body of model `{}` sets {name}, which --max-cost cannot see: give max_output_tokens instead, and ask once a call",
                model.name
            )));
        }
        let http = wire.then(|| {
            Http::new(model, &mut connections, |name| std::env::var(name).ok())
                .map_err(CliError::usage)
        });
        let http = http.transpose()?;
        if args.batch
            && http
                .as_ref()
                .is_none_or(|http| http.dialect.batch().is_none())
        {
            return Err(CliError::usage(ask::BatchError::NotTaken(
                model.name.to_string(),
            )));
        }
        backends.push(http);
    }
    if args.pace.any() && backends.iter().any(Option::is_none) {
        output::note("warning: limits and clocks do nothing for models that run in this process");
    }
    Ok(backends)
}

/// The first field of an extra body that changes how much a call may cost.
fn limit_in(extra: Option<&serde_json::Value>) -> Option<&str> {
    const FIELDS: [&str; 8] = [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
        "num_predict",
        "n",
        "best_of",
        "candidateCount",
    ];
    extra?.as_object()?.iter().find_map(|(name, value)| {
        if FIELDS.contains(&name.as_str()) {
            Some(name.as_str())
        } else {
            limit_in(Some(value))
        }
    })
}

/// The logs of batches, where there are some or will be.
fn open_logs(args: &Args, selection: &Selection) -> Result<Vec<Option<BatchLog>>, CliError> {
    selection
        .models
        .iter()
        .map(|model| {
            let path = batch_log_path(&args.store.store, &model.name);
            (args.batch || path.is_file())
                .then(|| BatchLog::open(path))
                .transpose()
        })
        .collect::<Result<_, StoreError>>()
        .map_err(CliError::failed)
}

/// The files of all cells of this run, and of those that known batches belong to.
fn open_files(
    args: &Args,
    selection: &Selection,
    logs: &[Option<BatchLog>],
) -> Result<Vec<CellFile>, CliError> {
    let mut paths = BTreeSet::new();
    for model in &selection.models {
        for task in &selection.tasks {
            paths.insert(cell_path(&args.store.store, &model.name, &task.name));
        }
    }
    for batch in logs.iter().flatten().flat_map(BatchLog::live) {
        for entry in &batch.entries {
            paths.insert(cell_path(&args.store.store, &entry.model, &entry.task));
        }
    }
    let mut files = Vec::new();
    for path in paths {
        let (file, warning) = CellFile::open(path).map_err(CliError::failed)?;
        if let Some(warning) = warning {
            output::note(&format!("warning: {warning}"));
        }
        files.push(file);
    }
    Ok(files)
}

/// Jobs by model, each with its file.
async fn lanes(
    args: &Args,
    selection: &Selection,
    backends: &[Option<Http>],
    cells: Vec<CellPlan>,
    paths: &[PathBuf],
) -> Result<(Vec<Lane>, Vec<InProcessLane>), CliError> {
    let mut lanes = Vec::new();
    let mut in_process = Vec::new();
    let mut cells = cells.into_iter().peekable();
    for (place, model) in selection.models.iter().enumerate() {
        let mut dropped = BTreeSet::new();
        let mut jobs = Vec::new();
        let mut heard_before = false;
        while let Some(cell) = cells.next_if(|cell| cell.model == place) {
            let file = place_of(paths, &cell.path);
            dropped.extend(cell.stored.dropped());
            heard_before |= cell.answered > 0;
            jobs.extend(cell.jobs.into_iter().map(|job| (file, job)));
        }
        if jobs.is_empty() {
            continue;
        }
        match &backends[place] {
            Some(http) => {
                dropped.extend(refused_before(args, model)?);
                let unsupported = batches::unsupported(model, http);
                dropped.extend(unsupported);
                lanes.push(Lane {
                    model: model.clone(),
                    http: http.clone(),
                    dropped,
                    heard_before,
                    jobs,
                });
            }
            None => in_process.push(InProcessLane {
                respondent: respondent(args, selection, model, &jobs).await?,
                model: model.clone(),
                jobs,
            }),
        }
    }
    Ok((lanes, in_process))
}

/// Parameters that the server refused when it was last asked, whatever the task.
fn refused_before(args: &Args, model: &Model) -> Result<BTreeSet<Parameter>, CliError> {
    let mut found = BTreeSet::new();
    for path in store::list_files_of(&args.store.store, &model.name).map_err(CliError::failed)? {
        let last = store::last_record(&path).map_err(CliError::failed)?;
        let same =
            last.filter(|last| last.model == model.name && last.sent.model == model.model_id);
        if let Some(last) = same {
            found.extend(ask::refused(&last.sent.dropped));
        }
    }
    Ok(found)
}

fn place_of(paths: &[PathBuf], path: &Path) -> usize {
    paths
        .iter()
        .position(|known| known == path)
        .expect("the file of every cell is open")
}

/// The first Ctrl-C stops sending and waits for calls in flight, which are paid for; the second drops them.
fn watch_interrupts(
    args: &Args,
    stop: CancellationToken,
    abort: CancellationToken,
) -> tokio::task::JoinHandle<()> {
    let word = if args.batch {
        "\nstopping: batches run on, and the same command collects them later"
    } else {
        "\nstopping: waiting for the calls in flight; press Ctrl-C again to drop them"
    };
    tokio::spawn(async move {
        if interrupted().await {
            output::note(word);
            stop.cancel();
        }
        if interrupted().await {
            abort.cancel();
        }
    })
}

/// Waits for Ctrl-C, or for the word of a scheduler that the time is up.
async fn interrupted() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminated) = signal(SignalKind::terminate()) else {
            return tokio::signal::ctrl_c().await.is_ok();
        };
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
            told = terminated.recv() => told.is_some(),
        }
    }
    #[cfg(not(unix))]
    {
        tokio::signal::ctrl_c().await.is_ok()
    }
}

async fn respondent(
    args: &Args,
    selection: &Selection,
    model: &Model,
    jobs: &[(usize, ask::Job)],
) -> Result<Arc<dyn Respondent>, CliError> {
    if model.provider.dialect != Dialect::Scripted {
        return engine(args, selection, model).await;
    }
    let facts = jobs
        .iter()
        .flat_map(|(_, job)| facts(job, ask::form_of(model)));
    Ok(Arc::new(
        Scripted::new(&model.model_id, facts).map_err(CliError::usage)?,
    ))
}

#[cfg(feature = "engine")]
async fn engine(
    args: &Args,
    selection: &Selection,
    model: &Model,
) -> Result<Arc<dyn Respondent>, CliError> {
    let path = crate::cli::models::weights_path(
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
