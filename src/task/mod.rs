//! Tasks: YAML files that say how the anchor is put and how a reply is read.
//!
//! A task renders an item under a condition to a conversation; it knows nothing of models. The five tasks of the
//! wheel are compiled in; files of a `tasks/` folder in the working folder are added, and replace those of the same
//! name.

mod load;
mod render;
mod source;

pub use load::load;
pub use render::{RenderError, reply_stand_in};
pub use source::{TaskFile, TaskIoError, built_in, read_folder};

use crate::domain::{Condition, Role, TaskName};

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
    pub suite: String,
    /// The conditions asked, in order.
    pub conditions: Vec<Condition>,
    /// Messages and asks in order; the last step is an ask.
    pub steps: Vec<Step>,
    /// The start of the reply that models with `prefill: true` are given at the last ask.
    pub prefill: Option<String>,
    /// Whether one line is asked for: such replies count for tokens per one-line answer.
    pub one_line: bool,
    environment: minijinja::Environment<'static>,
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
}

impl Task {
    /// What each ask is read for, in order.
    pub fn asks(&self) -> impl Iterator<Item = &[Part]> {
        self.steps.iter().filter_map(|step| match step {
            Step::Ask { reads } => Some(reads.as_slice()),
            Step::Say { .. } => None,
        })
    }

    /// Whether low and high anchors are compared, so that the cell has an index.
    #[must_use]
    pub fn is_anchored(&self) -> bool {
        self.conditions.contains(&Condition::Low) && self.conditions.contains(&Condition::High)
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
}
