use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::record::{Record, VERSION};
use super::{StoreError, folder_name};
use crate::domain::ModelName;

/// Records that were read, and what the reader should know.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The records in the order of the files and lines.
    pub records: Vec<Record>,
    /// Torn last lines that were left out.
    pub warnings: Vec<String>,
}

/// Every `.jsonl` file of a store, sorted by path.
///
/// # Errors
/// A folder that cannot be read.
pub fn list_files(store: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = Vec::new();
    for folder in entries(store)? {
        if folder.is_dir() {
            files.extend(lines_in(&folder)?);
        }
    }
    files.sort();
    Ok(files)
}

/// The `.jsonl` files of one model, sorted by path; none if it was never asked.
///
/// # Errors
/// A folder that cannot be read.
pub fn list_files_of(store: &Path, model: &ModelName) -> Result<Vec<PathBuf>, StoreError> {
    let folder = store.join(folder_name(model.as_str()));
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    lines_in(&folder)
}

/// The `.jsonl` files of a folder, sorted.
fn lines_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = entries(folder)?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jsonl")
    });
    files.sort();
    Ok(files)
}

pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let io = |source| StoreError::Io {
        action: "read",
        path: folder.to_owned(),
        source,
    };
    std::fs::read_dir(folder)
        .map_err(io)?
        .map(|entry| entry.map(|entry| entry.path()).map_err(io))
        .collect()
}

/// Reads a whole store.
///
/// # Errors
/// As [`read_file`].
pub fn read_all(store: &Path) -> Result<Loaded, StoreError> {
    let mut loaded = Loaded::default();
    let mut seen = Seen::default();
    for file in list_files(store)? {
        let warning = read_new(&file, &mut seen, |record| loaded.records.push(record))?;
        loaded.warnings.extend(warning);
    }
    Ok(loaded)
}

/// Lines that were read: the same line twice, as joined stores may hold it, is one attempt.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<[u8; 32]>);

impl Seen {
    /// Whether the line is new.
    pub(super) fn note(&mut self, line: &[u8]) -> bool {
        self.0.insert(*blake3::hash(line.trim_ascii()).as_bytes())
    }
}

/// Reads one file line by line, a line that occurs twice once. Returns a warning if its last line is torn.
///
/// # Errors
/// A broken line that is not the last one, a line of a newer version, or a file that cannot be read.
pub fn read_file(path: &Path, each: impl FnMut(Record)) -> Result<Option<String>, StoreError> {
    read_new(path, &mut Seen::default(), each)
}

fn read_new(
    path: &Path,
    seen: &mut Seen,
    mut each: impl FnMut(Record),
) -> Result<Option<String>, StoreError> {
    let io = |source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let mut line = Vec::new();
    let mut number = 0;
    let mut broken: Option<(usize, String)> = None;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
            break;
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        // Only the last line may be torn.
        if let Some((line, message)) = broken.take() {
            return Err(StoreError::Broken {
                path: path.to_owned(),
                line,
                message,
            });
        }
        match parse_line(&line) {
            Ok(record) if seen.note(&line) => each(record),
            Ok(_) => {}
            Err(LineError::Broken(message)) => broken = Some((number, message)),
            Err(error) => return Err(error.at(path, number)),
        }
    }
    // A kill in mid-write can tear the last line only, so a broken last line is no reason to stop.
    Ok(broken.map(|(line, _)| {
        format!(
            "{}:{line}: the last line is torn and left out; the next run asks for it again",
            path.display()
        )
    }))
}

pub(super) enum LineError {
    TooNew(u64),
    Broken(String),
}

impl LineError {
    /// The error with its place.
    pub(super) fn at(self, path: &Path, line: usize) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::TooNew(found) => StoreError::TooNew {
                path,
                line,
                found,
                newest: VERSION,
            },
            Self::Broken(message) => StoreError::Broken {
                path,
                line,
                message,
            },
        }
    }
}

pub(super) fn parse_line(line: &[u8]) -> Result<Record, LineError> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    match serde_json::from_slice::<Record>(line) {
        Ok(record) if record.v <= VERSION => Ok(record),
        Ok(record) => Err(LineError::TooNew(u64::from(record.v))),
        Err(error) => match serde_json::from_slice::<Version>(line) {
            Ok(Version { v }) if v > u64::from(VERSION) => Err(LineError::TooNew(v)),
            _ => Err(LineError::Broken(error.to_string())),
        },
    }
}

/// The last line of a file, if it is whole and not very long.
///
/// # Errors
/// A file that cannot be read.
pub fn last_record(path: &Path) -> Result<Option<Record>, StoreError> {
    const TAIL: u64 = 64 * 1024;
    let io = |source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .and_then(|_| file.read_to_end(&mut tail))
        .map_err(io)?;
    let last = tail.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    Ok(last.and_then(|line| parse_line(line).ok()))
}

/// Hash over what was said: 12 hexadecimal digits.
///
/// Covers key, turn, status and text of every answered line, in sorted order, so that neither the order of the files
/// nor the clocks matter.
#[must_use]
pub fn fingerprint(records: &[Record]) -> String {
    let mut lines: Vec<String> = records
        .iter()
        .filter(|record| record.status.is_answer())
        .map(|record| {
            serde_json::json!([
                record.model,
                record.task,
                record.key,
                record.turn,
                record.status,
                record.text
            ])
            .to_string()
        })
        .collect();
    lines.sort();
    lines.dedup();
    let mut hasher = blake3::Hasher::new();
    for line in lines {
        hasher.update(line.as_bytes());
    }
    hasher.finalize().to_hex()[..12].to_owned()
}
