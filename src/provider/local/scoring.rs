//! Log-probabilities of given answers: the prompt is computed once, the answers as a tree of tokens in one masked pass.

use std::collections::HashMap;

use candle_core::{Device, Tensor};

use super::cache::Cache;
use super::{Engine, EngineError, ids_tensor};
use crate::domain::{Scored, Scoring, ScoringMode};

/// What was computed of a prompt, for the next one.
pub(super) type Read = (Vec<u32>, Cache);

/// Tokens whose log-probabilities make up the score of an answer.
struct Wanted {
    /// Ids of prompt and answer as one text.
    joint: Vec<u32>,
    /// Places in it from 1, each with the id that is looked up there.
    places: Vec<(usize, u32)>,
    /// Whether its first token begins within the prompt.
    merged: bool,
}

/// Tokens after a common beginning; those that answers share stand once.
#[derive(Default)]
struct Tree {
    ids: Vec<u32>,
    /// Of each node the one before it; none at the beginning.
    parents: Vec<Option<usize>>,
    /// Tokens between a node and the beginning.
    depths: Vec<usize>,
    children: HashMap<(Option<usize>, u32), usize>,
}

impl Tree {
    /// The node of a token after another.
    fn child(&mut self, parent: Option<usize>, id: u32) -> usize {
        if let Some(known) = self.children.get(&(parent, id)) {
            return *known;
        }
        let node = self.ids.len();
        self.ids.push(id);
        self.parents.push(parent);
        self.depths
            .push(parent.map_or(0, |parent| self.depths[parent] + 1));
        self.children.insert((parent, id), node);
        node
    }

    /// What each node may see: everything before the tree, itself, and the nodes it comes from.
    fn mask(&self, before: usize) -> Result<Tensor, EngineError> {
        let (nodes, width) = (self.ids.len(), before + self.ids.len());
        let mut mask = vec![f32::NEG_INFINITY; nodes * width];
        for node in 0..nodes {
            let row = &mut mask[node * width..(node + 1) * width];
            row[..before].fill(0.0);
            let mut seen = Some(node);
            while let Some(at) = seen {
                row[before + at] = 0.0;
                seen = self.parents[at];
            }
        }
        Ok(Tensor::from_vec(mask, (1, nodes, width), &Device::Cpu)?)
    }
}

impl Engine {
    /// Scores answers after a prompt, each as the text that follows it and one blank, in nats.
    ///
    /// Within 1e-3 of scoring every answer by itself: sums of a product may be added up in another order.
    ///
    /// # Errors
    /// A prompt that is empty or beyond the context with its longest answer, or a failed tensor operation.
    pub fn score(&self, prompt: &str, scoring: &Scoring) -> Result<Scored, EngineError> {
        self.score_after(prompt, scoring, &mut None)
    }

    /// As [`Engine::score`]; what the prompt shares with the one before it is not computed again.
    pub(super) fn score_after(
        &self,
        prompt: &str,
        scoring: &Scoring,
        last: &mut Option<Read>,
    ) -> Result<Scored, EngineError> {
        let wanted = self.wanted(prompt, scoring)?;
        let longest = wanted.iter().max_by_key(|wanted| wanted.joint.len());
        let Some(longest) = longest else {
            return Ok(scored(scoring, Vec::new(), 0));
        };
        self.room(&longest.joint)?;
        let first = &wanted[0].joint;
        let beginning = wanted
            .iter()
            .flat_map(|wanted| {
                let alike = first.iter().zip(&wanted.joint).take_while(|(a, b)| a == b);
                let places = wanted.places.iter().map(|(place, _)| *place);
                places.chain([alike.count()])
            })
            .min()
            .unwrap_or(0);
        self.room(&first[..beginning])?;
        let mut tree = Tree::default();
        // Of each answer the rows that its tokens are looked up in: that of the beginning, or of a node.
        let rows: Vec<Vec<(Option<usize>, u32)>> = wanted
            .iter()
            .map(|wanted| {
                let mut nodes = vec![None];
                // What follows the last token is not asked.
                for id in
                    &wanted.joint[beginning..wanted.joint.len().saturating_sub(1).max(beginning)]
                {
                    let parent = nodes[nodes.len() - 1];
                    nodes.push(Some(tree.child(parent, *id)));
                }
                let row = |(place, id): &(usize, u32)| (nodes[place - beginning], *id);
                wanted.places.iter().map(row).collect()
            })
            .collect();
        let before = &first[..beginning];
        let known = last
            .as_ref()
            .map(|(ids, cache)| (ids.as_slice(), cache.clone()));
        let (cache, at_beginning) = self.read_prompt(before, known)?;
        *last = Some((before.to_vec(), cache.clone()));
        let mut looked_up = vec![Vec::new(); tree.ids.len() + 1];
        for (node, id) in rows.iter().flatten() {
            looked_up[node.map_or(0, |node| node + 1)].push(*id);
        }
        let mut distributions = vec![Distribution::new(&at_beginning, &looked_up[0])];
        if !tree.ids.is_empty() {
            let ids = ids_tensor(std::slice::from_ref(&tree.ids))?;
            let positions: Vec<usize> = tree.depths.iter().map(|depth| beginning + depth).collect();
            let mask = tree.mask(beginning)?;
            let mut cache = cache;
            let hidden = self
                .network
                .pass(&ids, &positions, Some(&mask), &mut cache)?;
            // A large vocabulary makes long rows: some at a time, of which only what is looked up is kept.
            for first in (0..tree.ids.len()).step_by(ROWS) {
                let some = hidden.narrow(1, first, ROWS.min(tree.ids.len() - first))?;
                let logits = self.network.logits(&some)?.squeeze(0)?;
                for (node, row) in (first..).zip(logits.to_vec2::<f32>()?) {
                    distributions.push(Distribution::new(&row, &looked_up[node + 1]));
                }
            }
        }
        let sums = rows.iter().map(|rows| {
            let parts = rows.iter().map(|(node, id)| {
                let place = node.map_or(0, |node| node + 1);
                distributions[place].log_probability(*id)
            });
            parts.sum::<Option<f64>>()
        });
        let merged = wanted.iter().filter(|wanted| wanted.merged).count();
        Ok(scored(scoring, sums.collect(), merged))
    }

    fn wanted(&self, prompt: &str, scoring: &Scoring) -> Result<Vec<Wanted>, EngineError> {
        let alone = self.encode(prompt)?;
        scoring
            .targets
            .iter()
            .map(|target| {
                let joint = self.encode(&format!("{prompt} {target}"))?;
                let shared = alone.iter().zip(&joint).take_while(|(a, b)| a == b).count();
                let places = match scoring.mode {
                    ScoringMode::Exact => {
                        // The first token of all has nothing before it.
                        let first = shared.max(1);
                        let places = first..joint.len();
                        places.map(|place| (place, joint[place])).collect()
                    }
                    ScoringMode::Paper => {
                        let bare = self.encode(target)?;
                        let first = joint.len().saturating_sub(bare.len()).max(1);
                        (first..joint.len()).zip(bare).collect()
                    }
                };
                Ok(Wanted {
                    merged: shared < alone.len(),
                    places,
                    joint,
                })
            })
            .collect()
    }
}

fn scored(scoring: &Scoring, log_probabilities: Vec<Option<f64>>, merged: usize) -> Scored {
    Scored {
        scoring: scoring.clone(),
        log_probabilities,
        merged,
        banzhaf: None,
    }
}

/// Nodes whose logits are computed at once.
const ROWS: usize = 32;

/// Log-probabilities of some tokens at one place, with the logarithm of the sum taken in f64.
struct Distribution(HashMap<u32, f64>);

impl Distribution {
    fn new(logits: &[f32], wanted: &[u32]) -> Self {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits
            .iter()
            .map(|value| f64::from((value - largest).exp()))
            .sum();
        let log_sum = f64::from(largest) + sum.ln();
        let of = |id: &u32| Some((*id, f64::from(*logits.get(*id as usize)?) - log_sum));
        Self(wanted.iter().filter_map(of).collect())
    }

    /// `None` of a token that the weights do not know.
    fn log_probability(&self, id: u32) -> Option<f64> {
        self.0.get(&id).copied()
    }
}
