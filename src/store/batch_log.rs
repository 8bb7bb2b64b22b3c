//! Batches under way: `runs/<model>/batches.log`, one JSON line an event, written before what it tells can be lost.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Record, StoreError, folder_name};
use crate::domain::{ModelName, SampleKey};

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
    known: Vec<String>,
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
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io("create the folder of"))?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path }),
            Err(TryLockError::Error(source)) => return Err(io("lock")(source)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io("read"))?;
        let mut log = Self {
            file,
            path: path.clone(),
            live: Vec::new(),
            known: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            match serde_json::from_str::<Event>(line) {
                Ok(event) => log.apply(event),
                // A kill in mid-write tears the last line only. What it was about never happened: the line comes first.
                Err(_) if !text.ends_with('\n') && number + 1 == text.lines().count() => {
                    let whole = text.rfind('\n').map_or(0, |at| at + 1);
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

    /// Whether the service's id belongs to any batch of this log, past ones included.
    #[must_use]
    pub fn knows(&self, id: &str) -> bool {
        self.known.iter().any(|known| known == id)
    }

    /// Whether an ask sits in a batch that may still answer it.
    #[must_use]
    pub fn holds(&self, key: &SampleKey, turn: u32) -> bool {
        self.live
            .iter()
            .flat_map(|batch| &batch.entries)
            .any(|entry| entry.key == *key && entry.turn == turn)
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
                self.known.push(id.clone());
                if let Some(batch) = self.live.iter_mut().find(|batch| batch.tag == tag) {
                    batch.id = Some(id);
                }
            }
            Event::Abandoned { tag, .. } | Event::Collected { tag } => {
                self.live.retain(|batch| batch.tag != tag);
            }
        }
    }
}
