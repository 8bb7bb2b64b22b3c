use std::fmt;

/// Whether a fault stops the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is run with this file.
    Error,
    /// The file loads; the reader is told.
    Warning,
}

/// One thing wrong in a file: where, what, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path as the user gave it, or `built-in questions/known.yaml`.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// Name of the field, where there is one.
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub mend: String,
    /// The line itself, for the eye.
    pub source_line: Option<String>,
    /// Error or warning.
    pub severity: Severity,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(line) = &self.source_line {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            let column = usize::try_from(self.column).unwrap_or(1).saturating_sub(1);
            // Tabs before the mark are kept, so that it stands under its column.
            let indent: String = line
                .chars()
                .take(column)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            write!(f, "\n  {number} | {line}\n  {margin} | {indent}^")?;
        }
        if !self.mend.is_empty() {
            write!(f, "\n  help: {}", self.mend)?;
        }
        Ok(())
    }
}

/// Every fault of one or more files, in the order of the lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Whether any of them stops the program.
    #[must_use]
    pub fn any_error(&self) -> bool {
        self.0.iter().any(|fault| fault.severity == Severity::Error)
    }

    /// Adds the faults of another file.
    pub fn extend(&mut self, other: Faults) {
        self.0.extend(other.0);
    }

    /// Sorts by file and line.
    pub fn sort(&mut self) {
        self.0
            .sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
