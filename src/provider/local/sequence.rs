//! One reply in the making: its tokens, and where it ends.

use std::time::Instant;

use super::EngineError;
use super::sampler::Sampler;
use super::tokenizer::TextTokenizer;
use crate::domain::{Finish, Sampling};

/// Tokens generated when no limit is asked for.
const DEFAULT_LIMIT: u32 = 8000;

/// A reply to be generated.
#[derive(Debug, Clone)]
pub struct Request {
    /// Ids of the prompt, the start of the reply included.
    pub prompt: Vec<u32>,
    /// How tokens are drawn, and how many.
    pub sampling: Sampling,
    /// The start of the reply, where the line that it begins is the whole reply.
    pub line: Option<String>,
}

/// One generated reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Place of its request in the list.
    pub request: usize,
    /// When work on it began.
    pub started: Instant,
    /// Ids without the end token.
    pub ids: Vec<u32>,
    /// Whether the reply ended by itself, or its limit ran out.
    pub finish: Finish,
}

/// One reply in the making.
pub(super) struct Sequence {
    request: usize,
    started: Instant,
    sampler: Sampler,
    limit: usize,
    /// [`Request::line`].
    line: Option<String>,
    ids: Vec<u32>,
}

pub(super) enum Step {
    Token(u32),
    End(Finish),
}

impl Sequence {
    /// The beginning of a reply; `room` is how many tokens the context has left.
    pub(super) fn new(place: usize, request: &Request, room: usize) -> Self {
        let sampling = &request.sampling;
        let limit = sampling.max_output_tokens.unwrap_or(DEFAULT_LIMIT) as usize;
        Self {
            request: place,
            started: Instant::now(),
            sampler: Sampler::new(sampling),
            limit: limit.min(room),
            line: request.line.clone(),
            ids: Vec::new(),
        }
    }

    /// Picks the next token.
    pub(super) fn step(
        &mut self,
        logits: &[f32],
        tokenizer: &TextTokenizer,
    ) -> Result<Step, EngineError> {
        let id = self.sampler.pick(logits);
        if tokenizer.is_end(id) {
            return Ok(Step::End(Finish::Stop));
        }
        self.ids.push(id);
        if let Some(start) = &self.line
            && tokenizer.decode(&[id])?.contains('\n')
            && is_a_line(start, &tokenizer.decode(&self.ids)?)
        {
            return Ok(Step::End(Finish::Stop));
        }
        if self.ids.len() >= self.limit {
            return Ok(Step::End(Finish::Length));
        }
        Ok(Step::Token(id))
    }

    pub(super) fn into_generation(self, finish: Finish) -> Generation {
        Generation {
            request: self.request,
            started: self.started,
            ids: self.ids,
            finish,
        }
    }
}

/// Whether a reply came to the end of its line; that of an object is the one on which it closes.
fn is_a_line(start: &str, reply: &str) -> bool {
    let said = reply.trim_start();
    let Some(end) = said.rfind('\n') else {
        return false;
    };
    let braces = |of: char| start.matches(of).count() + said[..end].matches(of).count();
    !start.contains('{') || braces('{') <= braces('}')
}

#[cfg(test)]
mod tests {
    use super::is_a_line;

    #[test]
    fn a_begun_reply_ends_with_its_line_and_an_object_with_that_on_which_it_closes() {
        let answer = |reply| is_a_line("The number is", reply);
        assert!(!answer(" 1"));
        assert!(!answer("\n\n 12"));
        assert!(answer("\n 12\n"));
        assert!(answer(" {12}.\n\n"));
        assert!(answer(" {12\n"));
        let verdict = |reply| is_a_line("{\"score\":", reply);
        assert!(!verdict(" 4,\n"));
        assert!(!verdict(" 4,\n \"accept\": true}"));
        assert!(verdict(" 4,\n \"accept\": true}\n"));
    }
}
