//! The in-process engine: weights in f32, run by our own small forward pass.
//!
//! Weights stay f32 because quantised products move log-probabilities by up to 1.5 nats. Each worker computes on one
//! thread of its own and decodes several replies as one batch. An architecture is a choice of the parts in `graph.rs`:
//! llama, qwen2 and gemma3 in `llama.rs`, GPT-2 in `gpt2.rs`; another tokenizer is one more arm in `tokenizer.rs`.

mod cache;
mod chat;
mod error;
pub mod fetch;
mod gguf;
mod gpt2;
mod graph;
mod llama;
mod sampler;
mod scoring;
mod sequence;
mod tokenizer;

pub use error::EngineError;
pub use sequence::{Generation, Request};

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use candle_core::{Device, Tensor};

use self::cache::Cache;
use self::chat::ChatTemplate;
use self::gguf::Gguf;
use self::graph::Graph;
use self::sequence::{Sequence, Step};
use self::tokenizer::TextTokenizer;
use super::{Answer, InProcessCall, ProviderError, Respondent};
use crate::domain::{
    Conversation, ErrorClass, Finish, Reply, Role, Scoring, Status, TokenCounts, Tokens,
};

/// Replies decoded together by one worker: the weights are read once for all of them.
const BATCH: usize = 8;

/// A loaded model with its tokenizer and chat template.
pub struct Engine {
    name: String,
    network: Graph,
    tokenizer: TextTokenizer,
    template: Option<ChatTemplate>,
    workers: usize,
}

impl Engine {
    /// Loads weights from a GGUF file, or from a folder with `config.json`, `model.safetensors` and `tokenizer.json`.
    ///
    /// # Errors
    /// Files that cannot be read, or an architecture or tokenizer that is not built in: the message names it and points
    /// to a server.
    pub fn load(path: &Path, workers: usize) -> Result<Self, EngineError> {
        if path.is_dir() {
            let (name, network) = gpt2::read(path)?;
            return Ok(Self {
                name,
                network,
                tokenizer: TextTokenizer::from_folder(path)?,
                template: None,
                workers,
            });
        }
        Self::from_gguf(Gguf::open(path)?, workers)
    }

    fn from_gguf(mut gguf: Gguf, workers: usize) -> Result<Self, EngineError> {
        let architecture = gguf.text("general.architecture")?;
        let Some(network) = llama::graph_of(&architecture, &mut gguf)? else {
            return Err(EngineError::Architecture(architecture));
        };
        let tokenizer = TextTokenizer::from_gguf(&gguf)?;
        let template = ChatTemplate::from_gguf(&gguf)?;
        let name = gguf
            .text("general.name")
            .unwrap_or_else(|_| architecture.clone());
        Ok(Self {
            name,
            network,
            tokenizer,
            template,
            workers,
        })
    }

    /// The prompt text of a conversation: the file's own chat template, or the bare texts of a base model and of messages
    /// that are text and nothing else.
    ///
    /// # Errors
    /// The template fails.
    pub fn prompt(&self, conversation: &Conversation) -> Result<String, EngineError> {
        let bare = conversation
            .0
            .iter()
            .all(|message| message.role == Role::Text);
        match &self.template {
            Some(template) if !bare => template.render(conversation),
            _ => Ok(conversation
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

    /// Generates one reply for each request and delivers it when it is finished.
    ///
    /// Up to eight replies are decoded as one batch; a finished one makes room for the next. What a prompt shares with
    /// the one before it is not computed again. In a batch the last bits of the logits may differ from those of a
    /// reply alone.
    ///
    /// # Errors
    /// A prompt leaves no room in the context, or a tensor operation fails.
    pub fn generate(
        &self,
        requests: &[Request],
        deliver: &mut (dyn FnMut(Generation) -> ControlFlow<()> + Send),
    ) -> Result<(), EngineError> {
        let mut pending = requests.iter().enumerate();
        let mut open = true;
        let mut last: Option<(&[u32], Cache)> = None;
        let mut batch: Option<Cache> = None;
        let mut rows: Vec<Sequence> = Vec::new();
        let mut logits: Vec<Vec<f32>> = Vec::new();
        loop {
            while open && rows.len() < BATCH {
                let Some((place, request)) = pending.next() else {
                    break;
                };
                rows.push(Sequence::new(place, request, self.room(&request.prompt)?));
                let prompt = &request.prompt;
                let (cache, row) = self.read_prompt(prompt, last.take())?;
                logits.push(row);
                batch = Some(match &batch {
                    Some(batch) => Cache::join(&[batch, &cache])?,
                    None => cache.clone(),
                });
                last = Some((prompt, cache));
            }
            let Some(cache) = &mut batch else {
                return Ok(());
            };
            let mut kept = Vec::new();
            let mut going = Vec::new();
            let mut next = Vec::new();
            for (row, (mut sequence, logits)) in rows.drain(..).zip(&logits).enumerate() {
                match sequence.step(logits, &self.tokenizer)? {
                    Step::Token(id) => {
                        kept.push(row);
                        next.push(vec![id]);
                        going.push(sequence);
                    }
                    Step::End(finish) => {
                        let generation = sequence.into_generation(finish);
                        open &= deliver(generation).is_continue();
                    }
                }
            }
            if kept.len() < logits.len() {
                if kept.is_empty() {
                    batch = None;
                    logits.clear();
                    continue;
                }
                cache.select(&kept)?;
            }
            rows = going;
            let hidden = self.network.forward(&ids_tensor(&next)?, cache)?;
            logits = self.network.last_logits(&hidden)?.to_vec2::<f32>()?;
        }
    }

    /// The cache of a prompt and the logits after it; the part that it shares with the last prompt is taken over.
    fn read_prompt(
        &self,
        prompt: &[u32],
        last: Option<(&[u32], Cache)>,
    ) -> Result<(Cache, Vec<f32>), EngineError> {
        let mut cache = Cache::new();
        let mut shared = 0;
        if let Some((other, known)) = last {
            let alike = prompt.iter().zip(other).take_while(|(a, b)| a == b).count();
            // The last token is computed in any case: its logits are wanted.
            shared = alike.min(prompt.len() - 1);
            cache = known.beginning(shared)?;
        }
        let rest = prompt[shared..].to_vec();
        let hidden = self.network.forward(&ids_tensor(&[rest])?, &mut cache)?;
        let logits = self
            .network
            .last_logits(&hidden)?
            .to_vec2::<f32>()?
            .remove(0);
        Ok((cache, logits))
    }

    /// Log-probability in nats of a continuation after a prompt: the sum over its tokens.
    ///
    /// # Errors
    /// An empty prompt, one beyond the context, or a failed tensor operation.
    pub fn log_probability(
        &self,
        prompt: &[u32],
        continuation: &[u32],
    ) -> Result<f64, EngineError> {
        self.room(prompt)?;
        let joint: Vec<u32> = prompt.iter().chain(continuation).copied().collect();
        self.room(&joint)?;
        let hidden = self
            .network
            .forward(&ids_tensor(&[joint])?, &mut Cache::new())?;
        let rows = self.network.logits(&hidden)?;
        let mut total = 0.0;
        for (at, id) in continuation.iter().enumerate() {
            let row: Vec<f32> = rows.get(0)?.get(prompt.len() - 1 + at)?.to_vec1()?;
            total += log_softmax_at(&row, *id);
        }
        Ok(total)
    }

    fn room(&self, prompt: &[u32]) -> Result<usize, EngineError> {
        let context = self.network.context;
        if prompt.is_empty() || prompt.len() >= context {
            return Err(EngineError::PromptLength {
                tokens: prompt.len(),
                context,
            });
        }
        Ok(context - prompt.len())
    }

    /// A base model knows no end of a turn, and would go on to its limit after an answer that was begun for it.
    fn prepare(&self, call: &InProcessCall<'_>) -> Result<Request, EngineError> {
        let prompt = self.encode(&self.prompt(call.conversation)?)?;
        self.room(&prompt)?;
        let begun = call.conversation.prefill();
        Ok(Request {
            prompt,
            sampling: call.sampling.clone(),
            line: begun.filter(|_| self.template.is_none()).map(str::to_owned),
        })
    }

    fn reply(&self, prompt: &[u32], generation: &Generation) -> Result<Reply, EngineError> {
        let text = self.decode(&generation.ids)?;
        let status = match generation.finish {
            Finish::Length => Status::Truncated,
            _ if text.trim().is_empty() => Status::Empty,
            _ => Status::Ok,
        };
        Ok(Reply {
            status,
            text,
            returned_model: Some(self.name.clone()),
            finish: Some(generation.finish),
            tokens: TokenCounts {
                input: Some(Tokens(prompt.len() as u64)),
                output: Some(Tokens(generation.ids.len() as u64)),
                reasoning: Some(Tokens(0)),
                cached: None,
            },
            ..Reply::default()
        })
    }

    fn answer_all(
        &self,
        calls: &[InProcessCall<'_>],
        deliver: &mut (dyn FnMut(Answer) -> ControlFlow<()> + Send),
    ) {
        let mut read = None;
        for (place, call) in calls.iter().enumerate() {
            if let Some(scoring) = call.scoring {
                let started = Instant::now();
                let reply = self.scored_reply(call.conversation, scoring, &mut read);
                let answer = match reply {
                    Ok(reply) => Answer {
                        call: place,
                        started,
                        reply: Ok(reply),
                    },
                    Err(error) => failure(place, &error),
                };
                if deliver(answer).is_break() {
                    return;
                }
            }
        }
        self.generate_all(calls, deliver);
    }

    fn scored_reply(
        &self,
        conversation: &Conversation,
        scoring: &Scoring,
        read: &mut Option<scoring::Read>,
    ) -> Result<Reply, EngineError> {
        let prompt = self.prompt(conversation)?;
        let tokens = self.encode(&prompt)?.len() as u64;
        Ok(Reply {
            returned_model: Some(self.name.clone()),
            tokens: TokenCounts {
                input: Some(Tokens(tokens)),
                output: Some(Tokens(0)),
                reasoning: Some(Tokens(0)),
                cached: None,
            },
            scored: Some(self.score_after(&prompt, scoring, read)?),
            ..Reply::default()
        })
    }

    fn generate_all(
        &self,
        calls: &[InProcessCall<'_>],
        deliver: &mut (dyn FnMut(Answer) -> ControlFlow<()> + Send),
    ) {
        let mut places = Vec::new();
        let mut requests = Vec::new();
        let generated = calls
            .iter()
            .enumerate()
            .filter(|(_, call)| call.scoring.is_none());
        for (call, prepared) in generated.map(|(place, call)| (place, self.prepare(call))) {
            match prepared {
                Ok(request) => {
                    places.push(call);
                    requests.push(request);
                }
                // A call that cannot be prepared does not stop the others.
                Err(error) => {
                    let _ = deliver(failure(call, &error));
                }
            }
        }
        let mut missing: BTreeSet<usize> = places.iter().copied().collect();
        let done = self.generate(&requests, &mut |generation| {
            let call = places[generation.request];
            missing.remove(&call);
            let reply = self.reply(&requests[generation.request].prompt, &generation);
            match reply {
                Ok(reply) => deliver(Answer {
                    call,
                    started: generation.started,
                    reply: Ok(reply),
                }),
                Err(error) => deliver(failure(call, &error)),
            }
        });
        if let Err(error) = done {
            for call in missing {
                let _ = deliver(failure(call, &error));
            }
        }
    }
}

fn failure(call: usize, error: &EngineError) -> Answer {
    let class = match error {
        EngineError::PromptLength { .. } => ErrorClass::TooLong,
        _ => ErrorClass::Engine,
    };
    Answer {
        call,
        started: Instant::now(),
        reply: Err(ProviderError::local(class, error.to_string())),
    }
}

impl Respondent for Engine {
    fn answer(
        &self,
        calls: &[InProcessCall<'_>],
        deliver: &mut (dyn FnMut(Answer) -> ControlFlow<()> + Send),
    ) {
        // The tensor library spreads work over the current thread pool: a pool of one keeps workers apart.
        match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
            Ok(pool) => pool.install(|| self.answer_all(calls, deliver)),
            Err(_) => self.answer_all(calls, deliver),
        }
    }

    fn workers(&self) -> usize {
        self.workers
    }

    fn batch(&self) -> usize {
        64 * BATCH
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
    let sum: f64 = row
        .iter()
        .map(|value| f64::from(value - largest).exp())
        .sum();
    f64::from(row[id as usize] - largest) - sum.ln()
}
