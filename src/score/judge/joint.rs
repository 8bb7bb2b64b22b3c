//! The joint model: all contrasts of all models explained by category, temperature and model at once.

use std::collections::BTreeSet;

use super::calls::Temperature;
use super::cells::{Cells, Contrast, Measure};
use super::effects::{Estimate, Universe};
use crate::domain::ModelName;
use crate::score::stats::{Normal, percentiles};

/// A term of the joint model.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// `intercept`, `category summarization`, `temperature 1`, `model x`.
    pub name: String,
    /// Its coefficient, with an interval over texts.
    pub estimate: Estimate,
}

/// Least squares of the total effect of each model, text and temperature on category (against the first one), temperature
/// (against the lowest) and model (as deviations that add up to 0, the last one left out).
///
/// The intercept is the mean of the models for the first category at the lowest temperature, with equal weights. `None`
/// where the terms do not determine each other.
#[must_use]
pub fn joint_model(universe: &Universe, models: &[(ModelName, &Cells)]) -> Option<Vec<Term>> {
    let categories = universe.categories();
    let mut temperatures: BTreeSet<Temperature> = BTreeSet::new();
    for (_, cells) in models {
        for (item, _) in &universe.items {
            temperatures.extend(cells.temperatures(item));
        }
    }
    let temperatures: Vec<Temperature> = temperatures.into_iter().collect();
    let mut names = vec!["intercept".to_owned()];
    let others = categories.iter().skip(1);
    names.extend(others.map(|(category, _)| format!("category {category}")));
    let others = temperatures.iter().skip(1);
    names.extend(others.map(|temperature| format!("temperature {temperature}")));
    let coded = models.len().saturating_sub(1);
    names.extend(
        models[..coded]
            .iter()
            .map(|(model, _)| format!("model {model}")),
    );
    let terms = names.len();
    // The rows of a text are drawn together.
    let by_text: Vec<Normal> = universe
        .items
        .iter()
        .map(|(item, category)| {
            let mut normal = Normal::new(terms);
            for (place, (_, cells)) in models.iter().enumerate() {
                for temperature in &temperatures {
                    let effect =
                        cells.contrast(item, *temperature, Contrast::Total, Measure::Score);
                    let Some(effect) = effect else { continue };
                    let mut row = vec![1.0];
                    let others = categories.iter().skip(1);
                    row.extend(others.map(|(other, _)| indicator(other == category)));
                    let others = temperatures.iter().skip(1);
                    row.extend(others.map(|other| indicator(other == temperature)));
                    row.extend((0..coded).map(|column| {
                        if place == coded {
                            -1.0
                        } else {
                            indicator(place == column)
                        }
                    }));
                    normal.add(&row, effect);
                }
            }
            normal
        })
        .collect();
    let mut sums = Normal::new(terms);
    let mut solve = |drawn: &mut dyn Iterator<Item = usize>| {
        sums.clear();
        for at in drawn {
            sums.join(&by_text[at]);
        }
        sums.solve()
    };
    let values = solve(&mut (0..by_text.len()))?;
    let columns = universe.resamples(|drawn| solve(&mut drawn.iter().copied()));
    let varies = universe.varies();
    Some(
        names
            .into_iter()
            .zip(values)
            .enumerate()
            .map(|(place, (name, value))| Term {
                name,
                estimate: Estimate {
                    value,
                    interval: columns
                        .get(place)
                        .filter(|_| varies)
                        .and_then(|column| percentiles(column.clone())),
                },
            })
            .collect(),
    )
}

fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}
