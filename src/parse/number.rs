//! The number grammar: digits with their marks, powers of ten, fractions.
//!
//! Works on normalised text. A number is kept as decimal digits with an exponent until the end, so that
//! "3.2 billion" is the double nearest to 3.2e9 and not a product of two roundings.

use super::cursor::Cursor;
use crate::domain::NoValue;

/// A number as written: decimal digits, a power of ten, and a factor for fractions and dozens.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    /// Digits with at most one dot.
    digits: String,
    /// Power of ten.
    exponent: i64,
    /// 1 unless a fraction or a dozen is involved.
    factor: f64,
    negative: bool,
}

impl Number {
    pub(super) fn from_digits(digits: impl Into<String>) -> Self {
        Self {
            digits: digits.into(),
            exponent: 0,
            factor: 1.0,
            negative: false,
        }
    }

    pub(super) fn from_f64(value: f64) -> Self {
        Self {
            factor: value,
            ..Self::from_digits("1")
        }
    }

    pub(super) fn negate(&mut self) {
        self.negative = !self.negative;
    }

    pub(super) fn times(&mut self, factor: f64) {
        // Powers of ten join the exponent: no rounding is lost.
        let text = format!("{factor:e}");
        match text
            .strip_prefix("1e")
            .and_then(|power| power.parse::<i64>().ok())
        {
            Some(power) => self.exponent = self.exponent.saturating_add(power),
            None => self.factor *= factor,
        }
    }

    pub(super) fn plus(&mut self, part: f64) {
        if let Ok(value) = self.value() {
            *self = Self::from_f64(value + part);
        }
    }

    /// The double nearest to the number, if there is a finite one.
    pub(super) fn value(&self) -> Result<f64, NoValue> {
        let exponent = self.exponent.clamp(-100_000, 100_000);
        let magnitude: f64 = format!("{}e{exponent}", self.digits)
            .parse()
            .map_err(|_| NoValue::NotFinite)?;
        let value = magnitude * self.factor;
        let nonzero =
            self.factor != 0.0 && self.digits.contains(|c: char| ('1'..='9').contains(&c));
        if !value.is_finite() || (value == 0.0 && nonzero) {
            return Err(NoValue::NotFinite);
        }
        Ok(if self.negative { -value } else { value })
    }
}

/// What stands at a place where a number may begin.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Lexeme {
    /// A number.
    Number(Number),
    /// Digits that do not make one number: a list without spaces, a date, a version.
    Unclear,
}

/// Reads the unsigned number that begins here and moves behind it.
pub(super) fn number_at(cursor: &mut Cursor<'_>) -> Option<Lexeme> {
    if let Some(fraction) = cursor.peek().and_then(vulgar_fraction) {
        cursor.bump();
        return Some(Lexeme::Number(Number::from_f64(fraction)));
    }
    let Ok(digits) = grouped_digits(cursor)? else {
        return Some(Lexeme::Unclear);
    };
    let whole = !digits.contains('.');
    let mut number = Number::from_digits(digits);
    if let Some(exponent) = e_exponent(cursor) {
        number.exponent = exponent;
    }
    if whole && number.exponent == 0 {
        if let Some(result) = fraction_tail(cursor, &number) {
            return Some(result);
        }
        if let Some(power) = power_tail(cursor) {
            return Some(Lexeme::Number(raise(&number, power)));
        }
    }
    if let Some(power) = times_power_of_ten(cursor) {
        number.exponent = number.exponent.saturating_add(power);
    }
    Some(Lexeme::Number(number))
}

fn raise(base: &Number, power: i64) -> Number {
    if base.digits == "10" {
        return Number {
            exponent: power,
            ..Number::from_digits("1")
        };
    }
    let base = base.value().unwrap_or(f64::INFINITY);
    let power = i32::try_from(power).unwrap_or(i32::MAX);
    Number::from_f64(base.powi(power))
}

/// A mark between two digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Comma,
    Dot,
    Other(char),
}

fn mark_at(cursor: &mut Cursor<'_>) -> Option<Mark> {
    let mark = match cursor.bump()? {
        ',' => Mark::Comma,
        '.' => Mark::Dot,
        c @ (' ' | '\'' | '_') => Mark::Other(c),
        _ => return None,
    };
    Some(mark)
}

fn digit_run<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    let rest = cursor.rest();
    let end = rest
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(rest.len());
    cursor.skip(end);
    &rest[..end]
}

/// Reads digits and the marks between them, and decides which mark groups and which is the decimal one.
///
/// `Err` if the marks make no single number.
fn grouped_digits(cursor: &mut Cursor<'_>) -> Option<Result<String, ()>> {
    let mut start = *cursor;
    // ".5" begins with its decimal mark.
    if start.eat(".") {
        let fraction = digit_run(&mut start);
        if fraction.is_empty() {
            return None;
        }
        *cursor = start;
        return Some(Ok(format!("0.{fraction}")));
    }
    let first = digit_run(cursor);
    if first.is_empty() {
        return None;
    }
    let mut groups = vec![first];
    let mut marks = Vec::new();
    // Kept while reading, so that no group is looked at twice.
    let mut spaced = first.len() <= 3;
    loop {
        let mut ahead = *cursor;
        let Some(mark) = mark_at(&mut ahead) else {
            break;
        };
        let group = digit_run(&mut ahead);
        let groups_here = match mark {
            // A space or the like groups only full threes; anything else ends the number.
            Mark::Other(_) => {
                spaced && group.len() == 3 && marks.last().is_none_or(|last| *last == mark)
            }
            Mark::Comma | Mark::Dot => !group.is_empty(),
        };
        if !groups_here {
            break;
        }
        spaced &= matches!(mark, Mark::Other(_));
        groups.push(group);
        marks.push(mark);
        *cursor = ahead;
    }
    Some(join(&groups, &marks))
}

fn join(groups: &[&str], marks: &[Mark]) -> Result<String, ()> {
    let Some(last) = marks.last().copied() else {
        return Ok(groups[0].to_owned());
    };
    let same = marks.iter().all(|mark| *mark == last);
    let threes = |groups: &[&str]| {
        let head = groups[0].len();
        (1..=3).contains(&head) && groups[1..].iter().all(|group| group.len() == 3)
    };
    let indian = |groups: &[&str]| {
        let (tail, pairs) = groups[1..].split_last().expect("at least two groups");
        (1..=2).contains(&groups[0].len())
            && tail.len() == 3
            && pairs.iter().all(|group| group.len() == 2)
    };
    let decimal = |groups: &[&str]| {
        let (fraction, whole) = groups.split_last().expect("at least two groups");
        format!("{}.{fraction}", whole.concat())
    };
    if !same {
        // The later mark is the decimal one; all before it must group.
        let before = &marks[..marks.len() - 1];
        let alike = before
            .iter()
            .all(|mark| *mark == before[0] && *mark != last);
        let whole = &groups[..groups.len() - 1];
        let fits = threes(whole) || (before[0] == Mark::Comma && indian(whole));
        let decimal_mark = matches!(last, Mark::Comma | Mark::Dot);
        return if alike && fits && decimal_mark {
            Ok(decimal(groups))
        } else {
            Err(())
        };
    }
    match (last, marks.len()) {
        (Mark::Dot, 1) => Ok(decimal(groups)),
        (Mark::Comma, 1) if groups[1].len() != 3 || groups[0].starts_with('0') => {
            Ok(decimal(groups))
        }
        (Mark::Comma, _) if threes(groups) || indian(groups) => Ok(groups.concat()),
        (Mark::Dot | Mark::Other(_), _) if threes(groups) => Ok(groups.concat()),
        _ => Err(()),
    }
}

/// "e12", "E+7" directly behind the digits.
fn e_exponent(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut ahead = *cursor;
    ahead.eat(" ");
    if !ahead.eat("e") && !ahead.eat("E") {
        return None;
    }
    let exponent = signed_digits(&mut ahead)?;
    if ahead.peek().is_some_and(char::is_alphanumeric) {
        return None;
    }
    *cursor = ahead;
    Some(exponent)
}

fn signed_digits(cursor: &mut Cursor<'_>) -> Option<i64> {
    let negative = cursor.eat("-");
    if !negative {
        cursor.eat("+");
    }
    let digits = digit_run(cursor);
    if digits.is_empty() {
        return None;
    }
    // Beyond 64 bits the number is infinite or zero anyway.
    let value = digits.parse::<i64>().unwrap_or(i64::MAX / 4);
    Some(if negative { -value } else { value })
}

/// " × 10^12", "x10¹²", "*10**12" behind a number.
fn times_power_of_ten(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut ahead = *cursor;
    ahead.skip_blanks();
    if !ahead.eat_phrase("times") {
        let sign = ahead.bump()?;
        if !matches!(sign, 'x' | 'X' | '×' | '*' | '·' | '⋅' | '∙' | '✕') {
            return None;
        }
    }
    ahead.skip_blanks();
    if !ahead.eat("10") {
        return None;
    }
    let power = power_tail(&mut ahead)?;
    *cursor = ahead;
    Some(power)
}

/// "^12", "^{12}", "^(12)", "**12" or superscript digits.
fn power_tail(cursor: &mut Cursor<'_>) -> Option<i64> {
    let mut ahead = *cursor;
    ahead.skip_blanks();
    if ahead.eat("^") || ahead.eat("**") {
        ahead.skip_blanks();
        let close = if ahead.eat("{") {
            "}"
        } else if ahead.eat("(") {
            ")"
        } else {
            ""
        };
        let power = signed_digits(&mut ahead)?;
        ahead.eat(close);
        *cursor = ahead;
        return Some(power);
    }
    let mut text = String::new();
    while let Some(plain) = ahead.peek().and_then(superscript) {
        text.push(plain);
        ahead.bump();
    }
    let power = text.parse().ok()?;
    *cursor = ahead;
    Some(power)
}

fn superscript(c: char) -> Option<char> {
    Some(match c {
        '⁰' => '0',
        '¹' => '1',
        '²' => '2',
        '³' => '3',
        '⁴' => '4',
        '⁵' => '5',
        '⁶' => '6',
        '⁷' => '7',
        '⁸' => '8',
        '⁹' => '9',
        '⁻' => '-',
        '⁺' => '+',
        _ => return None,
    })
}

/// "/2" behind whole digits, " 1/2" and "½" behind a whole number.
fn fraction_tail(cursor: &mut Cursor<'_>, whole: &Number) -> Option<Lexeme> {
    let value = whole.value().unwrap_or(f64::INFINITY);
    let mut ahead = *cursor;
    ahead.eat(" ");
    if let Some(part) = ahead.peek().and_then(vulgar_fraction) {
        ahead.bump();
        *cursor = ahead;
        return Some(Lexeme::Number(Number::from_f64(value + part)));
    }
    let mut direct = *cursor;
    if let Some(below) = over(&mut direct) {
        *cursor = direct;
        return Some(quotient(cursor, value, below, 0.0));
    }
    let mut mixed = *cursor;
    if mixed.eat(" ") {
        let above = digit_run(&mut mixed).parse::<f64>().ok()?;
        let below = over(&mut mixed)?;
        if above < below {
            *cursor = mixed;
            return Some(quotient(cursor, above, below, value));
        }
    }
    None
}

fn over(cursor: &mut Cursor<'_>) -> Option<f64> {
    if !cursor.eat("/") {
        return None;
    }
    digit_run(cursor).parse().ok()
}

fn quotient(cursor: &Cursor<'_>, above: f64, below: f64, whole: f64) -> Lexeme {
    // "1/2/2024" is a date.
    let mut ahead = *cursor;
    let date = ahead.eat("/") && ahead.peek().is_some_and(|c| c.is_ascii_digit());
    if date || below == 0.0 {
        return Lexeme::Unclear;
    }
    Lexeme::Number(Number::from_f64(whole + above / below))
}

fn vulgar_fraction(c: char) -> Option<f64> {
    let (above, below) = match c {
        '½' => (1.0, 2.0),
        '⅓' => (1.0, 3.0),
        '⅔' => (2.0, 3.0),
        '¼' => (1.0, 4.0),
        '¾' => (3.0, 4.0),
        '⅕' => (1.0, 5.0),
        '⅖' => (2.0, 5.0),
        '⅗' => (3.0, 5.0),
        '⅘' => (4.0, 5.0),
        '⅙' => (1.0, 6.0),
        '⅚' => (5.0, 6.0),
        '⅐' => (1.0, 7.0),
        '⅛' => (1.0, 8.0),
        '⅜' => (3.0, 8.0),
        '⅝' => (5.0, 8.0),
        '⅞' => (7.0, 8.0),
        '⅑' => (1.0, 9.0),
        '⅒' => (1.0, 10.0),
        _ => return None,
    };
    Some(above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<f64> {
        let mut cursor = Cursor::new(text, 0);
        match number_at(&mut cursor) {
            Some(Lexeme::Number(number)) if cursor.rest().is_empty() => number.value().ok(),
            _ => None,
        }
    }

    #[test]
    fn marks_group_or_divide_as_the_conventions_say() {
        for (text, value) in [
            ("1,234,567", 1_234_567.0),
            ("1.234.567", 1_234_567.0),
            ("1 234 567", 1_234_567.0),
            ("1'234'567.5", 1_234_567.5),
            ("1_000", 1000.0),
            ("1,23,456", 123_456.0),
            ("12,34,567.5", 1_234_567.5),
            ("1.234,5", 1234.5),
            ("1,234.5", 1234.5),
            ("1 234,567", 1234.567),
            ("3,5", 3.5),
            ("0,125", 0.125),
            ("1,234", 1234.0),
            ("1.234", 1.234),
            (".5", 0.5),
            ("2½", 2.5),
            ("2 1/2", 2.5),
            ("1/4", 0.25),
            ("10^6", 1e6),
            ("2^10", 1024.0),
            ("10⁻³", 0.001),
            ("3.7 x 10^7", 3.7e7),
            ("5*10**12", 5e12),
            ("1.5E-3", 0.0015),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
    }

    #[test]
    fn lists_dates_and_versions_are_no_number() {
        for text in ["1,2,3", "12.05.2024", "1/2/2024", "1,234.567.890", "1/0"] {
            let mut cursor = Cursor::new(text, 0);
            assert_eq!(number_at(&mut cursor), Some(Lexeme::Unclear), "{text}");
        }
    }

    #[test]
    fn what_a_double_cannot_hold_is_not_finite() {
        for text in ["1e400", "1e-400", "10^999999999999999999999"] {
            let mut cursor = Cursor::new(text, 0);
            let Some(Lexeme::Number(number)) = number_at(&mut cursor) else {
                panic!("{text}")
            };
            assert_eq!(number.value(), Err(NoValue::NotFinite), "{text}");
        }
    }
}
