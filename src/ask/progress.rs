//! What a person sees while a run goes on. To stderr, and only on a terminal.

use std::io::Write;
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts of a run, shown as a bar.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    answered: u64,
    unanswered: u64,
    retries: u64,
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
        let progress = Self {
            bar,
            counts: Mutex::default(),
        };
        progress.show(|_| ());
        progress
    }

    fn show(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().expect("no panic while counting");
        change(&mut counts);
        self.bar.set_message(format!(
            "{} answered, {} failed, {} retries",
            counts.answered, counts.unanswered, counts.retries
        ));
    }

    pub(super) fn answered(&self) {
        self.show(|counts| counts.answered += 1);
        self.bar.inc(1);
    }

    pub(super) fn unanswered(&self) {
        self.show(|counts| counts.unanswered += 1);
        self.bar.inc(1);
    }

    pub(super) fn retrying(&self) {
        self.show(|counts| counts.retries += 1);
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
