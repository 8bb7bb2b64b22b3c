//! The engine on a tiny random model, made here and compared with a plain implementation in f64.

use std::collections::HashMap;
use std::ops::ControlFlow;

use candle_core::quantized::gguf_file::{Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use serde_json::json;
use wheel::domain::{Sampling, Scoring, ScoringMode};
use wheel::provider::local::{Engine, Request};

const WIDTH: usize = 32;
const HEADS: usize = 4;
const KEY_HEADS: usize = 2;
const HEAD: usize = WIDTH / HEADS;
const FEED: usize = 48;
const EPSILON: f64 = 1e-5;
const BASE: f64 = 10_000.0;
/// Base of the layers of gemma3 that see everything.
const WIDE_BASE: f64 = 50_000.0;
/// Tokens that the other layers of gemma3 see.
const WINDOW: usize = 5;

/// What an architecture of GGUF files has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Llama,
    Qwen2,
    Gemma3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Gemma3 => "gemma3",
        }
    }

    /// Every sixth layer of gemma3 sees everything.
    fn layers(self) -> usize {
        if self == Self::Gemma3 { 7 } else { 2 }
    }
}

/// Weights by name, row after row.
type Weights = HashMap<String, (Vec<f32>, Vec<usize>)>;

fn tokens() -> Vec<String> {
    let special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(str::to_owned);
    let letters = ('a'..='z').chain('0'..='9').map(String::from);
    special
        .into_iter()
        .chain(letters)
        .chain(["ab".to_owned()])
        .collect()
}

fn weights(kind: Kind) -> Weights {
    // A small linear congruential stream: the values matter little, that they differ does.
    let mut state = 1974_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss, reason = "any small number will do")]
        let unit = (state >> 40) as f32 / (1_u64 << 24) as f32;
        unit - 0.5
    };
    let mut all = Weights::new();
    let mut add = |name: String, shape: &[usize], around: f32| {
        let n = shape.iter().product();
        let values = (0..n).map(|_| around + next()).collect();
        all.insert(name, (values, shape.to_vec()));
    };
    add("token_embd.weight".into(), &[tokens().len(), WIDTH], 0.0);
    add("output_norm.weight".into(), &[WIDTH], 1.0);
    for n in 0..kind.layers() {
        for (part, shape, around) in [
            ("attn_norm", vec![WIDTH], 1.0),
            ("attn_q", vec![WIDTH, WIDTH], 0.0),
            ("attn_k", vec![KEY_HEADS * HEAD, WIDTH], 0.0),
            ("attn_v", vec![KEY_HEADS * HEAD, WIDTH], 0.0),
            ("attn_output", vec![WIDTH, WIDTH], 0.0),
            ("ffn_norm", vec![WIDTH], 1.0),
            ("ffn_gate", vec![FEED, WIDTH], 0.0),
            ("ffn_up", vec![FEED, WIDTH], 0.0),
            ("ffn_down", vec![WIDTH, FEED], 0.0),
        ] {
            add(format!("blk.{n}.{part}.weight"), &shape, around);
        }
        let more: &[(&str, usize, f32)] = match kind {
            Kind::Llama => &[],
            Kind::Qwen2 => &[
                ("attn_q.bias", WIDTH, 0.0),
                ("attn_k.bias", KEY_HEADS * HEAD, 0.0),
                ("attn_v.bias", KEY_HEADS * HEAD, 0.0),
            ],
            Kind::Gemma3 => &[
                ("attn_q_norm.weight", HEAD, 1.0),
                ("attn_k_norm.weight", HEAD, 1.0),
                ("post_attention_norm.weight", WIDTH, 1.0),
                ("post_ffw_norm.weight", WIDTH, 1.0),
            ],
        };
        for (part, width, around) in more {
            add(format!("blk.{n}.{part}"), &[*width], *around);
        }
    }
    all
}

fn number(value: usize) -> Value {
    Value::U32(u32::try_from(value).unwrap())
}

fn write_model(kind: Kind, path: &std::path::Path) {
    write_as(kind.name(), kind, path);
}

fn write_as(architecture: &str, kind: Kind, path: &std::path::Path) {
    let texts = |list: Vec<String>| Value::Array(list.into_iter().map(Value::String).collect());
    let types = tokens()
        .iter()
        .map(|token| Value::I32(if token.starts_with('<') { 3 } else { 1 }))
        .collect();
    // "ab" is the best piece; single letters are pieces too.
    #[expect(clippy::cast_precision_loss, reason = "some forty tokens")]
    let scores = (0..tokens().len())
        .map(|place| {
            Value::F32(if tokens()[place] == "ab" {
                1.0
            } else {
                -(place as f32)
            })
        })
        .collect();
    let (model, split) = match kind {
        Kind::Llama => ("gpt2", "smollm"),
        Kind::Qwen2 => ("gpt2", "qwen2"),
        Kind::Gemma3 => ("llama", "default"),
    };
    let base = if kind == Kind::Gemma3 {
        WIDE_BASE
    } else {
        BASE
    };
    let text = |text: &str| Value::String(text.to_owned());
    let of = |name: &str| format!("{architecture}.{name}");
    #[expect(clippy::cast_possible_truncation, reason = "the file holds f32")]
    let metadata = [
        ("general.architecture".to_owned(), text(architecture)),
        (of("block_count"), number(kind.layers())),
        (of("context_length"), number(64)),
        (of("embedding_length"), number(WIDTH)),
        (of("attention.head_count"), number(HEADS)),
        (of("attention.head_count_kv"), number(KEY_HEADS)),
        (of("attention.key_length"), number(HEAD)),
        (of("attention.sliding_window"), number(WINDOW)),
        (of("rope.freq_base"), Value::F32(base as f32)),
        (
            of("attention.layer_norm_rms_epsilon"),
            Value::F32(EPSILON as f32),
        ),
        ("tokenizer.ggml.model".to_owned(), text(model)),
        ("tokenizer.ggml.pre".to_owned(), text(split)),
        ("tokenizer.ggml.tokens".to_owned(), texts(tokens())),
        ("tokenizer.ggml.scores".to_owned(), Value::Array(scores)),
        ("tokenizer.ggml.token_type".to_owned(), Value::Array(types)),
        (
            "tokenizer.ggml.merges".to_owned(),
            texts(vec!["a b".to_owned()]),
        ),
        ("tokenizer.ggml.bos_token_id".to_owned(), number(1)),
        (
            "tokenizer.ggml.add_bos_token".to_owned(),
            Value::Bool(kind == Kind::Gemma3),
        ),
        (
            "tokenizer.ggml.add_space_prefix".to_owned(),
            Value::Bool(false),
        ),
        ("tokenizer.ggml.eos_token_id".to_owned(), number(2)),
    ];
    let metadata: Vec<(&str, &Value)> = metadata
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    let tensors: Vec<(String, QTensor)> = weights(kind)
        .into_iter()
        .map(|(name, (values, shape))| {
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
            (name, QTensor::quantize(&tensor, GgmlDType::F32).unwrap())
        })
        .collect();
    let tensors: Vec<(&str, &QTensor)> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();
    let mut file = std::fs::File::create(path).unwrap();
    write(&mut file, &metadata, &tensors).unwrap();
}

/// The same network in plain loops.
struct Plain(Kind, Weights);

impl Plain {
    fn new(kind: Kind) -> Self {
        Self(kind, weights(kind))
    }

    fn times(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (values, _) = &self.1[&format!("{name}.weight")];
        let mut out: Vec<f64> = values
            .chunks(x.len())
            .map(|row| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum())
            .collect();
        if let Some((bias, _)) = self.1.get(&format!("{name}.bias")) {
            for (out, bias) in out.iter_mut().zip(bias) {
                *out += f64::from(*bias);
            }
        }
        out
    }

    /// Divides by the root of the mean square, over parts as long as the weights; what has no weights stays.
    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let Some((weights, _)) = self.1.get(&format!("{name}.weight")) else {
            return x.to_vec();
        };
        x.chunks(weights.len())
            .flat_map(|part| {
                #[expect(clippy::cast_precision_loss, reason = "at most 32")]
                let mean = part.iter().map(|x| x * x).sum::<f64>() / part.len() as f64;
                let scale = 1.0 / (mean + EPSILON).sqrt();
                let scaled = part.iter().zip(weights);
                scaled
                    .map(move |(x, w)| f64::from(*w) * x * scale)
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Log-probabilities after the last token.
    fn last(&self, ids: &[u32]) -> Vec<f64> {
        let gemma = self.0 == Kind::Gemma3;
        let embedding = &self.1["token_embd.weight"].0;
        #[expect(clippy::cast_precision_loss, reason = "32")]
        let scale = if gemma { (WIDTH as f64).sqrt() } else { 1.0 };
        let mut states: Vec<Vec<f64>> = ids
            .iter()
            .map(|id| {
                embedding[*id as usize * WIDTH..][..WIDTH]
                    .iter()
                    .map(|x| f64::from(*x) * scale)
                    .collect()
            })
            .collect();
        for n in 0..self.0.layers() {
            let name = |part: &str| format!("blk.{n}.{part}");
            let sees_all = !gemma || (n + 1) % 6 == 0;
            let base = if gemma && sees_all { WIDE_BASE } else { BASE };
            let normed: Vec<Vec<f64>> = states
                .iter()
                .map(|x| self.norm(&name("attn_norm"), x))
                .collect();
            let project = |part: &str| -> Vec<Vec<f64>> {
                let projected = normed.iter().map(|x| self.times(&name(part), x));
                projected
                    .map(|x| self.norm(&name(&format!("{part}_norm")), &x))
                    .collect()
            };
            let (mut queries, mut keys, values) =
                (project("attn_q"), project("attn_k"), project("attn_v"));
            for (position, (query, key)) in queries.iter_mut().zip(&mut keys).enumerate() {
                rotate(query, position, base, self.0 == Kind::Llama);
                rotate(key, position, base, self.0 == Kind::Llama);
            }
            for (at, state) in states.iter_mut().enumerate() {
                let first = if sees_all {
                    0
                } else {
                    (at + 1).saturating_sub(WINDOW)
                };
                let mut mixed = vec![0.0; WIDTH];
                for head in 0..HEADS {
                    let key_head = head / (HEADS / KEY_HEADS);
                    let part = |x: &[f64], head: usize| x[head * HEAD..][..HEAD].to_vec();
                    let query = part(&queries[at], head);
                    #[expect(clippy::cast_precision_loss, reason = "8")]
                    let scores: Vec<f64> = (first..=at)
                        .map(|past| {
                            dot(&query, &part(&keys[past], key_head)) / (HEAD as f64).sqrt()
                        })
                        .collect();
                    let weights = softmax(&scores);
                    for (past, weight) in (first..).zip(&weights) {
                        for (out, value) in mixed[head * HEAD..]
                            .iter_mut()
                            .zip(part(&values[past], key_head))
                        {
                            *out += weight * value;
                        }
                    }
                }
                let attended = self.times(&name("attn_output"), &mixed);
                add(state, &self.norm(&name("post_attention_norm"), &attended));
                let normed = self.norm(&name("ffn_norm"), state);
                let gate = self.times(&name("ffn_gate"), &normed);
                let up = self.times(&name("ffn_up"), &normed);
                let bend = if gemma { gelu } else { silu };
                let gated: Vec<f64> = gate.iter().zip(up).map(|(g, u)| bend(*g) * u).collect();
                let fed = self.times(&name("ffn_down"), &gated);
                add(state, &self.norm(&name("post_ffw_norm"), &fed));
            }
        }
        let last = self.norm("output_norm", states.last().unwrap());
        log_softmax(&self.times("token_embd", &last))
    }
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn log_softmax(x: &[f64]) -> Vec<f64> {
    softmax(x).into_iter().map(f64::ln).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(x: &mut [f64], y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = x.iter().map(|x| (x - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Rotary positions, head by head, on neighbours or on the halves of a head.
fn rotate(x: &mut [f64], position: usize, base: f64, neighbours: bool) {
    for head in x.chunks_mut(HEAD) {
        for n in 0..HEAD / 2 {
            let (a, b) = if neighbours {
                (2 * n, 2 * n + 1)
            } else {
                (n, n + HEAD / 2)
            };
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let angle = position as f64 * base.powf(-2.0 * n as f64 / HEAD as f64);
            let (sin, cos) = angle.sin_cos();
            (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
        }
    }
}

/// Probabilities after a prompt, of two tokens in a row, and of answers as a tree are those of plain loops.
fn agrees(engine: &Engine, prompt_text: &str, last: &dyn Fn(&[u32]) -> Vec<f64>) {
    let prompt = engine.encode(prompt_text).unwrap();
    let wanted = last(&prompt);
    for id in [3_u32, 17, 39] {
        let found = engine.log_probability(&prompt, &[id]).unwrap();
        let wanted = wanted[id as usize];
        assert!((found - wanted).abs() < 2e-4, "{found} for {wanted}");
    }
    let both = engine.log_probability(&prompt, &[5, 9]).unwrap();
    let mut longer = prompt.clone();
    longer.push(5);
    let sum = wanted[5] + last(&longer)[9];
    assert!((both - sum).abs() < 2e-4, "{both} for {sum}");
    // Answers that share their beginnings; the blank before them has no token here, so they follow at once.
    let scoring = Scoring {
        mode: ScoringMode::Exact,
        targets: ["1", "12", "123", "13", "2", "cab1"].map(Into::into).into(),
    };
    let scored = engine.score(prompt_text, &scoring).unwrap();
    for (target, found) in scoring.targets.iter().zip(scored.log_probabilities) {
        let mut ids = prompt.clone();
        let joint = engine.encode(&format!("{prompt_text} {target}")).unwrap();
        let mut wanted = 0.0;
        for id in &joint[prompt.len()..] {
            wanted += last(&ids)[*id as usize];
            ids.push(*id);
        }
        let found = found.unwrap();
        assert!(
            (found - wanted).abs() < 1e-3,
            "{target}: {found} for {wanted}"
        );
    }
}

#[test]
fn every_architecture_of_gguf_files_agrees_with_plain_loops() {
    for kind in [Kind::Llama, Kind::Qwen2, Kind::Gemma3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.gguf");
        write_model(kind, &path);
        let engine = Engine::load(&path, 1).unwrap();
        // "ab" is one token by the merge, digits stand alone; gemma3 begins every text with a token of its own.
        let ids = engine.encode("abc12").unwrap();
        let begin: &[u32] = if kind == Kind::Gemma3 { &[1] } else { &[] };
        assert_eq!(ids, [begin, &[39, 5, 30, 31]].concat(), "{kind:?}");
        assert_eq!(engine.decode(&ids).unwrap(), "abc12", "{kind:?}");
        let plain = Plain::new(kind);
        agrees(&engine, "hello12world", &|ids| plain.last(ids));
    }
}

/// GPT-2 in plain loops.
struct PlainGpt2(Weights);

const POSITIONS: usize = 64;

impl PlainGpt2 {
    fn weights() -> Weights {
        let source = weights(Kind::Gemma3);
        // Any numbers will do: taken round and round from those of another network.
        let mut stream = source["token_embd.weight"].0.iter().copied().cycle();
        let mut all = Weights::new();
        let mut add = |name: String, shape: &[usize], around: f32| {
            let n = shape.iter().product();
            let values = (0..n).map(|_| around + stream.next().unwrap()).collect();
            all.insert(name, (values, shape.to_vec()));
        };
        add("wte.weight".into(), &[tokens().len(), WIDTH], 0.0);
        add("wpe.weight".into(), &[POSITIONS, WIDTH], 0.0);
        for (name, around) in [("ln_f.weight", 1.0), ("ln_f.bias", 0.0)] {
            add(name.into(), &[WIDTH], around);
        }
        for n in 0..2 {
            for (part, shape, around) in [
                ("ln_1.weight", vec![WIDTH], 1.0),
                ("ln_1.bias", vec![WIDTH], 0.0),
                ("attn.c_attn.weight", vec![WIDTH, 3 * WIDTH], 0.0),
                ("attn.c_attn.bias", vec![3 * WIDTH], 0.0),
                ("attn.c_proj.weight", vec![WIDTH, WIDTH], 0.0),
                ("attn.c_proj.bias", vec![WIDTH], 0.0),
                ("ln_2.weight", vec![WIDTH], 1.0),
                ("ln_2.bias", vec![WIDTH], 0.0),
                ("mlp.c_fc.weight", vec![WIDTH, FEED], 0.0),
                ("mlp.c_fc.bias", vec![FEED], 0.0),
                ("mlp.c_proj.weight", vec![FEED, WIDTH], 0.0),
                ("mlp.c_proj.bias", vec![WIDTH], 0.0),
            ] {
                add(format!("h.{n}.{part}"), &shape, around);
            }
        }
        all
    }

    /// A folder as the makers of GPT-2 publish it.
    fn write(folder: &std::path::Path) {
        let tensors: HashMap<String, Tensor> = Self::weights()
            .into_iter()
            .map(|(name, (values, shape))| {
                (name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap())
            })
            .collect();
        candle_core::safetensors::save(&tensors, folder.join("model.safetensors")).unwrap();
        let config = json!({"model_type": "gpt2", "n_head": HEADS, "n_layer": 2, "n_embd": WIDTH,
            "n_positions": POSITIONS, "layer_norm_epsilon": EPSILON, "activation_function": "gelu_new"});
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let vocabulary: serde_json::Map<String, serde_json::Value> = tokens()
            .into_iter()
            .zip(0..)
            .map(|(token, id)| (token, json!(id)))
            .collect();
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        let tokenizer = json!({"version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [{"id": 0, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
            "normalizer": null, "pre_tokenizer": byte_level, "post_processor": null, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": ["a b"]}});
        std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        #[expect(clippy::cast_precision_loss, reason = "32")]
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let (weights, bias) = (
            &self.0[&format!("{name}.weight")].0,
            &self.0[&format!("{name}.bias")].0,
        );
        x.iter()
            .zip(weights.iter().zip(bias))
            .map(|(x, (w, b))| {
                (x - mean) / (variance + EPSILON).sqrt() * f64::from(*w) + f64::from(*b)
            })
            .collect()
    }

    /// Weights with inputs as rows.
    fn times(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (values, shape) = &self.0[&format!("{name}.weight")];
        let bias = &self.0[&format!("{name}.bias")].0;
        (0..shape[1])
            .map(|out| {
                let inputs = x.iter().enumerate();
                let sum: f64 = inputs
                    .map(|(at, x)| f64::from(values[at * shape[1] + out]) * x)
                    .sum();
                sum + f64::from(bias[out])
            })
            .collect()
    }

    fn last(&self, ids: &[u32]) -> Vec<f64> {
        let row = |name: &str, at: usize| -> Vec<f64> {
            let values = &self.0[name].0[at * WIDTH..][..WIDTH];
            values.iter().map(|x| f64::from(*x)).collect()
        };
        let mut states: Vec<Vec<f64>> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| {
                let mut state = row("wte.weight", *id as usize);
                add(&mut state, &row("wpe.weight", at));
                state
            })
            .collect();
        for n in 0..2 {
            let name = |part: &str| format!("h.{n}.{part}");
            let all: Vec<Vec<f64>> = states
                .iter()
                .map(|x| self.times(&name("attn.c_attn"), &self.norm(&name("ln_1"), x)))
                .collect();
            for (at, state) in states.iter_mut().enumerate() {
                let mut mixed = vec![0.0; WIDTH];
                for head in 0..HEADS {
                    let part = |place: usize, third: usize| {
                        all[place][third * WIDTH + head * HEAD..][..HEAD].to_vec()
                    };
                    #[expect(clippy::cast_precision_loss, reason = "8")]
                    let scores: Vec<f64> = (0..=at)
                        .map(|past| dot(&part(at, 0), &part(past, 1)) / (HEAD as f64).sqrt())
                        .collect();
                    for (past, weight) in softmax(&scores).into_iter().enumerate() {
                        for (out, value) in mixed[head * HEAD..].iter_mut().zip(part(past, 2)) {
                            *out += weight * value;
                        }
                    }
                }
                add(state, &self.times(&name("attn.c_proj"), &mixed));
                let fed = self.times(&name("mlp.c_fc"), &self.norm(&name("ln_2"), state));
                let bent: Vec<f64> = fed.into_iter().map(gelu).collect();
                add(state, &self.times(&name("mlp.c_proj"), &bent));
            }
        }
        let last = self.norm("ln_f", states.last().unwrap());
        let logits: Vec<f64> = (0..tokens().len())
            .map(|id| dot(&row("wte.weight", id), &last))
            .collect();
        log_softmax(&logits)
    }
}

#[test]
fn a_folder_of_gpt2_agrees_with_plain_loops_and_another_is_named() {
    let folder = tempfile::tempdir().unwrap();
    PlainGpt2::write(folder.path());
    let engine = Engine::load(folder.path(), 1).unwrap();
    assert_eq!(engine.encode("abc12").unwrap(), [39, 5, 30, 31]);
    let plain = PlainGpt2(PlainGpt2::weights());
    agrees(&engine, "hello12world", &|ids| plain.last(ids));
    std::fs::write(
        folder.path().join("config.json"),
        "{\"model_type\": \"bloom\"}",
    )
    .unwrap();
    let Err(error) = Engine::load(folder.path(), 1) else {
        panic!("loaded")
    };
    assert!(
        error.to_string().contains("`bloom` is not built in"),
        "{error}"
    );
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let Err(error) = Engine::load(folder.path(), 1) else {
        panic!("loaded")
    };
    assert!(error.to_string().contains("config.json"), "{error}");
}

#[test]
fn greedy_replies_take_the_likeliest_token_each_time_alone_and_in_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    write_model(Kind::Llama, &path);
    let engine = Engine::load(&path, 1).unwrap();
    let plain = Plain::new(Kind::Llama);
    let settings = Sampling {
        max_output_tokens: Some(5),
        ..Sampling::default()
    };
    let prompts: Vec<Vec<u32>> = ["a", "hello", "hello12", "zz9"]
        .iter()
        .map(|text| engine.encode(text).unwrap())
        .collect();
    let requests: Vec<Request> = prompts
        .iter()
        .map(|prompt| Request {
            prompt: prompt.clone(),
            sampling: settings.clone(),
            line: None,
        })
        .collect();
    let mut replies = vec![Vec::new(); requests.len()];
    engine
        .generate(&requests, &mut |reply| {
            replies[reply.request] = reply.ids;
            ControlFlow::Continue(())
        })
        .unwrap();
    for (prompt, reply) in prompts.iter().zip(replies) {
        let mut ids = prompt.clone();
        for _ in 0..5 {
            let next = plain
                .last(&ids)
                .iter()
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(b.1))
                .unwrap()
                .0;
            let next = u32::try_from(next).unwrap();
            if [0, 2].contains(&next) {
                break;
            }
            ids.push(next);
        }
        assert_eq!(reply, ids[prompt.len()..]);
    }
}

#[test]
fn an_unknown_architecture_is_named_and_points_to_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.gguf");
    write_as("mamba", Kind::Llama, &path);
    let Err(error) = Engine::load(&path, 1) else {
        panic!("loaded")
    };
    let error = error.to_string();
    assert!(
        error.contains("`mamba`") && error.contains("--model http://localhost:8000/v1#name"),
        "{error}"
    );
}
