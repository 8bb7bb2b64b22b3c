//! From stored lines to the calls that count.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::bank::Subject;
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
    /// Temperature as sent.
    pub temperature: Temperature,
    /// Condition.
    pub condition: Condition,
    /// Number of the trial, from 1.
    pub trial: u32,
    /// The number that was shown.
    pub anchor: Option<f64>,
    /// What else is known of it.
    pub judging: Arc<Judging>,
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

/// A line with what it is put together by.
struct Line<'a> {
    /// Model, task, strategy and standard, as a number.
    cell: usize,
    heard: &'a Heard,
    judging: &'a Arc<Judging>,
    /// Temperature at which it was answered: a refused one has no cell of its own.
    temperature: Temperature,
}

impl<'a> Line<'a> {
    /// Text, temperature, condition, run and trial: what has one call that counts.
    fn slot(&self) -> (&'a ItemId, Temperature, Condition, Option<&'a str>, u32) {
        (
            &self.heard.item,
            self.temperature,
            self.heard.condition,
            self.judging.run.as_deref(),
            self.heard.epoch,
        )
    }

    fn shows_prior(&self) -> bool {
        self.heard.condition.is_drawn(Suite::Judge)
    }
}

/// The calls of all models, in the order of models and then of the tasks.
///
/// Of several lines for one trial an answered one in today's wording counts before others, and then the one first asked
/// last; of several replies to the same prompt a whole one, and then the latest. Calls without an earlier verdict belong to
/// every design of their task. What is known of a text today, such as its right label, goes before what its lines say.
#[must_use]
pub fn gather<'a>(heard: &'a [Heard], catalog: &Catalog) -> Vec<Calls<'a>> {
    let today = Today::new(heard, catalog);
    let mut lines = lines(heard, catalog);
    lines.par_sort_by(|a, b| {
        let order = |line: &Line<'a>| {
            let heard = line.heard;
            (
                line.cell,
                line.slot(),
                &heard.started,
                heard.attempt,
                &heard.request_id,
            )
        };
        order(a).cmp(&order(b))
    });
    let mut all = Vec::new();
    for lines in lines.chunk_by(|a, b| a.cell == b.cell) {
        let mut designs: Vec<&Design> = Vec::new();
        let shown = lines.iter().filter(|line| line.shows_prior());
        // Without any such call the design is what the task has.
        for line in shown.chain(lines.first()) {
            let design = &line.judging.design;
            let known = designs.contains(&design);
            if !known && (designs.is_empty() || line.shows_prior()) {
                designs.push(design);
            }
        }
        for design in designs {
            let of_design =
                |line: &&Line<'a>| !line.shows_prior() || line.judging.design == *design;
            let lines: Vec<&Line<'a>> = lines.iter().filter(of_design).collect();
            let first = lines[0];
            let same = lines.chunk_by(|a, b| a.slot() == b.slot());
            all.push(Calls {
                model: first.heard.model.clone(),
                task: first.heard.task.clone(),
                strategy: Arc::clone(&first.judging.strategy),
                design: design.clone(),
                standard: first.judging.standard.clone(),
                by_probability: lines.iter().any(|line| line.heard.scored.is_some()),
                calls: same.map(|lines| count(lines, &today)).collect(),
            });
        }
    }
    all
}

/// The lines of judges, with their cells in order.
fn lines<'a>(heard: &'a [Heard], catalog: &Catalog) -> Vec<Line<'a>> {
    let tasks = catalog.tasks.0.iter().enumerate();
    let places: HashMap<&TaskName, usize> = tasks.map(|(at, task)| (&task.name, at)).collect();
    // Where a setting was refused, all tries of a prompt belong to the temperature of the one that was answered.
    let refused = heard.iter().any(|line| !line.sent.dropped.is_empty());
    let answered: HashMap<&SampleKey, Temperature> = heard
        .iter()
        .filter(|line| refused && line.status.is_answer())
        .map(|line| (&line.key, Temperature(line.sent.sampling.temperature)))
        .collect();
    // Most lines share what they are judged by, so that each kind is written out once.
    let mut kinds = HashMap::new();
    let mut cells = Vec::new();
    let mut lines = Vec::new();
    for line in heard {
        let Some(judging) = &line.judging else {
            continue;
        };
        let kind = (&line.model, &line.task, Arc::as_ptr(judging));
        let cell = *kinds.entry(kind).or_insert_with(|| {
            let standard = serde_json::to_string(&judging.standard).unwrap_or_default();
            let place = places.get(&line.task).copied().unwrap_or(usize::MAX);
            let cell = (&line.model, place, &line.task, &judging.strategy, standard);
            let known = cells.iter().position(|other| *other == cell);
            known.unwrap_or_else(|| {
                cells.push(cell);
                cells.len() - 1
            })
        });
        let temperature = answered.get(&line.key).copied();
        lines.push(Line {
            cell,
            heard: line,
            judging,
            temperature: temperature.unwrap_or(Temperature(line.sent.sampling.temperature)),
        });
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|a, b| cells[*a].cmp(&cells[*b]));
    let mut ranks = vec![0; cells.len()];
    for (rank, cell) in order.into_iter().enumerate() {
        ranks[cell] = rank;
    }
    for line in &mut lines {
        line.cell = ranks[line.cell];
    }
    lines
}

/// What is loaded of the texts that were asked.
struct Today(HashMap<(TaskName, ItemId), Known>);

/// Wording and judging of a text as loaded.
type Known = (Option<Arc<str>>, Judging);

impl Today {
    fn new(heard: &[Heard], catalog: &Catalog) -> Self {
        let mut known = HashMap::new();
        let asked: HashSet<&TaskName> = heard.iter().map(|line| &line.task).collect();
        let tasks = catalog.tasks.0.iter();
        for task in tasks.filter(|task| task.suite == Suite::Judge && asked.contains(&task.name)) {
            for judged in catalog.judged(task) {
                let subject = task.at_trial(&Subject::Judged(Arc::clone(judged)), 1);
                let judging = task.judging(subject.borrowed(), Condition::C0, None);
                let wording = task.wording(judged, Form::default()).ok().flatten();
                let place = (task.name.clone(), judged.id().clone());
                known.extend(judging.map(|judging| (place, (wording, judging))));
            }
        }
        Self(known)
    }

    /// What a line says, mended by what is known of its text today.
    fn mended(&self, line: &Line<'_>) -> Arc<Judging> {
        let place = (line.heard.task.clone(), line.heard.item.clone());
        let Some((_, today)) = self.0.get(&place) else {
            return Arc::clone(line.judging);
        };
        let prior = if line.shows_prior() {
            &line.judging.prior
        } else {
            &today.prior
        };
        let mended = Judging {
            category: Arc::clone(&today.category),
            truth: today.truth.clone(),
            earlier_error: today.earlier_error,
            prior: prior.clone(),
            ..Judging::clone(line.judging)
        };
        if mended == **line.judging {
            Arc::clone(line.judging)
        } else {
            Arc::new(mended)
        }
    }

    /// Whether a line is in today's wording; `None` where that is not known.
    fn is_wording_of(&self, line: &Line<'_>) -> Option<bool> {
        let place = (line.heard.task.clone(), line.heard.item.clone());
        let (today, _) = self.0.get(&place)?;
        Some(today.as_ref()? == line.judging.wording.as_ref()?)
    }
}

fn count<'a>(lines: &[&Line<'a>], today: &Today) -> Call<'a> {
    let mut by_key: Vec<(&SampleKey, Vec<&Line<'a>>)> = Vec::new();
    for line in lines {
        match by_key.iter_mut().find(|(key, _)| **key == line.heard.key) {
            Some((_, same)) => same.push(line),
            None => by_key.push((&line.heard.key, vec![line])),
        }
    }
    let best = by_key.into_iter().enumerate().map(|(place, (_, lines))| {
        let answers = lines.iter().filter(|line| line.heard.status.is_answer());
        let answer = answers.max_by_key(|line| line.heard.status == Status::Ok);
        let line = *answer.unwrap_or(&lines[lines.len() - 1]);
        ((answer.is_some(), today.is_wording_of(line), place), line)
    });
    let ((_, current, _), line) = best
        .max_by_key(|(rank, _)| *rank)
        .expect("a trial has at least one line");
    let heard = line.heard;
    let tokens = heard.tokens.input.zip(heard.tokens.output);
    Call {
        item: &heard.item,
        temperature: line.temperature,
        condition: heard.condition,
        trial: heard.epoch,
        anchor: heard.anchor,
        judging: today.mended(line),
        given: given(heard),
        accept: heard.verdict.and_then(|verdict| verdict.accept),
        tokens: tokens.map(|(input, output)| input.0 + output.0),
        current,
        line: heard,
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
