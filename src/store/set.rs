//! A set of published cases, kept beside the replies to them.

use std::path::{Path, PathBuf};

use super::StoreError;
use super::compressed::{packed, read_text, write_text};
use crate::bank::cases::PublishedSet;

/// Where a store keeps its published cases.
#[must_use]
pub fn set_path(store: &Path) -> PathBuf {
    store.join("published.jsonl")
}

/// The published cases of a store, packed or not; `None` if it has none.
///
/// # Errors
/// A file that cannot be read, or a line that is no case.
pub fn read_set(store: &Path) -> Result<Option<PublishedSet>, StoreError> {
    let plain = set_path(store);
    let Some(path) = [packed(&plain), plain]
        .into_iter()
        .find(|path| path.is_file())
    else {
        return Ok(None);
    };
    let text = read_text(&path)?;
    match PublishedSet::from_lines(&text) {
        Ok(set) => Ok(Some(set)),
        Err((line, error)) => Err(StoreError::BrokenCase {
            path,
            line,
            message: error.to_string(),
        }),
    }
}

/// Replaces the published cases of a store.
///
/// # Errors
/// The file cannot be written.
pub fn write_set(store: &Path, set: &PublishedSet) -> Result<(), StoreError> {
    let path = set_path(store);
    write_text(&path, &set.to_lines())?;
    // The packed one would hide it.
    match std::fs::remove_file(packed(&path)) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(StoreError::Io {
            action: "remove",
            path: packed(&path),
            source,
        }),
        _ => Ok(()),
    }
}
