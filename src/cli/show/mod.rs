//! `wheel show`: one sample as sent, as it came back, and as it was read.

mod text;

use clap::Args as ClapArgs;

use super::run::prompt_text;
use super::workspace::{
    ModelArgs, QuestionArgs, StoreArgs, TaskArgs, check_tasks, choice, unknown,
};
use super::{CliError, Exit, output};
use crate::ask::form_of;
use crate::bank::Subject;
use crate::domain::{Condition, Conversation, ItemId, Suite};
use crate::model::resolve;
use crate::parse::Rules;
use crate::score::judge::{Call, gather};
use crate::score::{CellSample, Heard, cells};
use crate::store::{self, Record, cell_path};
use crate::task::{Catalog, Form, Task};
use text::{sample_text, scored_text, verdict_text};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel show --task ticket --item everest-height --condition high\n  wheel show --model gpt-5.4-nano --task classic --item everest-height"
)]
pub(super) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Model whose sample is shown; without it, the prompt alone
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Task
    #[arg(long, value_name = "T")]
    task: String,
    /// Question or case
    #[arg(long, value_name = "ID")]
    item: String,
    /// Condition, such as low or `plausible_high` [default: all of the task]
    #[arg(long, value_name = "C")]
    condition: Option<String>,
    /// Repetition, from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    epoch: u32,
    /// How replies to cases are read: by our rules or those of the published benchmark
    #[arg(long, value_name = "RULES", default_value_t, value_parser = choice::<Rules>())]
    rules: Rules,
    /// The stored lines themselves, as JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let catalog = args.tasks.catalog(&args.questions, &args.store.store)?;
    check_tasks(std::slice::from_ref(&args.task), &catalog.tasks)?;
    let task = catalog.tasks.get(&args.task).expect("just checked");
    let id = ItemId::from(args.item.as_str());
    let conditions = conditions(args, task)?;
    if task.suite == Suite::Judge {
        return judged(args, task, &id, &conditions, &catalog);
    }
    let subject = catalog
        .subject(task, &id)
        .ok_or_else(|| unknown_item(args, task, &catalog))?;
    let mut records = stored(args, task, &id)?;
    if task.suite == Suite::Spinner {
        let prompts: Vec<Conversation> = conditions
            .iter()
            .filter_map(|condition| task.outline(&subject, *condition, SCORED).ok())
            .collect();
        records.retain(|record| prompts.contains(&record.conversation));
    }
    if args.json {
        for record in records
            .iter()
            .filter(|record| task.suite == Suite::Spinner || conditions.contains(&record.condition))
        {
            output::result(&serde_json::to_string(record).map_err(CliError::failed)?)?;
        }
        return Ok(Exit::Done);
    }
    let heard: Vec<Heard> = records
        .iter()
        .map(|record| Heard::new(record.clone(), &catalog, args.rules))
        .collect();
    let (cells, _) = cells(&heard, &catalog, task.suite);
    let samples: Vec<&CellSample<'_>> = cells.iter().flat_map(|cell| &cell.samples).collect();
    for condition in conditions {
        if task.suite == Suite::Spinner {
            let prompt = task
                .outline(&subject, condition, SCORED)
                .map_err(CliError::usage)?;
            let same = records
                .iter()
                .filter(|record| *record.conversation == prompt);
            let texts: Vec<String> = same.map(|record| scored_text(record, condition)).collect();
            output::result(&match texts.as_slice() {
                [] => prompt_alone(args, task, &subject, condition)?,
                some => some.join("\n"),
            })?;
            continue;
        }
        let sample = samples
            .iter()
            .find(|sample| sample.slot.condition == condition && sample.slot.epoch == args.epoch);
        let text = match sample {
            Some(sample) => sample_text(sample, &records, &catalog, task),
            None => prompt_alone(args, task, &subject, condition)?,
        };
        output::result(&text)?;
    }
    Ok(Exit::Done)
}

/// Calls to judges, of texts that are loaded or only stored.
fn judged(
    args: &Args,
    task: &Task,
    id: &ItemId,
    conditions: &[Condition],
    catalog: &Catalog,
) -> Result<Exit, CliError> {
    let records = stored(args, task, id)?;
    if args.json {
        for record in records
            .iter()
            .filter(|record| conditions.contains(&record.condition))
        {
            output::result(&serde_json::to_string(record).map_err(CliError::failed)?)?;
        }
        return Ok(Exit::Done);
    }
    let heard: Vec<Heard> = records
        .iter()
        .map(|record| Heard::new(record.clone(), catalog, args.rules))
        .collect();
    let calls = gather(&heard, catalog);
    // Calls without an earlier verdict belong to every design.
    let calls = calls.iter().take(1).flat_map(|calls| &calls.calls);
    let calls: Vec<&Call<'_>> = calls.collect();
    for condition in conditions {
        let of_condition = calls.iter().filter(|call| call.condition == *condition);
        let texts: Vec<String> = of_condition
            .map(|call| verdict_text(call, &records))
            .collect();
        output::result(&match (texts.as_slice(), catalog.subject(task, id)) {
            ([], None) if records.is_empty() => return Err(unknown_item(args, task, catalog)),
            ([], None) => continue,
            ([], Some(subject)) => prompt_alone(args, task, &subject, *condition)?,
            (some, _) => some.join("\n"),
        })?;
    }
    Ok(Exit::Done)
}

fn unknown_item(args: &Args, task: &Task, catalog: &Catalog) -> CliError {
    let cases = catalog.cases.of(&task.name).iter().map(|case| &case.id);
    let questions = catalog.bank.items.iter().map(|item| &item.id);
    match task.suite {
        Suite::Wheel => {
            let known: Vec<&str> = questions.map(ItemId::as_str).collect();
            unknown("question", &args.item, &known)
        }
        Suite::Anchorbench => {
            let known: Vec<&str> = cases.map(ItemId::as_str).collect();
            unknown("case", &args.item, &known)
        }
        Suite::Spinner => {
            let known: Vec<&str> = catalog
                .stimuli
                .0
                .iter()
                .map(|one| one.id.as_str())
                .collect();
            unknown("stimulus", &args.item, &known)
        }
        Suite::Judge => {
            let known = catalog.judged(task).iter();
            let known: Vec<&str> = known.map(|one| one.id().as_str()).collect();
            unknown("text", &args.item, &known)
        }
    }
}

/// The conditions that are shown: the named one, or all of the task.
fn conditions(args: &Args, task: &Task) -> Result<Vec<Condition>, CliError> {
    let named = args.condition.as_deref();
    Ok(match (named, named.and_then(|name| name.parse().ok())) {
        (Some(_), Some(condition)) if task.conditions.contains(&condition) => vec![condition],
        (Some(condition), _) => {
            let known: Vec<String> = task.conditions.iter().map(ToString::to_string).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(unknown("condition of this task", condition, &known));
        }
        (None, _) => task.conditions.clone(),
    })
}

fn stored(args: &Args, task: &Task, item: &ItemId) -> Result<Vec<Record>, CliError> {
    let mut records = Vec::new();
    let Some(model) = &args.model else {
        return Ok(records);
    };
    let path = cell_path(&args.store.store, &model.as_str().into(), &task.name);
    let files = [store::packed(&path), path.clone()];
    if !files.iter().any(|file| file.is_file()) {
        check_model(args, model)?;
        output::note(&format!(
            "nothing is stored of {model} and {}: {} does not exist; this is the prompt alone",
            task.name,
            path.display()
        ));
        return Ok(records);
    }
    // Parts of stimuli share their prompts, and are told apart later.
    let wanted = |record: &Record| {
        let item = task.suite == Suite::Spinner || record.item == *item;
        item && record.model.as_str() == model && record.epoch == args.epoch
    };
    for file in files.iter().filter(|file| file.is_file()) {
        let warning = store::read_file(file, |record| {
            if wanted(&record) {
                records.push(record);
            }
        })
        .map_err(CliError::failed)?;
        if let Some(warning) = warning {
            output::note(&format!("warning: {warning}"));
        }
    }
    Ok(records)
}

/// A model that neither the store nor a name leads to is a slip.
fn check_model(args: &Args, name: &str) -> Result<(), CliError> {
    let registry = args.models.load()?;
    if args
        .store
        .store
        .join(crate::store::folder_name(name))
        .is_dir()
    {
        return Ok(());
    }
    resolve(name, &registry)
        .map(|_| ())
        .map_err(CliError::usage)
}

fn prompt_alone(
    args: &Args,
    task: &Task,
    subject: &Subject,
    condition: Condition,
) -> Result<String, CliError> {
    if !subject.asks_under(condition) {
        let why = match subject {
            Subject::Case(_) => "the prompt is not known: only answers were imported",
            _ => "it is not asked under this condition: there is nothing to be corrected",
        };
        return Ok(format!(
            "=== {} · {} · {condition} · {why}",
            task.name,
            subject.id()
        ));
    }
    let subject = &task.at_trial(subject, args.epoch);
    // As it would be sent: the model entry decides on the form.
    let form = match &args.model {
        Some(name) => resolve(name, &args.models.load()?)
            .map_or_else(|_| Form::default(), |model| form_of(&model)),
        None => Form::default(),
    };
    let conversation = task
        .outline(subject, condition, form)
        .map_err(CliError::usage)?;
    let asked = if args.model.is_some() {
        "not asked yet"
    } else {
        "prompt"
    };
    Ok(format!(
        "=== {} · {} · {condition} · {asked}\n{}",
        task.name,
        subject.id(),
        prompt_text(&conversation)
    ))
}

/// Scored prompts hold the start of a reply, where the task has one.
const SCORED: Form = Form {
    prefill: true,
    tools: false,
};
