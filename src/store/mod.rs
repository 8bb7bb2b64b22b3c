//! The store: a folder of JSON lines, `runs/<model>/<task>.jsonl`, one line an attempt; files that nobody adds to may be
//! packed with xz.
//!
//! A reply that was paid for is appended the moment it is known, and never changed. One writer a file, held by a
//! lock; a torn last line is moved aside. The store does not know what a reply means.

mod batch_log;
mod compressed;
mod error;
mod lock;
mod merge;
mod read;
mod record;
mod set;
mod write;

pub use batch_log::{BatchLog, LiveBatch, batch_log_path, known_batches};
pub use compressed::{packed, read_text, write_text};
pub use error::StoreError;
pub use merge::{Merged, merge};
pub use read::{Fingerprint, last_record, list_files, list_files_of, read_all, read_file};
pub use record::{Clock, Cost, Record, RecordedError, Sent, Spot, VERSION};
pub use set::{read_set, set_path, write_set};
pub use write::{CellFile, Recorder};

use std::path::{Path, PathBuf};

use crate::domain::{ModelName, TaskName};

/// The file of a cell.
#[must_use]
pub fn cell_path(store: &Path, model: &ModelName, task: &TaskName) -> PathBuf {
    store
        .join(folder_name(model.as_str()))
        .join(format!("{}.jsonl", folder_name(task.as_str())))
}

/// A name as one path component: everything but letters, digits, `.`, `_` and `-` is percent-encoded.
pub(crate) fn folder_name(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    // "." and ".." are no names of their own.
    if out.chars().all(|c| c == '.') {
        out = out.replace('.', "%2E");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_is_one_folder() {
        let path = cell_path(
            Path::new("runs"),
            &"http://localhost:8000/v1#m".into(),
            &"classic".into(),
        );
        assert_eq!(
            path,
            Path::new("runs/http%3A%2F%2Flocalhost%3A8000%2Fv1%23m/classic.jsonl")
        );
        assert_eq!(folder_name(".."), "%2E%2E");
    }
}
