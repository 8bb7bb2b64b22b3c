//! One model asked in this process: several at once where its respondent can, without retries.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::line::{Attempt, Started};
use super::plan::{Job, form_of};
use super::run::{ModelSummary, RunError, Settings};
use crate::domain::{Conversation, ErrorClass, Prompt, Sampling, Scoring};
use crate::model::Model;
use crate::provider::{Answer, InProcessCall, ProviderError, Respondent};

/// All jobs of one model that is asked in this process.
pub struct InProcessLane {
    /// The model.
    pub model: Model,
    /// What answers.
    pub respondent: Arc<dyn Respondent>,
    /// The jobs, each with the place of its cell's file in the recorder.
    pub jobs: Vec<(usize, Job)>,
}

/// How one job ended.
enum End {
    Answered,
    Failed(ErrorClass),
    NotAsked,
}

struct Shared<'a> {
    model: &'a Model,
    respondent: &'a Arc<dyn Respondent>,
    settings: &'a Settings<'a>,
    began: Instant,
}

pub(super) async fn run(
    lane: InProcessLane,
    settings: &Settings<'_>,
    began: Instant,
) -> Result<ModelSummary, RunError> {
    let shared = Shared {
        model: &lane.model,
        respondent: &lane.respondent,
        settings,
        began,
    };
    let workers = match lane.model.limits.concurrency {
        Some(concurrency) => concurrency as usize,
        None => lane.respondent.workers(),
    };
    let size = size(lane.jobs.len(), workers).min(lane.respondent.batch());
    let batches = batches(lane.jobs, |(_, job)| job.asks(), size);
    let mut summary = ModelSummary::new(lane.model.name.clone());
    let mut ends = futures::stream::iter(batches)
        .map(|batch| run_batch(&shared, batch))
        .buffer_unordered(workers);
    while let Some(batch) = ends.next().await {
        for end in batch? {
            match end {
                End::Answered => summary.answered += 1,
                End::Failed(class) => *summary.failed.entry(class).or_default() += 1,
                End::NotAsked => summary.not_asked += 1,
            }
        }
    }
    drop(ends);
    Ok(summary)
}

/// How many jobs go into one list: long lists waste little at their ends, where few replies are still being decoded, and
/// several for each worker keep the workers level.
fn size(jobs: usize, workers: usize) -> usize {
    const WORTH_IT: usize = 64;
    let even = jobs.div_ceil(workers);
    even.min((even / 4).max(WORTH_IT))
}

/// Groups jobs that are answered in one go, turn by turn; they have as many turns. Lists stand in the order of their first
/// jobs.
fn batches<J>(jobs: Vec<J>, turns: impl Fn(&J) -> usize, largest: usize) -> Vec<Vec<J>> {
    let mut batches: Vec<Vec<J>> = Vec::new();
    // The place of the list that is filled, by turns: jobs of one turn and of two follow each other in a history.
    let mut open: HashMap<usize, usize> = HashMap::new();
    for job in jobs {
        let turns = turns(&job);
        match open.get(&turns) {
            Some(place) if batches[*place].len() < largest => batches[*place].push(job),
            _ => {
                open.insert(turns, batches.len());
                batches.push(vec![job]);
            }
        }
    }
    batches
}

/// Asks one turn of each job after the other until all are complete.
async fn run_batch(
    shared: &Shared<'_>,
    mut batch: Vec<(usize, Job)>,
) -> Result<Vec<End>, RunError> {
    let queued = shared.began.elapsed();
    let mut ends = Vec::new();
    while !batch.is_empty() {
        batch = turn(shared, batch, queued, &mut ends).await?;
    }
    Ok(ends)
}

/// Asks the open turn of each job. Jobs with another turn come back.
async fn turn(
    shared: &Shared<'_>,
    batch: Vec<(usize, Job)>,
    queued: Duration,
    ends: &mut Vec<End>,
) -> Result<Vec<(usize, Job)>, RunError> {
    let settings = shared.settings;
    if settings.stop.is_cancelled() {
        ends.extend(batch.iter().map(|_| End::NotAsked));
        return Ok(Vec::new());
    }
    let mut asked: Vec<(usize, Job, Prompt)> = Vec::new();
    for (file, job) in batch {
        match job.prompt(form_of(shared.model)) {
            Ok(prompt) => asked.push((file, job, prompt)),
            Err(error) => {
                settings.progress.say(&error.to_string());
                settings.progress.unanswered();
                ends.push(End::Failed(ErrorClass::BadRequest));
            }
        }
    }
    let calls = asked
        .iter()
        .map(|(_, job, prompt)| Asked {
            conversation: Arc::clone(&prompt.conversation),
            sampling: job.sampling.clone(),
            scoring: job.scoring.clone(),
        })
        .collect();
    let began = Instant::now();
    let mut answers = answers(shared.respondent, calls, settings.stop.clone());
    let mut open: Vec<Option<(usize, Job, Prompt)>> = asked.into_iter().map(Some).collect();
    let mut more = Vec::new();
    loop {
        let answer = tokio::select! {
            answer = answers.recv() => answer,
            () = settings.abort.cancelled() => None,
        };
        let Some(mut answer) = answer else { break };
        let Some((file, mut job, prompt)) = open[answer.call].take() else {
            continue;
        };
        let started = Started::since(
            answer.started,
            queued + answer.started.duration_since(began),
        );
        let text = match &answer.reply {
            Ok(reply) => Ok(reply.text.clone()),
            Err(ProviderError { class, .. }) => Err(*class),
        };
        let attempt = Attempt {
            model: shared.model,
            job: &job,
            prompt: &prompt,
            sampling: &job.sampling,
            dropped: &BTreeSet::new(),
        };
        let record = attempt.record(&started, &mut answer.reply);
        settings.recorder.append(file, record).await?;
        match text {
            Ok(text) => {
                job.replies.push(text);
                job.attempts = 0;
                if job.is_complete() {
                    settings.progress.answered();
                    ends.push(End::Answered);
                } else {
                    more.push((file, job));
                }
            }
            Err(class) => {
                settings.progress.unanswered();
                ends.push(End::Failed(class));
            }
        }
    }
    ends.extend(open.iter().flatten().map(|_| End::NotAsked));
    Ok(more)
}

/// A call, held for the thread that answers it.
struct Asked {
    conversation: Arc<Conversation>,
    sampling: Sampling,
    scoring: Option<Arc<Scoring>>,
}

/// Lets a respondent answer on a blocking thread; its answers come through the channel.
fn answers(
    respondent: &Arc<dyn Respondent>,
    asked: Vec<Asked>,
    stop: CancellationToken,
) -> tokio::sync::mpsc::UnboundedReceiver<Answer> {
    let respondent = Arc::clone(respondent);
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        let calls: Vec<InProcessCall<'_>> = asked
            .iter()
            .map(|asked| InProcessCall {
                conversation: &asked.conversation,
                sampling: &asked.sampling,
                scoring: asked.scoring.as_deref(),
            })
            .collect();
        respondent.answer(&calls, &mut |answer| {
            if sender.send(answer).is_err() || stop.is_cancelled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_jobs_of_as_many_turns_though_they_alternate() {
        // Of a history one condition takes one turn and four take two.
        let turns = [1, 2, 2, 2, 2];
        let jobs: Vec<usize> = (0..15).collect();
        let lists = batches(jobs, |job| turns[job % 5], 8);
        assert_eq!(
            lists,
            [
                vec![0, 5, 10],
                vec![1, 2, 3, 4, 6, 7, 8, 9],
                vec![11, 12, 13, 14],
            ]
        );
    }

    #[test]
    fn no_worker_is_left_with_all_the_rest() {
        assert_eq!([size(80, 2), size(3, 2), size(1, 8)], [40, 2, 1]);
        assert_eq!([size(300, 2), size(5000, 2)], [64, 625]);
    }
}
