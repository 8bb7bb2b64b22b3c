//! What most verbs need: questions, tasks, models and the store, from flags, the working folder or the binary.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use strum::VariantNames;

use super::{CliError, output};
use crate::bank::cases::{self, Case, Cases, Spec, Wording};
use crate::bank::judge::{self, Matters, Rubric};
use crate::bank::stimuli::{self, Stimuli};
use crate::bank::{self, Bank, BankFile, Strictness};
use crate::domain::{Suite, TaskName};
use crate::model::{self, Registry};
use crate::store;
use crate::task::{self, Catalog, TaskFile, Tasks, published_task};
use crate::yaml::{Document, Faults, nearest};

/// Where questions come from.
#[derive(Debug, Clone, Args)]
pub(super) struct QuestionArgs {
    /// Question files or folders [default: questions/ here if it exists, else the built-in ones]
    #[arg(long = "questions", value_name = "PATH")]
    questions: Vec<PathBuf>,
}

/// Where tasks come from.
#[derive(Debug, Clone, Args)]
pub(super) struct TaskArgs {
    /// Folder of task files that are added to the built-in ones [default: tasks/ here if it exists]
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
    /// Stimuli in place of the built-in ones: a YAML file, or a CSV table in the form of "Anchors in the Machine"
    /// [default: stimuli/spinner.yaml here if it exists]
    #[arg(long, value_name = "FILE")]
    stimuli: Option<PathBuf>,
    /// Texts or messages to be judged in place of the built-in ones: YAML, or a CSV table; repeat for both
    /// [default: judge/texts.yaml and judge/messages.yaml here if they exist]
    #[arg(long, value_name = "FILE")]
    texts: Vec<PathBuf>,
    /// What is judged by: rubrics, scale, threshold, labels and standing instructions, as YAML or a CSV table of field and text;
    /// what it leaves out is built in [default: judge/rubric.yaml here if it exists]
    #[arg(long, value_name = "FILE")]
    rubric: Option<PathBuf>,
    /// Folder of wording for cases that is added to the built-in one [default: wording/ here if it exists]
    #[arg(long, value_name = "DIR")]
    wording: Option<PathBuf>,
}

/// Which family of tasks.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct SuiteArgs {
    /// Suite of tasks: wheel, anchorbench, spinner or judge [default: that of the named tasks, else wheel]
    #[arg(long, value_name = "S", value_parser = choice::<Suite>())]
    pub(super) suite: Option<Suite>,
}

impl SuiteArgs {
    /// The suite that is meant, once names are known.
    pub(super) fn resolve(self, names: &[String], tasks: &Tasks) -> Result<Suite, CliError> {
        check_tasks(names, tasks)?;
        let of = |name: &String| tasks.get(name).map(|task| task.suite);
        let suite = self.suite.or_else(|| of(names.first()?));
        let suite = suite.unwrap_or_default();
        match names.iter().find(|name| of(name) != Some(suite)) {
            Some(name) => Err(CliError::Usage(format!(
                "task `{name}` belongs to another suite than {suite}: suites are asked and scored one at a time"
            ))),
            None => Ok(suite),
        }
    }
}

/// One of the names of an enum, which clap lists.
pub(super) fn choice<T>() -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: std::fmt::Debug> + VariantNames + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(T::VARIANTS).map(|name| name.parse().expect("a listed name"))
}

/// Where models come from.
#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Models file that is added to the built-in one [default: models.yaml here if it exists]
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
}

/// Where replies are kept.
#[derive(Debug, Clone, Args)]
pub(super) struct StoreArgs {
    /// Folder of the stored replies
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(super) store: PathBuf,
}

impl QuestionArgs {
    pub(super) fn load(&self) -> Result<Bank, CliError> {
        let files = self.files()?;
        let (bank, warnings) = bank::load(&files, Strictness::Usable).map_err(CliError::usage)?;
        for warning in warnings.0 {
            output::note(&warning.to_string());
        }
        Ok(bank)
    }

    pub(super) fn files(&self) -> Result<Vec<BankFile>, CliError> {
        let here = PathBuf::from("questions");
        if !self.questions.is_empty() {
            bank::read_paths(&self.questions).map_err(CliError::usage)
        } else if here.is_dir() {
            bank::read_paths(&[here]).map_err(CliError::usage)
        } else {
            Ok(bank::built_in())
        }
    }
}

impl TaskArgs {
    pub(super) fn load(&self) -> Result<Tasks, CliError> {
        self.load_with(&self.wording()?)
    }

    fn load_with(&self, wording: &Wording) -> Result<Tasks, CliError> {
        task::load(&self.files()?, wording).map_err(CliError::usage)
    }

    /// The tasks of the wheel.
    pub(super) fn load_wheel(&self) -> Result<Tasks, CliError> {
        Ok(self.load()?.of(Suite::Wheel))
    }

    /// Sentences for cases.
    pub(super) fn wording(&self) -> Result<Wording, CliError> {
        let mut files = cases::built_in_wording();
        let here = Path::new("wording");
        let folder = match &self.wording {
            Some(folder) => Some(folder.as_path()),
            None => here.is_dir().then_some(here),
        };
        if let Some(folder) = folder {
            files.extend(cases::read_wording(folder).map_err(CliError::usage)?);
        }
        cases::load_wording(&files).map_err(CliError::usage)
    }

    /// Everything that can be asked: our tasks, with the published ones of a store in their place, and their cases.
    pub(super) fn catalog(
        &self,
        questions: &QuestionArgs,
        store: &Path,
    ) -> Result<Catalog, CliError> {
        let wording = self.wording()?;
        let mut tasks = self.load_with(&wording)?;
        let mut cases = Cases::default();
        let set = store::read_set(store).map_err(CliError::failed)?;
        for (name, published) in set.iter().flat_map(|set| &set.0) {
            let set = set.as_ref().expect("it has a task");
            let task = published_task(name, set, tasks.get(name.as_str()));
            match tasks.0.iter_mut().find(|known| known.name == *name) {
                Some(known) => *known = task,
                None => tasks.0.push(task),
            }
            let published = published.iter().cloned().map(Arc::new).collect();
            cases.insert(name.clone(), published);
        }
        // Variants in our wording have nothing to be compared with where the task is published.
        if let Some(set) = &set {
            let published = |name: &TaskName| set.0.contains_key(name);
            tasks.0.retain(|task| {
                published(&task.name) || !task.variant_of.as_ref().is_some_and(published)
            });
        }
        // Variants mostly ask about the cases of their task.
        let mut made: Vec<(&Spec, Vec<Arc<Case>>)> = Vec::new();
        for task in &tasks.0 {
            let Some(spec) = &task.cases else { continue };
            let known = made.iter().find(|(known, _)| *known == spec);
            let of_task = if let Some((_, cases)) = known {
                cases.clone()
            } else {
                let new: Vec<Arc<Case>> =
                    spec.generate(&wording).into_iter().map(Arc::new).collect();
                let faults = cases::check(new.iter().map(Arc::as_ref));
                if let Some(fault) = faults.first() {
                    return Err(CliError::Usage(format!("task `{}`: {fault}", task.name)));
                }
                made.push((spec, new.clone()));
                new
            };
            cases.insert(task.name.clone(), of_task);
        }
        Ok(Catalog {
            bank: questions.load()?,
            tasks,
            cases,
            stimuli: self.load_stimuli()?,
            matters: self.load_matters()?,
        })
    }

    /// Texts and messages to be judged.
    fn load_matters(&self) -> Result<Matters, CliError> {
        let [rubric, texts, messages] = judge::built_in();
        let shipped = Document::parse(rubric.0, rubric.1)
            .and_then(|document| judge::load_rubric(&document, None))
            .map_err(CliError::usage)?;
        let here = |name: &str| Some(PathBuf::from(name)).filter(|path| path.is_file());
        let file = self.rubric.clone().or_else(|| here("judge/rubric.yaml"));
        let rubric = match &file {
            Some(path) => read_rubric(path, &shipped)?,
            None => shipped,
        };
        let is_own = file.is_some();
        let rubric = Arc::new(rubric);
        let read = |document: &Document| judge::load_texts(document, &rubric);
        let mut matters = Matters::default();
        let mut add = |own: judge::Own| {
            matters.texts.extend(own.texts.into_iter().flatten());
            matters.messages.extend(own.messages.into_iter().flatten());
        };
        for path in &self.texts {
            add(read_file(path, &read)?);
        }
        if !self.texts.is_empty() {
            return unlike(matters);
        }
        for (name, text) in [texts, messages] {
            let name = name.trim_end_matches(" (built in)");
            match here(name) {
                Some(path) => add(read_file(&path, &read)?),
                // A rubric of one's own may know nothing of the built-in kinds of text or labels.
                None => match Document::parse(name, text).and_then(|document| read(&document)) {
                    Ok(own) => add(own),
                    Err(_) if is_own => {}
                    Err(faults) => return Err(CliError::usage(faults)),
                },
            }
        }
        unlike(matters)
    }

    /// Prompts that differ in one number.
    fn load_stimuli(&self) -> Result<Stimuli, CliError> {
        let here = Path::new("stimuli/spinner.yaml");
        let file = self
            .stimuli
            .as_deref()
            .or_else(|| here.is_file().then_some(here));
        let Some(path) = file else {
            let (name, text) = stimuli::built_in();
            return stimuli::load(name, text).map_err(CliError::usage);
        };
        let name = path.display().to_string();
        let text = text_of(path)?;
        if is_table(path) {
            stimuli::load_csv(&name, &text).map_err(CliError::usage)
        } else {
            stimuli::load(&name, &text).map_err(CliError::usage)
        }
    }

    fn files(&self) -> Result<Vec<TaskFile>, CliError> {
        let mut files = task::built_in();
        let here = Path::new("tasks");
        let folder = match &self.tasks {
            Some(folder) => Some(folder.as_path()),
            None => here.is_dir().then_some(here),
        };
        if let Some(folder) = folder {
            files.extend(task::read_folder(folder).map_err(CliError::usage)?);
        }
        Ok(files)
    }
}

/// Whether a path names a table.
fn is_table(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

fn read_file<T>(path: &Path, read: &dyn Fn(&Document) -> Result<T, Faults>) -> Result<T, CliError> {
    let name = path.display().to_string();
    let text = text_of(path)?;
    let document = if is_table(path) {
        Document::table(name, &text)
    } else {
        Document::parse(name, &text)
    };
    document
        .and_then(|document| read(&document))
        .map_err(CliError::usage)
}

fn read_rubric(path: &Path, shipped: &Rubric) -> Result<Rubric, CliError> {
    let name = path.display().to_string();
    let text = text_of(path)?;
    let document = if is_table(path) {
        Document::pairs(name, &text)
    } else {
        Document::parse(name, &text)
    };
    document
        .and_then(|document| judge::load_rubric(&document, Some(shipped)))
        .map_err(CliError::usage)
}

fn text_of(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path)
        .map_err(|error| CliError::Usage(format!("cannot read {}: {error}", path.display())))
}

/// Names are unique over all files.
fn unlike(matters: Matters) -> Result<Matters, CliError> {
    for kind in [&matters.texts, &matters.messages] {
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = kind.iter().find(|one| !seen.insert(one.id())) {
            return Err(CliError::Usage(format!(
                "`{}` stands in two files of texts: give each an id of its own",
                twice.id()
            )));
        }
    }
    Ok(matters)
}

impl ModelArgs {
    pub(super) fn load(&self) -> Result<Registry, CliError> {
        let mut files = vec![(
            "models.yaml (built in)".to_owned(),
            model::built_in().to_owned(),
        )];
        let here = Path::new("models.yaml");
        let file = match &self.models {
            Some(file) => Some(file.as_path()),
            None => here.is_file().then_some(here),
        };
        if let Some(file) = file {
            let text = std::fs::read(file).map_err(|error| {
                CliError::Usage(format!("cannot read {}: {error}", file.display()))
            })?;
            files.push((
                file.display().to_string(),
                String::from_utf8_lossy(&text).into_owned(),
            ));
        }
        model::load(&files).map_err(CliError::usage)
    }
}

/// Checks task names.
pub(super) fn check_tasks(names: &[String], tasks: &Tasks) -> Result<(), CliError> {
    let known: Vec<&str> = tasks.names().collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(unknown("task", name, &known)),
        None => Ok(()),
    }
}

/// Most names that an error lists.
const NAMED: usize = 100;

/// "there is no … `x`, did you mean …?".
pub(super) fn unknown(kind: &str, name: &str, known: &[&str]) -> CliError {
    let near = nearest(name, known.iter().copied())
        .map(|near| format!(", did you mean {near}?"))
        .unwrap_or_default();
    let more = match known.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    CliError::Usage(format!(
        "there is no {kind} `{name}`{near}; there are: {}{more}",
        known[..known.len().min(NAMED)].join(", ")
    ))
}
