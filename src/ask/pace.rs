//! How fast one model is asked: limits a minute, pauses that the server asks for, calls in flight.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::time::Instant;

use crate::domain::SampleKey;
use crate::provider::Allowance;

/// Share of a minute's limit that may be started at once: late wake-ups are made up for, and no more.
const BURST: f64 = 1.0 / 600.0;

/// A limit of requests or tokens a minute.
#[derive(Debug)]
struct Rate {
    per_minute: NonZeroU32,
    burst: NonZeroU32,
    limiter: DefaultDirectRateLimiter,
}

impl Rate {
    fn new(per_minute: NonZeroU32, burst: NonZeroU32) -> Self {
        Self {
            per_minute,
            burst,
            limiter: RateLimiter::direct(Quota::per_minute(per_minute).allow_burst(burst)),
        }
    }

    /// Takes `n` permits, at most as many as the burst, or says how long to wait for them.
    fn take(&self, n: NonZeroU32) -> Result<(), Duration> {
        match self.limiter.check_n(n) {
            Ok(Ok(())) | Err(_) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(DefaultClock::default().now())),
        }
    }
}

/// The limits of one model.
#[derive(Debug, Default)]
pub(super) struct Pace {
    requests: Option<Rate>,
    tokens: Option<Rate>,
    /// Limits that the user gave stand; others follow the headers.
    fixed_requests: bool,
    fixed_tokens: bool,
    paused: Option<Instant>,
    /// Tokens of the next call that still wait for their permits; `None` before they are counted.
    owed: Option<u64>,
}

/// Some permits; at least one.
fn permits(n: f64) -> NonZeroU32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range first"
    )]
    let n = n.clamp(1.0, f64::from(u32::MAX)) as u32;
    NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN)
}

impl Pace {
    pub(super) fn new(requests: Option<NonZeroU32>, tokens: Option<NonZeroU32>) -> Self {
        let mut pace = Self {
            fixed_requests: requests.is_some(),
            fixed_tokens: tokens.is_some(),
            ..Self::default()
        };
        if let Some(limit) = requests {
            pace.limit_requests(limit);
        }
        if let Some(limit) = tokens {
            pace.limit_tokens(limit);
        }
        pace
    }

    fn limit_requests(&mut self, limit: NonZeroU32) {
        let known = self.requests.as_ref().map(|rate| rate.per_minute);
        if known != Some(limit) {
            let burst = permits(f64::from(limit.get()) * BURST);
            self.requests = Some(Rate::new(limit, burst));
        }
    }

    fn limit_tokens(&mut self, limit: NonZeroU32) {
        let known = self.tokens.as_ref().map(|rate| rate.per_minute);
        if known != Some(limit) {
            // A call may cost a good part of a minute's tokens; ten seconds' worth may start at once.
            let burst = permits(f64::from(limit.get()) / 6.0);
            self.tokens = Some(Rate::new(limit, burst));
        }
    }

    /// Takes the leave for one call of so many tokens, or says how long to wait for it.
    pub(super) fn take(&mut self, tokens: u64) -> Result<(), Duration> {
        if let Some(until) = self.paused {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Err(left);
            }
            self.paused = None;
        }
        if let Some(rate) = &self.tokens {
            let owed = self.owed.get_or_insert(tokens);
            // More than may start at once is paid in parts, so that a large call waits for all of its tokens.
            while let Some(part) = NonZeroU32::new(u32::try_from(*owed).unwrap_or(u32::MAX)) {
                let part = part.min(rate.burst);
                rate.take(part)?;
                *owed -= u64::from(part.get());
            }
        }
        if let Some(rate) = &self.requests {
            rate.take(NonZeroU32::MIN)?;
        }
        self.owed = None;
        Ok(())
    }

    /// Starts nothing for a while.
    pub(super) fn pause(&mut self, wait: Duration) {
        let until = Instant::now() + wait;
        self.paused = Some(self.paused.map_or(until, |known| known.max(until)));
    }

    /// Heeds the limits that a server tells in the headers of a response.
    pub(super) fn heed(&mut self, allowances: &[Allowance], max_wait: Duration) {
        for allowance in allowances {
            if let Some(limit) = allowance.per_minute().map(permits) {
                match (allowance.tokens, self.fixed_requests, self.fixed_tokens) {
                    (false, false, _) => self.limit_requests(limit),
                    (true, _, false) => {
                        // Of several limits of tokens the narrowest holds.
                        let known = self.tokens.as_ref().map(|rate| rate.per_minute);
                        if known.is_none_or(|known| limit < known) {
                            self.limit_tokens(limit);
                        }
                    }
                    _ => {}
                }
            }
            // Nothing left: the next call would be refused until the limit is whole again.
            if allowance.left.is_some_and(|left| left < 1.0)
                && let Some(wait) = allowance.resets_in.filter(|wait| *wait <= max_wait)
            {
                self.pause(wait);
            }
        }
    }
}

/// How many calls may be in flight: grows with every answer while answers do not slow down, is halved when the server
/// says "too many".
#[derive(Debug)]
pub(super) struct Window {
    size: f64,
    most: f64,
    /// Before the first cut it doubles with each round, then it grows by one a round.
    cut: Option<Instant>,
    /// Moving mean of the time of an answer, in seconds, and the smallest it was once it had settled.
    mean: Option<f64>,
    smallest: f64,
    answers: u32,
}

/// Answers after which their mean time says something.
const SETTLED: u32 = 16;

/// How fast the smallest mean is forgotten, per answer.
const DRIFT: f64 = 1.001;

/// A server that takes so many times longer only lets more calls queue up.
const SLOWER: f64 = 2.0;

/// One cut for all the calls that were in flight together.
const CUT_EVERY: Duration = Duration::from_secs(1);

impl Window {
    pub(super) fn new(start: usize, most: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "numbers of calls in flight")]
        let [start, most] = [start as f64, most as f64];
        Self {
            size: start.min(most).max(1.0),
            most: most.max(1.0),
            cut: None,
            mean: None,
            smallest: f64::INFINITY,
            answers: 0,
        }
    }

    pub(super) fn size(&self) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 1 up to the number it was made from"
        )]
        let size = self.size as usize;
        size
    }

    /// An answer came after this time.
    pub(super) fn grow(&mut self, took: Duration) {
        let took = took.as_secs_f64();
        let mean = self.mean.map_or(took, |mean| mean + (took - mean) / 8.0);
        self.mean = Some(mean);
        self.answers = self.answers.saturating_add(1);
        if self.answers < SETTLED {
            return;
        }
        // It drifts up, so that longer replies of a later task are no slower server for ever.
        self.smallest = (self.smallest * DRIFT).min(mean);
        // A hundredth of a second is noise of the network.
        if mean > SLOWER * self.smallest.max(0.01) {
            return;
        }
        let step = if self.cut.is_none() {
            1.0
        } else {
            1.0 / self.size
        };
        self.size = (self.size + step).min(self.most);
    }

    pub(super) fn shrink(&mut self) {
        let now = Instant::now();
        if self
            .cut
            .is_none_or(|cut| now.duration_since(cut) >= CUT_EVERY)
        {
            self.size = (self.size / 2.0).max(1.0);
            self.cut = Some(now);
        }
    }
}

/// Failure after failure without an answer: one call at a time is sent, at growing distances, until one is answered.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The samples that failed in a row: one that always fails is no outage.
    failed: HashSet<SampleKey>,
    since: Option<Instant>,
    probes: u32,
}

impl Outage {
    /// An answer ends it.
    pub(super) fn over(&mut self) {
        *self = Self::default();
    }

    /// Whether the model counts as out of order.
    pub(super) fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// How long it has lasted.
    pub(super) fn age(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Counts the failure of a call that was sent at `sent`; from `limit` samples in a row on it is an outage. Gives
    /// the wait before the next probe; calls that were in flight when it began add nothing to it.
    pub(super) fn failed(
        &mut self,
        sample: &SampleKey,
        sent: Instant,
        limit: usize,
    ) -> Option<Duration> {
        self.failed.insert(sample.clone());
        match self.since {
            None if self.failed.len() < limit.max(5) => return None,
            None => self.since = Some(Instant::now()),
            Some(since) if sent < since => return Some(Duration::ZERO),
            Some(_) => {}
        }
        let wait = Duration::from_secs(1 << self.probes.min(6)).min(Duration::from_mins(1));
        self.probes += 1;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;
    use crate::domain::{Conversation, Sampling};
    use crate::provider::{Headers, allowances};

    #[test]
    fn the_window_halves_once_a_round_and_grows_back() {
        let second = Duration::from_secs(1);
        let mut window = Window::new(8, 32);
        for _ in 0..SETTLED + 7 {
            window.grow(second);
        }
        assert_eq!(window.size(), 16);
        window.shrink();
        window.shrink();
        assert_eq!(window.size(), 8);
        for _ in 0..8 {
            window.grow(second);
        }
        assert_eq!(window.size(), 8);
        for _ in 0..400 {
            window.grow(second);
        }
        assert!(window.size() > 24 && window.size() <= 32);
    }

    #[test]
    fn the_window_stops_growing_where_answers_only_queue_up() {
        // A server that does one thing at a time: each answer waits for all before it.
        let mut window = Window::new(8, 64);
        for _ in 0..500 {
            window.grow(Duration::from_secs_f64(window.size));
        }
        assert!(window.size() <= 48, "{}", window.size());
    }

    #[test]
    fn limits_in_headers_set_the_pace_unless_the_user_did() {
        let headers = Headers(vec![
            ("x-ratelimit-limit-requests".into(), "600".into()),
            ("x-ratelimit-remaining-requests".into(), "599".into()),
            ("x-ratelimit-reset-requests".into(), "100ms".into()),
        ]);
        let max_wait = Duration::from_mins(5);
        let mut pace = Pace::default();
        pace.heed(&allowances(&headers, Utc::now()), max_wait);
        pace.take(1).unwrap();
        let wait = pace.take(1).unwrap_err();
        assert!(
            wait > Duration::from_millis(50) && wait <= Duration::from_millis(100),
            "{wait:?}"
        );
        let mut fixed = Pace::new(NonZeroU32::new(60), None);
        fixed.heed(&allowances(&headers, Utc::now()), max_wait);
        fixed.take(1).unwrap();
        assert!(fixed.take(1).unwrap_err() > Duration::from_millis(900));
    }

    #[test]
    fn a_limit_with_nothing_left_pauses_and_tokens_are_counted() {
        let headers = Headers(vec![
            ("anthropic-ratelimit-requests-remaining".into(), "0".into()),
            (
                "anthropic-ratelimit-requests-reset".into(),
                (Utc::now() + chrono::Duration::seconds(20)).to_rfc3339(),
            ),
        ]);
        let mut pace = Pace::default();
        pace.heed(&allowances(&headers, Utc::now()), Duration::from_mins(5));
        assert!(pace.take(1).unwrap_err() > Duration::from_secs(15));
        let mut pace = Pace::new(None, NonZeroU32::new(6000));
        pace.take(1000).unwrap();
        assert!(pace.take(500).unwrap_err() > Duration::from_secs(4));
        // A call above the burst of 1,000 is not cheaper than it is: 2,000 more tokens take 20 seconds.
        let mut pace = Pace::new(None, NonZeroU32::new(6000));
        let wait = pace.take(3000).unwrap_err();
        assert!(wait > Duration::from_secs(9), "{wait:?}");
        assert_eq!(pace.owed, Some(2000));
    }

    #[test]
    fn an_outage_begins_after_failures_in_a_row_and_ends_with_an_answer() {
        let mut outage = Outage::default();
        let sent = Instant::now();
        let key =
            |epoch| SampleKey::new("m", &Sampling::default(), &Conversation::default(), epoch);
        // One sample that always fails is none.
        assert!((0..20).all(|_| outage.failed(&key(1), sent, 8).is_none()));
        assert!((2..8).all(|n| outage.failed(&key(n), sent, 8).is_none()));
        assert_eq!(
            outage.failed(&key(8), sent, 8),
            Some(Duration::from_secs(1))
        );
        assert_eq!(outage.failed(&key(9), sent, 8), Some(Duration::ZERO));
        assert_eq!(
            outage.failed(&key(9), Instant::now(), 8),
            Some(Duration::from_secs(2))
        );
        assert!(outage.is_on());
        outage.over();
        assert!(!outage.is_on() && outage.failed(&key(1), sent, 8).is_none());
    }
}
