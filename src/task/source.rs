//! Where task files come from: compiled in, or a folder.

use std::path::{Path, PathBuf};

/// A task's text and the name to show for it.
#[derive(Debug, Clone)]
pub struct TaskFile {
    /// Name for messages.
    pub name: String,
    /// The YAML text.
    pub text: String,
    /// Whether it is compiled in.
    pub built_in: bool,
}

/// A task folder that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct TaskIoError {
    /// Which file or folder.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// The tasks of all suites, in board order.
#[must_use]
pub fn built_in() -> Vec<TaskFile> {
    [
        ("baseline.yaml", include_str!("../../tasks/baseline.yaml")),
        ("classic.yaml", include_str!("../../tasks/classic.yaml")),
        ("thinking.yaml", include_str!("../../tasks/thinking.yaml")),
        ("random.yaml", include_str!("../../tasks/random.yaml")),
        ("ticket.yaml", include_str!("../../tasks/ticket.yaml")),
        ("external.yaml", include_str!("../../tasks/external.yaml")),
        ("history.yaml", include_str!("../../tasks/history.yaml")),
        ("icl.yaml", include_str!("../../tasks/icl.yaml")),
        ("icl-dist.yaml", include_str!("../../tasks/icl-dist.yaml")),
        ("rag.yaml", include_str!("../../tasks/rag.yaml")),
        ("tool.yaml", include_str!("../../tasks/tool.yaml")),
        ("spinner.yaml", include_str!("../../tasks/spinner.yaml")),
        ("judge.yaml", include_str!("../../tasks/judge.yaml")),
        ("labels.yaml", include_str!("../../tasks/labels.yaml")),
    ]
    .map(|(name, text)| TaskFile {
        name: format!("tasks/{name} (built in)"),
        text: text.to_owned(),
        built_in: true,
    })
    .to_vec()
}

/// Every `.yaml` and `.yml` file of a folder, in the order of their names.
///
/// # Errors
/// The folder or a file cannot be read.
pub fn read_folder(folder: &Path) -> Result<Vec<TaskFile>, TaskIoError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| TaskIoError { path, source }
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(error(folder))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(error(folder))?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
    });
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let bytes = std::fs::read(&path).map_err(error(&path))?;
            Ok(TaskFile {
                name: path.display().to_string(),
                text: String::from_utf8_lossy(&bytes).into_owned(),
                built_in: false,
            })
        })
        .collect()
}
