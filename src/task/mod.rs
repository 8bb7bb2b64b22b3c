//! Tasks: YAML files that say how the anchor is put and how a reply is read.
//!
//! A task renders a question or a case under a condition to a conversation; it knows nothing of models. The tasks of all
//! suites are compiled in; files of a `tasks/` folder in the working folder are added, and replace those of the same
//! name. A file may hold variants of its task, which differ in some fields.

mod catalog;
mod check;
mod fields;
mod judging;
mod load;
mod names;
mod published;
mod render;
mod source;
mod steps;
mod targets;

pub use catalog::Catalog;
pub use check::check_prompts;
pub use load::load;
pub use published::{published_name, published_task};
pub use render::{RenderError, reply_stand_in};
pub use source::{TaskFile, TaskIoError, built_in, read_folder};
pub use targets::{Grid, Targets};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bank::cases::Spec;
use crate::bank::judge::Trials;
use crate::domain::{Condition, Role, Suite, TaskName};

/// One task, ready to render.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its name on the command line and in the store.
    pub name: TaskName,
    /// Its name on boards.
    pub title: String,
    /// One sentence: what stands before the question.
    pub about: String,
    /// The family it belongs to.
    pub suite: Suite,
    /// The task that it is a variant of. Variants are asked only if they are named.
    pub variant_of: Option<TaskName>,
    /// The conditions asked, in order.
    pub conditions: Vec<Condition>,
    /// Messages and asks in order; under every condition the last step taken is an ask.
    pub steps: Vec<Step>,
    /// The start of the reply that models with `prefill: true` are given where a number is asked for.
    pub prefill: Option<String>,
    /// Whether the estimate is reasoned out, so that its reply has no given start.
    pub reasons: bool,
    /// Whether one line is asked for: such replies count for tokens per one-line answer.
    pub one_line: bool,
    /// The cases it asks about; `None` if it asks about something else.
    pub cases: Option<Spec>,
    /// How the trials of a judge are drawn; `None` if it is no task for judges.
    pub judges: Option<Trials>,
    /// Repetitions of each prompt unless the command asks for more.
    pub epochs: u32,
    /// Sampling that the task prescribes in place of the model's.
    pub sampling: Prescribed,
    /// Answers whose probabilities are asked for in place of a reply.
    pub targets: Option<Targets>,
    /// Lists of sentences of its own, of which each case takes one.
    own: BTreeMap<String, Vec<String>>,
    /// Values for the templates.
    with: BTreeMap<String, minijinja::Value>,
    /// Which steps are taken.
    taken: BTreeMap<(Condition, bool), Vec<bool>>,
    /// Compiled templates; variants that change no message share those of their task.
    environment: Arc<minijinja::Environment<'static>>,
}

/// Sampling that a task prescribes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prescribed {
    /// Softmax temperature.
    pub temperature: Option<f64>,
    /// Nucleus mass.
    pub top_p: Option<f64>,
}

/// What a model can be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Form {
    /// The start of its reply.
    pub prefill: bool,
    /// Calls of tools with their results, as messages of their own; else they are told in the text.
    pub tools: bool,
}

/// One step of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Say something; the text is a template.
    Say {
        /// Who speaks.
        role: Role,
        /// Name of the compiled template.
        template: String,
    },
    /// The model calls a tool, and gets its output; only where the model takes calls.
    Call {
        /// Name of the tool.
        tool: String,
        /// Names of the compiled templates: what is said before the call, its arguments, its output.
        templates: [String; 3],
    },
    /// Let the model speak, and read these parts of its reply.
    Ask {
        /// What the reply is read for.
        reads: Vec<Part>,
    },
}

/// A part that a reply is read for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Part {
    /// The number.
    Estimate,
    /// More or less than the anchor.
    Comparison,
    /// The number that is the anchor of the later estimate.
    Anchor,
    /// A number that the model is asked to look at once more.
    Draft,
    /// A JSON object with a score or a label.
    Verdict,
}

impl Task {
    /// What each ask under a condition is read for, in order.
    pub fn asks(&self, condition: Condition) -> impl Iterator<Item = &[Part]> {
        self.steps_of(condition, false)
            .filter_map(|step| match step {
                Step::Ask { reads } => Some(reads.as_slice()),
                Step::Say { .. } | Step::Call { .. } => None,
            })
    }

    /// How many replies a condition needs.
    #[must_use]
    pub fn turns(&self, condition: Condition) -> usize {
        self.asks(condition).count()
    }

    /// How many replies the longest condition needs.
    #[must_use]
    pub fn most_turns(&self) -> usize {
        let turns = self
            .conditions
            .iter()
            .map(|condition| self.turns(*condition));
        turns.max().unwrap_or(0)
    }

    /// Calls that one item takes, over all conditions.
    #[must_use]
    pub fn calls_for_one(&self) -> usize {
        let turns = self
            .conditions
            .iter()
            .map(|condition| self.turns(*condition));
        turns.sum()
    }

    /// Whether any reply is read for this part.
    #[must_use]
    pub fn reads(&self, part: Part) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Ask { reads } if reads.contains(&part)))
    }

    /// The ask under a condition that is read for a part, from 1.
    #[must_use]
    pub fn turn_of(&self, condition: Condition, part: Part) -> Option<u32> {
        let place = self
            .asks(condition)
            .position(|reads| reads.contains(&part))?;
        u32::try_from(place + 1).ok()
    }

    /// What the last reply is read for.
    #[must_use]
    pub fn wanted(&self) -> Part {
        if self.suite == Suite::Judge {
            Part::Verdict
        } else {
            Part::Estimate
        }
    }

    /// Whether low and high anchors are compared, so that the cell has an index.
    #[must_use]
    pub fn is_anchored(&self) -> bool {
        self.conditions.contains(&Condition::Low) && self.conditions.contains(&Condition::High)
    }

    fn steps_of(&self, condition: Condition, tools: bool) -> impl Iterator<Item = &Step> {
        let taken = self.taken.get(&(condition, tools));
        self.steps
            .iter()
            .enumerate()
            .filter(move |(place, _)| taken.is_none_or(|taken| taken[*place]))
            .map(|(_, step)| step)
    }
}

/// All tasks in use; names are unique.
#[derive(Debug, Clone, Default)]
pub struct Tasks(pub Vec<Task>);

impl Tasks {
    /// The task of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Task> {
        self.0.iter().find(|task| task.name.as_str() == name)
    }

    /// All names, in board order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|task| task.name.as_str())
    }

    /// The tasks of a suite.
    #[must_use]
    pub fn of(&self, suite: Suite) -> Self {
        let tasks = self.0.iter().filter(|task| task.suite == suite);
        Self(tasks.cloned().collect())
    }
}
