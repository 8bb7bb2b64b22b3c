//! Tasks for judges: how their trials are drawn, and what their stored lines say of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Form, RenderError, Task};
use crate::bank::judge::{Anchors, Judged, Matter, Prior, Trials};
use crate::bank::{Subject, SubjectRef};
use crate::domain::{Condition, Judging, Prompt, Suite};
use crate::yaml::{Fields, Node, Place, Value};

impl Task {
    /// What is asked in a trial, from 1: the same, or with the numbers that were drawn for it.
    #[must_use]
    pub fn at_trial(&self, subject: &Subject, trial: u32) -> Subject {
        match (subject, &self.judges) {
            (Subject::Judged(judged), Some(trials)) => Subject::Judged(Arc::new(Judged {
                trial: Some(trials.trial(judged, trial)),
                ..Judged::clone(judged)
            })),
            (other, _) => other.clone(),
        }
    }

    /// Trials of a condition where each prompt is asked so many times: earlier scores that take turns are shown as often
    /// each.
    #[must_use]
    pub fn trials(&self, condition: Condition, epochs: u32) -> u32 {
        let drawn = self
            .judges
            .as_ref()
            .filter(|_| condition.is_drawn(self.suite));
        drawn.map_or(epochs, |trials| epochs.saturating_mul(trials.for_one()))
    }

    /// Whether the earlier scores and the digits of the task lie on the scale of a text's rubric.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn fits(&self, judged: &Judged) -> Result<(), String> {
        let scale = judged.rubric.scale;
        let is_text = matches!(&*judged.matter, Matter::Text(_));
        if is_text && self.targets.is_some() && (scale.from < 0.0 || scale.to > 9.0) {
            return Err(format!(
                "task `{}` looks at one digit, which does not tell the scores from {} to {} apart: ask for scores in words with --task judge",
                self.name, scale.from, scale.to
            ));
        }
        let values = match self.judges.as_ref().map(|trials| &trials.anchors) {
            Some(Anchors::Values(values)) => values.as_slice(),
            _ => &[],
        };
        match values.iter().find(|value| scale.clip(**value) != **value) {
            Some(value) => Err(format!(
                "task `{}` shows the earlier score {value}, which lies off the scale from {} to {}: write a task of your own with anchors on it",
                self.name, scale.from, scale.to
            )),
            None => Ok(()),
        }
    }

    /// What the line of a trial says; `None` of other tasks.
    #[must_use]
    pub fn judging(
        &self,
        subject: SubjectRef<'_>,
        condition: Condition,
        wording: Option<Arc<str>>,
    ) -> Option<Judging> {
        let (SubjectRef::Judged(judged), Some(trials)) = (subject, &self.judges) else {
            return None;
        };
        let shown = judged
            .trial
            .as_ref()
            .filter(|_| condition.is_drawn(self.suite));
        let prior = judged.trial.as_ref().and_then(|trial| match &trial.prior {
            Prior::Label(label) => Some(Arc::clone(label)),
            Prior::Score { .. } => None,
        });
        Some(Judging {
            category: judged.category().into(),
            strategy: Arc::clone(&trials.strategy),
            design: trials.design(&judged.rubric),
            standard: judged.standard(),
            attempt: shown.map(|trial| trial.attempt),
            prior,
            earlier_error: judged.earlier_error(),
            truth: judged.truth().cloned(),
            wording,
            run: None,
        })
    }

    /// Hash over the prompts of what is judged under all conditions, with the same numbers in each.
    ///
    /// # Errors
    /// A prompt that cannot be rendered.
    pub fn wording(&self, judged: &Judged, form: Form) -> Result<Option<Arc<str>>, RenderError> {
        let Some(trials) = &self.judges else {
            return Ok(None);
        };
        let stand_in = Judged {
            trial: Some(trials.stand_in(judged)),
            ..judged.clone()
        };
        let mut hashes = BTreeMap::new();
        for condition in &self.conditions {
            let outline = self.outline(&stand_in, *condition, form)?;
            hashes.insert(*condition, Prompt::from(outline).hash);
        }
        let text = serde_json::to_string(&hashes).unwrap_or_default();
        Ok(Some(blake3::hash(text.as_bytes()).to_hex()[..32].into()))
    }
}

/// `{of: texts, anchors: below_threshold, attempts: [1, 2], seed: 42, strategy: none}`.
pub(super) fn read_judges(root: &mut Fields<'_, '_>, suite: Suite) -> Option<Trials> {
    let at = root.at();
    let judges = root.nested("judges", |fields| {
        let of_messages = match fields.required("of")?.text.as_str() {
            "texts" => false,
            "messages" => true,
            other => {
                let at = fields.at();
                let message = format!("there is nothing to be judged called `{other}`");
                fields.fault("of", at, message, "it can be texts or messages");
                return None;
            }
        };
        let anchors = match fields.node("anchors") {
            None if of_messages => Anchors::Label,
            Some(node) if of_messages => {
                let at = node.at;
                let message = "the earlier verdict on a message is a label";
                fields.fault("anchors", at, message, "leave the line out");
                return None;
            }
            None => Anchors::BelowThreshold,
            Some(node) => read_anchors(fields, node)?,
        };
        let mut attempts = Vec::new();
        for scalar in fields.scalars("attempts") {
            match scalar.text.parse::<u32>() {
                Ok(attempt) if attempt > 0 => attempts.push(attempt),
                _ => attempt_fault(fields, scalar.at, &scalar.text),
            }
        }
        Some(Trials {
            anchors,
            attempts,
            seed: fields.count("seed").unwrap_or(42),
            strategy: fields
                .scalar("strategy")
                .map_or_else(|| "none".into(), |strategy| strategy.text.into()),
        })
    });
    if suite == Suite::Judge && judges.is_none() {
        root.fault(
            "judges",
            at,
            "is missing",
            "say what is judged, such as judges: {of: texts, anchors: below_threshold, attempts: [1, 2, 3, 4]}",
        );
    }
    judges.flatten().filter(|_| suite == Suite::Judge)
}

fn attempt_fault(fields: &mut Fields<'_, '_>, at: Place, text: &str) {
    let message = format!("`{text}` is no number of an attempt");
    fields.fault("attempts", at, message, "whole numbers from 1");
}

fn read_anchors(fields: &mut Fields<'_, '_>, node: &Node) -> Option<Anchors> {
    const MEND: &str =
        "write below_threshold, whole_scale or a list of scores such as [1, 2, 3, 3.9]";
    match &node.value {
        Value::Text { text, .. } if text == "below_threshold" => Some(Anchors::BelowThreshold),
        Value::Text { text, .. } if text == "whole_scale" => Some(Anchors::WholeScale),
        Value::List(nodes) if !nodes.is_empty() => {
            let number = |node: &Node| match &node.value {
                Value::Text { text, .. } => {
                    text.parse().ok().filter(|value: &f64| value.is_finite())
                }
                _ => None,
            };
            let values: Option<Vec<f64>> = nodes.iter().map(number).collect();
            let Some(values) = values else {
                fields.fault("anchors", node.at, "a score is a number", MEND);
                return None;
            };
            let shown: BTreeSet<String> =
                values.iter().map(|value| format!("{value:.2}")).collect();
            let plain = values
                .iter()
                .all(|value| (value * 100.0).fract().abs() < 1e-6);
            if shown.len() < values.len() || !plain {
                let message =
                    "a score stands here twice, or has more than the two decimals that are shown";
                fields.fault("anchors", node.at, message, MEND);
            }
            Some(Anchors::Values(values))
        }
        _ => {
            fields.fault(
                "anchors",
                node.at,
                "does not say which scores are shown",
                MEND,
            );
            None
        }
    }
}
