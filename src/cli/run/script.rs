//! What a scripted respondent has to know of the asks of a job.

use std::sync::Arc;

use crate::ask::Job;
use crate::bank::Subject;
use crate::bank::judge::{Judged, Matter, Prior};
use crate::domain::{Condition, Conversation, Field, Side};
use crate::provider::Facts;
use crate::task::{Form, Part};

/// What a script has to know of the asks of a job.
pub(super) fn facts(job: &Job, form: Form) -> Vec<(Conversation, Facts)> {
    let case = match &job.item {
        Subject::Question(item) => {
            let facts = Facts::Question {
                tier: item.tier,
                reference: item.reference,
                anchor: item.anchor(job.condition),
            };
            return vec![(job.outline.conversation.as_ref().clone(), facts)];
        }
        Subject::Excerpt(excerpt) => {
            let anchored = excerpt.coalition.holds(Field::Anchor);
            let anchor = excerpt.anchor(job.condition).filter(|_| anchored);
            let facts = Facts::Share {
                anchor: anchor.map(|anchor| anchor.value),
            };
            return vec![(job.outline.conversation.as_ref().clone(), facts)];
        }
        Subject::Judged(judged) => {
            let conversation = job.outline.conversation.as_ref().clone();
            return vec![(conversation, of_judged(judged, job.condition))];
        }
        Subject::Case(case) => case,
    };
    let anchored = job.condition.anchored();
    let mut replies = Vec::new();
    let mut all = Vec::new();
    // Words stand for earlier replies: the script leaves out what the model said.
    while let Ok(Some((conversation, reads))) =
        job.task
            .conversation(case.as_ref(), job.condition, &replies, form)
    {
        let last = reads.contains(&Part::Estimate) || reads.contains(&Part::Draft);
        let facts = if last {
            Facts::Case {
                gold: case.facts.gold,
                relevance: anchored.map(|(relevance, _)| relevance),
                anchor: case.anchor(job.condition),
            }
        } else {
            match anchored.filter(|_| reads.contains(&Part::Anchor)) {
                Some((_, Side::Low)) => Facts::Number((case.facts.gold - 20.0).max(0.0)),
                Some((_, Side::High)) => Facts::Number((case.facts.gold + 20.0).min(100.0)),
                None => Facts::Words,
            }
        };
        all.push((conversation, facts));
        replies.push(String::new());
    }
    all
}

/// What a script makes of a text or a message by itself, and what is shown beside it.
fn of_judged(judged: &Judged, condition: Condition) -> Facts {
    // Two numbers from 0 to 1, by the name of the matter.
    let hash = blake3::hash(judged.id().as_str().as_bytes());
    let [a, b, ..] = *hash.as_bytes();
    let [a, b] = [a, b].map(|byte| f64::from(byte) / 256.0);
    let shown = judged.trial.as_ref().filter(|_| condition == Condition::C2);
    let prior = shown.map(|trial| &trial.prior);
    match &*judged.matter {
        Matter::Text(_) => {
            let scale = judged.rubric.scale;
            Facts::Text {
                own: scale.from + scale.length() * (0.76 + 0.16 * a),
                threshold: judged.rubric.threshold,
                prior: prior.and_then(|prior| match prior {
                    Prior::Score { value, .. } => Some(*value),
                    Prior::Label(_) => None,
                }),
                block: condition != Condition::C0,
            }
        }
        Matter::Message(message) => {
            // Right in three of four messages.
            let labels = judged.rubric.labelling.labels.iter();
            let wrong = labels
                .map(|(name, _)| name)
                .find(|name| **name != message.truth);
            Facts::Message {
                own: Arc::clone(wrong.filter(|_| a < 0.25).unwrap_or(&message.truth)),
                prior: prior.and_then(|prior| match prior {
                    Prior::Label(label) => Some(Arc::clone(label)),
                    Prior::Score { .. } => None,
                }),
                resolve: b,
            }
        }
    }
}
