//! Where banks come from: compiled in, or files.

use std::path::{Path, PathBuf};

/// A bank's text and the name to show for it.
#[derive(Debug, Clone)]
pub struct BankFile {
    /// Name for messages.
    pub name: String,
    /// The YAML text.
    pub text: String,
}

/// A bank that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BankIoError {
    /// The operating system said no.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A folder without banks.
    #[error("{} holds no .yaml file", path.display())]
    Nothing {
        /// Which folder.
        path: PathBuf,
    },
}

/// The shipped banks: 10 known, 10 fuzzy and 20 Fermi items.
#[must_use]
pub fn built_in() -> Vec<BankFile> {
    [
        ("known.yaml", include_str!("../../questions/known.yaml")),
        ("fuzzy.yaml", include_str!("../../questions/fuzzy.yaml")),
        ("fermi.yaml", include_str!("../../questions/fermi.yaml")),
    ]
    .map(|(name, text)| BankFile {
        name: format!("questions/{name} (built in)"),
        text: text.to_owned(),
    })
    .to_vec()
}

/// Reads files, and the `.yaml` and `.yml` files of folders in the order of their names.
///
/// # Errors
/// A path that cannot be read, or a folder without banks.
pub fn read_paths(paths: &[PathBuf]) -> Result<Vec<BankFile>, BankIoError> {
    let mut files = Vec::new();
    for path in paths {
        for file in yaml_files(path)? {
            let bytes = std::fs::read(&file).map_err(|source| BankIoError::Read {
                path: file.clone(),
                source,
            })?;
            files.push(BankFile {
                name: file.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    Ok(files)
}

pub(super) fn yaml_files(path: &Path) -> Result<Vec<PathBuf>, BankIoError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let read = |source| BankIoError::Read {
        path: path.to_owned(),
        source,
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .map_err(read)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(read)?;
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
    });
    files.sort();
    if files.is_empty() {
        return Err(BankIoError::Nothing {
            path: path.to_owned(),
        });
    }
    Ok(files)
}
