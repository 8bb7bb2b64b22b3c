//! Generated cases: a situation, five ratings on a scale from 0 to 100, and what they come to.
//!
//! `draw` makes the numbers, from a seed and in the order of the published benchmark; `wording` holds the sentences;
//! `check` looks a set through before anything is asked; `published` holds sets that come with their prompts.
//!
//! Source of the design: Borjigin, Hermann, Cyron & Aydin, `AnchorBench` (arXiv 2608.14320).

mod check;
mod draw;
mod published;
mod python;
mod source;
mod wording;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub use check::{CaseFault, check};
pub use draw::{
    Choices, Demonstration, Draw, Extra, ExtraKind, RATINGS, Size, Spec, Warmup, half_even,
};
pub use published::{PublishedSet, View};
pub use source::{WordingFile, built_in_wording, read_wording};
pub use wording::{Domain, Wording, load_wording};

use crate::domain::{Condition, ItemId, Side, TaskName};

/// How much evidence there is, and whether it agrees.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    strum::Display,
    strum::EnumIter,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Difficulty {
    /// Five ratings close together.
    Easy,
    /// Three of five ratings, further apart, one of them turned around.
    Hard,
}

/// What scoring needs to know of a case.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// Domain.
    pub domain: Arc<str>,
    /// Difficulty.
    pub difficulty: Difficulty,
    /// Distance of the anchors from the middle before they are clipped to the scale; `None` where anchors are not
    /// drawn.
    pub offset: Option<u8>,
    /// The level that the ratings were drawn around, 0 to 100; `None` if that is not known.
    #[serde(default)]
    pub theta: Option<f64>,
    /// What the evidence comes to, 0 to 100.
    pub gold: f64,
    /// Ratings that the prompts show; `None` if that is not known.
    pub shown: Option<u8>,
}

impl Facts {
    /// Takes over what it does not know yet, and says whether the two agree on the rest.
    #[must_use]
    pub fn learn(&mut self, other: &Self) -> bool {
        let known = |facts: &Self, further: &Self| Self {
            theta: facts.theta.or(further.theta),
            shown: facts.shown.or(further.shown),
            ..facts.clone()
        };
        let agree = known(self, other) == known(other, self);
        *self = known(self, other);
        agree
    }
}

/// One case of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Id, unique within the task.
    pub id: ItemId,
    /// What scoring needs.
    pub facts: Facts,
    /// Where the prompts come from.
    pub content: Content,
}

/// Where the prompts of a case come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// The task's templates, from these numbers and the wording of this domain.
    Drawn(Box<Draw>, Arc<Domain>),
    /// They came with the case, one for each condition.
    Published(BTreeMap<Condition, View>),
}

impl Case {
    /// Whether there is a prompt for it under a condition.
    #[must_use]
    pub fn asks_under(&self, condition: Condition) -> bool {
        match &self.content {
            Content::Drawn(..) => true,
            Content::Published(views) => views
                .get(&condition)
                .is_some_and(|view| !view.stages.is_empty()),
        }
    }

    /// Whether an answer under a condition is missed: there is a prompt for it, or no prompt of the case is known.
    #[must_use]
    pub fn is_wanted_under(&self, condition: Condition) -> bool {
        let known = match &self.content {
            Content::Drawn(..) => true,
            Content::Published(views) => views.values().any(|view| !view.stages.is_empty()),
        };
        !known || self.asks_under(condition)
    }

    /// The number that stands in the prompt under a condition. `None` where none does, or where it is a reply of the
    /// model.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<f64> {
        match &self.content {
            Content::Drawn(draw, _) => {
                let (_, side) = condition.anchored()?;
                let (low, high) = draw.anchors?;
                Some(f64::from(match side {
                    Side::Low => low,
                    Side::High => high,
                }))
            }
            Content::Published(views) => views.get(&condition)?.anchor,
        }
    }
}

/// The cases of every task that has some.
#[derive(Debug, Clone, Default)]
pub struct Cases {
    of_task: BTreeMap<TaskName, Vec<Arc<Case>>>,
    places: HashMap<TaskName, HashMap<ItemId, usize>>,
}

impl Cases {
    /// Adds the cases of a task.
    pub fn insert(&mut self, task: TaskName, cases: Vec<Arc<Case>>) {
        let places = cases.iter().enumerate();
        let places = places
            .map(|(place, case)| (case.id.clone(), place))
            .collect();
        self.places.insert(task.clone(), places);
        self.of_task.insert(task, cases);
    }

    /// All cases of a task, in order.
    #[must_use]
    pub fn of(&self, task: &TaskName) -> &[Arc<Case>] {
        self.of_task.get(task).map_or(&[], Vec::as_slice)
    }

    /// The place of a case among those of its task.
    #[must_use]
    pub fn place(&self, task: &TaskName, item: &ItemId) -> Option<usize> {
        self.places.get(task)?.get(item).copied()
    }
}
