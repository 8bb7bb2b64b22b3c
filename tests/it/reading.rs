//! Reading replies: properties, time, and the verb that lets anyone try.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use wheel::domain::{Comparison, NoValue};
use wheel::parse::{Question, read_reply};

use super::support::{Folder, Run};

fn read(text: &str, unit: &str) -> Result<f64, NoValue> {
    let question = Question {
        unit,
        anchor: None,
        comparison: false,
    };
    read_reply(text, &question).value
}

fn compare(text: &str, anchor: f64) -> Option<Comparison> {
    let question = Question {
        unit: "",
        anchor: Some(anchor),
        comparison: true,
    };
    read_reply(text, &question).comparison
}

fn grouped_by(value: u64, mark: &str) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push_str(mark);
        }
        out.push(digit);
    }
    out
}

fn in_script(value: u64, zero: char) -> String {
    value
        .to_string()
        .chars()
        .map(|digit| char::from_u32(u32::from(zero) + digit.to_digit(10).unwrap()).unwrap())
        .collect()
}

fn superscript(power: u32) -> String {
    power
        .to_string()
        .chars()
        .map(|c| {
            "⁰¹²³⁴⁵⁶⁷⁸⁹"
                .chars()
                .nth(c.to_digit(10).unwrap() as usize)
                .unwrap()
        })
        .collect()
}

fn words(value: u64) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] = [
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let at = |n: u64| usize::try_from(n).unwrap();
    match value {
        0..20 => SMALL[at(value)].to_owned(),
        20..100 if value.is_multiple_of(10) => TENS[at(value / 10)].to_owned(),
        20..100 => format!("{}-{}", TENS[at(value / 10)], SMALL[at(value % 10)]),
        100..1000 if value.is_multiple_of(100) => format!("{} hundred", SMALL[at(value / 100)]),
        100..1000 => format!(
            "{} hundred and {}",
            SMALL[at(value / 100)],
            words(value % 100)
        ),
        1000..1_000_000 if value.is_multiple_of(1000) => {
            format!("{} thousand", words(value / 1000))
        }
        1000..1_000_000 => format!("{} thousand {}", words(value / 1000), words(value % 1000)),
        _ => format!(
            "{} million {}",
            words(value / 1_000_000),
            words(value % 1_000_000)
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*", unit in "\\PC{0,12}") {
        let _ = read(&text, &unit);
    }

    #[test]
    fn no_text_of_marks_and_digits_makes_the_reader_panic(
        text in "(ESTIMATE|estimate:|[0-9]{1,4}|[ .,:;=<>()\\[\\]{}$%€*_~^/x×–-]|\\\\|million|half|and|to|more than|less|\\n|e|½|⁹|<think>|</think>|km|m){0,40}",
    ) {
        for unit in ["", "meters", "billion US dollars", "percent"] {
            let _ = read(&text, unit);
            let _ = compare(&text, 310.0);
        }
    }

    #[test]
    fn a_formatted_number_parses_back_in_every_notation(value in 1_u64..999_999_999) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let exact = value as f64;
        let mut notations = vec![
            value.to_string(),
            grouped_by(value, ","),
            grouped_by(value, " "),
            grouped_by(value, "\u{202f}"),
            grouped_by(value, "\u{a0}"),
            grouped_by(value, "'"),
            grouped_by(value, "’"),
            grouped_by(value, "_"),
            grouped_by(value, "{,}"),
            format!("{value}.0"),
            format!("{exact:e}"),
            format!("{exact:e}").replace('e', "E+"),
            format!("{exact:e}").replace('e', " x 10^"),
            format!("{exact:e}").replace('e', " × 10^{") + "}",
            in_script(value, '０'),
            in_script(value, '٠'),
            in_script(value, '०'),
            words(value),
        ];
        if value >= 1_000_000 {
            // One dot alone is a decimal point: grouping by dots needs two of them.
            notations.push(grouped_by(value, "."));
        }
        let (mantissa, exponent) = format!("{exact:e}").split_once('e').map(|(m, e)| (m.to_owned(), e.parse::<u32>().unwrap())).unwrap();
        notations.push(format!("{mantissa}×10{}", superscript(exponent)));
        for notation in notations {
            for form in [
                format!("ESTIMATE: {notation}"),
                format!("**Estimate:** {notation}"),
                format!("less\nESTIMATE: ~{notation}."),
                format!("I think so.\n\nESTIMATE:\n{notation}\n"),
            ] {
                prop_assert_eq!(read(&form, "people"), Ok(exact), "{}", form);
            }
        }
    }

    #[test]
    fn scale_words_multiply_exactly(tenths in 1_u32..9999) {
        let number = format!("{}.{}", tenths / 10, tenths % 10);
        for (word, power) in [("thousand", 3), ("k", 3), ("million", 6), ("M", 6), ("bn", 9), ("billion", 9), ("trillion", 12), ("lakh", 5), ("crore", 7), ("Millionen", 6), ("万", 4)] {
            let wanted: f64 = format!("{number}e{power}").parse().unwrap();
            for space in ["", " "] {
                let text = format!("ESTIMATE: {number}{space}{word}");
                prop_assert_eq!(read(&text, "people"), Ok(wanted), "{}", text);
            }
        }
    }

    #[test]
    fn the_value_is_read_whatever_the_anchor_is(value in 1_u32..1_000_000, anchor in 1_u32..1_000_000) {
        let text = format!("more than {anchor}\nESTIMATE: {value}");
        let question = Question { unit: "", anchor: Some(f64::from(anchor)), comparison: true };
        let reading = read_reply(&text, &question);
        prop_assert_eq!(reading.value, Ok(f64::from(value)));
        prop_assert_eq!(reading.comparison, Some(Comparison::More));
        prop_assert_eq!(reading.contradicts(f64::from(anchor)), value < anchor);
    }
}

type Notation = (&'static str, &'static str, Result<f64, NoValue>);

/// Reply, unit asked for, what a careful person reads.
#[rustfmt::skip]
const NOTATIONS: &[Notation] = &[
        (
            "ESTIMATE: 8,849 metres above sea level",
            "meters",
            Ok(8849.0),
        ),
        ("ESTIMATE: 343 m/s", "meters per second", Ok(343.0)),
        (
            "ESTIMATE: 19.3 g/cm³",
            "grams per cubic centimeter",
            Ok(19.3),
        ),
        ("ESTIMATE: 42.195 km (26.2 miles)", "kilometers", Ok(42.195)),
        ("ESTIMATE: 15,000 steps per day", "", Ok(15_000.0)),
        ("ESTIMATE: 4,500 cups of coffee", "", Ok(4500.0)),
        ("ESTIMATE: 3,422 °C", "kelvin", Err(NoValue::UnitMismatch)),
        ("ESTIMATE: 1.6 km", "meters", Err(NoValue::UnitMismatch)),
        ("ESTIMATE: 44%", "", Err(NoValue::UnitMismatch)),
        ("ESTIMATE: 150 to 300", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: between 150 and 300", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: 500+", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: at least 500", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: 150\nESTIMATE: 300", "", Ok(300.0)),
        (
            "Low ESTIMATE: 150\nHigh ESTIMATE: 300",
            "",
            Err(NoValue::Ambiguous),
        ),
        ("The estimate: 225\nThe answer: 225", "", Ok(225.0)),
        ("ESTIMATE: 2.7M / 12,000 = 225", "", Ok(225.0)),
        ("ESTIMATE: 225 (= 15 × 15)", "", Ok(225.0)),
        (
            "Estimate:\n1. Chicago has 2.7 million people.\n2. ESTIMATE: 225",
            "",
            Ok(225.0),
        ),
        ("ESTIMATE: [your number]", "", Err(NoValue::Placeholder)),
        ("ESTIMATE: [225]", "", Ok(225.0)),
        ("ESTIMATE: -5", "", Ok(-5.0)),
        ("ESTIMATE: one and a half million", "", Ok(1_500_000.0)),
        ("ESTIMATE: 3 hundred thousand", "", Ok(300_000.0)),
        ("ESTIMATE: USD 500", "US dollars", Ok(500.0)),
        (
            "ESTIMATE: 500 pounds",
            "kilograms",
            Err(NoValue::UnitMismatch),
        ),
        ("ESTIMATE: 180kg", "kilograms", Ok(180.0)),
        ("<think>ESTIMATE: 3</think>", "", Err(NoValue::Empty)),
        (
            "As an AI, I cannot estimate this.",
            "",
            Err(NoValue::Refusal),
        ),
        ("GPT-4 says so", "", Err(NoValue::NoNumber)),
        ("The answer is 225.", "", Ok(225.0)),
        ("225", "", Ok(225.0)),
    ("ESTIMATE: 225 (my estimate 3 sources)", "", Ok(225.0)),
    ("ESTIMATE: 8849\n\nThis is an estimate - 5% error", "meters", Ok(8849.0)),
    ("I estimate 225 of them.", "", Ok(225.0)),
        (
            "ESTIMATE: 2,080,000 m²",
            "hectares",
            Err(NoValue::UnitMismatch),
        ),
        ("ESTIMATE: 35 m³", "", Err(NoValue::UnitMismatch)),
        ("ESTIMATE: $2.4$ million", "people", Ok(2.4e6)),
        ("ESTIMATE: $2.4\\text{ million}$", "people", Ok(2.4e6)),
        ("ESTIMATE: $\\$2.5$ million", "US dollars", Ok(2.5e6)),
        ("ESTIMATE: 5.2 ± 0.3 million", "people", Ok(5.2e6)),
        ("ESTIMATE: 1億2000万", "", Ok(1.2e8)),
        ("ESTIMATE: 10 ^ 6", "", Ok(1e6)),
        (
            "ESTIMATE: 5.97 × 10<sup>24</sup> kg",
            "kilograms",
            Ok(5.97e24),
        ),
        ("ESTIMATE: 2.5 e9", "", Ok(2.5e9)),
        (
            "ESTIMATE:\n- Low: 150\n- High: 300",
            "",
            Err(NoValue::Ambiguous),
        ),
        (
            "ESTIMATE LOW: 150\nESTIMATE HIGH: 300",
            "",
            Err(NoValue::Ambiguous),
        ),
        (
            "ESTIMATE 1: 150\nESTIMATE 2: 300",
            "",
            Err(NoValue::Ambiguous),
        ),
        ("ESTIMATE:\n1. 225", "", Ok(225.0)),
        (
            "ESTIMATE:\n1. 150\n2. 225\n3. 300",
            "",
            Err(NoValue::Ambiguous),
        ),
        ("ESTIMATE: 200\u{2011}300", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: 200到300", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: two-three hundred", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: five to ten", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: $\\leq 500$", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: a minimum of 500", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: 200 at most", "", Err(NoValue::Ambiguous)),
        ("ESTIMATE: 165 yrs", "days", Err(NoValue::UnitMismatch)),
        (
            "ESTIMATE: C$1,250",
            "US dollars",
            Err(NoValue::UnitMismatch),
        ),
        ("ESTIMATE: minus 89.2", "degC", Ok(-89.2)),
        ("The temperature is -40.", "degC", Ok(-40.0)),
        ("<b>ESTIMATE:</b> 225", "", Ok(225.0)),
        ("<answer>225</answer>", "", Ok(225.0)),
        (
            "There are 2.7 million.\n\n-> 225",
            "",
            Err(NoValue::Ambiguous),
        ),
        (
            "There are 2.7 million people.\n\n$\\boxed{225}$",
            "",
            Ok(225.0),
        ),
        (
            "There are 2.7 million people.\n\nThus, $$\\boxed{225}$$",
            "",
            Ok(225.0),
        ),
        (
            "ESTIMATE: 19.3 g/cc",
            "grams per cubic centimeter",
            Ok(19.3),
        ),
        (
            "ESTIMATE: 19.3 g·cm⁻³",
            "grams per cubic centimeter",
            Ok(19.3),
        ),
        ("ESTIMATE: 343 m s⁻¹", "meters per second", Ok(343.0)),
        ("ESTIMATE: 1642 m / 5387 ft", "meters", Ok(1642.0)),
        (
            "ESTIMATE: 165 years × 365 days = 60,225 days",
            "days",
            Ok(60_225.0),
        ),
        ("ESTIMATE: 约12万人", "", Ok(120_000.0)),
        ("ESTIMATE: $\\frac{1}{2}$", "kilograms", Ok(0.5)),
        (
            "While I can't give an exact figure, a reasonable estimate would be about 225.",
            "",
            Ok(225.0),
        ),
        (
            "There is not enough information to estimate this.",
            "",
            Err(NoValue::Refusal),
        ),
];

#[test]
fn notations_met_in_the_wild_are_read() {
    for (text, unit, wanted) in NOTATIONS {
        assert_eq!(read(text, unit), *wanted, "{text:?} in {unit:?}");
    }
}

#[test]
fn comparisons_are_read_where_they_answer() {
    for (text, wanted) in [
        ("more\nESTIMATE: 400", Some(Comparison::More)),
        ("**Less.** ESTIMATE: 200", Some(Comparison::Less)),
        (
            "More or less than 310? Less.\nESTIMATE: 70",
            Some(Comparison::Less),
        ),
        (
            "More than 500 people live there, so it is less than 310.\nESTIMATE: 70",
            Some(Comparison::Less),
        ),
        ("weniger als 310\nESTIMATE: 290", Some(Comparison::Less)),
        ("Answer: more\nESTIMATE: 400", Some(Comparison::More)),
        ("ESTIMATE: 400", None),
        ("It takes more time. ESTIMATE: 400", None),
        (
            "less\n\nMore than half are part-time.\nESTIMATE: 225",
            Some(Comparison::Less),
        ),
        ("It is not more than 310.\nESTIMATE: 225", None),
        ("Is it more than 310? No.\nESTIMATE: 225", None),
        ("less ESTIMATE: 225", Some(Comparison::Less)),
        (
            "The answer is **less**.\nESTIMATE: 225",
            Some(Comparison::Less),
        ),
        ("I'd say less.\nESTIMATE: 225", Some(Comparison::Less)),
    ] {
        assert_eq!(compare(text, 310.0), wanted, "{text:?}");
    }
}

#[test]
fn a_long_reply_takes_time_in_proportion() {
    const BYTES: usize = 5_000_000;
    for unit in [
        "ESTIMATE ",
        "ESTIMATE: <number> ",
        "9",
        "1,2,",
        "(",
        "more than 5 ",
        "more. ",
        "\n",
        "<think>",
        "e e e e one and ",
        "ESTIMATE: 1 × 2 ",
        "estimate (low ",
        "1 234 234 ",
    ] {
        let time = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            let began = Instant::now();
            let _ = read(&text, "meters");
            let _ = compare(&text, 5.0);
            began.elapsed()
        };
        let (short, long) = (time(BYTES / 16), time(BYTES));
        // In proportion is 16 times; a time that grows with the square would be 256 times. Small times are noise.
        let fits = long < Duration::from_millis(500) || long < short * 64;
        assert!(
            fits,
            "{short:?} for a sixteenth, {long:?} for all of {unit:?}"
        );
    }
}

fn parse(folder: &Folder, words: &str, input: &str) -> Run {
    let mut child = folder
        .command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn anyone_can_try_the_reader() {
    let folder = Folder::new();
    let input = "{\"task\":\"classic\",\"unit\":\"people\",\"anchor\":310,\"reply\":\"more than 310. ESTIMATE: 290\"}\n\
                 {\"task\":\"baseline\",\"unit\":\"m\",\"reply\":\"ESTIMATE: 8.849 km\"}\n";
    let run = parse(&folder, "parse", input).expect(0);
    let lines: Vec<serde_json::Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["value"], 290.0);
    assert!(lines[0]["reason"].is_null());
    assert_eq!(lines[0]["rule"], "label");
    assert_eq!(lines[0]["comparison"], "more");
    assert_eq!(lines[0]["contradiction"], true);
    assert!(lines[1]["value"].is_null() && lines[1]["comparison"].is_null());
    assert_eq!(lines[1]["reason"], "unit_mismatch");
    let file = folder.write("replies.jsonl", input);
    assert_eq!(
        folder
            .wheel(&format!("parse {}", file.display()))
            .expect(0)
            .out,
        run.out
    );
    parse(
        &folder,
        "parse -",
        "{\"task\":\"clasic\",\"reply\":\"1\"}\n",
    )
    .expect(2)
    .says(&["stdin:1:", "did you mean classic?"]);
    parse(&folder, "parse", "not json\n")
        .expect(2)
        .says(&["stdin:1:"]);
}
