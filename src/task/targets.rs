//! Given answers, whose probabilities are asked for in place of a reply.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Task;
use crate::bank::{Item, SubjectRef};
use crate::domain::{Scoring, ScoringMode, plain, round_significant};
use crate::yaml::{Fields, Node, Value};

/// The answers of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// The same for every subject.
    Fixed(Arc<[Arc<str>]>),
    /// Numbers around the anchors of each question.
    Grid(Grid),
    /// The labels of a message, in quotes.
    Labels,
}

/// Numbers with two significant digits at equal ratios, from below the low anchor to above the high one.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// How many, before numbers that round to the same are dropped.
    pub points: u32,
    /// How many times below the low and above the high anchor it reaches.
    pub reach: f64,
    /// What closes an answer, so that 88 is not the beginning of 880.
    pub end: Cow<'static, str>,
}

/// Every task of the wheel whose replies can be begun for the model has a form by probability, with this grid.
pub(super) const GRID: Grid = Grid {
    points: 61,
    reach: 4.0,
    end: Cow::Borrowed("\n"),
};

impl Task {
    /// The answers that are to be scored after a prompt; `None` where a reply is asked for.
    #[must_use]
    pub fn scoring(&self, subject: SubjectRef<'_>, mode: ScoringMode) -> Option<Scoring> {
        let targets = match (self.targets.as_ref()?, subject) {
            (Targets::Fixed(targets), _) => Arc::clone(targets),
            (Targets::Grid(grid), SubjectRef::Question(item)) => grid.around(item),
            (Targets::Labels, SubjectRef::Judged(judged)) => {
                let labels = judged.rubric.labelling.labels.iter();
                let quoted = labels.map(|(name, _)| format!("\"{name}\"").into());
                quoted.collect()
            }
            (Targets::Grid(_) | Targets::Labels, _) => return None,
        };
        Some(Scoring { mode, targets })
    }
}

impl Grid {
    fn around(&self, item: &Item) -> Arc<[Arc<str>]> {
        let (low, high) = (
            item.anchors.low.get() / self.reach,
            item.anchors.high.get() * self.reach,
        );
        let steps = f64::from(self.points.max(2) - 1);
        let mut numbers: Vec<f64> = (0..self.points.max(2))
            .map(|step| low * (high / low).powf(f64::from(step) / steps))
            .map(|number| round_significant(number, 2))
            .collect();
        numbers.dedup();
        let texts = numbers.into_iter();
        texts
            .map(|number| format!("{}{}", plain(number), self.end).into())
            .collect()
    }
}

/// `[yes, no]`, `{from: 0, to: 100, text: "{n}%"}` or `{grid: 61, reach: 4, end: "."}`.
pub(super) fn read_targets(root: &mut Fields<'_, '_>) -> Option<Targets> {
    const MEND: &str = "write a list of answers, {from: 0, to: 100, text: \"{n}%\"}, {grid: 61} around the anchors of a question, or labels";
    if let Some(Node {
        value: Value::Text { text, .. },
        ..
    }) = root.node("targets")
        && text == "labels"
    {
        return Some(Targets::Labels);
    }
    let is_list = matches!(
        root.node("targets"),
        Some(Node {
            value: Value::List(_),
            ..
        })
    );
    if is_list {
        let texts: Vec<Arc<str>> = root
            .scalars("targets")
            .into_iter()
            .map(|scalar| scalar.text.into())
            .collect();
        let at = root.at();
        let distinct: BTreeSet<&str> = texts.iter().map(|text| text.trim()).collect();
        if distinct.len() < 2 {
            root.fault("targets", at, "fewer than two answers say nothing", MEND);
        } else if distinct.len() < texts.len() || distinct.contains("") {
            root.fault(
                "targets",
                at,
                "an answer is empty or stands here twice",
                MEND,
            );
        }
        return Some(Targets::Fixed(texts.into()));
    }
    let read = root.nested("targets", |fields| {
        let at = fields.at();
        if let Some(points) = fields.count("grid") {
            if !(3..=1001).contains(&points) {
                fields.fault("grid", at, "must be from 3 to 1001", "61 is a good number");
            }
            let reach = fields
                .number("reach")
                .map_or(GRID.reach, |(reach, _)| reach);
            if reach < 1.0 {
                fields.fault("reach", at, "must be 1 or more", "4 is a good number");
            }
            let end = fields.scalar("end").map_or(GRID.end, |end| end.text.into());
            return Some(Targets::Grid(Grid { points, reach, end }));
        }
        let (from, to) = (fields.count("from"), fields.count("to"));
        let text = fields
            .scalar("text")
            .map_or("{n}".to_owned(), |text| text.text);
        match (from, to) {
            (Some(from), Some(to)) if from < to && to - from <= 1000 && text.contains("{n}") => {
                let texts = (from..=to).map(|n| text.replace("{n}", &n.to_string()).into());
                Some(Targets::Fixed(texts.collect()))
            }
            (Some(from), Some(to)) => {
                let why = if from >= to {
                    "`from` must lie below `to`"
                } else if to - from > 1000 {
                    "more than 1001 answers are too many"
                } else {
                    "`text` must hold {n}, the place of the number"
                };
                fields.fault("targets", at, why, MEND);
                None
            }
            _ => {
                fields.fault("targets", at, "does not say which answers are scored", MEND);
                None
            }
        }
    });
    read.flatten()
}
