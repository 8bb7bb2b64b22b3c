//! One try at one ask over HTTP: room in the budget, the call, the line of the store.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use rust_decimal::Decimal;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::backend::Http;
use super::budget::{Charge, worst_case};
use super::learned::Learned;
use super::line::{Attempt, Started, cost};
use super::plan::{Job, form_of};
use super::run::{RunError, Settings};
use super::scoring;
use crate::domain::{Conversation, ErrorClass, Reply, Sampling, Scoring, Usd};
use crate::model::Model;
use crate::provider::{Allowance, Call, ProviderError, allowances, read};

/// What the calls in flight share.
pub(super) struct Shared<'a> {
    pub(super) model: &'a Model,
    pub(super) http: &'a Http,
    pub(super) settings: &'a Settings<'a>,
    pub(super) began: Instant,
    /// Set when no further call of this model can succeed.
    pub(super) dead: CancellationToken,
    /// How many times its worst case the dearest call so far cost, at least 1: some servers bill what no limit holds.
    pub(super) stretch: Cell<Decimal>,
    pub(super) learned: RefCell<Learned>,
}

/// A sample on its way.
pub(super) struct Sample {
    pub(super) file: usize,
    pub(super) job: Job,
    /// From the start of the run to the first time its turn came.
    pub(super) queued: Option<Duration>,
    pub(super) waiting_since: Instant,
    /// Failed tries at the open ask in this run.
    pub(super) tries: u32,
}

/// How a try ended.
pub(super) enum Ended {
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
pub(super) struct Landed {
    pub(super) sample: Box<Sample>,
    pub(super) ended: Ended,
    /// What the headers tell of the server's limits.
    pub(super) limits: Vec<Allowance>,
    pub(super) sent: Instant,
    pub(super) with: Learned,
}

/// One try: waits for room in the budget, sends, stores what came, and says how it ended.
pub(super) async fn attempt(
    shared: &Shared<'_>,
    mut sample: Box<Sample>,
) -> Result<Landed, RunError> {
    let settings = shared.settings;
    let with = shared.learned.borrow().clone();
    let landed = |sample, ended, limits, sent| Landed {
        sample,
        ended,
        limits,
        sent,
        with: with.clone(),
    };
    let queued = *sample.queued.get_or_insert_with(|| shared.began.elapsed());
    let prompt = match sample.job.prompt(form_of(shared.model)) {
        Ok(prompt) => prompt,
        // The plan rendered every outline, so only a reply that breaks a template leads here.
        Err(error) => {
            let error = ProviderError::local(ErrorClass::BadRequest, error.to_string());
            return Ok(landed(
                sample,
                Ended::Failed(error),
                Vec::new(),
                Instant::now(),
            ));
        }
    };
    let most = most(shared.model, &sample.job, &prompt);
    let most = Usd(most.0.saturating_mul(shared.stretch.get()));
    let reserved = if let Some(reserved) = settings.budget.reserve_now(most) {
        Some(reserved)
    } else {
        tokio::select! {
            biased;
            () = shared.dead.cancelled() => return Ok(landed(sample, Ended::Stopped, Vec::new(), Instant::now())),
            reserved = settings.budget.reserve(most) => reserved,
        }
    };
    let Some(reserved) = reserved else {
        return Ok(landed(sample, Ended::NoMoney, Vec::new(), Instant::now()));
    };
    let job = &sample.job;
    let sampling = job.sampling.without(&with.dropped);
    let flight = settings.progress.flight(|| {
        format!(
            "{}, {}, {}, {}",
            shared.model.name,
            job.task.name,
            job.item.id(),
            job.condition
        )
    });
    let started = Started::now(queued, sample.waiting_since.elapsed());
    let sent = Instant::now();
    let exchanged = tokio::select! {
        exchanged = exchange(shared, &prompt, job.scoring.as_deref(), &sampling, &with) => exchanged,
        () = settings.abort.cancelled() => {
            reserved.settle(Charge::Unknown);
            return Ok(landed(sample, Ended::Stopped, Vec::new(), sent));
        }
    };
    let (mut answer, limits, large) = exchanged;
    drop(flight);
    let attempt = Attempt {
        model: shared.model,
        job,
        prompt: &prompt,
        sampling: &sampling,
        dropped: &with.dropped,
    };
    let charge = charge(shared.model, &answer);
    if let Charge::Known(cost) = charge
        && cost > most
        && most.0 > Decimal::ZERO
    {
        let times = (cost.0 / most.0).saturating_mul(shared.stretch.get());
        shared.stretch.set(times);
    }
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
    Ok(landed(sample, ended, limits, sent))
}

/// One call: the reply or why there is none, the limits in the headers, and the leave to hold a large body.
async fn exchange(
    shared: &Shared<'_>,
    conversation: &Conversation,
    scoring: Option<&Scoring>,
    sampling: &Sampling,
    with: &Learned,
) -> (
    Result<Reply, ProviderError>,
    Vec<Allowance>,
    Option<OwnedSemaphorePermit>,
) {
    if let Some(scoring) = scoring {
        let (answer, limits) =
            scoring::score(shared.http, shared.model, conversation, scoring).await;
        return (answer, limits, None);
    }
    let Http {
        dialect,
        client,
        base_url,
    } = shared.http;
    let request = dialect.request(&Call {
        base_url,
        model_id: &shared.model.model_id,
        conversation,
        sampling,
        limit_field: with.limit_field,
        stream: shared.model.limits.stream.unwrap_or(false),
    });
    // A reply that may be longer than usual may take longer.
    let usual = shared.model.sampling.max_output_tokens.unwrap_or(1).max(1);
    let room = sampling.max_output_tokens.unwrap_or(usual).div_ceil(usual);
    match client.send(request, room.max(1)).await {
        Err(error) => (Err(error), Vec::new(), None),
        Ok(received) => {
            let limits = allowances(&received.response.headers, received.response.received);
            let mut answer = read(dialect.as_ref(), received.response);
            if let Ok(reply) = &mut answer {
                client.redact_reply(reply);
            }
            (answer, limits, received.large)
        }
    }
}

/// The most that a call can cost; nothing where no price is known.
fn most(model: &Model, job: &Job, conversation: &Conversation) -> Usd {
    model.price.as_ref().map_or_else(Usd::default, |price| {
        worst_case(
            price,
            job.sent_bytes(conversation),
            job.prompts() * conversation.0.len(),
            job.output_limit(u32::MAX),
        )
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
