use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;

use super::compressed::{is_packed, open_text};
use super::record::{Record, VERSION};
use super::{StoreError, folder_name};
use crate::domain::ModelName;

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

/// The `.jsonl` files of a folder, packed ones too, sorted.
fn lines_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut files = entries(folder)?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.ends_with(b".jsonl") || name.ends_with(b".jsonl.xz")
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

/// Lines that are read at once, in bytes.
const BLOCK: usize = 8 * 1024 * 1024;

/// Reads a whole store on all cores: `each` sees every record, and `keep` gets what it made of them in the order of the
/// files and lines, of a line that occurs twice once. Gives warnings about torn last lines.
///
/// # Errors
/// As [`read_file`].
pub fn read_all<T: Send>(
    store: &Path,
    each: impl Fn(Record) -> T + Sync,
    mut keep: impl FnMut(T) + Send,
) -> Result<Vec<String>, StoreError> {
    // A block is kept while the next ones are read, but not many of them.
    let (made, to_keep) = std::sync::mpsc::sync_channel::<Marked<T>>(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut seen = Seen::default();
            for (mark, value) in to_keep.into_iter().flatten() {
                if seen.note(mark) {
                    keep(value);
                }
            }
        });
        let mut warnings = Vec::new();
        for path in list_files(store)? {
            let mut file = Blocks::open(&path)?;
            while let Some(block) = file.next()? {
                let (values, warning) = read_block(&path, &block, &each)?;
                warnings.extend(warning);
                // The receiver lives until the sender is gone.
                let _ = made.send(values);
            }
        }
        drop(made);
        Ok(warnings)
    })
}

/// What was made of lines, each with its mark.
type Marked<T> = Vec<(u128, T)>;

/// What `each` made of the lines of a block, and a warning about a torn last line.
fn read_block<T: Send>(
    path: &Path,
    block: &Block,
    each: &(impl Fn(Record) -> T + Sync),
) -> Result<(Marked<T>, Option<String>), StoreError> {
    let lines = lines_of(&block.text);
    let last = lines.len();
    let read: Vec<(usize, u128, Result<T, LineError>)> = lines
        .into_par_iter()
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(place, line)| (place, Seen::mark(line), parse_line(line).map(each)))
        .collect();
    let mut values = Vec::with_capacity(read.len());
    let mut warning = None;
    for (place, mark, record) in read {
        match record {
            Ok(value) => values.push((mark, value)),
            // A kill in mid-write can tear the last line only, so a broken last line is no reason to stop.
            Err(LineError::Broken(_)) if block.is_last && place + 1 == last => {
                warning = Some(torn(path, block.first_line + place));
            }
            Err(error) => return Err(error.at(path, block.first_line + place)),
        }
    }
    Ok((values, warning))
}

fn torn(path: &Path, line: usize) -> String {
    format!(
        "{}:{line}: the last line is torn and left out; the next run asks for it again",
        path.display()
    )
}

/// The lines of a text; what follows the last line end is no line if it is blank.
fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    text.trim_ascii_end().split(|byte| *byte == b'\n').collect()
}

/// A file in pieces of whole lines.
struct Blocks {
    reader: BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    line: usize,
}

struct Block {
    text: Vec<u8>,
    first_line: usize,
    /// Whether nothing but blanks follows.
    is_last: bool,
}

impl Blocks {
    fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            reader: BufReader::with_capacity(256 * 1024, open_text(path)?),
            path: path.to_owned(),
            line: 1,
        })
    }

    fn next(&mut self) -> Result<Option<Block>, StoreError> {
        let io = |source| StoreError::Io {
            action: "read",
            path: self.path.clone(),
            source,
        };
        let mut text = Vec::with_capacity(BLOCK + 64 * 1024);
        (&mut self.reader)
            .take(BLOCK as u64)
            .read_to_end(&mut text)
            .map_err(io)?;
        if text.is_empty() {
            return Ok(None);
        }
        if !text.ends_with(b"\n") {
            self.reader.read_until(b'\n', &mut text).map_err(io)?;
        }
        // Blank lines at the end belong to the last line.
        let mut is_last = true;
        while let Some(byte) = self.reader.fill_buf().map_err(io)?.first() {
            if !byte.is_ascii_whitespace() {
                is_last = false;
                break;
            }
            text.push(*byte);
            self.reader.consume(1);
        }
        let first_line = self.line;
        self.line += memchr::memchr_iter(b'\n', &text).count();
        Ok(Some(Block {
            text,
            first_line,
            is_last,
        }))
    }
}

/// Lines that were read: the same line twice, as joined stores may hold it, is one attempt.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<u128>);

impl Seen {
    /// What tells a line from others.
    pub(super) fn mark(line: &[u8]) -> u128 {
        half(&blake3::hash(line.trim_ascii()))
    }

    /// Whether the line is new.
    pub(super) fn note(&mut self, mark: u128) -> bool {
        self.0.insert(mark)
    }
}

/// The first half of a hash.
fn half(hash: &blake3::Hash) -> u128 {
    hash.as_bytes()[..16]
        .iter()
        .fold(0, |so_far, byte| so_far << 8 | u128::from(*byte))
}

/// Reads one file line by line, a line that occurs twice once. Returns a warning if its last line is torn.
///
/// # Errors
/// A broken line that is not the last one, a line of a newer version, or a file that cannot be read.
pub fn read_file(path: &Path, mut each: impl FnMut(Record)) -> Result<Option<String>, StoreError> {
    let mut seen = Seen::default();
    let mut file = Blocks::open(path)?;
    while let Some(block) = file.next()? {
        let lines = lines_of(&block.text);
        let last = lines.len();
        for (place, line) in lines.into_iter().enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match parse_line(line) {
                Ok(record) if seen.note(Seen::mark(line)) => each(record),
                Ok(_) => {}
                Err(LineError::Broken(_)) if block.is_last && place + 1 == last => {
                    return Ok(Some(torn(path, block.first_line + place)));
                }
                Err(error) => return Err(error.at(path, block.first_line + place)),
            }
        }
    }
    Ok(None)
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
    if is_packed(path) {
        // Nobody adds to it; what was learned there stands in the lines that follow, if there are any.
        return Ok(None);
    }
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
/// Covers model, task, key, turn, status and text of every answered line, in sorted order, each once, so that neither the
/// order of the files nor the clocks matter.
#[derive(Debug, Default)]
pub struct Fingerprint(Vec<u128>);

impl Fingerprint {
    /// What a line says; `None` if it holds no answer.
    #[must_use]
    pub fn of(record: &Record) -> Option<u128> {
        record.status.is_answer().then(|| {
            let said = serde_json::to_vec(&(
                &record.model,
                &record.task,
                &record.key,
                record.turn,
                record.status,
                &record.text,
            ));
            let mut said = said.unwrap_or_default();
            if let Some(scored) = &record.scored {
                said.extend(serde_json::to_vec(scored).unwrap_or_default());
            }
            half(&blake3::hash(&said))
        })
    }

    /// Adds what a line says.
    pub fn add(&mut self, said: Option<u128>) {
        self.0.extend(said);
    }

    /// The digits.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.0.sort_unstable();
        self.0.dedup();
        let mut hasher = blake3::Hasher::new();
        for said in self.0 {
            hasher.update(&said.to_be_bytes());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }
}
