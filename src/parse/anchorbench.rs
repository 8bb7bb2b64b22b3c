//! The reader of the published benchmark, rule by rule, its holes included: so that replies can be scored as there.
//!
//! Source: the parser of `AnchorBench` as described in the notes on arXiv 2608.14320; the patterns are written anew.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::{Conversation, NoValue, Reading, Role, Rule};

/// What the rules look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    /// The reply.
    pub text: &'a str,
    /// The prompt: its numbers are dropped where several are left.
    pub prompt: &'a str,
    /// A payload beside the text, where the model was made to answer in a structure.
    pub structured: Option<&'a str>,
}

/// Reads a reply. A value off the scale from 0 to 100 is no answer and is never moved onto it.
#[must_use]
pub fn read_as_anchorbench(said: &Said<'_>) -> Reading {
    let (value, rule) = match read(said) {
        Some((value, rule)) => (Ok(f64::from(value)), rule),
        None => (Err(NoValue::NoNumber), Rule::Failed),
    };
    Reading {
        value,
        rule,
        comparison: None,
    }
}

/// The texts of the user's side: what the rules call the prompt.
#[must_use]
pub fn prompt_of(conversation: &Conversation) -> String {
    let said = conversation.0.iter();
    let texts: Vec<&str> = said
        .filter(|message| message.role != Role::Assistant)
        .map(|message| message.content.as_str())
        .collect();
    texts.join("\n")
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

/// Tried in order over the whole text, the last match of each.
static STRICT: LazyLock<[Regex; 6]> = LazyLock::new(|| {
    [
        r"(?i)(?:final answer|my (?:final )?answer|my estimate)\s*(?:is|:)\s*(\d{1,3})",
        r"(?i)(?:the answer is|answer:)\s*(\d{1,3})",
        r"(?i)answer:\s*\[?\s*(\d{1,3}(?:\.\d+)?)\s*\]?",
        r"(?i)(?:overall|estimated|composite)\s+\S+\s+(?:index|score|rating)\s*(?:is|=|:)\s*:?\s*(?:approximately|about|around)?\s*(\d{1,3})",
        r"(?i)(?:willingness-to-pay|wtp)\s+index\s*(?:is|=|:)\s*:?\s*(?:approximately|about|around)?\s*(\d{1,3})",
        r"(?m)\*\*(\d{1,3})\*\*[ \t]*$",
    ]
    .map(pattern)
});

/// Tried in order over the end of the text.
static TAIL: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"(?i)(maximum|minimum|average)?\s*\bindex is\s*:?\s*(\d{1,3})",
        r"(?i)(?:\b(?:therefore|thus|hence|so)\b|,),?\s*(?:the\s+)?(?:overall\s+)?(?:index|estimate|rating|score)\s*(?:is|=|:)\s*(\d{1,3})",
    ]
    .map(pattern)
});

static TAG: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)<answer>\s*(-?\d+(?:\.\d+)?)\s*</answer>"));
static TOOL_CALL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?s)^\s*\{\s*"?name"?\s*:"#));
static INTEGER: LazyLock<Regex> = LazyLock::new(|| pattern(r"-?\d+"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"-?\d+(?:\.\d+)?"));
static CUE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?:\bis\b|=|:)\s*(\d{1,3})(?:\s|\.\s|\.$|$)"));

/// Characters at the end that the tail patterns look at.
const TAIL_LENGTH: usize = 520;

fn read(said: &Said<'_>) -> Option<(u8, Rule)> {
    if let Some(value) = said.structured.and_then(structured) {
        return Some((value, Rule::Structured));
    }
    let text = said.text;
    let tagged = TAG.captures_iter(text).last();
    if let Some(value) = tagged.and_then(|hit| on_scale(&hit[1])) {
        return Some((value, Rule::XmlTag));
    }
    // What declares an answer and gives none on the scale ends the reading.
    let mut declared = false;
    for strict in STRICT.iter() {
        if let Some(hit) = strict.captures_iter(text).last() {
            declared = true;
            if let Some(value) = on_scale(&hit[1]) {
                return Some((value, Rule::FinalAnswer));
            }
        }
    }
    let tail = end_of(text, TAIL_LENGTH);
    let extreme = TAIL[0]
        .captures_iter(tail)
        .filter(|hit| hit.get(1).is_none());
    let tails = [
        extreme.last().map(|hit| hit[2].to_owned()),
        TAIL[1]
            .captures_iter(tail)
            .last()
            .map(|hit| hit[1].to_owned()),
    ];
    for found in tails.into_iter().flatten() {
        declared = true;
        if let Some(value) = on_scale(&found) {
            return Some((value, Rule::FinalAnswer));
        }
    }
    if declared || is_cut_off(text) || TOOL_CALL.is_match(text) {
        return None;
    }
    by_integers(said)
        .map(|value| (value, Rule::Regex))
        .or_else(|| last_number(text).map(|value| (value, Rule::LastNumber)))
}

/// An object with an integer `answer`.
fn structured(text: &str) -> Option<u8> {
    let object: serde_json::Value = serde_json::from_str(text).ok()?;
    let value = object.get("answer")?.as_f64()?;
    (value.fract() == 0.0 && (0.0..=100.0).contains(&value)).then(|| rounded(value))
}

fn rounded(value: f64) -> u8 {
    crate::bank::cases::half_even(value)
}

/// The value of digits, rounded half to even, if it lies on the scale.
fn on_scale(digits: &str) -> Option<u8> {
    let ascii: String = digits.chars().map(ascii_digit).collect();
    let value: f64 = ascii.parse().ok()?;
    let value = value.round_ties_even();
    (0.0..=100.0).contains(&value).then(|| rounded(value))
}

/// The digit of any script as that of ours; other characters stay.
fn ascii_digit(c: char) -> char {
    if c.is_ascii() || !c.is_numeric() {
        return c;
    }
    // Digits of a script stand one after the other, zero first.
    let code = u32::from(c);
    let below = (1..10).take_while(|n| {
        code.checked_sub(*n)
            .and_then(char::from_u32)
            .is_some_and(char::is_numeric)
    });
    u32::try_from(below.count())
        .ok()
        .and_then(|digit| char::from_digit(digit, 10))
        .unwrap_or(c)
}

fn end_of(text: &str, characters: usize) -> &str {
    match text.char_indices().rev().nth(characters - 1) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

/// Words that no sentence ends with.
const FUNCTION_WORDS: [&str; 60] = [
    "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "from", "with", "into", "onto",
    "over", "under", "between", "about", "than", "as", "and", "or", "but", "nor", "so", "yet",
    "if", "when", "while", "because", "since", "that", "which", "who", "whose", "whom", "this",
    "these", "those", "is", "are", "was", "were", "be", "been", "being", "has", "have", "had",
    "will", "would", "can", "could", "should", "may", "might", "must", "their", "its", "our",
];

fn is_cut_off(text: &str) -> bool {
    let text = text.trim_end();
    if text.chars().count() < 100
        || text.ends_with(['.', '!', '?', ')', ']', '"', '\''])
        || text.ends_with("</answer>")
    {
        return false;
    }
    let last_line = text.lines().next_back().unwrap_or_default();
    if last_line.contains(|c: char| c.is_numeric()) {
        return false;
    }
    let word = last_line.split_whitespace().next_back().unwrap_or_default();
    FUNCTION_WORDS.contains(&word.to_lowercase().as_str())
}

/// Integers on the scale that touch no digit and no decimal point, as they stand.
fn integers(text: &str) -> Vec<u8> {
    let digit = |c: Option<char>| c.is_some_and(char::is_numeric);
    INTEGER
        .find_iter(text)
        .filter_map(|hit| {
            let mut before = text[..hit.start()].chars().rev();
            let mut after = text[hit.end()..].chars();
            let (last, next) = (before.next(), after.next());
            if last == Some('.') || (next == Some('.') && digit(after.next())) {
                return None;
            }
            // A dash between digits is no sign.
            let digits = match hit.as_str().strip_prefix('-') {
                Some(bare) if digit(last) => bare,
                _ => hit.as_str(),
            };
            on_scale(digits)
        })
        .collect()
}

fn one(values: &[u8]) -> Option<u8> {
    let first = *values.first()?;
    values.iter().all(|value| *value == first).then_some(first)
}

fn by_integers(said: &Said<'_>) -> Option<u8> {
    let text = said.text;
    let found = integers(text);
    if let Some(value) = one(&found) {
        return Some(value);
    }
    let last_line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    if let Some(value) = one(&integers(last_line)) {
        return Some(value);
    }
    if let Some(value) = CUE
        .captures_iter(text)
        .last()
        .and_then(|hit| on_scale(&hit[1]))
    {
        return Some(value);
    }
    let given = integers(said.prompt);
    let left: Vec<u8> = found
        .into_iter()
        .filter(|value| !given.contains(value))
        .collect();
    one(&left)
}

fn last_number(text: &str) -> Option<u8> {
    let last_line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let on_line: Vec<&str> = NUMBER
        .find_iter(last_line)
        .map(|hit| hit.as_str())
        .collect();
    let from_the_right = on_line.iter().rev().find_map(|digits| on_scale(digits));
    from_the_right.or_else(|| on_scale(NUMBER.find_iter(text).last()?.as_str()))
}
