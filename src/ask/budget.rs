//! Money for the whole run: what was spent, and the most that calls in flight may still cost.

use std::sync::Mutex;

use rust_decimal::Decimal;
use tokio::sync::Notify;

use crate::domain::{Tokens, Usd};
use crate::model::Price;

/// A limit in US dollars over all calls of a run.
#[derive(Debug)]
pub struct Budget {
    limit: Option<Usd>,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    spent: Usd,
    unsure: Usd,
    reserved: Usd,
    reached: bool,
}

/// What a run cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Everything, with calls of unknown cost at the most they may have cost.
    pub total: Usd,
    /// The part of it that is such a guess.
    pub unsure: Usd,
    /// Whether a call was held back by the limit.
    pub reached: bool,
}

/// Room for one call. Dropped without an end, it is given back.
#[derive(Debug)]
pub struct Reserved<'a> {
    budget: &'a Budget,
    most: Usd,
}

/// What a call cost in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// So much.
    Known(Usd),
    /// Nobody knows: it counts as the most it may have cost.
    Unknown,
    /// Nothing.
    Free,
}

impl Budget {
    /// A budget; `None` counts and never stops.
    #[must_use]
    pub fn new(limit: Option<Usd>) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// What was spent so far.
    ///
    /// # Panics
    /// Never: nothing panics while it counts.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let state = self.state.lock().expect("no panic while counting");
        Spent {
            total: state.spent,
            unsure: state.unsure,
            reached: state.reached,
        }
    }

    /// Makes room for a call that may cost so much. Waits for calls in flight, which mostly cost less than their most;
    /// `None` if there is no room with none in flight.
    pub(super) async fn reserve(&self, most: Usd) -> Option<Reserved<'_>> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Registered before the look, so that no release between the two is missed.
            freed.as_mut().enable();
            if let Some(reserved) = self.reserve_now(most) {
                return Some(reserved);
            }
            {
                let mut state = self.state.lock().expect("no panic while counting");
                if state.reserved.0 <= Decimal::ZERO {
                    state.reached = true;
                    return None;
                }
            }
            freed.await;
        }
    }

    /// Makes room without waiting, if there is some.
    pub(super) fn reserve_now(&self, most: Usd) -> Option<Reserved<'_>> {
        let mut state = self.state.lock().expect("no panic while counting");
        let planned = state.spent + state.reserved + most;
        self.limit.is_none_or(|limit| planned <= limit).then(|| {
            state.reserved = state.reserved + most;
            Reserved { budget: self, most }
        })
    }

    /// Whether there is room for so much beside what is spent and reserved. Notes that the limit was reached if not.
    pub(super) fn has_room(&self, most: Usd) -> bool {
        let mut state = self.state.lock().expect("no panic while counting");
        let planned = state.spent + state.reserved + most;
        let fits = self.limit.is_none_or(|limit| planned <= limit);
        state.reached |= !fits;
        fits
    }

    /// Counts what was spent without a reservation.
    pub(super) fn add(&self, cost: Usd) {
        let mut state = self.state.lock().expect("no panic while counting");
        state.spent = state.spent + cost;
    }

    fn release(&self, most: Usd, charge: Charge) {
        let mut state = self.state.lock().expect("no panic while counting");
        state.reserved = Usd((state.reserved.0 - most.0).normalize());
        match charge {
            Charge::Known(cost) => state.spent = state.spent + cost,
            Charge::Unknown => {
                state.spent = state.spent + most;
                state.unsure = state.unsure + most;
            }
            Charge::Free => {}
        }
        drop(state);
        self.freed.notify_waiters();
    }
}

impl Reserved<'_> {
    /// The call has ended.
    pub(super) fn settle(self, charge: Charge) {
        self.budget.release(self.most, charge);
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.budget.release(self.most, Charge::Free);
    }
}

/// The most that a call can cost: a token for each byte of the prompt and a few for each message, and a full reply.
///
/// Byte-level tokenizers never make more tokens than bytes.
#[must_use]
pub fn worst_case(price: &Price, prompt_bytes: usize, messages: usize, limit: u32) -> Usd {
    let prompt = prompt_bytes as u64 + 32 * (messages as u64 + 1);
    Tokens(prompt) * price.input + Tokens(u64::from(limit)) * price.output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        Usd(text.parse().unwrap())
    }

    #[tokio::test]
    async fn calls_in_flight_count_at_their_most_and_then_at_their_cost() {
        let budget = Budget::new(Some(usd("1")));
        let first = budget.reserve(usd("0.6")).await.unwrap();
        let waiting = budget.reserve(usd("0.6"));
        tokio::pin!(waiting);
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        first.settle(Charge::Known(usd("0.1")));
        let second = waiting.await.unwrap();
        drop(second);
        budget
            .reserve(usd("0.9"))
            .await
            .unwrap()
            .settle(Charge::Unknown);
        assert!(budget.reserve(usd("0.1")).await.is_none());
        assert_eq!(
            budget.spent(),
            Spent {
                total: usd("1"),
                unsure: usd("0.9"),
                reached: true
            }
        );
    }
}
