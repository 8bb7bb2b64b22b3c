//! The in-process engine: GGUF weights, dequantised to f32, run by our own small forward pass.
//!
//! Weights stay f32 because quantised products move log-probabilities by up to 1.5 nats. Each worker computes on one
//! thread of its own; several replies to one prompt are decoded as one batch. Another architecture is one more file
//! beside `llama.rs` and one more arm in [`Engine::load`]; another tokenizer one more arm in `tokenizer.rs`.

mod chat;
mod error;
pub mod fetch;
mod gguf;
mod llama;
mod sampler;
mod tokenizer;

pub use error::EngineError;

use std::path::Path;
use std::sync::Mutex;

use candle_core::{Device, Tensor};

use self::chat::ChatTemplate;
use self::gguf::Gguf;
use self::llama::{Cache, Llama};
use self::sampler::Sampler;
use self::tokenizer::TextTokenizer;
use super::{ProviderError, Respondent};
use crate::domain::{
    Conversation, ErrorClass, Finish, Reply, Sampling, Status, TokenCounts, Tokens,
};

/// Tokens generated when no limit is asked for.
const DEFAULT_LIMIT: u32 = 8000;

/// A loaded model with its tokenizer and chat template.
pub struct Engine {
    name: String,
    network: Llama,
    tokenizer: TextTokenizer,
    template: Option<ChatTemplate>,
    /// One-thread pools; a worker takes one for the time of an answer.
    pools: Mutex<Vec<rayon::ThreadPool>>,
    workers: usize,
}

/// One generated reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Ids without the end token.
    pub ids: Vec<u32>,
    /// Whether the model ended by itself.
    pub finish: Finish,
}

impl Engine {
    /// Loads weights from a GGUF file.
    ///
    /// # Errors
    /// Not a GGUF file, or an architecture or tokenizer that is not built in: the message names it and points to a
    /// server.
    pub fn load(path: &Path, workers: usize) -> Result<Self, EngineError> {
        Self::from_gguf(Gguf::open(path)?, workers)
    }

    fn from_gguf(mut gguf: Gguf, workers: usize) -> Result<Self, EngineError> {
        let architecture = gguf.text("general.architecture")?;
        if architecture != "llama" {
            return Err(EngineError::Architecture(architecture));
        }
        let tokenizer = TextTokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf)?;
        let name = gguf
            .text("general.name")
            .unwrap_or_else(|_| architecture.clone());
        let network = Llama::from_gguf(&mut gguf)?;
        let pools = (0..workers)
            .map(|_| rayon::ThreadPoolBuilder::new().num_threads(1).build())
            .collect::<Result<_, _>>()
            .map_err(|error| EngineError::Threads(error.to_string()))?;
        Ok(Self {
            name,
            network,
            tokenizer,
            template,
            pools: Mutex::new(pools),
            workers,
        })
    }

    /// The prompt text of a conversation: the file's own chat template, or the bare texts of a base model.
    ///
    /// # Errors
    /// The template fails.
    pub fn prompt(&self, conversation: &Conversation) -> Result<String, EngineError> {
        match &self.template {
            Some(template) => template.render(conversation),
            None => Ok(conversation
                .0
                .iter()
                .map(|message| message.content.as_str())
                .collect::<Vec<_>>()
                .join("\n")),
        }
    }

    /// Token ids of a text; control tokens are recognised.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, EngineError> {
        self.tokenizer.encode(text)
    }

    /// Text of token ids, control tokens left out.
    ///
    /// # Errors
    /// The tokenizer fails.
    pub fn decode(&self, ids: &[u32]) -> Result<String, EngineError> {
        self.tokenizer.decode(ids)
    }

    /// Generates one reply for each of the settings; the prompt is computed once.
    ///
    /// # Errors
    /// The prompt leaves no room in the context, or a tensor operation fails.
    pub fn generate(
        &self,
        prompt: &[u32],
        settings: &[Sampling],
    ) -> Result<Vec<Generation>, EngineError> {
        let room = self.room(prompt)?;
        let limits: Vec<usize> = settings
            .iter()
            .map(|sampling| {
                let limit = sampling.max_output_tokens.unwrap_or(DEFAULT_LIMIT);
                room.min(limit as usize)
            })
            .collect();
        let mut samplers: Vec<Sampler> = settings.iter().map(Sampler::new).collect();
        let mut cache = Cache::default();
        let hidden = self.network.forward(&ids_tensor(&[prompt.to_vec()])?, &mut cache)?;
        let first = self.network.last_logits(&hidden)?;
        let mut logits: Vec<Vec<f32>> = vec![first.to_vec2::<f32>()?.remove(0); settings.len()];
        let mut replies: Vec<Vec<u32>> = vec![Vec::new(); settings.len()];
        let mut finished: Vec<Option<Finish>> = limits
            .iter()
            .map(|limit| (*limit == 0).then_some(Finish::Length))
            .collect();
        // Rows of the batch, by the reply they belong to.
        let mut rows: Vec<usize> = (0..settings.len()).collect();
        cache.repeat(rows.len())?;
        loop {
            let mut keep = Vec::new();
            let mut next = Vec::new();
            for (row, reply) in rows.iter().enumerate() {
                if finished[*reply].is_some() {
                    continue;
                }
                let id = samplers[*reply].pick(&logits[*reply]);
                if self.tokenizer.is_end(id) {
                    finished[*reply] = Some(Finish::Stop);
                    continue;
                }
                replies[*reply].push(id);
                if replies[*reply].len() >= limits[*reply] {
                    finished[*reply] = Some(Finish::Length);
                    continue;
                }
                keep.push(row);
                next.push(id);
            }
            if keep.is_empty() {
                break;
            }
            if keep.len() < rows.len() {
                cache.select(&keep)?;
                rows = keep.iter().map(|row| rows[*row]).collect();
            }
            let input: Vec<Vec<u32>> = next.into_iter().map(|id| vec![id]).collect();
            let hidden = self.network.forward(&ids_tensor(&input)?, &mut cache)?;
            let all = self.network.last_logits(&hidden)?.to_vec2::<f32>()?;
            for (row, values) in rows.iter().zip(all) {
                logits[*row] = values;
            }
        }
        Ok(replies
            .into_iter()
            .zip(finished)
            .map(|(ids, finish)| Generation {
                ids,
                finish: finish.unwrap_or(Finish::Length),
            })
            .collect())
    }

    /// Log-probability in nats of a continuation after a prompt: the sum over its tokens.
    ///
    /// # Errors
    /// An empty prompt, one beyond the context, or a failed tensor operation.
    pub fn log_probability(&self, prompt: &[u32], continuation: &[u32]) -> Result<f64, EngineError> {
        let joint: Vec<u32> = prompt.iter().chain(continuation).copied().collect();
        self.room(&joint)?;
        let hidden = self
            .network
            .forward(&ids_tensor(&[joint])?, &mut Cache::default())?;
        let rows = self.network.logits(&hidden)?;
        let mut total = 0.0;
        for (at, id) in continuation.iter().enumerate() {
            let row: Vec<f32> = rows.get(0)?.get(prompt.len() - 1 + at)?.to_vec1()?;
            total += log_softmax_at(&row, *id);
        }
        Ok(total)
    }

    fn room(&self, prompt: &[u32]) -> Result<usize, EngineError> {
        let context = self.network.context();
        if prompt.is_empty() || prompt.len() >= context {
            return Err(EngineError::PromptLength {
                tokens: prompt.len(),
                context,
            });
        }
        Ok(context - prompt.len())
    }

    fn answer_all(
        &self,
        conversation: &Conversation,
        settings: &[Sampling],
    ) -> Result<Vec<Reply>, EngineError> {
        let prompt = self.encode(&self.prompt(conversation)?)?;
        let generations = self.generate(&prompt, settings)?;
        generations
            .into_iter()
            .map(|generation| {
                let text = self.decode(&generation.ids)?;
                let status = match generation.finish {
                    Finish::Length => Status::Truncated,
                    _ if text.trim().is_empty() => Status::Empty,
                    _ => Status::Ok,
                };
                Ok(Reply {
                    status,
                    text,
                    reasoning_text: None,
                    returned_model: Some(self.name.clone()),
                    finish: Some(generation.finish),
                    finish_word: None,
                    tokens: TokenCounts {
                        input: Some(Tokens(prompt.len() as u64)),
                        output: Some(Tokens(generation.ids.len() as u64)),
                        reasoning: Some(Tokens(0)),
                        cached: None,
                    },
                    cost_reported: None,
                    request_id: None,
                    body: None,
                })
            })
            .collect()
    }
}

impl Respondent for Engine {
    fn answer(
        &self,
        conversation: &Conversation,
        settings: &[Sampling],
    ) -> Vec<Result<Reply, ProviderError>> {
        let pool = self.pools.lock().ok().and_then(|mut pools| pools.pop());
        let answers = match &pool {
            Some(pool) => pool.install(|| self.answer_all(conversation, settings)),
            None => self.answer_all(conversation, settings),
        };
        if let (Some(pool), Ok(mut pools)) = (pool, self.pools.lock()) {
            pools.push(pool);
        }
        match answers {
            Ok(replies) => replies.into_iter().map(Ok).collect(),
            Err(error) => {
                let class = match error {
                    EngineError::PromptLength { .. } => ErrorClass::TooLong,
                    _ => ErrorClass::Engine,
                };
                let error = ProviderError::local(class, error.to_string());
                vec![Err(error); settings.len()]
            }
        }
    }

    fn workers(&self) -> usize {
        self.workers
    }
}

fn ids_tensor(rows: &[Vec<u32>]) -> Result<Tensor, EngineError> {
    let width = rows[0].len();
    Ok(Tensor::from_vec(
        rows.concat(),
        (rows.len(), width),
        &Device::Cpu,
    )?)
}

/// One entry of the log-softmax of a row, summed in f64.
fn log_softmax_at(row: &[f32], id: u32) -> f64 {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|value| f64::from(value - largest).exp()).sum();
    f64::from(row[id as usize] - largest) - sum.ln()
}
