use super::{Document, Fault, Faults, Node, Place, Severity, Value, nearest};

/// A scalar with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The characters.
    pub text: String,
    /// Where it stands.
    pub at: Place,
}

/// The fields of one mapping, taken one by one; what is wrong is collected.
pub struct Fields<'a, 'f> {
    document: &'a Document,
    /// What the mapping describes, such as ``question `everest` ``.
    about: String,
    at: Place,
    entries: Vec<(&'a str, Place, &'a Node)>,
    asked: Vec<&'static str>,
    faults: &'f mut Faults,
}

impl<'a, 'f> Fields<'a, 'f> {
    /// Opens a mapping. Anything else is a fault, and no fields.
    pub fn open(
        document: &'a Document,
        node: &'a Node,
        about: impl Into<String>,
        faults: &'f mut Faults,
    ) -> Option<Self> {
        let about = about.into();
        if let Value::Map(entries) = &node.value {
            return Some(Self {
                document,
                about,
                at: node.at,
                entries: entries
                    .iter()
                    .map(|(name, at, node)| (name.as_str(), *at, node))
                    .collect(),
                asked: Vec::new(),
                faults,
            });
        }
        faults.0.push(document.fault(
            node.at,
            None,
            format!("{about} must be a mapping"),
            "write `field: value` lines, indented alike",
        ));
        None
    }

    /// Where the mapping begins.
    #[must_use]
    pub fn at(&self) -> Place {
        self.at
    }

    /// Names the mapping for messages, once its id is known.
    pub fn call(&mut self, about: impl Into<String>) {
        self.about = about.into();
    }

    /// The value of a field, `None` if absent or null.
    pub fn node(&mut self, field: &'static str) -> Option<&'a Node> {
        self.asked.push(field);
        self.entries
            .iter()
            .find(|(name, ..)| *name == field)
            .map(|(.., node)| *node)
            .filter(|node| node.value != Value::Null)
    }

    /// Whether the field is written, if only as null.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        self.entries.iter().any(|(name, ..)| *name == field)
    }

    /// A scalar field.
    pub fn scalar(&mut self, field: &'static str) -> Option<Scalar> {
        let node = self.node(field)?;
        if let Value::Text {
            text,
            before_comment,
        } = &node.value
        {
            if *before_comment && text.contains(' ') {
                self.warn(
                    field,
                    node.at,
                    "the text ends at ` #`, where a comment begins",
                    "put the whole text in quotes if the # belongs to it; move the comment to a line of its own if not",
                );
            }
            Some(Scalar {
                text: text.clone(),
                at: node.at,
            })
        } else {
            self.fault(
                field,
                node.at,
                "must be a single value",
                "write it on one line",
            );
            None
        }
    }

    /// A scalar field that must be there and not be blank.
    pub fn required(&mut self, field: &'static str) -> Option<Scalar> {
        let written = self.has(field);
        let value = self.scalar(field);
        match &value {
            Some(scalar) if scalar.text.trim().is_empty() => {
                self.fault(field, scalar.at, "is empty", "write a value");
                None
            }
            None if !written || self.node(field).is_none() => {
                self.fault(
                    field,
                    self.at,
                    "is missing",
                    format!("add a line `{field}: …`"),
                );
                None
            }
            _ => value,
        }
    }

    /// A number. Underscores may group digits; commas are refused with advice.
    pub fn number(&mut self, field: &'static str) -> Option<(f64, Place)> {
        let scalar = self.scalar(field)?;
        if let Some(value) = read_number(&scalar.text) {
            return Some((value, scalar.at));
        }
        let bare: String = scalar
            .text
            .chars()
            .filter(|c| !matches!(c, ',' | ' ' | '\'' | '\u{a0}' | '\u{202f}'))
            .collect();
        let mend = match read_number(&bare) {
            Some(_) => format!(
                "write {bare}, or {} to group the digits",
                underscored(&bare)
            ),
            None => "write digits, with a dot for decimals, such as 8849 or 2.5e6".to_owned(),
        };
        self.fault(
            field,
            scalar.at,
            format!("`{}` is not a plain number", scalar.text),
            mend,
        );
        None
    }

    /// A whole number from 0.
    pub fn count(&mut self, field: &'static str) -> Option<u32> {
        let (value, at) = self.number(field)?;
        if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked on the line above"
            )]
            return Some(value as u32);
        }
        self.fault(field, at, "must be a whole number from 0", "such as 60");
        None
    }

    /// A whole number from 1.
    pub fn from_one(&mut self, field: &'static str) -> Option<u32> {
        let value = self.count(field)?;
        if value == 0 {
            let at = self.at;
            self.fault(
                field,
                at,
                "must be at least 1",
                "drop the line for no limit",
            );
        }
        (value > 0).then_some(value)
    }

    /// `true` or `false`.
    pub fn flag(&mut self, field: &'static str) -> Option<bool> {
        let scalar = self.scalar(field)?;
        match scalar.text.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                self.fault(
                    field,
                    scalar.at,
                    format!("`{other}` is neither true nor false"),
                    "write true or false",
                );
                None
            }
        }
    }

    /// One of a closed set of words.
    pub fn choice<T>(&mut self, field: &'static str, words: &[&'static str]) -> Option<T>
    where
        T: std::str::FromStr,
    {
        let scalar = self.scalar(field)?;
        self.word(field, &scalar, words)
    }

    /// Reads one word of a closed set.
    pub fn word<T>(&mut self, field: &str, scalar: &Scalar, words: &[&'static str]) -> Option<T>
    where
        T: std::str::FromStr,
    {
        if let Ok(value) = scalar.text.parse() {
            return Some(value);
        }
        let mend = match nearest(&scalar.text, words.iter().copied()) {
            Some(near) => format!("did you mean {near}? it can be {}", words.join(", ")),
            None => format!("it can be {}", words.join(", ")),
        };
        self.fault(
            field,
            scalar.at,
            format!("`{}` is not known here", scalar.text),
            mend,
        );
        None
    }

    /// The items of a list field; none if the field is absent.
    pub fn list(&mut self, field: &'static str) -> &'a [Node] {
        match self.node(field) {
            None => &[],
            Some(Node {
                value: Value::List(items),
                ..
            }) => items,
            Some(node) => {
                let at = node.at;
                self.fault(field, at, "must be a list", "begin each entry with `- `");
                &[]
            }
        }
    }

    /// A list of scalars.
    pub fn scalars(&mut self, field: &'static str) -> Vec<Scalar> {
        let mut found = Vec::new();
        for node in self.list(field) {
            match &node.value {
                Value::Text { text, .. } => found.push(Scalar {
                    text: text.clone(),
                    at: node.at,
                }),
                _ => self.fault(
                    field,
                    node.at,
                    "must hold single values",
                    "one word an entry",
                ),
            }
        }
        found
    }

    /// A nested mapping.
    pub fn nested<R>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut Fields<'_, '_>) -> R,
    ) -> Option<R> {
        let node = self.node(field)?;
        let about = format!("{} of {}", field, self.about);
        let mut inner = Fields::open(self.document, node, about, self.faults)?;
        let value = read(&mut inner);
        inner.close();
        Some(value)
    }

    /// An entry of a list as a mapping of its own.
    pub fn entry(&mut self, node: &'a Node, about: impl Into<String>) -> Option<Fields<'_, '_>> {
        Fields::open(self.document, node, about, self.faults)
    }

    /// Records an error.
    pub fn fault(
        &mut self,
        field: &str,
        at: Place,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        let fault = self.make(field, at, &message.into(), mend.into());
        self.faults.0.push(fault);
    }

    /// Records a warning.
    pub fn warn(
        &mut self,
        field: &str,
        at: Place,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        let mut fault = self.make(field, at, &message.into(), mend.into());
        fault.severity = Severity::Warning;
        self.faults.0.push(fault);
    }

    fn make(&self, field: &str, at: Place, message: &str, mend: String) -> Fault {
        self.document
            .fault(at, Some(field), format!("{}: {message}", self.about), mend)
    }

    /// Reports every field that nobody asked for.
    pub fn close(mut self) {
        let unknown: Vec<(String, Place)> = self
            .entries
            .iter()
            .filter(|(name, ..)| !self.asked.contains(name))
            .map(|(name, at, _)| ((*name).to_owned(), *at))
            .collect();
        for (name, at) in unknown {
            let mut known: Vec<&str> = self.asked.clone();
            known.sort_unstable();
            known.dedup();
            let mend = match nearest(&name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}? fields here: {}", known.join(", ")),
                None => format!("fields here: {}", known.join(", ")),
            };
            self.fault(&name, at, "there is no such field", mend);
        }
    }
}

fn read_number(text: &str) -> Option<f64> {
    let bare = text.trim();
    let starts = bare.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    // Rust reads "inf" and "nan" as numbers; a file of facts has no use for them.
    if !starts
        || bare.contains("__")
        || bare.ends_with('_')
        || bare.to_lowercase().contains(['n', 'i'])
    {
        return None;
    }
    bare.replace('_', "")
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())
}

fn underscored(digits: &str) -> String {
    let (whole, rest) = digits
        .find('.')
        .map_or((digits, ""), |dot| digits.split_at(dot));
    let mut out = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out + rest
}
