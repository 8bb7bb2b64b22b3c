//! Plots of cases: curves over distance, and accuracy against pull.

use super::plot::{linked, safe, ticks};
use crate::publish::format::with_interval;
use crate::score::Interval;

/// A curve with its points, from left to right.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// What stands at its end, and what the filter of the page looks at.
    pub(super) label: String,
    /// Where its points lead.
    pub(super) href: String,
    /// Place, value and interval.
    pub(super) points: Vec<(f64, f64, Option<Interval>)>,
}

/// A point with two values.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) label: String,
    pub(super) href: String,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) x_interval: Option<Interval>,
    pub(super) y_interval: Option<Interval>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 220.0;

/// The axes of a plot, and where a pair of values lies.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT);
        let down = (self.y.1 - y) / (self.y.1 - self.y.0) * (HEIGHT - 80.0);
        (LEFT + across, 20.0 + down)
    }

    fn open(&self, name: &str, x_name: &str, y_name: &str, marks: &[(f64, String)]) -> String {
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"{}\">",
            safe(name)
        );
        for tick in ticks(self.y.0, self.y.1) {
            let (_, y) = self.at(self.x.0, tick);
            let class = if tick == 0.0 { "zero" } else { "axis" };
            out.push_str(&format!(
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"faint\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0
            ));
        }
        for (mark, text) in marks {
            let (x, _) = self.at(*mark, self.y.0);
            out.push_str(&format!(
                "<text class=\"faint\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - 34.0,
                safe(text)
            ));
        }
        out.push_str(&format!(
            "<text class=\"faint\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text><text class=\"faint\" x=\"8\" y=\"12\">{}</text>",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
            HEIGHT - 10.0,
            safe(x_name),
            safe(y_name)
        ));
        out
    }
}

/// From the smallest to the largest value or interval end, 0 and 1 included.
fn extent(values: impl Iterator<Item = (f64, Option<Interval>)>) -> (f64, f64) {
    let mut ends = (0.0_f64, 1.0_f64);
    for (value, interval) in values {
        let interval = interval.map(|interval| [interval.low, interval.high]);
        for value in std::iter::once(value).chain(interval.into_iter().flatten()) {
            ends = (ends.0.min(value), ends.1.max(value));
        }
    }
    ends
}

/// One curve a model.
pub(super) fn curves(name: &str, x_name: &str, y_name: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let mut places: Vec<f64> = points().map(|(x, ..)| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let (first, last) = (places[0], places[places.len() - 1]);
    let margin = (last - first).max(1.0) * 0.08;
    let frame = Frame {
        x: (first - margin, last + margin),
        y: extent(points().map(|(_, y, interval)| (*y, *interval))),
    };
    let marks: Vec<(f64, String)> = places.iter().map(|x| (*x, x.to_string())).collect();
    let mut out = frame.open(name, x_name, y_name, &marks);
    for line in lines {
        let path: Vec<String> = line
            .points
            .iter()
            .map(|(x, y, _)| {
                let (x, y) = frame.at(*x, *y);
                format!("{x:.1},{y:.1}")
            })
            .collect();
        out.push_str(&format!(
            "<g data-row=\"{}\"><polyline class=\"curve\" points=\"{}\"/>",
            safe(&line.label),
            path.join(" ")
        ));
        for (x, y, interval) in &line.points {
            let text = format!("{x}: {}", with_interval(*y, *interval));
            let mut mark = String::new();
            if let Some(interval) = interval {
                let (at, low) = frame.at(*x, interval.low);
                let (_, high) = frame.at(*x, interval.high);
                mark.push_str(&bar(at, low, at, high));
            }
            mark.push_str(&dot(frame.at(*x, *y)));
            out.push_str(&linked(&line.href, &line.label, &text, &mark));
        }
        if let Some((x, y, _)) = line.points.last() {
            let (x, y) = frame.at(*x, *y);
            out.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 12.0,
                y + 4.0,
                safe(&line.label)
            ));
        }
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}

/// One point a cell, with both intervals.
pub(super) fn scatter_of(name: &str, x_name: &str, y_name: &str, spots: &[Spot]) -> String {
    let frame = Frame {
        x: (0.0, 1.0),
        y: extent(spots.iter().map(|spot| (spot.y, spot.y_interval))),
    };
    let marks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|mark| (mark, format!("{mark}")));
    let mut out = frame.open(name, x_name, y_name, &marks);
    for spot in spots {
        let (x, y) = frame.at(spot.x, spot.y);
        let mut mark = String::new();
        if let Some(interval) = spot.y_interval {
            let ((_, low), (_, high)) = (
                frame.at(spot.x, interval.low),
                frame.at(spot.x, interval.high),
            );
            mark.push_str(&bar(x, low, x, high));
        }
        if let Some(interval) = spot.x_interval {
            let ((low, _), (high, _)) = (
                frame.at(interval.low, spot.y),
                frame.at(interval.high, spot.y),
            );
            mark.push_str(&bar(low, y, high, y));
        }
        mark.push_str(&dot((x, y)));
        let text = format!(
            "{x_name} {}, {y_name} {}",
            with_interval(spot.x, spot.x_interval),
            with_interval(spot.y, spot.y_interval)
        );
        out.push_str(&format!("<g data-row=\"{}\">", safe(&spot.label)));
        out.push_str(&linked(&spot.href, &spot.label, &text, &mark));
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}

fn bar(x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    format!("<line class=\"bar\" x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"/>")
}

fn dot((x, y): (f64, f64)) -> String {
    format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>")
}
