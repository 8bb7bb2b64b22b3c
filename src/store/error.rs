use std::path::PathBuf;

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process writes this cell.
    #[error("{} is being written by another wheel run; wait for it, or choose another --store", path.display())]
    Locked {
        /// Which file.
        path: PathBuf,
    },
    /// A line that is not the last one cannot be read.
    #[error("{}:{line}: not a sample: {message}; restore the line from a backup, or delete it to have the sample asked again", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Two stores hold a published case in two versions.
    #[error("{}: case `{item}` is another one than in the stores before; merge stores of one version of the set", path.display())]
    OtherCase {
        /// Which set.
        path: PathBuf,
        /// Which case.
        item: String,
    },
    /// A line of published cases cannot be read.
    #[error("{}:{line}: not a case: {message}; import the set again with `wheel import anchorbench`", path.display())]
    BrokenCase {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A line of a later program.
    #[error("{}:{line}: written in format version {found}; this wheel reads up to version {newest}: use a newer wheel", path.display())]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Version of the line.
        found: u64,
        /// Newest version read here.
        newest: u32,
    },
    /// A batch is under way.
    #[error("{}: a batch is under way: collect it first, with the same command and --store", path.display())]
    BatchUnderWay {
        /// The log.
        path: PathBuf,
    },
    /// Several lines were written in one go, and it failed.
    #[error("{0}")]
    Together(String),
    /// The thread that writes has ended early.
    #[error("the store's writer stopped")]
    WriterGone,
}

impl StoreError {
    /// The same error for another line of the same write.
    pub(super) fn again(&self) -> Self {
        Self::Together(self.to_string())
    }
}
