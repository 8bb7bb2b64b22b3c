//! Scoring given answers over HTTP: what a server is sent, and how its answers add up. Nothing is sent here.

use serde_json::{Value, json};

use super::WireRequest;
use super::tokens::{Reported, normalise};
use crate::domain::{Conversation, Reply, Scored, Scoring};

/// Answers to score after a prompt.
#[derive(Debug, Clone, Copy)]
pub struct ScoreCall<'a> {
    /// Address without the path.
    pub base_url: &'a str,
    /// Model id as the server knows it.
    pub model_id: &'a str,
    /// The prompt as one text.
    pub prompt: &'a str,
    /// The answers.
    pub scoring: &'a Scoring,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreStep {
    /// These requests; their bodies are added to those that are there.
    Send(Vec<WireRequest>),
    /// Everything is there.
    Done(Box<Reply>),
}

/// How a server scores given answers. Servers only give probabilities of tokens in exact mode.
pub trait ScoringApi: Send + Sync {
    /// What follows once these bodies are there, in the order of their requests; `None` if a body is not what the server
    /// gives.
    fn next(&self, call: &ScoreCall<'_>, bodies: &[Value]) -> Option<ScoreStep>;
}

/// The prompt of a server that takes bare text: what is said, one message after the other.
#[must_use]
pub fn bare_text(conversation: &Conversation) -> String {
    let texts = conversation
        .0
        .iter()
        .map(|message| message.content.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The tokens of an answer with their log-probabilities, and whether the first begins before the answer.
struct Tokens {
    tokens: Vec<(String, f64)>,
    merged: bool,
}

impl ScoreCall<'_> {
    /// Prompt and answer as one text.
    fn joint(&self, target: &str) -> String {
        format!("{} {target}", self.prompt)
    }

    /// The reply. Its body holds what the scores are made of, and not the prompt a hundred times over.
    fn done(&self, answers: &[Tokens], bodies: &[Value]) -> ScoreStep {
        let sum =
            |of: &dyn Fn(&Value) -> Option<u64>| -> Option<u64> { bodies.iter().map(of).sum() };
        let (tokens, usage_mismatch) = normalise(Reported {
            input: sum(&|body| {
                let usage = &body["usage"]["prompt_tokens"];
                usage.as_u64().or_else(|| body["tokens_evaluated"].as_u64())
            }),
            completion: sum(&|body| {
                let usage = &body["usage"]["completion_tokens"];
                usage.as_u64().or_else(|| body["tokens_predicted"].as_u64())
            }),
            ..Reported::default()
        });
        let model = bodies.iter().rev().find_map(|body| body["model"].as_str());
        let tokens_of: Vec<&Vec<(String, f64)>> =
            answers.iter().map(|answer| &answer.tokens).collect();
        let ids: Vec<&str> = bodies
            .iter()
            .filter_map(|body| body["id"].as_str())
            .collect();
        ScoreStep::Done(Box::new(Reply {
            returned_model: model.map(str::to_owned),
            tokens,
            usage_mismatch,
            scored: Some(Scored {
                scoring: self.scoring.clone(),
                merged: answers.iter().filter(|answer| answer.merged).count(),
                log_probabilities: answers
                    .iter()
                    .map(|answer| Some(answer.tokens.iter().map(|(_, score)| score).sum()))
                    .collect(),
                banzhaf: None,
            }),
            request_id: ids.first().map(|id| (*id).to_owned()),
            body: Some(json!({"tokens_of_answers": tokens_of}).to_string()),
            ..Reply::default()
        }))
    }
}

/// `POST {base}/completions` with `echo`: the older endpoint of `OpenAI`, and the servers that keep it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo;

impl ScoringApi for Echo {
    fn next(&self, call: &ScoreCall<'_>, bodies: &[Value]) -> Option<ScoreStep> {
        let Some(body) = bodies.first() else {
            let prompts: Vec<String> = call
                .scoring
                .targets
                .iter()
                .map(|target| call.joint(target))
                .collect();
            let body = json!({
                "model": call.model_id,
                "prompt": prompts,
                "echo": true,
                "logprobs": 1,
                // Some servers read 0 as no end.
                "max_tokens": 1,
                "temperature": 0,
            });
            return Some(ScoreStep::Send(vec![WireRequest {
                url: format!("{}/completions", call.base_url),
                body: body.to_string(),
            }]));
        };
        let before = call.prompt.chars().count();
        let answers = by_index(body, call.scoring.targets.len())?
            .into_iter()
            .zip(call.scoring.targets.iter())
            .map(|(choice, target)| echoed(&choice["logprobs"], before, &format!(" {target}")))
            .collect::<Option<Vec<Tokens>>>()?;
        Some(call.done(&answers, bodies))
    }
}

/// The choices of a body in the order of their prompts.
fn by_index(body: &Value, prompts: usize) -> Option<Vec<&Value>> {
    let mut choices: Vec<&Value> = body["choices"].as_array()?.iter().collect();
    choices.sort_by_key(|choice| choice["index"].as_u64());
    (choices.len() == prompts).then_some(choices)
}

/// The tokens of an answer that begins at a place of the text, in characters. `None` if the tokens there do not spell the answer: some servers count bytes, or a token that is not
/// in the text.
fn echoed(logprobs: &Value, start: usize, answer: &str) -> Option<Tokens> {
    let offsets: Vec<usize> = logprobs["text_offset"]
        .as_array()?
        .iter()
        .map(|offset| {
            offset
                .as_u64()
                .and_then(|offset| usize::try_from(offset).ok())
        })
        .collect::<Option<_>>()?;
    let end = start + answer.chars().count();
    // The token that holds the first character of the answer.
    let first = offsets.iter().rposition(|offset| *offset <= start)?;
    let last = offsets.iter().rposition(|offset| *offset < end)?;
    let said: Vec<&str> = logprobs["tokens"]
        .as_array()?
        .get(first..=last)?
        .iter()
        .map(Value::as_str)
        .collect::<Option<_>>()?;
    let merged = offsets[first] < start;
    let spelt = said.concat();
    if !(spelt == answer || merged && spelt.ends_with(answer)) {
        return None;
    }
    let scores = logprobs["token_logprobs"].as_array()?.get(first..=last)?;
    let tokens = said.into_iter().zip(scores);
    let tokens = tokens.map(|(token, score)| Some((token.to_owned(), score.as_f64()?)));
    Some(Tokens {
        tokens: tokens.collect::<Option<_>>()?,
        merged,
    })
}

/// `POST {base}/completions` with `prompt_logprobs`, of vLLM.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptLogprobs;

impl ScoringApi for PromptLogprobs {
    fn next(&self, call: &ScoreCall<'_>, bodies: &[Value]) -> Option<ScoreStep> {
        let targets = &call.scoring.targets;
        let Some(body) = bodies.first() else {
            // The prompt alone tells which tokens are its own.
            let mut prompts = vec![call.prompt.to_owned()];
            prompts.extend(targets.iter().map(|target| call.joint(target)));
            let body = json!({
                "model": call.model_id,
                "prompt": prompts,
                "prompt_logprobs": 0,
                "max_tokens": 1,
                "temperature": 0,
            });
            return Some(ScoreStep::Send(vec![WireRequest {
                url: format!("{}/completions", call.base_url),
                body: body.to_string(),
            }]));
        };
        let choices = by_index(body, targets.len() + 1)?;
        let read = |choice: &&Value| tokens_of(&choice["prompt_logprobs"]);
        let alone = read(choices.first()?)?;
        let answers = choices[1..]
            .iter()
            .map(|choice| Some(after(&alone, read(choice)?)))
            .collect::<Option<Vec<Tokens>>>()?;
        Some(call.done(&answers, bodies))
    }
}

/// The tokens of a prompt with their log-probabilities; the first one has none. One entry a place: the token that is there.
fn tokens_of(logprobs: &Value) -> Option<Vec<(String, f64)>> {
    let places = logprobs.as_array()?;
    places
        .iter()
        .enumerate()
        .map(|(place, entry)| match entry {
            Value::Null if place == 0 => Some((String::new(), 0.0)),
            Value::Object(tokens) if tokens.len() == 1 => {
                let (id, said) = tokens.iter().next()?;
                Some((id.clone(), said["logprob"].as_f64()?))
            }
            _ => None,
        })
        .collect()
}

/// The tokens that follow those of the prompt.
fn after(alone: &[(String, f64)], mut joint: Vec<(String, f64)>) -> Tokens {
    let shared = alone
        .iter()
        .zip(&joint)
        .take_while(|(a, b)| a.0 == b.0)
        .count();
    Tokens {
        tokens: joint.split_off(shared.max(1).min(joint.len())),
        merged: shared < alone.len(),
    }
}

/// The native endpoints of the server of llama.cpp: texts are tokenized there, and each answer is generated under a grammar
/// that leaves no choice, with the probabilities before the grammar acts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForcedTokens;

impl ForcedTokens {
    fn url(call: &ScoreCall<'_>, path: &str) -> String {
        let root = call.base_url.trim_end_matches("/v1");
        format!("{root}/{path}")
    }

    fn tokenize(call: &ScoreCall<'_>) -> Vec<WireRequest> {
        let joints = call.scoring.targets.iter().map(|target| call.joint(target));
        std::iter::once(call.prompt.to_owned())
            .chain(joints)
            .map(|text| WireRequest {
                url: Self::url(call, "tokenize"),
                body: json!({"content": text, "add_special": true}).to_string(),
            })
            .collect()
    }
}

impl ScoringApi for ForcedTokens {
    fn next(&self, call: &ScoreCall<'_>, bodies: &[Value]) -> Option<ScoreStep> {
        let answers = call.scoring.targets.len();
        if bodies.is_empty() {
            return Some(ScoreStep::Send(Self::tokenize(call)));
        }
        let ids: Vec<Vec<u64>> = bodies[..=answers]
            .iter()
            .map(|body| {
                body["tokens"]
                    .as_array()?
                    .iter()
                    .map(Value::as_u64)
                    .collect()
            })
            .collect::<Option<_>>()?;
        let (alone, joints) = ids.split_first()?;
        let starts = joints.iter().map(|joint| {
            let shared = alone.iter().zip(joint).take_while(|(a, b)| a == b).count();
            shared.max(1)
        });
        if bodies.len() == answers + 1 {
            let requests = joints.iter().zip(starts).map(|(joint, start)| {
                let (prompt, rest) = joint.split_at(start.min(joint.len()));
                let forced: Vec<String> = rest.iter().map(|id| format!("<[{id}]>")).collect();
                let body = json!({
                    "prompt": prompt,
                    "n_predict": rest.len(),
                    "grammar": format!("root ::= {}", forced.join(" ")),
                    "n_probs": 1,
                    "post_sampling_probs": false,
                    "temperature": 0,
                    "cache_prompt": true,
                    "return_tokens": true,
                });
                WireRequest {
                    url: Self::url(call, "completion"),
                    body: body.to_string(),
                }
            });
            return Some(ScoreStep::Send(requests.collect()));
        }
        let answered = &bodies[answers + 1..];
        let answers = answered
            .iter()
            .zip(joints)
            .zip(starts)
            .map(|((body, joint), start)| {
                let rest = joint.get(start..)?;
                let said = body["completion_probabilities"].as_array()?;
                let tokens = rest.iter().zip(said).map(|(id, token)| {
                    let text = token["token"].as_str().unwrap_or_default().to_owned();
                    (token["id"] == *id).then_some((text, token["logprob"].as_f64()?))
                });
                let tokens = tokens.collect::<Option<Vec<_>>>()?;
                (tokens.len() == rest.len()).then_some(Tokens {
                    tokens,
                    merged: start < alone.len(),
                })
            })
            .collect::<Option<Vec<Tokens>>>()?;
        Some(call.done(&answers, answered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_an_answer_are_those_that_spell_it() {
        let logprobs = json!({
            "tokens": ["ab", "cde", " 57", "%", " more"],
            "text_offset": [0, 2, 5, 8, 9],
            "token_logprobs": [null, -1.0, -2.0, -3.0, -50.0],
        });
        let read = |start, answer: &str| {
            let found = echoed(&logprobs, start, answer)?;
            Some((
                found.tokens.iter().map(|(_, score)| score).sum::<f64>(),
                found.merged,
            ))
        };
        assert_eq!(read(5, " 57%"), Some((-5.0, false)));
        // A token that begins within the prompt.
        assert_eq!(read(6, "57%"), Some((-5.0, true)));
        // Places that are counted in another way lead to other words.
        assert_eq!(read(4, " 57%"), None);
        assert_eq!(read(5, " 58%"), None);
        assert!(echoed(&json!({}), 5, " 57%").is_none());
    }
}
