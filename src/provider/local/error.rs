use std::path::PathBuf;

/// What can go wrong with weights in this process.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a GGUF file.
    #[error("{} is not a GGUF file that can be read: {message}", path.display())]
    NotGguf {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A file of a folder of weights that is none.
    #[error("{} cannot be read as weights: {message}", path.display())]
    NotWeights {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A graph that is not built in.
    #[error(
        "architecture `{0}` is not built in: serve the model with llama.cpp, Ollama or vLLM, and ask it with --model http://localhost:8000/v1#name"
    )]
    Architecture(String),
    /// A tokenizer that is not built in.
    #[error(
        "tokenizer `{0}` is not built in: serve the model with llama.cpp, Ollama or vLLM, and ask it with --model http://localhost:8000/v1#name"
    )]
    Tokenizer(String),
    /// A key that the file lacks.
    #[error("the weights say nothing of `{0}`")]
    Missing(String),
    /// The chat template of the file fails.
    #[error("the chat template of the weights fails: {0:#}")]
    Template(#[from] minijinja::Error),
    /// The prompt does not fit.
    #[error(
        "the prompt has {tokens} tokens; the model holds {context}, and needs at least one of them for the reply"
    )]
    PromptLength {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens that the model can hold.
        context: usize,
    },
    /// The tokenizer fails on a text.
    #[error("the tokenizer fails: {0}")]
    Encoding(String),
    /// A tensor operation fails.
    #[error("the engine fails: {0}")]
    Tensor(#[from] candle_core::Error),
}
