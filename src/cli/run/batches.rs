//! Runs by batch: known batches first, then new ones, round after round while that gets on.

use std::collections::{BTreeSet, HashSet};

use strum::IntoEnumIterator;

use super::Args;
use super::selection::{CellPlan, Selection, plan_cells};
use crate::ask::{
    BatchError, BatchLane, BatchSettings, Held, Http, Job, Learned, Lesson, ModelSummary,
};
use crate::cli::CliError;
use crate::domain::{Parameter, SampleKey, Status};
use crate::model::Model;
use crate::store::{BatchLog, Record};

/// What all rounds share.
pub(super) struct BatchPlan<'a> {
    pub(super) args: &'a Args,
    pub(super) selection: &'a Selection,
    pub(super) backends: &'a [Option<Http>],
    /// The file of the recorder for a line.
    pub(super) file_of: &'a (dyn Fn(&Record) -> Option<usize> + Sync),
}

/// Parameters that are asked for and that the dialect does not have.
pub(super) fn unsupported(model: &Model, http: &Http) -> BTreeSet<Parameter> {
    Parameter::iter()
        .filter(|parameter| model.sampling.has(*parameter) && !http.dialect.supports(*parameter))
        .collect()
}

/// Collects known batches, and with `--batch` makes new ones and waits for them. Gives a summary for each model that
/// was asked by batch, and the number of samples in batches that run on.
pub(super) async fn run(
    plan: &BatchPlan<'_>,
    logs: &mut [Option<BatchLog>],
    settings: &BatchSettings<'_>,
) -> Result<(Vec<ModelSummary>, usize), CliError> {
    // Each model waits for its own batches, so all wait at once.
    let rounds = logs.iter_mut().enumerate().filter_map(|(place, log)| {
        let log = log
            .as_mut()
            .filter(|log| plan.args.batch || !log.live().is_empty())?;
        let http = plan.backends[place].as_ref()?;
        Some(rounds(plan, place, http, log, settings))
    });
    let mut summaries = Vec::new();
    let mut running = 0;
    for end in futures::future::join_all(rounds).await {
        let (summary, left) = end?;
        running += left;
        // Without a batch of its own a run only collects; its other calls ask for what is missing.
        if plan.args.batch || summary.stopped.is_some() {
            summaries.push(summary);
        }
    }
    Ok((summaries, running))
}

/// All rounds of one model. What its service refuses stops this model alone.
async fn rounds(
    plan: &BatchPlan<'_>,
    place: usize,
    http: &Http,
    log: &mut BatchLog,
    settings: &BatchSettings<'_>,
) -> Result<(ModelSummary, usize), CliError> {
    let model = &plan.selection.models[place];
    let mut summary = ModelSummary::new(model.name.clone());
    let mut lane = BatchLane {
        model,
        http,
        log,
        learned: Learned::new(model, unsupported(model, http)),
        file_of: plan.file_of,
    };
    let done = all_rounds(plan, place, &mut lane, &mut summary, settings).await;
    summary.dropped.clone_from(&lane.learned.dropped);
    let running = lane
        .log
        .live()
        .iter()
        .map(|batch| batch.entries.len())
        .sum();
    match done {
        Ok(()) => {}
        Err(BatchError::Store(error)) => return Err(CliError::failed(error)),
        Err(error) => {
            summary.stopped = Some(error.to_string());
        }
    }
    if plan.args.batch {
        // Whatever is missing now and sits in no batch was not asked, or failed in the last round.
        let open = open_jobs(plan, place, lane.log, &[], &mut lane.learned)?.len() as u64;
        let failed: u64 = summary.failed.values().sum();
        summary.not_asked = open.saturating_sub(failed);
    }
    Ok((summary, running))
}

async fn all_rounds(
    plan: &BatchPlan<'_>,
    place: usize,
    lane: &mut BatchLane<'_>,
    summary: &mut ModelSummary,
    settings: &BatchSettings<'_>,
) -> Result<(), BatchError> {
    let mut held = Held::default();
    let mut again: &[Status] = &plan.args.again;
    let mut submitted = false;
    loop {
        let collected = lane.collect(plan.args.batch, settings, &mut held).await?;
        summary.answered += collected.answered;
        summary.failed = collected.failed;
        let mut learned = false;
        for parameter in collected.refused {
            let with = lane.learned.clone();
            let dialect = lane.model.provider.dialect;
            let lesson = lane
                .learned
                .learn(parameter, &with, &lane.model.sampling, dialect);
            learned |= matches!(lesson, Lesson::Dropped | Lesson::Renamed);
        }
        let stuck = submitted && collected.answered == 0 && !learned;
        if !plan.args.batch || collected.running > 0 || settings.stop.is_cancelled() || stuck {
            return Ok(());
        }
        let jobs = open_jobs(plan, place, lane.log, again, &mut lane.learned)
            .map_err(|error| BatchError::Plan(error.to_string()))?;
        if jobs.is_empty() {
            return Ok(());
        }
        summary.failed.clear();
        if lane.submit(&jobs, settings, &mut held).await? == jobs.len() {
            summary.stopped = Some("the budget leaves no room for another call".to_owned());
            return Ok(());
        }
        submitted = true;
        // What was asked again once is an answer from now on.
        again = &[];
    }
}

/// What the store still lacks of a model, and what its lines teach.
fn open_jobs(
    plan: &BatchPlan<'_>,
    place: usize,
    log: &BatchLog,
    again: &[Status],
    learned: &mut Learned,
) -> Result<Vec<Job>, CliError> {
    let cells: Vec<CellPlan> = plan_cells(plan.args, plan.selection, &[], again)?;
    let held: HashSet<(&SampleKey, u32)> = log
        .live()
        .iter()
        .flat_map(|batch| &batch.entries)
        .map(|entry| (&entry.key, entry.turn))
        .collect();
    let mut jobs = Vec::new();
    for cell in cells.into_iter().filter(|cell| cell.model == place) {
        learned.dropped.extend(cell.stored.dropped());
        jobs.extend(
            cell.jobs
                .into_iter()
                .filter(|job| !held.contains(&(&job.key, job.turn()))),
        );
    }
    Ok(jobs)
}
