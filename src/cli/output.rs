//! Writing to stdout and stderr.

use std::io::{ErrorKind, Write};

use super::CliError;

/// Writes a result to stdout, with a line end.
pub(super) fn result(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| {
            if text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to stdout: {error}")),
    })
}

/// Writes a line for people to stderr.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
