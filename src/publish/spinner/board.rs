//! The board of stimuli.

use std::collections::BTreeSet;

use strum::IntoEnumIterator;

use super::terminal::share;
use crate::domain::{Field, ModelName, ScoringMode};
use crate::publish::document::{Block, Entry, columns, heading, row, text};
use crate::publish::format::{UNKNOWN, UNSCORED, losses, p_text, two, with_interval};
use crate::score::spinner::{Half, ModelScores, SpinnerScores, VariationScores};

/// What a board is made from.
#[derive(Clone, Copy)]
pub struct SpinnerBoardSource<'a> {
    /// The scores.
    pub scores: &'a SpinnerScores,
    /// Hash over the stored samples of the suite.
    pub store_fingerprint: &'a str,
    /// Stored lines of the suite.
    pub lines: usize,
    /// Versions of the program that asked.
    pub versions: &'a BTreeSet<String>,
    /// Where a variation leads within a site.
    pub link: &'a dyn Fn(&VariationScores) -> Option<String>,
}

/// What stands in the line that says how the board was made.
pub const SPINNER_MADE_BY: &str = "wheel leaderboard --suite spinner";

/// Answers that hold less than this of the probability are not what the model would say.
const LITTLE: f64 = 0.01;

/// The whole board as a document, each mode of scoring by itself.
#[must_use]
pub fn spinner_board(source: &SpinnerBoardSource<'_>) -> Vec<Block> {
    let scores = source.scores;
    let modes: BTreeSet<ScoringMode> = scores.variations.iter().map(|one| one.mode).collect();
    let mut blocks = vec![
        heading(1, "Spinner: what a number does to all answers at once"),
        text(INTRO),
        text(OBSERVATIONS),
    ];
    for mode in modes {
        let models: Vec<&ModelScores> = scores
            .models
            .iter()
            .filter(|one| one.mode == mode)
            .collect();
        let variations: Vec<&VariationScores> = scores
            .variations
            .iter()
            .filter(|one| one.mode == mode)
            .collect();
        blocks.push(heading(2, format!("Scored {mode}")));
        blocks.push(text(match mode {
            ScoringMode::Exact => "Log-probability of an answer: the sum over its tokens where prompt and answer are tokenized as one text.",
            ScoringMode::Paper => "Scores as the code of the paper takes them: the answer is tokenized by itself, and its ids are looked up at the last places of the whole text. They are no log-probabilities of answers in the strict sense, and stand in tables of their own.",
        }));
        blocks.push(heading(3, "Models"));
        blocks.push(by_model(&models, scores));
        blocks.push(heading(3, "Variations"));
        blocks.push(by_variation(&variations, source.link));
        blocks.push(heading(3, "Parts of the composite"));
        blocks.push(parts(&variations));
        blocks.push(heading(3, "What each field adds"));
        blocks.push(text(
            "Mean over the answers, in nats, under the low and the high anchor: Banzhaf (all groups of other fields count alike), and behind the stroke Shapley (the four values add up to the whole prompt above the empty one), where the prompts with fewer fields were scored.",
        ));
        blocks.push(fields(&variations));
    }
    blocks.push(heading(2, "Provenance"));
    blocks.push(provenance(source));
    blocks
}

/// The same of one model; `None` if it has no scores.
#[must_use]
pub fn spinner_report(scores: &SpinnerScores, model: &ModelName) -> Option<Vec<Block>> {
    let variations: Vec<&VariationScores> = scores
        .variations
        .iter()
        .filter(|one| one.model == *model)
        .collect();
    if variations.is_empty() {
        return None;
    }
    let mut blocks = vec![
        heading(
            1,
            format!("{model}: what a number does to all answers at once"),
        ),
        text(INTRO),
        text(OBSERVATIONS),
    ];
    let modes: BTreeSet<ScoringMode> = variations.iter().map(|one| one.mode).collect();
    for mode in modes {
        let of_mode: Vec<&VariationScores> = variations
            .iter()
            .copied()
            .filter(|one| one.mode == mode)
            .collect();
        let models: Vec<&ModelScores> = scores
            .models
            .iter()
            .filter(|one| one.model == *model && one.mode == mode)
            .collect();
        blocks.push(heading(2, format!("Scored {mode}")));
        blocks.push(by_model(&models, scores));
        blocks.push(by_variation(&of_mode, &|_| None));
        blocks.push(parts(&of_mode));
        blocks.push(fields(&of_mode));
    }
    Some(blocks)
}

const INTRO: &str = "A wheel, a dial or a slip of paper shows a number; then a share of a hundred is asked for. Every answer from 0 % to 100 % is scored by its probability, under a low and under a high number. The expected answer is the mean of the answers when their probabilities are made to add up to 1; its shift, divided by the distance of the two numbers, is the plain anchoring view: 0 = the number changed nothing, 1 = the answer moved as far as the number. The design and the composite score ABSS follow \"Anchors in the Machine\" (arXiv 2511.05766), with wording of our own.";

const OBSERVATIONS: &str = "The p values compare the scores of the same answers after two prompts. Answers to one prompt are no independent observations, so these p values, and the weights made of them, describe how regular a shift is, not how certain. Probability held is what all the answers have together: where it is small (▲ below 1 %), they are not what the model would say. An answer is merged if its first token begins within the prompt; its probability is then taken from that token on.";

/// The share that answers hold, with a mark where it is small.
pub(super) fn held(mass: f64) -> String {
    let mark = if mass < LITTLE { " ▲" } else { "" };
    format!("{}{mark}", share(mass))
}

fn by_model(models: &[&ModelScores], scores: &SpinnerScores) -> Block {
    let rows = models.iter().map(|model| {
        let shifts: Vec<String> = model
            .shift_of_medians
            .iter()
            .map(|(regime, shift)| format!("{regime} {}", two(*shift)))
            .collect();
        let lost = scores.lost.get(&(model.model.clone(), model.mode));
        let whole = |text: String| {
            if model.attributed {
                text
            } else {
                UNSCORED.to_owned()
            }
        };
        row([
            model.model.to_string(),
            model.n.to_string(),
            with_interval(model.index.0, model.index.1),
            shifts.join(", "),
            held(model.mass),
            whole(with_interval(model.abss_mean.0, model.abss_mean.1)),
            whole(two(model.abss)),
            whole(two(model.parts[0])),
            whole(two(model.parts[1])),
            whole(two(model.parts[2])),
            losses(lost.into_iter().flatten().map(|(loss, n)| (*loss, *n))),
            scores
                .merged
                .get(&(model.model.clone(), model.mode))
                .unwrap_or(&0)
                .to_string(),
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "variations#",
            "shift / distance#",
            "shift of medians, points#",
            "probability held#",
            "ABSS, mean#",
            "ABSS, sum#",
            "of it from behaviour#",
            "from attribution#",
            "from agreement#",
            "prompts without scores",
            "prompts with merged answers#",
        ]),
        rows: rows.collect(),
    }
}

fn by_variation(
    variations: &[&VariationScores],
    link: &dyn Fn(&VariationScores) -> Option<String>,
) -> Block {
    let expected = |half: &Half| with_interval(half.expected, Some(half.predictive.interval));
    let rows = variations.iter().map(|one| {
        let mut entries = row([
            one.model.to_string(),
            one.item.to_string(),
            format!("{} and {}", one.low.anchor, one.high.anchor),
            one.low.n.min(one.high.n).to_string(),
            expected(&one.low),
            expected(&one.high),
            two(one.index()),
            held(f64::midpoint(one.low.mass, one.high.mass)),
            p(one.t_scores.map(|test| test.p)),
            p(one.wilcoxon.map(|test| test.p)),
            p(one.p_permutation),
        ]);
        entries[1] = Entry::from(name(one)).to(link(one));
        entries
    });
    Block::Table {
        columns: columns(&[
            "model",
            "variation",
            "anchors",
            "answers#",
            "expected, low anchor#",
            "expected, high anchor#",
            "shift / distance#",
            "probability held#",
            "p, t#",
            "p, Wilcoxon#",
            "p, permutation#",
        ]),
        rows: rows.collect(),
    }
}

/// The variation, and whether it is in no sum.
pub(super) fn name(one: &VariationScores) -> String {
    format!(
        "{}{}",
        one.item,
        if one.control { " (control)" } else { "" }
    )
}

fn p(p: Option<f64>) -> String {
    p.map_or_else(|| UNSCORED.to_owned(), p_text)
}

fn parts(variations: &[&VariationScores]) -> Block {
    let rows = variations.iter().map(|one| {
        let abss = &one.abss;
        let weight = |weight: Option<f64>| weight.map_or_else(|| UNSCORED.to_owned(), two);
        let added = |half: &Half| {
            half.anchor_value.map_or_else(
                || UNKNOWN.to_owned(),
                |value| with_interval(value.mean, Some(value.interval)),
            )
        };
        row([
            one.model.to_string(),
            one.item.to_string(),
            added(&one.low),
            added(&one.high),
            p(one.t_attribution.map(|test| test.p)),
            two(abss.behaviour),
            two(abss.w_behaviour),
            two(abss.attribution),
            two(abss.w_attribution),
            weight(abss.w_wilcoxon),
            weight(abss.w_permutation),
            two(abss.rho),
            two(abss.concordance),
            if one.is_attributed() {
                two(abss.value)
            } else {
                UNSCORED.to_owned()
            },
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "variation",
            "low anchor adds, nats#",
            "high anchor adds, nats#",
            "p of the difference#",
            "behaviour#",
            "its weight#",
            "attribution#",
            "its weight#",
            "weight, Wilcoxon#",
            "weight, permutation#",
            "rho#",
            "agreement#",
            "ABSS#",
        ]),
        rows: rows.collect(),
    }
}

fn fields(variations: &[&VariationScores]) -> Block {
    let rows = variations.iter().map(|one| {
        let mut texts = vec![one.model.to_string(), one.item.to_string()];
        for field in Field::iter() {
            for half in [&one.low, &one.high] {
                let value = |values: &std::collections::BTreeMap<Field, f64>| {
                    values.get(&field).map(|value| two(*value))
                };
                let banzhaf = value(&half.banzhaf).unwrap_or_else(|| UNKNOWN.to_owned());
                texts.push(match value(&half.shapley) {
                    Some(shapley) => format!("{banzhaf} / {shapley}"),
                    None => banzhaf,
                });
            }
        }
        row(texts)
    });
    Block::Table {
        columns: columns(&[
            "model",
            "variation",
            "scene, low#",
            "scene, high#",
            "comparative, low#",
            "comparative, high#",
            "absolute, low#",
            "absolute, high#",
            "anchor, low#",
            "anchor, high#",
        ]),
        rows: rows.collect(),
    }
}

fn provenance(source: &SpinnerBoardSource<'_>) -> Block {
    let versions: Vec<&str> = source.versions.iter().map(String::as_str).collect();
    let items = [
        format!("made by `{SPINNER_MADE_BY}`"),
        format!(
            "{} stored lines, fingerprint {}",
            source.lines, source.store_fingerprint
        ),
        format!("scored by wheel {}", versions.join(", ")),
        "brackets behind an expected answer hold what the mean of 100 generations would be (5,000 simulations, numpy's seed 42), behind means over variations 95 % intervals, questions drawn anew, each with both its sets of anchors (2,000 resamples, seed 1974); positive controls (V0) are in no mean or sum".to_owned(),
        "check it with `wheel verify` and the path of this board, with the --store and --stimuli that it was made with: the command computes every number again from the scores".to_owned(),
    ];
    Block::List {
        items: items.into_iter().map(Entry::from).collect(),
    }
}
