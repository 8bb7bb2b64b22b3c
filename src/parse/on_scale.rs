//! Reading an answer on a scale from 0 to 100.

use std::sync::LazyLock;

use regex::Regex;

use super::{Question, read_reply, visible};
use crate::domain::{NoValue, Reading, Rule};

/// The scale itself, as prompts name it: its ends are no answer.
static SCALE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        \b[01]\s*(?:\([^)\d]*\)\s*)?(?:-|–|—|−|\.\.+|to|and|through|up\sto)\s*100\b(?:\s*\([^)\d]*\))?
        |\b(?:out\sof|of\sa\spossible|on\sa\sscale\sof)\s+100\b
        ",
    )
    .expect("a literal pattern")
});

/// A share of the whole scale, such as 64/100.
static SHARE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d)\s*/\s*100\b").expect("a literal pattern"));

/// A fraction that nobody worked out.
static FRACTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d\s*(?:/|÷)\s*\d[^=]*$").expect("a literal pattern"));

static BULLET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^[ \t]*-[ \t]+(\d)").expect("a literal pattern"));

static MARKER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(\d{1,2})[.)]\s+\S").expect("a literal pattern"));

/// Reads an answer from 0 to 100; decimals stay as they are.
///
/// The ends of the scale, the numbers of a list and a fraction that nobody worked out are no answers; a value off the
/// scale is [`NoValue::OffScale`].
#[must_use]
pub fn read_on_scale(text: &str) -> Reading {
    if let Some(value) = bare(text.trim()) {
        return Reading {
            value: on_scale(value),
            rule: Rule::LastLine,
            comparison: None,
        };
    }
    let text = visible::normalise(&visible::said(text));
    let text = SHARE.replace_all(&text, "$1");
    let text = SCALE.replace_all(&text, "the scale");
    // Below 0 there is nothing: a stroke and a blank before a number at the start of a line begin an item of a list.
    let text = BULLET.replace_all(&text, "$1");
    let text = without_markers(&text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    if last.is_some_and(|line| FRACTION.is_match(line)) {
        return Reading {
            value: Err(NoValue::Ambiguous),
            rule: Rule::SeveralNumbers,
            comparison: None,
        };
    }
    let mut reading = read_reply(
        &text,
        &Question {
            unit: "",
            anchor: None,
            comparison: false,
        },
    );
    reading.value = reading.value.and_then(on_scale);
    reading
}

fn on_scale(value: f64) -> Result<f64, NoValue> {
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(NoValue::OffScale)
    }
}

/// A reply that is nothing but plain digits, as most are: there is nothing to weigh.
fn bare(text: &str) -> Option<f64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // Three digits behind a dot may be a group of thousands, and a zero in front is no way to begin a number.
    let plain = digits(whole)
        && digits(decimals)
        && decimals.len() != 3
        && (whole == "0" || !whole.starts_with('0'));
    (plain && text.len() <= 24).then(|| text.parse().ok())?
}

/// The text without the numbers of a list: two lines or more that count from 1.
fn without_markers(text: &str) -> String {
    let number = |line: &str| -> Option<usize> { MARKER.captures(line)?[1].parse().ok() };
    let numbers: Vec<usize> = text.lines().filter_map(number).collect();
    let counts = numbers.iter().enumerate().all(|(place, n)| *n == place + 1);
    if numbers.len() < 2 || !counts {
        return text.to_owned();
    }
    let lines: Vec<&str> = text
        .lines()
        .map(|line| match number(line) {
            Some(_) => line
                .trim_start()
                .trim_start_matches(|c: char| c.is_ascii_digit())[1..]
                .trim_start(),
            None => line,
        })
        .collect();
    lines.join("\n")
}
