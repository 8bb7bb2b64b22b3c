//! Text to token ids and back, set up from the metadata of a GGUF file.

use tokenizers::decoders::byte_level::ByteLevel as ByteLevelDecoder;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, Tokenizer};

use super::EngineError;
use super::gguf::Gguf;

/// Token type of control tokens in GGUF.
const CONTROL: i64 = 3;

pub(super) struct TextTokenizer {
    tokenizer: Tokenizer,
    ends: Vec<u32>,
}

fn failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::Encoding(error.to_string())
}

impl TextTokenizer {
    pub(super) fn from_gguf(gguf: &Gguf) -> Result<Self, EngineError> {
        let kind = gguf.text("tokenizer.ggml.model")?;
        let split = gguf.text("tokenizer.ggml.pre").unwrap_or_default();
        let pre = match (kind.as_str(), split.as_str()) {
            // Every digit alone, then the byte-level split of GPT-2 without an added space.
            ("gpt2", "smollm") => Sequence::new(vec![
                Digits::new(true).into(),
                ByteLevel::new(false, false, true).into(),
            ]),
            _ => return Err(EngineError::Tokenizer(format!("{kind}/{split}"))),
        };
        let tokens = gguf.texts("tokenizer.ggml.tokens")?;
        let merges = gguf
            .texts("tokenizer.ggml.merges")?
            .iter()
            .filter_map(|merge| merge.split_once(' '))
            .map(|(left, right)| (left.to_owned(), right.to_owned()))
            .collect();
        let vocabulary: Vocab = tokens.iter().cloned().zip(0..).collect();
        let model = BPE::builder()
            .vocab_and_merges(vocabulary, merges)
            .build()
            .map_err(failed)?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_pre_tokenizer(Some(pre));
        tokenizer.with_decoder(Some(ByteLevelDecoder::new(false, false, false)));
        let types = gguf
            .numbers("tokenizer.ggml.token_type")
            .unwrap_or_default();
        let control: Vec<AddedToken> = tokens
            .iter()
            .zip(&types)
            .filter(|(_, kind)| **kind == CONTROL)
            .map(|(token, _)| AddedToken::from(token.clone(), true))
            .collect();
        tokenizer.add_special_tokens(control).map_err(failed)?;
        let end = gguf.number("tokenizer.ggml.eos_token_id")?;
        let mut ends = vec![u32::try_from(end).unwrap_or(u32::MAX)];
        ends.extend(
            ["<|im_end|>", "<|endoftext|>"]
                .iter()
                .filter_map(|token| tokenizer.token_to_id(token)),
        );
        Ok(Self { tokenizer, ends })
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, EngineError> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, EngineError> {
        self.tokenizer.decode(ids, true).map_err(failed)
    }

    pub(super) fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }
}
