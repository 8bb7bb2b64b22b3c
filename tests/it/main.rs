//! The whole program, one file a user story. Traffic stays on loopback.

mod anchorbench_rules;
mod bank_cases;
mod batches;
mod boards;
mod browser;
mod case_boards;
mod cases;
mod clocks;
mod command_line;
mod dialects;
#[cfg(feature = "engine")]
mod engine;
mod exports;
mod faults;
mod faulty;
#[cfg(feature = "engine")]
mod fetching;
mod judge;
mod kaggle;
mod known_pull;
mod limits;
mod models;
mod money;
mod people;
mod provider_cases;
mod published;
mod reading;
mod reply_cases;
mod scoring_servers;
mod servers;
mod shards;
mod site;
mod spinner;
mod statistics;
mod store;
mod support;
mod tasks;
#[cfg(feature = "engine")]
mod tiny_model;
mod uai;
