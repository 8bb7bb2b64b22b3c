//! What a run asks for: names resolved, settings overridden, every cell planned against the store.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::Args;
use crate::ask::{Job, Plan, Stored, Wanted, plan};
use crate::bank::stimuli::Stimuli;
use crate::bank::{Bank, Subject};
use crate::cli::CliError;
use crate::cli::workspace::unknown;
use crate::domain::{ItemId, ScoringMode, Status, Suite, Tier};
use crate::model::{DEFAULT_MODEL, Model, Registry, resolve};
use crate::parse::Rules;
use crate::score::Heard;
use crate::store::{self, BatchLog, cell_path};
use crate::task::{Catalog, Task};
use crate::yaml::nearest;

/// Output budget where neither the command nor the model entry says anything, in tokens.
pub(super) const OUTPUT_BUDGET: u32 = 8000;

/// What the command asks for, with names resolved.
pub(super) struct Selection {
    pub(super) models: Vec<Model>,
    pub(super) tasks: Vec<Arc<Task>>,
    /// What each task asks about, in the order of the tasks.
    pub(super) subjects: Vec<Vec<Subject>>,
    pub(super) suite: Suite,
    pub(super) catalog: Arc<Catalog>,
    #[cfg_attr(
        not(feature = "engine"),
        expect(dead_code, reason = "only the engine looks up weights")
    )]
    pub(super) registry: Registry,
}

/// One model × task with its file, what is stored of it, and its jobs.
pub(super) struct CellPlan {
    pub(super) model: usize,
    pub(super) task: Arc<Task>,
    pub(super) path: PathBuf,
    pub(super) stored: Stored,
    /// The lines that are there, read.
    pub(super) heard: Vec<Heard>,
    pub(super) jobs: Vec<Job>,
    pub(super) answered: usize,
    pub(super) batched: usize,
}

pub(super) fn selection(args: &Args) -> Result<Selection, CliError> {
    let catalog = args.tasks.catalog(&args.questions, &args.store.store)?;
    let registry = args.models.load()?;
    let suite = args.suite.resolve(&args.task, &catalog.tasks)?;
    let tasks: Vec<Arc<Task>> = catalog
        .tasks
        .0
        .iter()
        .filter(|task| match args.task.as_slice() {
            [] => {
                task.suite == suite
                    && (args.variants || task.variant_of.is_none())
                    && (task.judges.is_none() || has_matters(task, &catalog, &args.item))
            }
            names => names.iter().any(|name| name == task.name.as_str()),
        })
        .map(|task| Arc::new(task.clone()))
        .collect();
    let mut names = args.model.clone();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    if names.is_empty() {
        let preferred = std::env::var("WHEEL_MODEL")
            .ok()
            .filter(|name| !name.is_empty());
        names.push(preferred.unwrap_or_else(|| DEFAULT_MODEL.to_owned()));
    }
    let models = names
        .iter()
        .map(|name| {
            let mut model = resolve(name, &registry).map_err(CliError::usage)?;
            override_settings(args, &mut model);
            Ok(model)
        })
        .collect::<Result<Vec<Model>, CliError>>()?;
    if suite == Suite::Judge {
        let all = catalog.tasks.0.iter().filter(|task| task.suite == suite);
        let all = all.flat_map(|task| catalog.judged(task));
        let known: BTreeSet<&str> = all.map(|one| one.id().as_str()).collect();
        if let Some(name) = args.item.iter().find(|name| !known.contains(name.as_str())) {
            let near = nearest(name, known.iter().copied())
                .map_or_else(String::new, |near| format!(", did you mean {near}?"));
            return Err(CliError::Usage(format!(
                "there is no text or message `{name}`{near}; ids are such as {}",
                known.last().unwrap_or(&"sum-tides")
            )));
        }
    }
    can_score(args, suite, &tasks, &models)?;
    Ok(Selection {
        subjects: subjects(args, suite, &tasks, &catalog)?,
        models,
        tasks,
        suite,
        catalog: Arc::new(catalog),
        registry,
    })
}

/// Whether there is something to be judged for a task, among the named ones if any are named.
fn has_matters(task: &Task, catalog: &Catalog, named: &[String]) -> bool {
    let mut all = catalog.judged(task).iter();
    all.any(|one| named.is_empty() || named.iter().any(|id| id == one.id().as_str()))
}

/// Whether the models can be asked what the tasks ask: a reply, or the probabilities of given answers.
fn can_score(
    args: &Args,
    suite: Suite,
    tasks: &[Arc<Task>],
    models: &[Model],
) -> Result<(), CliError> {
    if args.mode == ScoringMode::Paper && suite != Suite::Spinner {
        return Err(CliError::Usage(
            "--mode paper is for --suite spinner: elsewhere only probabilities count".to_owned(),
        ));
    }
    let Some(task) = tasks.iter().find(|task| task.targets.is_some()) else {
        return Ok(());
    };
    for model in models {
        let dialect = model.provider.dialect;
        if !dialect.scores() {
            return Err(CliError::Usage(format!(
                "task `{}` asks for the probabilities of given answers, which {} does not give over the dialect {dialect}: use a model in this process, or an entry with dialect vllm, llama_cpp or openai_completions",
                task.name, model.name
            )));
        }
        if dialect.is_wire() && args.mode == ScoringMode::Paper {
            return Err(CliError::Usage(format!(
                "--mode paper looks up ids of another tokenization, which only a model in this process can do; {} is a server",
                model.name
            )));
        }
    }
    if args.batch {
        return Err(CliError::Usage(format!(
            "task `{}` asks for the probabilities of given answers, which no batch gives",
            task.name
        )));
    }
    Ok(())
}

/// What each task asks about.
fn subjects(
    args: &Args,
    suite: Suite,
    tasks: &[Arc<Task>],
    catalog: &Catalog,
) -> Result<Vec<Vec<Subject>>, CliError> {
    match suite {
        Suite::Wheel => {
            if args.size.is_some() {
                return Err(CliError::Usage(
                    "--size is for suites of cases; --limit takes the first questions".to_owned(),
                ));
            }
            Ok(vec![items(args, &catalog.bank)?; tasks.len()])
        }
        Suite::Anchorbench => cases(args, tasks, catalog),
        Suite::Spinner => Ok(vec![excerpts(args, catalog)?; tasks.len()]),
        Suite::Judge => tasks
            .iter()
            .map(|task| judged(args, task, catalog))
            .collect(),
    }
}

fn cases(
    args: &Args,
    tasks: &[Arc<Task>],
    catalog: &Catalog,
) -> Result<Vec<Vec<Subject>>, CliError> {
    if !args.tier.is_empty() {
        return Err(CliError::Usage(
            "cases have no tiers: leave --tier out, or choose with --size and --item".to_owned(),
        ));
    }
    for name in &args.item {
        let id = ItemId::from(name.as_str());
        if !tasks
            .iter()
            .any(|task| catalog.case(&task.name, &id).is_some())
        {
            let all = tasks.iter().flat_map(|task| catalog.cases.of(&task.name));
            let ids: Vec<&str> = all.map(|case| case.id.as_str()).collect();
            let near = nearest(name, ids.iter().copied())
                .map_or_else(String::new, |near| format!(", did you mean {near}?"));
            return Err(CliError::Usage(format!(
                "no task of this selection asks about case `{name}`{near}; ids are such as {}",
                ids.first().unwrap_or(&"EXT-pricing_wtp-e-off15-001")
            )));
        }
    }
    let size = args.size.unwrap_or_default();
    tasks
        .iter()
        .map(|task| {
            let all = catalog.cases.of(&task.name);
            let first = all.first().map_or("", |case| &*case.facts.domain);
            let chosen: Vec<Subject> = all
                .iter()
                .filter(|case| size.holds(case, first))
                .filter(|case| {
                    args.item.is_empty() || args.item.iter().any(|id| id == case.id.as_str())
                })
                .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
                .map(|case| Subject::Case(Arc::clone(case)))
                .collect();
            let asked = |case: &Subject| {
                let mut conditions = task.conditions.iter();
                conditions.any(|condition| case.asks_under(*condition))
            };
            if !chosen.is_empty() && !chosen.iter().any(asked) {
                return Err(CliError::Usage(format!(
                    "{} holds answers to task `{}` but not its prompts: import its promptviews.jsonl too, or name another --store",
                    args.store.store.display(),
                    task.name
                )));
            }
            if chosen.is_empty() {
                return Err(CliError::Usage(format!(
                    "no case of task `{}` is left by --size and --item together",
                    task.name
                )));
            }
            Ok(chosen)
        })
        .collect()
}

/// Texts or messages to be judged.
fn judged(args: &Args, task: &Task, catalog: &Catalog) -> Result<Vec<Subject>, CliError> {
    if args.size.is_some() || !args.tier.is_empty() {
        return Err(CliError::Usage(
            "texts have no tiers or sizes: choose with --item, or --limit for the first ones"
                .to_owned(),
        ));
    }
    let all = catalog.judged(task);
    if all.is_empty() {
        return Err(CliError::Usage(format!(
            "task `{}` finds nothing to be judged: the files of --texts hold nothing for it, or the rubric knows none of the built-in categories or labels; texts have an assignment and an answer, messages a truth",
            task.name
        )));
    }
    for judged in all {
        task.fits(judged).map_err(CliError::Usage)?;
    }
    let chosen: Vec<Subject> = all
        .iter()
        .filter(|one| args.item.is_empty() || args.item.iter().any(|id| id == one.id().as_str()))
        .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
        .map(|one| Subject::Judged(Arc::clone(one)))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = all.iter().map(|one| one.id().as_str()).collect();
        return Err(unknown("text", &args.item[0], &known));
    }
    Ok(chosen)
}

/// Stimuli with all their parts.
fn excerpts(args: &Args, catalog: &Catalog) -> Result<Vec<Subject>, CliError> {
    if args.size.is_some() || !args.tier.is_empty() {
        return Err(CliError::Usage(
            "stimuli have no tiers or sizes: choose with --item, or --limit for the first ones"
                .to_owned(),
        ));
    }
    let stimuli = &catalog.stimuli.0;
    let ids: Vec<&str> = stimuli.iter().map(|one| one.id.as_str()).collect();
    if let Some(name) = args.item.iter().find(|name| !ids.contains(&name.as_str())) {
        return Err(unknown("stimulus", name, &ids));
    }
    let chosen = stimuli
        .iter()
        .filter(|one| args.item.is_empty() || args.item.iter().any(|id| id == one.id.as_str()))
        .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
        .cloned();
    let excerpts = Stimuli(chosen.collect()).excerpts().collect::<Vec<_>>();
    Ok(excerpts
        .into_iter()
        .map(|excerpt| Subject::Excerpt(Arc::new(excerpt)))
        .collect())
}

fn items(args: &Args, bank: &Bank) -> Result<Vec<Subject>, CliError> {
    let tiers = args
        .tier
        .iter()
        .map(|name| {
            name.parse::<Tier>()
                .map_err(|_| unknown("tier", name, <Tier as strum::VariantNames>::VARIANTS))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<&str> = bank.items.iter().map(|item| item.id.as_str()).collect();
    if let Some(name) = args.item.iter().find(|name| !ids.contains(&name.as_str())) {
        return Err(unknown("question", name, &ids));
    }
    let items: Vec<Subject> = bank
        .items
        .iter()
        .filter(|item| tiers.is_empty() || tiers.contains(&item.tier))
        .filter(|item| {
            args.item.is_empty() || args.item.iter().any(|name| name == item.id.as_str())
        })
        .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
        .map(|item| Subject::Question(Arc::new(item.clone())))
        .collect();
    if items.is_empty() {
        return Err(CliError::Usage(
            "no question is left by --tier and --item together".to_owned(),
        ));
    }
    Ok(items)
}

fn override_settings(args: &Args, model: &mut Model) {
    let sampling = &mut model.sampling;
    sampling.temperature = args.temperature.or(sampling.temperature);
    sampling.max_output_tokens = args
        .max_output_tokens
        .or(sampling.max_output_tokens)
        .or(Some(OUTPUT_BUDGET));
    model.limits = args.pace.limits().or(model.limits);
}

/// Plans every cell against what its file holds. `logs` tell which samples sit in a batch, one for each model.
pub(super) fn plan_cells(
    args: &Args,
    selection: &Selection,
    logs: &[Option<BatchLog>],
    again: &[Status],
) -> Result<Vec<CellPlan>, CliError> {
    let mut cells = Vec::new();
    let mut before = 0;
    for (place, model) in selection.models.iter().enumerate() {
        for (task, subjects) in selection.tasks.iter().zip(&selection.subjects) {
            let path = cell_path(&args.store.store, &model.name, &task.name);
            let mut stored = Stored::new(&model.model_id);
            let mut heard = Vec::new();
            let keep_text = task.most_turns() > 1;
            let files = [store::packed(&path), path.clone()];
            for file in files.iter().filter(|file| file.is_file()) {
                store::read_file(file, |record| {
                    if record.model == model.name {
                        stored.add(&record, keep_text);
                        heard.push(Heard::new(record, &selection.catalog, Rules::default()));
                    }
                })
                .map_err(CliError::failed)?;
            }
            for batch in logs
                .get(place)
                .into_iter()
                .flatten()
                .flat_map(BatchLog::live)
            {
                for entry in &batch.entries {
                    stored.add_batched(entry.key.clone(), entry.turn);
                }
            }
            let wanted = Wanted {
                model,
                task,
                items: subjects,
                epochs: args.epochs.max(task.epochs),
                again,
                mode: args.mode,
                shard: args.shard,
                before,
            };
            before += subjects.len() * wanted.epochs as usize;
            let Plan {
                jobs,
                answered,
                batched,
            } = plan(&wanted, &stored).map_err(CliError::usage)?;
            cells.push(CellPlan {
                model: place,
                task: Arc::clone(task),
                path,
                stored,
                heard,
                jobs,
                answered,
                batched,
            });
        }
    }
    Ok(cells)
}
