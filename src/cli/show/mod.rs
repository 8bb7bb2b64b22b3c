//! `wheel show`: one sample as sent, as it came back, and as it was read.

use clap::Args as ClapArgs;

use super::run::prompt_text;
use super::workspace::{
    ModelArgs, QuestionArgs, StoreArgs, TaskArgs, check_tasks, choice, unknown,
};
use super::{CliError, Exit, output};
use crate::ask::form_of;
use crate::bank::Subject;
use crate::domain::{Condition, Conversation, ItemId, Scored, Suite, grouped};
use crate::model::resolve;
use crate::parse::Rules;
use crate::score::{CellSample, Heard, Outcome, cells, mass};
use crate::store::{self, Record, cell_path};
use crate::task::{Catalog, Form, Task};

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
    let subject = catalog.subject(task, &id).ok_or_else(|| {
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
        }
    })?;
    let named = args.condition.as_deref();
    let conditions: Vec<Condition> = match (named, named.and_then(|name| name.parse().ok())) {
        (Some(_), Some(condition)) if task.conditions.contains(&condition) => vec![condition],
        (Some(condition), _) => {
            let known: Vec<String> = task.conditions.iter().map(ToString::to_string).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(unknown("condition of this task", condition, &known));
        }
        (None, _) => task.conditions.clone(),
    };
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
    if let Subject::Case(case) = subject
        && !case.asks_under(condition)
    {
        return Ok(format!(
            "=== {} · {} · {condition} · the prompt is not known: only answers were imported",
            task.name, case.id
        ));
    }
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

/// Answers that are shown of all that were scored.
const LIKELIEST: usize = 10;

fn scored_text(record: &Record, condition: Condition) -> String {
    let mode = record.scored.as_ref().map_or_else(
        || "not scored".to_owned(),
        |scored| format!("scored {}", scored.scoring.mode),
    );
    let mut out = format!(
        "=== {} · {} · {} · {condition} · {mode} · sample {}\nsent to {}/{} at {}\n{}",
        record.model,
        record.task,
        record.item,
        record.key,
        record.sent.provider,
        record.sent.model,
        record.clock.started,
        prompt_text(&record.conversation)
    );
    match (&record.scored, &record.error) {
        (Some(scored), _) => out.push_str(&answers_text(scored)),
        (None, Some(error)) => {
            out.push_str(&format!("failed: {}: {}\n", error.class, error.message));
        }
        (None, None) => {}
    }
    out
}

/// The likeliest of the answers that were scored.
fn answers_text(scored: &Scored) -> String {
    let targets = scored.scoring.targets.iter();
    let mut answers: Vec<(&str, f64)> = targets
        .zip(&scored.log_probabilities)
        .filter_map(|(target, score)| Some((target.trim_end(), (*score)?)))
        .collect();
    answers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut out = format!(
        "--- {} answers hold {:.2e} of the probability; the likeliest\n",
        answers.len(),
        mass(scored)
    );
    for (answer, score) in answers.iter().take(LIKELIEST) {
        out.push_str(&format!(
            "{answer:>12}  {:.2e}  (log {score:.3})\n",
            score.exp()
        ));
    }
    out
}

fn sample_text(
    sample: &CellSample<'_>,
    records: &[Record],
    catalog: &Catalog,
    task: &Task,
) -> String {
    let record = records
        .iter()
        .find(|record| sample.record.is_of(record))
        .expect("the sample was made of these records");
    let mut out = format!(
        "=== {} · {} · {} · {} · epoch {} · sample {}\n",
        record.model, task.name, record.item, record.condition, record.epoch, record.key
    );
    let sampling = &record.sent.sampling;
    let sent = |name: &str, value: Option<String>| value.map(|value| format!(", {name} {value}"));
    out.push_str(&format!(
        "sent to {}/{} at {}{}{}{}{}{}\n",
        record.sent.provider,
        record.sent.model,
        record.clock.started,
        sent(
            "temperature",
            sampling.temperature.map(|value| value.to_string())
        )
        .unwrap_or_default(),
        sent("top_p", sampling.top_p.map(|value| value.to_string())).unwrap_or_default(),
        sent("seed", sampling.seed.map(|value| value.to_string())).unwrap_or_default(),
        sent(
            "output limit",
            sampling.max_output_tokens.map(|value| value.to_string())
        )
        .unwrap_or_default(),
        sent("effort", sampling.reasoning_effort.clone()).unwrap_or_default(),
    ));
    if !sample.current_wording {
        out.push_str("asked in another wording than that of today's task and question\n");
    }
    for failed in records
        .iter()
        .filter(|other| other.key == record.key && other.error.is_some())
    {
        if let Some(error) = &failed.error {
            out.push_str(&format!(
                "attempt {} failed: {}: {}\n",
                failed.attempt, error.class, error.message
            ));
        }
    }
    out.push_str(&prompt_text(&record.conversation));
    if let Some(reasoning) = &record.reasoning_text {
        out.push_str(&format!("--- reasoning, not read\n{reasoning}\n"));
    }
    let count = |tokens: Option<crate::domain::Tokens>| {
        tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.0.to_string())
    };
    if let Some(scored) = &record.scored {
        out.push_str(&answers_text(scored));
    } else if record.status.is_answer() {
        out.push_str(&format!(
            "--- reply ({}, {} tokens in, {} out, {} ms)\n{}\n",
            record.status,
            count(record.tokens.input),
            count(record.tokens.output),
            record.clock.in_flight_ms,
            record.text.as_deref().unwrap_or_default()
        ));
    }
    out.push_str("--- read as\n");
    match sample.outcome {
        Outcome::Estimate(value) => out.push_str(&format!("estimate {}", grouped(value))),
        Outcome::Lost(loss) => out.push_str(&format!("no estimate: {loss}")),
    }
    if let Some(reading) = &sample.reading {
        out.push_str(&format!(", by the rule {}", reading.rule));
        if let (Ok(value), Outcome::Lost(_)) = (reading.value, sample.outcome) {
            out.push_str(&format!(" (the number read is {value})"));
        }
        if let Some(comparison) = reading.comparison {
            out.push_str(&format!("; compared: {comparison}"));
        }
        if sample
            .anchor
            .is_some_and(|anchor| reading.contradicts(anchor))
        {
            out.push_str("; the comparison contradicts the estimate");
        }
    }
    if let Some(anchor) = sample.anchor {
        out.push_str(&format!("; anchor {}", grouped(anchor)));
    }
    match catalog.subject(task, &record.item) {
        Some(Subject::Question(item)) => {
            out.push_str(&format!("; reference {}\n", grouped(item.reference.get())));
        }
        Some(Subject::Case(case)) => {
            out.push_str(&format!("; gold {}\n", grouped(case.facts.gold)));
        }
        Some(Subject::Excerpt(_)) | None => out.push('\n'),
    }
    out
}
