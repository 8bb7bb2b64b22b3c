//! The numbers of a set of cases.

use super::python::PythonRandom;
use super::{Case, Content, Difficulty, Facts, Wording};
use crate::domain::{ItemId, Side};

/// Ratings of a case.
pub const RATINGS: usize = 5;

/// Offsets of histories: their anchors are replies of the model, and these numbers only stand in the data.
const HISTORY_OFFSET: u8 = 25;

/// Distance from the gold at which the two ratings of a partial view are looked for.
const PARTIAL_GAP: f64 = 15.0;

/// What a set of cases is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// First part of each id.
    pub prefix: String,
    /// Seed of the draws.
    pub seed: u32,
    /// Distances of the anchors from the middle; empty where the model's own reply is the anchor.
    pub offsets: Vec<u8>,
    /// Name of the group of domains.
    pub domains: String,
    /// What else is drawn for each case.
    pub extra: ExtraKind,
    /// Slots of the evidence that prompts show, from 0; all if empty.
    pub slots: Vec<usize>,
    /// Weight of each slot in the gold; all alike if empty.
    pub weights: Vec<f64>,
}

/// How many cases of each cell of the design.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Size {
    /// One, in the first domain: does it run at all?
    Smoke,
    /// Five: half of the core, and part of it.
    Pilot,
    /// Ten: 360 cases a task.
    #[default]
    Core,
}

/// What is drawn after the evidence.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum ExtraKind {
    /// Nothing.
    #[default]
    None,
    /// Two other cases that come to a low and a high value.
    Warmups,
    /// Three solved cases around the middle of the scale.
    Demonstrations,
    /// Three sets of solved cases: around the middle, the low and the high anchor.
    AnchoredDemonstrations,
}

/// The numbers of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// What the ratings are drawn around, 30 to 70.
    pub theta: u8,
    /// The ratings, hidden ones too.
    pub ratings: [u8; RATINGS],
    /// Which ratings nobody is shown.
    pub hidden: [bool; RATINGS],
    /// Low and high anchor; `None` where the model's reply is the anchor.
    pub anchors: Option<(u8, u8)>,
    /// Which sentences it takes.
    pub choices: Choices,
    /// What else was drawn.
    pub extra: Extra,
    /// Place of the case among the ten (or thirty) of its cell, from 1.
    pub number: usize,
    /// Place of the case in its set, from 1.
    pub place: usize,
    /// Slots that prompts show.
    pub slots: [bool; RATINGS],
    /// Weight of each slot, where they differ.
    pub weights: Option<[f64; RATINGS]>,
}

/// Which sentences a case takes, by its place in the set: no chance is spent on wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// Family of labels.
    pub labels: usize,
    /// Scenario.
    pub scenario: usize,
    /// Question.
    pub question: usize,
    /// Phrase around the anchor.
    pub phrase: usize,
}

/// What was drawn beside the evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Extra {
    /// Nothing.
    None,
    /// Two other cases, low and high.
    Warmups(Warmup, Warmup),
    /// Solved cases.
    Demonstrations([Demonstration; 3]),
    /// Solved cases around the middle, the low and the high anchor.
    AnchoredDemonstrations([[Demonstration; 3]; 3]),
}

/// Another case, asked first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warmup {
    /// What the ratings are drawn around.
    pub theta: u8,
    /// The ratings.
    pub ratings: [u8; RATINGS],
}

/// A solved case with three ratings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demonstration {
    /// The ratings.
    pub ratings: [u8; 3],
    /// Their rounded mean.
    pub answer: u8,
}

impl Draw {
    /// Ratings that prompts show, in order.
    pub fn shown(&self) -> impl Iterator<Item = u8> {
        let slots = (0..RATINGS).filter(|slot| self.slots[*slot] && !self.hidden[*slot]);
        slots.map(|slot| self.ratings[slot])
    }

    /// Ratings that are not hidden, in order.
    pub fn visible(&self) -> impl Iterator<Item = u8> {
        let hidden = self.hidden;
        let ratings = self.ratings.into_iter().enumerate();
        ratings
            .filter(move |(slot, _)| !hidden[*slot])
            .map(|(_, rating)| rating)
    }

    /// The two slots whose ratings come closest to 15 below or above the gold, as a preliminary view of the evidence.
    ///
    /// Hidden ratings count as absent: a pair of two hidden ones has mean 0. Of equal pairs the first goes.
    #[must_use]
    pub fn pair(&self, side: Side, gold: f64) -> (usize, usize) {
        let target = match side {
            Side::Low => gold - PARTIAL_GAP,
            Side::High => gold + PARTIAL_GAP,
        };
        let distance = |(a, b): (usize, usize)| {
            let seen: Vec<f64> = [a, b]
                .into_iter()
                .filter(|slot| !self.hidden[*slot])
                .map(|slot| f64::from(self.ratings[slot]))
                .collect();
            (mean(&seen) - target).abs()
        };
        let pairs = (0..RATINGS).flat_map(|a| (a + 1..RATINGS).map(move |b| (a, b)));
        let nearest = pairs.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        nearest.unwrap_or((0, 1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of ratings")]
fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

/// Rounds to a whole number, halves to the even one, and clips to the scale.
#[must_use]
pub fn half_even(value: f64) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clipped to 0..=100"
    )]
    let rounded = value.round_ties_even().clamp(0.0, 100.0) as u8;
    rounded
}

impl Spec {
    /// The core set, in the order of the design: domain, difficulty, offset, number.
    #[must_use]
    pub fn generate(&self, wording: &Wording) -> Vec<Case> {
        let mut random = PythonRandom::new(self.seed);
        let mut cases = Vec::new();
        // Without offsets the cell is as large as three with them.
        let offsets: Vec<Option<u8>> = match self.offsets.as_slice() {
            [] => vec![None],
            some => some.iter().copied().map(Some).collect(),
        };
        let in_cell = if self.offsets.is_empty() { 30 } else { 10 };
        for domain in wording.group(&self.domains) {
            for difficulty in [Difficulty::Easy, Difficulty::Hard] {
                for offset in &offsets {
                    for number in 1..=in_cell {
                        let place = cases.len() + 1;
                        let draw = self.draw(&mut random, difficulty, *offset, (number, place));
                        let facts = self.facts(&draw, domain.id.clone(), difficulty, *offset);
                        cases.push(Case {
                            id: self.id(&domain.id, difficulty, *offset, number),
                            facts,
                            content: Content::Drawn(Box::new(draw), domain.clone()),
                        });
                    }
                }
            }
        }
        cases
    }

    fn id(
        &self,
        domain: &str,
        difficulty: Difficulty,
        offset: Option<u8>,
        number: usize,
    ) -> ItemId {
        let letter = match difficulty {
            Difficulty::Easy => 'e',
            Difficulty::Hard => 'h',
        };
        let offset = offset.map_or(String::new(), |offset| format!("-off{offset}"));
        format!("{}-{domain}-{letter}{offset}-{number:03}", self.prefix).into()
    }

    fn facts(
        &self,
        draw: &Draw,
        domain: std::sync::Arc<str>,
        difficulty: Difficulty,
        offset: Option<u8>,
    ) -> Facts {
        let (mut sum, mut weight) = (0.0, 0.0);
        for slot in (0..RATINGS).filter(|slot| !draw.hidden[*slot]) {
            let of_slot = self.weights.get(slot).copied().unwrap_or(1.0);
            sum += of_slot * f64::from(draw.ratings[slot]);
            weight += of_slot;
        }
        Facts {
            domain,
            difficulty,
            offset,
            theta: Some(f64::from(draw.theta)),
            gold: f64::from(half_even(sum / weight)),
            // Beside weights a rating is no unit that an anchor could be worth.
            shown: u8::try_from(draw.shown().count())
                .ok()
                .filter(|_| self.weights.is_empty()),
        }
    }

    fn draw(
        &self,
        random: &mut PythonRandom,
        difficulty: Difficulty,
        offset: Option<u8>,
        (number, place): (usize, usize),
    ) -> Draw {
        let theta = random.between(30, 70);
        let sd = match difficulty {
            Difficulty::Easy => 8.0,
            Difficulty::Hard => 15.0,
        };
        let mut ratings: [u8; RATINGS] = ratings(random, theta, sd);
        let mut hidden = [false; RATINGS];
        if difficulty == Difficulty::Hard {
            for slot in random.sample(5, 2) {
                hidden[usize::from(slot)] = true;
            }
            let left: Vec<u8> = (0u8..5)
                .filter(|slot| !hidden[usize::from(*slot)])
                .collect();
            let turned = usize::from(random.choice(&left));
            ratings[turned] = 100 - ratings[turned];
        }
        let around = |offset: u8| (theta.saturating_sub(offset), (theta + offset).min(100));
        let extra = match self.extra {
            ExtraKind::None => Extra::None,
            ExtraKind::Warmups => Extra::Warmups(warmup(random, 15, 30), warmup(random, 70, 85)),
            ExtraKind::Demonstrations => Extra::Demonstrations(std::array::from_fn(|_| {
                let theta = random.between(35, 65);
                demonstration(random, theta)
            })),
            ExtraKind::AnchoredDemonstrations => {
                let (low, high) = around(offset.unwrap_or(HISTORY_OFFSET));
                let middle = random.between(44, 56);
                let mut set = |center: u8, jitter: u8| {
                    std::array::from_fn(|_| {
                        let moved = random.between(0, 2 * jitter) + center;
                        let theta = moved.saturating_sub(jitter).min(100);
                        demonstration(random, theta)
                    })
                };
                Extra::AnchoredDemonstrations([set(middle, 8), set(low, 4), set(high, 4)])
            }
        };
        let weights = <[f64; RATINGS]>::try_from(self.weights.as_slice()).ok();
        Draw {
            theta,
            ratings,
            hidden,
            anchors: offset.map(around),
            choices: Choices {
                labels: place % 3,
                scenario: place % 8,
                question: place % 4,
                phrase: place % 4,
            },
            extra,
            number,
            place,
            slots: std::array::from_fn(|slot| self.slots.is_empty() || self.slots.contains(&slot)),
            weights,
        }
    }
}

impl Size {
    /// Whether a case belongs to it. Each size is part of the next, so that growing a run asks only for what is new.
    #[must_use]
    pub fn holds(self, case: &Case, first_domain: &str) -> bool {
        // Ids end in the number within the cell; cells without offsets are as large as three.
        let number = case.id.as_str().rsplit('-').next();
        let number: usize = number.and_then(|n| n.parse().ok()).unwrap_or(1);
        let times = if case.facts.offset.is_none() { 3 } else { 1 };
        match self {
            Self::Smoke => number <= times && &*case.facts.domain == first_domain,
            Self::Pilot => number <= 5 * times,
            Self::Core => true,
        }
    }
}

fn ratings<const N: usize>(random: &mut PythonRandom, theta: u8, sd: f64) -> [u8; N] {
    std::array::from_fn(|_| half_even(random.gauss(f64::from(theta), sd)))
}

fn warmup(random: &mut PythonRandom, from: u8, to: u8) -> Warmup {
    let theta = random.between(from, to);
    Warmup {
        theta,
        ratings: ratings(random, theta, 8.0),
    }
}

fn demonstration(random: &mut PythonRandom, theta: u8) -> Demonstration {
    let ratings: [u8; 3] = ratings(random, theta, 6.0);
    let sum: u16 = ratings.iter().map(|rating| u16::from(*rating)).sum();
    Demonstration {
        ratings,
        answer: half_even(f64::from(sum) / 3.0),
    }
}
