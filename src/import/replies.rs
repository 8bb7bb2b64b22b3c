//! Replies from any table: CSV with a header, or JSON lines.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Foreign;
use crate::domain::{TokenCounts, Tokens};

/// Which columns hold what; the names of ours unless told otherwise.
#[derive(Debug, Clone, Default)]
pub struct Columns(pub BTreeMap<String, String>);

/// A row that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// The row is broken.
    #[error("line {line}: {message}")]
    Row {
        /// Line of the file, from 1.
        line: u64,
        /// What is wrong, and what would mend it.
        message: String,
    },
    /// A column is missing.
    #[error(
        "there is no column `{theirs}`: name the right one with --column {ours}=NAME; there are: {known}"
    )]
    Column {
        /// Our name.
        ours: String,
        /// The name that was looked for.
        theirs: String,
        /// The columns that are there.
        known: String,
    },
}

impl Columns {
    fn name<'a>(&'a self, ours: &'a str) -> &'a str {
        self.0.get(ours).map_or(ours, String::as_str)
    }

    /// One row, with values by column.
    fn row(
        &self,
        fields: &Map<String, Value>,
        line: u64,
        defaults: &Foreign,
    ) -> Result<Foreign, ReplyError> {
        let text = |ours: &str| -> Option<String> {
            match fields.get(self.name(ours))? {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            }
        };
        let wrong = |message: String| ReplyError::Row { line, message };
        let filled = |ours: &str| text(ours).filter(|text| !text.is_empty());
        let whole = |ours: &str| -> Result<Option<u64>, ReplyError> {
            filled(ours)
                .map(|text| {
                    let number = text.trim().parse::<f64>().ok();
                    let fits = number.filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 1e15);
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "checked above"
                    )]
                    fits.map(|n| n as u64).ok_or_else(|| {
                        wrong(format!("{ours} must be a whole number, not `{text}`"))
                    })
                })
                .transpose()
        };
        let condition = filled("condition")
            .map(|name| {
                name.trim().parse().map_err(|_| {
                    wrong(format!(
                        "condition must be unanchored, low or high, not `{name}`"
                    ))
                })
            })
            .transpose()?;
        let anchor = filled("anchor")
            .map(|text| {
                let number = text.trim().replace(',', "").parse::<f64>().ok();
                number
                    .filter(|number| number.is_finite() && *number > 0.0)
                    .ok_or_else(|| wrong(format!("anchor must be a number above 0, not `{text}`")))
            })
            .transpose()?;
        // Rows are told apart by file, line and content.
        let row = format!(
            "{} {line} {}",
            defaults.place,
            Value::Object(fields.clone())
        );
        let row = blake3::hash(row.as_bytes()).to_hex();
        let model = filled("model").unwrap_or_else(|| defaults.model.clone());
        if model.is_empty() {
            return Err(wrong(
                "no model: add a column `model`, or name it with --model".to_owned(),
            ));
        }
        Ok(Foreign {
            place: format!("line {line}"),
            model,
            task: filled("task").or_else(|| defaults.task.clone()),
            item: filled("item"),
            condition,
            epoch: whole("epoch")?.map(|epoch| u32::try_from(epoch).unwrap_or(u32::MAX)),
            anchor,
            source: format!("row-{}", &row[..16]),
            prompt: filled("prompt"),
            reply: text("reply"),
            error: filled("error"),
            tokens: TokenCounts {
                input: whole("input_tokens")?.map(Tokens),
                output: whole("output_tokens")?.map(Tokens),
                reasoning: whole("reasoning_tokens")?.map(Tokens),
                cached: None,
            },
            cost: None,
            started: filled("started"),
        })
    }

    fn check<'a>(&self, known: impl Iterator<Item = &'a str> + Clone) -> Result<(), ReplyError> {
        let mut wanted: Vec<(&str, &str)> = self
            .0
            .iter()
            .map(|(ours, theirs)| (ours.as_str(), theirs.as_str()))
            .collect();
        wanted.push(("reply", self.name("reply")));
        for (ours, theirs) in wanted {
            if !known.clone().any(|known| known == theirs) {
                return Err(ReplyError::Column {
                    ours: ours.to_owned(),
                    theirs: theirs.to_owned(),
                    known: known.collect::<Vec<_>>().join(", "),
                });
            }
        }
        Ok(())
    }
}

/// Reads CSV with a header. `defaults` gives model and task where the rows do not.
///
/// # Errors
/// A broken row, a missing column, a value of another kind.
pub fn csv(text: &[u8], columns: &Columns, defaults: &Foreign) -> Result<Vec<Foreign>, ReplyError> {
    let broken = |error: &csv::Error| ReplyError::Row {
        line: error.position().map_or(1, csv::Position::line),
        message: error.to_string(),
    };
    let mut reader = csv::Reader::from_reader(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    columns.check(header.iter())?;
    let mut names: Vec<&str> = header.iter().collect();
    names.sort_unstable();
    if let Some(name) = names
        .iter()
        .zip(names.iter().skip(1))
        .find_map(|(a, b)| (a == b).then_some(a))
    {
        return Err(ReplyError::Row {
            line: 1,
            message: format!("the column `{name}` stands there twice"),
        });
    }
    // The reader would take all that follows for one field.
    if memchr::memchr_iter(b'"', text).count() % 2 == 1 {
        return Err(ReplyError::Row {
            line: 1,
            message: "a quotation mark is opened and never closed, somewhere in the file"
                .to_owned(),
        });
    }
    let mut found = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| broken(&error))?;
        let line = row.position().map_or(0, csv::Position::line);
        let fields = header
            .iter()
            .zip(row.iter())
            .map(|(name, value)| (name.to_owned(), Value::String(value.to_owned())))
            .collect();
        found.push(columns.row(&fields, line, defaults)?);
    }
    Ok(found)
}

/// Reads JSON lines; see [`csv()`].
///
/// # Errors
/// As [`csv()`].
pub fn json_lines(
    text: &str,
    columns: &Columns,
    defaults: &Foreign,
) -> Result<Vec<Foreign>, ReplyError> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| ReplyError::Row {
                line,
                message: format!("this is no JSON object: {error}"),
            })?;
        if found.is_empty() {
            columns.check(fields.keys().map(String::as_str))?;
        }
        found.push(columns.row(&fields, line, defaults)?);
    }
    Ok(found)
}
