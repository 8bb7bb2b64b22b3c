//! Files of the store that one process writes at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::StoreError;

/// Opens or creates a file for reading and appending, with its folder, and takes its lock, which goes with the value.
///
/// # Errors
/// [`StoreError::Locked`] if another process writes it; otherwise the system's word.
pub(super) fn open_locked(path: &Path) -> Result<File, StoreError> {
    let io = |action| {
        move |source| StoreError::Io {
            action,
            path: path.to_owned(),
            source,
        }
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io("create the folder of"))?;
    }
    let file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)
        .map_err(io("open"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(io("lock")(source)),
    }
}
