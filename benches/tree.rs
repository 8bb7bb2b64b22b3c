//! How much faster answers are scored as a tree than one by one, on the default model.
//!
//! Prints the time of both ways for one prompt with 101 answers on one thread, their ratio, and the largest difference in
//! nats.

use std::path::PathBuf;
use std::time::Instant;

use wheel::domain::{Scoring, ScoringMode};
use wheel::provider::local::Engine;
use wheel::provider::local::fetch::Fetching;

#[expect(clippy::print_stdout, reason = "its only purpose")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let registry = wheel::model::load(&[("built in".into(), wheel::model::built_in().into())])
        .map_err(|faults| faults.to_string())?;
    let weights = registry
        .weights("smollm2-135m-instruct")
        .ok_or("no such weights")?;
    let path: PathBuf = Fetching::from_environment(true, true).path(weights);
    let engine = Engine::load(&path, 1)?;
    let prompt = "The pointer of the dial came to a halt at 65.\n\nIs the percentage of members of the United Nations that lie in Asia above or below 65?\n\nSay what percentage of the members of the United Nations lies in Asia.";
    let scoring = Scoring {
        mode: ScoringMode::Exact,
        targets: (0..=100).map(|n| format!("{n}%").into()).collect(),
    };
    let began = Instant::now();
    let tree = pool.install(|| engine.score(prompt, &scoring))?;
    let of_tree = began.elapsed();
    let began = Instant::now();
    let ids = engine.encode(prompt)?;
    let scratch = scoring
        .targets
        .iter()
        .map(|target| {
            let answer = engine.encode(&format!(" {target}"))?;
            pool.install(|| engine.log_probability(&ids, &answer))
        })
        .collect::<Result<Vec<f64>, _>>()?;
    let of_scratch = began.elapsed();
    let apart = tree
        .log_probabilities
        .iter()
        .zip(&scratch)
        .map(|(tree, scratch)| (tree.unwrap_or(f64::NAN) - scratch).abs())
        .fold(0.0, f64::max);
    println!(
        "{} tokens and 101 answers: as a tree {:.2} s, one by one {:.2} s, {:.1} times as long (bound 18); largest difference {apart:.1e} nats (bound 1e-3)",
        ids.len(),
        of_tree.as_secs_f64(),
        of_scratch.as_secs_f64(),
        of_scratch.as_secs_f64() / of_tree.as_secs_f64(),
    );
    Ok(())
}
