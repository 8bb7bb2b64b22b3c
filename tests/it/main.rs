//! The whole program, one file a user story. Traffic stays on loopback.

mod bank_cases;
mod boards;
mod clocks;
mod command_line;
#[cfg(feature = "engine")]
mod engine;
mod faults;
mod faulty;
#[cfg(feature = "engine")]
mod fetching;
mod known_pull;
mod models;
mod provider_cases;
mod reading;
mod reply_cases;
mod servers;
mod store;
mod support;
mod tasks;
#[cfg(feature = "engine")]
mod tiny_model;
