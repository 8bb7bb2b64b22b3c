//! How fast and how patiently a run asks.

use clap::Args as ClapArgs;

use crate::model::{LONGEST_TIMEOUT, Limits};

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Pace and patience")]
pub(super) struct PaceArgs {
    /// Most calls in flight at once, for each model [default: from 8 up to 64 as answers come]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: Option<u32>,
    /// Requests per minute, for each model [default: as the server's headers say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rpm: Option<u32>,
    /// Tokens per minute, for each model [default: as the server's headers say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    tpm: Option<u32>,
    /// Ask for replies piece by piece, so that a call that hangs is noticed sooner
    #[arg(long)]
    stream: bool,
    /// Longest time for one call, in seconds [default: 120; 600 for reasoning models, 1800 on this machine]
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<f64>,
    /// Longest time to a connection, in seconds [default: 10]
    #[arg(long, value_name = "S", value_parser = seconds)]
    connect_timeout: Option<f64>,
    /// Longest time to the first byte of a reply, in seconds [default: that of the call; with --stream 60, 300, 600]
    #[arg(long, value_name = "S", value_parser = seconds)]
    first_byte_timeout: Option<f64>,
    /// Longest silence within a reply, in seconds [default: 60; 180 for reasoning models and on this machine]
    #[arg(long, value_name = "S", value_parser = seconds)]
    idle_timeout: Option<f64>,
    /// Longest wait that a server may ask for, in seconds; beyond it the model is parked
    #[arg(long, value_name = "S", default_value_t = 300.0, value_parser = seconds)]
    pub(super) max_wait: f64,
    /// Longest time without any answer, in seconds, after which a model is parked
    #[arg(long, value_name = "S", default_value_t = 1800.0, value_parser = seconds)]
    pub(super) patience: f64,
}

impl PaceArgs {
    /// The limits that are given; `None` for the rest.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            concurrency: self.concurrency,
            requests_per_minute: self.rpm,
            tokens_per_minute: self.tpm,
            kind: None,
            stream: self.stream.then_some(true),
            connect_timeout_s: self.connect_timeout,
            first_byte_timeout_s: self.first_byte_timeout,
            idle_timeout_s: self.idle_timeout,
            timeout_s: self.timeout,
        }
    }

    /// Whether anything is given that only a server heeds.
    pub(super) fn any(&self) -> bool {
        let given = Limits {
            concurrency: None,
            ..self.limits()
        };
        given != Limits::default()
    }
}

pub(in crate::cli) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= LONGEST_TIMEOUT => Ok(value),
        _ => Err("must be a number of seconds above 0, at most 86400".to_owned()),
    }
}
