//! English number words: "two hundred and twenty-five", "half a million", "a dozen".

use super::cursor::Cursor;
use super::number::{Lexeme, Number};
use super::scale;

const SMALL: [(&str, f64); 28] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
];

fn small(word: &str) -> Option<f64> {
    let lower = word.to_lowercase();
    SMALL
        .iter()
        .find(|(name, _)| *name == lower)
        .map(|(_, value)| *value)
}

fn part(word: &str) -> Option<f64> {
    match word.to_lowercase().as_str() {
        "half" => Some(0.5),
        "quarter" | "quarters" => Some(0.25),
        "third" | "thirds" => Some(1.0 / 3.0),
        _ => None,
    }
}

/// The next word and the cursor behind it, after blanks or a hyphen.
fn next_word(mut cursor: Cursor<'_>) -> Option<(&str, Cursor<'_>)> {
    cursor.skip_blanks();
    if cursor.eat("-") {
        cursor.skip_blanks();
    }
    let word = cursor.word();
    cursor.skip(word.len());
    (!word.is_empty()).then_some((word, cursor))
}

/// Whether a small number may follow what was said: "twenty-five" is one number, "two-three" is two.
fn joins(current: Option<f64>, value: f64) -> bool {
    current.is_none_or(|current| {
        let tens = current % 100.0;
        (tens == 0.0 && current >= 100.0) || (tens >= 20.0 && tens % 10.0 == 0.0 && value < 10.0)
    })
}

/// Reads a number in words that begins here, scale words included, and moves behind it.
pub(super) fn number_words_at(cursor: &mut Cursor<'_>) -> Option<Lexeme> {
    let mut ahead = *cursor;
    let mut total = 0.0;
    let mut current: Option<f64> = None;
    let mut said = 0;
    let mut last_scale = f64::INFINITY;
    while let Some((word, after)) = next_word(ahead) {
        let lower = word.to_lowercase();
        if let Some(value) = small(word) {
            if !joins(current, value) {
                *cursor = after;
                return Some(Lexeme::Unclear);
            }
            current = Some(current.unwrap_or(0.0) + value);
        } else if lower == "hundred" || lower == "dozen" || lower == "score" {
            let times = match lower.as_str() {
                "hundred" => 100.0,
                "dozen" => 12.0,
                _ => 20.0,
            };
            // "a score" counts; "score" alone is a word like any other.
            if lower == "score" && current.is_none() {
                break;
            }
            current = Some(current.unwrap_or(1.0) * times);
        } else if let Some(value) = scale::word(word) {
            // "hundreds" and "millions" alone are no number.
            if said == 0 && current.is_none() && lower.ends_with('s') {
                return None;
            }
            if current.is_none() && total > 0.0 {
                // "thousand million"
                total *= value;
            } else if value >= last_scale {
                *cursor = after;
                return Some(Lexeme::Unclear);
            } else {
                total += current.take().unwrap_or(1.0) * value;
            }
            last_scale = value;
        } else if let Some(value) = part(word) {
            // "half a million", "three quarters of a million".
            current = Some(current.unwrap_or(1.0) * value);
            if let Some((of, after_of)) = next_word(after)
                && matches!(of.to_lowercase().as_str(), "of" | "a" | "an")
                && let Some(rest) = before_scale(after_of, of)
            {
                said += 1;
                ahead = rest;
                continue;
            }
        } else if matches!(lower.as_str(), "a" | "an") && said == 0 {
            let (next, _) = next_word(after)?;
            let scale = scale::word(next).is_some()
                || part(next).is_some()
                || next.eq_ignore_ascii_case("score");
            if !scale {
                return None;
            }
            ahead = after;
            current = Some(1.0);
            continue;
        } else if lower == "and" && said > 0 {
            let Some((next, after_next)) = next_word(after) else {
                break;
            };
            // "one and a half million"
            let article = matches!(next.to_lowercase().as_str(), "a" | "an");
            if let Some((value, rest)) = article
                .then(|| next_word(after_next))
                .flatten()
                .and_then(|(word, rest)| part(word).map(|value| (value, rest)))
            {
                match current {
                    // "a million and a half"
                    None if last_scale.is_finite() => total += value * last_scale,
                    _ => current = Some(current.unwrap_or(0.0) + value),
                }
                ahead = rest;
                continue;
            }
            if small(next).is_none() {
                break;
            }
            ahead = after;
            continue;
        } else if lower == "point" && current.is_some() {
            let (fraction, rest) = decimals(after)?;
            current = current.map(|whole| whole + fraction);
            ahead = rest;
            continue;
        } else {
            break;
        }
        said += 1;
        ahead = after;
    }
    if said == 0 {
        return None;
    }
    *cursor = ahead;
    Some(Lexeme::Number(Number::from_f64(
        total + current.unwrap_or(0.0),
    )))
}

/// Moves over "of a" or "a" if a scale word follows.
fn before_scale<'a>(cursor: Cursor<'a>, word: &str) -> Option<Cursor<'a>> {
    let mut at = cursor;
    if word.eq_ignore_ascii_case("of") {
        let (article, after) = next_word(at)?;
        if matches!(article.to_lowercase().as_str(), "a" | "an") {
            at = after;
        }
    }
    let (next, _) = next_word(at)?;
    scale::word(next).map(|_| at)
}

fn decimals(cursor: Cursor<'_>) -> Option<(f64, Cursor<'_>)> {
    let mut at = cursor;
    let mut text = String::from("0.");
    while let Some((word, after)) = next_word(at) {
        let Some(value) = small(word).filter(|value| *value < 10.0) else {
            break;
        };
        text.push_str(&value.to_string());
        at = after;
    }
    (text.len() > 2).then(|| (text.parse().unwrap_or(0.0), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<f64> {
        match number_words_at(&mut Cursor::new(text, 0)) {
            Some(Lexeme::Number(number)) => number.value().ok(),
            _ => None,
        }
    }

    #[test]
    fn spelled_numbers_are_read() {
        for (text, value) in [
            ("two hundred and twenty-five", 225.0),
            ("half a million", 5e5),
            ("a dozen", 12.0),
            ("three quarters of a million", 7.5e5),
            ("one and a half million", 1.5e6),
            ("twelve thousand three hundred", 12_300.0),
            ("two point five million", 2.5e6),
            ("a hundred thousand", 1e5),
            ("a million and a half", 1.5e6),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in [
            "two-three hundred",
            "forty-fifty thousand",
            "one thousand-two thousand",
            "hundreds",
            "a number",
            "no one knows",
            "score",
            "and",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
