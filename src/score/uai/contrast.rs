//! Two cells side by side, case by case.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;

use super::{CaseCell, CasePull, Measured, pulls};
use crate::domain::{ItemId, Relevance, Side};
use crate::score::stats::{Ratio, Ratios, benjamini_hochberg, mean, wilcoxon};

/// A mean difference and its test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The mean over cases, which are drawn anew.
    pub mean: Measured,
    /// Two-sided signed-rank p.
    pub p: Option<f64>,
    /// The same adjusted for its table, after Benjamini and Hochberg.
    pub adjusted: Option<f64>,
}

/// The first minus the second, over the cases that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseContrast {
    /// Difference of the index over the directions that both have, by what anchors are worth.
    pub uai: BTreeMap<Relevance, Difference>,
    /// Difference of the pull without a control.
    pub pull: BTreeMap<Relevance, Difference>,
    /// Difference of the control's absolute error.
    pub error: Option<Difference>,
}

/// Adjusts the p values of contrasts that are shown together.
pub fn adjust<'a>(contrasts: impl Iterator<Item = &'a mut CaseContrast>) {
    let mut tested: Vec<&mut Difference> = contrasts
        .flat_map(|one| {
            let pulls = one.uai.values_mut().chain(one.pull.values_mut());
            pulls.chain(one.error.as_mut())
        })
        .filter(|difference| difference.p.is_some())
        .collect();
    let p: Vec<f64> = tested.iter().filter_map(|one| one.p).collect();
    for (one, adjusted) in tested.iter_mut().zip(benjamini_hochberg(&p)) {
        one.adjusted = Some(adjusted);
    }
}

/// What a case gives, and the error of its control.
type Scored = (CasePull, Option<f64>);

/// Compares two cells, paired by case: mean difference with its interval, and a signed-rank p that is not yet adjusted.
#[must_use]
pub fn contrast(first: &CaseCell, second: &CaseCell) -> CaseContrast {
    let of = |cell: &CaseCell| -> BTreeMap<ItemId, Scored> {
        pulls(&cell.cases, cell.baseline, cell.method.epsilon)
            .into_iter()
            .map(|pull| {
                let case = &cell.cases[pull.place];
                let error = pull
                    .control
                    .map(|control| (control - case.facts.gold).abs());
                (case.item.clone(), (pull, error))
            })
            .collect()
    };
    let (a, b) = (of(first), of(second));
    let both: Vec<(&Scored, &Scored)> = a
        .iter()
        .filter_map(|(item, a)| Some((a, b.get(item)?)))
        .collect();
    let epsilon = first.method.epsilon;
    // Which directions lie within epsilon depends on each side's own control.
    let index = |a: &CasePull, b: &CasePull, relevance: Relevance| -> Option<f64> {
        let differences: Vec<f64> = Side::iter()
            .filter_map(|side| Some(a.at(relevance, side)?.uai? - b.at(relevance, side)?.uai?))
            .collect();
        (!differences.is_empty()).then(|| mean(&differences))
    };
    let mut contrast = CaseContrast {
        uai: BTreeMap::new(),
        pull: BTreeMap::new(),
        error: measure(both.iter().filter_map(|(a, b)| Some(a.1? - b.1?))),
    };
    for relevance in first.all.families.keys() {
        let pairs = both.iter();
        let uai = measure(pairs.filter_map(|(a, b)| index(&a.0, &b.0, *relevance)));
        contrast.uai.extend(uai.map(|uai| (*relevance, uai)));
        let pull = |of: &CasePull| of.control_free(*relevance, epsilon);
        let pairs = both.iter();
        let free = measure(pairs.filter_map(|(a, b)| Some(pull(&a.0)? - pull(&b.0)?)));
        contrast.pull.extend(free.map(|free| (*relevance, free)));
    }
    contrast
}

fn measure(differences: impl Iterator<Item = f64>) -> Option<Difference> {
    let differences: Vec<f64> = differences.collect();
    let mut ratios = Ratios::new(1);
    for difference in &differences {
        ratios.cluster();
        ratios.add(0, *difference);
    }
    let measured = Measured {
        value: ratios.value(Ratio::Mean(0))?,
        interval: ratios.intervals(&[Ratio::Mean(0)])[0],
        n: differences.len(),
    };
    Some(Difference {
        mean: measured,
        p: wilcoxon(&differences),
        adjusted: None,
    })
}
