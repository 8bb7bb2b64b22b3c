//! Stimuli: prompts of four fields that differ in one number, and the same with fields left out.
//!
//! Read from YAML, or from a table in the form of "Anchors in the Machine".

mod csv;
mod load;

use std::sync::Arc;

use crate::domain::{Coalition, Condition, Field, ItemId, Side};

pub use csv::{StimulusFault, load_csv};
pub use load::load;

/// The shipped stimuli and the name to show for them.
#[must_use]
pub fn built_in() -> (&'static str, &'static str) {
    (
        "stimuli/spinner.yaml (built in)",
        include_str!("../../../stimuli/spinner.yaml"),
    )
}

/// One question with a low and a high anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Stimulus {
    /// Its name: `V1-S`.
    pub id: ItemId,
    /// The set of anchors it belongs to: `S` or `D`.
    pub regime: Arc<str>,
    /// Whether it stands for the known effect and is left out of sums.
    pub control: bool,
    /// How the number came up; the number follows at once.
    pub scene: String,
    /// Whether the answer is more or less; the number follows at once.
    pub comparative: String,
    /// What is asked for.
    pub absolute: String,
    /// The anchors as they stand in the prompt, the lower one first.
    pub anchors: [Anchor; 2],
}

/// A number as it stands in a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Its characters.
    pub text: String,
    /// Its value.
    pub value: f64,
}

impl Anchor {
    fn new(text: &str) -> Option<Self> {
        let value = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())?;
        Some(Self {
            text: text.trim().to_owned(),
            value,
        })
    }
}

/// A stimulus with some of its fields left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt {
    /// `V1-S` of the whole, `V1-S:scene+anchor` of a part.
    pub id: ItemId,
    /// The whole.
    pub stimulus: Arc<Stimulus>,
    /// The fields that are left.
    pub coalition: Coalition,
}

impl Excerpt {
    /// The stimulus with these fields.
    #[must_use]
    pub fn new(stimulus: &Arc<Stimulus>, coalition: Coalition) -> Self {
        let id = match coalition {
            Coalition::FULL => stimulus.id.clone(),
            part => format!("{}:{part}", stimulus.id).as_str().into(),
        };
        Self {
            id,
            stimulus: Arc::clone(stimulus),
            coalition,
        }
    }

    /// The anchor of a condition, whether the prompt shows it or not.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<&Anchor> {
        let [low, high] = &self.stimulus.anchors;
        match condition.side()? {
            Side::Low => Some(low),
            Side::High => Some(high),
        }
    }

    /// The text of a field under a condition; empty if the field is left out.
    #[must_use]
    pub fn text(&self, field: Field, condition: Condition) -> &str {
        if !self.coalition.holds(field) {
            return "";
        }
        match field {
            Field::Scene => &self.stimulus.scene,
            Field::Comparative => &self.stimulus.comparative,
            Field::Absolute => &self.stimulus.absolute,
            Field::Anchor => self.anchor(condition).map_or("", |anchor| &anchor.text),
        }
    }
}

/// The stimuli in use; ids are unique.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stimuli(pub Vec<Arc<Stimulus>>);

impl Stimuli {
    /// Every stimulus with every choice of fields, the whole first.
    pub fn excerpts(&self) -> impl Iterator<Item = Excerpt> {
        self.0.iter().flat_map(|stimulus| {
            let mut coalitions: Vec<Coalition> = Coalition::all().collect();
            coalitions.reverse();
            coalitions
                .into_iter()
                .map(|coalition| Excerpt::new(stimulus, coalition))
        })
    }

    /// The stimulus of this name, or a part of it.
    #[must_use]
    pub fn excerpt(&self, id: &ItemId) -> Option<Excerpt> {
        self.excerpts().find(|excerpt| excerpt.id == *id)
    }
}

/// Two anchors, the lower one first.
fn in_order(anchors: Vec<Anchor>) -> Result<[Anchor; 2], String> {
    match <[Anchor; 2]>::try_from(anchors) {
        Ok([a, b]) if a.value < b.value => Ok([a, b]),
        Ok([a, b]) if b.value < a.value => Err(format!(
            "the low anchor {} is above the high one {}",
            a.text, b.text
        )),
        Ok([a, _]) => Err(format!("both anchors are {}", a.text)),
        Err(anchors) => Err(format!("there are {} anchors, not two", anchors.len())),
    }
}
