//! The keys of a run, found in whatever form a server sends them back.

use std::sync::{Arc, RwLock};

use regex::bytes::Regex;

/// A shorter key is a word such as "1" or "none" that a local server wants to see; it hides nothing.
const SHORTEST: usize = 8;

/// Patterns of all keys in use; every client of a run shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<RwLock<Vec<Regex>>>);

impl Secrets {
    /// Adds a key: as it is, in any case, JSON-escaped, percent-encoded, or mixed.
    pub(super) fn add(&self, key: &str) {
        if key.len() < SHORTEST {
            return;
        }
        let mut pattern = "(?i-u)".to_owned();
        for c in key.chars() {
            let code = u32::from(c);
            let plain = regex::escape(&c.to_string());
            let slash = if c == '/' { r"|\\/" } else { "" };
            pattern.push_str(&format!(r"(?:{plain}|\\u{code:04x}|%{code:02x}{slash})"));
        }
        if let Ok(pattern) = Regex::new(&pattern) {
            self.0.write().expect("no panic while adding").push(pattern);
        }
    }

    /// The bytes with every key replaced by `[key]`.
    pub(super) fn redact(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for pattern in self.0.read().expect("no panic while adding").iter() {
            if pattern.is_match(&bytes) {
                bytes = pattern.replace_all(&bytes, &b"[key]"[..]).into_owned();
            }
        }
        bytes
    }

    /// Replaces keys in a text; whether there were any.
    pub(super) fn redact_text(&self, text: &mut String) -> bool {
        let found = self
            .0
            .read()
            .expect("no panic while adding")
            .iter()
            .any(|pattern| pattern.is_match(text.as_bytes()));
        if found {
            let clean = self.redact(std::mem::take(text).into_bytes());
            *text = String::from_utf8_lossy(&clean).into_owned();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_every_form() {
        let secrets = Secrets::default();
        secrets.add("sk-a/B+c=");
        secrets.add("1");
        for form in [
            "sk-a/B+c=",
            "SK-A/b+C=",
            r"sk-a\/B+c=",
            r"\u0073k-a\u002fB\u002bc=",
            "sk-a%2FB%2bc%3D",
        ] {
            let clean = secrets.redact(format!("<{form}> 1").into_bytes());
            assert_eq!(String::from_utf8(clean).unwrap(), "<[key]> 1", "{form}");
        }
        let mut text = "no key 1".to_owned();
        assert!(!secrets.redact_text(&mut text));
    }
}
