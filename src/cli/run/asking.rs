//! The asking itself: everything that can be checked without a call first, then locks, plans, and the run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Args;
use super::batches::{self, BatchPlan};
use super::report::Asked;
use super::selection::{CellPlan, Selection, plan_cells};
use crate::ask::{self, Budget, Connections, Http, InProcessLane, Lane, Progress, Settings};
use crate::cli::{CliError, output};
use crate::domain::{Conversation, ModelName, Parameter};
use crate::model::{Dialect, Model};
use crate::provider::{Facts, Respondent, Scripted};
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
    let mut cells = plan_cells(args, selection, &logs, &args.again)?;
    let mut heard: Vec<Heard> = cells
        .iter_mut()
        .flat_map(|cell| cell.heard.drain(..))
        .collect();
    let total: usize = cells.iter().map(|cell| cell.jobs.len()).sum();
    let batched: usize = cells.iter().map(|cell| cell.batched).sum();
    let live = logs.iter().flatten().any(|log| !log.live().is_empty());
    if !args.quiet {
        let answered: usize = cells.iter().map(|cell| cell.answered).sum();
        let waiting = match batched {
            0 => String::new(),
            n => format!(", {n} in batches"),
        };
        output::note(&format!(
            "{total} samples to ask, {answered} already in {}{waiting}",
            args.store.store.display()
        ));
    }
    let budget = Budget::new(args.max_cost);
    if total == 0 && !live {
        return Ok(Asked {
            summaries: Vec::new(),
            spent: budget.spent(),
            interrupted: false,
            heard,
            batched: 0,
        });
    }
    let (lanes, in_process) = if args.batch {
        (Vec::new(), Vec::new())
    } else {
        lanes(args, selection, &backends, cells, &paths).await?
    };
    // Replies are read as they are written, so that nothing is read twice.
    let (hear, hearing) = std::sync::mpsc::channel();
    let (bank, tasks) = (
        Arc::clone(&selection.bank),
        Arc::clone(&selection.all_tasks),
    );
    let recorder = Recorder::start(files, move |record| {
        let _ = hear.send(Heard::new(record, &bank, &tasks).slim(&tasks));
    });
    let progress = Progress::new((total + batched) as u64, args.quiet);
    let stop = CancellationToken::new();
    let abort = CancellationToken::new();
    let watcher = watch_interrupts(args, stop.clone(), abort.clone());
    let plan = BatchPlan {
        args,
        selection,
        backends: &backends,
        file_of: &|record: &Record| {
            let path = cell_path(&args.store.store, &record.model, &record.task);
            paths.iter().position(|known| *known == path)
        },
    };
    // Batches that are known come first, whether this run makes new ones or not.
    let outcome = batches::run(&plan, &mut logs, &recorder, &progress, &budget, &stop).await;
    let outcome = match outcome {
        Ok((mut summaries, running)) => {
            let settings = Settings {
                recorder: &recorder,
                progress: &progress,
                budget: &budget,
                max_wait: args.max_wait(),
                patience: args.patience(),
                stop: stop.clone(),
                abort,
            };
            ask::run(lanes, in_process, &settings)
                .await
                .map(|more| {
                    summaries.extend(more);
                    (summaries, running)
                })
                .map_err(CliError::failed)
        }
        Err(error) => Err(error),
    };
    watcher.abort();
    progress.finish();
    recorder.finish().map_err(CliError::failed)?;
    let (summaries, running) = outcome?;
    let asked: BTreeSet<&ModelName> = selection.models.iter().map(|model| &model.name).collect();
    let new = hearing.into_iter().filter(|line| {
        let record: &Record = line.record();
        asked.contains(&record.model) && selection.tasks.iter().any(|task| task.name == record.task)
    });
    heard.extend(new);
    Ok(Asked {
        summaries,
        spent: budget.spent(),
        interrupted: stop.is_cancelled(),
        heard,
        batched: running,
    })
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
        while let Some(cell) = cells.next_if(|cell| cell.model == place) {
            let file = place_of(paths, &cell.path);
            dropped.extend(cell.stored.dropped());
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
    let mut refused = BTreeSet::new();
    for path in store::list_files_of(&args.store.store, &model.name).map_err(CliError::failed)? {
        let last = store::last_record(&path).map_err(CliError::failed)?;
        let same =
            last.filter(|last| last.model == model.name && last.sent.model == model.model_id);
        refused.extend(
            same.into_iter()
                .flat_map(|last| last.sent.dropped)
                .filter_map(|name| name.parse::<Parameter>().ok()),
        );
    }
    Ok(refused)
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
        if tokio::signal::ctrl_c().await.is_ok() {
            output::note(word);
            stop.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            abort.cancel();
        }
    })
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
        .map(|(_, job)| {
            let facts = Facts {
                tier: job.item.tier,
                reference: job.item.reference,
                anchor: job.item.anchor(job.condition),
            };
            (Conversation::clone(&job.outline), facts)
        })
        .collect();
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
