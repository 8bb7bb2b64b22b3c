//! The command line: one file a verb, each from clap structs to plain settings to a call into the other rooms.
//!
//! Results go to stdout, everything else to stderr. Exit codes are those of [`Exit`].

mod compare;
mod completions;
mod error;
mod evidence;
mod export;
mod import;
mod init;
mod leaderboard;
mod merge;
mod models;
mod output;
mod parse;
mod people;
mod questions;
mod report;
mod run;
mod score;
mod show;
mod tasks;
mod verify;
mod workspace;

pub use error::{CliError, Exit};

use clap::{Parser, Subcommand};

/// Measures anchoring bias in language models: does a number that has nothing to do with the question move the answer?
#[derive(Debug, Parser)]
#[command(name = "wheel", version, about, after_help = EXAMPLES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  wheel run --task classic                          ask the default model, in this process, without a key
  wheel run --task classic --model gpt-5.4-nano     ask a model of models.yaml
  wheel run --model ollama/qwen3:8b --dry-run       what would be asked, and how much of it
  wheel leaderboard                                 write leaderboards/wheel.md from the store

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 finished with samples missing,
4 stopped by a budget or a quota, 130 interrupted.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Ask what is missing, record every reply, show the scores
    Run(Box<run::Args>),
    /// Score the stored replies
    Score(score::Args),
    /// Write the boards
    Leaderboard(leaderboard::Args),
    /// Report on one model: where it is pulled, by tier and by question
    Report(report::Args),
    /// Compare two models, tasks or stores, paired by question
    Compare(compare::Args),
    /// Check a published board or site against its store
    Verify(verify::Args),
    /// Write scores and samples for other programs
    Export(export::Args),
    /// Put the same questions to people
    People(people::Args),
    /// Add replies that other tools asked for
    Import(import::Args),
    /// Show one sample: the prompt as sent, the raw reply, how it was read
    Show(show::Args),
    /// Read replies from JSON lines
    Parse(parse::Args),
    /// Join stores, each line once
    Merge(merge::Args),
    /// List models; try them; fetch weights
    Models(models::Args),
    /// List and check tasks
    Tasks(tasks::Args),
    /// List and check questions
    Questions(questions::Args),
    /// Write the questions, tasks and models that are built in, for editing
    Init(init::Args),
    /// Print completions for a shell
    Completions(completions::Args),
}

/// Runs the program and gives its exit code.
#[must_use]
pub fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors to clap's printer; a usage error exits with 2.
            let code = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            let _ = error.print();
            return code.into();
        }
    };
    let done = match cli.verb {
        Verb::Run(args) => run::run(&args),
        Verb::Score(args) => score::run(&args),
        Verb::Leaderboard(args) => leaderboard::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::People(args) => people::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Parse(args) => parse::run(&args),
        Verb::Merge(args) => merge::run(&args),
        Verb::Models(args) => models::run(&args),
        Verb::Tasks(args) => tasks::run(&args),
        Verb::Questions(args) => questions::run(&args),
        Verb::Init(args) => init::run(&args),
        Verb::Completions(args) => completions::run::<Cli>(&args),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(CliError::Closed) => Exit::Done.into(),
        Err(error) => {
            output::note(&format!("error: {error}"));
            error.exit().into()
        }
    }
}
