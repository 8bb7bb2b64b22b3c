//! Tables of stimuli for the terminal.

use super::board::{held, name};
use crate::publish::format::{UNSCORED, two, with_interval};
use crate::publish::plain_table;
use crate::score::spinner::{ModelScores, SpinnerScores, VariationScores};

/// A share of probability, with as many digits as tell it from 0.
pub(super) fn share(mass: f64) -> String {
    if mass >= 0.001 || mass == 0.0 {
        format!("{mass:.3}")
    } else {
        format!("{mass:.0e}")
    }
}

/// One row a variation, then one a model.
#[must_use]
pub fn spinner_table(scores: &SpinnerScores) -> String {
    let rows: Vec<Vec<String>> = scores.variations.iter().map(row).collect();
    let variations = plain_table(
        &[
            "model",
            "mode",
            "variation",
            "expected, low",
            "expected, high",
            "shift / distance",
            "probability held",
            "anchor adds, high − low, nats",
            "ABSS",
        ],
        &rows,
    );
    if scores.models.is_empty() {
        return variations;
    }
    let rows: Vec<Vec<String>> = scores.models.iter().map(of_model).collect();
    let models = plain_table(
        &[
            "model",
            "mode",
            "variations",
            "shift / distance",
            "ABSS, sum",
            "from behaviour",
            "from attribution",
            "from agreement",
            "probability held",
        ],
        &rows,
    );
    format!("{variations}\n{models}")
}

fn row(one: &VariationScores) -> Vec<String> {
    let [low, high] = [&one.low, &one.high].map(|half| half.anchor_value.map(|value| value.mean));
    vec![
        one.model.to_string(),
        one.mode.to_string(),
        name(one),
        with_interval(one.low.expected, Some(one.low.predictive.interval)),
        with_interval(one.high.expected, Some(one.high.predictive.interval)),
        two(one.index()),
        held(f64::midpoint(one.low.mass, one.high.mass)),
        low.zip(high)
            .map_or_else(|| "?".to_owned(), |(low, high)| two(high - low)),
        if one.is_attributed() {
            two(one.abss.value)
        } else {
            UNSCORED.to_owned()
        },
    ]
}

fn of_model(model: &ModelScores) -> Vec<String> {
    let whole = |value: f64| {
        if model.attributed {
            two(value)
        } else {
            UNSCORED.to_owned()
        }
    };
    vec![
        model.model.to_string(),
        model.mode.to_string(),
        model.n.to_string(),
        with_interval(model.index.0, model.index.1),
        whole(model.abss),
        whole(model.parts[0]),
        whole(model.parts[1]),
        whole(model.parts[2]),
        held(model.mass),
    ]
}
