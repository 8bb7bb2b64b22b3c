//! Answers in the form of the published `results.jsonl`, read and written.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{At, Lines, Published, SetFault, difficulty, each, known, offset_of, on_scale, said};
use crate::bank::cases::{Facts, View, half_even};
use crate::domain::{
    Condition, Conversation, ErrorClass, ItemId, KeyBase, ModelName, Prompt, Role, Sampling,
    Status, TaskName,
};
use crate::store::{Record, RecordedError, Sent, Spot};

/// A line of `results.jsonl`; most of it may be absent. How a call ended and why it failed are ours.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ResultLine {
    model_id: Option<String>,
    model_slug: Option<String>,
    item_id: String,
    suite: String,
    domain: String,
    difficulty: String,
    condition: String,
    anchor_value: Option<f64>,
    y_star_evidence: f64,
    y_star_theta: Option<f64>,
    answer_int: Option<f64>,
    raw_text: Option<String>,
    stage1_answer: Option<f64>,
    stage1_raw_text: Option<String>,
    seed_idx: Option<u32>,
    status: Option<Status>,
    error: Option<RecordedError>,
}

/// What a line answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    model: ModelName,
    task: TaskName,
    item: ItemId,
    condition: Condition,
    epoch: u32,
}

/// A line that was understood.
struct Answer {
    place: Place,
    /// The number in the prompt.
    anchor: Option<f64>,
    /// Replies it takes.
    turns: u32,
    /// Those that are known, by turn.
    replies: BTreeMap<u32, String>,
}

/// An answer that was read before.
#[derive(Debug)]
pub(super) struct Before {
    file: String,
    line: usize,
    /// What was said, by turn; nothing of a failed call.
    replies: Option<BTreeMap<u32, String>>,
    attempt: u32,
}

impl Published {
    /// Reads answers as lines of the store; `model` is who answered where the file does not say.
    ///
    /// The numbers that a file read from the answers are not believed where the answer itself is there.
    pub fn results(
        &mut self,
        lines: Lines<'_>,
        model: &str,
        now: &str,
        mut take: impl FnMut(Record),
    ) -> Vec<SetFault> {
        let mut faults = Vec::new();
        each(lines, "an answer", &mut faults, |at, line: ResultLine| {
            let records = self.result(at, &line, model, now)?;
            records.into_iter().for_each(&mut take);
            Ok(())
        });
        faults
    }

    fn result(
        &mut self,
        at: At<'_>,
        line: &ResultLine,
        model_of_folder: &str,
        now: &str,
    ) -> Result<Vec<Record>, SetFault> {
        let (task, condition) = known(at, &line.suite, &line.condition)?;
        on_scale(at, "gold", line.y_star_evidence)?;
        if let Some(theta) = line.y_star_theta {
            on_scale(at, "theta", theta)?;
        }
        for anchor in [line.anchor_value, line.stage1_answer]
            .into_iter()
            .flatten()
        {
            on_scale(at, "anchor", anchor)?;
        }
        let item = ItemId::from(line.item_id.as_str());
        let facts = self.facts_of(at, line, &task, &item)?;
        // Replies of two turns say so by what the first one gave; of a control's first turn often nothing is kept, and of
        // one that failed neither.
        let anchored = condition.anchored().is_some();
        let first = line.stage1_answer.is_some() || line.stage1_raw_text.is_some();
        let is_history = task.as_str().split('-').next() == Some("history");
        let failed_first = anchored && is_history && line.anchor_value.is_none();
        let two = first || failed_first || condition == Condition::ControlTwostage;
        let named = line.anchor_value.filter(|_| !two);
        let anchor = named.or_else(|| self.set.anchor(&task, &item, condition));
        if anchored && !two && anchor.is_none() {
            return Err(at.fault(
                format!("the answer to `{item}` under {condition} names no anchor"),
                "write its anchor_value, or take the line out",
            ));
        }
        let turns = if two { 2 } else { 1 };
        let view = View {
            anchor,
            stages: Vec::new(),
            turns,
        };
        self.put(at, &task, item.clone(), condition, &facts, view)?;
        let model = line.model_id.as_deref().or(line.model_slug.as_deref());
        let model = model.unwrap_or(model_of_folder);
        if model.trim().is_empty() {
            return Err(at.fault(
                "the name of the model is empty",
                "write who answered, or leave model_id out: then --model or the name of the folder counts",
            ));
        }
        let said = |text: &Option<String>, number: Option<f64>| {
            let number = number.map(|number| number.to_string());
            text.clone().or(number).unwrap_or_default()
        };
        let mut replies = BTreeMap::new();
        if first {
            replies.insert(1, said(&line.stage1_raw_text, line.stage1_answer));
        }
        replies.insert(u32::from(turns), said(&line.raw_text, line.answer_int));
        let answer = Answer {
            place: Place {
                model: model.into(),
                task,
                item,
                condition,
                epoch: line.seed_idx.map_or(1, |index| index.saturating_add(1)),
            },
            anchor,
            turns: turns.into(),
            replies,
        };
        let mut texts = answer.replies.values();
        let failed = line.error.is_some() || texts.any(|text| text.starts_with(FAILED));
        let attempt = self.told(at, &answer, failed)?;
        Ok(attempt.map_or_else(Vec::new, |attempt| {
            self.records(at, line, &answer, attempt, now)
        }))
    }

    /// What is known of the case of an answer.
    fn facts_of(
        &self,
        at: At<'_>,
        line: &ResultLine,
        task: &TaskName,
        item: &ItemId,
    ) -> Result<Facts, SetFault> {
        let known = self.set.facts(task, item);
        let known = known.or_else(|| {
            let mut facts = self.specs.get(item)?.facts.clone();
            // Of partial evidence the prompts know how much of it they show.
            facts.shown = facts
                .shown
                .filter(|_| !task.as_str().starts_with("external-partial-"));
            Some(facts)
        });
        let Some(mut facts) = known else {
            return Ok(Facts {
                domain: line.domain.as_str().into(),
                difficulty: difficulty(at, &line.difficulty)?,
                offset: offset_of(&line.item_id),
                theta: line.y_star_theta,
                gold: line.y_star_evidence,
                shown: None,
            });
        };
        let theta = line.y_star_theta.or(facts.theta);
        facts.theta = facts.theta.or(theta);
        for (what, stated, known) in [
            ("gold", Some(line.y_star_evidence), Some(facts.gold)),
            ("theta", theta, facts.theta),
        ] {
            if stated != known {
                return Err(at.fault(
                    format!(
                        "the {what} of `{item}` is {}, but was {} before",
                        said(stated),
                        said(known)
                    ),
                    "the answers belong to another set: import them into a store of their own",
                ));
            }
        }
        Ok(facts)
    }

    /// The lines of the store, one a reply.
    fn records(
        &self,
        at: At<'_>,
        line: &ResultLine,
        answer: &Answer,
        attempt: u32,
        now: &str,
    ) -> Vec<Record> {
        let Place {
            model,
            task,
            item,
            condition,
            epoch,
        } = &answer.place;
        let mut stages = self.set.stages(task, item, *condition);
        if stages.is_empty() {
            // The words are not known; what was asked is, and tells the samples apart.
            stages = (1..=answer.turns)
                .map(|turn| format!("⟨turn {turn} of {task}, {item}, {condition}⟩"))
                .collect();
        }
        let unknown = "⟨reply 1⟩".to_owned();
        let outline = conversation(&stages, std::slice::from_ref(&unknown));
        let key = KeyBase::new(model.as_str(), &Sampling::default(), &outline).key(*epoch);
        let first = [answer.replies.get(&1).cloned().unwrap_or(unknown)];
        let record = |(turn, reply): (&u32, &String)| {
            let before = if *turn == 1 { &[][..] } else { &first[..] };
            let prompt = Prompt::from(conversation(&stages, before));
            let spot = Spot {
                key: key.clone(),
                model: model.clone(),
                task: task.clone(),
                item: item.clone(),
                tier: None,
                condition: *condition,
                anchor: answer.anchor,
                epoch: *epoch,
                turn: *turn,
                attempt,
            };
            let sent = Sent::elsewhere("anchorbench", model.as_str());
            let mut record = Record::sent(spot, &prompt, sent, now.to_owned());
            let last = *turn == answer.turns;
            match (&line.error, line.status) {
                (Some(error), _) if last => record.error = Some(error.clone()),
                (None, Some(status)) if last && status.is_answer() => {
                    record.status = status;
                    record.text = Some(reply.clone());
                }
                _ => fill(&mut record, reply),
            }
            record.request_id = Some(format!("{}:{}", at.file, at.line));
            record
        };
        answer.replies.iter().map(record).collect()
    }

    /// Which attempt at its place an answer is; `None` of one that adds nothing: it was read before to the letter, or
    /// failed where another was heard.
    ///
    /// A later line of a file goes before an earlier one, as after a run that was taken up again; what was said is never
    /// replaced by what another file says.
    fn told(&mut self, at: At<'_>, answer: &Answer, failed: bool) -> Result<Option<u32>, SetFault> {
        let place = &answer.place;
        let replies = (!failed).then(|| answer.replies.clone());
        let attempt = match self.answered.get(place) {
            None => 1,
            Some(before) if before.replies.is_some() && (failed || before.replies == replies) => {
                return Ok(None);
            }
            Some(before) if before.replies.is_some() && before.file != at.file => {
                return Err(at.fault(
                    format!(
                        "`{}` under {}, repetition {}, is answered otherwise in {}:{}",
                        place.item, place.condition, place.epoch, before.file, before.line
                    ),
                    "import each run into a store of its own",
                ));
            }
            Some(before) => {
                self.replaced += usize::from(before.replies.is_some());
                before.attempt + 1
            }
        };
        let before = Before {
            file: at.file.to_owned(),
            line: at.line,
            replies,
            attempt,
        };
        self.answered.insert(place.clone(), before);
        Ok(Some(attempt))
    }
}

/// Gives answers to retrieval's further views the answers under the control of their task, since they come without one.
pub fn share_controls(records: &mut Vec<Record>) {
    let is_view = |record: &&Record| record.task.as_str().starts_with("rag-");
    let mut wanted: BTreeMap<(ModelName, ItemId), BTreeSet<TaskName>> = BTreeMap::new();
    for record in records.iter().filter(is_view) {
        let of_case = wanted
            .entry((record.model.clone(), record.item.clone()))
            .or_default();
        of_case.insert(record.task.clone());
    }
    let mut shared = Vec::new();
    for record in records.iter() {
        if record.task.as_str() != "rag" || record.condition != Condition::Control {
            continue;
        }
        let of_case = (record.model.clone(), record.item.clone());
        for task in wanted.get(&of_case).into_iter().flatten() {
            shared.push(Record {
                task: task.clone(),
                ..record.clone()
            });
        }
    }
    records.extend(shared);
}

/// How the published files begin the text of a failed call.
const FAILED: &str = "ERROR: ";

fn fill(record: &mut Record, reply: &str) {
    if let Some(failure) = reply.strip_prefix(FAILED) {
        record.error = Some(RecordedError {
            class: ErrorClass::Server,
            http_status: failure
                .strip_prefix("HTTP ")
                .and_then(|status| status.trim().parse().ok()),
            message: failure.to_owned(),
        });
        return;
    }
    record.status = if reply.trim().is_empty() {
        Status::Empty
    } else {
        Status::Ok
    };
    record.text = Some(reply.to_owned());
}

/// What the user said up to the ask after so many replies.
fn conversation(stages: &[String], replies: &[String]) -> Conversation {
    let mut conversation = Conversation::default();
    for (turn, stage) in stages.iter().enumerate() {
        conversation.say(Role::User, stage);
        match replies.get(turn) {
            Some(reply) if turn + 1 < stages.len() => conversation.say(Role::Assistant, reply),
            _ => break,
        }
    }
    conversation
}

/// An answer in the form of the published `results.jsonl`.
#[must_use]
pub fn results_line(
    record: &Record,
    first: Option<(&str, Option<f64>)>,
    facts: &Facts,
    anchor: Option<f64>,
    answer: Option<f64>,
    rule: &str,
) -> Value {
    let task = record.task.as_str();
    let (suite, condition) = match task.strip_prefix("external-partial-") {
        Some(k) => (
            "external_uncertain".to_owned(),
            format!("uncertain_p{k}_{}", record.condition),
        ),
        None => (task.replace('-', "_"), record.condition.to_string()),
    };
    let relevance = record
        .condition
        .anchored()
        .map_or_else(|| "none".to_owned(), |(relevance, _)| relevance.to_string());
    let mut line = json!({
        "model_id": record.model,
        "item_id": record.item,
        "suite": suite,
        "domain": facts.domain,
        "difficulty": facts.difficulty,
        "condition": condition,
        "anchor_relevance": relevance,
        "anchor_value": match first {
            Some((_, own @ Some(_))) => json!(own.map(half_even)),
            _ => json!(anchor.map(whole)),
        },
        "y_star_evidence": whole(facts.gold),
        "y_star_theta": facts.theta.map(whole),
        "answer_int": answer.map(half_even),
        "parsed_ok": answer.is_some(),
        "parse_strategy": rule,
        "raw_text": record.full_text(),
        "seed_idx": record.epoch - 1,
        "status": record.status,
        "error": record.error,
    });
    if let Some((text, answer)) = first {
        line["stage1_answer"] = json!(answer.map(half_even));
        line["stage1_raw_text"] = json!(text);
    }
    line
}

/// A whole number without a decimal point, as the published files write them.
fn whole(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "whole and on the scale")]
    if value.fract() == 0.0 && value.abs() < 1e9 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
