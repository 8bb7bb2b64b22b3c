//! The graph of a decoder in f32, made of the parts that an architecture chooses.

use candle_core::{DType, Device, Tensor};
use candle_nn::ops::{layer_norm, rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

use super::EngineError;
use super::cache::{self, Cache};

/// `x · wᵀ + b`.
pub(super) struct Linear {
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

/// A normalisation with its weights.
pub(super) enum Norm {
    /// By the root of the mean square.
    Rms(Tensor),
    /// By mean and deviation, with a shift.
    Layer(Tensor, Tensor),
}

/// What bends the middle of a feed-forward part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    /// x · sigmoid(x).
    Silu,
    /// The Gaussian error unit by its tanh formula.
    GeluTanh,
}

/// How positions enter.
pub(super) enum Positions {
    /// A learned vector for each position is added to the first hidden state.
    Learned(Tensor),
    /// Queries and keys are turned.
    Rotary {
        /// Whether neighbours make a pair; else the halves of a head do.
        neighbours: bool,
        /// Cosines and sines, one pair of tables for each base in use.
        tables: Vec<(Tensor, Tensor)>,
    },
}

/// One layer.
pub(super) struct Layer {
    pub(super) attention_norm: Norm,
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    pub(super) output: Linear,
    /// Of the heads of queries and keys, before they are turned.
    pub(super) head_norms: Option<(Norm, Norm)>,
    pub(super) after_attention: Option<Norm>,
    pub(super) feed_norm: Norm,
    pub(super) gate: Option<Linear>,
    pub(super) up: Linear,
    pub(super) down: Linear,
    pub(super) after_feed: Option<Norm>,
    /// Which table turns its queries and keys.
    pub(super) table: usize,
    /// How many tokens back it sees, itself included; `None` for all.
    pub(super) window: Option<usize>,
}

/// A network that predicts the next token.
pub(super) struct Graph {
    pub(super) embedding: Tensor,
    /// What embeddings are multiplied by.
    pub(super) embedding_scale: f64,
    pub(super) positions: Positions,
    pub(super) layers: Vec<Layer>,
    pub(super) activation: Activation,
    pub(super) norm: Norm,
    /// Rows of the vocabulary; the embedding itself where it is tied.
    pub(super) head: Tensor,
    pub(super) heads: usize,
    pub(super) key_heads: usize,
    pub(super) head_width: usize,
    pub(super) epsilon: f32,
    /// Tokens that it can hold.
    pub(super) context: usize,
}

/// What a pass needs of its places.
struct Places<'a> {
    batch: usize,
    tokens: usize,
    /// Of each table the rows of the new tokens.
    turns: Vec<(Tensor, Tensor)>,
    mask: Option<&'a Tensor>,
    /// The mask of layers that do not see all; `None` if none of them is cut.
    windowed: Option<Tensor>,
}

impl Linear {
    /// Over the last dimension of `[batch, tokens, width]`.
    fn forward(&self, x: &Tensor) -> Result<Tensor, EngineError> {
        let product = product(x, &self.weight)?;
        Ok(match &self.bias {
            Some(bias) => product.broadcast_add(bias)?,
            None => product,
        })
    }
}

impl Norm {
    fn forward(&self, x: &Tensor, epsilon: f32) -> Result<Tensor, EngineError> {
        let x = x.contiguous()?;
        Ok(match self {
            Self::Rms(weight) => rms_norm(&x, weight, epsilon)?,
            Self::Layer(weight, bias) => layer_norm(&x, weight, bias, epsilon)?,
        })
    }
}

impl Activation {
    fn forward(self, x: &Tensor) -> Result<Tensor, EngineError> {
        Ok(match self {
            Self::Silu => silu(x)?,
            Self::GeluTanh => x.gelu()?,
        })
    }
}

impl Graph {
    /// Hidden states of new tokens `[batch, tokens]`, which follow those in the cache. More than one token at a time
    /// only for a batch of one.
    pub(super) fn forward(&self, ids: &Tensor, cache: &mut Cache) -> Result<Tensor, EngineError> {
        let (_, tokens) = ids.dims2()?;
        let positions: Vec<usize> = cache
            .lengths
            .iter()
            .flat_map(|length| *length..length + tokens)
            .collect();
        let mask = cache.mask(tokens)?;
        let hidden = self.pass(ids, &positions, mask.as_ref(), cache)?;
        for length in &mut cache.lengths {
            *length += tokens;
        }
        Ok(hidden)
    }

    /// Hidden states of tokens `[batch, tokens]` at these positions, each of which sees what the mask lets it. Their keys
    /// and values go to the end of the cache.
    pub(super) fn pass(
        &self,
        ids: &Tensor,
        positions: &[usize],
        mask: Option<&Tensor>,
        cache: &mut Cache,
    ) -> Result<Tensor, EngineError> {
        let (batch, tokens) = ids.dims2()?;
        let rows = |table: &Tensor| -> Result<Tensor, EngineError> {
            Ok(table
                .index_select(&cache::ids(positions)?, 0)?
                .reshape((batch, tokens, ()))?)
        };
        let mut x = rows_of(&self.embedding, ids)?;
        if self.embedding_scale != 1.0 {
            x = (x * self.embedding_scale)?;
        }
        let mut turns = Vec::new();
        match &self.positions {
            Positions::Learned(table) => x = (x + rows(table)?)?,
            Positions::Rotary { tables, .. } => {
                for (cos, sin) in tables {
                    turns.push((rows(cos)?, rows(sin)?));
                }
            }
        }
        let places = Places {
            batch,
            tokens,
            turns,
            mask,
            windowed: self.windowed(positions, (batch, tokens), mask, cache)?,
        };
        for (n, layer) in self.layers.iter().enumerate() {
            let normed = layer.attention_norm.forward(&x, self.epsilon)?;
            let mut attended = self.attend(layer, n, &normed, &places, cache)?;
            if let Some(norm) = &layer.after_attention {
                attended = norm.forward(&attended, self.epsilon)?;
            }
            x = (x + attended)?;
            let normed = layer.feed_norm.forward(&x, self.epsilon)?;
            let up = layer.up.forward(&normed)?;
            let middle = match &layer.gate {
                Some(gate) => (self.activation.forward(&gate.forward(&normed)?)? * up)?,
                None => self.activation.forward(&up)?,
            };
            let mut fed = layer.down.forward(&middle)?;
            if let Some(norm) = &layer.after_feed {
                fed = norm.forward(&fed, self.epsilon)?;
            }
            x = (x + fed)?;
        }
        Ok(x)
    }

    /// The mask of layers with a window, where some token is further back than it reaches.
    fn windowed(
        &self,
        positions: &[usize],
        (batch, tokens): (usize, usize),
        mask: Option<&Tensor>,
        cache: &Cache,
    ) -> Result<Option<Tensor>, EngineError> {
        let window = self.layers.iter().filter_map(|layer| layer.window).min();
        let furthest = positions.iter().copied().max().unwrap_or(0);
        let Some(window) = window.filter(|window| furthest >= *window) else {
            return Ok(None);
        };
        let longest = cache.longest();
        let mut cut = Vec::with_capacity(batch * tokens * (longest + tokens));
        for (row, length) in cache.lengths.iter().enumerate() {
            let own = &positions[row * tokens..(row + 1) * tokens];
            for place in own {
                // Shorter sequences are padded at their beginning.
                let before = (0..longest).map(|column| (column + length).checked_sub(longest));
                let keys = before.chain(own.iter().map(|key| Some(*key)));
                cut.extend(keys.map(|key| match key {
                    Some(key) if key + window > *place => 0.0,
                    _ => f32::NEG_INFINITY,
                }));
            }
        }
        let cut = Tensor::from_vec(cut, (batch, tokens, longest + tokens), &Device::Cpu)?;
        Ok(Some(match mask {
            Some(mask) => cut.broadcast_add(mask)?,
            None => cut,
        }))
    }

    fn attend(
        &self,
        layer: &Layer,
        n: usize,
        x: &Tensor,
        places: &Places<'_>,
        cache: &mut Cache,
    ) -> Result<Tensor, EngineError> {
        let (batch, tokens) = (places.batch, places.tokens);
        let split = |x: Tensor, heads: usize| {
            x.reshape((batch, tokens, heads, self.head_width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let mut query = split(layer.query.forward(x)?, self.heads)?;
        let mut key = split(layer.key.forward(x)?, self.key_heads)?;
        let value = split(layer.value.forward(x)?, self.key_heads)?;
        if let Some((of_query, of_key)) = &layer.head_norms {
            query = of_query.forward(&query, self.epsilon)?;
            key = of_key.forward(&key, self.epsilon)?;
        }
        if let Positions::Rotary { neighbours, .. } = self.positions {
            let (cos, sin) = &places.turns[layer.table];
            let turn = if neighbours { rope_i } else { rope };
            query = turn(&query, cos, sin)?;
            key = turn(&key, cos, sin)?;
        }
        let (key, value) = match cache.layers.get(n) {
            Some((keys, values)) => (
                Tensor::cat(&[keys, &key], 2)?,
                Tensor::cat(&[values, &value], 2)?,
            ),
            None => (key, value),
        };
        // Queries that share a key head are stacked, so that keys are never copied.
        let group = self.heads / self.key_heads;
        let total = key.dim(2)?;
        let flat = (batch * self.key_heads, group * tokens, self.head_width);
        let query = query.reshape(flat)?;
        let keys = key.reshape((batch * self.key_heads, total, self.head_width))?;
        let values = value.reshape((batch * self.key_heads, total, self.head_width))?;
        #[expect(clippy::cast_precision_loss, reason = "a head is some hundred wide")]
        let scale = 1.0 / (self.head_width as f64).sqrt();
        let mut weights = (query.matmul(&keys.transpose(1, 2)?)? * scale)?;
        let mask = match (&places.windowed, layer.window) {
            (Some(windowed), Some(_)) => Some(windowed),
            _ => places.mask,
        };
        if let Some(mask) = mask {
            weights = weights
                .reshape((batch, self.heads, tokens, total))?
                .broadcast_add(&mask.unsqueeze(1)?)?
                .reshape((batch * self.key_heads, group * tokens, total))?;
        }
        let mixed = softmax_last_dim(&weights)?
            .matmul(&values)?
            .reshape((batch, self.heads, tokens, self.head_width))?
            .transpose(1, 2)?
            .reshape((batch, tokens, self.heads * self.head_width))?;
        if n < cache.layers.len() {
            cache.layers[n] = (key, value);
        } else {
            cache.layers.push((key, value));
        }
        layer.output.forward(&mixed)
    }

    /// Logits of every position: `[batch, tokens, vocabulary]`.
    pub(super) fn logits(&self, hidden: &Tensor) -> Result<Tensor, EngineError> {
        product(&self.norm.forward(hidden, self.epsilon)?, &self.head)
    }

    /// Logits of the last position: `[batch, vocabulary]`.
    pub(super) fn last_logits(&self, hidden: &Tensor) -> Result<Tensor, EngineError> {
        let last = hidden.narrow(1, hidden.dim(1)? - 1, 1)?;
        Ok(self.logits(&last)?.squeeze(1)?)
    }
}

/// Rows of a table, one for each id of `[batch, tokens]`.
fn rows_of(table: &Tensor, ids: &Tensor) -> Result<Tensor, EngineError> {
    let (batch, tokens) = ids.dims2()?;
    let rows = table.index_select(&ids.flatten_all()?, 0)?;
    Ok(rows.reshape((batch, tokens, ()))?)
}

/// `x · wᵀ` over the last dimension.
fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor, EngineError> {
    let (batch, tokens, width) = x.dims3()?;
    let rows = x.reshape((batch * tokens, width))?;
    let product = if batch * tokens == 1 {
        rows.matmul(&weight.t()?)?
    } else {
        // With the weights on the left they are read once and not packed anew for each product.
        weight.matmul(&rows.t()?)?.t()?
    };
    Ok(product.reshape((batch, tokens, ()))?)
}

/// Cosines and sines of all positions: `[context, head width / 2]`.
pub(super) fn rotations(
    width: usize,
    context: usize,
    base: f64,
) -> Result<(Tensor, Tensor), EngineError> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "angles are f32 as in the reference"
    )]
    let frequencies: Vec<f32> = (0..width / 2)
        .map(|n| base.powf(-2.0 * n as f64 / width as f64) as f32)
        .collect();
    let frequencies = Tensor::from_vec(frequencies, (1, width / 2), &Device::Cpu)?;
    let positions = Tensor::arange(0, u32::try_from(context).unwrap_or(u32::MAX), &Device::Cpu)?
        .to_dtype(DType::F32)?
        .reshape((context, 1))?;
    let angles = positions.matmul(&frequencies)?;
    Ok((angles.cos()?, angles.sin()?))
}
