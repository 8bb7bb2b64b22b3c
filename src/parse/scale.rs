//! Scale words and suffixes: k, million, lakh, Mrd, 万.

use super::cursor::Cursor;
use super::unit::Asked;
use super::unit_names::Base;

/// Scale words that stand alone, in lower case. Suffixes of one letter are decided by [`suffix`].
const WORDS: [(&str, f64); 93] = [
    ("hundred", 1e2),
    ("hundreds", 1e2),
    ("thousand", 1e3),
    ("thousands", 1e3),
    ("million", 1e6),
    ("millions", 1e6),
    ("billion", 1e9),
    ("billions", 1e9),
    ("trillion", 1e12),
    ("trillions", 1e12),
    ("quadrillion", 1e15),
    ("quintillion", 1e18),
    ("sextillion", 1e21),
    ("septillion", 1e24),
    ("octillion", 1e27),
    ("dozen", 12.0),
    ("dozens", 12.0),
    ("lakh", 1e5),
    ("lakhs", 1e5),
    ("lac", 1e5),
    ("crore", 1e7),
    ("crores", 1e7),
    ("cr", 1e7),
    ("mn", 1e6),
    ("mln", 1e6),
    ("mio", 1e6),
    ("bil", 1e9),
    ("tril", 1e12),
    ("bn", 1e9),
    ("bln", 1e9),
    ("tn", 1e12),
    ("trn", 1e12),
    ("tsd", 1e3),
    ("hundert", 1e2),
    ("tausend", 1e3),
    ("millionen", 1e6),
    ("milliarde", 1e9),
    ("milliarden", 1e9),
    ("mrd", 1e9),
    ("mia", 1e9),
    ("billionen", 1e12),
    ("billiarde", 1e15),
    ("billiarden", 1e15),
    ("mille", 1e3),
    ("milliard", 1e9),
    ("milliards", 1e9),
    ("mds", 1e9),
    ("millón", 1e6),
    ("millon", 1e6),
    ("millones", 1e6),
    ("millardo", 1e9),
    ("millardos", 1e9),
    ("billón", 1e12),
    ("billones", 1e12),
    ("mila", 1e3),
    ("milione", 1e6),
    ("milioni", 1e6),
    ("miliardo", 1e9),
    ("miliardi", 1e9),
    ("milhão", 1e6),
    ("milhões", 1e6),
    ("bilhão", 1e9),
    ("bilhões", 1e9),
    ("trilhão", 1e12),
    ("trilhões", 1e12),
    ("duizend", 1e3),
    ("miljoen", 1e6),
    ("miljard", 1e9),
    ("biljoen", 1e12),
    ("tusen", 1e3),
    ("miljoner", 1e6),
    ("miljarder", 1e9),
    ("tysiąc", 1e3),
    ("tysiące", 1e3),
    ("tysięcy", 1e3),
    ("milion", 1e6),
    ("miliony", 1e6),
    ("milionów", 1e6),
    ("miliard", 1e9),
    ("miliardów", 1e9),
    ("тыс", 1e3),
    ("тысяч", 1e3),
    ("тысячи", 1e3),
    ("млн", 1e6),
    ("миллион", 1e6),
    ("миллиона", 1e6),
    ("миллионов", 1e6),
    ("млрд", 1e9),
    ("миллиард", 1e9),
    ("миллиардов", 1e9),
    ("milyon", 1e6),
    ("milyar", 1e9),
    ("करोड़", 1e7),
];

/// Scales that are single characters and may be followed by a noun without a space.
fn character(c: char) -> Option<f64> {
    Some(match c {
        '百' => 1e2,
        '千' | '천' => 1e3,
        '万' | '萬' | '만' => 1e4,
        '億' | '亿' | '억' => 1e8,
        '兆' | '조' => 1e12,
        _ => return None,
    })
}

/// The value of a scale word, in any case.
pub(super) fn word(text: &str) -> Option<f64> {
    let lower = text.to_lowercase();
    WORDS
        .iter()
        .find(|(name, _)| *name == lower)
        .map(|(_, value)| *value)
}

/// A short suffix behind digits.
enum Suffix {
    Scale(f64),
    /// It could be the unit or a scale.
    Unclear,
}

fn suffix(text: &str, asked: &Asked) -> Option<Suffix> {
    let scale = match text {
        "K" if asked.base() == Some(Base::Kelvin) => return None,
        "k" | "K" => 1e3,
        "M" if asked.base() == Some(Base::Meter) => return Some(Suffix::Unclear),
        "m" if asked.is_length() => return None,
        "M" | "m" | "MM" | "mm" if text.len() == 1 || !asked.is_length() => 1e6,
        "b" | "B" | "G" => 1e9,
        "t" if asked.is_mass() => return None,
        "t" | "T" => 1e12,
        // A thousand in Spanish, a million in careless English.
        "mil" => return Some(Suffix::Unclear),
        _ => return None,
    };
    Some(Suffix::Scale(scale))
}

/// What the scale words behind a number come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Multiply by this; 1 if there is none.
    Times(f64),
    /// A letter that may be the unit or a scale.
    Unclear,
}

/// Reads all scale words and suffixes that follow a number and moves behind them.
pub(super) fn scales_at(cursor: &mut Cursor<'_>, asked: &Asked) -> Scale {
    let mut product = 1.0;
    let mut first = true;
    loop {
        let mut ahead = *cursor;
        ahead.skip_blanks();
        if first && ahead.at() == cursor.at() {
            ahead.eat("-");
        }
        if let Some(scale) = ahead.peek().and_then(character) {
            ahead.bump();
            product *= scale;
            *cursor = ahead;
            first = false;
            continue;
        }
        let text = ahead.word();
        let next = ahead.rest()[text.len()..].chars().next();
        // "m²" and "m/s" are units, "k2" is nothing.
        let unit_goes_on = next.is_some_and(|c| c.is_ascii_digit() || "²³^/".contains(c));
        if text.is_empty() || (unit_goes_on && text.chars().count() <= 2) {
            break;
        }
        if let Some(scale) = word(text) {
            product *= scale;
        } else {
            match suffix(text, asked) {
                Some(Suffix::Scale(scale)) if first => product *= scale,
                Some(Suffix::Unclear) if first => return Scale::Unclear,
                _ => break,
            }
        }
        ahead.skip(text.len());
        // "Mio." and "Tsd." are abbreviations: their full stop belongs to them if the line goes on.
        if text.len() <= 4 && ahead.rest().starts_with(". ") {
            ahead.eat(".");
        }
        *cursor = ahead;
        first = false;
    }
    Scale::Times(product)
}
