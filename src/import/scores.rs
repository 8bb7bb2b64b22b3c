//! Scores of given answers in the form of "Anchors in the Machine": one row for each variation, anchor and answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{
    Condition, Conversation, Field, KeyBase, Prompt, Role, Sampling, Scored, Scoring, ScoringMode,
    Status,
};
use crate::store::{Record, Sent, Spot};

/// The task that imported scores belong to.
pub const SPINNER: &str = "spinner";

/// What is wrong with a file of scores, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}; {mend}")]
pub struct ScoreFault {
    file: String,
    line: u64,
    message: String,
    mend: String,
}

/// A file's name taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    model: String,
    /// `S` for the same anchors everywhere, `D` for different ones.
    regime: char,
}

/// `anchoring_{organisation}_{model}_results_{standard|different_anchors}.csv`.
fn named(file: &str) -> Option<Named> {
    let stem = file.strip_suffix(".csv")?.strip_prefix("anchoring_")?;
    let (model, regime) = [("standard", 'S'), ("different_anchors", 'D')]
        .into_iter()
        .find_map(|(word, regime)| {
            let model = stem.strip_suffix(word)?.strip_suffix("_results_")?;
            Some((model, regime))
        })?;
    let model = model.split_once('_').map_or(model, |(_, model)| model);
    Some(Named {
        model: model.to_owned(),
        regime,
    })
}

/// Whether a file of this name holds scores.
#[must_use]
pub fn is_score_file(name: &str) -> bool {
    named(name).is_some()
}

/// One row.
struct Row {
    line: u64,
    variation: u32,
    anchor: i64,
    target: Arc<str>,
    value: i64,
    score: Option<f64>,
    banzhaf: [Option<f64>; 4],
}

/// Columns beside those of the fields.
const COLUMNS: [&str; 6] = [
    "VariationID",
    "Anchor",
    "TargetToken",
    "TargetInt",
    "LogProbFullPrompt",
    "Error",
];

/// What the columns of the fields may begin with: ours, and that of the published files.
const FIELD_COLUMNS: [&str; 2] = ["Banzhaf_", "Shapley_"];

/// Where a file is read.
struct Reader<'a> {
    path: &'a str,
    faults: Vec<ScoreFault>,
}

impl Reader<'_> {
    fn fault(&mut self, line: u64, message: String, mend: impl Into<String>) {
        self.faults.push(ScoreFault {
            file: self.path.to_owned(),
            line,
            message,
            mend: mend.into(),
        });
    }

    /// The place of each column; of a column that may be left out, none.
    fn columns(&mut self, header: &csv::StringRecord) -> ([Option<usize>; 5], [Option<usize>; 4]) {
        let mut plain = [None; 5];
        let mut fields = [None; 4];
        for (place, name) in header.iter().enumerate() {
            let field = FIELD_COLUMNS
                .iter()
                .find_map(|start| name.strip_prefix(start)?.parse::<Field>().ok());
            match (COLUMNS.iter().position(|known| *known == name), field) {
                (Some(5), _) => {}
                (Some(at), _) => plain[at] = Some(place),
                (None, Some(field)) => fields[field as usize] = Some(place),
                (None, None) => self.fault(
                    1,
                    format!("the column `{name}` is not known"),
                    format!(
                        "columns are {} and Banzhaf_ (or Shapley_) with scene, comparative, absolute and anchor",
                        COLUMNS.join(", ")
                    ),
                ),
            }
        }
        for (at, place) in plain.iter().enumerate() {
            // The text of an answer follows from its number.
            if place.is_none() && COLUMNS[at] != "TargetToken" {
                self.fault(
                    1,
                    format!("there is no column `{}`", COLUMNS[at]),
                    "it is needed to place the scores",
                );
            }
        }
        (plain, fields)
    }

    fn rows(&mut self, text: &str) -> Vec<Row> {
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let (plain, fields) = match reader.headers().cloned() {
            Ok(header) => self.columns(&header),
            Err(error) => {
                self.fault(
                    1,
                    format!("not a CSV file: {error}"),
                    "fetch the file again",
                );
                return Vec::new();
            }
        };
        let mut rows = Vec::new();
        if !self.faults.is_empty() {
            return rows;
        }
        for read in reader.records() {
            match read {
                Ok(read) => rows.extend(self.row(&read, &plain, &fields)),
                Err(error) => {
                    let line = error.position().map_or(1, csv::Position::line);
                    self.fault(line, format!("not a row: {error}"), "mend the row");
                }
            }
        }
        rows
    }

    fn row(
        &mut self,
        read: &csv::StringRecord,
        plain: &[Option<usize>; 5],
        fields: &[Option<usize>; 4],
    ) -> Option<Row> {
        let line = read.position().map_or(1, csv::Position::line);
        let said =
            |place: Option<usize>| place.and_then(|place| read.get(place)).unwrap_or("").trim();
        let mut whole = |at: usize| -> Option<i64> {
            let number = said(plain[at]).parse().ok();
            if number.is_none() {
                self.fault(
                    line,
                    format!("{} `{}` is no whole number", COLUMNS[at], said(plain[at])),
                    "mend the row",
                );
            }
            number
        };
        let (variation, anchor, value) = (whole(0), whole(1), whole(3));
        let mut score = |place: Option<usize>, what: &str| -> Option<f64> {
            let text = said(place);
            if text.is_empty() || text.eq_ignore_ascii_case("nan") {
                return None;
            }
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            if number.is_none() {
                self.fault(
                    line,
                    format!("{what} `{text}` is no number"),
                    "leave it empty where there is no score",
                );
            }
            number
        };
        let full = score(plain[4], COLUMNS[4]);
        let banzhaf = fields.map(|place| score(place, "the value of a field"));
        if full.is_some_and(|score| score > 0.0) {
            self.fault(
                line,
                format!("the log-probability {} is above 0", said(plain[4])),
                "probabilities lie between 0 and 1, so that their logarithms are 0 or below: mend the row",
            );
        }
        let value = value?;
        let target = said(plain[2]);
        Some(Row {
            line,
            variation: u32::try_from(variation?).ok()?,
            anchor: anchor?,
            target: if target.is_empty() {
                format!("{value}%").into()
            } else {
                target.into()
            },
            value,
            score: full,
            banzhaf,
        })
    }

    /// Looks for answers that are missing or stand twice, and for variations with other than two anchors.
    fn check(&mut self, rows: &[Row]) {
        let values = expected(rows);
        let mut by_variation: BTreeMap<u32, BTreeMap<i64, BTreeMap<i64, u64>>> = BTreeMap::new();
        for row in rows {
            let prompts = by_variation.entry(row.variation).or_default();
            let seen = prompts.entry(row.anchor).or_default();
            if let Some(first) = seen.insert(row.value, row.line) {
                self.fault(
                    row.line,
                    format!(
                        "variation {}, anchor {}: the answer {} stands in line {first} too",
                        row.variation, row.anchor, row.target
                    ),
                    "keep one of the two",
                );
            }
        }
        for (variation, prompts) in &by_variation {
            let first = prompts.values().flat_map(BTreeMap::values).min().copied();
            if prompts.len() != 2 {
                let anchors: Vec<String> = prompts.keys().map(ToString::to_string).collect();
                self.fault(
                    first.unwrap_or(1),
                    format!(
                        "variation {variation} has the anchors {}, not two",
                        anchors.join(", ")
                    ),
                    "a shift needs a low and a high one: mend the rows, or take them out",
                );
            }
            for (anchor, seen) in prompts {
                let missing: Vec<i64> = values
                    .iter()
                    .copied()
                    .filter(|value| !seen.contains_key(value))
                    .collect();
                let Some(first) = missing.first() else {
                    continue;
                };
                let before = seen
                    .range(..first)
                    .next_back()
                    .or_else(|| seen.iter().next());
                let names: Vec<String> = missing.iter().take(3).map(ToString::to_string).collect();
                let more = match missing.len() {
                    n if n > 3 => format!(" and {} more", n - 3),
                    _ => String::new(),
                };
                self.fault(
                    before.map_or(1, |(_, line)| *line),
                    format!(
                        "variation {variation}, anchor {anchor}: after this row there is none for the answer {}{more}",
                        names.join(", ")
                    ),
                    "add it, with an empty score if there is none",
                );
            }
        }
    }
}

/// The answers that every prompt needs: all percentages, else all numbers from the smallest to the largest.
fn expected(rows: &[Row]) -> BTreeSet<i64> {
    let percent = rows.iter().all(|row| row.target.ends_with('%'));
    let least = rows.iter().map(|row| row.value).min().unwrap_or(0);
    let most = rows.iter().map(|row| row.value).max().unwrap_or(0);
    if percent && least >= 0 && most <= 100 {
        (0..=100).collect()
    } else {
        (least..=most.min(least + 1000)).collect()
    }
}

/// Reads a file of scores as lines of the store.
///
/// `path` is how messages call the file, `name` its name without folders.
///
/// # Errors
/// Every fault of the file: a column that is missing or not known, a value that cannot be read, an answer that is missing or
/// stands twice, a variation with other than two anchors.
pub fn score_lines(
    path: &str,
    name: &str,
    text: &str,
    now: &str,
) -> Result<Vec<Record>, Vec<ScoreFault>> {
    let mut reader = Reader {
        path,
        faults: Vec::new(),
    };
    let Some(named) = named(name) else {
        reader.fault(
            1,
            "the name of the file does not say which model and anchors it holds".to_owned(),
            "call it anchoring_MODEL_results_standard.csv or anchoring_MODEL_results_different_anchors.csv",
        );
        return Err(reader.faults);
    };
    // The reader of tables counts a line end of two characters late.
    let rows = reader.rows(&text.replace("\r\n", "\n"));
    reader.check(&rows);
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    let mut by_prompt: BTreeMap<(u32, i64), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        by_prompt
            .entry((row.variation, row.anchor))
            .or_default()
            .push(row);
    }
    // Of the two anchors of a variation the lower one comes first.
    let prompts: Vec<((u32, i64), Vec<&Row>)> = by_prompt.into_iter().collect();
    Ok(prompts
        .chunk_by(|a, b| a.0.0 == b.0.0)
        .flat_map(|of_variation| of_variation.iter().zip([Condition::Low, Condition::High]))
        .map(|((place, rows), condition)| record(&named, *place, condition, rows, now))
        .collect())
}

fn record(
    named: &Named,
    (variation, anchor): (u32, i64),
    condition: Condition,
    rows: &[&Row],
    now: &str,
) -> Record {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.value);
    let item = item_of(variation, named.regime);
    let mut conversation = Conversation::default();
    // The words are not in the file; what was asked is, and tells the lines apart.
    conversation.say(Role::User, format!("⟨{item} with the anchor {anchor}⟩"));
    let prompt = Prompt::from(conversation);
    let scoring = Scoring {
        mode: ScoringMode::Paper,
        targets: rows.iter().map(|row| Arc::clone(&row.target)).collect(),
    };
    let spot = Spot {
        key: KeyBase::scoring(&named.model, &Sampling::default(), &prompt, &scoring).key(1),
        model: named.model.as_str().into(),
        task: SPINNER.into(),
        item: item.as_str().into(),
        tier: None,
        condition,
        #[expect(clippy::cast_precision_loss, reason = "anchors are small")]
        anchor: Some(anchor as f64),
        epoch: 1,
        turn: 1,
        attempt: 1,
    };
    let sent = Sent::elsewhere("anchors-in-the-machine", &named.model);
    let mut record = Record::sent(spot, &prompt, sent, now.to_owned());
    record.status = Status::Ok;
    let field = |at: usize| rows.iter().map(|row| row.banzhaf[at]).collect::<Vec<_>>();
    let banzhaf: BTreeMap<Field, Vec<Option<f64>>> = <Field as strum::IntoEnumIterator>::iter()
        .map(|one| (one, field(one as usize)))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    record.scored = Some(Scored {
        log_probabilities: rows.iter().map(|row| row.score).collect(),
        scoring,
        merged: 0,
        banzhaf: Some(banzhaf),
    });
    record
}

/// The name of a variation: `V1-S`, `V1-D`; the positive control is `V0`, asked with either set of anchors.
fn item_of(variation: u32, regime: char) -> String {
    match (variation, regime) {
        (0, 'S') => "V0".to_owned(),
        (n, regime) => format!("V{n}-{regime}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_give_the_model_and_the_anchors() {
        let found = |name: &str| named(name).map(|named| (named.model, named.regime));
        let gpt2 = found("anchoring_gpt2_results_standard.csv");
        assert_eq!(gpt2, Some(("gpt2".to_owned(), 'S')));
        let neo = found("anchoring_EleutherAI_gpt-neo-125M_results_different_anchors.csv");
        assert_eq!(neo, Some(("gpt-neo-125M".to_owned(), 'D')));
        assert_eq!(
            found("anchoring_gpt2_statistical_summary_standard.csv"),
            None
        );
    }
}
