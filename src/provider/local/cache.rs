//! Keys and values of the tokens seen so far.

use candle_core::{Device, Tensor};

use super::EngineError;

/// Keys and values of the tokens seen so far, layer by layer, for a batch of sequences.
///
/// Sequences of different length end together: the shorter ones are padded at their beginning, and the padding is
/// masked out.
#[derive(Clone)]
pub(super) struct Cache {
    pub(super) layers: Vec<(Tensor, Tensor)>,
    /// Tokens of each sequence, without padding.
    pub(super) lengths: Vec<usize>,
}

impl Cache {
    /// An empty cache for one sequence.
    pub(super) fn new() -> Self {
        Self {
            layers: Vec::new(),
            lengths: vec![0],
        }
    }

    /// The cache of the first `tokens` tokens of a single sequence.
    pub(super) fn beginning(&self, tokens: usize) -> Result<Self, EngineError> {
        let cut = |x: &Tensor| x.narrow(2, 0, tokens)?.contiguous();
        let layers = self
            .layers
            .iter()
            .map(|(keys, values)| Ok((cut(keys)?, cut(values)?)))
            .collect::<Result<_, EngineError>>()?;
        Ok(Self {
            layers: if tokens == 0 { Vec::new() } else { layers },
            lengths: vec![tokens],
        })
    }

    /// Puts sequences into one batch.
    pub(super) fn join(parts: &[&Cache]) -> Result<Self, EngineError> {
        let lengths: Vec<usize> = parts.iter().flat_map(|part| part.lengths.clone()).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let pad = |x: &Tensor| -> Result<Tensor, EngineError> {
            Ok(x.pad_with_zeros(2, longest - x.dim(2)?, 0)?)
        };
        let layers = (0..parts[0].layers.len())
            .map(|n| {
                let keys: Vec<Tensor> = parts
                    .iter()
                    .map(|part| pad(&part.layers[n].0))
                    .collect::<Result<_, _>>()?;
                let values: Vec<Tensor> = parts
                    .iter()
                    .map(|part| pad(&part.layers[n].1))
                    .collect::<Result<_, _>>()?;
                Ok((Tensor::cat(&keys, 0)?, Tensor::cat(&values, 0)?))
            })
            .collect::<Result<_, EngineError>>()?;
        Ok(Self { layers, lengths })
    }

    /// Keeps these sequences of the batch, and drops padding that only the others needed.
    pub(super) fn select(&mut self, rows: &[usize]) -> Result<(), EngineError> {
        let before = self.longest();
        self.lengths = rows.iter().map(|row| self.lengths[*row]).collect();
        let longest = self.longest();
        let rows = ids(rows)?;
        let keep = |x: &Tensor| -> Result<Tensor, EngineError> {
            let kept = x.index_select(&rows, 0)?;
            Ok(kept.narrow(2, before - longest, longest)?.contiguous()?)
        };
        for (keys, values) in &mut self.layers {
            *keys = keep(keys)?;
            *values = keep(values)?;
        }
        Ok(())
    }

    pub(super) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// What each new token may see: `[batch, tokens, all]`, 0 or −∞; `None` if it is everything.
    pub(super) fn mask(&self, tokens: usize) -> Result<Option<Tensor>, EngineError> {
        let longest = self.longest();
        if tokens == 1 && self.lengths.iter().all(|length| *length == longest) {
            return Ok(None);
        }
        let total = longest + tokens;
        let mut mask = Vec::with_capacity(self.lengths.len() * tokens * total);
        for length in &self.lengths {
            for row in 0..tokens {
                mask.extend((0..total).map(|column| {
                    let seen = column >= longest - length && column <= longest + row;
                    if seen { 0.0 } else { f32::NEG_INFINITY }
                }));
            }
        }
        let shape = (self.lengths.len(), tokens, total);
        Ok(Some(Tensor::from_vec(mask, shape, &Device::Cpu)?))
    }
}

pub(super) fn ids(places: &[usize]) -> Result<Tensor, EngineError> {
    let places: Vec<u32> = places
        .iter()
        .map(|place| u32::try_from(*place).unwrap_or(u32::MAX))
        .collect();
    Ok(Tensor::new(places, &Device::Cpu)?)
}
