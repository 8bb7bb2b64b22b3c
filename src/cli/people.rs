//! `wheel people`: the same questions, put to people.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::workspace::QuestionArgs;
use super::{CliError, Exit, output};
use crate::people::{PEOPLE, Panel, PeopleServer, TASK, page};
use crate::store::{CellFile, cell_path, read_file, write_text};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel people                              serve the page on this machine; Ctrl-C ends it\n  wheel people --static questions.html      a page to send around; each person sends back a file\n  wheel import people answers-*.jsonl       add those files\n  wheel leaderboard --people people         a board with a row for the people\n\nEach person sees each question once, with a low or a high anchor by chance. Nothing is kept but the answers, a random token\nthat holds one person's together, and the day."
)]
pub(super) struct Args {
    /// Folder of the people's answers, apart from the models'
    #[arg(long, value_name = "DIR", default_value = "people")]
    store: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8766)]
    port: u16,
    /// Write the page to a file instead; it works without a server and lets each person save their answers
    #[arg(long = "static", value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    questions: QuestionArgs,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let bank = args.questions.load()?;
    if let Some(path) = &args.file {
        let page = page(&bank, false).map_err(CliError::failed)?;
        write_text(path, &page).map_err(CliError::failed)?;
        output::result(&path.display().to_string())?;
        return Ok(Exit::Done);
    }
    let (panel, file) = open(&args.store)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::failed)?;
    runtime.block_on(async {
        let questions = bank.items.len();
        let said = move |people: usize, answered: usize| {
            if answered == questions {
                output::note(&format!(
                    "{people} people so far; one has answered all {questions}"
                ));
            }
        };
        let server = PeopleServer::bind(args.port, bank, panel, file, said)
            .await
            .map_err(CliError::usage)?;
        output::result(&format!("http://{}/", server.address))?;
        output::note("Ctrl-C ends it; every answer is kept as it comes");
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        server.run(stop).await.map_err(CliError::failed)
    })?;
    Ok(Exit::Done)
}

/// The answers that are there, and the file for more.
pub(super) fn open(store: &std::path::Path) -> Result<(Panel, CellFile), CliError> {
    let path = cell_path(store, &PEOPLE.into(), &TASK.into());
    let (file, warning) = CellFile::open(path.clone()).map_err(CliError::failed)?;
    if let Some(warning) = warning {
        output::note(&format!("warning: {warning}"));
    }
    let mut panel = Panel::default();
    read_file(&path, |record| panel.note(&record)).map_err(CliError::failed)?;
    Ok((panel, file))
}
