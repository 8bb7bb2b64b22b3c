//! More or less than the anchor: read for itself, and kept out of the way of the estimate.

use std::sync::LazyLock;

use regex::Regex;

use super::cursor::Cursor;
use super::number::{Lexeme, number_at};
use super::scale::{Scale, scales_at};
use super::unit::{Asked, sign_at};
use crate::domain::Comparison;

/// A number that belongs to a comparison: "more than 310", "weniger als 310", "> 310".
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        (?P<more>\b(?:more|greater|higher|larger|bigger|taller|longer|deeper|heavier)\s+than|\b(?:over|above|exceeds?|exceeding)\b|\bmehr\s+als|\bplus\s+de|\bm[aá]s\s+de|\bpi[uù]\s+di|\bmais\s+de|\bmeer\s+dan|\bбольше(?:\s+чем)?|>)
        |(?P<less>\b(?:less|fewer|lower|smaller|shorter|lighter)\s+than|\b(?:under|below)\b|\bweniger\s+als|\bmoins\s+de|\bmenos\s+de|\bmeno\s+di|\bminder\s+dan|\bменьше(?:\s+чем)?|<)
        ",
    )
    .expect("a literal pattern")
});

/// The question itself, restated: it answers nothing.
static RESTATED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:more|less|greater|fewer|higher|lower|above|below)\s+(?:or|and|nor)\s+(?:more|less|greater|fewer|higher|lower|above|below)(?:\s+than)?|\bmehr\s+oder\s+weniger(?:\s+als)?|\bplus\s+ou\s+moins(?:\s+de)?")
        .expect("a literal pattern")
});

/// A word that answers by itself at the start of a line or sentence.
static ANSWER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xim)
        (?:^|[.!?:;\n])[\s*_`"'\#>\-(]*(?:(?:(?:the\s+|my\s+)?(?:answer|comparison)(?:\s+is)?|first\s+line|line\s+1|it\s+is|it's|i'd\s+say|i\s+would\s+say|so|probably|much|likely)\s*[:,\-]?[\s*_`"'\[(]*){0,2}
        (?:(?P<more>more|greater|higher|mehr|plus|m[aá]s|mais|meer|больше)|(?P<less>less|fewer|lower|weniger|moins|menos|minder|меньше))
        (?P<tail>[\s*_`"'.,!;:)\-–—\]}]|$)
        "#,
    )
    .expect("a literal pattern")
});

/// A number that belongs to a comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    start: usize,
    end: usize,
    side: Comparison,
    value: f64,
}

/// Whether a place lies in one of the numbers, which stand in order.
pub(super) fn is_compared(compared: &[Compared], at: usize) -> bool {
    let next = compared.partition_point(|number| number.start <= at);
    next > 0 && at < compared[next - 1].end
}

/// The numbers that belong to comparisons, in order.
pub(super) fn compared_numbers(text: &str, asked: &Asked) -> Vec<Compared> {
    let mut found = Vec::new();
    let restated = RESTATED.find_iter(text).map(|hit| (hit.end(), None));
    let compared = COMPARED.captures_iter(text).map(|hit| {
        let side = if hit.name("more").is_some() {
            Comparison::More
        } else {
            Comparison::Less
        };
        (hit.get(0).map_or(0, |whole| whole.end()), Some(side))
    });
    for (end, side) in restated.chain(compared) {
        let mut cursor = Cursor::new(text, end);
        cursor.skip_while(|c| matches!(c, ' ' | '*' | '_' | '~' | '≈' | '#'));
        for word in [
            "about", "the", "number", "anchor", "value", "of", "a", "some",
        ] {
            if cursor.eat_phrase(word) {
                cursor.skip_blanks();
            }
        }
        sign_at(&mut cursor);
        let start = cursor.at();
        if let Some(Lexeme::Number(mut number)) = number_at(&mut cursor) {
            if let Scale::Times(scale) = scales_at(&mut cursor, asked) {
                number.times(scale);
            }
            let value = number.value().unwrap_or(f64::NAN);
            let side = side.unwrap_or(Comparison::More);
            found.push(Compared {
                start,
                end: cursor.at(),
                side,
                value,
            });
        }
    }
    found.sort_by_key(|number| number.start);
    found.dedup_by_key(|number| number.start);
    found
}

/// The answer to the comparison, from the part of the reply that may hold it.
///
/// The last plain "more" or "less" at the head of a line or sentence wins; without one, the last comparison with
/// the anchor itself.
pub(super) fn read_comparison(
    text: &str,
    anchor: Option<f64>,
    asked: &Asked,
) -> Option<Comparison> {
    let restated: Vec<(usize, usize)> = RESTATED
        .find_iter(text)
        .map(|hit| (hit.start(), hit.end()))
        .collect();
    // The restated question that begins last before a place.
    let question_before = |at: usize| {
        let next = restated.partition_point(|(start, _)| *start <= at);
        next.checked_sub(1).map(|place| restated[place].1)
    };
    let in_question = |at: usize| question_before(at).is_some_and(|end| at < end);
    let compared = compared_numbers(text, asked);
    let is_anchor =
        |value: f64| anchor.is_none_or(|anchor| (value - anchor).abs() <= anchor.abs() * 1e-9);
    let mut answer = None;
    for hit in ANSWER.captures_iter(text) {
        let (place, side) = match (hit.name("more"), hit.name("less")) {
            (Some(word), _) => (word, Comparison::More),
            (_, Some(word)) => (word, Comparison::Less),
            _ => continue,
        };
        // "More than 500 people …" speaks of another number.
        let next = compared.partition_point(|number| number.start <= place.end());
        let other_number = compared
            .get(next)
            .is_some_and(|number| number.start < place.end() + 24 && !is_anchor(number.value));
        // "Is it more than 310? No." only repeats the question.
        let sentence = text[place.end()..]
            .chars()
            .take(60)
            .find(|c| matches!(c, '.' | '!' | '?' | '\n'));
        let asks = sentence == Some('?');
        let word_follows = text[place.end()..]
            .trim_start_matches([' ', '*', '_'])
            .starts_with(char::is_alphabetic);
        let mut behind = Cursor::new(text, place.end());
        behind.skip_while(char::is_whitespace);
        let anchor_follows = compared
            .get(next)
            .is_some_and(|number| number.start < place.end() + 24 && is_anchor(number.value));
        let than =
            anchor_follows && behind.eat_any_phrase(&["than", "als", "de", "di", "dan", "чем"]);
        let label = behind.eat_phrase("estimate");
        let heads_line = text[place.end()..].starts_with(['\n', '*', '_']) || !word_follows;
        if !in_question(place.start()) && !other_number && !asks && (heads_line || than || label) {
            answer = Some(side);
        }
    }
    answer.or_else(|| {
        compared
            .iter()
            .rev()
            .find(|number| {
                let question =
                    question_before(number.start).is_some_and(|end| number.start < end + 8);
                let certain = !question && !is_denied(text, number.start);
                certain && anchor.is_some() && is_anchor(number.value)
            })
            .map(|number| number.side)
    })
}

static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:not|no|unlikely|never|cannot|whether|is it|if)\b|n't\b")
        .expect("a literal pattern")
});

/// Whether "not", "can't be", "unlikely to be" or the like stands shortly before, or a question mark shortly behind:
/// then the comparison says nothing certain.
fn is_denied(text: &str, at: usize) -> bool {
    let mut start = at.saturating_sub(40);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = text[at..]
        .chars()
        .take(24)
        .find(|c| matches!(c, '?' | '\n' | ' '));
    end == Some('?') || DENIED.is_match(&text[start..at])
}
