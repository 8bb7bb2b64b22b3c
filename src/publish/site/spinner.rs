//! The pages of a suite of stimuli: a board, and for each variation both distributions and what each field adds.

use std::collections::BTreeSet;

use minijinja::Environment;
use serde_json::json;
use strum::IntoEnumIterator;

use super::plot::{safe, ticks};
use super::{Page, Plot, environment, model_file, page, slug};
use crate::bank::stimuli::Excerpt;
use crate::domain::{Coalition, Condition, Field, ModelName};
use crate::publish::document::{Block, Entry};
use crate::publish::format::two;
use crate::publish::spinner::{SpinnerBoardSource, spinner_board, spinner_report};
use crate::score::spinner::{Half, VariationScores};
use crate::task::{Catalog, Form};

/// Where the page of a variation lies within a site.
#[must_use]
pub fn variation_href(one: &VariationScores) -> Option<String> {
    let name = format!("{} {} {} {}", one.model, one.task, one.mode, one.item);
    Some(format!("variation-{}.html", slug(&name)))
}

/// All pages. The first is `index.html`.
///
/// # Errors
/// A template that cannot be rendered.
pub fn spinner_site(
    source: &SpinnerBoardSource<'_>,
    catalog: &Catalog,
) -> Result<Vec<Page>, minijinja::Error> {
    let environment = environment()?;
    let variations = &source.scores.variations;
    let models: BTreeSet<&ModelName> = variations.iter().map(|one| &one.model).collect();
    let up = models
        .iter()
        .map(|model| Entry::from(model.as_str()).to(Some(model_file(model))));
    let mut pages = vec![(
        "index.html".to_owned(),
        render(
            &environment,
            source,
            "Spinner",
            &up.collect::<Vec<_>>(),
            &spinner_board(source),
            &[],
        )?,
    )];
    for model in models {
        let of_model = variations.iter().filter(|one| one.model == *model);
        let up: Vec<Entry> = of_model
            .map(|one| Entry::from(one.item.as_str()).to(variation_href(one)))
            .collect();
        let report = spinner_report(source.scores, model).unwrap_or_default();
        let html = render(&environment, source, model.as_str(), &up, &report, &[])?;
        pages.push((model_file(model), html));
    }
    for one in variations {
        let up = [Entry::from(one.model.as_str()).to(Some(model_file(&one.model)))];
        let title = format!("{}: {}, scored {}", one.model, one.item, one.mode);
        let html = render(
            &environment,
            source,
            &title,
            &up,
            &prompts(one, catalog),
            &plots(one),
        )?;
        pages.extend(variation_href(one).map(|name| (name, html)));
    }
    Ok(pages)
}

fn render(
    environment: &Environment<'_>,
    source: &SpinnerBoardSource<'_>,
    title: &str,
    up: &[Entry],
    head: &[Block],
    plots: &[Plot],
) -> Result<String, minijinja::Error> {
    environment.get_template("cases.html")?.render(page(
        title,
        json!({
            "site": true,
            "up": up,
            "head": head,
            "plots": plots,
            "provenance": format!(
                "{} stored lines, fingerprint {}",
                source.lines, source.store_fingerprint
            ),
        }),
    ))
}

/// Both prompts, where their words are loaded.
fn prompts(one: &VariationScores, catalog: &Catalog) -> Vec<Block> {
    let mut blocks = vec![Block::Heading {
        level: 1,
        text: format!("{}: {}, scored {}", one.model, one.item, one.mode),
    }];
    let stimulus = catalog.stimuli.0.iter().find(|known| known.id == one.item);
    let task = catalog.tasks.get(one.task.as_str());
    let (Some(stimulus), Some(task)) = (stimulus, task) else {
        blocks.push(Block::Text {
            text: "The words of its prompts are not known: the scores were made elsewhere, or the stimuli are not loaded.".to_owned(),
        });
        return blocks;
    };
    let whole = Excerpt::new(stimulus, Coalition::FULL);
    for condition in [Condition::Low, Condition::High] {
        if let Ok(prompt) = task.outline(&whole, condition, Form::default()) {
            let said = prompt.0.iter().map(|message| message.content.as_str());
            blocks.push(Block::Text {
                text: format!("{condition}: {}", said.collect::<Vec<_>>().join("\n")),
            });
        }
    }
    blocks
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 40.0;

fn plots(one: &VariationScores) -> Vec<Plot> {
    let mut plots = vec![Plot {
        title: "Both distributions".to_owned(),
        about: format!(
            "Probabilities of the answers, made to add up to 1, under the low anchor ({}, expected answer {}) and the high one ({}, expected answer {}). The thin lines mark the anchors.",
            one.low.anchor,
            two(one.low.expected),
            one.high.anchor,
            two(one.high.expected)
        ),
        svg: distributions(one),
    }];
    if !one.low.banzhaf.is_empty() {
        plots.push(Plot {
            title: "What each field adds".to_owned(),
            about: "Banzhaf values in nats, the mean over the answers, under the low anchor (upper bar) and the high one (lower bar).".to_owned(),
            svg: bars(one),
        });
    }
    plots
}

/// Pixels from left of a value between two ends.
fn across(value: f64, (low, high): (f64, f64)) -> f64 {
    LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)
}

fn open(name: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        safe(name)
    )
}

fn distributions(one: &VariationScores) -> String {
    let ends = one
        .values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let halves = [(&one.low, "low"), (&one.high, "high")];
    let most = halves
        .iter()
        .flat_map(|(half, _)| &half.distribution)
        .fold(f64::MIN_POSITIVE, |most, p| most.max(*p));
    let up = |p: f64| HEIGHT - 50.0 - p / most * (HEIGHT - 80.0);
    let mut out = open("probabilities of the answers under both anchors");
    for tick in ticks(ends.0, ends.1) {
        let x = across(tick, ends);
        out.push_str(&format!(
            "<text class=\"faint\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
            HEIGHT - 28.0
        ));
    }
    for tick in ticks(0.0, most) {
        let y = up(tick);
        out.push_str(&format!(
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"faint\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0
        ));
    }
    for (half, class) in halves {
        let x = across(half.anchor, ends);
        out.push_str(&format!(
            "<line class=\"{class} thin\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"20\" y2=\"{}\"/>",
            HEIGHT - 50.0
        ));
        let points: Vec<String> = one
            .values
            .iter()
            .zip(&half.distribution)
            .map(|(value, p)| format!("{:.1},{:.1}", across(*value, ends), up(*p)))
            .collect();
        out.push_str(&format!(
            "<polyline class=\"{class}\" points=\"{}\"><title>{class} anchor {}</title></polyline>",
            points.join(" "),
            half.anchor
        ));
    }
    out.push_str(&format!(
        "<text class=\"low\" x=\"{}\" y=\"14\" text-anchor=\"end\">low anchor</text><text class=\"high\" x=\"{}\" y=\"30\" text-anchor=\"end\">high anchor</text><text class=\"faint\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">answer</text></svg>",
        WIDTH - RIGHT,
        WIDTH - RIGHT,
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        HEIGHT - 8.0
    ));
    out
}

fn bars(one: &VariationScores) -> String {
    let halves = [(&one.low, "low"), (&one.high, "high")];
    let values = halves.iter().flat_map(|(half, _)| half.banzhaf.values());
    let ends = values.fold((0.0_f64, 0.1_f64), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    // Names of fields take more room than numbers.
    let left = |value: f64| {
        let share = (value - ends.0) / (ends.1 - ends.0);
        LEFT + 60.0 + share * (WIDTH - LEFT - 60.0 - RIGHT)
    };
    let mut out = open("what each field adds, in nats");
    for tick in ticks(ends.0, ends.1) {
        let x = left(tick);
        let class = if tick == 0.0 { "zero" } else { "axis" };
        out.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"10\" y2=\"{}\"/><text class=\"faint\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
            HEIGHT - 50.0,
            HEIGHT - 30.0
        ));
    }
    let mut y = 20.0;
    for field in Field::iter() {
        out.push_str(&format!(
            "<text x=\"8\" y=\"{:.1}\">{field}</text>",
            y + 26.0
        ));
        for (half, class) in halves {
            y += bar(&mut out, half, field, class, y, &left);
        }
        y += 16.0;
    }
    out.push_str("</svg>");
    out
}

/// Draws one bar, and gives its height.
fn bar(
    out: &mut String,
    half: &Half,
    field: Field,
    class: &str,
    y: f64,
    left: &dyn Fn(f64) -> f64,
) -> f64 {
    if let Some(value) = half.banzhaf.get(&field) {
        let (from, to) = (left(0.0).min(left(*value)), left(0.0).max(left(*value)));
        out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"18\"><title>{field}, {class} anchor: {} nats</title></rect>",
            (to - from).max(0.5),
            two(*value)
        ));
    }
    22.0
}
