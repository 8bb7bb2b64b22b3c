//! Where the wording of cases comes from: compiled in, or a folder.

use std::path::Path;

use crate::bank::BankIoError;
use crate::bank::source::yaml_files;

/// A wording file's text and the name to show for it.
#[derive(Debug, Clone)]
pub struct WordingFile {
    /// Name for messages.
    pub name: String,
    /// The YAML text.
    pub text: String,
}

/// The shipped wording.
#[must_use]
pub fn built_in_wording() -> Vec<WordingFile> {
    [
        ("shared.yaml", include_str!("../../../wording/shared.yaml")),
        (
            "business.yaml",
            include_str!("../../../wording/business.yaml"),
        ),
        (
            "medical.yaml",
            include_str!("../../../wording/medical.yaml"),
        ),
        ("other.yaml", include_str!("../../../wording/other.yaml")),
    ]
    .map(|(name, text)| WordingFile {
        name: format!("wording/{name} (built in)"),
        text: text.to_owned(),
    })
    .to_vec()
}

/// The `.yaml` and `.yml` files of a folder, in the order of their names.
///
/// # Errors
/// The folder or a file cannot be read, or it holds none.
pub fn read_wording(folder: &Path) -> Result<Vec<WordingFile>, BankIoError> {
    yaml_files(folder)?
        .into_iter()
        .map(|path| {
            let bytes = std::fs::read(&path).map_err(|source| BankIoError::Read {
                path: path.clone(),
                source,
            })?;
            Ok(WordingFile {
                name: path.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        })
        .collect()
}
