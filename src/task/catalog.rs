use std::sync::Arc;

use super::{Task, Tasks};
use crate::bank::cases::{Case, Cases};
use crate::bank::judge::{Judged, Matters};
use crate::bank::stimuli::Stimuli;
use crate::bank::{Bank, Subject};
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
    /// Stimuli.
    pub stimuli: Stimuli,
    /// Texts and messages to be judged.
    pub matters: Matters,
}

impl Catalog {
    /// What a task asks about under this id.
    #[must_use]
    pub fn subject(&self, task: &Task, item: &ItemId) -> Option<Subject> {
        match task.suite {
            Suite::Wheel => {
                let question = self.bank.get(item)?;
                Some(Subject::Question(Arc::new(question.clone())))
            }
            Suite::Anchorbench => {
                let place = self.cases.place(&task.name, item)?;
                let case = self.cases.of(&task.name).get(place)?;
                Some(Subject::Case(Arc::clone(case)))
            }
            Suite::Spinner => {
                let excerpt = self.stimuli.excerpt(item)?;
                Some(Subject::Excerpt(Arc::new(excerpt)))
            }
            Suite::Judge => {
                let mut judged = self.judged(task).iter();
                let judged = judged.find(|judged| judged.id() == item)?;
                Some(Subject::Judged(Arc::clone(judged)))
            }
        }
    }

    /// What a task for judges asks about.
    #[must_use]
    pub fn judged(&self, task: &Task) -> &[Arc<Judged>] {
        let trials = task.judges.as_ref();
        trials.map_or(&[], |trials| self.matters.of(trials))
    }

    /// A case of a task.
    #[must_use]
    pub fn case(&self, task: &TaskName, item: &ItemId) -> Option<&Case> {
        let place = self.cases.place(task, item)?;
        self.cases.of(task).get(place).map(Arc::as_ref)
    }
}
