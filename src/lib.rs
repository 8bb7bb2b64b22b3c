//! `wheel` measures anchoring bias in language models.

pub mod ask;
pub mod bank;
pub mod cli;
pub mod domain;
pub mod import;
pub mod model;
pub mod parse;
pub mod people;
pub mod provider;
pub mod publish;
pub mod score;
pub mod store;
pub mod task;
pub mod yaml;
