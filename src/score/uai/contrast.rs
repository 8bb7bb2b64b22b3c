//! Two cells side by side, case by case.

use std::collections::BTreeMap;

use super::{CaseCell, CasePull, Measured, pulls};
use crate::domain::{ItemId, Relevance};
use crate::score::stats::{Ratio, Ratios, mean, wilcoxon};

/// The first minus the second, over the cases that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseContrast {
    /// Difference of the index, by what anchors are worth.
    pub uai: BTreeMap<Relevance, (Measured, Option<f64>)>,
    /// Difference of the pull without a control.
    pub pull: BTreeMap<Relevance, (Measured, Option<f64>)>,
    /// Difference of the control's absolute error.
    pub error: Option<(Measured, Option<f64>)>,
}

/// What a case gives, and the error of its control.
type Scored = (CasePull, f64);

/// Compares two cells, paired by case: mean difference with its interval, cases drawn anew, and a signed-rank p.
#[must_use]
pub fn contrast(first: &CaseCell, second: &CaseCell) -> CaseContrast {
    let of = |cell: &CaseCell| -> BTreeMap<ItemId, Scored> {
        pulls(&cell.cases, cell.baseline, cell.method.epsilon)
            .into_iter()
            .map(|pull| {
                let case = &cell.cases[pull.place];
                let error = (pull.control - case.facts.gold).abs();
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
    let index = |pull: &CasePull, relevance: Relevance| -> Option<f64> {
        let directed = pull.directed.iter();
        let values: Vec<f64> = directed
            .filter(|one| one.relevance == relevance)
            .filter_map(|one| one.uai)
            .collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let mut contrast = CaseContrast {
        uai: BTreeMap::new(),
        pull: BTreeMap::new(),
        error: measure(both.iter().map(|(a, b)| a.1 - b.1)),
    };
    for relevance in first.all.families.keys() {
        let differences = |of: &dyn Fn(&CasePull) -> Option<f64>| {
            let pairs = both.iter();
            measure(pairs.filter_map(|(a, b)| Some(of(&a.0)? - of(&b.0)?)))
        };
        let uai = differences(&|pull| index(pull, *relevance));
        contrast.uai.extend(uai.map(|uai| (*relevance, uai)));
        let free = differences(&|pull| pull.control_free(*relevance, epsilon));
        contrast.pull.extend(free.map(|free| (*relevance, free)));
    }
    contrast
}

fn measure(differences: impl Iterator<Item = f64>) -> Option<(Measured, Option<f64>)> {
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
    Some((measured, wilcoxon(&differences)))
}
