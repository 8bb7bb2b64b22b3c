//! Lines of files that other programs wrote, added to a store once.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::cli::{CliError, output};
use crate::domain::SampleKey;
use crate::store::{CellFile, Record, cell_path, packed, read_file};

/// Faults that are shown.
const SHOWN: usize = 20;

/// Faults of files in words, the first ones by name.
pub(super) fn told<F: Display>(faults: &[F]) -> String {
    let shown: Vec<String> = faults.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = match faults.len() - shown.len() {
        0 => String::new(),
        n => format!("\nand {n} more"),
    };
    format!("{}{more}\nnothing was imported", shown.join("\n"))
}

/// Adds the lines that are not there yet.
pub(super) fn add(store: &Path, records: Vec<Record>) -> Result<(usize, usize), CliError> {
    if records
        .iter()
        .any(|record| record.model.as_str().trim().is_empty())
    {
        return Err(CliError::Usage(
            "the name of the model is empty: name who answered with --model; nothing was imported"
                .to_owned(),
        ));
    }
    let mut by_file: BTreeMap<PathBuf, Vec<Record>> = BTreeMap::new();
    for record in records {
        let path = cell_path(store, &record.model, &record.task);
        by_file.entry(path).or_default().push(record);
    }
    let (mut added, mut known) = (0, 0);
    let places: BTreeSet<PathBuf> = by_file.keys().cloned().collect();
    for path in places {
        let mut there = HashSet::new();
        for file in [packed(&path), path.clone()] {
            if file.is_file() {
                read_file(&file, |record| {
                    there.insert(said(&record));
                })
                .map_err(CliError::failed)?;
            }
        }
        let mut new = by_file.remove(&path).unwrap_or_default();
        let all = new.len();
        new.retain(|record| !there.contains(&said(record)));
        known += all - new.len();
        added += new.len();
        if new.is_empty() {
            continue;
        }
        let (file, warning) = CellFile::open(path).map_err(CliError::failed)?;
        if let Some(warning) = warning {
            output::note(&format!("warning: {warning}"));
        }
        file.append(&new).map_err(CliError::failed)?;
    }
    Ok((added, known))
}

/// What tells a line from others that answer the same ask.
fn said(record: &Record) -> (SampleKey, u32, Option<String>, String) {
    let scored = serde_json::to_string(&record.scored).unwrap_or_default();
    (record.key.clone(), record.turn, record.text.clone(), scored)
}
