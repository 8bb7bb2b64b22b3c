//! Calls to judges that other programs made, as JSON lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::domain::{
    Condition, Conversation, Design, ErrorClass, Judging, KeyBase, Prompt, Sampling, Scale,
    Standard, Status, Suite, Tokens,
};
use crate::store::{Record, RecordedError, Sent, Spot};

/// What is wrong with a line, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}; {mend}")]
pub struct CallFault {
    file: String,
    line: usize,
    message: String,
    mend: &'static str,
}

/// One call, as a line tells it.
#[derive(Debug, Clone, Deserialize)]
struct Told {
    #[serde(default)]
    run: Option<Value>,
    model: String,
    #[serde(alias = "item")]
    task: String,
    #[serde(default)]
    category: Option<String>,
    condition: String,
    #[serde(default)]
    strategy: Option<String>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(alias = "epoch")]
    trial: u32,
    #[serde(default, alias = "k")]
    attempt: Option<u32>,
    /// A score, or a label.
    #[serde(
        default,
        alias = "a",
        alias = "prior_score",
        alias = "prior_label",
        alias = "prior"
    )]
    anchor: Option<Value>,
    #[serde(
        default,
        alias = "raw_text",
        alias = "raw",
        alias = "reply",
        alias = "response"
    )]
    text: Option<String>,
    #[serde(default, alias = "parsed_score")]
    score: Option<f64>,
    #[serde(default, alias = "parsed_label")]
    label: Option<String>,
    #[serde(default)]
    valid: Option<bool>,
    #[serde(default, rename = "clipped")]
    _clipped: Option<bool>,
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_hash: Option<String>,
    #[serde(default, alias = "digit_logprobs", alias = "logprobs")]
    digits: Option<BTreeMap<String, f64>>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    truth: Option<String>,
    /// `a`: the earlier label was wrong and is shown; `b`: it was right, and another is shown.
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    design: Option<String>,
    #[serde(default)]
    scale: Option<[f64; 2]>,
    #[serde(default)]
    threshold: Option<f64>,
    #[serde(default)]
    labels: Option<Vec<String>>,
    /// What nobody reads.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// The calls of a file as lines of the store.
#[derive(Debug, Clone, Default)]
pub struct ToldCalls {
    /// One a call.
    pub records: Vec<Record>,
    /// Fields that nobody reads, and in how many lines they stand.
    pub unread: BTreeMap<String, usize>,
}

/// Scores that can be given unless a line says otherwise, and the lowest that accepts.
const SCALE: ([f64; 2], f64) = ([0.0, 5.0], 4.0);

/// More different earlier scores than this are drawn rather than fixed.
const MOST_FIXED: usize = 10;

/// Reads calls. `name` is how messages call the file, `now` the time to put where none is told.
///
/// Scores are read anew from the text of a reply; where there is none, the told score or label takes its place. The task is
/// `judge` or `labels`, with the strategy behind it.
///
/// # Errors
/// Every fault of the file.
pub fn call_lines(name: &str, text: &str, now: &str) -> Result<ToldCalls, Vec<CallFault>> {
    let mut reader = Reader {
        name,
        faults: Vec::new(),
    };
    let mut told: Vec<(usize, Told, Condition)> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<Told>(text) {
            Ok(call) => {
                let condition = reader.check(line, &call);
                told.extend(condition.map(|condition| (line, call, condition)));
            }
            Err(error) => reader.fault(
                line,
                format!("this is no call: {error}"),
                "give one JSON object a line with model, task, condition and trial at least",
            ),
        }
    }
    let designs = designs(&told);
    let labels = labels(&told);
    let priors = priors(&told);
    let mut calls = ToldCalls::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (line, call, condition) in &told {
        for field in call.rest.keys() {
            *calls.unread.entry(field.clone()).or_default() += 1;
        }
        let judging = reader.judging(*line, call, *condition, &designs, &labels, &priors);
        let Some(judging) = judging else { continue };
        let record = record(call, *condition, judging, now);
        let place = record.key.to_string();
        if let Some(first) = places.insert(place, *line) {
            reader.fault(
                *line,
                format!("line {first} tells of the same trial"),
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

struct Reader<'a> {
    name: &'a str,
    faults: Vec<CallFault>,
}

impl Reader<'_> {
    fn fault(&mut self, line: usize, message: impl Into<String>, mend: &'static str) {
        self.faults.push(CallFault {
            file: self.name.to_owned(),
            line,
            message: message.into(),
            mend,
        });
    }

    /// The condition of a call that can be used.
    fn check(&mut self, line: usize, call: &Told) -> Option<Condition> {
        let before = self.faults.len();
        let condition = call.condition.to_lowercase().parse::<Condition>().ok();
        let condition = condition.filter(|condition| condition.is_of(Suite::Judge));
        if condition.is_none() {
            let message = format!("there is no condition `{}`", call.condition);
            self.fault(line, message, "it can be c0, c1, c2 or control");
        }
        if call.trial == 0 {
            self.fault(line, "trials count from 1", "add 1 to each");
        }
        if call
            .temperature
            .is_some_and(|value| value.is_nan() || value < 0.0)
        {
            self.fault(
                line,
                "a temperature is not negative",
                "give it as it was sent, or leave it out",
            );
        }
        if condition == Some(Condition::C2) && call.anchor.is_none() {
            self.fault(
                line,
                "a call under c2 shows an earlier verdict, and none is told",
                "give the score or label in `anchor`",
            );
        }
        let scale = call.scale.unwrap_or(SCALE.0);
        if call.threshold.unwrap_or(SCALE.1) > scale[1] || scale[0] >= scale[1] {
            self.fault(
                line,
                "the threshold does not lie on the scale",
                "such as \"scale\": [0, 5], \"threshold\": 4",
            );
        }
        condition.filter(|_| self.faults.len() == before)
    }

    fn judging(
        &mut self,
        line: usize,
        call: &Told,
        condition: Condition,
        designs: &BTreeMap<Group, Design>,
        labels: &BTreeMap<String, Arc<[Arc<str>]>>,
        priors: &BTreeMap<(&str, &str), &str>,
    ) -> Option<Judging> {
        let strategy = strategy(call);
        let shown = matches!(condition, Condition::C2 | Condition::Control);
        let run = call.run.as_ref().map(|run| match run {
            Value::String(text) => text.as_str().into(),
            other => other.to_string().into(),
        });
        if !is_label(call) {
            let scale = call.scale.unwrap_or(SCALE.0);
            return Some(Judging {
                category: call.category.as_deref().unwrap_or("texts").into(),
                strategy,
                design: designs.get(&group(call)).cloned().unwrap_or(below(call)),
                standard: Standard::Score {
                    scale: Scale {
                        from: scale[0],
                        to: scale[1],
                    },
                    threshold: call.threshold.unwrap_or(SCALE.1),
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
                    line,
                    "nothing says whether the earlier label was wrong",
                    "give \"group\": \"a\" where it was wrong and is shown under c2, \"b\" where it was right and another is shown",
                );
                return None;
            }
        };
        let Some(truth) = &call.truth else {
            self.fault(
                line,
                "a labelled message has a right label",
                "give it in `truth`",
            );
            return None;
        };
        let set = labels.get(&call.model).cloned().unwrap_or_default();
        // The label that belongs to a message is shown under c2 only.
        let prior = priors.get(&(call.model.as_str(), call.task.as_str()));
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

/// Calls that share how their earlier scores were chosen: model and strategy.
type Group = (String, Arc<str>);

fn group(call: &Told) -> Group {
    (call.model.clone(), strategy(call))
}

fn is_label(call: &Told) -> bool {
    call.truth.is_some() || call.group.is_some() || matches!(call.anchor, Some(Value::String(_)))
}

fn strategy(call: &Told) -> Arc<str> {
    match call.strategy.as_deref().map(str::trim) {
        None | Some("" | "none" | "baseline") => "none".into(),
        Some("cot" | "CoT" | "steps") => "steps".into(),
        Some(other) => other.into(),
    }
}

fn below(call: &Told) -> Design {
    let from = call.scale.unwrap_or(SCALE.0)[0];
    Design::Drawn([from, call.threshold.unwrap_or(SCALE.1) - 0.01])
}

/// What lines say of the design, how often each earlier score stands there, and the design if they are drawn.
type Shown = (Option<String>, BTreeMap<u64, usize>, Design);

/// How earlier scores were chosen: as a line says (`drawn`, `fixed`, `scale`); else fixed if a few values stand there several
/// times each.
fn designs(told: &[(usize, Told, Condition)]) -> BTreeMap<Group, Design> {
    let mut found: BTreeMap<Group, Shown> = BTreeMap::new();
    for (_, call, condition) in told.iter().filter(|(_, call, _)| !is_label(call)) {
        let entry = found
            .entry(group(call))
            .or_insert_with(|| (None, BTreeMap::new(), below(call)));
        entry.0 = entry.0.take().or_else(|| call.design.clone());
        if call.design.as_deref() == Some("scale") {
            entry.2 = Design::Drawn(call.scale.unwrap_or(SCALE.0));
        }
        let anchor = call.anchor.as_ref().and_then(Value::as_f64);
        if let (Some(anchor), Condition::C2) = (anchor, condition) {
            *entry.1.entry(anchor.to_bits()).or_default() += 1;
        }
    }
    let of = |(said, values, drawn): Shown| {
        let few =
            !values.is_empty() && values.len() <= MOST_FIXED && values.values().all(|n| *n > 1);
        let fixed = said.as_deref().map_or(few, |said| said == "fixed");
        if fixed {
            let mut values: Vec<f64> = values.into_keys().map(f64::from_bits).collect();
            values.sort_by(f64::total_cmp);
            Design::Fixed(values)
        } else {
            drawn
        }
    };
    found
        .into_iter()
        .map(|(group, said)| (group, of(said)))
        .collect()
}

/// The labels of each model: those that its lines list, else all that are told as right, shown or given.
fn labels(told: &[(usize, Told, Condition)]) -> BTreeMap<String, Arc<[Arc<str>]>> {
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, call, _) in told.iter().filter(|(_, call, _)| is_label(call)) {
        if let Some(labels) = &call.labels {
            listed
                .entry(call.model.clone())
                .or_insert_with(|| labels.clone());
        }
        let set = found.entry(call.model.clone()).or_default();
        set.extend(call.truth.as_deref());
        set.extend(call.anchor.as_ref().and_then(Value::as_str));
        set.extend(call.label.as_deref().filter(|_| call.valid != Some(false)));
    }
    let all = found.into_iter().map(|(model, set)| {
        let labels: Vec<Arc<str>> = match listed.get(&model) {
            Some(listed) => listed.iter().map(|label| label.as_str().into()).collect(),
            None => set.into_iter().map(Into::into).collect(),
        };
        (model, labels.into())
    });
    all.collect()
}

/// The earlier label of each message, by model.
fn priors(told: &[(usize, Told, Condition)]) -> BTreeMap<(&str, &str), &str> {
    let calls = told
        .iter()
        .filter(|(.., condition)| *condition == Condition::C2);
    calls
        .filter_map(|(_, call, _)| {
            let label = call.anchor.as_ref()?.as_str()?;
            Some(((call.model.as_str(), call.task.as_str()), label))
        })
        .collect()
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
    let anchor = call.anchor.as_ref().and_then(Value::as_f64);
    let anchor = anchor.filter(|_| matches!(condition, Condition::C2 | Condition::Control));
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
        judging.design,
        judging.earlier_error,
        "told"
    ]);
    let mut conversation = Conversation::default();
    // Lines are told apart by what they are about: the words are not known.
    conversation.say(crate::domain::Role::Text, told.to_string());
    let key = KeyBase::new(&call.model, &sampling, &conversation).key(epoch);
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
        digits
    });
    answer(call, &mut record);
    record
}

/// What a call came to: the raw reply, or in its place the verdict as told.
fn answer(call: &Told, record: &mut Record) {
    let stated = match (call.score, &call.label) {
        (Some(score), _) => Some(serde_json::json!({"score": score})),
        (None, Some(label)) => Some(serde_json::json!({"label": label})),
        (None, None) => None,
    };
    let stated = stated.filter(|_| call.valid != Some(false));
    let failed = |message: &str, class| {
        Some(RecordedError {
            class,
            http_status: None,
            message: message.to_owned(),
        })
    };
    match (&call.error, &call.text, stated) {
        (Some(error), ..) => record.error = failed(error, ErrorClass::Server),
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
            record.text = Some(stated.to_string());
        }
        (None, None, None) => {
            record.error = failed("the file tells of no valid verdict", ErrorClass::BadBody);
        }
    }
}
