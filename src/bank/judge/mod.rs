//! What judges are given: texts with their rubrics, messages with their labels, and the earlier verdicts beside them.

mod load;
mod trial;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Condition, ItemId, Scale, Standard};

pub use load::{Own, load_rubric, load_texts};
pub use trial::{Anchors, Prior, Trial, Trials};

/// The shipped rubric, texts and messages, and the names to show for them.
#[must_use]
pub fn built_in() -> [(&'static str, &'static str); 3] {
    [
        (
            "judge/rubric.yaml (built in)",
            include_str!("../../../judge/rubric.yaml"),
        ),
        (
            "judge/texts.yaml (built in)",
            include_str!("../../../judge/texts.yaml"),
        ),
        (
            "judge/messages.yaml (built in)",
            include_str!("../../../judge/messages.yaml"),
        ),
    ]
}

/// By what is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Rubric {
    /// Scores that can be given.
    pub scale: Scale,
    /// The lowest score that accepts a text.
    pub threshold: f64,
    /// What parts of the scale are called; may be empty.
    pub bands: String,
    /// Standing instructions of a judge of texts.
    pub system: String,
    /// What counts, by category; `default` for those without one of their own.
    pub rubrics: BTreeMap<String, String>,
    /// How messages are labelled.
    pub labelling: Labelling,
}

/// How messages are labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelling {
    /// Standing instructions of a judge of messages.
    pub system: String,
    /// What decides between labels.
    pub guide: String,
    /// The labels and what each means, in order.
    pub labels: Vec<(Arc<str>, String)>,
}

impl Rubric {
    /// What counts for a category.
    #[must_use]
    pub fn of(&self, category: &str) -> &str {
        let own = self.rubrics.get(category);
        own.or_else(|| self.rubrics.get("default"))
            .map_or("", String::as_str)
    }
}

/// A text with the one answer that is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Its name.
    pub id: ItemId,
    /// Kind of text.
    pub category: Arc<str>,
    /// What was asked for.
    pub assignment: String,
    /// The answer.
    pub answer: String,
}

/// A message with its right label.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its name.
    pub id: ItemId,
    /// What it says.
    pub text: String,
    /// The right label.
    pub truth: Arc<str>,
    /// The label that it was given earlier, right or wrong.
    pub prior: Option<Arc<str>>,
}

/// What is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Matter {
    /// A text, by a score.
    Text(Text),
    /// A message, by a label.
    Message(Message),
}

/// A matter with its rubric, and the numbers of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What is judged.
    pub matter: Arc<Matter>,
    /// By what.
    pub rubric: Arc<Rubric>,
    /// What a block beside it says; `None` before a trial is chosen.
    pub trial: Option<Trial>,
}

impl Judged {
    /// The name of the matter.
    #[must_use]
    pub fn id(&self) -> &ItemId {
        match &*self.matter {
            Matter::Text(text) => &text.id,
            Matter::Message(message) => &message.id,
        }
    }

    /// Kind of matter.
    #[must_use]
    pub fn category(&self) -> &str {
        match &*self.matter {
            Matter::Text(text) => &text.category,
            Matter::Message(_) => "messages",
        }
    }

    /// By what a verdict is judged in turn.
    #[must_use]
    pub fn standard(&self) -> Standard {
        match &*self.matter {
            Matter::Text(_) => Standard::Score {
                scale: self.rubric.scale,
                threshold: self.rubric.threshold,
            },
            Matter::Message(_) => {
                let labels = self.rubric.labelling.labels.iter();
                Standard::Label(labels.map(|(name, _)| Arc::clone(name)).collect())
            }
        }
    }

    /// The right label of a message.
    #[must_use]
    pub fn truth(&self) -> Option<&Arc<str>> {
        match &*self.matter {
            Matter::Text(_) => None,
            Matter::Message(message) => Some(&message.truth),
        }
    }

    /// Whether it was labelled wrongly before.
    #[must_use]
    pub fn earlier_error(&self) -> bool {
        match &*self.matter {
            Matter::Text(_) => false,
            Matter::Message(message) => message
                .prior
                .as_ref()
                .is_some_and(|prior| *prior != message.truth),
        }
    }

    /// Whether it is asked under a condition. What was labelled rightly has nothing to be corrected.
    #[must_use]
    pub fn asks_under(&self, condition: Condition) -> bool {
        match &*self.matter {
            Matter::Text(_) => true,
            Matter::Message(_) => condition != Condition::C1 || self.earlier_error(),
        }
    }

    /// The number that a condition shows of the trial.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<f64> {
        match (&self.trial.as_ref()?.prior, condition) {
            (Prior::Score { value, .. }, Condition::C2 | Condition::Control) => Some(*value),
            _ => None,
        }
    }
}

/// Everything that can be judged; names are unique among texts and among messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matters {
    /// Texts.
    pub texts: Vec<Arc<Judged>>,
    /// Messages.
    pub messages: Vec<Arc<Judged>>,
}

impl Matters {
    /// Those that a task asks about.
    #[must_use]
    pub fn of(&self, trials: &Trials) -> &[Arc<Judged>] {
        if trials.anchors == Anchors::Label {
            &self.messages
        } else {
            &self.texts
        }
    }
}
