//! The visible part of a reply, in one alphabet.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Deserializer, Value};

static THINKING_TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)<(/?)(?:think|thinking|reasoning)>").expect("a literal pattern")
});

/// End-of-text and turn tokens that servers leak.
static SPECIAL_TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)</?s>|<\|[a-z_ ]{1,30}\|>|<(?:eos|bos|pad|end_of_turn|start_of_turn)>|\[/?INST\]",
    )
    .expect("a literal pattern")
});

/// Tags that mark up text and say nothing; a tag that may be a placeholder, such as `<number>`, is not among them.
static MARKUP_TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)</?(?:b|strong|i|em|u|code|pre|p|span|div|mark|small|answer|final_answer|h[1-6]|li|ul|ol|td|tr|th|table)(?:\s[^<>]{0,80})?>")
        .expect("a literal pattern")
});

static LINE_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)<br\s?/?>").expect("a literal pattern"));

static POWER_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)<sup>([^<]{1,20})</sup>").expect("a literal pattern"));

static LATEX_FRACTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\\[dt]?frac\{([0-9]{1,20})\}\{([0-9]{1,20})\}").expect("a literal pattern")
});

/// LaTeX that stands for one character, or for none.
const LATEX: [(&str, &str); 25] = [
    ("{,}", ","),
    ("\\,", " "),
    ("\\!", ""),
    ("\\ ", " "),
    ("\\%", "%"),
    ("\\$", "$"),
    ("\\times", "×"),
    ("\\cdot", "·"),
    ("\\approx", "≈"),
    ("\\sim", "~"),
    ("\\pm", "±"),
    ("\\leq", "≤"),
    ("\\geq", "≥"),
    ("\\le", "≤"),
    ("\\ge", "≥"),
    ("\\gt", ">"),
    ("\\lt", "<"),
    ("{10}^", "10^"),
    ("\\textbf{", ""),
    ("\\text{", ""),
    ("\\mathrm{", ""),
    ("\\mathbf{", ""),
    ("$$", ""),
    ("$\\boxed", "\\boxed"),
    ("$\\$", "$"),
];

/// What the reply says: without what was thought, and without calls of tools, whose numbers are no answers.
pub(super) fn said(text: &str) -> Cow<'_, str> {
    match drop_thinking(text) {
        Cow::Borrowed(text) => without_calls(text),
        Cow::Owned(text) => Cow::Owned(without_calls(&text).into_owned()),
    }
}

/// The text with words in the place of each call: an object with a name and arguments, between tags or not.
fn without_calls(text: &str) -> Cow<'_, str> {
    if !text.contains("\"name\"")
        || !["\"arguments\"", "\"parameters\""]
            .iter()
            .any(|key| text.contains(key))
    {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut objects = Deserializer::from_str(rest).into_iter::<Value>();
        match objects.next() {
            Some(Ok(object)) if is_call(&object) => {
                kept.push_str("a call of a tool");
                rest = &rest[objects.byte_offset()..];
            }
            _ => {
                kept.push('{');
                rest = &rest[1..];
            }
        }
    }
    Cow::Owned(kept + rest)
}

fn is_call(object: &Value) -> bool {
    let named = |object: &Value| {
        object["name"].is_string()
            && ["arguments", "parameters"]
                .iter()
                .any(|key| object.get(key).is_some())
    };
    named(object) || named(&object["function"])
}

/// Drops thinking blocks: a closing tag alone drops all before it, an opening tag alone all after it.
pub(super) fn drop_thinking(text: &str) -> Cow<'_, str> {
    if !text.contains('<') || !THINKING_TAG.is_match(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut inside = false;
    let mut at = 0;
    for tag in THINKING_TAG.captures_iter(text) {
        let whole = tag.get(0).expect("group 0 is the match");
        let closes = !tag[1].is_empty();
        match (closes, inside) {
            (false, false) => {
                kept.push_str(&text[at..whole.start()]);
                inside = true;
            }
            (true, true) => inside = false,
            (true, false) => kept.clear(),
            (false, true) => {}
        }
        at = whole.end();
    }
    if !inside {
        kept.push_str(&text[at..]);
    }
    Cow::Owned(kept)
}

/// Brings digits, spaces, signs and quotes of all scripts to their ASCII form.
///
/// Superscripts and vulgar fractions stay: they mean something else than the plain digits.
pub(super) fn normalise(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    let rules: [(&LazyLock<Regex>, &[char], &str); 5] = [
        (&SPECIAL_TOKEN, &['<', '['], " "),
        (&POWER_TAG, &['<'], "^$1"),
        (&LINE_TAG, &['<'], "\n"),
        (&MARKUP_TAG, &['<'], ""),
        (&LATEX_FRACTION, &['\\'], "$1/$2"),
    ];
    for (pattern, begins, meaning) in rules {
        // Most replies hold none of these.
        if text.contains(begins)
            && let Cow::Owned(replaced) = pattern.replace_all(&text, meaning)
        {
            text = Cow::Owned(replaced);
        }
    }
    let mut plain: String = text.chars().filter_map(plain_char).collect();
    for (entity, meaning) in [("&gt;", ">"), ("&lt;", "<"), ("->", "→"), ("=>", "→")] {
        if plain.contains(entity) {
            plain = plain.replace(entity, meaning);
        }
    }
    if plain.contains('\\') || plain.contains("{,}") || plain.contains("$$") {
        for (latex, meaning) in LATEX {
            if plain.contains(latex) {
                plain = plain.replace(latex, meaning);
            }
        }
    }
    plain
}

fn plain_char(c: char) -> Option<char> {
    if c.is_ascii() {
        return (c != '\r').then_some(c);
    }
    let plain = match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        // Zero-width characters and direction marks.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{ad}' => {
            return None;
        }
        '\u{2028}' | '\u{2029}' | '\u{85}' => '\n',
        '−' | '﹣' | '‐' | '‑' => '-',
        '〜' => '~',
        '’' | '‘' | 'ʼ' | '′' => '\'',
        '“' | '”' | '„' => '"',
        '٬' | '،' => ',',
        '٫' => '.',
        '⁄' | '∕' => '/',
        // Full-width forms lie at a fixed distance from ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        other => digit(other).map_or(other, |value| char::from(b'0' + value)),
    };
    Some(plain)
}

/// Zeros of the decimal digits of all scripts (Unicode general category Nd); each begins a run of ten.
const ZEROS: [u32; 74] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0,
    0x10d30, 0x10d40, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650,
    0x116c0, 0x116d0, 0x116da, 0x11730, 0x118e0, 0x11950, 0x11bf0, 0x11c50, 0x11d50, 0x11da0,
    0x11f50, 0x16130, 0x16a60, 0x16ac0, 0x16b50, 0x16d70, 0x1ccf0, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e5f1, 0x1e950, 0x1fbf0,
];

fn digit(c: char) -> Option<u8> {
    let code = u32::from(c);
    let index = ZEROS.partition_point(|zero| *zero <= code).checked_sub(1)?;
    let value = code - ZEROS[index];
    u8::try_from(value).ok().filter(|value| *value < 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decimal_digit_of_the_regex_library_has_a_value() {
        let is_digit = Regex::new(r"^\p{Nd}$").unwrap();
        let mut missing = Vec::new();
        for c in ('\u{80}'..=char::MAX).filter(|c| c.is_numeric()) {
            let full_width = ('\u{ff10}'..='\u{ff19}').contains(&c);
            let known = digit(c).is_some() || full_width;
            if is_digit.is_match(c.encode_utf8(&mut [0; 4])) != known {
                missing.push(format!("{:x}", u32::from(c)));
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn lone_tags_drop_their_side() {
        assert_eq!(drop_thinking("a</think>b"), "b");
        assert_eq!(drop_thinking("a<think>b"), "a");
        assert_eq!(
            drop_thinking("a<THINK>b</think>c<reasoning>d</reasoning>e"),
            "ace"
        );
    }
}
