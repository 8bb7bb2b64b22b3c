use std::sync::Arc;

use super::{Task, Tasks};
use crate::bank::cases::{Case, Cases};
use crate::bank::{Bank, SubjectRef};
use crate::domain::{ItemId, Suite, TaskName};

/// Everything that can be asked: tasks, and the questions and cases they ask about.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Questions.
    pub bank: Bank,
    /// Tasks of all suites.
    pub tasks: Tasks,
    /// Cases, by task.
    pub cases: Cases,
}

impl Catalog {
    /// What a task asks about under this id.
    #[must_use]
    pub fn subject(&self, task: &Task, item: &ItemId) -> Option<SubjectRef<'_>> {
        match task.suite {
            Suite::Wheel => self.bank.get(item).map(SubjectRef::Question),
            Suite::Anchorbench => self.case(&task.name, item).map(SubjectRef::Case),
        }
    }

    /// A case of a task.
    #[must_use]
    pub fn case(&self, task: &TaskName, item: &ItemId) -> Option<&Case> {
        let place = self.cases.place(task, item)?;
        self.cases.of(task).get(place).map(Arc::as_ref)
    }
}
