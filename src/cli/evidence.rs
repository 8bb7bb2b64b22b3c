//! What every verb that scores starts from: the store, read once, with the questions and tasks it is scored by.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use clap::Args;

use super::workspace::{QuestionArgs, StoreArgs, SuiteArgs, TaskArgs, choice, unknown};
use super::{CliError, output};
use crate::domain::{Condition, ItemId, ModelName, SampleKey, Suite, TaskName};
use crate::parse::Rules;
use crate::score::judge::{Calls, JudgeScores, gather, score_judges};
use crate::score::spinner::{SpinnerScores, score_spinner};
use crate::score::{
    Baseline, CaseMethod, CaseScores, Cell, Clustering, Heard, Index, IntervalMethod, Method, Pool,
    Scores, cells, score, score_cases,
};
use crate::store::{self, Fingerprint, Record};
use crate::task::Catalog;

/// Where the evidence lies.
#[derive(Debug, Clone, Args)]
pub(super) struct EvidenceArgs {
    #[command(flatten)]
    pub(super) store: StoreArgs,
    /// Folder of answers of people, which make a row of their own
    #[arg(long, value_name = "DIR")]
    pub(super) people: Option<PathBuf>,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    pub(super) suite: SuiteArgs,
    /// How replies to cases are read: by our rules or those of the published benchmark
    #[arg(long, value_name = "RULES", default_value_t, value_parser = choice::<Rules>())]
    pub(super) rules: Rules,
}

/// How it is scored.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct MethodArgs {
    /// The index: the wheel's log ratio, Jacowitz & Kahneman's (linear), its size, or raw differences
    #[arg(long, value_name = "INDEX", default_value_t, value_parser = choice::<Index>())]
    index: Index,
    /// How bootstrap intervals are read off
    #[arg(long = "interval", value_name = "METHOD", default_value_t, value_parser = choice::<IntervalMethod>())]
    interval: IntervalMethod,
    /// Of cases: anchors within so many points of the control's answer have no index
    #[arg(long, value_name = "POINTS", default_value_t = CaseMethod::default().epsilon, value_parser = points)]
    epsilon: f64,
    /// Of cases: what is drawn anew for intervals, cases or (as published) single values
    #[arg(long, value_name = "UNIT", default_value_t, value_parser = choice::<Clustering>())]
    clustering: Clustering,
    /// Of cases: the control that pulls are measured from, where both were asked
    #[arg(long, value_name = "CONTROL", default_value_t, value_parser = choice::<Baseline>())]
    baseline: Baseline,
}

fn points(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 100.0 => Ok(value),
        _ => Err("must be above 0 and at most 100".to_owned()),
    }
}

impl MethodArgs {
    /// Refuses what would have no effect on the scores of a suite.
    pub(super) fn check(self, suite: Suite) -> Result<(), CliError> {
        let of_wheel = self.method() != Method::default();
        let of_cases = self.of_cases() != CaseMethod::default();
        let (flags, whose) = match suite {
            Suite::Wheel if of_cases => ("--epsilon, --clustering and --baseline", "cases"),
            Suite::Anchorbench if of_wheel => ("--index and --interval", "the wheel"),
            Suite::Spinner | Suite::Judge if of_wheel || of_cases => (
                "--index, --interval, --epsilon, --clustering and --baseline",
                "the wheel and of cases",
            ),
            _ => return Ok(()),
        };
        Err(CliError::Usage(format!(
            "{flags} are for scores of {whose}: leave them out with --suite {suite}"
        )))
    }

    pub(super) fn method(self) -> Method {
        Method {
            index: self.index,
            interval: self.interval,
        }
    }

    pub(super) fn both(self) -> BothMethods {
        BothMethods {
            wheel: self.method(),
            cases: self.of_cases(),
        }
    }

    pub(super) fn of_cases(self) -> CaseMethod {
        CaseMethod {
            epsilon: self.epsilon,
            intervals: self.clustering,
            baseline: self.baseline,
        }
    }
}

/// How either suite is scored.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BothMethods {
    pub(super) wheel: Method,
    pub(super) cases: CaseMethod,
}

/// A store that was read.
pub(super) struct Evidence {
    pub(super) catalog: Catalog,
    pub(super) suite: Suite,
    pub(super) rules: Rules,
    pub(super) heard: Vec<Heard>,
    /// Hash over the stored replies.
    pub(super) fingerprint: String,
    /// Stored lines.
    pub(super) lines: usize,
    /// Versions of the program that asked.
    pub(super) versions: BTreeSet<String>,
    /// Folder of the people's answers.
    pub(super) people: Option<PathBuf>,
    stores: Vec<PathBuf>,
    models: Vec<String>,
    only: Vec<String>,
}

impl EvidenceArgs {
    /// Reads the store; of the named models and tasks, or of all if none is named.
    pub(super) fn load(&self, models: &[String], only: &[String]) -> Result<Evidence, CliError> {
        self.load_store(&self.store.store, models, only)
    }

    /// Everything that can be asked, with what the store holds of published cases.
    pub(super) fn catalog(&self) -> Result<Catalog, CliError> {
        self.tasks.catalog(&self.questions, &self.store.store)
    }

    /// Reads another store than that of the flags, by the same questions and tasks.
    pub(super) fn load_store(
        &self,
        store: &Path,
        models: &[String],
        only: &[String],
    ) -> Result<Evidence, CliError> {
        let catalog = self.tasks.catalog(&self.questions, store)?;
        let suite = self.suite.resolve(only, &catalog.tasks)?;
        if let Some(people) = self.people.as_deref().filter(|people| !people.is_dir()) {
            return Err(CliError::Usage(format!(
                "there are no answers of people at {}: `wheel people` collects some",
                people.display()
            )));
        }
        if !store.is_dir() {
            return Err(CliError::Usage(format!(
                "there is no store at {}: run `wheel run --suite {suite}` first, or name the folder with --store",
                store.display()
            )));
        }
        let mut evidence = Evidence {
            catalog,
            suite,
            rules: self.rules,
            heard: Vec::new(),
            fingerprint: String::new(),
            lines: 0,
            versions: BTreeSet::new(),
            people: self.people.clone(),
            models: models.to_vec(),
            only: only.to_vec(),
            stores: [store]
                .into_iter()
                .chain(self.people.as_deref())
                .map(Path::to_owned)
                .collect(),
        };
        let mut fingerprint = Fingerprint::default();
        let mut pool = Pool::default();
        let tasks = &evidence.catalog.tasks;
        let read = |record: Record| {
            let task = tasks.get(record.task.as_str());
            // Lines of other suites are other boards' evidence.
            let of_judge = record.judging.as_ref().map(|_| Suite::Judge);
            let other = of_judge.or(task.map(|task| task.suite));
            if let Some(other) = other.filter(|other| *other != suite) {
                return Err(other);
            }
            let said = Fingerprint::of(&record);
            let version = record.wheel.clone();
            let heard = Heard::new(record, &evidence.catalog, self.rules);
            Ok((heard, said, version))
        };
        let mut heard = Vec::new();
        let mut versions = BTreeSet::new();
        let mut others: BTreeMap<Suite, usize> = BTreeMap::new();
        let mut keep = |read: Result<(Heard, Option<u128>, Cow<'static, str>), Suite>| {
            let (mut line, said, version) = match read {
                Ok(read) => read,
                Err(suite) => {
                    *others.entry(suite).or_default() += 1;
                    return;
                }
            };
            fingerprint.add(said);
            if !versions.contains(&*version) {
                versions.insert(version.into_owned());
            }
            pool.share(&mut line);
            heard.push(line);
        };
        for store in &evidence.stores {
            let warnings = on_all_cores(|| store::read_all(store, read, &mut keep))?
                .map_err(CliError::failed)?;
            for warning in warnings {
                output::note(&format!("warning: {warning}"));
            }
        }
        if heard.is_empty() {
            let others: Vec<String> = others
                .iter()
                .map(|(suite, n)| format!("{n} lines of --suite {suite}"))
                .collect();
            let hint = match others.as_slice() {
                [] => String::new(),
                some => format!(" of suite {suite}, but {}", some.join(" and ")),
            };
            return Err(CliError::Usage(format!(
                "the store at {} holds no sample{hint}",
                store.display()
            )));
        }
        evidence.versions = versions;
        evidence.lines = heard.len();
        evidence.heard = heard;
        evidence.fingerprint = fingerprint.finish();
        evidence.check()?;
        Ok(evidence)
    }
}

/// Lets work that can be shared out run on all cores; the engine has its own idea of how many it wants.
fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, CliError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build();
    Ok(pool.map_err(CliError::failed)?.install(work))
}

/// The store holds answers to other cases than the ones at hand.
pub(super) fn no_cases() -> CliError {
    CliError::Usage(
        "no stored sample belongs to the tasks and cases that are loaded: name theirs with --tasks"
            .to_owned(),
    )
}

impl Evidence {
    /// Every stored record with its texts, by sample.
    pub(super) fn records(&self) -> Result<HashMap<SampleKey, Vec<Record>>, CliError> {
        let mut by_key: HashMap<SampleKey, Vec<Record>> = HashMap::new();
        let mut keep = |record: Record| by_key.entry(record.key.clone()).or_default().push(record);
        for store in &self.stores {
            on_all_cores(|| store::read_all(store, |record| record, &mut keep))?
                .map_err(CliError::failed)?;
        }
        Ok(by_key)
    }

    /// Checks the names of a selection.
    fn check(&self) -> Result<(), CliError> {
        let known: BTreeSet<&ModelName> = self.heard.iter().map(|line| &line.model).collect();
        let known: Vec<&str> = known.into_iter().map(ModelName::as_str).collect();
        for name in &self.models {
            if !known.contains(&name.as_str()) {
                return Err(unknown("model in the store", name, &known));
            }
        }
        if self
            .heard
            .iter()
            .any(|line| self.holds(&line.model, &line.task))
        {
            Ok(())
        } else {
            Err(CliError::Usage(
                "the store holds no sample of this selection".to_owned(),
            ))
        }
    }

    /// Whether a cell belongs to the selection; every one does if nothing is named.
    fn holds(&self, model: &ModelName, task: &TaskName) -> bool {
        (self.models.is_empty() || self.models.iter().any(|name| name == model.as_str()))
            && (self.only.is_empty() || self.only.iter().any(|name| name == task.as_str()))
    }

    /// The samples of the selection.
    pub(super) fn cells(&self) -> Vec<Cell<'_>> {
        let (mut cells, _) = cells(&self.heard, &self.catalog, self.suite);
        cells.retain(|cell| self.holds(&cell.model, &cell.task.name));
        cells
    }

    /// Scores cases, and says what was left out because its task or case is not loaded.
    pub(super) fn case_scores(&self, method: CaseMethod) -> Result<CaseScores, CliError> {
        let mut scores = on_all_cores(|| score_cases(&self.heard, &self.catalog, method))?;
        Self::warn(&scores.unknown);
        if scores.cells.is_empty() {
            return Err(no_cases());
        }
        scores
            .cells
            .retain(|cell| self.holds(&cell.model, &cell.task));
        Ok(scores)
    }

    /// Scores stimuli, and says what was left out because its words are not loaded.
    pub(super) fn spinner_scores(&self) -> Result<SpinnerScores, CliError> {
        let mut scores = on_all_cores(|| score_spinner(&self.heard, &self.catalog))?;
        for (what, n) in &scores.unknown {
            output::note(&format!(
                "warning: {n} stored lines of {what} are left out: name theirs with --stimuli or --tasks"
            ));
        }
        for ((model, _), n) in &scores.merged {
            output::note(&format!(
                "warning: {model}: in {n} prompts some answers begin within the last token of the prompt; their probability is taken from that token on"
            ));
        }
        for one in &scores.variations {
            let mut missing = one.missing_p();
            if !one.is_attributed() {
                missing.retain(|name| *name != "p_BanzhafAnchor");
                output::note(&format!(
                    "warning: {}, {}: prompts with fewer fields are not all scored, so that nothing is attributed and ABSS is not given",
                    one.model, one.item
                ));
            }
            if !missing.is_empty() {
                output::note(&format!(
                    "warning: {}, {}: {} cannot be computed, and weighs 0",
                    one.model,
                    one.item,
                    missing.join(", ")
                ));
            }
        }
        if scores.variations.is_empty() {
            return Err(CliError::Usage(
                "no variation is scored under both anchors: ask the rest with `wheel run --suite spinner`, or name the stimuli with --stimuli".to_owned(),
            ));
        }
        scores
            .variations
            .retain(|one| self.holds(&one.model, &one.task));
        scores
            .models
            .retain(|one| self.holds(&one.model, &one.task));
        Ok(scores)
    }

    /// Scores judges, and says what is left out.
    pub(super) fn judge_scores(&self) -> Result<JudgeScores, CliError> {
        let mut scores = on_all_cores(|| score_judges(&self.heard, &self.catalog))?;
        scores.keep(|model, task| self.holds(model, task));
        for panel in &scores.panels {
            let thin = panel.categories.iter().filter(|(_, n)| *n == 1);
            let thin: Vec<&str> = thin.map(|(category, _)| &**category).collect();
            if !thin.is_empty() {
                output::note(&format!(
                    "warning: {}: with one text, {} adds nothing to the width of intervals",
                    panel.task,
                    thin.join(", ")
                ));
            }
            for model in &panel.models {
                let about = format!("warning: {}, {}", model.model, panel.task);
                let empty = |condition: &&Condition| {
                    model
                        .counts
                        .get(*condition)
                        .is_some_and(|(_, valid)| *valid == 0)
                };
                for condition in model.counts.keys().filter(empty) {
                    output::note(&format!("{about}: no call under {condition} has a score"));
                }
                if !model.gaps.texts.is_empty() {
                    let texts: Vec<&str> = model.gaps.texts.iter().map(ItemId::as_str).collect();
                    output::note(&format!(
                        "{about}: no pair of cells of {}: the effect of the model is not defined",
                        texts.join(", ")
                    ));
                }
                if !model.gaps.temperatures.is_empty() {
                    let pairs = model.gaps.temperatures.iter();
                    let pairs: Vec<String> = pairs
                        .map(|(item, temperature)| format!("{item} at temperature {temperature}"))
                        .collect();
                    output::note(&format!(
                        "{about}: left out, since a cell has no valid call: {}",
                        pairs.join(", ")
                    ));
                }
            }
        }
        Ok(scores)
    }

    /// The calls to judges of the selection.
    pub(super) fn judge_calls(&self) -> Vec<Calls<'_>> {
        let mut calls = gather(&self.heard, &self.catalog);
        calls.retain(|calls| self.holds(&calls.model, &calls.task));
        calls
    }

    fn warn(unknown: &BTreeMap<String, usize>) {
        for (name, n) in unknown {
            output::note(&format!(
                "warning: {n} stored lines of {name} are left out: it is not loaded (--questions, --tasks)"
            ));
        }
    }

    /// Scores it, and says what was left out because its task or question is not loaded.
    ///
    /// Everything is scored: baselines, ranks and adjusted p values rest on cells that a selection may leave out.
    pub(super) fn scores(&self, method: Method) -> Result<Scores, CliError> {
        let mut scores = on_all_cores(|| score(&self.heard, &self.catalog, method))?;
        Self::warn(&scores.unknown);
        if scores.cells.is_empty() {
            return Err(CliError::Usage(
                "no stored sample belongs to the questions and tasks that are loaded: name theirs with --questions and --tasks".to_owned(),
            ));
        }
        scores
            .cells
            .retain(|cell| self.holds(&cell.model, &cell.task));
        let cells = &scores.cells;
        scores
            .models
            .retain(|model| cells.iter().any(|cell| cell.model == model.model));
        Ok(scores)
    }
}
