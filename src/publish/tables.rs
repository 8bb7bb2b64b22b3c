//! Cells, items and samples as flat tables, for CSV and JSON. The columns are described in `docs/statistics.md`.

use serde_json::{Map, Value, json};

use super::format::cell_why;
use crate::score::{Cell, CellSample, CellScore, ItemScore, Outcome, Scores};

/// A table of values; unknown is null.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows as wide as the columns.
    pub rows: Vec<Vec<Value>>,
}

/// A name and how a row gives its value.
type Column<T> = (&'static str, fn(&T) -> Value);

impl Table {
    fn new<T>(columns: &[Column<T>], rows: impl Iterator<Item = T>) -> Self {
        Self {
            columns: columns.iter().map(|(name, _)| *name).collect(),
            rows: rows
                .map(|row| columns.iter().map(|(_, value)| value(&row)).collect())
                .collect(),
        }
    }

    /// The table as CSV with a header; null is an empty field.
    ///
    /// # Errors
    /// None that memory would not give.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|value| match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            }))?;
        }
        let bytes = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The table as a list of JSON objects.
    #[must_use]
    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let fields: Map<String, Value> = self
                .columns
                .iter()
                .zip(row)
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect();
            Value::Object(fields)
        });
        rows.collect()
    }
}

type CellRow<'a> = (&'a Scores, &'a CellScore);

/// One row a cell.
#[must_use]
pub fn cells_rows<'a>(scores: &'a Scores) -> Table {
    let columns: [Column<CellRow<'a>>; 34] = [
        ("model", |(_, cell)| json!(cell.model)),
        ("task", |(_, cell)| json!(cell.task)),
        ("index_name", |(_, cell)| {
            json!(cell.method.index.to_string())
        }),
        ("interval_method", |(_, cell)| {
            json!(cell.method.interval.to_string())
        }),
        ("items", |(_, cell)| json!(cell.all.items)),
        ("usable", |(_, cell)| json!(cell.all.usable)),
        ("index", |(_, cell)| json!(cell.all.index)),
        ("low", |(_, cell)| {
            json!(cell.all.interval.map(|interval| interval.low))
        }),
        ("high", |(_, cell)| {
            json!(cell.all.interval.map(|interval| interval.high))
        }),
        ("median", |(_, cell)| json!(cell.all.median)),
        ("p", |(_, cell)| json!(cell.all.p)),
        ("p_holm", |(_, cell)| json!(cell.adjusted.map(|p| p.holm))),
        ("p_bh", |(_, cell)| {
            json!(cell.adjusted.map(|p| p.benjamini_hochberg))
        }),
        ("rank", |row| rank(row, |rank| rank.rank)),
        ("rank_best", |row| rank(row, |rank| rank.best)),
        ("rank_worst", |row| rank(row, |rank| rank.worst)),
        ("resistance", |(_, cell)| json!(cell.all.resistance())),
        ("sensitivity", |(_, cell)| json!(cell.all.sensitivity)),
        ("sensitivity_low", |(_, cell)| {
            json!(cell.all.sensitivity_interval.map(|i| i.low))
        }),
        ("sensitivity_high", |(_, cell)| {
            json!(cell.all.sensitivity_interval.map(|i| i.high))
        }),
        ("pull", |(_, cell)| {
            json!(cell.all.noise.map(|noise| noise.pull))
        }),
        ("noise", |(_, cell)| {
            json!(cell.all.noise.map(|noise| noise.sensitivity))
        }),
        ("noise_floor", |(_, cell)| {
            json!(cell.all.noise.map(|noise| noise.floor))
        }),
        ("noise_items", |(_, cell)| {
            json!(cell.all.noise.map(|noise| noise.n))
        }),
        ("backlash", |(_, cell)| {
            json!(cell.all.index.and(cell.all.backlash))
        }),
        ("copies", |(_, cell)| json!(cell.all.copies.0)),
        ("anchored_estimates", |(_, cell)| json!(cell.all.copies.1)),
        ("contradictions", |(_, cell)| json!(cell.contradictions)),
        ("comparisons", |(_, cell)| json!(cell.comparisons)),
        ("samples", |(_, cell)| json!(cell.samples)),
        ("lost", |(_, cell)| {
            json!(cell.losses.values().sum::<usize>())
        }),
        ("epochs", |(_, cell)| json!(cell.epochs)),
        ("people", |(_, cell)| json!(cell.people)),
        ("why", |(_, cell)| json!(cell_why(cell))),
    ];
    Table::new(&columns, scores.cells.iter().map(|cell| (scores, cell)))
}

fn rank((scores, cell): &CellRow<'_>, of: fn(&crate::score::Rank) -> usize) -> Value {
    let found = scores
        .ranks
        .get(&cell.task)
        .and_then(|ranks| ranks.get(&cell.model));
    json!(found.map(of))
}

type ItemRow<'a> = (&'a CellScore, &'a ItemScore);

/// One row a cell and item.
#[must_use]
pub fn items_rows<'a>(scores: &'a Scores) -> Table {
    let columns: [Column<ItemRow<'a>>; 17] = [
        ("model", |(cell, _)| json!(cell.model)),
        ("task", |(cell, _)| json!(cell.task)),
        ("item", |(_, item)| json!(item.item)),
        ("tier", |(_, item)| json!(item.tier)),
        ("anchor_low", |(_, item)| json!(item.anchors.0)),
        ("anchor_high", |(_, item)| json!(item.anchors.1)),
        ("estimate_low", |(_, item)| json!(item.low)),
        ("estimate_high", |(_, item)| json!(item.high)),
        ("estimate_none", |(_, item)| json!(item.none)),
        ("epochs_low", |(_, item)| json!(item.epochs.0)),
        ("epochs_high", |(_, item)| json!(item.epochs.1)),
        ("index", |(_, item)| json!(item.index)),
        ("index_low", |(_, item)| {
            json!(item.interval.map(|interval| interval.low))
        }),
        ("index_high", |(_, item)| {
            json!(item.interval.map(|interval| interval.high))
        }),
        ("low_half", |(_, item)| json!(item.halves.0)),
        ("high_half", |(_, item)| json!(item.halves.1)),
        ("p", |(_, item)| json!(item.p)),
    ];
    let rows = scores
        .cells
        .iter()
        .filter(|cell| cell.anchored)
        .flat_map(|cell| cell.items.iter().map(move |item| (cell, item)));
    Table::new(&columns, rows)
}

type SampleRow<'a> = (&'a Cell<'a>, &'a CellSample<'a>);

/// One row a counted sample.
#[must_use]
pub fn samples_rows<'a>(cells: &'a [Cell<'a>]) -> Table {
    let columns: [Column<SampleRow<'a>>; 27] = [
        ("model", |(cell, _)| json!(cell.model)),
        ("task", |(cell, _)| json!(cell.task.name)),
        ("item", |(_, sample)| json!(sample.slot.item)),
        ("tier", |(_, sample)| json!(sample.tier)),
        ("condition", |(_, sample)| json!(sample.slot.condition)),
        ("epoch", |(_, sample)| json!(sample.slot.epoch)),
        ("key", |(_, sample)| json!(sample.record.key)),
        ("anchor", |(_, sample)| json!(sample.anchor)),
        ("status", |(_, sample)| json!(sample.record.status)),
        ("estimate", |(_, sample)| match sample.outcome {
            Outcome::Estimate(value) => json!(value),
            Outcome::Lost(_) => Value::Null,
        }),
        ("loss", |(_, sample)| match sample.outcome {
            Outcome::Estimate(_) => Value::Null,
            Outcome::Lost(loss) => json!(loss.to_string()),
        }),
        ("rule", |(_, sample)| {
            json!(sample.reading.map(|reading| reading.rule))
        }),
        ("comparison", |(_, sample)| {
            json!(sample.reading.and_then(|reading| reading.comparison))
        }),
        ("contradicts", |(_, sample)| {
            json!(sample.compares().then(|| sample.contradicts()))
        }),
        ("current_wording", |(_, sample)| {
            json!(sample.current_wording)
        }),
        ("input_tokens", |(_, sample)| {
            json!(sample.record.tokens.input)
        }),
        ("output_tokens", |(_, sample)| {
            json!(sample.record.tokens.output)
        }),
        ("reasoning_tokens", |(_, sample)| {
            json!(sample.record.tokens.reasoning)
        }),
        ("cached_tokens", |(_, sample)| {
            json!(sample.record.tokens.cached)
        }),
        ("cost_computed", |(_, sample)| {
            json!(sample.record.cost.computed)
        }),
        ("cost_reported", |(_, sample)| {
            json!(sample.record.cost.reported)
        }),
        ("started", |(_, sample)| json!(sample.record.started)),
        ("provider", |(_, sample)| json!(sample.record.sent.provider)),
        ("model_id", |(_, sample)| json!(sample.record.sent.model)),
        ("returned_model", |(_, sample)| {
            json!(sample.record.returned_model)
        }),
        ("temperature", |(_, sample)| {
            json!(sample.record.sent.sampling.temperature)
        }),
        ("max_output_tokens", |(_, sample)| {
            json!(sample.record.sent.sampling.max_output_tokens)
        }),
    ];
    let rows = cells
        .iter()
        .flat_map(|cell| cell.samples.iter().map(move |sample| (cell, sample)));
    Table::new(&columns, rows)
}
