//! Reading a reply: raw text → estimate, or the reason why there is none, with the name of the rule.
//!
//! No model judges anything and nothing is guessed: the conventions are written down in `docs/reading-replies.md`
//! and every one of them is a test. The reader never looks at plausibility, and never prefers or drops a number
//! because it is near the anchor or the reference. It takes time linear in the length of the reply.

mod anchorbench;
mod comparison;
mod cursor;
mod digits;
mod label;
mod number;
mod on_scale;
mod refusal;
mod rules;
mod scale;
mod unit;
mod unit_names;
mod value;
mod verdict;
mod visible;
mod words;

pub use anchorbench::{Said, read_as_anchorbench};
pub use digits::digits_of_body;
pub use on_scale::read_on_scale;
pub use rules::Rules;
pub use verdict::read_verdict;

use comparison::{compared_numbers, is_compared, read_comparison};
use cursor::Cursor;
use label::{Labels, is_qualifier, read_labels};
use number::number_at;
use unit::Asked;
use value::{Found, skip_to_value, value_at};

use crate::domain::{NoValue, Reading, Rule};

/// What a reply is read for.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Unit that the question asks for; empty for plain counts.
    pub unit: &'a str,
    /// The anchor shown, in that unit.
    pub anchor: Option<f64>,
    /// Whether the reply is also asked for "more" or "less".
    pub comparison: bool,
}

/// Reads a reply.
#[must_use]
pub fn read_reply(text: &str, question: &Question<'_>) -> Reading {
    let text = visible::normalise(&visible::said(text));
    if text.trim().is_empty() {
        return Reading {
            value: Err(NoValue::Empty),
            rule: Rule::NothingVisible,
            comparison: None,
        };
    }
    let asked = Asked::new(question.unit);
    let comparison = question
        .comparison
        .then(|| read_comparison(&text, question.anchor, &asked))
        .flatten();
    let (value, rule) = match read_labels(&text, &asked) {
        Labels::Read(value, rule) => (value, rule),
        Labels::OnlyPlaceholders => (Err(NoValue::Placeholder), Rule::LabelPlaceholder),
        Labels::Nothing => without_label(&text, &asked),
    };
    Reading {
        value,
        rule,
        comparison,
    }
}

/// Reads a reply without a label: only if it leaves no choice.
fn without_label(text: &str, asked: &Asked) -> (Result<f64, NoValue>, Rule) {
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.trim_matches(['`', '*', '_', ' ', '$']).is_empty())
        .unwrap_or_default();
    let (rule, line) = match last.rfind("\\boxed") {
        Some(at) => (Rule::Boxed, &last[at..]),
        None => (Rule::LastLine, last),
    };
    match bare_line(line, asked) {
        Some(Found::Value(value)) => return (Ok(value), rule),
        Some(Found::Bad(why)) => return (Err(why), rule),
        _ => {}
    }
    if refusal::declines(text) {
        let hedged =
            refusal::hedged_value(text).map(|at| value_at(&mut Cursor::new(text, at), asked));
        return match hedged {
            Some(Found::Value(value)) => (Ok(value), Rule::OnlyNumber),
            _ => (Err(NoValue::Refusal), Rule::Declined),
        };
    }
    let compared = compared_numbers(text, asked);
    let mut free = numbers(text).filter(|at| !is_compared(&compared, *at));
    match (free.next(), free.next()) {
        (None, _) if compared.is_empty() => (Err(NoValue::NoNumber), Rule::NoNumber),
        (None, _) => (Err(NoValue::NoNumber), Rule::ComparisonOnly),
        (Some(at), None) => {
            let mut cursor = Cursor::new(text, at);
            match value_at(&mut cursor, asked) {
                Found::Value(value) => (Ok(value), Rule::OnlyNumber),
                Found::Bad(why) => (Err(why), Rule::OnlyNumber),
                Found::Nothing => (Err(NoValue::NoNumber), Rule::NoNumber),
            }
        }
        (Some(_), Some(_)) => (Err(NoValue::Ambiguous), Rule::SeveralNumbers),
    }
}

/// A line that is one value, with at most a label before it and a few words behind it.
fn bare_line(line: &str, asked: &Asked) -> Option<Found> {
    let mut cursor = Cursor::new(line, 0);
    skip_to_value(&mut cursor, false);
    let mut start = cursor;
    let mut found = value_at(&mut cursor, asked);
    if found == Found::Nothing {
        // Another label, such as a translated one: no digits, then a colon or an equals sign.
        let end = line
            .char_indices()
            .take(40)
            .take_while(|(_, c)| !c.is_ascii_digit())
            .find(|(_, c)| matches!(c, ':' | '='))
            .map(|(at, c)| at + c.len_utf8())?;
        // "High: 300" is one end of a range.
        let low_or_high = line[..end]
            .split(|c: char| !c.is_alphabetic())
            .any(is_qualifier);
        cursor = Cursor::new(line, end);
        cursor.skip_while(|c| matches!(c, '*' | '_' | '"' | ' '));
        skip_to_value(&mut cursor, false);
        start = cursor;
        found = value_at(&mut cursor, asked);
        if low_or_high && found != Found::Nothing {
            return Some(Found::Bad(NoValue::Ambiguous));
        }
    }
    // "1. First step" and "4 a day, so" are no bare values.
    let tail = cursor.rest().trim_matches(|c: char| !c.is_alphanumeric());
    let words = tail.split_whitespace().count();
    let numbered = cursor.rest().starts_with(". ") && words > 0;
    let bracketed = cursor.rest().trim_start().starts_with(['(', '±']);
    let short = words <= 3
        && !numbered
        && !tail.contains(|c: char| c.is_ascii_digit())
        && !cursor.rest().trim_end().ends_with([',', ':'])
        && !cursor.rest().contains(", ");
    match found {
        Found::Nothing => None,
        _ if start.before().contains(|c: char| c.is_ascii_digit()) => None,
        found if short || bracketed || matches!(found, Found::Bad(_)) && words == 0 => Some(found),
        _ => None,
    }
}

/// Where numbers in digits begin, each once.
fn numbers(text: &str) -> impl Iterator<Item = usize> {
    let mut cursor = Cursor::new(text, 0);
    std::iter::from_fn(move || {
        loop {
            let next = cursor.rest().find(|c: char| c.is_ascii_digit())?;
            cursor.skip(next);
            let start = cursor.at();
            // "H2" and "GPT-4" are names.
            let before = text[..start].trim_end_matches('-').chars().next_back();
            let attached = before.is_some_and(char::is_alphabetic);
            if number_at(&mut cursor).is_none() {
                cursor.bump();
            }
            if !attached {
                // A minus sign directly before the digits, with a space before it, belongs to them.
                let signed = text[..start].ends_with(" -") || &text[..start] == "-";
                return Some(if signed { start - 1 } else { start });
            }
        }
    })
}
