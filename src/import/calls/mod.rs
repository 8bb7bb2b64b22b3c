//! Calls to judges that other programs made, as JSON lines.

mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::domain::{
    Condition, Conversation, Design, ErrorClass, Judging, KeyBase, Prompt, Sampling, Scale,
    Standard, Status, Suite, Tokens,
};
use crate::parse::read_verdict;
use crate::store::{Record, RecordedError, Sent, Spot};
use told::{
    DESIGNS, Group, Messages, Place, Told, anchor_of, below, designs, group, is_label, scale_of,
    stated, strategy,
};

/// What is wrong with a line, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}; {mend}")]
pub struct CallFault {
    file: String,
    line: usize,
    message: String,
    mend: &'static str,
}

/// The calls of a file as lines of the store.
#[derive(Debug, Clone, Default)]
pub struct ToldCalls {
    /// One a call.
    pub records: Vec<Record>,
    /// Fields that nobody reads, and in how many lines they stand.
    pub unread: BTreeMap<String, usize>,
    /// Calls whose text we read otherwise than the file says.
    pub read_otherwise: usize,
}

/// Reads calls of some files, each with the name that messages call it by; `now` is the time to put where none is told.
///
/// Scores are read anew from the text of a reply; where there is none, the told score or label takes its place. The task is
/// `judge` or `labels`, with the strategy behind it. What belongs together may lie in several files.
///
/// # Errors
/// Every fault of all files.
pub fn call_lines(files: &[(String, String)], now: &str) -> Result<ToldCalls, Vec<CallFault>> {
    let mut reader = Reader::default();
    let mut told: Vec<(Place<'_>, Told, Condition)> = Vec::new();
    for (file, text) in files {
        for (line, text) in (1..).zip(text.lines()) {
            let at = Place { file, line };
            if text.trim().is_empty() {
                continue;
            }
            match serde_json::from_str::<Told>(text) {
                Ok(call) => {
                    let condition = reader.check(at, &call);
                    told.extend(condition.map(|condition| (at, call, condition)));
                }
                Err(error) => {
                    let said = error.to_string();
                    let said = said.split(" at line ").next().unwrap_or_default();
                    reader.fault(
                        at,
                        format!("this is no call: {said}"),
                        "give one JSON object a line with model, task, condition and trial at least",
                    );
                }
            }
        }
    }
    let designs = designs(&told);
    let messages = Messages::new(&told, &mut reader);
    let mut calls = ToldCalls::default();
    let mut places: BTreeMap<String, Place<'_>> = BTreeMap::new();
    let mut categories: BTreeMap<&str, &str> = BTreeMap::new();
    let mut scales: BTreeMap<(&str, Arc<str>, Option<String>), String> = BTreeMap::new();
    for (at, call, condition) in &told {
        for field in call.rest.keys() {
            *calls.unread.entry(field.clone()).or_default() += 1;
        }
        if let Some(category) = &call.category {
            let known = *categories.entry(&call.task).or_insert(category);
            if known != category {
                let message = format!("`{}` has the category {known} in another line", call.task);
                reader.fault(*at, message, "give each text one category");
            }
        }
        // Runs of one model may have scales of their own, conditions of one run may not.
        let (model, strategy, run, _) = group(call);
        let by = if is_label(call) {
            "labels".to_owned()
        } else {
            format!("{:?}", scale_of(call))
        };
        let place = (call.model.as_str(), strategy, run);
        let known = scales.entry(place).or_insert_with(|| by.clone());
        if *known != by {
            let message =
                format!("other lines of {model} are judged by another scale or threshold");
            reader.fault(
                *at,
                message,
                "give runs with a scale of their own a name in `run`",
            );
        }
        let judging = reader.judging(*at, call, *condition, &designs, &messages);
        let Some(judging) = judging else { continue };
        calls.read_otherwise += usize::from(is_read_otherwise(call, &judging));
        let record = record(call, *condition, judging, now);
        let place = record.key.to_string();
        if let Some(first) = places.insert(place, *at) {
            reader.fault(
                *at,
                format!("{}:{} tells of the same trial", first.file, first.line),
                "give each call of a model, task, condition, strategy, temperature and earlier score a trial of its own, or runs a name in `run`",
            );
        }
        calls.records.push(record);
    }
    if reader.faults.is_empty() {
        Ok(calls)
    } else {
        Err(reader.faults)
    }
}

/// Whether the file calls valid what we do not, or gives another verdict than its text does.
fn is_read_otherwise(call: &Told, judging: &Judging) -> bool {
    let Some(text) = call.text.as_deref().filter(|_| call.error.is_none()) else {
        return false;
    };
    let given = read_verdict(text, &judging.standard).given;
    let stated = stated(call).map(|stated| read_verdict(&stated, &judging.standard).given);
    let other_verdict = stated.is_some_and(|stated| stated != given && stated.is_ok());
    call.valid.is_some_and(|valid| valid != given.is_ok())
        || (call.valid != Some(false) && other_verdict)
}

#[derive(Default)]
struct Reader {
    faults: Vec<CallFault>,
}

impl Reader {
    fn fault(&mut self, at: Place<'_>, message: impl Into<String>, mend: &'static str) {
        self.faults.push(CallFault {
            file: at.file.to_owned(),
            line: at.line,
            message: message.into(),
            mend,
        });
    }

    /// The condition of a call that can be used.
    fn check(&mut self, at: Place<'_>, call: &Told) -> Option<Condition> {
        let before = self.faults.len();
        let condition = call.condition.to_lowercase().parse::<Condition>().ok();
        let condition = condition.filter(|condition| condition.is_of(Suite::Judge));
        if condition.is_none() {
            let message = format!("there is no condition `{}`", call.condition);
            self.fault(at, message, "it can be c0, c1, c2 or control");
        }
        if call.trial == 0 {
            self.fault(at, "trials count from 1", "add 1 to each");
        }
        if call
            .temperature
            .is_some_and(|value| value.is_nan() || value < 0.0)
        {
            self.fault(
                at,
                "a temperature is not negative",
                "give it as it was sent, or leave it out",
            );
        }
        if condition == Some(Condition::C2) && call.anchor.is_none() {
            self.fault(
                at,
                "a call under c2 shows an earlier verdict, and none is told",
                "give the score or label in `anchor`",
            );
        }
        if call.model.trim().is_empty() || call.task.trim().is_empty() {
            self.fault(at, "model or task is empty", "name who judged, and what");
        }
        if !is_label(call) {
            self.check_scores(at, call, condition);
        }
        if let Some(other) = call
            .design
            .as_deref()
            .filter(|word| !DESIGNS.contains(word))
        {
            self.fault(
                at,
                format!("there is no design `{other}`"),
                "it can be drawn, fixed or scale",
            );
        }
        let digits = || call.digits.iter().flatten();
        let known = |name: &str| name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_digit());
        let held: f64 = digits().map(|(_, score)| score.exp()).sum();
        if digits().any(|(name, _)| !known(name.trim())) || !held.is_finite() || held > 1.001 {
            self.fault(
                at,
                "the digits are no probabilities of 0 to 9: together they hold at most 1",
                "give natural logarithms, such as {\"4\": -0.1}",
            );
        }
        condition.filter(|_| self.faults.len() == before)
    }

    fn check_scores(&mut self, at: Place<'_>, call: &Told, condition: Option<Condition>) {
        let (scale, threshold) = scale_of(call);
        let lies = |score: f64| (scale[0]..=scale[1]).contains(&score);
        if !lies(threshold) || threshold <= scale[0] {
            let message = if threshold.is_nan() {
                "another scale has another threshold, and none is told".to_owned()
            } else {
                format!(
                    "the threshold {threshold} does not lie on the scale, above its lowest score"
                )
            };
            self.fault(
                at,
                message,
                "give both, such as \"scale\": [0, 5], \"threshold\": 4",
            );
        }
        let anchor = anchor_of(call);
        if call.anchor.is_some() && anchor.is_none() {
            self.fault(
                at,
                "the earlier score is no number",
                "give a number; of labelled messages give truth and group too",
            );
        }
        if condition == Some(Condition::C2) && anchor.is_some_and(|anchor| !lies(anchor)) {
            self.fault(
                at,
                "the earlier score lies off the scale",
                "give the scale, such as \"scale\": [1, 10], \"threshold\": 7",
            );
        }
    }

    fn judging(
        &mut self,
        at: Place<'_>,
        call: &Told,
        condition: Condition,
        designs: &BTreeMap<Group, Design>,
        messages: &Messages<'_>,
    ) -> Option<Judging> {
        let strategy = strategy(call);
        let shown = matches!(condition, Condition::C2 | Condition::Control);
        let run = call.run.as_ref().map(|run| match run {
            Value::String(text) => text.as_str().into(),
            other => other.to_string().into(),
        });
        if !is_label(call) {
            let (scale, threshold) = scale_of(call);
            return Some(Judging {
                category: call.category.as_deref().unwrap_or("texts").into(),
                strategy,
                design: designs.get(&group(call)).cloned().unwrap_or(below(call)),
                standard: Standard::Score {
                    scale: Scale {
                        from: scale[0],
                        to: scale[1],
                    },
                    threshold,
                },
                attempt: call.attempt.filter(|_| shown),
                prior: None,
                earlier_error: false,
                truth: None,
                wording: None,
                run,
            });
        }
        let earlier_error = match call.group.as_deref().map(str::to_lowercase).as_deref() {
            Some("a") => true,
            Some("b") => false,
            _ => {
                self.fault(
                    at,
                    "nothing says whether the earlier label was wrong",
                    "give \"group\": \"a\" where it was wrong and is shown under c2, \"b\" where it was right and another is shown",
                );
                return None;
            }
        };
        let Some(truth) = &call.truth else {
            self.fault(
                at,
                "a labelled message has a right label",
                "give it in `truth`",
            );
            return None;
        };
        let set = messages.labels.get(call.model.as_str()).cloned();
        let set = set.unwrap_or_default();
        // The label that belongs to a message is shown under c2 only.
        let prior = messages
            .priors
            .get(&(call.model.as_str(), call.task.as_str()));
        let earlier = prior.copied().filter(|_| condition == Condition::C2);
        for (what, label) in [("right", Some(truth.as_str())), ("earlier", earlier)] {
            if label.is_some_and(|label| !set.iter().any(|known| **known == *label)) {
                let message = format!(
                    "the {what} label `{}` is not in the set",
                    label.unwrap_or_default()
                );
                self.fault(at, message, "list all of them in `labels`");
            }
        }
        if earlier == Some(truth.as_str()) {
            self.fault(
                at,
                "the earlier label is the right one",
                "show a wrong label under c2",
            );
        }
        Some(Judging {
            category: call.category.as_deref().unwrap_or("messages").into(),
            strategy,
            design: Design::Label,
            standard: Standard::Label(set),
            attempt: call.attempt.or(Some(1)).filter(|_| shown),
            prior: prior.map(|label| (*label).into()),
            earlier_error,
            truth: Some(truth.as_str().into()),
            wording: None,
            run,
        })
    }
}

/// The name of the task in the store.
fn task_name(judging: &Judging) -> String {
    let base = match &judging.design {
        Design::Label => "labels",
        Design::Fixed(_) => "judge-dose",
        Design::Drawn([_, to]) => match judging.standard {
            Standard::Score { scale, .. } if scale.to == *to => "judge-scale",
            _ => "judge",
        },
    };
    match &*judging.strategy {
        "none" => base.to_owned(),
        strategy => format!("{base}-{strategy}"),
    }
}

fn record(call: &Told, condition: Condition, judging: Judging, now: &str) -> Record {
    let anchor =
        anchor_of(call).filter(|_| matches!(condition, Condition::C2 | Condition::Control));
    // Scores that take turns have a trial each.
    let epoch = match (&judging.design, anchor) {
        (Design::Fixed(values), Some(anchor)) => {
            let place = values
                .iter()
                .position(|value| *value == anchor)
                .unwrap_or(0);
            let (n, place) = (values.len().max(1), place + 1);
            let before = (call.trial as usize - 1) * n;
            u32::try_from(before + place).unwrap_or(u32::MAX)
        }
        _ => call.trial,
    };
    let sampling = Sampling {
        temperature: call.temperature,
        ..Sampling::default()
    };
    let told = serde_json::json!([
        call.task,
        condition,
        judging.strategy,
        judging.run,
        anchor.map(f64::to_bits),
        "told"
    ]);
    let mut conversation = Conversation::default();
    // Lines are told apart by what they are about: the words are not known.
    conversation.say(crate::domain::Role::Text, told.to_string());
    let key = KeyBase::new(&call.model, &sampling, &conversation).key(call.trial);
    let mut sent = Sent::elsewhere("imported", &call.model);
    sent.sampling = sampling;
    let spot = Spot {
        key,
        model: call.model.as_str().into(),
        task: task_name(&judging).as_str().into(),
        item: call.task.as_str().into(),
        tier: None,
        condition,
        anchor,
        epoch,
        turn: 1,
        attempt: 1,
    };
    let mut record = Record::sent(
        spot,
        &Prompt::from(Conversation::default()),
        sent,
        now.to_owned(),
    );
    if let Some(hash) = &call.prompt_hash {
        record.prompt_hash = hash.as_str().into();
    }
    record.judging = Some(Arc::new(judging));
    record.tokens.input = call.prompt_tokens.map(Tokens);
    record.tokens.output = call.completion_tokens.map(Tokens);
    record.digits = call.digits.as_ref().map(|told| {
        let mut digits = [None; 10];
        for (digit, score) in told {
            if let Some(place) = digit
                .trim()
                .parse::<usize>()
                .ok()
                .filter(|place| *place < 10)
            {
                digits[place] = Some(*score);
            }
        }
        Box::new(digits)
    });
    answer(call, &mut record);
    record
}

/// What a call came to: the raw reply, or in its place the verdict as told.
fn answer(call: &Told, record: &mut Record) {
    let stated = stated(call).filter(|_| call.valid != Some(false));
    let failed = |message: &str, class| {
        Some(RecordedError {
            class,
            http_status: None,
            message: message.to_owned(),
        })
    };
    let error = call.error.as_ref().filter(|error| !error.trim().is_empty());
    match (error, &call.text, stated) {
        (Some(error), ..) => {
            let class = class_of(error);
            if class == ErrorClass::Policy {
                record.status = Status::Refused;
            }
            record.error = failed(error, class);
        }
        (None, Some(text), _) => {
            record.status = if text.trim().is_empty() {
                Status::Empty
            } else {
                Status::Ok
            };
            record.text = Some(text.clone());
        }
        (None, None, Some(stated)) => {
            record.status = Status::Ok;
            record.text = Some(stated);
        }
        (None, None, None) => {
            record.error = failed("the file tells of no valid verdict", ErrorClass::BadBody);
        }
    }
}

/// The class of a failure, by its name or by what it says.
fn class_of(error: &str) -> ErrorClass {
    let said = error.to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| said.contains(word));
    said.trim().parse().unwrap_or_else(|_| match () {
        () if holds(&["timeout", "timed out", "time-out"]) => ErrorClass::Timeout,
        () if holds(&["connect"]) => ErrorClass::Connection,
        () if holds(&["429", "rate limit", "too many"]) => ErrorClass::Rate,
        () if holds(&["refus", "filter", "policy"]) => ErrorClass::Policy,
        () => ErrorClass::Server,
    })
}
