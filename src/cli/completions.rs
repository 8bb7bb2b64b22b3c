//! `wheel completions`: a script for a shell.

use clap::{Args as ClapArgs, CommandFactory};
use clap_complete::Shell;

use super::{CliError, Exit, output};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  wheel completions bash > ~/.local/share/bash-completion/completions/wheel"
)]
pub(super) struct Args {
    /// Which shell
    shell: Shell,
}

pub(super) fn run<C: CommandFactory>(args: &Args) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "wheel", &mut script);
    output::result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
