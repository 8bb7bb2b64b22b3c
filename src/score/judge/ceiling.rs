//! Whether the effect is only that good texts can fall and not rise.

use super::cells::{Cells, Contrast, Measure};
use super::effects::{Estimate, Universe};
use crate::domain::{Condition, ModelName, Scale};
use crate::score::stats::{Normal, percentiles};

/// Part of the scale, from its lowest score, that lies away from both ends: 3.0 to 4.5 on a scale to 5.
const MIDDLE: [f64; 2] = [0.6, 0.9];

/// Models and texts away from the ceiling, and how distance from it goes with the effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceiling {
    /// The part of the scale in which scores without a block must lie; the upper end excluded.
    pub range: [f64; 2],
    /// Pairs of model and text there.
    pub units: usize,
    /// Different texts among them.
    pub texts: usize,
    /// Pairs whose effect is negative.
    pub negative: usize,
    /// Mean effect of the pairs, with an interval over texts.
    pub mean: Option<Estimate>,
    /// Change of the effect for one point of distance from the highest score, over all pairs: of the signed effect, the
    /// same beside model and category, of its size, the same beside model and category.
    pub distance: [Option<Estimate>; 4],
}

/// A model and text: place of the text, score without a block, effect.
type Unit = (usize, usize, f64, f64);

/// The ceiling check over all models of a task.
#[must_use]
pub fn ceiling(universe: &Universe, models: &[(ModelName, &Cells)], scale: Scale) -> Ceiling {
    let range = MIDDLE.map(|share| scale.from + share * scale.length());
    let mut units: Vec<Unit> = Vec::new();
    for (place, (item, _)) in universe.items.iter().enumerate() {
        for (model, (_, cells)) in models.iter().enumerate() {
            let alone = cells.level(item, Condition::C0, Measure::Score);
            let effect = cells.effect(item, Contrast::Total, Measure::Score);
            units.extend(
                alone
                    .zip(effect)
                    .map(|(alone, effect)| (place, model, alone, effect)),
            );
        }
    }
    let inside: Vec<&Unit> = units
        .iter()
        .filter(|(_, _, alone, _)| (range[0]..range[1]).contains(alone))
        .collect();
    let by_text = |place: usize| {
        let of = inside.iter().filter(|(other, ..)| *other == place);
        let effects: Vec<f64> = of.map(|(.., effect)| *effect).collect();
        #[expect(clippy::cast_precision_loss, reason = "the number of models")]
        let n = effects.len() as f64;
        (n > 0.0).then(|| (effects.iter().sum::<f64>(), n))
    };
    let parts: Vec<Option<(f64, f64)>> = (0..universe.items.len()).map(by_text).collect();
    let regress = |size: bool, adjusted: bool| {
        regression(universe, &units, models.len(), scale, size, adjusted)
    };
    Ceiling {
        range,
        units: inside.len(),
        texts: parts.iter().flatten().count(),
        negative: inside.iter().filter(|(.., effect)| *effect < 0.0).count(),
        mean: universe.ratio(&parts),
        distance: [
            regress(false, false),
            regress(false, true),
            regress(true, false),
            regress(true, true),
        ],
    }
}

/// The coefficient of the distance from the highest score.
fn regression(
    universe: &Universe,
    units: &[Unit],
    models: usize,
    scale: Scale,
    size: bool,
    adjusted: bool,
) -> Option<Estimate> {
    let categories = universe.categories();
    let terms = if adjusted {
        categories.len() + models.max(1)
    } else {
        2
    };
    let mut by_text = vec![Normal::new(terms); universe.items.len()];
    for (place, model, alone, effect) in units {
        let mut row = vec![1.0, scale.to - alone];
        if adjusted {
            let category = &universe.items[*place].1;
            let others = categories.iter().skip(1);
            row.extend(others.map(|(other, _)| f64::from(u8::from(other == category))));
            row.extend((1..models).map(|other| f64::from(u8::from(other == *model))));
        }
        by_text[*place].add(&row, if size { effect.abs() } else { *effect });
    }
    let mut sums = Normal::new(terms);
    let mut solve = |drawn: &mut dyn Iterator<Item = usize>| {
        sums.clear();
        for at in drawn {
            sums.join(&by_text[at]);
        }
        sums.solve().map(|found| found[1])
    };
    let value = solve(&mut (0..by_text.len()))?;
    let columns = universe.resamples(|drawn| Some(vec![solve(&mut drawn.iter().copied())?]));
    let interval = columns.into_iter().next().and_then(percentiles);
    Some(Estimate {
        value,
        interval: interval.filter(|_| universe.varies()),
    })
}
