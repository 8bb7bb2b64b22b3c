//! One model asked over HTTP: at its pace, with retries, until every sample has an answer or a reason.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use chrono::Utc;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::backend::Http;
use super::budget::{Charge, worst_case};
use super::line::{Attempt, Started, cost};
use super::pace::{Outage, Pace, Window};
use super::plan::Job;
use super::queue::Queue;
use super::retry::{Action, action, attempts, backoff, wait};
use super::run::{ModelSummary, RunError, Settings};
use crate::domain::{Conversation, ErrorClass, Parameter, Reply, Usd};
use crate::model::{Dialect, LimitField, Model};
use crate::provider::{Call, Headers, ProviderError, read};

/// Samples lost without any answer after which a model counts as out of reach.
const HOPELESS: u32 = 3;

/// Calls in flight at the start, and the most that it grows to, where nobody says.
const WINDOW: (usize, usize) = (8, 64);

/// All jobs of one model that is asked over HTTP.
pub struct Lane {
    /// The model.
    pub model: Model,
    /// Where its calls go.
    pub http: Http,
    /// Parameters that the server has refused before.
    pub dropped: BTreeSet<Parameter>,
    /// The jobs, each with the place of its cell's file in the recorder.
    pub jobs: Vec<(usize, Job)>,
}

/// What the server's refusals have taught.
#[derive(Debug, Clone)]
struct Learned {
    dropped: BTreeSet<Parameter>,
    limit_field: LimitField,
    renamed: bool,
}

/// What the calls in flight share.
struct Shared<'a> {
    model: &'a Model,
    http: &'a Http,
    settings: &'a Settings<'a>,
    began: Instant,
    /// Set when no further call of this model can succeed.
    dead: CancellationToken,
    learned: RefCell<Learned>,
}

/// A sample on its way.
struct Sample {
    file: usize,
    job: Job,
    /// From the start of the run to the first time its turn came.
    queued: Option<Duration>,
    waiting_since: Instant,
    /// Failed tries at the open ask in this run.
    tries: u32,
}

/// How a try ended.
enum Ended {
    Answered {
        text: String,
        output: Option<u64>,
    },
    Failed(ProviderError),
    /// The run or the model was stopped before it was sent.
    Stopped,
    NoMoney,
}

/// A try that ended.
struct Landed {
    sample: Box<Sample>,
    ended: Ended,
    headers: Option<Headers>,
    sent: Instant,
    with: Learned,
}

/// Asks all jobs of a lane. `dead` stops the model, `provider` everything with the same key.
pub(super) async fn run(
    lane: Lane,
    settings: &Settings<'_>,
    began: Instant,
    provider: CancellationToken,
) -> Result<ModelSummary, RunError> {
    let shared = Shared {
        model: &lane.model,
        http: &lane.http,
        settings,
        began,
        dead: provider.child_token(),
        learned: RefCell::new(Learned {
            dropped: lane.dropped,
            limit_field: lane.model.provider.limit_field,
            renamed: false,
        }),
    };
    let limits = &lane.model.limits;
    let (start, most) = match limits.concurrency {
        Some(concurrency) => (concurrency as usize, concurrency as usize),
        None => WINDOW,
    };
    let samples = lane.jobs.into_iter().map(|(file, job)| {
        Box::new(Sample {
            file,
            job,
            queued: None,
            waiting_since: began,
            tries: 0,
        })
    });
    let mut driver = Driver {
        shared: &shared,
        provider,
        queue: Queue::new(samples),
        pace: Pace::new(
            limits.requests_per_minute.and_then(NonZeroU32::new),
            limits.tokens_per_minute.and_then(NonZeroU32::new),
        ),
        window: Window::new(start, most),
        outage: Outage::default(),
        any_answer: false,
        lost: 0,
        output: (0, 0),
        summary: ModelSummary::new(lane.model.name.clone()),
    };
    driver.drive().await?;
    let mut summary = driver.summary;
    summary.dropped = shared.learned.into_inner().dropped;
    Ok(summary)
}

struct Driver<'a> {
    shared: &'a Shared<'a>,
    provider: CancellationToken,
    queue: Queue<Box<Sample>>,
    pace: Pace,
    window: Window,
    outage: Outage,
    any_answer: bool,
    lost: u32,
    /// Sum and number of the output tokens seen.
    output: (u64, u64),
    summary: ModelSummary,
}

impl Driver<'_> {
    async fn drive(&mut self) -> Result<(), RunError> {
        let shared = self.shared;
        let dead = &shared.dead;
        let abort = &shared.settings.abort;
        let mut flying = FuturesUnordered::new();
        loop {
            let mut wake = None;
            let room = if self.outage.is_on() {
                1
            } else {
                self.window.size()
            };
            while flying.len() < room && !dead.is_cancelled() {
                let now = Instant::now();
                if !self.queue.has(now) {
                    wake = self.queue.next_moment();
                    break;
                }
                if let Err(wait) = self.pace.take(self.tokens_of_a_call()) {
                    wake = Some(now + wait);
                    break;
                }
                let Some(sample) = self.queue.take(now) else {
                    break;
                };
                flying.push(attempt(shared, sample));
            }
            if flying.is_empty() && (dead.is_cancelled() || self.queue.len() == 0) {
                break;
            }
            let sleep = async {
                match wake {
                    Some(wake) => tokio::time::sleep_until(wake).await,
                    None => std::future::pending().await,
                }
            };
            let running = !dead.is_cancelled();
            tokio::select! {
                biased;
                () = abort.cancelled() => {
                    self.summary.not_asked += flying.len() as u64;
                    break;
                }
                Some(landed) = flying.next(), if !flying.is_empty() => self.settle(landed?),
                () = dead.cancelled(), if running => {}
                () = sleep, if running => {}
            }
        }
        self.summary.not_asked += self.queue.len() as u64;
        Ok(())
    }

    /// Tokens that a call takes from the limit of a minute: the prompt, and the reply as the provider counts it
    /// beforehand. `OpenAI` counts the whole output limit, others what comes.
    fn tokens_of_a_call(&self) -> u64 {
        const PROMPT: u64 = 150;
        let model = self.shared.model;
        let limit = u64::from(model.sampling.max_output_tokens.unwrap_or(0));
        let whole = matches!(
            model.provider.dialect,
            Dialect::OpenaiChat | Dialect::OpenaiResponses
        );
        let (sum, n) = self.output;
        let reply = if whole {
            limit
        } else {
            sum.checked_div(n).unwrap_or(limit)
        };
        PROMPT + reply
    }

    fn settle(&mut self, landed: Landed) {
        let Landed {
            mut sample,
            ended,
            headers,
            sent,
            with,
        } = landed;
        if let Some(headers) = headers {
            self.pace.heed(&headers, self.shared.settings.max_wait);
        }
        sample.waiting_since = Instant::now();
        match ended {
            Ended::Answered { text, output } => {
                self.heard();
                self.window.grow(sent.elapsed());
                if let Some(output) = output {
                    self.output.0 = self.output.0.saturating_add(output);
                    self.output.1 += 1;
                }
                self.answered(sample, text);
            }
            Ended::Stopped => self.summary.not_asked += 1,
            Ended::NoMoney => {
                self.summary.not_asked += 1;
                self.stop("the budget leaves no room for another call");
            }
            Ended::Failed(error) => self.failed(sample, &error, sent, &with),
        }
    }

    fn heard(&mut self) {
        self.any_answer = true;
        self.outage.over();
    }

    /// Goes on to the next ask of the sample, or ends it.
    fn answered(&mut self, mut sample: Box<Sample>, text: String) {
        sample.job.replies.push(text);
        sample.job.attempts = 0;
        sample.tries = 0;
        if sample.job.is_complete() {
            self.summary.answered += 1;
            self.shared.settings.progress.answered();
        } else {
            self.queue.first(sample);
        }
    }

    fn failed(
        &mut self,
        mut sample: Box<Sample>,
        error: &ProviderError,
        sent: Instant,
        with: &Learned,
    ) {
        sample.job.attempts += 1;
        let max_wait = self.shared.settings.max_wait;
        let action = match action(error, max_wait) {
            // A server that has answered does not become a web site: a page of its gateway passes.
            Action::StopModel if error.class == ErrorClass::BadRequest && self.any_answer => {
                Action::Retry
            }
            action => action,
        };
        match action {
            Action::Refused => {
                self.heard();
                self.answered(sample, String::new());
            }
            Action::Drop(parameter) if self.learn(parameter, with) => {
                self.outage.over();
                self.queue.first(sample);
            }
            Action::Retry => self.retry(sample, error, sent, Queue::later),
            Action::RetryLast => self.retry(sample, error, sent, Queue::last),
            Action::GiveUpSample => {
                self.outage.over();
                self.lose(error.class, &error.message);
            }
            stop @ (Action::StopModel | Action::StopProvider | Action::Drop(_)) => {
                let hint = match &self.shared.model.provider.api_key_env {
                    Some(variable) if error.class == ErrorClass::Auth => {
                        format!("; check the key in {variable}")
                    }
                    _ => String::new(),
                };
                self.stop(&format!("{}{hint}", reason(error)));
                if stop == Action::StopProvider {
                    self.provider.cancel();
                }
                // So long a wait is an allowance that is used up.
                let waits = error.retry_after.is_some_and(|wait| wait > max_wait);
                let class = if waits {
                    ErrorClass::Quota
                } else {
                    error.class
                };
                self.lose(class, &error.message);
            }
        }
    }

    /// Puts a sample back, unless it was tried often enough.
    fn retry(
        &mut self,
        mut sample: Box<Sample>,
        error: &ProviderError,
        sent: Instant,
        put: fn(&mut Queue<Box<Sample>>, Instant, Box<Sample>),
    ) {
        let settings = self.shared.settings;
        let now = Instant::now();
        let busy = matches!(error.class, ErrorClass::Rate | ErrorClass::Overload);
        if error.class == ErrorClass::Rate {
            self.window.shrink();
            if let Some(wait) = error.retry_after {
                self.pace.pause(wait);
            }
        }
        // A server that was never heard and does not say that it is busy may not be one.
        if (self.any_answer || busy)
            && let Some(pause) = self.outage.failed(sent, self.window.size())
        {
            if self.outage.age() >= settings.patience {
                let seconds = settings.patience.as_secs();
                self.stop(&format!("no answer for {seconds} s: {}", error.message));
                return self.lose(error.class, &error.message);
            }
            self.pace.pause(wait(pause, error));
            // An outage is not the sample's fault and counts as no try of it.
            return put(&mut self.queue, now, sample);
        }
        sample.tries += 1;
        if sample.tries >= attempts(error.class) {
            return self.lose(error.class, &error.message);
        }
        settings.progress.retrying();
        let seed = u64::from_str_radix(&sample.job.key.as_str()[..16], 16).unwrap_or(0);
        let pause = wait(backoff(seed, sample.tries), error);
        put(&mut self.queue, now + pause, sample);
    }

    /// Leaves a refused parameter out from now on. False if that was tried, or cannot mend it.
    fn learn(&mut self, parameter: Parameter, with: &Learned) -> bool {
        let mut learned = self.shared.learned.borrow_mut();
        let model = self.shared.model;
        let say = |what: &str| {
            self.shared
                .settings
                .progress
                .say(&format!("{}: {what}", model.name));
        };
        if parameter == Parameter::MaxOutputTokens {
            // Without any limit a reply could cost anything, so the limit takes its other name.
            let newer = with.limit_field != learned.limit_field;
            if newer || (!learned.renamed && model.provider.dialect == Dialect::OpenaiChat) {
                if !newer {
                    learned.renamed = true;
                    learned.limit_field = learned.limit_field.other();
                    say(&format!(
                        "the server refuses {}; {} is sent instead",
                        with.limit_field, learned.limit_field
                    ));
                }
                return true;
            }
            return false;
        }
        if with.dropped.contains(&parameter) || !model.sampling.has(parameter) {
            return false;
        }
        if learned.dropped.insert(parameter) {
            say(&format!(
                "the server refuses {parameter}; it is left out from now on, and recorded"
            ));
        }
        true
    }

    fn lose(&mut self, class: ErrorClass, message: &str) {
        *self.summary.failed.entry(class).or_default() += 1;
        self.shared.settings.progress.unanswered();
        self.lost += 1;
        if self.lost >= HOPELESS && !self.any_answer {
            self.stop(&format!("{} samples in a row failed: {message}", self.lost));
        }
    }

    /// Stops the model and keeps the first reason.
    fn stop(&mut self, reason: &str) {
        if self.summary.stopped.is_none() {
            self.summary.stopped = Some(reason.to_owned());
            let model = &self.shared.model.name;
            self.shared
                .settings
                .progress
                .say(&format!("{model}: stopped: {reason}"));
        }
        self.shared.dead.cancel();
    }
}

/// What the server said, and when an allowance is filled again.
fn reason(error: &ProviderError) -> String {
    match (error.resets, error.retry_after, error.class) {
        (Some(when), ..) => format!("{}; it is filled again {when}", error.message),
        (None, Some(wait), _) => {
            let until = Utc::now() + chrono::Duration::from_std(wait).unwrap_or_default();
            format!(
                "{}; the server asks to wait until {}",
                error.message,
                until.format("%Y-%m-%d %H:%M UTC")
            )
        }
        (None, None, ErrorClass::Quota) => format!(
            "{}; the server does not say when it is filled again: see the provider's console",
            error.message
        ),
        (None, None, _) => error.message.clone(),
    }
}

/// One try: waits for room in the budget, sends, stores what came, and says how it ended.
async fn attempt(shared: &Shared<'_>, mut sample: Box<Sample>) -> Result<Landed, RunError> {
    let settings = shared.settings;
    let with = shared.learned.borrow().clone();
    let landed = |sample, ended, headers, sent| Landed {
        sample,
        ended,
        headers,
        sent,
        with: with.clone(),
    };
    let queued = *sample.queued.get_or_insert_with(|| shared.began.elapsed());
    let conversation = match sample.job.conversation(shared.model.prefill) {
        Ok(conversation) => conversation,
        // The plan rendered every outline, so only a reply that breaks a template leads here.
        Err(error) => {
            let error = ProviderError::local(ErrorClass::BadRequest, error.to_string());
            return Ok(landed(sample, Ended::Failed(error), None, Instant::now()));
        }
    };
    let most = most(shared.model, &sample.job, &conversation);
    let reserved = tokio::select! {
        biased;
        () = shared.dead.cancelled() => return Ok(landed(sample, Ended::Stopped, None, Instant::now())),
        reserved = settings.budget.reserve(most) => reserved,
    };
    let Some(reserved) = reserved else {
        return Ok(landed(sample, Ended::NoMoney, None, Instant::now()));
    };
    let job = &sample.job;
    let sampling = job.sampling.without(&with.dropped);
    let flight = settings.progress.flight(|| {
        format!(
            "{}, {}, {}, {}",
            shared.model.name, job.task.name, job.item.id, job.condition
        )
    });
    let started = Started::now(queued, sample.waiting_since.elapsed());
    let sent = Instant::now();
    let request = shared.http.dialect.request(&Call {
        base_url: &shared.http.base_url,
        model_id: &shared.model.model_id,
        conversation: &conversation,
        sampling: &sampling,
        limit_field: with.limit_field,
        stream: shared.model.limits.stream.unwrap_or(false),
    });
    let (mut answer, headers, large) = tokio::select! {
        received = shared.http.client.send(request) => match received {
            Err(error) => (Err(error), None, None),
            Ok(received) => {
                let headers = received.response.headers.clone();
                let answer = read(shared.http.dialect.as_ref(), received.response);
                (answer, Some(headers), received.large)
            }
        },
        () = settings.abort.cancelled() => {
            reserved.settle(Charge::Unknown);
            return Ok(landed(sample, Ended::Stopped, None, sent));
        }
    };
    drop(flight);
    let attempt = Attempt {
        model: shared.model,
        job,
        conversation: &conversation,
        sampling: &sampling,
        dropped: &with.dropped,
    };
    let charge = charge(shared.model, &answer);
    // The next ask may repeat the reply.
    let text = match &answer {
        Ok(reply) if job.asks() > 1 => reply.text.clone(),
        _ => String::new(),
    };
    let record = attempt.record(&started, &mut answer);
    settings.recorder.append(sample.file, record).await?;
    drop(large);
    reserved.settle(charge);
    let ended = match answer {
        Ok(reply) => Ended::Answered {
            text,
            output: reply.tokens.output.map(|tokens| tokens.0),
        },
        Err(error) => Ended::Failed(error),
    };
    Ok(landed(sample, ended, headers, sent))
}

/// The most that a call can cost; nothing where no price is known.
fn most(model: &Model, job: &Job, conversation: &Conversation) -> Usd {
    model.price.as_ref().map_or_else(Usd::default, |price| {
        let limit = job.sampling.max_output_tokens.unwrap_or(u32::MAX);
        worst_case(price, conversation.len_bytes(), conversation.0.len(), limit)
    })
}

/// What an attempt cost: the larger of what was computed and what was reported.
fn charge(model: &Model, answer: &Result<Reply, ProviderError>) -> Charge {
    match answer {
        Ok(reply) => cost(model.price.as_ref(), reply, false)
            .max(reply.cost_reported)
            .map_or(Charge::Unknown, Charge::Known),
        Err(error) if error.maybe_billed => Charge::Unknown,
        Err(_) => Charge::Free,
    }
}
