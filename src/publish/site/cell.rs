//! The page of a cell: every prompt and raw reply.

use std::collections::HashMap;

use minijinja::Environment;
use serde::Serialize;
use serde_json::json;

use super::{Page, SiteSource, cell_file, model_file, page, sample_id};
use crate::domain::grouped;
use crate::publish::board::{index_text, provenance};
use crate::publish::document::Entry;
use crate::publish::format::{UNKNOWN, cell_why, losses};
use crate::score::judge::Call;
use crate::score::{Cell, CellSample, Heard, Outcome};
use crate::store::Record;

#[derive(Serialize)]
pub(super) struct Shown {
    id: String,
    head: String,
    read: String,
    messages: Vec<Said>,
    reasoning: Option<String>,
    reply: String,
    meta: String,
}

#[derive(Serialize)]
struct Said {
    role: String,
    content: String,
}

pub(super) fn cell_page(
    environment: &Environment<'_>,
    source: &SiteSource<'_>,
    cell: &Cell<'_>,
) -> Result<Page, minijinja::Error> {
    let scores = source.board.scores;
    let score = scores
        .cells
        .iter()
        .find(|score| score.model == cell.model && score.task == cell.task.name);
    let items: HashMap<_, _> = source
        .board
        .bank
        .items
        .iter()
        .map(|item| (&item.id, item))
        .collect();
    let samples: Vec<Shown> = cell
        .samples
        .iter()
        .map(|sample| {
            let about = items
                .get(&sample.slot.item)
                .map_or_else(|| sample.slot.item.to_string(), |item| item.text.clone());
            shown(sample, &about, (source.record)(sample).as_ref())
        })
        .collect();
    let title = format!("{}: {}", cell.model, cell.task.title);
    let about = score.map_or_else(String::new, |score| {
        let value = if score.anchored {
            format!("{} {}. ", scores.method.index.title(), index_text(score))
        } else {
            String::new()
        };
        let why = cell_why(score).map_or_else(String::new, |why| format!("Not scored: {why}. "));
        format!(
            "{value}{}{} samples; lost: {}.",
            if score.all.index.is_some() {
                String::new()
            } else {
                why
            },
            score.samples,
            losses(score.losses.iter().map(|(loss, n)| (*loss, *n)))
        )
    });
    let up = vec![Entry::from(cell.model.as_str()).to(Some(model_file(&cell.model)))];
    let html = environment.get_template("cell.html")?.render(page(
        &title,
        json!({
            "up": up,
            "site": true,
            "about": about,
            "samples": samples,
            "provenance": provenance(&source.board),
        }),
    ))?;
    Ok((cell_file(&cell.model, &cell.task.name), html))
}

pub(super) fn shown(sample: &CellSample<'_>, about: &str, record: Option<&Record>) -> Shown {
    let line = sample.record;
    let mut read = match sample.outcome {
        Outcome::Estimate(value) => format!("read as {}", grouped(value)),
        Outcome::Lost(loss) => format!("no estimate: {loss}"),
    };
    if let Some(reading) = &sample.reading {
        read.push_str(&format!(", by the rule {}", reading.rule));
    }
    if sample.contradicts() {
        read.push_str("; the comparison contradicts the estimate");
    }
    Shown {
        id: sample_id(sample),
        head: format!(
            "{about} · {}{} · epoch {}",
            sample.slot.condition,
            sample
                .anchor
                .map_or_else(String::new, |anchor| format!(" {}", grouped(anchor))),
            sample.slot.epoch
        ),
        read,
        ..heard_and_said(line, record)
    }
}

/// A call to a judge.
pub(super) fn verdict_shown(call: &Call<'_>, record: Option<&Record>) -> Shown {
    let read = match (call.score(), call.label(), call.given) {
        (Some(score), ..) if call.clipped() => format!("read as {score}, the end of the scale"),
        (Some(score), ..) => format!("read as {score}"),
        (_, Some(label), _) => format!("read as {label}"),
        (.., Err(loss)) => format!("no verdict: {loss}"),
        (.., Ok(_)) => "no verdict".to_owned(),
    };
    let judging = &call.judging;
    let anchor = call.anchor.map(|anchor| format!(" {anchor}"));
    let prior = judging.prior.as_ref().filter(|_| judging.attempt.is_some());
    let prior = prior.map(|label| format!(" {label}"));
    let attempt = judging
        .attempt
        .map(|attempt| format!(", attempt {attempt}"));
    let truth = judging
        .truth
        .as_ref()
        .map(|truth| format!(" · right is {truth}"));
    Shown {
        id: format!("s-{}", call.line.key),
        head: format!(
            "{} · {}{}{} · trial {} · temperature {}{}",
            call.item,
            call.condition,
            anchor.or(prior).unwrap_or_default(),
            attempt.unwrap_or_default(),
            call.trial,
            call.temperature,
            truth.unwrap_or_default()
        ),
        read,
        ..heard_and_said(call.line, record)
    }
}

/// What any line has: what was sent, what came back, and when.
fn heard_and_said(line: &Heard, record: Option<&Record>) -> Shown {
    let count = |tokens: Option<crate::domain::Tokens>| {
        tokens.map_or_else(|| UNKNOWN.to_owned(), |tokens| tokens.0.to_string())
    };
    let conversation = record.map_or(&line.conversation, |record| &record.conversation);
    let messages = conversation.0.iter();
    Shown {
        id: String::new(),
        head: String::new(),
        read: String::new(),
        messages: messages
            .map(|message| Said {
                role: message.role.to_string(),
                content: message.content.clone(),
            })
            .collect(),
        reasoning: record.and_then(|record| record.reasoning_text.clone()),
        reply: match record.and_then(|record| record.error.as_ref()) {
            Some(error) => format!("[{}: {}]", error.class, error.message),
            None => record
                .and_then(|record| record.text.clone())
                .unwrap_or_default(),
        },
        meta: format!(
            "{} · asked {} · {} tokens in, {} out · {}/{} · sample {}",
            line.status,
            line.started,
            count(line.tokens.input),
            count(line.tokens.output),
            line.sent.provider,
            line.sent.model,
            line.key
        ),
    }
}
