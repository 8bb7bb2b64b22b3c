//! What is stored of a sample, in words.

use crate::bank::Subject;
use crate::cli::run::prompt_text;
use crate::domain::{Condition, Scored, Suite, grouped};
use crate::score::judge::Call;
use crate::score::{CellSample, Outcome, mass};
use crate::store::Record;
use crate::task::{Catalog, Task};

/// Answers that are shown of all that were scored.
const LIKELIEST: usize = 10;

pub(super) fn scored_text(record: &Record, condition: Condition) -> String {
    let mode = record.scored.as_ref().map_or_else(
        || "not scored".to_owned(),
        |scored| format!("scored {}", scored.scoring.mode),
    );
    let mut out = format!(
        "=== {} · {} · {} · {condition} · {mode} · sample {}\nsent to {}/{} at {}\n{}",
        record.model,
        record.task,
        record.item,
        record.key,
        record.sent.provider,
        record.sent.model,
        record.clock.started,
        prompt_text(&record.conversation)
    );
    match (&record.scored, &record.error) {
        (Some(scored), _) => out.push_str(&answers_text(scored)),
        (None, Some(error)) => {
            out.push_str(&format!("failed: {}: {}\n", error.class, error.message));
        }
        (None, None) => {}
    }
    out
}

/// The likeliest of the answers that were scored.
fn answers_text(scored: &Scored) -> String {
    let targets = scored.scoring.targets.iter();
    let mut answers: Vec<(&str, f64)> = targets
        .zip(&scored.log_probabilities)
        .filter_map(|(target, score)| Some((target.trim_end(), (*score)?)))
        .collect();
    answers.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut out = format!(
        "--- {} answers hold {:.2e} of the probability; the likeliest\n",
        answers.len(),
        mass(scored)
    );
    for (answer, score) in answers.iter().take(LIKELIEST) {
        out.push_str(&format!(
            "{answer:>12}  {:.2e}  (log {score:.3})\n",
            score.exp()
        ));
    }
    out
}

pub(super) fn sample_text(
    sample: &CellSample<'_>,
    records: &[Record],
    catalog: &Catalog,
    task: &Task,
) -> String {
    let record = records
        .iter()
        .find(|record| sample.record.is_of(record))
        .expect("the sample was made of these records");
    let mut out = line_text(record, records, sample.current_wording);
    out.push_str("--- read as\n");
    match sample.outcome {
        Outcome::Estimate(value) => out.push_str(&format!("estimate {}", grouped(value))),
        Outcome::Lost(loss) => out.push_str(&format!("no estimate: {loss}")),
    }
    if let Some(reading) = &sample.reading {
        out.push_str(&format!(", by the rule {}", reading.rule));
        if let (Ok(value), Outcome::Lost(_)) = (reading.value, sample.outcome) {
            out.push_str(&format!(" (the number read is {value})"));
        }
        if let Some(comparison) = reading.comparison {
            out.push_str(&format!("; compared: {comparison}"));
        }
        if sample
            .anchor
            .is_some_and(|anchor| reading.contradicts(anchor))
        {
            out.push_str("; the comparison contradicts the estimate");
        }
    }
    if let Some(anchor) = sample.anchor {
        out.push_str(&format!("; anchor {}", grouped(anchor)));
    }
    match catalog.subject(task, &record.item) {
        Some(Subject::Question(item)) => {
            out.push_str(&format!("; reference {}\n", grouped(item.reference.get())));
        }
        Some(Subject::Case(case)) => {
            out.push_str(&format!("; gold {}\n", grouped(case.facts.gold)));
        }
        Some(Subject::Excerpt(_) | Subject::Judged(_)) | None => out.push('\n'),
    }
    out
}

/// A call to a judge.
pub(super) fn verdict_text(call: &Call<'_>, records: &[Record]) -> String {
    let record = records
        .iter()
        .find(|record| call.line.is_of(record))
        .expect("the call was made of these records");
    let mut out = line_text(record, records, call.current != Some(false));
    out.push_str("--- read as\n");
    match (call.score(), call.label(), call.given) {
        (Some(score), ..) => {
            let verdict = if call.accepted() == Some(true) {
                "accepts"
            } else {
                "does not accept"
            };
            out.push_str(&format!("score {score}, which {verdict}"));
            if call.clipped() {
                out.push_str(" (given off the scale)");
            }
            if call.accept.is_some() && call.accept != call.accepted() {
                out.push_str("; the judge says otherwise");
            }
        }
        (_, Some(label), _) => out.push_str(&format!("label {label}")),
        (.., Err(loss)) => out.push_str(&format!("no verdict: {loss}")),
        _ => out.push_str("digits scored"),
    }
    let judging = &call.judging;
    if call.condition.is_drawn(Suite::Judge) {
        if let Some(attempt) = judging.attempt {
            out.push_str(&format!("; attempt {attempt}"));
        }
        match (call.anchor, &judging.prior) {
            (Some(anchor), _) => out.push_str(&format!("; number shown {anchor}")),
            (None, Some(label)) => out.push_str(&format!("; earlier label {label}")),
            (None, None) => {}
        }
    }
    if let Some(truth) = &judging.truth {
        out.push_str(&format!("; right is {truth}"));
    }
    out.push('\n');
    out
}

/// What was sent and what came back.
fn line_text(record: &Record, records: &[Record], current_wording: bool) -> String {
    let mut out = format!(
        "=== {} · {} · {} · {} · epoch {} · sample {}\n",
        record.model, record.task, record.item, record.condition, record.epoch, record.key
    );
    let sampling = &record.sent.sampling;
    let sent = |name: &str, value: Option<String>| value.map(|value| format!(", {name} {value}"));
    out.push_str(&format!(
        "sent to {}/{} at {}{}{}{}{}{}\n",
        record.sent.provider,
        record.sent.model,
        record.clock.started,
        sent(
            "temperature",
            sampling.temperature.map(|value| value.to_string())
        )
        .unwrap_or_default(),
        sent("top_p", sampling.top_p.map(|value| value.to_string())).unwrap_or_default(),
        sent("seed", sampling.seed.map(|value| value.to_string())).unwrap_or_default(),
        sent(
            "output limit",
            sampling.max_output_tokens.map(|value| value.to_string())
        )
        .unwrap_or_default(),
        sent("effort", sampling.reasoning_effort.clone()).unwrap_or_default(),
    ));
    if !current_wording {
        out.push_str("asked in another wording than that of today's task and question\n");
    }
    for failed in records
        .iter()
        .filter(|other| other.key == record.key && other.error.is_some())
    {
        if let Some(error) = &failed.error {
            out.push_str(&format!(
                "attempt {} failed: {}: {}\n",
                failed.attempt, error.class, error.message
            ));
        }
    }
    out.push_str(&prompt_text(&record.conversation));
    if let Some(reasoning) = &record.reasoning_text {
        out.push_str(&format!("--- reasoning, not read\n{reasoning}\n"));
    }
    let count = |tokens: Option<crate::domain::Tokens>| {
        tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.0.to_string())
    };
    if let Some(scored) = &record.scored {
        out.push_str(&answers_text(scored));
    } else if record.status.is_answer() {
        out.push_str(&format!(
            "--- reply ({}, {} tokens in, {} out, {} ms)\n{}\n",
            record.status,
            count(record.tokens.input),
            count(record.tokens.output),
            record.clock.in_flight_ms,
            record.text.as_deref().unwrap_or_default()
        ));
    }
    out
}
