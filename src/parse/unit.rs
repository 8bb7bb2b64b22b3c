//! Units and currencies: enough to tell that a reply answers in another one than asked.
//!
//! Nothing is ever converted. A noun that is not in the tables ("piano tuners") is what was asked for.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::cursor::Cursor;
use super::scale;
use super::unit_names::Base::{
    self, AstronomicalUnit, Celsius, Centimeter, Dollar, Euro, Fahrenheit, Foot, Franc, Gram, Hour,
    Inch, Kelvin, Kilogram, Kilometer, LightYear, Liter, Meter, Mile, MilePerHour, Milligram,
    Millimeter, NauticalMile, Ounce, Percent, Pound, Ruble, Rupee, Second, Sterling, Tonne, Won,
    Yard, Yen, Yuan,
};
use super::unit_names::{NAMES, SIGNS, SYMBOLS};

/// A unit with its power and, for rates, what it is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    base: Base,
    power: u8,
    per: Option<(Base, u8)>,
}

impl Unit {
    fn plain(base: Base) -> Self {
        Self {
            base,
            power: 1,
            per: None,
        }
    }
}

/// What the question asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// The unit, if it is one that we know.
    pub(super) unit: Option<Unit>,
    /// The scale that the question already asks in, as in "billion US dollars".
    pub(super) scale: Option<f64>,
}

impl Asked {
    /// Reads the unit of a question.
    pub(super) fn new(text: &str) -> Self {
        let text = super::visible::normalise(text);
        let mut cursor = Cursor::new(text.trim(), 0);
        let scale = scale::word(cursor.word());
        if scale.is_some() {
            cursor.skip(cursor.word().len());
            cursor.skip_blanks();
            cursor.eat_phrase("of");
            cursor.skip_blanks();
        }
        let any = Self { unit: None, scale };
        let unit = sign_at(&mut cursor)
            .map(Unit::plain)
            .or_else(|| unit_at(&mut cursor, &any, true));
        Self { unit, scale }
    }

    pub(super) fn base(&self) -> Option<Base> {
        self.unit.map(|unit| unit.base)
    }

    pub(super) fn is_length(&self) -> bool {
        matches!(
            self.base(),
            Some(
                Millimeter
                    | Centimeter
                    | Meter
                    | Kilometer
                    | Inch
                    | Foot
                    | Yard
                    | Mile
                    | NauticalMile
                    | LightYear
                    | AstronomicalUnit
            )
        )
    }

    pub(super) fn is_mass(&self) -> bool {
        matches!(
            self.base(),
            Some(Milligram | Gram | Kilogram | Tonne | Pound | Ounce)
        )
    }

    fn is_money(&self) -> bool {
        matches!(
            self.base(),
            Some(Dollar | Euro | Sterling | Yen | Yuan | Rupee | Franc | Won | Ruble)
        )
    }

    /// Whether a unit in the reply is the asked one.
    pub(super) fn accepts(&self, unit: Unit) -> bool {
        if self.is_money() && unit == Unit::plain(Pound) {
            return self.base() == Some(Sterling);
        }
        self.unit == Some(unit)
    }
}

/// A currency sign.
pub(super) fn sign_at(cursor: &mut Cursor<'_>) -> Option<Base> {
    let (sign, base) = SIGNS
        .iter()
        .find(|(sign, _)| cursor.rest().starts_with(sign))?;
    cursor.skip(sign.len());
    Some(*base)
}

/// Reads the unit that begins here and moves behind it. One-letter symbols count only where they can be meant.
pub(super) fn unit_at(
    cursor: &mut Cursor<'_>,
    asked: &Asked,
    symbols_freely: bool,
) -> Option<Unit> {
    let mut ahead = *cursor;
    if ahead.eat("%") {
        *cursor = ahead;
        return Some(Unit::plain(Percent));
    }
    let mut power = 1;
    for (phrases, value) in [(["square", "sq.", "sq"], 2), (["cubic", "cu.", "cu"], 3)] {
        if ahead.eat_any_phrase(&phrases) {
            power = value;
            ahead.skip_blanks();
        }
    }
    let base = base_at(&mut ahead, asked, symbols_freely)?;
    if let Some(written) = power_at(&mut ahead) {
        power = written;
    }
    let mut unit = Unit {
        base,
        power,
        per: None,
    };
    *cursor = ahead;
    if let Some(below) = negative_power(ahead, asked) {
        unit.per = Some(below.0);
        *cursor = below.1;
        return Some(unit);
    }
    ahead.skip_blanks();
    if ahead.eat("/") || ahead.eat_phrase("per") {
        ahead.skip_blanks();
        if ahead.eat_phrase("cc") {
            unit.per = Some((Centimeter, 3));
            *cursor = ahead;
            return Some(unit);
        }
        let mut below_power = 1;
        if ahead.eat_any_phrase(&["cubic", "cu."]) {
            below_power = 3;
            ahead.skip_blanks();
        } else if ahead.eat_any_phrase(&["square", "sq."]) {
            below_power = 2;
            ahead.skip_blanks();
        }
        if let Some(below) = base_at(&mut ahead, asked, true) {
            if let Some(written) = power_at(&mut ahead) {
                below_power = written;
            }
            unit.per = Some((below, below_power));
            *cursor = ahead;
        }
    }
    if unit.base == Mile && unit.per == Some((Hour, 1)) {
        unit = Unit::plain(MilePerHour);
    }
    Some(unit)
}

/// "·cm⁻³", " s^-1" behind a unit: what it is divided by.
fn negative_power<'a>(mut cursor: Cursor<'a>, asked: &Asked) -> Option<((Base, u8), Cursor<'a>)> {
    cursor.skip_while(|c| matches!(c, ' ' | '·' | '⋅' | '*'));
    let base = base_at(&mut cursor, asked, true)?;
    for (text, power) in [
        ("⁻¹", 1),
        ("⁻²", 2),
        ("⁻³", 3),
        ("^-1", 1),
        ("^-2", 2),
        ("^-3", 3),
        ("^{-1}", 1),
        ("^{-2}", 2),
        ("^{-3}", 3),
        ("-1", 1),
        ("-3", 3),
    ] {
        if cursor.eat(text) {
            return Some(((base, power), cursor));
        }
    }
    None
}

/// Every letter that a name or symbol begins with, in both cases.
static INITIALS: LazyLock<HashSet<char>> = LazyLock::new(|| {
    let names = NAMES.iter().map(|(name, _)| *name);
    let symbols = SYMBOLS.iter().map(|(symbol, _)| *symbol);
    names
        .chain(symbols)
        .filter_map(|name| name.chars().next())
        .flat_map(|c| c.to_lowercase().chain(c.to_uppercase()).chain([c]))
        .collect()
});

fn base_at(cursor: &mut Cursor<'_>, asked: &Asked, symbols_freely: bool) -> Option<Base> {
    if !INITIALS.contains(&cursor.peek()?) {
        return None;
    }
    for (name, base) in NAMES {
        if cursor.eat_phrase(name) {
            return Some(*base);
        }
    }
    let word = cursor.word();
    // "km2": a power in digits follows the name at once.
    if let Some((name, base)) = NAMES.iter().find(|(name, _)| *name == word) {
        cursor.skip(name.len());
        return Some(*base);
    }
    let (symbol, base) = SYMBOLS.iter().find(|(symbol, _)| *symbol == word)?;
    // "5 s" of a count of people is a slip of the pen, "5 t" may be a trillion: short symbols need a reason.
    let meant = symbols_freely
        || match base {
            Meter => {
                let goes_on =
                    cursor.rest()[symbol.len()..].starts_with(['²', '³', '^', '/', '2', '3']);
                goes_on || asked.is_length() || asked.unit.is_some_and(|unit| unit.per.is_some())
            }
            Tonne => asked.is_mass(),
            Kelvin => matches!(asked.base(), Some(Kelvin | Celsius | Fahrenheit)),
            Second | Hour | Liter => asked.unit.is_some(),
            _ => true,
        };
    if !meant {
        return None;
    }
    let mut ahead = *cursor;
    ahead.skip(symbol.len());
    if *symbol == "min" && ahead.peek() == Some('.') {
        return None;
    }
    *cursor = ahead;
    Some(*base)
}

fn power_at(cursor: &mut Cursor<'_>) -> Option<u8> {
    for (text, power) in [
        ("²", 2),
        ("³", 3),
        ("^2", 2),
        ("^3", 3),
        ("^{2}", 2),
        ("^{3}", 3),
    ] {
        if cursor.eat(text) {
            return Some(power);
        }
    }
    // "km2" only if no further digit or letter follows.
    let mut ahead = *cursor;
    let power = match ahead.bump() {
        Some('2') => 2,
        Some('3') => 3,
        _ => return None,
    };
    if ahead.peek().is_some_and(char::is_alphanumeric) {
        return None;
    }
    *cursor = ahead;
    Some(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(asked: &str, reply: &str) -> Option<bool> {
        let asked = Asked::new(asked);
        let mut cursor = Cursor::new(reply, 0);
        unit_at(&mut cursor, &asked, false).map(|unit| asked.accepts(unit))
    }

    #[test]
    fn spellings_of_one_unit_agree_and_others_do_not() {
        for (asked, reply) in [
            ("meters", "m"),
            ("m", "metres above sea level"),
            ("meters per second", "m/s"),
            ("grams per cubic centimeter", "g/cm³"),
            ("square kilometers", "km2"),
            ("US dollars", "dollars"),
            ("percent", "%"),
            ("kelvin", "K"),
            ("degC", "°C"),
        ] {
            assert_eq!(same(asked, reply), Some(true), "{asked} {reply}");
        }
        for (asked, reply) in [
            ("meters", "km"),
            ("", "%"),
            ("meters per second", "km/h"),
            ("square kilometers", "km"),
            ("US dollars", "euros"),
            ("kilograms", "lbs"),
        ] {
            assert_eq!(same(asked, reply), Some(false), "{asked} {reply}");
        }
        assert_eq!(same("people", "piano tuners"), None);
        assert_eq!(same("", "m"), None);
    }
}
