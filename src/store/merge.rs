//! Joining stores: the lines of several into one, each line once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::compressed::{open_text, packed};
use super::read::{LineError, Seen, entries, parse_line};
use super::{BatchLog, CellFile, StoreError, cell_path, list_files, read_set, set_path, write_set};
use crate::bank::cases::PublishedSet;

/// What a merge did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Files that were written to.
    pub files: usize,
    /// Lines that were added.
    pub added: usize,
    /// Lines that the target had, or that came more than once.
    pub known: usize,
    /// Torn last lines that were left out.
    pub torn: usize,
}

/// Adds every line of the sources to the target, in the order of the sources, byte for byte, each line once.
///
/// A line goes to the file of its model and task, wherever it stood. Published cases are joined too.
///
/// # Errors
/// A broken line that is not the last of its file, a newer version, or a file that cannot be read or written. Lines
/// added before stay; the same merge can be run again.
pub fn merge(sources: &[PathBuf], target: &Path) -> Result<Merged, StoreError> {
    let mut merged = Merged::default();
    let mut open: BTreeMap<PathBuf, (CellFile, Seen)> = BTreeMap::new();
    for source in sources {
        for log in entries(source)?
            .into_iter()
            .map(|folder| folder.join("batches.log"))
            .filter(|log| log.is_file())
        {
            // Its samples would be asked, and paid for, again from the merged store.
            if !BatchLog::open(log.clone())?.live().is_empty() {
                return Err(StoreError::BatchUnderWay { path: log });
            }
        }
        for path in list_files(source)? {
            merge_file(&path, target, &mut open, &mut merged)?;
        }
    }
    let mut set = None;
    for store in sources.iter().map(PathBuf::as_path).chain([target]) {
        let Some(of_store) = read_set(store)? else {
            continue;
        };
        let merged = set.get_or_insert_with(PublishedSet::default);
        if let Err(item) = merged.merge(of_store) {
            return Err(StoreError::OtherCase {
                path: set_path(store),
                item: item.to_string(),
            });
        }
    }
    if let Some(set) = set {
        write_set(target, &set)?;
    }
    for (cell, _) in open.values() {
        cell.sync()?;
    }
    merged.files = open.len();
    Ok(merged)
}

fn merge_file(
    path: &Path,
    target: &Path,
    open: &mut BTreeMap<PathBuf, (CellFile, Seen)>,
    merged: &mut Merged,
) -> Result<(), StoreError> {
    let io = |source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::new(open_text(path)?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
            return Ok(());
        }
        number += 1;
        let whole = line.trim_ascii();
        if whole.is_empty() {
            continue;
        }
        let record = match parse_line(whole) {
            Ok(record) => record,
            Err(LineError::Broken(_)) if reader.fill_buf().map_err(io)?.is_empty() => {
                merged.torn += 1;
                return Ok(());
            }
            Err(error) => return Err(error.at(path, number)),
        };
        let file = cell_path(target, &record.model, &record.task);
        if !open.contains_key(&file) {
            let mut seen = Seen::default();
            let (cell, _) = CellFile::open(file.clone())?;
            let both = [file.clone(), packed(&file)];
            for known in both.iter().filter(|known| known.is_file()) {
                for line in BufReader::new(open_text(known)?).split(b'\n') {
                    seen.note(Seen::mark(&line.map_err(io)?));
                }
            }
            open.insert(file.clone(), (cell, seen));
        }
        let (cell, seen) = open.get_mut(&file).expect("just opened");
        if seen.note(Seen::mark(whole)) {
            if !line.ends_with(b"\n") {
                line.push(b'\n');
            }
            cell.append_lines(&line)?;
            merged.added += 1;
        } else {
            merged.known += 1;
        }
    }
}
