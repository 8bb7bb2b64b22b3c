//! The llama graph in f32: RMS norm, rotary positions, grouped-query attention, gated `SiLU`.

use candle_core::{DType, Device, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::rope_i;

use super::EngineError;
use super::gguf::Gguf;

struct Layer {
    attention_norm: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    feed_norm: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

/// A network of the llama architecture.
pub(super) struct Llama {
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    /// Rows of the vocabulary; the embedding itself where it is tied.
    head: Tensor,
    heads: usize,
    key_heads: usize,
    head_width: usize,
    epsilon: f32,
    context: usize,
    cos: Tensor,
    sin: Tensor,
}

/// Keys and values of the tokens seen so far, layer by layer, for a batch of sequences.
///
/// Sequences of different length end together: the shorter ones are padded at their beginning, and the padding is
/// masked out.
#[derive(Clone)]
pub(super) struct Cache {
    layers: Vec<(Tensor, Tensor)>,
    /// Tokens of each sequence, without padding.
    lengths: Vec<usize>,
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

    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// What each new token may see: `[batch, tokens, all]`, 0 or −∞; `None` if it is everything.
    fn mask(&self, tokens: usize) -> Result<Option<Tensor>, EngineError> {
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

fn ids(places: &[usize]) -> Result<Tensor, EngineError> {
    let places: Vec<u32> = places
        .iter()
        .map(|place| u32::try_from(*place).unwrap_or(u32::MAX))
        .collect();
    Ok(Tensor::new(places, &Device::Cpu)?)
}

impl Llama {
    pub(super) fn from_gguf(gguf: &mut Gguf) -> Result<Self, EngineError> {
        let heads = gguf.number("llama.attention.head_count")?;
        let key_heads = gguf
            .number("llama.attention.head_count_kv")
            .unwrap_or(heads);
        if heads == 0 || key_heads == 0 || heads % key_heads != 0 {
            return Err(EngineError::Missing(
                "llama.attention.head_count (a multiple of head_count_kv)".to_owned(),
            ));
        }
        let width = gguf.number("llama.embedding_length")?;
        let head_width = gguf
            .number("llama.rope.dimension_count")
            .unwrap_or(width / heads);
        let context = gguf.number("llama.context_length")?;
        let epsilon = gguf.float("llama.attention.layer_norm_rms_epsilon")?;
        let base = gguf.float("llama.rope.freq_base").unwrap_or(10_000.0);
        let layers = (0..gguf.number("llama.block_count")?)
            .map(|n| {
                let mut part = |name: &str| gguf.tensor(&format!("blk.{n}.{name}.weight"));
                Ok(Layer {
                    attention_norm: part("attn_norm")?,
                    query: part("attn_q")?,
                    key: part("attn_k")?,
                    value: part("attn_v")?,
                    output: part("attn_output")?,
                    feed_norm: part("ffn_norm")?,
                    gate: part("ffn_gate")?,
                    up: part("ffn_up")?,
                    down: part("ffn_down")?,
                })
            })
            .collect::<Result<Vec<_>, EngineError>>()?;
        let embedding = gguf.tensor("token_embd.weight")?;
        let head = if gguf.has_tensor("output.weight") {
            gguf.tensor("output.weight")?
        } else {
            embedding.clone()
        };
        let (cos, sin) = rotations(head_width, context, base)?;
        #[expect(clippy::cast_possible_truncation, reason = "the graph computes in f32")]
        Ok(Self {
            norm: gguf.tensor("output_norm.weight")?,
            embedding,
            layers,
            head,
            heads,
            key_heads,
            head_width,
            epsilon: epsilon as f32,
            context,
            cos,
            sin,
        })
    }

    /// Tokens that the model can hold.
    pub(super) fn context(&self) -> usize {
        self.context
    }

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

    /// Hidden states of tokens `[batch, tokens]` at these positions, each of which sees what the mask lets it. Their keys and
    /// values go to the end of the cache.
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
                .index_select(&self::ids(positions)?, 0)?
                .reshape((batch, tokens, ()))?)
        };
        let (cos, sin) = (rows(&self.cos)?, rows(&self.sin)?);
        let mut x = self
            .embedding
            .index_select(&ids.flatten_all()?, 0)?
            .reshape((batch, tokens, ()))?;
        for (n, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&x, &layer.attention_norm, self.epsilon)?;
            let attended = self.attend(layer, n, &normed, (&cos, &sin), mask, cache)?;
            x = (x + attended)?;
            let normed = rms_norm(&x, &layer.feed_norm, self.epsilon)?;
            let gated = (silu(&linear(&normed, &layer.gate)?)? * linear(&normed, &layer.up)?)?;
            x = (x + linear(&gated, &layer.down)?)?;
        }
        Ok(x)
    }

    fn attend(
        &self,
        layer: &Layer,
        n: usize,
        x: &Tensor,
        (cos, sin): (&Tensor, &Tensor),
        mask: Option<&Tensor>,
        cache: &mut Cache,
    ) -> Result<Tensor, EngineError> {
        let (batch, tokens, _) = x.dims3()?;
        let split = |x: Tensor, heads: usize| {
            x.reshape((batch, tokens, heads, self.head_width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = rope_i(&split(linear(x, &layer.query)?, self.heads)?, cos, sin)?;
        let key = rope_i(&split(linear(x, &layer.key)?, self.key_heads)?, cos, sin)?;
        let value = split(linear(x, &layer.value)?, self.key_heads)?;
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
        linear(&mixed, &layer.output)
    }

    /// Logits of every position: `[batch, tokens, vocabulary]`.
    pub(super) fn logits(&self, hidden: &Tensor) -> Result<Tensor, EngineError> {
        let normed = rms_norm(&hidden.contiguous()?, &self.norm, self.epsilon)?;
        linear(&normed, &self.head)
    }

    /// Logits of the last position: `[batch, vocabulary]`.
    pub(super) fn last_logits(&self, hidden: &Tensor) -> Result<Tensor, EngineError> {
        let last = hidden.narrow(1, hidden.dim(1)? - 1, 1)?;
        Ok(self.logits(&last)?.squeeze(1)?)
    }
}

/// `x · wᵀ` over the last dimension.
fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor, EngineError> {
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
fn rotations(width: usize, context: usize, base: f64) -> Result<(Tensor, Tensor), EngineError> {
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
