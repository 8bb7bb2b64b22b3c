//! A document of headings, texts and tables, which becomes markdown or, by a template, HTML.

use serde::Serialize;

use super::markdown::{Align, escape, table};

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// A heading; level 1 is the title.
    Heading {
        /// From 1 to 3.
        level: usize,
        /// What it says.
        text: String,
    },
    /// A paragraph.
    Text {
        /// What it says.
        text: String,
    },
    /// A list.
    List {
        /// Its points.
        items: Vec<Entry>,
    },
    /// A table.
    Table {
        /// The columns.
        columns: Vec<Heading>,
        /// Rows as wide as the columns.
        rows: Vec<Vec<Entry>>,
    },
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heading {
    /// What stands in it.
    pub text: String,
    /// Whether it holds numbers.
    pub numeric: bool,
}

/// A text that may lead somewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Entry {
    /// What it says.
    pub text: String,
    /// Where it leads within a site; markdown leaves it out.
    pub href: Option<String>,
    /// What it is sorted by; the text if there is none.
    pub sort: Option<f64>,
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Entry {
    /// The same, leading somewhere.
    #[must_use]
    pub fn to(mut self, href: Option<String>) -> Self {
        self.href = href;
        self
    }

    /// The same, sorted by a number.
    #[must_use]
    pub fn by(mut self, sort: Option<f64>) -> Self {
        self.sort = sort;
        self
    }
}

/// A heading; level 1 is the title.
pub(super) fn heading(level: usize, text: impl Into<String>) -> Block {
    Block::Heading {
        level,
        text: text.into(),
    }
}

/// A paragraph.
pub(super) fn text(text: impl Into<String>) -> Block {
    Block::Text { text: text.into() }
}

/// A row of plain texts.
pub(super) fn row(texts: impl IntoIterator<Item = String>) -> Vec<Entry> {
    texts.into_iter().map(Entry::from).collect()
}

/// Columns by name; a name that ends in `#` holds numbers.
pub(super) fn columns(names: &[&str]) -> Vec<Heading> {
    names
        .iter()
        .map(|name| Heading {
            text: name.trim_end_matches('#').to_owned(),
            numeric: name.ends_with('#'),
        })
        .collect()
}

/// The document as markdown.
#[must_use]
pub fn markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        if !out.is_empty() {
            out.push('\n');
        }
        match block {
            Block::Heading { level, text } => {
                out.push_str(&format!("{} {}\n", "#".repeat(*level), escape(text)));
            }
            Block::Text { text } => out.push_str(&format!("{}\n", escape(text))),
            Block::List { items } => {
                for item in items {
                    out.push_str(&format!("- {}\n", escape(&item.text)));
                }
            }
            Block::Table { columns, rows } => {
                let columns: Vec<(&str, Align)> = columns
                    .iter()
                    .map(|column| {
                        let align = if column.numeric {
                            Align::Right
                        } else {
                            Align::Left
                        };
                        (column.text.as_str(), align)
                    })
                    .collect();
                let rows: Vec<Vec<String>> = rows
                    .iter()
                    .map(|row| row.iter().map(|entry| entry.text.clone()).collect())
                    .collect();
                out.push_str(&table(&columns, &rows));
            }
        }
    }
    out
}
