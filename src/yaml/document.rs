use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::{Fault, Faults, Severity};

/// A place in a file: line and column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub at: Place,
    /// What it is.
    pub value: Value,
}

/// A YAML value. Scalars are text: what a field makes of it is the field's business.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// A scalar as written, or unquoted if it was quoted.
    Text {
        /// The characters.
        text: String,
        /// Whether the text runs up to a comment on its line, as in `invoice #1`.
        before_comment: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, Place, Node)>),
}

/// A file that was read: its name, its text and its values.
#[derive(Debug, Clone)]
pub struct Document {
    /// The name to show.
    pub file: String,
    /// The text, without byte order mark and carriage returns.
    pub text: String,
    /// The root value.
    pub root: Node,
}

impl Document {
    /// Reads a text as one YAML document.
    ///
    /// # Errors
    /// One fault for a text that is not YAML: tabs, duplicate keys, unquoted colons and the like.
    pub fn parse(file: impl Into<String>, text: &str) -> Result<Self, Faults> {
        let file = file.into();
        let text = text
            .trim_start_matches('\u{feff}')
            .replace("\r\n", "\n")
            .replace('\r', "\n");
        let options = serde_saphyr::options! {
            with_snippet: false,
            // A number that is none is refused by the field that wants one, with advice.
            non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(&text, options) {
            Ok(raw) => {
                let root = node(raw, &text);
                Ok(Self { file, text, root })
            }
            Err(error) => Err(Faults(vec![syntax_fault(&file, &text, &error)])),
        }
    }

    /// A fault at a place of this file.
    #[must_use]
    pub fn fault(
        &self,
        at: Place,
        field: Option<&str>,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) -> Fault {
        Fault {
            file: self.file.clone(),
            line: at.line,
            column: at.column,
            field: field.map(str::to_owned),
            message: message.into(),
            mend: mend.into(),
            source_line: source_line(&self.text, at.line),
            severity: Severity::Error,
        }
    }
}

fn source_line(text: &str, line: u64) -> Option<String> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    text.lines().nth(index).map(str::to_owned)
}

/// Says in our words what the YAML library found, with a mend for the slips that people make.
fn syntax_fault(file: &str, text: &str, error: &serde_saphyr::Error) -> Fault {
    let location = error.location();
    let mut line = location.as_ref().map_or(1, Location::line);
    let mut column = location.as_ref().map_or(1, Location::column);
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let message = first.split(" at line ").next().unwrap_or(first).to_owned();
    let lower = said.to_lowercase();
    let mut field = None;

    // The library may point one line too early for a tab: look for the line that begins with one.
    let tab = text.lines().enumerate().find(|(_, content)| {
        let blank = &content[..content.len() - content.trim_start().len()];
        blank.contains('\t')
    });
    let (message, mend) = if let (true, Some((index, content))) = (lower.contains("tab"), tab) {
        line = index as u64 + 1;
        column = content.chars().position(|c| c == '\t').unwrap_or(0) as u64 + 1;
        (
            "a tab stands in the indentation".to_owned(),
            "indent with spaces, not with a tab".to_owned(),
        )
    } else if lower.contains("mapping values are not allowed")
        || (lower.contains("mapping") && line_has_two_colons(text, line))
    {
        (
            "an unquoted text holds a colon and a space".to_owned(),
            "put the text in quotes: \"…: …\"".to_owned(),
        )
    } else if lower.contains("duplicate") {
        if let Some(content) = source_line(text, line) {
            let key = content
                .trim_start_matches([' ', '-'])
                .split(':')
                .next()
                .unwrap_or_default();
            field = Some(key.trim().to_owned());
        }
        (
            "the field is given twice (duplicate key)".to_owned(),
            "keep one of the two".to_owned(),
        )
    } else {
        (
            format!("not readable as YAML: {message}"),
            "see the marked place".to_owned(),
        )
    };
    Fault {
        file: file.to_owned(),
        line,
        column,
        field,
        message,
        mend,
        source_line: source_line(text, line),
        severity: Severity::Error,
    }
}

fn line_has_two_colons(text: &str, line: u64) -> bool {
    source_line(text, line).is_some_and(|content| content.matches(": ").count() > 1)
}

/// A value as the library hands it over: scalars that are not text are read back from the source by span.
enum Raw {
    Null,
    Text(String),
    Plain,
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_i128<E: de::Error>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_u128<E: de::Error>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Plain)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

fn place(location: Location) -> Place {
    Place {
        line: location.line(),
        column: location.column(),
    }
}

fn node(raw: Spanned<Raw>, text: &str) -> Node {
    let at = place(raw.referenced);
    let source = || {
        let span = raw.defined.span();
        let start = usize::try_from(span.byte_offset()?).ok()?;
        let end = start + usize::try_from(span.byte_len()?).ok()?;
        Some((text.get(start..end)?.trim_end(), text.get(end..)?))
    };
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Plain => Value::Text {
            text: source().map_or_else(String::new, |(own, _)| own.to_owned()),
            before_comment: false,
        },
        Raw::Text(value) => {
            // Only an unquoted text can lose its tail to a comment.
            let before_comment = source().is_some_and(|(own, rest)| {
                let line = rest.lines().next().unwrap_or_default();
                own == value && line.trim_start().starts_with('#')
            });
            Value::Text {
                text: value,
                before_comment,
            }
        }
        Raw::List(items) => Value::List(items.into_iter().map(|item| node(item, text)).collect()),
        Raw::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let at = place(key.referenced);
                    (key.value, at, node(value, text))
                })
                .collect(),
        ),
    };
    Node { at, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of<'a>(document: &'a Document, key: &str) -> (&'a str, Place) {
        let Value::Map(entries) = &document.root.value else {
            panic!("not a mapping")
        };
        let (_, _, node) = entries.iter().find(|(name, ..)| name == key).unwrap();
        match &node.value {
            Value::Text { text, .. } => (text, node.at),
            other => panic!("not text: {other:?}"),
        }
    }

    #[test]
    fn scalars_keep_the_text_as_written() {
        let document = Document::parse(
            "t.yaml",
            "a: 4.20\nb: no\nc: 2_700_000\nd: 'x: y'\ne: |-\n  two\n  lines\nf: 1E3\ng: true\n",
        )
        .unwrap();
        for (key, text) in [
            ("a", "4.20"),
            ("b", "no"),
            ("c", "2_700_000"),
            ("d", "x: y"),
            ("e", "two\nlines"),
            ("f", "1E3"),
            ("g", "true"),
        ] {
            assert_eq!(text_of(&document, key).0, text);
        }
        assert_eq!(text_of(&document, "c").1, Place { line: 3, column: 4 });
    }
}
