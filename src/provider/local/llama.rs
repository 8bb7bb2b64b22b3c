//! Weights of GGUF files whose graph is llama's or near it: llama, qwen2 and gemma3.

use super::EngineError;
use super::gguf::Gguf;
use super::graph::{Activation, Graph, Layer, Linear, Norm, Positions, rotations};

/// Tokens between two layers of gemma3 that see everything.
const GEMMA_PATTERN: usize = 6;

/// Base of the turns in layers of gemma3 with a window.
const GEMMA_LOCAL_BASE: f64 = 10_000.0;

/// The graph of an architecture; `None` if it is not known.
pub(super) fn graph_of(architecture: &str, gguf: &mut Gguf) -> Result<Option<Graph>, EngineError> {
    Ok(match architecture {
        "llama" | "qwen2" | "gemma3" => Some(read(architecture, gguf)?),
        _ => None,
    })
}

fn read(architecture: &str, gguf: &mut Gguf) -> Result<Graph, EngineError> {
    let gemma = architecture == "gemma3";
    let key = |name: &str| format!("{architecture}.{name}");
    let heads = gguf.number(&key("attention.head_count"))?;
    let key_heads = gguf
        .number(&key("attention.head_count_kv"))
        .unwrap_or(heads);
    if heads == 0 || key_heads == 0 || heads % key_heads != 0 {
        return Err(EngineError::Missing(format!(
            "{} (a multiple of head_count_kv)",
            key("attention.head_count")
        )));
    }
    let width = gguf.number(&key("embedding_length"))?;
    let head_width = gguf
        .number(&key("attention.key_length"))
        .or_else(|_| gguf.number(&key("rope.dimension_count")))
        .unwrap_or(width / heads);
    let context = gguf.number(&key("context_length"))?;
    let epsilon = gguf.float(&key("attention.layer_norm_rms_epsilon"))?;
    let base = gguf.float(&key("rope.freq_base")).unwrap_or(10_000.0);
    let scaled = gguf
        .float(&key("rope.scaling.factor"))
        .is_ok_and(|factor| factor != 1.0);
    if scaled {
        return Err(EngineError::Architecture(format!(
            "{architecture} with scaled positions"
        )));
    }
    let window = gguf
        .number(&key("attention.sliding_window"))
        .ok()
        .filter(|_| gemma);
    let layers = (0..gguf.number(&key("block_count"))?)
        .map(|n| layer(gguf, n, gemma, window))
        .collect::<Result<Vec<_>, EngineError>>()?;
    let embedding = gguf.tensor("token_embd.weight")?;
    let head = if gguf.has_tensor("output.weight") {
        gguf.tensor("output.weight")?
    } else {
        embedding.clone()
    };
    let mut tables = vec![rotations(head_width, context, base)?];
    if gemma {
        tables.push(rotations(head_width, context, GEMMA_LOCAL_BASE)?);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the graph computes in f32"
    )]
    Ok(Graph {
        embedding,
        embedding_scale: if gemma { (width as f64).sqrt() } else { 1.0 },
        positions: Positions::Rotary {
            // The files of llama hold their rows in the order that pairs neighbours.
            neighbours: architecture == "llama",
            tables,
        },
        layers,
        activation: if gemma {
            Activation::GeluTanh
        } else {
            Activation::Silu
        },
        norm: Norm::Rms(gguf.tensor("output_norm.weight")?),
        head,
        heads,
        key_heads,
        head_width,
        epsilon: epsilon as f32,
        context,
    })
}

fn layer(
    gguf: &mut Gguf,
    n: usize,
    gemma: bool,
    window: Option<usize>,
) -> Result<Layer, EngineError> {
    let name = |part: &str, kind: &str| format!("blk.{n}.{part}.{kind}");
    let linear = |gguf: &mut Gguf, part: &str| -> Result<Linear, EngineError> {
        let bias = name(part, "bias");
        Ok(Linear {
            weight: gguf.tensor(&name(part, "weight"))?,
            bias: if gguf.has_tensor(&bias) {
                Some(gguf.tensor(&bias)?)
            } else {
                None
            },
        })
    };
    let norm = |gguf: &mut Gguf, part: &str| -> Result<Norm, EngineError> {
        Ok(Norm::Rms(gguf.tensor(&name(part, "weight"))?))
    };
    let of_gemma = |gguf: &mut Gguf, part: &str| gemma.then(|| norm(gguf, part)).transpose();
    let sees_all = (n + 1).is_multiple_of(GEMMA_PATTERN);
    Ok(Layer {
        attention_norm: norm(gguf, "attn_norm")?,
        query: linear(gguf, "attn_q")?,
        key: linear(gguf, "attn_k")?,
        value: linear(gguf, "attn_v")?,
        output: linear(gguf, "attn_output")?,
        head_norms: of_gemma(gguf, "attn_q_norm")?.zip(of_gemma(gguf, "attn_k_norm")?),
        after_attention: of_gemma(gguf, "post_attention_norm")?,
        feed_norm: norm(gguf, "ffn_norm")?,
        gate: Some(linear(gguf, "ffn_gate")?),
        up: linear(gguf, "ffn_up")?,
        down: linear(gguf, "ffn_down")?,
        after_feed: of_gemma(gguf, "post_ffw_norm")?,
        table: usize::from(gemma && !sees_all),
        window: window.filter(|_| !sees_all),
    })
}
