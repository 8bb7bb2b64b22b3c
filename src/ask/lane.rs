//! One model asked over HTTP: at its pace, with retries, until every sample has an answer or a reason.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::num::NonZeroU32;

use chrono::Utc;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rust_decimal::Decimal;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{Ended, Landed, Sample, Shared, attempt};
use super::backend::Http;
use super::learned::{Learned, Lesson};
use super::pace::{Outage, Pace, Window};
use super::plan::{Job, form_of};
use super::queue::Queue;
use super::retry::{Action, action, attempts, backoff, wait};
use super::run::{ModelSummary, RunError, Settings};
use crate::domain::{ErrorClass, Parameter};
use crate::model::Model;
use crate::provider::ProviderError;

/// Samples lost without any answer after which a model counts as out of reach.
const HOPELESS: u32 = 3;

/// Bytes of a token of plain English, about.
const BYTES_A_TOKEN: usize = 4;

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
    /// Whether it ever answered: then failures at the start of a run are no sign that it is out of reach.
    pub heard_before: bool,
    /// The jobs, each with the place of its cell's file in the recorder.
    pub jobs: Vec<(usize, Job)>,
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
        stretch: Cell::new(Decimal::ONE),
        learned: RefCell::new(Learned::new(&lane.model, lane.dropped)),
    };
    let limits = &lane.model.limits;
    let (start, most) = match limits.concurrency {
        Some(concurrency) => (concurrency as usize, concurrency as usize),
        None => WINDOW,
    };
    let bytes: usize = lane
        .jobs
        .iter()
        .map(|(_, job)| job.sent_bytes(&job.outline))
        .sum();
    let prompt_tokens = (bytes / lane.jobs.len().max(1) / BYTES_A_TOKEN) as u64;
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
        heard_before: lane.heard_before,
        lost: 0,
        output: (0, 0),
        prompt_tokens,
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
    /// Whether an earlier run heard it.
    heard_before: bool,
    lost: u32,
    /// Sum and number of the output tokens seen.
    output: (u64, u64),
    /// Tokens of a prompt, about.
    prompt_tokens: u64,
    summary: ModelSummary,
}

impl Driver<'_> {
    async fn drive(&mut self) -> Result<(), RunError> {
        let shared = self.shared;
        let dead = &shared.dead;
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
        let limit = u64::from(self.shared.model.sampling.max_output_tokens.unwrap_or(0));
        let whole = self.shared.http.base_url.contains("api.openai.com");
        let (sum, n) = self.output;
        let reply = if whole {
            limit
        } else {
            sum.checked_div(n).unwrap_or(limit)
        };
        self.prompt_tokens + reply
    }

    fn settle(&mut self, landed: Landed) {
        let Landed {
            mut sample,
            ended,
            limits,
            sent,
            with,
        } = landed;
        self.pace.heed(&limits, self.shared.settings.max_wait);
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
                    _ if refuses_tools(error) && holds_calls(&sample.job, self.shared.model) => {
                        "; give the model tools: false in models.yaml, and the calls are told in text".to_owned()
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
            && let Some(pause) = self
                .outage
                .failed(&sample.job.key, sent, self.window.size())
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

    /// Heeds the refusal of a parameter. False if that cannot mend the call.
    fn learn(&mut self, parameter: Parameter, with: &Learned) -> bool {
        let model = self.shared.model;
        let mut learned = self.shared.learned.borrow_mut();
        let lesson = learned.learn(parameter, with, &model.sampling, model.provider.dialect);
        let what = match lesson {
            Lesson::Dropped => {
                format!("the server refuses {parameter}; it is left out from now on, and recorded")
            }
            Lesson::Renamed => format!(
                "the server refuses {}; {} is sent instead",
                with.limit_field, learned.limit_field
            ),
            Lesson::Known => return true,
            Lesson::Nothing => return false,
        };
        self.shared
            .settings
            .progress
            .say(&format!("{}: {what}", model.name));
        true
    }

    fn lose(&mut self, class: ErrorClass, message: &str) {
        *self.summary.failed.entry(class).or_default() += 1;
        self.shared.settings.progress.unanswered();
        self.lost += 1;
        // A server that is there and refuses these samples may take the rest, if it ever took any.
        let there = !matches!(class, ErrorClass::Connection | ErrorClass::Timeout);
        if self.lost >= HOPELESS && !self.any_answer && !(there && self.heard_before) {
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

/// Whether a refusal is about tools.
fn refuses_tools(error: &ProviderError) -> bool {
    let said = error.message.to_lowercase();
    matches!(
        error.class,
        ErrorClass::BadParameter | ErrorClass::BadRequest
    ) && (said.contains("tool") || said.contains("function call"))
}

fn holds_calls(job: &Job, model: &Model) -> bool {
    let prompt = job.prompt(form_of(model));
    prompt.is_ok_and(|prompt| prompt.calls().next().is_some())
}

/// What the server said, and when an allowance is filled again.
fn reason(error: &ProviderError) -> String {
    match (error.resets, error.retry_after, error.class) {
        (Some(when), ..) => format!("{}; it is filled again {when}", error.message),
        (None, Some(wait), _) => {
            let until = chrono::Duration::from_std(wait)
                .ok()
                .and_then(|wait| Utc::now().checked_add_signed(wait))
                .map_or_else(
                    || "the end of days".to_owned(),
                    |until| until.format("%Y-%m-%d %H:%M UTC").to_string(),
                );
            format!("{}; the server asks to wait until {until}", error.message)
        }
        (None, None, ErrorClass::Quota) => format!(
            "{}; the server does not say when it is filled again: see the provider's console",
            error.message
        ),
        (None, None, _) => error.message.clone(),
    }
}
