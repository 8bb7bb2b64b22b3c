//! A place in a text, and the few moves that the grammars need.

/// Reads forward over a text; cheap to copy, so a rule can look ahead and give up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn before(&self) -> &'a str {
        &self.text[..self.at]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    pub(super) fn skip_while(&mut self, mut keep: impl FnMut(char) -> bool) {
        while self.peek().is_some_and(&mut keep) {
            self.bump();
        }
    }

    /// Skips blanks, but no line end.
    pub(super) fn skip_blanks(&mut self) {
        self.skip_while(|c| c == ' ' || c == '\t');
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The run of letters that begins here.
    pub(super) fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(_, c)| !c.is_alphabetic())
            .map_or(rest.len(), |(at, _)| at);
        &rest[..end]
    }

    /// Skips a word or phrase in any case, if it stands here with no letter or digit after it.
    pub(super) fn eat_phrase(&mut self, phrase: &str) -> bool {
        let rest = self.rest();
        // Most phrases are told apart by their first letter.
        if let (Some(want), Some(have)) = (phrase.bytes().next(), rest.bytes().next())
            && want.is_ascii()
            && have.is_ascii()
            && !want.eq_ignore_ascii_case(&have)
        {
            return false;
        }
        let mut end = 0;
        let wanted = phrase.chars();
        let mut given = rest.chars();
        for want in wanted {
            match given.next() {
                Some(have) if same_letter(have, want) => end += have.len_utf8(),
                _ => return false,
            }
        }
        if given.next().is_some_and(char::is_alphanumeric) {
            return false;
        }
        self.at += end;
        true
    }

    pub(super) fn eat_any_phrase(&mut self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.eat_phrase(phrase))
    }
}

/// Whether two letters differ in their case at most.
fn same_letter(a: char, b: char) -> bool {
    if a.is_ascii() && b.is_ascii() {
        a.eq_ignore_ascii_case(&b)
    } else {
        a == b || a.to_lowercase().eq(b.to_lowercase())
    }
}
