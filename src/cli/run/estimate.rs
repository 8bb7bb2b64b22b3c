//! What a run would ask, and what it would cost.

use super::selection::{CellPlan, OUTPUT_BUDGET, Selection, plan_cells};
use super::{Args, prompt_text};
use crate::ask::{Job, form_of, worst_case};
use crate::cli::{CliError, output};
use crate::domain::{Condition, Tokens, Usd, grouped};
use crate::model::{Model, Price};
use crate::publish::plain_table;

/// Replies whose length must be known before it says anything of the replies to come.
const ENOUGH: usize = 5;

/// Fewest tokens of a reply, where nothing was observed.
const SHORTEST: u64 = 10;

/// Bytes of a token of plain English, about.
const BYTES_A_TOKEN: usize = 4;

/// Tokens that a server adds around a message, about.
const AROUND: usize = 4;

/// A range of tokens over several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    low: u64,
    high: u64,
}

/// How long the replies of one cell will be, all together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replies {
    tokens: Range,
    basis: String,
}

/// Shows what would be asked, and the prompts.
pub(super) fn dry_run(args: &Args, selection: &Selection) -> Result<(), CliError> {
    let cells = plan_cells(args, selection, &[], &args.again)?;
    let mut rows = Vec::new();
    for (place, model) in selection.models.iter().enumerate() {
        let own: Vec<&CellPlan> = cells.iter().filter(|cell| cell.model == place).collect();
        let mut total = Costs::zero(model);
        for cell in &own {
            let calls = calls(cell);
            // One line says nothing of how long thinking aloud takes.
            let like: Vec<u64> = own
                .iter()
                .filter(|other| other.task.one_line == cell.task.one_line)
                .flat_map(|other| other.stored.output_tokens())
                .copied()
                .collect();
            let replies = if cell.task.targets.is_some() {
                scored(model, cell)
            } else {
                replies(model, cell.stored.output_tokens(), &like, calls)
            };
            let costs = costs(args, model, cell, &replies);
            total = total.plus(&costs);
            rows.push(vec![
                model.name.to_string(),
                cell.task.name.to_string(),
                cell.answered.to_string(),
                calls.to_string(),
                grouped_count(prompt_tokens(cell)),
                format!(
                    "{} ({})",
                    range_text(replies.tokens.low, replies.tokens.high, grouped_count),
                    replies.basis
                ),
                costs.range(),
                costs.most(),
            ]);
        }
        if own.len() > 1 {
            rows.push(vec![
                model.name.to_string(),
                "all".to_owned(),
                own.iter()
                    .map(|cell| cell.answered)
                    .sum::<usize>()
                    .to_string(),
                own.iter()
                    .map(|cell| calls(cell))
                    .sum::<usize>()
                    .to_string(),
                String::new(),
                String::new(),
                total.range(),
                total.most(),
            ]);
        }
    }
    let header = [
        "model",
        "task",
        "stored",
        "calls to make",
        "prompt tokens, about",
        "reply tokens",
        "cost",
        "at most",
    ];
    output::result(&plain_table(&header, &rows))?;
    for (task, subjects) in selection.tasks.iter().zip(&selection.subjects) {
        let subject = task.at_trial(&subjects[0], 1);
        let asked = |condition: &&Condition| subject.asks_under(**condition);
        let Some(condition) = task.conditions.iter().rfind(asked) else {
            continue;
        };
        let mut form = form_of(&selection.models[0]);
        form.prefill |= task.targets.is_some();
        let conversation = task
            .outline(&subject, *condition, form)
            .map_err(CliError::usage)?;
        output::result(&format!(
            "\n{}, {}, {condition}:\n{}",
            task.name,
            subjects[0].id(),
            prompt_text(&conversation)
        ))?;
    }
    Ok(())
}

/// Calls that a cell still takes, if each goes well.
fn calls(cell: &CellPlan) -> usize {
    cell.jobs
        .iter()
        .map(|job| job.asks() - job.replies.len())
        .sum()
}

fn prompt_tokens(cell: &CellPlan) -> u64 {
    let tokens: usize = cell
        .jobs
        .iter()
        .map(|job| {
            let open = job.asks() - job.replies.len();
            let messages = job.prompts() * job.outline.0.len();
            open * (job.sent_bytes(&job.outline).div_ceil(BYTES_A_TOKEN) + messages * AROUND)
        })
        .sum();
    tokens as u64
}

/// Of answers that are scored a server makes one token each; in this process none is made.
fn scored(model: &Model, cell: &CellPlan) -> Replies {
    let wire = model.provider.dialect.is_wire();
    let tokens: usize = cell.jobs.iter().map(Job::prompts).sum();
    let tokens = if wire { tokens as u64 } else { 0 };
    Replies {
        tokens: Range {
            low: tokens,
            high: tokens,
        },
        basis: "answers are scored".to_owned(),
    }
}

/// The tokens of so many replies: from those of the cell, else of tasks like it, else from nothing to the limit.
///
/// From n observed replies the sum over m new ones lies with 95 % within m · mean ± 1.96 · sd · √(m + m²/n).
fn replies(model: &Model, of_cell: &[u64], of_like: &[u64], calls: usize) -> Replies {
    let limit = u64::from(model.sampling.max_output_tokens.unwrap_or(OUTPUT_BUDGET));
    let m = calls as u64;
    let observed = [of_cell, of_like]
        .into_iter()
        .find(|seen| seen.len() >= ENOUGH);
    let Some(seen) = observed else {
        return Replies {
            tokens: Range {
                low: SHORTEST.min(limit) * m,
                high: limit * m,
            },
            basis: "assumed".to_owned(),
        };
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "token counts lie below 2^53, and the ends are clamped"
    )]
    let tokens = {
        let n = seen.len() as f64;
        let mean = seen.iter().map(|tokens| *tokens as f64).sum::<f64>() / n;
        let squares: f64 = seen
            .iter()
            .map(|tokens| (*tokens as f64 - mean).powi(2))
            .sum();
        let m = m as f64;
        let width = 1.96 * (squares / (n - 1.0)).sqrt() * (m + m * m / n).sqrt();
        let end = |value: f64| value.clamp(0.0, limit as f64 * m).round() as u64;
        Range {
            low: end(m * mean - width),
            high: end(m * mean + width),
        }
    };
    Replies {
        tokens,
        basis: format!("observed, n={}", seen.len()),
    }
}

/// What calls may cost; `None` where no price is known.
#[derive(Debug, Clone, Copy)]
struct Costs(Option<(Usd, Usd, Usd)>);

impl Costs {
    fn zero(model: &Model) -> Self {
        let known = model.price.is_some() || model.is_free();
        Self(known.then(Default::default))
    }

    fn plus(self, other: &Self) -> Self {
        Self(
            self.0
                .zip(other.0)
                .map(|((a, b, c), (x, y, z))| (a + x, b + y, c + z)),
        )
    }

    fn range(&self) -> String {
        self.0.map_or_else(
            || "?".to_owned(),
            |(low, high, _)| range_text(low, high, |cost| cost.to_string()),
        )
    }

    fn most(&self) -> String {
        self.0
            .map_or_else(|| "?".to_owned(), |(.., most)| most.to_string())
    }
}

fn costs(args: &Args, model: &Model, cell: &CellPlan, replies: &Replies) -> Costs {
    let Some(price) = &model.price else {
        return Costs::zero(model);
    };
    let whole = |tokens: u64| {
        let cost = Tokens(prompt_tokens(cell)) * price.input + Tokens(tokens) * price.output;
        if args.batch {
            crate::ask::half(cost)
        } else {
            cost
        }
    };
    Costs(Some((
        whole(replies.tokens.low),
        whole(replies.tokens.high),
        most(args, price, cell),
    )))
}

fn most(args: &Args, price: &Price, cell: &CellPlan) -> Usd {
    let cost = cell
        .jobs
        .iter()
        .map(|job| {
            let messages = job.prompts() * job.outline.0.len();
            let limit = job.output_limit(OUTPUT_BUDGET);
            let one = worst_case(price, job.sent_bytes(&job.outline), messages, limit);
            let open = job.asks() - job.replies.len();
            std::iter::repeat_n(one, open).sum::<Usd>()
        })
        .sum();
    if args.batch {
        crate::ask::half(cost)
    } else {
        cost
    }
}

fn range_text<T: PartialEq>(low: T, high: T, text: impl Fn(T) -> String) -> String {
    if low == high {
        text(low)
    } else {
        format!("{} – {}", text(low), text(high))
    }
}

fn grouped_count(n: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let n = n as f64;
    grouped(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_follows_what_was_observed() {
        let registry =
            crate::model::load(&[("m".into(), crate::model::built_in().into())]).unwrap();
        let mut model = registry.model("gpt-5.4-nano").unwrap().clone();
        model.sampling.max_output_tokens = Some(100);
        let range = |cell: &[u64], model_wide: &[u64]| {
            let replies = replies(&model, cell, model_wide, 10);
            (replies.tokens.low, replies.tokens.high, replies.basis)
        };
        assert_eq!(range(&[], &[]), (100, 1000, "assumed".into()));
        assert_eq!(range(&[9; 4], &[20; 8]), (200, 200, "observed, n=8".into()));
        // Mean 11, sd 1.095: 110 ± 1.96 · 1.095 · √(10 + 100/6).
        assert_eq!(
            range(&[10, 12, 10, 12, 10, 12], &[]),
            (99, 121, "observed, n=6".into())
        );
    }
}
