//! `wheel run`: ask what is missing.

mod asking;
mod batches;
mod estimate;
mod pace;
mod report;
mod script;
mod selection;

use std::time::Duration;

use clap::Args as ClapArgs;

use super::workspace::{ModelArgs, QuestionArgs, StoreArgs, SuiteArgs, TaskArgs, choice};
use super::{CliError, Exit};
use crate::ask::Shard;
use crate::bank::cases::Size;
use crate::domain::{Conversation, Role, ScoringMode, Status, Usd};
use pace::PaceArgs;
pub(super) use pace::seconds;

const EXAMPLES: &str = "\
Examples:
  wheel run --task classic                            the default model, in this process, without a key
  wheel run --model gpt-5.4-nano --model gpt-5.5      all tasks, two models of models.yaml
  wheel run --model gpt-5.5 --dry-run                 what would be asked, and what it would cost
  wheel run --model gpt-5.5 --max-cost 12             stop before the run can cost more than 12 dollars
  wheel run --model gpt-5.5 --batch                   within a day, at half the price
  wheel run --model http://localhost:8000/v1#qwen3    any OpenAI-compatible server
  wheel run --model ./some.gguf --task ticket         weights in a file
  wheel run --model gpt-5.5 --again truncated         ask those anew, with four times the room
  wheel run --shard 2/8 --store runs-2                the second of eight machines
  wheel run --suite anchorbench --size pilot          six channels that may carry a number: prompt, history, …
  wheel run --task external-ignore --size pilot       one variant of a task, with a control of its own
  wheel run --suite spinner                           every answer from 0 to 100 percent scored, under two anchors
  wheel run --suite judge --texts mine.yaml           judges with an earlier score beside the text; built-in texts without --texts
  wheel run --task classic-grid                       a question of the wheel, by the probabilities of candidate answers

A run asks only for what the store does not hold: type the same command again to go on.";

#[derive(Debug, ClapArgs)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Model: an entry of models.yaml, provider/model, <http://address/v1#model>, a .gguf file or a folder of GPT-2; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Task; repeat for more [default: all]
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    #[command(flatten)]
    suite: SuiteArgs,
    /// Of a suite of cases: one of each kind, five, or ten [default: core]
    #[arg(long, value_name = "SIZE", value_parser = choice::<Size>())]
    size: Option<Size>,
    /// Ask the variants of the tasks too; else only those that are named
    #[arg(long, conflicts_with = "task")]
    variants: bool,
    /// How answers are scored in tasks that give them: exact, or (bug for bug) as "Anchors in the Machine" does
    #[arg(long, value_name = "MODE", default_value_t, value_parser = choice::<ScoringMode>())]
    mode: ScoringMode,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// Only questions of this tier; repeat for more
    #[arg(long, value_name = "T")]
    tier: Vec<String>,
    /// Only this question, case or text; repeat for more
    #[arg(long, value_name = "ID")]
    item: Vec<String>,
    /// Ask each prompt this many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    epochs: u32,
    /// Only the first N questions of the selection
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only this part of the plan, such as 2/8: for several machines, each with its own --store
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Ask anew what ended so, with four times the output limit where it was truncated; the first reply stays
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = again)]
    again: Vec<Status>,
    /// Temperature to send [default: that of the model entry; none is sent without one]
    #[arg(long, value_name = "X", value_parser = temperature)]
    temperature: Option<f64>,
    /// Most tokens of a reply, reasoning included [default: that of the model entry, else 8000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_output_tokens: Option<u32>,
    /// Stop, with exit code 4, before this run can cost more than so many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// With --max-cost, ask models without a price too, and leave them out of the count
    #[arg(long, requires = "max_cost")]
    allow_unknown_price: bool,
    /// Hand the calls over as batches, where the provider takes them: half the price, within a day
    #[arg(long)]
    batch: bool,
    /// With --batch, seconds between two looks
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    poll: f64,
    #[command(flatten)]
    pace: PaceArgs,
    /// Show what would be asked and what it would cost, and ask nothing
    #[arg(long)]
    dry_run: bool,
    /// No progress and no remarks
    #[arg(long, short)]
    quiet: bool,
    /// Never fetch weights
    #[arg(long, env = "WHEEL_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    offline: bool,
}

impl Args {
    fn max_wait(&self) -> Duration {
        Duration::from_secs_f64(self.pace.max_wait)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.pace.patience)
    }
}

fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("must be a number from 0".to_owned()),
    }
}

fn dollars(text: &str) -> Result<Usd, String> {
    match text.trim_start_matches('$').parse() {
        Ok(value) if value > rust_decimal::Decimal::ZERO => Ok(Usd(value)),
        _ => Err("must be a number of US dollars above 0, such as 12 or 0.50".to_owned()),
    }
}

fn again(text: &str) -> Result<Status, String> {
    match text.trim().parse::<Status>() {
        Ok(status @ (Status::Empty | Status::Truncated | Status::Refused)) => Ok(status),
        _ => Err("must be empty, truncated or refused".to_owned()),
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let selection = selection::selection(args)?;
    if args.dry_run {
        estimate::dry_run(args, &selection)?;
        return Ok(Exit::Done);
    }
    // One thread for all calls: they wait far more than they work, and what is woken on the same thread costs no switch
    // of threads. The store writes on threads of its own, the engine computes on others.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    let asked = runtime.block_on(asking::ask_all(args, &selection))?;
    // Work that was dropped by a second interrupt must not hold the program.
    runtime.shutdown_background();
    report::report(args, &asked);
    let exit = report::exit_of(&asked);
    match report::show_scores(&selection, &asked.heard) {
        // Who reads the scores may stop reading; how the run ended stays the same.
        Ok(()) | Err(CliError::Closed) => Ok(exit),
        Err(error) => Err(error),
    }
}

/// A conversation for the eye: each message under its role.
pub(super) fn prompt_text(conversation: &Conversation) -> String {
    let mut out = String::new();
    for message in &conversation.0 {
        let role: &str = message.role.into();
        let call = match (&message.call, message.role) {
            (Some(call), Role::Tool) => format!(" {}", call.name),
            (Some(call), _) => format!(" calls {} {}", call.name, call.arguments),
            (None, _) => String::new(),
        };
        out.push_str(&format!("--- {role}{call}\n{}\n", message.content));
    }
    out
}
