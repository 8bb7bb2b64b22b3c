use std::sync::Arc;

use super::{Anchor, Stimuli, Stimulus, in_order};

/// What is wrong with a table of stimuli, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}; {mend}")]
pub struct StimulusFault {
    file: String,
    line: u64,
    message: String,
    mend: &'static str,
}

/// The columns of the table.
const COLUMNS: [&str; 8] = [
    "VariationID",
    "Regime",
    "Tag",
    "scene",
    "comparative",
    "absolute",
    "anchor_low",
    "anchor_high",
];

const THESE: &str =
    "columns are VariationID, Regime, Tag, scene, comparative, absolute, anchor_low, anchor_high";

/// Reads stimuli from a table with a row for each pair of prompts. Variation 0 is the positive control; texts are taken as
/// they are, blanks at their ends included. `name` is how messages call the file.
///
/// # Errors
/// The first fault of the file.
pub fn load_csv(name: &str, text: &str) -> Result<Stimuli, StimulusFault> {
    let fault = |line: u64, message: String, mend: &'static str| StimulusFault {
        file: name.to_owned(),
        line,
        message,
        mend,
    };
    let of_csv = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        fault(line, format!("not a CSV row: {error}"), "mend the row")
    };
    // The reader of tables counts a line end of two characters late.
    let text = text.replace("\r\n", "\n");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(of_csv)?.clone();
    if let Some(other) = header.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(fault(
            1,
            format!("the column `{other}` is not known"),
            THESE,
        ));
    }
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|name| name == column);
        *place = found.ok_or_else(|| fault(1, format!("there is no column `{column}`"), THESE))?;
    }
    let mut stimuli = Stimuli::default();
    for row in reader.records() {
        let row = row.map_err(of_csv)?;
        let line = row.position().map_or(1, csv::Position::line);
        let [
            variation,
            regime,
            tag,
            scene,
            comparative,
            absolute,
            low,
            high,
        ] = places.map(|place| row.get(place).unwrap_or_default());
        let regime = match regime {
            "standard" | "S" => "S",
            "different_anchors" | "D" => "D",
            other => {
                return Err(fault(
                    line,
                    format!("there is no set of anchors `{other}`"),
                    "it can be standard or different_anchors",
                ));
            }
        };
        let anchors: Option<Vec<Anchor>> = [low, high].map(Anchor::new).into_iter().collect();
        let anchors = anchors.ok_or_else(|| "an anchor is no number".to_owned());
        let anchors = anchors
            .and_then(in_order)
            .map_err(|message| fault(line, message, "give a low and a high number"))?;
        let ending = format!("-{regime}");
        // The control stands in both sets under one tag.
        let id = if regime == "S" || tag.ends_with(&ending) {
            tag.to_owned()
        } else {
            format!("{tag}{ending}")
        };
        if id.is_empty() || stimuli.0.iter().any(|known| known.id.as_str() == id) {
            return Err(fault(
                line,
                format!("the tag `{id}` is empty or stands here twice"),
                "give each row a tag of its own",
            ));
        }
        stimuli.0.push(Arc::new(Stimulus {
            id: id.as_str().into(),
            regime: regime.into(),
            control: variation.trim() == "0",
            scene: scene.to_owned(),
            comparative: comparative.to_owned(),
            absolute: absolute.to_owned(),
            anchors,
        }));
    }
    if stimuli.0.is_empty() {
        return Err(fault(
            1,
            "the table holds no row".to_owned(),
            "add one for each pair of prompts",
        ));
    }
    Ok(stimuli)
}
