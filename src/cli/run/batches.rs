//! Runs by batch: known batches first, then new ones, round after round while that gets on.

use std::collections::BTreeSet;
use std::time::Duration;

use strum::IntoEnumIterator;
use tokio_util::sync::CancellationToken;

use super::Args;
use super::selection::{CellPlan, Selection, plan_cells};
use crate::ask::{
    BatchLane, BatchSettings, Budget, Collected, Held, Http, Job, ModelSummary, Progress,
};
use crate::cli::{CliError, output};
use crate::domain::{Parameter, Status};
use crate::model::Model;
use crate::store::{BatchLog, Record, Recorder};

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
    recorder: &Recorder,
    progress: &Progress,
    budget: &Budget,
    stop: &CancellationToken,
) -> Result<(Vec<ModelSummary>, usize), CliError> {
    let settings = BatchSettings {
        recorder,
        progress,
        budget,
        max_wait: plan.args.max_wait(),
        poll: Duration::from_secs_f64(plan.args.poll),
        stop: stop.clone(),
    };
    // Each model waits for its own batches, so all wait at once.
    let rounds = logs.iter_mut().enumerate().filter_map(|(place, log)| {
        let log = log.as_mut()?;
        let http = plan.backends[place].as_ref()?;
        Some(rounds(plan, place, http, log, &settings))
    });
    let ends = futures::future::join_all(rounds).await;
    let mut summaries = Vec::new();
    let mut running = 0;
    for end in ends {
        let (summary, left) = end?;
        running += left;
        summaries.push(summary);
    }
    summaries.retain(|summary| plan.args.batch || summary.answered > 0 || summary.is_short());
    Ok((summaries, running))
}

async fn rounds(
    plan: &BatchPlan<'_>,
    place: usize,
    http: &Http,
    log: &mut BatchLog,
    settings: &BatchSettings<'_>,
) -> Result<(ModelSummary, usize), CliError> {
    let model = &plan.selection.models[place];
    let mut summary = ModelSummary::new(model.name.clone());
    let mut held = Held::default();
    let mut dropped = unsupported(model, http);
    let mut again: &[Status] = &plan.args.again;
    let mut lane = BatchLane {
        model,
        http,
        log,
        file_of: plan.file_of,
    };
    let mut submitted = false;
    loop {
        let collected = lane.collect(plan.args.batch, settings, &mut held).await;
        let Collected {
            answered,
            failed,
            refused,
            running,
        } = collected.map_err(CliError::failed)?;
        summary.answered += answered;
        let learned = refused.iter().any(|parameter| dropped.insert(*parameter));
        let stuck = submitted && answered == 0 && !learned;
        let jobs = open_jobs(plan, place, lane.log, again, &mut dropped)?;
        if !plan.args.batch
            || running > 0
            || settings.stop.is_cancelled()
            || jobs.is_empty()
            || stuck
        {
            // Without a batch of its own a run only collects; its other calls ask for what is missing.
            if plan.args.batch {
                let lost: u64 = failed.values().sum();
                summary.failed = failed;
                summary.not_asked = (jobs.len() as u64).saturating_sub(lost);
            }
            summary.dropped = dropped;
            return Ok((summary, running));
        }
        let left_out = lane
            .submit(&jobs, &dropped, settings, &mut held)
            .await
            .map_err(|error| {
                output::note("every batch that was taken is written down; the same command goes on from there");
                CliError::failed(error)
            })?;
        if left_out == jobs.len() {
            summary.not_asked = left_out as u64;
            summary.stopped = Some("the budget leaves no room for another call".to_owned());
            return Ok((summary, 0));
        }
        submitted = true;
        // What was asked again once is an answer from now on.
        again = &[];
    }
}

/// What the store still lacks of a model.
fn open_jobs(
    plan: &BatchPlan<'_>,
    place: usize,
    log: &BatchLog,
    again: &[Status],
    dropped: &mut BTreeSet<Parameter>,
) -> Result<Vec<Job>, CliError> {
    let cells: Vec<CellPlan> = plan_cells(plan.args, plan.selection, &[], again)?;
    let mut jobs = Vec::new();
    for cell in cells.into_iter().filter(|cell| cell.model == place) {
        dropped.extend(cell.stored.dropped());
        jobs.extend(
            cell.jobs
                .into_iter()
                .filter(|job| !log.holds(&job.key, job.turn())),
        );
    }
    Ok(jobs)
}
