//! The ESTIMATE label and the value behind it.

use super::cursor::Cursor;
use super::unit::Asked;
use super::value::{Found, skip_to_value, value_at};
use crate::domain::{NoValue, Rule};

/// What one label leads to.
enum Labelled {
    Value(f64, Rule),
    Bad(NoValue, Rule),
    Placeholder,
    Nothing,
}

/// What the labels of a reply say.
pub(super) enum Labels {
    /// The last label with a value.
    Read(Result<f64, NoValue>, Rule),
    /// Labels, all with placeholders.
    OnlyPlaceholders,
    /// No label leads to anything.
    Nothing,
}

const QUALIFIERS: [&str; 14] = [
    "low",
    "lower",
    "high",
    "upper",
    "min",
    "minimum",
    "max",
    "maximum",
    "best case",
    "worst case",
    "optimistic",
    "pessimistic",
    "bound",
    "range",
];

/// Looks from the last label backwards, so that no text is read twice.
pub(super) fn read_labels(text: &str, asked: &Asked) -> Labels {
    let mut placeholder = false;
    // "my estimate 3 sources" in running text gives way to a label that stands as one.
    let mut in_passing = None;
    for at in label_places(text).into_iter().rev() {
        let found = match read_one(text, at, asked) {
            Labelled::Value(value, rule) => (Ok(value), rule),
            Labelled::Bad(why, rule) => (Err(why), rule),
            Labelled::Placeholder => {
                placeholder = true;
                continue;
            }
            Labelled::Nothing => continue,
        };
        if stands_as_label(text, at) {
            return Labels::Read(found.0, found.1);
        }
        in_passing = in_passing.or(Some(found));
    }
    match in_passing {
        Some((value, rule)) => Labels::Read(value, rule),
        None if placeholder => Labels::OnlyPlaceholders,
        None => Labels::Nothing,
    }
}

/// Whether the word begins a line, is written in capitals, or has a colon or an equals sign behind it.
fn stands_as_label(text: &str, at: usize) -> bool {
    let end = at + "estimate".len();
    let head = text[..at].trim_end_matches([' ', '*', '_', '#', '>', '-', '"', '{', '`', '\t']);
    let mut behind = Cursor::new(text, end);
    skip_marks(&mut behind);
    behind.skip_blanks();
    bracket(&mut behind);
    skip_marks(&mut behind);
    behind.skip_blanks();
    head.is_empty()
        || head.ends_with('\n')
        || text[at..end].starts_with("ESTIMATE")
        || behind.rest().starts_with([':', '=', '≈'])
}

fn label_places(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes[at..]
        .iter()
        .position(|b| b.eq_ignore_ascii_case(&b'e'))
    {
        let start = at + found;
        let end = start + "estimate".len();
        let is_word = bytes
            .get(start..end)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"estimate"));
        if is_word {
            let before = text[..start].chars().next_back();
            let after = text[end..].chars().next();
            if !before.is_some_and(char::is_alphanumeric)
                && !after.is_some_and(char::is_alphanumeric)
            {
                places.push(start);
            }
        }
        at = start + 1;
    }
    places
}

fn read_one(text: &str, start: usize, asked: &Asked) -> Labelled {
    let mut cursor = Cursor::new(text, start + "estimate".len());
    let mut bounded = is_qualifier(last_word(&text[..start]));
    skip_marks(&mut cursor);
    cursor.skip_blanks();
    if let Some(inside) = bracket(&mut cursor) {
        bounded |= inside.split(|c: char| !c.is_alphabetic()).any(is_qualifier);
    }
    skip_marks(&mut cursor);
    cursor.skip_blanks();
    if is_qualifier(cursor.word()) {
        bounded = true;
        cursor.skip(cursor.word().len());
        cursor.skip_blanks();
    }
    // "ESTIMATE 1:" numbers the label.
    let mut ordinal = cursor;
    ordinal.skip_while(|c| c.is_ascii_digit());
    if ordinal.at() > cursor.at() && ordinal.at() < cursor.at() + 3 && ordinal.peek() == Some(':') {
        bounded = true;
        cursor = ordinal;
    }
    let separated = if cursor.eat(":") || cursor.eat("=") || cursor.eat("≈") {
        true
    } else {
        let mut dash = cursor;
        let is_dash = dash.eat("-") || dash.eat("–") || dash.eat("—");
        let spaced = dash.peek().is_none_or(|c| c == ' ' || c == '\n');
        if is_dash && spaced {
            cursor = dash;
        }
        is_dash && spaced
    };
    let line = cursor.at();
    if placeholder(cursor) {
        return Labelled::Placeholder;
    }
    skip_to_value(&mut cursor, separated);
    let crossed = text[line..cursor.at()].contains('\n');
    if crossed {
        bullet(&mut cursor);
        if placeholder(cursor) {
            return Labelled::Placeholder;
        }
        if list_marker(cursor) {
            return Labelled::Nothing;
        }
        // "1. 225": the number of a list, of which there may be more.
        if let Some(item) = numbered(cursor) {
            bounded |= another_numbered(item);
            cursor = item;
        }
    }
    if placeholder(cursor) {
        return Labelled::Placeholder;
    }
    // "$\\leq 500$": a math mark before a bound.
    let mut math = cursor;
    if math.eat("$") {
        math.skip_blanks();
        if math.rest().starts_with(['≤', '≥', '<', '>']) {
            cursor = math;
        }
    }
    let value_start = cursor;
    let found = value_at(&mut cursor, asked);
    if found == Found::Nothing {
        return Labelled::Nothing;
    }
    let found = match found {
        Found::Value(_) | Found::Bad(NoValue::Ambiguous | NoValue::UnitMismatch) => {
            match equation(value_start, asked) {
                Some(Found::Value(value)) if !bounded => {
                    return Labelled::Value(value, Rule::LabelEquation);
                }
                Some(Found::Bad(why)) => return Labelled::Bad(why, Rule::LabelEquation),
                _ => found,
            }
        }
        other => other,
    };
    match found {
        Found::Value(value) => {
            if bounded || bracket_bounds(cursor) || another_below(cursor, value, asked) {
                Labelled::Bad(NoValue::Ambiguous, Rule::Label)
            } else {
                Labelled::Value(value, Rule::Label)
            }
        }
        Found::Bad(why) => Labelled::Bad(why, Rule::Label),
        Found::Nothing => Labelled::Nothing,
    }
}

pub(super) fn is_qualifier(word: &str) -> bool {
    QUALIFIERS
        .iter()
        .any(|qualifier| qualifier.eq_ignore_ascii_case(word))
}

fn last_word(before: &str) -> &str {
    let trimmed = before.trim_end_matches([' ', '*', '_', '-']);
    let start = trimmed
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphabetic())
        .last()
        .map_or(trimmed.len(), |(at, _)| at);
    &trimmed[start..]
}

fn skip_marks(cursor: &mut Cursor<'_>) {
    cursor.skip_while(|c| matches!(c, '*' | '_' | '`' | '"' | '\'' | ']' | '}' | '>'));
}

/// A short bracket on the line.
fn bracket<'a>(cursor: &mut Cursor<'a>) -> Option<&'a str> {
    let rest = cursor.rest().strip_prefix('(')?;
    let end = rest
        .char_indices()
        .take(60)
        .take_while(|(_, c)| *c != '\n')
        .find(|(_, c)| *c == ')')?
        .0;
    cursor.skip(end + 2);
    Some(&rest[..end])
}

/// "(low)" and the like behind a value: one end of a range.
fn bracket_bounds(mut cursor: Cursor<'_>) -> bool {
    cursor.skip_blanks();
    bracket(&mut cursor).is_some_and(|inside| is_qualifier(inside.trim()))
}

/// The next line is nothing but another value.
fn another_below(cursor: Cursor<'_>, value: f64, asked: &Asked) -> bool {
    let rest = cursor.rest();
    let Some((tail, below)) = rest.split_once('\n') else {
        return false;
    };
    if !tail
        .trim_matches([' ', '.', '*', '_', '`', '\t'])
        .is_empty()
    {
        return false;
    }
    let next = below.trim_start().lines().next().unwrap_or_default();
    match super::bare_line(next, asked) {
        Some(Found::Value(other)) => other.total_cmp(&value).is_ne(),
        _ => false,
    }
}

fn bullet(cursor: &mut Cursor<'_>) {
    let mut at = *cursor;
    if (at.eat("-") || at.eat("•")) && at.peek() == Some(' ') {
        skip_to_value(&mut at, false);
        *cursor = at;
    }
}

/// "1. Chicago has": the number of a step.
fn list_marker(cursor: Cursor<'_>) -> bool {
    let mut at = cursor;
    at.skip_while(|c| c.is_ascii_digit());
    at.at() > cursor.at()
        && (at.eat(".") || at.eat(")"))
        && at.peek() == Some(' ')
        && at
            .rest()
            .trim_start()
            .starts_with(|c: char| !c.is_ascii_digit())
}

/// Behind "1. " or "1) ", if a number follows.
fn numbered(cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    let mut at = cursor;
    at.skip_while(|c| c.is_ascii_digit());
    let marked = at.at() > cursor.at() && (at.eat(". ") || at.eat(") "));
    at.skip_blanks();
    (marked && at.peek().is_some_and(|c| c.is_ascii_digit())).then_some(at)
}

/// Whether the next line is a numbered item too.
fn another_numbered(cursor: Cursor<'_>) -> bool {
    let rest = cursor.rest();
    rest.find('\n').is_some_and(|end| {
        let mut next = cursor;
        next.skip(end + 1);
        next.skip_while(char::is_whitespace);
        numbered(next).is_some()
    })
}

/// The format's stand-in, not filled in.
fn placeholder(cursor: Cursor<'_>) -> bool {
    let mut at = cursor;
    at.skip_while(|c| matches!(c, ' ' | '*' | '`' | '"' | '\''));
    let rest = at.rest();
    for (open, close) in [('<', '>'), ('[', ']'), ('{', '}')] {
        if let Some(inside) = rest.strip_prefix(open) {
            let end = inside
                .char_indices()
                .take(60)
                .take_while(|(_, c)| *c != '\n')
                .find(|(_, c)| *c == close);
            if let Some((end, _)) = end {
                let inside = &inside[..end];
                // "[about 225]" and "<two hundred>" are filled in.
                let mut filled = Cursor::new(inside, 0);
                skip_to_value(&mut filled, false);
                let number = super::words::number_words_at(&mut filled).is_some();
                return !number && !inside.contains(|c: char| c.is_ascii_digit());
            }
        }
    }
    if rest.starts_with("___")
        || rest.starts_with("...")
        || rest.starts_with('…')
        || rest.starts_with('?')
    {
        return true;
    }
    matches!(at.word(), "X" | "x" | "XX" | "XXX" | "N" | "XXXX")
        && !at.rest()[at.word().len()..].starts_with(|c: char| c.is_ascii_digit())
}

/// "15 tuners × 15 districts = 225": the value behind the last equals sign, if a sum stands before it.
fn equation(start: Cursor<'_>, asked: &Asked) -> Option<Found> {
    let rest = start.rest();
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let mut sum = false;
    let mut depth = 0_u32;
    let mut last = None;
    for (at, c) in line.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '×' | '*' | '·' | '÷' | '/' | '+' | '-' => sum = true,
            'x' | 'X' if line[..at].ends_with(' ') => sum = true,
            '=' | '≈' if sum => last = Some(at + c.len_utf8()),
            // A clause ends the sum: what follows is a comment.
            ';' => break,
            ',' | '.'
                if line[at..].len() > 1 && line[at + 1..].starts_with(' ') && last.is_none() =>
            {
                break;
            }
            _ => {}
        }
    }
    let mut cursor = Cursor::new(line, last?);
    skip_to_value(&mut cursor, false);
    match value_at(&mut cursor, asked) {
        Found::Nothing => None,
        found => Some(found),
    }
}
