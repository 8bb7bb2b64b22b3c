//! Tables read as if they were YAML: what is checked of one is checked of the other.

use super::{Document, Faults, Node, Place, Value};

impl Document {
    /// Reads a CSV table with a header as a list of mappings, one a row. Empty fields are absent.
    ///
    /// # Errors
    /// One fault for a text that is no table.
    pub fn table(file: impl Into<String>, text: &str) -> Result<Self, Faults> {
        let file = file.into();
        // The reader of tables counts a line end of two characters late.
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let read = || -> Result<Vec<Node>, csv::Error> {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let header = reader.headers()?.clone();
            let mut rows = Vec::new();
            for row in reader.records() {
                let row = row?;
                let line = row.position().map_or(1, csv::Position::line);
                let fields = header.iter().zip(&row).zip(1..);
                let entries = fields.filter(|((_, text), _)| !text.is_empty()).map(
                    |((name, text), column)| {
                        let at = Place { line, column };
                        let value = Value::Text {
                            text: text.to_owned(),
                            before_comment: false,
                        };
                        (name.trim().to_owned(), at, Node { at, value })
                    },
                );
                rows.push(Node {
                    at: Place { line, column: 1 },
                    value: Value::Map(entries.collect()),
                });
            }
            Ok(rows)
        };
        let at = Place { line: 1, column: 1 };
        match read() {
            Ok(rows) => {
                let root = Node {
                    at,
                    value: Value::List(rows),
                };
                Ok(Self { file, text, root })
            }
            Err(error) => {
                let line = error.position().map_or(1, csv::Position::line);
                let empty = Self {
                    file,
                    text: text.clone(),
                    root: Node {
                        at,
                        value: Value::Null,
                    },
                };
                let at = Place { line, column: 1 };
                let message = format!("this is no CSV row: {error}");
                let mend = "give each row as many fields as the header";
                Err(Faults(vec![empty.fault(at, None, message, mend)]))
            }
        }
    }

    /// A table of two columns, `field` and `text`, as one mapping; dots in a field lead into mappings of their own.
    ///
    /// # Errors
    /// As [`Document::table`]; a row without its two columns; a field that stands there twice.
    pub fn pairs(file: impl Into<String>, text: &str) -> Result<Self, Faults> {
        let mut document = Self::table(file, text)?;
        let Value::List(rows) = std::mem::replace(&mut document.root.value, Value::Null) else {
            return Ok(document);
        };
        let mut entries = Vec::new();
        let mut faults = Faults::default();
        for row in rows {
            let Value::Map(fields) = row.value else {
                continue;
            };
            let field = |wanted: &str| fields.iter().find(|(name, ..)| name == wanted);
            let known = fields
                .iter()
                .all(|(name, ..)| name == "field" || name == "text");
            let (Some((_, at, field)), Some((.., value)), true) =
                (field("field"), field("text"), known)
            else {
                faults.0.push(document.fault(
                    row.at,
                    None,
                    "a row has the columns field and text",
                    "such as threshold,4 below the header field,text",
                ));
                continue;
            };
            let Value::Text { text: path, .. } = &field.value else {
                continue;
            };
            if !insert(&mut entries, path, *at, value.clone()) {
                faults.0.push(document.fault(
                    *at,
                    Some(path),
                    "stands here twice",
                    "keep one of the two",
                ));
            }
        }
        document.root.value = Value::Map(entries);
        if faults.any_error() {
            Err(faults)
        } else {
            Ok(document)
        }
    }
}

/// Puts a value where a path with dots leads; `false` if something is there.
fn insert(entries: &mut Vec<(String, Place, Node)>, path: &str, at: Place, value: Node) -> bool {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let known = entries.iter().position(|(known, ..)| known == name);
    match (known, rest) {
        (Some(place), Some(rest)) => match &mut entries[place].2.value {
            Value::Map(inner) => insert(inner, rest, at, value),
            _ => false,
        },
        (Some(_), None) => false,
        (None, Some(rest)) => {
            let mut inner = Vec::new();
            insert(&mut inner, rest, at, value);
            let value = Value::Map(inner);
            entries.push((name.to_owned(), at, Node { at, value }));
            true
        }
        (None, None) => {
            entries.push((name.to_owned(), at, value));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_places_and_a_pair_may_lead_inwards() {
        let table = Document::table("a.csv", "id,text\nm-1,\"one\ntwo\"\nm-2,\n").unwrap();
        let Value::List(rows) = &table.root.value else {
            panic!()
        };
        let Value::Map(fields) = &rows[1].value else {
            panic!()
        };
        assert_eq!((rows[1].at.line, fields.len()), (4, 1));
        let pairs = "field,text\nscale.from,1\nscale.to,10\nthreshold,7\n";
        let pairs = Document::pairs("b.csv", pairs).unwrap();
        let Value::Map(fields) = &pairs.root.value else {
            panic!()
        };
        let Value::Map(scale) = &fields[0].2.value else {
            panic!()
        };
        assert_eq!((fields.len(), scale.len(), scale[1].1.line), (2, 2, 3));
        for wrong in [
            "field,text\na,1\na,2\n",
            "field,text\na\n",
            "name,text\na,b\n",
        ] {
            assert!(Document::pairs("c.csv", wrong).is_err(), "{wrong}");
        }
    }
}
