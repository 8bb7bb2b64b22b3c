//! Files as they are, and files packed with xz.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;

use super::StoreError;

/// Whether a name says that the file is packed.
pub(super) fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xz")
}

/// The same name for the packed file.
#[must_use]
pub fn packed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".xz");
    name.into()
}

/// Opens a file for reading, unpacked on the way if its name ends in `.xz`.
///
/// # Errors
/// The file cannot be opened.
pub fn open_text(path: &Path) -> Result<Box<dyn Read + Send>, StoreError> {
    let file = File::open(path).map_err(|source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })?;
    Ok(if is_packed(path) {
        Box::new(XzReader::new(BufReader::new(file), true))
    } else {
        Box::new(file)
    })
}

/// Reads a whole file as text, unpacked if its name ends in `.xz`.
///
/// # Errors
/// The file cannot be read, is not packed as its name says, or holds no UTF-8.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    let failed = |source| StoreError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    open_text(path)?.read_to_end(&mut bytes).map_err(|source| {
        failed(match source.kind() {
            ErrorKind::UnexpectedEof => Error::new(
                ErrorKind::UnexpectedEof,
                "the packed file ends too early: fetch it again",
            ),
            _ => source,
        })
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        let message = format!("line {line} is not UTF-8: save the file as UTF-8");
        failed(Error::new(ErrorKind::InvalidData, message))
    })
}

/// Replaces a file as a whole: a reader sees the old text or the new one. Folders that are not there are made.
///
/// # Errors
/// The folder cannot be made or written to.
pub fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let failed = |source| StoreError::Io {
        action: "write",
        path: path.to_owned(),
        source,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
