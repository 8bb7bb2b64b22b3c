//! Batches under way: `runs/<model>/batches.log`, one JSON line an event, written before what it tells can be lost.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lock::open_locked;
use super::read::entries;
use super::{Record, StoreError, folder_name};
use crate::domain::ModelName;

/// One step of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// About to be handed over. Each entry is a line that lacks its answer.
    Intended {
        tag: String,
        at: i64,
        entries: Vec<Record>,
    },
    /// Taken by the service under this id.
    Submitted { tag: String, id: String },
    /// Never taken.
    Abandoned { tag: String, why: String },
    /// The id turned out to be that of another batch: it is looked for again.
    Mistaken { tag: String },
    /// All results are in the store.
    Collected { tag: String },
}

/// A batch that may still answer its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveBatch {
    /// Our mark.
    pub tag: String,
    /// When it was about to be handed over, in seconds since 1970.
    pub at: i64,
    /// The service's id; `None` if the program ended before it was known.
    pub id: Option<String>,
    /// Its entries: lines that lack their answers.
    pub entries: Vec<Record>,
}

impl LiveBatch {
    /// The custom id of an entry: the sample and its ask.
    #[must_use]
    pub fn custom_id(entry: &Record) -> String {
        format!("{}-{}", entry.key, entry.turn)
    }
}

/// The log of one model, locked for writing.
#[derive(Debug)]
pub struct BatchLog {
    file: File,
    path: PathBuf,
    live: Vec<LiveBatch>,
}

/// The file of a model.
#[must_use]
pub fn batch_log_path(store: &Path, model: &ModelName) -> PathBuf {
    store.join(folder_name(model.as_str())).join("batches.log")
}

impl BatchLog {
    /// Opens or creates the log and takes its lock.
    ///
    /// # Errors
    /// Another process has it, or a line is none of ours.
    pub fn open(path: PathBuf) -> Result<Self, StoreError> {
        let io = |action| {
            let path = path.clone();
            move |source| StoreError::Io {
                action,
                path,
                source,
            }
        };
        let mut file = open_locked(&path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io("read"))?;
        // A kill may have cut a letter in two.
        let text = String::from_utf8_lossy(&bytes);
        let mut log = Self {
            file,
            path: path.clone(),
            live: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            match serde_json::from_str::<Event>(line) {
                Ok(event) => log.apply(event),
                // A kill in mid-write tears the last line only. What it was about never happened: the line comes first.
                Err(_) if !text.ends_with('\n') && number + 1 == text.lines().count() => {
                    let whole = bytes
                        .iter()
                        .rposition(|byte| *byte == b'\n')
                        .map_or(0, |at| at + 1);
                    log.file.set_len(whole as u64).map_err(io("shorten"))?;
                }
                Err(error) => {
                    return Err(StoreError::Broken {
                        path,
                        line: number + 1,
                        message: error.to_string(),
                    });
                }
            }
        }
        // A whole line that lost only its line end.
        if !text.is_empty()
            && !text.ends_with('\n')
            && log.file.metadata().map_err(io("read"))?.len() == bytes.len() as u64
        {
            log.file.write_all(b"\n").map_err(io("write"))?;
        }
        Ok(log)
    }

    /// Where the log lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Batches that may still answer their samples.
    #[must_use]
    pub fn live(&self) -> &[LiveBatch] {
        &self.live
    }

    /// A batch is about to be handed over.
    ///
    /// # Errors
    /// The line could not be written.
    pub fn intend(&mut self, tag: &str, at: i64, entries: Vec<Record>) -> Result<(), StoreError> {
        self.write(Event::Intended {
            tag: tag.to_owned(),
            at,
            entries,
        })
    }

    /// The service took it.
    ///
    /// # Errors
    /// The line could not be written.
    pub fn submitted(&mut self, tag: &str, id: &str) -> Result<(), StoreError> {
        self.write(Event::Submitted {
            tag: tag.to_owned(),
            id: id.to_owned(),
        })
    }

    /// The service never took it: its samples go back to the plan.
    ///
    /// # Errors
    /// The line could not be written.
    pub fn abandon(&mut self, tag: &str, why: &str) -> Result<(), StoreError> {
        self.write(Event::Abandoned {
            tag: tag.to_owned(),
            why: why.to_owned(),
        })
    }

    /// The id is that of another batch.
    ///
    /// # Errors
    /// The line could not be written.
    pub fn mistaken(&mut self, tag: &str) -> Result<(), StoreError> {
        self.write(Event::Mistaken {
            tag: tag.to_owned(),
        })
    }

    /// All its results are in the store.
    ///
    /// # Errors
    /// The line could not be written.
    pub fn collected(&mut self, tag: &str) -> Result<(), StoreError> {
        self.write(Event::Collected {
            tag: tag.to_owned(),
        })
    }

    fn write(&mut self, event: Event) -> Result<(), StoreError> {
        let io = |action| {
            let path = self.path.clone();
            move |source| StoreError::Io {
                action,
                path,
                source,
            }
        };
        let mut line = serde_json::to_vec(&event)
            .map_err(std::io::Error::other)
            .map_err(io("encode a batch for"))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(io("write"))?;
        self.file.sync_data().map_err(io("sync"))?;
        self.apply(event);
        Ok(())
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Intended { tag, at, entries } => self.live.push(LiveBatch {
                tag,
                at,
                id: None,
                entries,
            }),
            Event::Submitted { tag, id } => {
                if let Some(batch) = self.live.iter_mut().find(|batch| batch.tag == tag) {
                    batch.id = Some(id);
                }
            }
            Event::Mistaken { tag } => {
                if let Some(batch) = self.live.iter_mut().find(|batch| batch.tag == tag) {
                    batch.id = None;
                }
            }
            Event::Abandoned { tag, .. } | Event::Collected { tag } => {
                self.live.retain(|batch| batch.tag != tag);
            }
        }
    }
}

/// Ids of all batches that the logs of a store know, past ones included.
///
/// # Errors
/// A folder that cannot be read.
pub fn known_batches(store: &Path) -> Result<HashSet<String>, StoreError> {
    let mut known = HashSet::new();
    if !store.is_dir() {
        return Ok(known);
    }
    for folder in entries(store)? {
        let text = std::fs::read(folder.join("batches.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for line in text.lines() {
            if let Ok(Event::Submitted { id, .. }) = serde_json::from_str(line) {
                known.insert(id);
            }
        }
    }
    Ok(known)
}
