//! Checks of the numbers of a set, before anything is asked.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Content, Difficulty, half_even};

/// What is wrong with a case, or with the set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CaseFault {
    /// Two cases with one id.
    #[error("case `{0}` stands in the set twice")]
    Twice(String),
    /// A number off the scale.
    #[error("case `{0}`: {1} is {2}, which is not on the scale from 0 to 100")]
    OffScale(String, &'static str, String),
    /// A gold that the ratings do not come to.
    #[error("case `{0}`: the gold is {1}, but its ratings come to {2}")]
    Gold(String, f64, u8),
    /// The wrong number of hidden ratings.
    #[error("case `{0}`: {1} ratings are hidden, not {2}")]
    Hidden(String, usize, usize),
    /// Anchors that are not where they belong.
    #[error("case `{0}`: the anchors are not {1} below and above {2}, clipped to the scale")]
    Anchors(String, u8, u8),
    /// Easy and hard cases do not balance.
    #[error("{0} cases are easy and {1} hard; a set holds as many of each")]
    Balance(usize, usize),
    /// One domain outweighs another.
    #[error("domain `{0}` has {1} cases and `{2}` {3}: more than twice as many")]
    Domains(String, usize, String, usize),
}

impl CaseFault {
    /// Whether one case is to blame rather than the set.
    #[must_use]
    pub fn is_of_a_case(&self) -> bool {
        !matches!(self, Self::Balance(..) | Self::Domains(..))
    }
}

/// Checks a set: ids, scale, hidden ratings, gold, anchors, balance of difficulty and domains.
///
/// Source: the checks that the published benchmark makes of its own sets.
#[must_use]
pub fn check<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Vec<CaseFault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    let mut difficulties = (0, 0);
    let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        let id = || case.id.to_string();
        if !seen.insert(&case.id) {
            faults.push(CaseFault::Twice(id()));
        }
        match case.facts.difficulty {
            Difficulty::Easy => difficulties.0 += 1,
            Difficulty::Hard => difficulties.1 += 1,
        }
        *domains.entry(&case.facts.domain).or_default() += 1;
        if !(0.0..=100.0).contains(&case.facts.gold) {
            let gold = case.facts.gold.to_string();
            faults.push(CaseFault::OffScale(id(), "the gold", gold));
        }
        match &case.content {
            Content::Drawn(..) => check_drawn(case, &mut faults),
            Content::Published(views) => {
                for view in views.values() {
                    if let Some(anchor) = view.anchor.filter(|a| !(0.0..=100.0).contains(a)) {
                        let anchor = anchor.to_string();
                        faults.push(CaseFault::OffScale(id(), "an anchor", anchor));
                    }
                }
            }
        }
    }
    if difficulties.0 != difficulties.1 {
        faults.push(CaseFault::Balance(difficulties.0, difficulties.1));
    }
    let most = domains.iter().max_by_key(|(_, n)| **n);
    let fewest = domains.iter().min_by_key(|(_, n)| **n);
    if let (Some((most, many)), Some((fewest, few))) = (most, fewest)
        && *many > 2 * few
    {
        let (most, fewest) = ((*most).to_owned(), (*fewest).to_owned());
        faults.push(CaseFault::Domains(most, *many, fewest, *few));
    }
    faults
}

fn check_drawn(case: &Case, faults: &mut Vec<CaseFault>) {
    let Content::Drawn(draw, _) = &case.content else {
        return;
    };
    let id = || case.id.to_string();
    for rating in draw.ratings.iter().filter(|rating| **rating > 100) {
        faults.push(CaseFault::OffScale(id(), "a rating", rating.to_string()));
    }
    let hidden = draw.hidden.iter().filter(|hidden| **hidden).count();
    let wanted = match case.facts.difficulty {
        Difficulty::Easy => 0,
        Difficulty::Hard => 2,
    };
    if hidden != wanted {
        faults.push(CaseFault::Hidden(id(), hidden, wanted));
    }
    if draw.weights.is_none() {
        let visible: Vec<f64> = draw.visible().map(f64::from).collect();
        #[expect(clippy::cast_precision_loss, reason = "a handful of ratings")]
        let gold = half_even(visible.iter().sum::<f64>() / visible.len() as f64);
        if f64::from(gold) != case.facts.gold {
            faults.push(CaseFault::Gold(id(), case.facts.gold, gold));
        }
    }
    if let (Some(offset), Some(anchors)) = (case.facts.offset, draw.anchors) {
        let low = draw.theta.saturating_sub(offset);
        let high = (draw.theta + offset).min(100);
        if anchors != (low, high) {
            faults.push(CaseFault::Anchors(id(), offset, draw.theta));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Spec, built_in_wording, load_wording};
    use super::*;

    fn cases() -> Vec<Case> {
        let wording = load_wording(&built_in_wording()).unwrap();
        let spec = Spec {
            prefix: "EXT".to_owned(),
            seed: 42,
            offsets: vec![15, 25, 40],
            domains: "business".to_owned(),
            extra: super::super::ExtraKind::None,
            slots: Vec::new(),
            weights: Vec::new(),
        };
        spec.generate(&wording)
    }

    fn draw(case: &mut Case) -> &mut super::super::Draw {
        match &mut case.content {
            Content::Drawn(draw, _) => draw,
            Content::Published(_) => unreachable!("generated"),
        }
    }

    #[test]
    fn a_generated_set_is_whole_and_every_fault_is_found() {
        assert_eq!(check(&cases()), []);
        let spoilt = |spoil: fn(&mut Vec<Case>)| {
            let mut cases = cases();
            spoil(&mut cases);
            let faults = check(&cases);
            assert_eq!(faults.len(), 1, "{faults:?}");
            faults[0].to_string()
        };
        let id = "case `EXT-pricing_wtp-e-off15-001`";
        assert_eq!(
            spoilt(|cases| cases[1].id = cases[0].id.clone()),
            format!("{id} stands in the set twice")
        );
        assert!(
            spoilt(|cases| cases[0].facts.gold = 78.0)
                .starts_with(&format!("{id}: the gold is 78, but"))
        );
        assert!(spoilt(|cases| draw(&mut cases[0]).anchors = Some((55, 86))).contains("anchors"));
        assert!(
            spoilt(|cases| {
                draw(&mut cases[0]).ratings[0] = 101;
                cases[0].facts.gold = 81.0;
            })
            .contains("a rating is 101")
        );
        assert!(spoilt(|cases| drop(cases.remove(0))).starts_with("179 cases are easy"));
    }
}
