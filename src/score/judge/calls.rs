//! From stored lines to the calls that count.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::{
    Condition, Design, Given, ItemId, Judging, Loss, ModelName, NoValue, SampleKey, Scale,
    Standard, Status, Suite, TaskName,
};
use crate::score::heard::Heard;
use crate::task::{Catalog, Form};

/// A sampling temperature as sent; `None` where none was.
#[derive(Debug, Clone, Copy)]
pub struct Temperature(pub Option<f64>);

impl Temperature {
    fn order(self) -> (bool, u64) {
        // Temperatures are not negative, so their bits are in the order of their values.
        (self.0.is_some(), self.0.unwrap_or_default().to_bits())
    }
}

impl PartialEq for Temperature {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Temperature {}

impl PartialOrd for Temperature {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Temperature {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl std::fmt::Display for Temperature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("default"),
        }
    }
}

/// One call that counts.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// What was judged.
    pub item: &'a ItemId,
    /// Kind of text.
    pub category: &'a Arc<str>,
    /// Temperature as sent.
    pub temperature: Temperature,
    /// Condition.
    pub condition: Condition,
    /// Number of the trial, from 1.
    pub trial: u32,
    /// The number that was shown.
    pub anchor: Option<f64>,
    /// What else is known of it.
    pub judging: &'a Judging,
    /// The verdict as given, or why there is none.
    pub given: Result<Given, Loss>,
    /// Whether the judge says that it accepts.
    pub accept: Option<bool>,
    /// Tokens of prompt and reply together, where both are known.
    pub tokens: Option<u64>,
    /// Whether it was asked in today's wording; `None` where that is not known.
    pub current: Option<bool>,
    /// The line.
    pub line: &'a Heard,
}

impl Call<'_> {
    /// The score on its scale.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        match (self.given, &self.judging.standard) {
            (Ok(Given::Score(score)), Standard::Score { scale, .. }) => Some(scale.clip(score)),
            _ => None,
        }
    }

    /// Whether the score accepts the text, whatever the judge says.
    #[must_use]
    pub fn accepted(&self) -> Option<bool> {
        match &self.judging.standard {
            Standard::Score { threshold, .. } => Some(self.score()? >= *threshold),
            Standard::Label(_) => None,
        }
    }

    /// Whether the score was off its scale.
    #[must_use]
    pub fn clipped(&self) -> bool {
        matches!(self.given, Ok(Given::Score(score)) if self.score() != Some(score))
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> Option<&Arc<str>> {
        match (self.given, &self.judging.standard) {
            (Ok(Given::Label(place)), Standard::Label(labels)) => labels.get(place),
            _ => None,
        }
    }
}

/// The calls of a model and task that are judged by one standard.
#[derive(Debug, Clone)]
pub struct Calls<'a> {
    /// The model.
    pub model: ModelName,
    /// The task.
    pub task: TaskName,
    /// What the judge is told against earlier verdicts.
    pub strategy: Arc<str>,
    /// How earlier verdicts are chosen.
    pub design: Design,
    /// By what is judged.
    pub standard: Standard,
    /// Whether verdicts are read off the probabilities of given answers.
    pub by_probability: bool,
    /// One call for each item, temperature, condition and trial, in that order.
    pub calls: Vec<Call<'a>>,
}

impl Calls<'_> {
    /// Scale and threshold of scores.
    #[must_use]
    pub fn scale(&self) -> Option<(Scale, f64)> {
        match self.standard {
            Standard::Score { scale, threshold } => Some((scale, threshold)),
            Standard::Label(_) => None,
        }
    }

    /// Calls without a verdict, by reason.
    #[must_use]
    pub fn losses(&self) -> BTreeMap<Loss, usize> {
        let mut losses = BTreeMap::new();
        for call in &self.calls {
            if let Err(loss) = call.given {
                *losses.entry(loss).or_default() += 1;
            }
        }
        losses
    }
}

/// The calls of all models, in the order of models and then of the tasks.
///
/// Of several lines for one trial an answered one in today's wording counts before others, and then the one first asked
/// last; of several replies to the same prompt a whole one, and then the latest.
#[must_use]
pub fn gather<'a>(heard: &'a [Heard], catalog: &Catalog) -> Vec<Calls<'a>> {
    let place: HashMap<&TaskName, usize> = catalog
        .tasks
        .0
        .iter()
        .enumerate()
        .map(|(place, task)| (&task.name, place))
        .collect();
    let wordings = wordings(heard, catalog);
    let mut lines: Vec<(&'a Heard, &'a Judging)> = heard
        .iter()
        .filter_map(|line| Some((line, line.judging.as_deref()?)))
        .collect();
    let cell = |(line, judging): &(&'a Heard, &'a Judging)| {
        let place = place.get(&line.task).copied().unwrap_or(usize::MAX);
        let standard = serde_json::to_string(&(&judging.design, &judging.standard));
        let standard = standard.unwrap_or_default();
        (
            line.model.clone(),
            place,
            line.task.clone(),
            Arc::clone(&judging.strategy),
            standard,
        )
    };
    let slot = |line: &'a Heard| {
        (
            &line.item,
            Temperature(line.sent.sampling.temperature),
            line.condition,
            line.judging
                .as_ref()
                .and_then(|judging| judging.run.as_deref()),
            line.epoch,
        )
    };
    // Most lines share what they are judged by, so that each kind is written out once.
    let mut kinds = HashMap::new();
    let mut keyed: Vec<(usize, &'a Heard, &'a Judging)> = Vec::with_capacity(lines.len());
    let mut cells = Vec::new();
    for (line, judging) in lines.drain(..) {
        let known = (&line.model, &line.task, std::ptr::from_ref(judging));
        let kind = *kinds.entry(known).or_insert_with(|| {
            let cell = cell(&(line, judging));
            let place = cells.iter().position(|other| *other == cell);
            place.unwrap_or_else(|| {
                cells.push(cell);
                cells.len() - 1
            })
        });
        keyed.push((kind, line, judging));
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|a, b| cells[*a].cmp(&cells[*b]));
    let mut rank = vec![0; cells.len()];
    for (at, kind) in order.iter().enumerate() {
        rank[*kind] = at;
    }
    keyed.sort_by(|(a, line, _), (b, other, _)| {
        let of = |line: &'a Heard| (slot(line), &line.started, line.attempt, &line.request_id);
        (rank[*a], of(line)).cmp(&(rank[*b], of(other)))
    });
    keyed
        .chunk_by(|(a, ..), (b, ..)| a == b)
        .map(|lines| {
            let (_, first, judging) = lines[0];
            let same = lines.chunk_by(|(_, a, _), (_, b, _)| slot(a) == slot(b));
            Calls {
                model: first.model.clone(),
                task: first.task.clone(),
                strategy: Arc::clone(&judging.strategy),
                design: judging.design.clone(),
                standard: judging.standard.clone(),
                by_probability: lines.iter().any(|(_, line, _)| line.scored.is_some()),
                calls: same.map(|lines| count(lines, &wordings)).collect(),
            }
        })
        .collect()
}

/// Today's wording of everything that is loaded and was asked.
type Wordings = HashMap<(TaskName, ItemId), Arc<str>>;

fn wordings(heard: &[Heard], catalog: &Catalog) -> Wordings {
    let mut wordings = HashMap::new();
    let asked: std::collections::HashSet<&TaskName> = heard.iter().map(|line| &line.task).collect();
    let tasks = catalog.tasks.0.iter();
    for task in tasks.filter(|task| task.suite == Suite::Judge && asked.contains(&task.name)) {
        for judged in catalog.judged(task) {
            if let Ok(Some(wording)) = task.wording(judged, Form::default()) {
                wordings.insert((task.name.clone(), judged.id().clone()), wording);
            }
        }
    }
    wordings
}

fn count<'a>(lines: &[(usize, &'a Heard, &'a Judging)], wordings: &Wordings) -> Call<'a> {
    let (_, first, _) = lines[0];
    let today = || wordings.get(&(first.task.clone(), first.item.clone()));
    let mut by_key: Vec<(&SampleKey, Vec<(&'a Heard, &'a Judging)>)> = Vec::new();
    for (_, line, judging) in lines {
        match by_key.iter_mut().find(|(key, _)| **key == line.key) {
            Some((_, same)) => same.push((line, judging)),
            None => by_key.push((&line.key, vec![(line, judging)])),
        }
    }
    let current = |judging: &Judging| {
        let (today, then) = (today()?, judging.wording.as_ref()?);
        Some(today == then)
    };
    let best = by_key.into_iter().enumerate().map(|(place, (_, lines))| {
        let answers = lines.iter().filter(|(line, _)| line.status.is_answer());
        let answer = answers.max_by_key(|(line, _)| line.status == Status::Ok);
        let (line, judging) = *answer.unwrap_or(&lines[lines.len() - 1]);
        let current = current(judging);
        ((answer.is_some(), current, place), line, judging)
    });
    let ((_, current, _), line, judging) = best
        .max_by_key(|(rank, ..)| *rank)
        .expect("a trial has at least one line");
    Call {
        item: &line.item,
        category: &judging.category,
        temperature: Temperature(line.sent.sampling.temperature),
        condition: line.condition,
        trial: line.epoch,
        anchor: line.anchor,
        judging,
        given: given(line),
        accept: line.verdict.and_then(|verdict| verdict.accept),
        tokens: line
            .tokens
            .input
            .zip(line.tokens.output)
            .map(|(input, output)| input.0 + output.0),
        current,
        line,
    }
}

/// The verdict of a line. An object that came to its end counts though the reply was cut off behind it.
fn given(line: &Heard) -> Result<Given, Loss> {
    match (line.status, line.verdict) {
        (Status::Error, _) => Err(line.error.map_or(Loss::NotAsked, Loss::Failed)),
        (Status::Refused, _) => Err(Loss::Refused),
        (Status::Empty, _) => Err(Loss::Unread(NoValue::Empty)),
        (Status::Truncated, Some(verdict)) => verdict.given.map_err(|_| Loss::Truncated),
        (Status::Truncated, None) => Err(Loss::Truncated),
        (Status::Ok, Some(verdict)) => verdict.given.map_err(Loss::Unread),
        (Status::Ok, None) => Err(Loss::Unread(NoValue::NoObject)),
    }
}
