//! The run itself: every lane at its own pace, every attempt stored before it counts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, Utc};
use futures::StreamExt;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio_util::sync::CancellationToken;

use super::backend::Backend;
use super::plan::Job;
use super::progress::Progress;
use super::retry::{Action, MAX_ATTEMPTS, MAX_WAIT, action, attempts, wait, waits};
use crate::domain::{Conversation, ErrorClass, ModelName, Reply, Sampling, Status};
use crate::model::Model;
use crate::provider::{Answer, Call, InProcessCall, ProviderError, Respondent};
use crate::store::{
    Clock, Cost, Record, RecordedError, Recorder, Sent, StoreError, VERSION, prompt_hash,
};

/// All jobs of one model.
pub struct Lane {
    /// The model.
    pub model: Model,
    /// Where its calls go.
    pub backend: Backend,
    /// Calls in flight at once, from 1.
    pub concurrency: usize,
    /// Requests started in any minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The jobs, each with the place of its cell's file in the recorder.
    pub jobs: Vec<(usize, Job)>,
}

/// What concerns the whole run.
pub struct Settings<'a> {
    /// The store's writer.
    pub recorder: &'a Recorder,
    /// What the person sees.
    pub progress: &'a Progress,
    /// Stops sending when cancelled; calls in flight are waited for.
    pub stop: CancellationToken,
    /// Drops calls in flight when cancelled.
    pub abort: CancellationToken,
}

/// How a model's jobs went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSummary {
    /// The model.
    pub model: ModelName,
    /// Samples answered in this run.
    pub answered: u64,
    /// Samples left without an answer, by the class of the last failure.
    pub failed: BTreeMap<ErrorClass, u64>,
    /// Samples not asked for, after a stop.
    pub not_asked: u64,
    /// Why the model was stopped early.
    pub stopped: Option<String>,
}

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A reply could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How one job ended.
enum End {
    Answered,
    Failed(ErrorClass),
    NotAsked,
}

/// Samples lost without any answer after which a model counts as out of reach.
const HOPELESS: u32 = 3;

/// Asks all jobs of all lanes.
///
/// # Errors
/// The store can no longer be written; everything that was answered before is in it.
pub async fn run(lanes: Vec<Lane>, settings: &Settings<'_>) -> Result<Vec<ModelSummary>, RunError> {
    let began = Instant::now();
    let lanes = lanes
        .into_iter()
        .map(|lane| run_lane(lane, settings, began));
    let summaries = futures::future::join_all(lanes).await;
    summaries.into_iter().collect()
}

struct Shared<'a> {
    model: &'a Model,
    backend: &'a Backend,
    limiter: Option<DefaultDirectRateLimiter>,
    settings: &'a Settings<'a>,
    began: Instant,
    /// Set when no further call of this model can succeed.
    dead: CancellationToken,
    reason: std::sync::Mutex<Option<String>>,
    any_answer: AtomicBool,
    lost: AtomicU32,
}

async fn run_lane(
    lane: Lane,
    settings: &Settings<'_>,
    began: Instant,
) -> Result<ModelSummary, RunError> {
    let shared = Shared {
        model: &lane.model,
        backend: &lane.backend,
        // One permit at a time: a burst at the start would break the limit of the first minute.
        limiter: lane
            .requests_per_minute
            .map(|rate| RateLimiter::direct(Quota::per_minute(rate).allow_burst(NonZeroU32::MIN))),
        settings,
        began,
        dead: settings.stop.child_token(),
        reason: std::sync::Mutex::default(),
        any_answer: AtomicBool::new(false),
        lost: AtomicU32::new(0),
    };
    let mut summary = ModelSummary {
        model: lane.model.name.clone(),
        answered: 0,
        failed: BTreeMap::new(),
        not_asked: 0,
        stopped: None,
    };
    let largest = match &lane.backend {
        // An even share for each worker, so that none is left with all the rest.
        Backend::InProcess(respondent) => {
            let share = lane.jobs.len().div_ceil(lane.concurrency);
            share.min(respondent.batch())
        }
        Backend::Http { .. } => 1,
    };
    let batches = batches(lane.jobs, largest);
    let mut ends = futures::stream::iter(batches)
        .map(|batch| run_batch(&shared, batch))
        .buffer_unordered(lane.concurrency);
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
    summary.stopped = shared.reason.into_inner().unwrap_or_default();
    Ok(summary)
}

/// Groups jobs that a respondent in this process answers in one go. Several turns follow one another, so such jobs
/// stay alone.
fn batches(jobs: Vec<(usize, Job)>, largest: usize) -> Vec<Vec<(usize, Job)>> {
    let mut batches: Vec<Vec<(usize, Job)>> = Vec::new();
    for job in jobs {
        let single = |job: &(usize, Job)| job.1.task.asks().count() == 1;
        match batches.last_mut() {
            Some(batch) if batch.len() < largest && single(&job) && single(&batch[0]) => {
                batch.push(job);
            }
            _ => batches.push(vec![job]),
        }
    }
    batches
}

async fn run_batch(shared: &Shared<'_>, batch: Vec<(usize, Job)>) -> Result<Vec<End>, RunError> {
    let queued = shared.began.elapsed();
    match shared.backend {
        Backend::InProcess(respondent) if batch.len() > 1 => {
            run_together(shared, respondent, batch, queued).await
        }
        _ => {
            let mut ends = Vec::new();
            for (file, job) in batch {
                ends.push(run_job(shared, file, job, queued).await?);
            }
            Ok(ends)
        }
    }
}

/// Jobs of one ask each, answered by a respondent in this process; nothing is retried.
async fn run_together(
    shared: &Shared<'_>,
    respondent: &Arc<dyn Respondent>,
    batch: Vec<(usize, Job)>,
    queued: Duration,
) -> Result<Vec<End>, RunError> {
    if shared.dead.is_cancelled() {
        return Ok(batch.iter().map(|_| End::NotAsked).collect());
    }
    let asked: Vec<(Conversation, Sampling)> = batch
        .iter()
        .map(|(_, job)| (job.outline.clone(), job.sampling.clone()))
        .collect();
    let began = Instant::now();
    let mut answers = answers(respondent, asked, shared.dead.clone());
    let mut ends: Vec<End> = Vec::new();
    loop {
        let answer = tokio::select! {
            answer = answers.recv() => answer,
            () = shared.settings.abort.cancelled() => None,
        };
        let Some(answer) = answer else { break };
        let (file, job) = &batch[answer.call];
        let started = Started::since(
            answer.started,
            queued + answer.started.duration_since(began),
        );
        let record = shared.record(
            job,
            1,
            job.attempts + 1,
            &job.outline,
            &started,
            &answer.reply,
        );
        shared.settings.recorder.append(*file, record).await?;
        ends.push(shared.end_of(answer.reply.map(|_| ())));
    }
    let not_asked = batch.len() - ends.len();
    ends.extend((0..not_asked).map(|_| End::NotAsked));
    Ok(ends)
}

/// Lets a respondent answer on a blocking thread; its answers come through the channel.
fn answers(
    respondent: &Arc<dyn Respondent>,
    asked: Vec<(Conversation, Sampling)>,
    stop: CancellationToken,
) -> tokio::sync::mpsc::UnboundedReceiver<Answer> {
    let respondent = Arc::clone(respondent);
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        let calls: Vec<InProcessCall<'_>> = asked
            .iter()
            .map(|(conversation, sampling)| InProcessCall {
                conversation,
                sampling,
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

async fn run_job(
    shared: &Shared<'_>,
    file: usize,
    mut job: Job,
    queued: Duration,
) -> Result<End, RunError> {
    loop {
        let rendered =
            job.task
                .conversation(&job.item, job.condition, &job.replies, shared.model.prefill);
        let conversation = match rendered {
            Ok(Some((conversation, _))) => conversation,
            Ok(None) => return Ok(shared.end_of(Ok(()))),
            // The plan rendered every outline, so only a reply that breaks a template leads here.
            Err(error) => {
                shared.settings.progress.say(&error.to_string());
                return Ok(shared.end_of(Err(ProviderError::local(
                    ErrorClass::BadRequest,
                    error.to_string(),
                ))));
            }
        };
        match ask(shared, file, &job, &conversation, queued).await? {
            Asked::Answered(text) => {
                job.replies.push(text);
                job.attempts = 0;
            }
            Asked::Failed(error) => return Ok(shared.end_of(Err(error))),
            Asked::Stopped => return Ok(End::NotAsked),
        }
    }
}

enum Asked {
    Answered(String),
    Failed(ProviderError),
    Stopped,
}

/// One ask with its retries.
async fn ask(
    shared: &Shared<'_>,
    file: usize,
    job: &Job,
    conversation: &Conversation,
    queued: Duration,
) -> Result<Asked, RunError> {
    let turn = u32::try_from(job.replies.len() + 1).unwrap_or(u32::MAX);
    let seed = u64::from_str_radix(&job.key.as_str()[..16], 16).unwrap_or(0);
    let mut schedule = waits(seed);
    let mut pause = Duration::ZERO;
    for attempt in 1..=MAX_ATTEMPTS {
        let waiting = Instant::now();
        let ready = async {
            // Even a sleep of nothing takes a tick of the timer.
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            if let Some(limiter) = &shared.limiter {
                limiter.until_ready().await;
            }
        };
        tokio::select! {
            biased;
            () = shared.dead.cancelled() => return Ok(Asked::Stopped),
            () = ready => {}
        }
        let started = Started::now(queued, waiting.elapsed());
        let answer = tokio::select! {
            answer = send(shared, conversation, &job.sampling) => answer,
            () = shared.settings.abort.cancelled() => return Ok(Asked::Stopped),
        };
        let record = shared.record(
            job,
            turn,
            job.attempts + attempt,
            conversation,
            &started,
            &answer,
        );
        shared.settings.recorder.append(file, record).await?;
        let mut error = match answer {
            Ok(reply) => return Ok(Asked::Answered(reply.text)),
            Err(error) => error,
        };
        if attempt >= attempts(error.class) && action(&error) == Action::Retry {
            return Ok(Asked::Failed(error));
        }
        match (action(&error), schedule.next()) {
            (Action::Retry, Some(scheduled)) => {
                shared.settings.progress.retrying();
                pause = wait(scheduled, &error);
            }
            (Action::StopModel, _) => {
                shared.give_up(&error.message);
                if error.retry_after.is_some_and(|wait| wait > MAX_WAIT) {
                    // So long a wait is an allowance that is used up.
                    error.class = ErrorClass::Quota;
                }
                return Ok(Asked::Failed(error));
            }
            _ => return Ok(Asked::Failed(error)),
        }
    }
    unreachable!("the schedule ends before the attempts do")
}

async fn send(
    shared: &Shared<'_>,
    conversation: &Conversation,
    sampling: &Sampling,
) -> Result<Reply, ProviderError> {
    match shared.backend {
        Backend::Http {
            dialect,
            client,
            base_url,
            limit_field,
        } => {
            let request = dialect.request(&Call {
                base_url,
                model_id: &shared.model.model_id,
                conversation,
                sampling,
                limit_field: *limit_field,
            });
            let response = client.send(&request).await?;
            dialect.reply(response.status, &response.headers, &response.body)
        }
        Backend::InProcess(respondent) => {
            let asked = vec![(conversation.clone(), sampling.clone())];
            let answer = answers(respondent, asked, shared.dead.clone()).recv().await;
            answer.map_or_else(
                || {
                    Err(ProviderError::local(
                        ErrorClass::Engine,
                        "the engine stopped without an answer",
                    ))
                },
                |answer| answer.reply,
            )
        }
    }
}

/// The moments of one attempt.
struct Started {
    at: Instant,
    time: String,
    queued: Duration,
    waited: Duration,
}

impl Started {
    fn now(queued: Duration, waited: Duration) -> Self {
        Self {
            at: Instant::now(),
            time: Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true),
            queued,
            waited,
        }
    }
}

impl Started {
    /// Something that began a while ago.
    fn since(at: Instant, queued: Duration) -> Self {
        let ago = chrono::Duration::from_std(at.elapsed()).unwrap_or_default();
        Self {
            at,
            time: (Utc::now() - ago).to_rfc3339_opts(SecondsFormat::Millis, true),
            queued,
            waited: Duration::ZERO,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Shared<'_> {
    fn record(
        &self,
        job: &Job,
        turn: u32,
        attempt: u32,
        conversation: &Conversation,
        started: &Started,
        answer: &Result<Reply, ProviderError>,
    ) -> Record {
        let reply = answer.as_ref().ok();
        let error = answer.as_ref().err();
        let tokens = reply.map(|reply| reply.tokens).unwrap_or_default();
        Record {
            v: VERSION,
            key: job.key.clone(),
            model: self.model.name.clone(),
            task: job.task.name.clone(),
            item: job.item.id.clone(),
            tier: job.item.tier,
            condition: job.condition,
            anchor: job.item.anchor(job.condition).map(f64::from),
            epoch: job.epoch,
            turn,
            attempt,
            conversation: conversation.clone(),
            prompt_hash: prompt_hash(conversation),
            sent: Sent {
                provider: self.model.provider.name.clone(),
                model: self.model.model_id.clone(),
                sampling: job.sampling.clone(),
                prefill: conversation.prefill().map(str::to_owned),
                dropped: Vec::new(),
            },
            status: reply.map_or(Status::Error, |reply| reply.status),
            error: error.map(|error| RecordedError {
                class: error.class,
                http_status: error.http_status,
                message: error.message.clone(),
            }),
            text: reply.map(|reply| reply.text.clone()),
            reasoning_text: reply.and_then(|reply| reply.reasoning_text.clone()),
            returned_model: reply.and_then(|reply| reply.returned_model.clone()),
            finish: reply.and_then(|reply| reply.finish),
            finish_word: reply.and_then(|reply| reply.finish_word.clone()),
            tokens,
            cost_usd: Cost {
                computed: reply
                    .and(self.model.price.as_ref())
                    .and_then(|price| price.cost(&tokens)),
                reported: reply.and_then(|reply| reply.cost_reported),
            },
            request_id: reply.and_then(|reply| reply.request_id.clone()),
            body: match answer {
                Ok(reply) => reply.body.clone(),
                Err(error) => error.body.clone(),
            },
            clock: Clock {
                started: started.time.clone(),
                queued_ms: millis(started.queued),
                waited_ms: millis(started.waited),
                in_flight_ms: millis(started.at.elapsed()),
            },
            wheel: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn end_of(&self, result: Result<(), ProviderError>) -> End {
        match result {
            Ok(()) => {
                self.any_answer.store(true, Ordering::Relaxed);
                self.settings.progress.answered();
                End::Answered
            }
            Err(error) => {
                self.settings.progress.unanswered();
                let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
                if lost >= HOPELESS && !self.any_answer.load(Ordering::Relaxed) {
                    self.give_up(&format!(
                        "{lost} samples in a row failed: {}",
                        error.message
                    ));
                }
                End::Failed(error.class)
            }
        }
    }

    /// Stops the model and keeps the first reason.
    fn give_up(&self, reason: &str) {
        let mut kept = self.reason.lock().expect("no panic while noting a reason");
        if kept.is_none() {
            *kept = Some(reason.to_owned());
            self.settings
                .progress
                .say(&format!("{}: stopped: {reason}", self.model.name));
        }
        self.dead.cancel();
    }
}
