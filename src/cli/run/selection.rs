//! What a run asks for: names resolved, settings overridden, every cell planned against the store.

use std::path::PathBuf;
use std::sync::Arc;

use super::Args;
use crate::ask::{Job, Plan, Stored, Wanted, plan};
use crate::bank::{Bank, Item};
use crate::cli::CliError;
use crate::cli::workspace::{check_tasks, unknown};
use crate::domain::{Status, Tier};
use crate::model::{DEFAULT_MODEL, Model, Registry, resolve};
use crate::score::Heard;
use crate::store::{self, BatchLog, cell_path};
use crate::task::{Task, Tasks};

/// Output budget where neither the command nor the model entry says anything, in tokens.
pub(super) const OUTPUT_BUDGET: u32 = 8000;

/// What the command asks for, with names resolved.
pub(super) struct Selection {
    pub(super) models: Vec<Model>,
    pub(super) tasks: Vec<Arc<Task>>,
    pub(super) items: Vec<Arc<Item>>,
    pub(super) bank: Arc<Bank>,
    pub(super) all_tasks: Arc<Tasks>,
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
    let bank = args.questions.load()?;
    let all_tasks = args.tasks.load()?;
    let registry = args.models.load()?;
    check_tasks(&args.task, &all_tasks)?;
    let tasks = all_tasks
        .0
        .iter()
        .filter(|task| {
            args.task.is_empty() || args.task.iter().any(|name| name == task.name.as_str())
        })
        .map(|task| Arc::new(task.clone()))
        .collect();
    let mut names = args.model.clone();
    let mut seen = std::collections::BTreeSet::new();
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
        .collect::<Result<_, CliError>>()?;
    Ok(Selection {
        items: items(args, &bank)?,
        models,
        tasks,
        bank: Arc::new(bank),
        all_tasks: Arc::new(all_tasks),
        registry,
    })
}

fn items(args: &Args, bank: &Bank) -> Result<Vec<Arc<Item>>, CliError> {
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
    let items: Vec<Arc<Item>> = bank
        .items
        .iter()
        .filter(|item| tiers.is_empty() || tiers.contains(&item.tier))
        .filter(|item| {
            args.item.is_empty() || args.item.iter().any(|name| name == item.id.as_str())
        })
        .take(args.limit.map_or(usize::MAX, |limit| limit as usize))
        .map(|item| Arc::new(item.clone()))
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
        for task in &selection.tasks {
            let path = cell_path(&args.store.store, &model.name, &task.name);
            let mut stored = Stored::new(&model.model_id);
            let mut heard = Vec::new();
            let keep_text = task.asks().count() > 1;
            if path.is_file() {
                store::read_file(&path, |record| {
                    if record.model == model.name {
                        stored.add(&record, keep_text);
                        heard.push(Heard::new(record, &selection.bank, &selection.all_tasks));
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
                items: &selection.items,
                epochs: args.epochs,
                again,
                shard: args.shard,
                before,
            };
            before += selection.items.len() * args.epochs as usize;
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
