use std::process::ExitCode;

/// How the program ends. The numbers are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for is done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line or a file that people edit is wrong.
    Usage = 2,
    /// The run finished, and samples are missing.
    Missing = 3,
    /// A budget or a quota stopped the run.
    Stopped = 4,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// What a verb can fail with.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line or a file that people edit is wrong; exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Something else failed; exit code 1.
    #[error("{0}")]
    Failed(String),
    /// The reader of stdout went away, as `head` does.
    #[error("stdout was closed")]
    Closed,
}

impl CliError {
    /// A usage error.
    pub(super) fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// A failure.
    pub(super) fn failed(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// The exit code that goes with it.
    pub(super) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Failed(_) => Exit::Failed,
            Self::Closed => Exit::Done,
        }
    }
}
