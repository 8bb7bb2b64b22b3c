//! One value at a place: bounds, currency, sign, number, scale, unit, and what may not follow.

use super::cursor::Cursor;
use super::number::{Lexeme, Number, number_at};
use super::scale::{Scale, scales_at};
use super::unit::{Asked, sign_at, unit_at};
use super::unit_names::Base;
use super::words::number_words_at;
use crate::domain::NoValue;

/// What stands where a value may begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// One value.
    Value(f64),
    /// Something that takes the value's place and cannot be used.
    Bad(NoValue),
    /// No value begins here.
    Nothing,
}

const ABOUT: [&str; 12] = [
    "about",
    "approximately",
    "approx",
    "around",
    "roughly",
    "circa",
    "ca",
    "some",
    "nearly",
    "almost",
    "ungefähr",
    "environ",
];

const BOUND: [&str; 35] = [
    "at least",
    "at most",
    "more than",
    "less than",
    "fewer than",
    "greater than",
    "higher than",
    "lower than",
    "no more than",
    "no less than",
    "not more than",
    "up to",
    "no fewer than",
    "well over",
    "just over",
    "upwards of",
    "in excess of",
    "a minimum of",
    "a maximum of",
    "minimum",
    "maximum",
    "min",
    "max",
    "over",
    "under",
    "above",
    "below",
    "between",
    "from",
    "minimum of",
    "maximum of",
    "mehr als",
    "weniger als",
    "plus de",
    "moins de",
];

const OR_BEYOND: [&str; 17] = [
    "at least",
    "at most",
    "minimum",
    "maximum",
    "min",
    "max",
    "plus",
    "or more",
    "or less",
    "or fewer",
    "or higher",
    "or lower",
    "or above",
    "or below",
    "and up",
    "or greater",
    "and above",
];

/// Skips what may stand between a label and its value: blanks, markup, brackets, words for "about".
///
/// Line ends are skipped only where `lines` says so.
pub(super) fn skip_to_value(cursor: &mut Cursor<'_>, lines: bool) {
    loop {
        let start = cursor.at();
        cursor.skip_while(|c| {
            matches!(
                c,
                ' ' | '\t' | '*' | '_' | '`' | '"' | '\'' | '(' | '[' | '{' | '~' | '≈' | '∼' | '≃'
            ) || (lines && c == '\n')
        });
        for latex in ["\\boxed", "\\(", "\\[", "\\fbox"] {
            cursor.eat(latex);
        }
        if cursor.eat_any_phrase(&ABOUT) {
            cursor.eat(".");
        }
        for about in ["大约", "大約", "约", "約"] {
            cursor.eat(about);
        }
        if cursor.at() == start {
            return;
        }
    }
}

/// Reads the value that begins here, if one does, and moves behind it.
pub(super) fn value_at(cursor: &mut Cursor<'_>, asked: &Asked) -> Found {
    let mut at = *cursor;
    let bound = bound_at(&mut at);
    // "<225>" keeps the brackets of the placeholder; "<225" is a bound.
    if at.eat("<") {
        at.skip_blanks();
    }
    if infinite(&mut at) {
        *cursor = at;
        return Found::Bad(NoValue::NotFinite);
    }
    let mut negative = at.eat("-");
    if !negative && at.eat_any_phrase(&["minus", "negative"]) {
        negative = true;
        at.skip_blanks();
    }
    if !negative {
        at.eat("+");
    }
    let mut currency = sign_at(&mut at);
    at.skip_blanks();
    // The tables of units are long: they are tried only where a number is near enough to follow.
    if currency.is_none() && at.rest().bytes().take(24).any(|byte| byte.is_ascii_digit()) {
        let mut named = at;
        if let Some(unit) = unit_at(&mut named, asked, false) {
            named.skip_blanks();
            // "USD 500": only a currency or the asked unit is written before a number.
            if named.peek().is_some_and(|c| c.is_ascii_digit()) {
                if !asked.accepts(unit) {
                    *cursor = named;
                    return Found::Bad(NoValue::UnitMismatch);
                }
                at = named;
            }
        }
    }
    if !negative && at.rest().starts_with('-') {
        at.bump();
        negative = true;
    }
    let mut number = match digits_or_words(&mut at) {
        None => return Found::Nothing,
        Some(Lexeme::Unclear) => {
            *cursor = at;
            return Found::Bad(NoValue::Ambiguous);
        }
        Some(Lexeme::Number(number)) => number,
    };
    // A dollar sign on both sides is a math mark.
    if currency.is_some() && math_closes(at) {
        currency = None;
    }
    let mut bad = bound.then_some(NoValue::Ambiguous);
    and_a_half(&mut at, &mut number);
    // "225 ± 50 million": the spread stands between the value and its scale.
    spread(&mut at);
    let before_scale = at;
    // "$2.4$ million": the closing mark stands between them.
    let mut closed = at;
    skip_closing(&mut closed);
    if closed.at() > at.at() {
        let mut scaled = closed;
        if scales_at(&mut scaled, asked) != Scale::Times(1.0) {
            at = closed;
        }
    }
    match scales_at(&mut at, asked) {
        Scale::Unclear => bad = bad.or(Some(NoValue::Ambiguous)),
        Scale::Times(scale) if Some(scale) == asked.scale => {}
        Scale::Times(_) if at.at() != before_scale.at() && asked.scale.is_some() => {
            bad = bad.or(Some(NoValue::UnitMismatch));
        }
        Scale::Times(scale) => number.times(scale),
    }
    smaller_parts(&mut at, before_scale.at(), &mut number, asked);
    if negative {
        number.negate();
    }
    // The text behind decides whether this is the one value: first whether it is one, then its unit.
    let mut tail = at;
    skip_closing(&mut tail);
    if goes_on(tail) {
        bad = bad.or(Some(NoValue::Ambiguous));
    }
    bad = unit_behind(&mut at, currency, asked)
        .filter(|_| bad.is_none())
        .or(bad);
    *cursor = at;
    match (bad, number.value()) {
        (Some(bad), _) => Found::Bad(bad),
        (None, Ok(value)) => Found::Value(value),
        (None, Err(why)) => Found::Bad(why),
    }
}

/// "1億2000万": a smaller part follows its scale at once.
fn smaller_parts(at: &mut Cursor<'_>, before_scale: usize, number: &mut Number, asked: &Asked) {
    const SCALES: [char; 7] = ['億', '亿', '억', '万', '萬', '만', '千'];
    while at.at() > before_scale && at.before().ends_with(SCALES) {
        let mut more = *at;
        let Some(Lexeme::Number(mut part)) = number_at(&mut more) else {
            break;
        };
        if let Scale::Times(scale) = scales_at(&mut more, asked) {
            part.times(scale);
        }
        number.plus(part.value().unwrap_or(0.0));
        *at = more;
    }
}

/// Reads the currency or the unit behind a number, or finds why there is no one value; moves behind it.
fn unit_behind(at: &mut Cursor<'_>, currency: Option<Base>, asked: &Asked) -> Option<NoValue> {
    let mut place = *at;
    skip_closing(&mut place);
    place.skip_blanks();
    if let Some(sign) = currency.or_else(|| sign_at(&mut place)) {
        *at = place;
        return (asked.base() != Some(sign)).then_some(NoValue::UnitMismatch);
    }
    let mut behind = place;
    behind.eat("-");
    let Some(unit) = unit_at(&mut behind, asked, false) else {
        *at = place;
        return None;
    };
    skip_closing(&mut behind);
    *at = behind;
    if !asked.accepts(unit) {
        Some(NoValue::UnitMismatch)
    } else if goes_on(behind) && !again_in_another_unit(behind, asked) {
        // "1,642 m / 5,387 ft" says the same twice.
        Some(NoValue::Ambiguous)
    } else {
        None
    }
}

fn digits_or_words(cursor: &mut Cursor<'_>) -> Option<Lexeme> {
    if let Some(lexeme) = number_at(cursor) {
        return Some(lexeme);
    }
    let mut at = *cursor;
    let lexeme = number_words_at(&mut at)?;
    // "one of many" and "one could say" are no estimates: a lone small word must end its phrase.
    let single = !cursor.rest()[..at.at() - cursor.at()].contains([' ', '-']);
    let mut after = at;
    after.skip_blanks();
    if single
        && matches!(
            after.word().to_lowercase().as_str(),
            "of" | "could" | "can" | "might" | "would" | "may"
        )
    {
        return None;
    }
    *cursor = at;
    Some(lexeme)
}

/// Moves behind "± 50" or "(±50)".
fn spread(cursor: &mut Cursor<'_>) {
    let mut at = *cursor;
    at.skip_blanks();
    at.eat("(");
    if at.eat("±") || at.eat("+/-") {
        at.skip_blanks();
        if number_at(&mut at).is_some() {
            at.eat(")");
            *cursor = at;
        }
    }
}

/// Whether what follows is a number in a unit that was not asked for.
fn again_in_another_unit(cursor: Cursor<'_>, asked: &Asked) -> bool {
    let mut at = cursor;
    at.skip_while(|c| matches!(c, ' ' | '/' | ',' | '='));
    at.eat_phrase("or");
    at.skip_blanks();
    number_at(&mut at);
    at.skip_blanks();
    unit_at(&mut at, asked, false).is_some_and(|unit| !asked.accepts(unit))
}

fn bound_at(cursor: &mut Cursor<'_>) -> bool {
    let mut at = *cursor;
    let found = if at.rest().starts_with('<') {
        // A closing bracket close by makes it a kept placeholder bracket.
        !at.rest()
            .chars()
            .skip(1)
            .take(60)
            .take_while(|c| *c != '\n')
            .any(|c| c == '>')
            && at.eat("<")
    } else {
        [">=", "<=", ">", "≥", "≤", "=>"]
            .iter()
            .any(|sign| at.eat(sign))
            || at.eat_any_phrase(&BOUND)
    };
    if found {
        at.eat("=");
        skip_to_value(&mut at, false);
        *cursor = at;
    }
    found
}

fn infinite(cursor: &mut Cursor<'_>) -> bool {
    let mut at = *cursor;
    if !at.eat("-") {
        at.eat("+");
    }
    let found = at.eat("∞")
        || at.eat("\\infty")
        || at.eat_any_phrase(&["infinity", "infinite", "inf", "nan", "unendlich"]);
    if found {
        *cursor = at;
    }
    found
}

fn math_closes(cursor: Cursor<'_>) -> bool {
    let rest = cursor.rest();
    let near = rest
        .char_indices()
        .take(40)
        .find(|(_, c)| matches!(c, '$' | '\n'));
    near.is_some_and(|(_, c)| c == '$')
}

fn and_a_half(cursor: &mut Cursor<'_>, number: &mut Number) {
    let mut at = *cursor;
    at.skip_blanks();
    if at.eat_phrase("and a half") {
        number.plus(0.5);
        *cursor = at;
    }
}

fn skip_closing(cursor: &mut Cursor<'_>) {
    cursor.skip_while(|c| matches!(c, '*' | '_' | '`' | '"' | '\'' | '$' | '}' | ']' | '>'));
    for latex in ["\\)", "\\]"] {
        cursor.eat(latex);
    }
}

/// Whether the value goes on as a range, a list, a bound or a sum.
fn goes_on(cursor: Cursor<'_>) -> bool {
    let mut at = cursor;
    if at.eat("+") && !at.rest().trim_start_matches(' ').starts_with(['/', '-']) {
        return true;
    }
    let mut at = cursor;
    at.skip_blanks();
    if at.eat_any_phrase(&OR_BEYOND) {
        return true;
    }
    let joined = [
        "-", "–", "—", "‒", "−", "..", "…", "×", "*", "·", "÷", "/", "+", ";", "&", "~", "→", "≤",
        "到", "至", "から",
    ]
    .iter()
    .any(|mark| at.eat(mark))
        || at.eat_any_phrase(&["to", "or", "and", "bis", "a", "à", "x", "до", "hasta"])
        || (at.eat(",") && at.rest().starts_with(' '));
    if !joined {
        return false;
    }
    at.skip_while(|c| {
        matches!(
            c,
            ' ' | '\t' | '~' | '≈' | '.' | '-' | '$' | '€' | '£' | '*' | '}'
        )
    });
    at.eat_any_phrase(&ABOUT);
    at.skip_blanks();
    sign_at(&mut at);
    let start = at;
    if number_at(&mut at).is_some() {
        // "225 - 3 of them amateurs" is rare and cannot be told from a range: no choice is ours.
        !start.rest().starts_with('.')
    } else {
        let mut words = start;
        digits_or_words(&mut words).is_some()
    }
}
