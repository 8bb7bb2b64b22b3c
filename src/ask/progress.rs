//! What a person sees while a run goes on. To stderr: a bar on a terminal, a line a minute elsewhere.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is printed where there is no bar.
const LINE_EVERY: Duration = Duration::from_mins(1);

/// Counts of a run, shown as a bar.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    answered: u64,
    unanswered: u64,
    retries: u64,
    total: u64,
    next_flight: u64,
    flights: BTreeMap<u64, (Instant, String)>,
    line_due: Instant,
}

/// A call in flight; shown until it is dropped.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    progress: &'a Progress,
    number: u64,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.progress
            .change(|state| drop(state.flights.remove(&self.number)));
    }
}

impl Progress {
    /// A bar over `total` samples; hidden if `quiet` or stderr is no terminal.
    ///
    /// # Panics
    /// Never: the template is a literal.
    #[must_use]
    pub fn new(total: u64, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        bar.set_style(
            ProgressStyle::with_template("{bar:32} {pos}/{len} · {msg} · {elapsed}, {eta} to go")
                .expect("a literal template"),
        );
        Self {
            bar,
            quiet,
            state: Mutex::new(State {
                answered: 0,
                unanswered: 0,
                retries: 0,
                total,
                next_flight: 0,
                flights: BTreeMap::new(),
                line_due: Instant::now() + LINE_EVERY,
            }),
        }
    }

    /// Sets how many samples are to come.
    pub fn expect(&self, total: u64) {
        self.change(|state| state.total = total);
        self.bar.set_length(total);
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().expect("no panic while counting"))
    }

    pub(super) fn answered(&self) {
        self.change(|state| state.answered += 1);
        self.bar.inc(1);
    }

    pub(super) fn unanswered(&self) {
        self.change(|state| state.unanswered += 1);
        self.bar.inc(1);
    }

    pub(super) fn retrying(&self) {
        self.change(|state| state.retries += 1);
    }

    /// A call goes out.
    pub(super) fn flight(&self, what: impl FnOnce() -> String) -> Flight<'_> {
        let number = self.change(|state| {
            let number = state.next_flight;
            state.next_flight += 1;
            state.flights.insert(number, (Instant::now(), what()));
            number
        });
        Flight {
            progress: self,
            number,
        }
    }

    /// Shows where the run stands; called every second or so.
    pub(super) fn tick(&self) {
        let now = Instant::now();
        if !self.bar.is_hidden() {
            self.bar
                .set_message(self.change(|state| state.message(now)));
            self.bar.tick();
        } else if !self.quiet {
            let line = self.change(|state| {
                let due = now >= state.line_due;
                if due {
                    state.line_due = now + LINE_EVERY;
                }
                due.then(|| state.line(now))
            });
            if let Some(line) = line {
                self.say(&line);
            }
        }
    }

    /// Prints a line above the bar, or to stderr where there is no bar.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            let _ = writeln!(std::io::stderr(), "{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl State {
    fn message(&self, now: Instant) -> String {
        let mut message = format!(
            "{} answered, {} failed, {} retries, {} in flight",
            self.answered,
            self.unanswered,
            self.retries,
            self.flights.len()
        );
        if let Some((since, what)) = self.flights.values().min_by_key(|(since, _)| since) {
            let age = now.saturating_duration_since(*since).as_secs();
            message.push_str(&format!(", the oldest for {age} s ({what})"));
        }
        message
    }

    fn line(&self, now: Instant) -> String {
        let done = self.answered + self.unanswered;
        format!("{done} of {}: {}", self.total, self.message(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_call_in_flight_is_shown_with_its_age() {
        let progress = Progress::new(80, true);
        let first = progress.flight(|| "m, classic, everest-height, low".to_owned());
        let second = progress.flight(|| "m, classic, everest-height, high".to_owned());
        progress.answered();
        let later = Instant::now() + Duration::from_secs(48);
        let line = || progress.change(|state| state.line(later));
        assert_eq!(
            line(),
            "1 of 80: 1 answered, 0 failed, 0 retries, 2 in flight, the oldest for 48 s (m, classic, everest-height, low)"
        );
        drop(first);
        assert!(line().ends_with("the oldest for 48 s (m, classic, everest-height, high)"));
        drop(second);
        assert!(line().ends_with("0 in flight"));
    }
}
