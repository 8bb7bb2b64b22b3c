//! Text to token ids and back, set up from the metadata of a GGUF file or from a `tokenizer.json`.

use std::collections::HashMap;
use std::path::Path;

use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::byte_level::ByteLevel as ByteLevelDecoder;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as DecoderSequence;
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::normalizers::{NFC, Replace};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, SplitDelimiterBehavior, Tokenizer};

use super::EngineError;
use super::gguf::Gguf;

/// Token type of control tokens in GGUF.
const CONTROL: i64 = 3;

/// Token type of tokens that are found before any merging.
const USER_DEFINED: i64 = 4;

/// How qwen2 cuts a text before merging: words with a sign before them, digits alone, signs, line ends, blanks.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) struct TextTokenizer {
    tokenizer: Tokenizer,
    /// The id that every text begins with, if any.
    beginning: Option<u32>,
    ends: Vec<u32>,
}

fn failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::Encoding(error.to_string())
}

impl TextTokenizer {
    pub(super) fn from_gguf(gguf: &Gguf) -> Result<Self, EngineError> {
        let kind = gguf.text("tokenizer.ggml.model")?;
        let split = gguf.text("tokenizer.ggml.pre").unwrap_or_default();
        let tokens = gguf.texts("tokenizer.ggml.tokens")?;
        let mut tokenizer = match (kind.as_str(), split.as_str()) {
            ("gpt2", "smollm" | "qwen2") => byte_level(gguf, &tokens, &split)?,
            ("llama", _) => sentence_piece(gguf, &tokens)?,
            _ => return Err(EngineError::Tokenizer(format!("{kind}/{split}"))),
        };
        let types = gguf
            .numbers("tokenizer.ggml.token_type")
            .unwrap_or_default();
        let of_type = |wanted: i64| {
            let typed = tokens.iter().zip(&types);
            typed
                .filter(move |(_, kind)| **kind == wanted)
                .map(move |(token, _)| {
                    AddedToken::from(token.clone(), wanted == CONTROL).normalized(false)
                })
        };
        tokenizer
            .add_special_tokens(of_type(CONTROL))
            .map_err(failed)?;
        tokenizer
            .add_tokens(of_type(USER_DEFINED))
            .map_err(failed)?;
        let id = |key: &str| -> Option<u32> { gguf.number(key).ok()?.try_into().ok() };
        let begins = gguf
            .flag("tokenizer.ggml.add_bos_token")
            .unwrap_or(kind == "llama");
        let end = gguf.number("tokenizer.ggml.eos_token_id")?;
        let mut ends = vec![u32::try_from(end).unwrap_or(u32::MAX)];
        ends.extend(
            ["<|im_end|>", "<|endoftext|>", "<end_of_turn>"]
                .iter()
                .filter_map(|token| tokenizer.token_to_id(token)),
        );
        Ok(Self {
            tokenizer,
            beginning: id("tokenizer.ggml.bos_token_id").filter(|_| begins),
            ends,
        })
    }

    /// The tokenizer of a folder that holds a `tokenizer.json`.
    pub(super) fn from_folder(folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(&path).map_err(|error| EngineError::NotWeights {
            path: path.clone(),
            message: error.to_string(),
        })?;
        let ends = ["<|endoftext|>"]
            .iter()
            .filter_map(|token| tokenizer.token_to_id(token))
            .collect();
        Ok(Self {
            tokenizer,
            beginning: None,
            ends,
        })
    }

    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, EngineError> {
        let encoding = self.tokenizer.encode_fast(text, false).map_err(failed)?;
        let beginning = self.beginning.iter();
        Ok(beginning.chain(encoding.get_ids()).copied().collect())
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, EngineError> {
        self.tokenizer.decode(ids, true).map_err(failed)
    }

    pub(super) fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }
}

/// Byte-level merging with the file's own merges.
fn byte_level(gguf: &Gguf, tokens: &[String], split: &str) -> Result<Tokenizer, EngineError> {
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
    if split == "qwen2" {
        let pattern = SplitPattern::Regex(QWEN2.to_owned());
        let cut = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map_err(failed)?;
        let pre = vec![cut.into(), ByteLevel::new(false, false, false).into()];
        tokenizer.with_pre_tokenizer(Some(Sequence::new(pre)));
        tokenizer.with_normalizer(Some(NFC)).map_err(failed)?;
    } else {
        // Every digit alone, then the byte-level split of GPT-2 without an added space.
        let pre = vec![
            Digits::new(true).into(),
            ByteLevel::new(false, false, true).into(),
        ];
        tokenizer.with_pre_tokenizer(Some(Sequence::new(pre)));
    }
    tokenizer.with_decoder(Some(ByteLevelDecoder::new(false, false, false)));
    Ok(tokenizer)
}

/// Merging of neighbours into the piece with the best score, with bytes for what has no piece.
fn sentence_piece(gguf: &Gguf, tokens: &[String]) -> Result<Tokenizer, EngineError> {
    if gguf.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true) {
        return Err(EngineError::Tokenizer(
            "llama with a space in front".to_owned(),
        ));
    }
    let scores = gguf.floats("tokenizer.ggml.scores")?;
    if scores.len() != tokens.len() {
        return Err(EngineError::Missing(
            "tokenizer.ggml.scores (one for each token)".to_owned(),
        ));
    }
    let places: HashMap<&str, usize> = tokens.iter().map(String::as_str).zip(0..).collect();
    let merges = merges(tokens, &scores, &places);
    let vocabulary: Vocab = tokens.iter().cloned().zip(0..).collect();
    let mut model = BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .fuse_unk(true)
        .byte_fallback(true);
    let unknown = gguf.number("tokenizer.ggml.unknown_token_id").ok();
    if let Some(unknown) = unknown.and_then(|unknown| tokens.get(unknown)) {
        model = model.unk_token(unknown.clone());
    }
    let model = model.build().map_err(failed)?;
    let mut tokenizer = Tokenizer::new(model);
    let blanks = Replace::new(" ", "▁").map_err(failed)?;
    tokenizer.with_normalizer(Some(blanks)).map_err(failed)?;
    tokenizer.with_decoder(Some(DecoderSequence::new(vec![
        Replace::new("▁", " ").map_err(failed)?.into(),
        ByteFallback::default().into(),
        Fuse::default().into(),
    ])));
    Ok(tokenizer)
}

/// A piece, and the two it is put together from: their places and texts.
type Merge<'a> = (usize, (usize, usize), (&'a str, &'a str));

/// Every way to put a piece together from two others, the piece with the best score first.
fn merges(tokens: &[String], scores: &[f32], vocabulary: &HashMap<&str, usize>) -> Merges {
    let mut found: Vec<Merge<'_>> = Vec::new();
    for (piece, token) in tokens.iter().enumerate() {
        for (at, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(at);
            if let (Some(l), Some(r)) = (vocabulary.get(left), vocabulary.get(right)) {
                found.push((piece, (*l, *r), (left, right)));
            }
        }
    }
    // Of equal scores the earlier piece goes first.
    found.sort_by(|a, b| {
        let score = scores[b.0].total_cmp(&scores[a.0]);
        score.then_with(|| (a.0, a.1).cmp(&(b.0, b.1)))
    });
    found
        .into_iter()
        .map(|(_, _, (left, right))| (left.to_owned(), right.to_owned()))
        .collect()
}
