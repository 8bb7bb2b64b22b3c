//! The engine on a tiny random model, made here and compared with a plain implementation in f64.

use std::collections::HashMap;
use std::ops::ControlFlow;

use candle_core::quantized::gguf_file::{Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use wheel::domain::Sampling;
use wheel::provider::local::Engine;

const WIDTH: usize = 32;
const HEADS: usize = 4;
const KEY_HEADS: usize = 2;
const HEAD: usize = WIDTH / HEADS;
const FEED: usize = 48;
const LAYERS: usize = 2;
const EPSILON: f64 = 1e-5;
const BASE: f64 = 10_000.0;

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

fn weights() -> Weights {
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
    for n in 0..LAYERS {
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
    }
    all
}

fn number(value: usize) -> Value {
    Value::U32(u32::try_from(value).unwrap())
}

fn write_model(architecture: &str, path: &std::path::Path) {
    let texts = |list: Vec<String>| Value::Array(list.into_iter().map(Value::String).collect());
    let types = tokens()
        .iter()
        .map(|token| Value::I32(if token.starts_with('<') { 3 } else { 1 }))
        .collect();
    #[expect(clippy::cast_possible_truncation, reason = "the file holds f32")]
    let metadata = [
        (
            "general.architecture",
            Value::String(architecture.to_owned()),
        ),
        ("llama.block_count", number(LAYERS)),
        ("llama.context_length", number(64)),
        ("llama.embedding_length", number(WIDTH)),
        ("llama.attention.head_count", number(HEADS)),
        ("llama.attention.head_count_kv", number(KEY_HEADS)),
        ("llama.rope.dimension_count", number(HEAD)),
        ("llama.rope.freq_base", Value::F32(BASE as f32)),
        (
            "llama.attention.layer_norm_rms_epsilon",
            Value::F32(EPSILON as f32),
        ),
        ("tokenizer.ggml.model", Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.pre", Value::String("smollm".to_owned())),
        ("tokenizer.ggml.tokens", texts(tokens())),
        ("tokenizer.ggml.token_type", Value::Array(types)),
        ("tokenizer.ggml.merges", texts(vec!["a b".to_owned()])),
        ("tokenizer.ggml.eos_token_id", number(2)),
    ];
    let metadata: Vec<(&str, &Value)> = metadata
        .iter()
        .map(|(name, value)| (*name, value))
        .collect();
    let tensors: Vec<(String, QTensor)> = weights()
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
struct Plain(Weights);

impl Plain {
    fn times(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (values, _) = &self.0[name];
        values
            .chunks(x.len())
            .map(|row| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum())
            .collect()
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        #[expect(clippy::cast_precision_loss, reason = "32")]
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (mean + EPSILON).sqrt();
        self.0[name]
            .0
            .iter()
            .zip(x)
            .map(|(w, x)| f64::from(*w) * x * scale)
            .collect()
    }

    /// Log-probabilities after the last token.
    fn last(&self, ids: &[u32]) -> Vec<f64> {
        let embedding = &self.0["token_embd.weight"].0;
        let mut states: Vec<Vec<f64>> = ids
            .iter()
            .map(|id| {
                embedding[*id as usize * WIDTH..][..WIDTH]
                    .iter()
                    .map(|x| f64::from(*x))
                    .collect()
            })
            .collect();
        for n in 0..LAYERS {
            let name = |part: &str| format!("blk.{n}.{part}.weight");
            let normed: Vec<Vec<f64>> = states
                .iter()
                .map(|x| self.norm(&name("attn_norm"), x))
                .collect();
            let project = |part: &str| -> Vec<Vec<f64>> {
                normed.iter().map(|x| self.times(&name(part), x)).collect()
            };
            let (mut queries, mut keys, values) =
                (project("attn_q"), project("attn_k"), project("attn_v"));
            for (position, (query, key)) in queries.iter_mut().zip(&mut keys).enumerate() {
                rotate(query, position);
                rotate(key, position);
            }
            for (at, state) in states.iter_mut().enumerate() {
                let mut mixed = vec![0.0; WIDTH];
                for head in 0..HEADS {
                    let key_head = head / (HEADS / KEY_HEADS);
                    let part = |x: &[f64], head: usize| x[head * HEAD..][..HEAD].to_vec();
                    let query = part(&queries[at], head);
                    #[expect(clippy::cast_precision_loss, reason = "8")]
                    let scores: Vec<f64> = (0..=at)
                        .map(|past| {
                            dot(&query, &part(&keys[past], key_head)) / (HEAD as f64).sqrt()
                        })
                        .collect();
                    let weights = softmax(&scores);
                    for (past, weight) in weights.iter().enumerate() {
                        for (out, value) in mixed[head * HEAD..]
                            .iter_mut()
                            .zip(part(&values[past], key_head))
                        {
                            *out += weight * value;
                        }
                    }
                }
                add(state, &self.times(&name("attn_output"), &mixed));
                let normed = self.norm(&name("ffn_norm"), state);
                let gate = self.times(&name("ffn_gate"), &normed);
                let up = self.times(&name("ffn_up"), &normed);
                let gated: Vec<f64> = gate
                    .iter()
                    .zip(up)
                    .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
                    .collect();
                add(state, &self.times(&name("ffn_down"), &gated));
            }
        }
        let last = self.norm("output_norm.weight", states.last().unwrap());
        softmax(&self.times("token_embd.weight", &last))
            .into_iter()
            .map(f64::ln)
            .collect()
    }
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

/// Rotary positions on neighbouring pairs, head by head.
fn rotate(x: &mut [f64], position: usize) {
    for head in x.chunks_mut(HEAD) {
        for (n, pair) in head.chunks_mut(2).enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let angle = position as f64 * BASE.powf(-2.0 * n as f64 / HEAD as f64);
            let (sin, cos) = angle.sin_cos();
            (pair[0], pair[1]) = (pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos);
        }
    }
}

#[test]
fn the_forward_pass_agrees_with_plain_loops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    write_model("llama", &path);
    let engine = Engine::load(&path, 1).unwrap();
    let plain = Plain(weights());
    // "ab" is one token by the merge, digits stand alone.
    assert_eq!(engine.encode("abc12").unwrap(), [39, 5, 30, 31]);
    assert_eq!(engine.decode(&[39, 5, 30, 31]).unwrap(), "abc12");
    let prompt = engine.encode("hello12world").unwrap();
    let wanted = plain.last(&prompt);
    for id in [3_u32, 17, 39] {
        let found = engine.log_probability(&prompt, &[id]).unwrap();
        assert!(
            (found - wanted[id as usize]).abs() < 1e-4,
            "{found} for {}",
            wanted[id as usize]
        );
    }
    let both = engine.log_probability(&prompt, &[5, 9]).unwrap();
    let mut longer = prompt.clone();
    longer.push(5);
    let sum = wanted[5] + plain.last(&longer)[9];
    assert!((both - sum).abs() < 2e-4, "{both} for {sum}");
}

#[test]
fn greedy_replies_take_the_likeliest_token_each_time_alone_and_in_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    write_model("llama", &path);
    let engine = Engine::load(&path, 1).unwrap();
    let plain = Plain(weights());
    let settings = Sampling {
        max_output_tokens: Some(5),
        ..Sampling::default()
    };
    let prompts: Vec<Vec<u32>> = ["a", "hello", "hello12", "zz9"]
        .iter()
        .map(|text| engine.encode(text).unwrap())
        .collect();
    let requests: Vec<(Vec<u32>, Sampling)> = prompts
        .iter()
        .map(|prompt| (prompt.clone(), settings.clone()))
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
    write_model("mamba", &path);
    let Err(error) = Engine::load(&path, 1) else {
        panic!("loaded")
    };
    let error = error.to_string();
    assert!(
        error.contains("`mamba`") && error.contains("--model http://localhost:8000/v1#name"),
        "{error}"
    );
}
