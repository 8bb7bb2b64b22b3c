//! GPT-2 from a folder as its makers publish it: `config.json`, `model.safetensors`, `tokenizer.json`.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use serde::Deserialize;

use super::EngineError;
use super::graph::{Activation, Graph, Layer, Linear, Norm, Positions};

/// What a folder says of its weights.
#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    n_head: usize,
    #[serde(default)]
    n_layer: usize,
    #[serde(default)]
    n_embd: usize,
    #[serde(default)]
    n_positions: usize,
    #[serde(default = "epsilon")]
    layer_norm_epsilon: f32,
    #[serde(default)]
    activation_function: Option<String>,
}

fn epsilon() -> f32 {
    1e-5
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> EngineError {
    EngineError::NotWeights {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// Reads the graph of a folder, and the name of its architecture.
pub(super) fn read(folder: &Path) -> Result<(String, Graph), EngineError> {
    let path = folder.join("config.json");
    let text = std::fs::read_to_string(&path).map_err(|source| EngineError::Io {
        path: path.clone(),
        source,
    })?;
    let config: Config = serde_json::from_str(&text).map_err(|error| unreadable(&path, error))?;
    if config.model_type != "gpt2" {
        return Err(EngineError::Architecture(config.model_type));
    }
    let activation = config.activation_function.as_deref().unwrap_or("gelu_new");
    if !["gelu_new", "gelu_pytorch_tanh"].contains(&activation) {
        return Err(EngineError::Architecture(format!("gpt2 with {activation}")));
    }
    if config.n_head == 0 || !config.n_embd.is_multiple_of(config.n_head) {
        return Err(EngineError::Missing(
            "n_head (a divisor of n_embd)".to_owned(),
        ));
    }
    let path = folder.join("model.safetensors");
    let tensors = candle_core::safetensors::load(&path, &Device::Cpu)
        .map_err(|error| unreadable(&path, error))?;
    Ok((
        config.model_type.clone(),
        graph(&config, &Tensors(tensors))?,
    ))
}

/// Tensors by name; some files put `transformer.` in front.
struct Tensors(HashMap<String, Tensor>);

impl Tensors {
    fn get(&self, name: &str) -> Result<Tensor, EngineError> {
        let tensor = self
            .0
            .get(name)
            .or_else(|| self.0.get(&format!("transformer.{name}")));
        let tensor = tensor.ok_or_else(|| EngineError::Missing(name.to_owned()))?;
        Ok(tensor.to_dtype(DType::F32)?)
    }

    fn norm(&self, name: &str) -> Result<Norm, EngineError> {
        let part = |kind: &str| self.get(&format!("{name}.{kind}"));
        Ok(Norm::Layer(part("weight")?, part("bias")?))
    }

    /// Weights are stored with inputs as rows, turned round here.
    fn linear(&self, name: &str) -> Result<Linear, EngineError> {
        let weight = self.get(&format!("{name}.weight"))?.t()?.contiguous()?;
        Ok(Linear {
            weight,
            bias: Some(self.get(&format!("{name}.bias"))?),
        })
    }
}

/// A third of a layer that computes queries, keys and values at once.
fn third(all: &Linear, part: usize, width: usize) -> Result<Linear, EngineError> {
    let cut = |x: &Tensor| x.narrow(0, part * width, width)?.contiguous();
    Ok(Linear {
        weight: cut(&all.weight)?,
        bias: all.bias.as_ref().map(cut).transpose()?,
    })
}

fn graph(config: &Config, tensors: &Tensors) -> Result<Graph, EngineError> {
    let layers = (0..config.n_layer)
        .map(|n| {
            let name = |part: &str| format!("h.{n}.{part}");
            let all = tensors.linear(&name("attn.c_attn"))?;
            Ok(Layer {
                attention_norm: tensors.norm(&name("ln_1"))?,
                query: third(&all, 0, config.n_embd)?,
                key: third(&all, 1, config.n_embd)?,
                value: third(&all, 2, config.n_embd)?,
                output: tensors.linear(&name("attn.c_proj"))?,
                head_norms: None,
                after_attention: None,
                feed_norm: tensors.norm(&name("ln_2"))?,
                gate: None,
                up: tensors.linear(&name("mlp.c_fc"))?,
                down: tensors.linear(&name("mlp.c_proj"))?,
                after_feed: None,
                table: 0,
                window: None,
            })
        })
        .collect::<Result<Vec<_>, EngineError>>()?;
    let embedding = tensors.get("wte.weight")?;
    Ok(Graph {
        head: embedding.clone(),
        embedding,
        embedding_scale: 1.0,
        positions: Positions::Learned(tensors.get("wpe.weight")?),
        layers,
        activation: Activation::GeluTanh,
        norm: tensors.norm("ln_f")?,
        heads: config.n_head,
        key_heads: config.n_head,
        head_width: config.n_embd / config.n_head,
        epsilon: config.layer_norm_epsilon,
        context: config.n_positions,
    })
}
