//! Plots as SVG whose points are links. Every number in them also stands in a table.

use crate::score::Interval;

/// A point with its interval.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// What stands beside it.
    pub(super) label: String,
    /// What the filter of the page looks at.
    pub(super) filter: String,
    /// The value; without one the row says why.
    pub(super) value: Option<f64>,
    pub(super) interval: Option<Interval>,
    /// The value in words.
    pub(super) text: String,
    /// Where the point leads.
    pub(super) href: String,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 170.0;
const LINE: f64 = 24.0;

/// A text that can stand in markup and in attributes.
pub(super) fn safe(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// A mark that leads somewhere and says what it is.
pub(super) fn linked(href: &str, label: &str, text: &str, mark: &str) -> String {
    let (label, text) = (safe(label), safe(text));
    format!(
        "<a href=\"{}\" aria-label=\"{label}: {text}\"><title>{label}: {text}</title>{mark}</a>",
        safe(href)
    )
}

/// A label that fits its column.
fn shortened(text: &str) -> String {
    const MOST: usize = 44;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MOST - 1).collect();
    format!("{}…", cut.trim_end())
}

/// From the smallest to the largest value or interval end, at least −1 to 1.
fn extent(rows: &[Row]) -> (f64, f64) {
    let mut ends = (-1.0_f64, 1.0_f64);
    for row in rows {
        let interval = row.interval.map(|interval| [interval.low, interval.high]);
        for value in row.value.into_iter().chain(interval.into_iter().flatten()) {
            ends = (ends.0.min(value), ends.1.max(value));
        }
    }
    ends
}

/// A forest plot: one line a row, on the scale of the index. `people` draws the yardstick.
pub(super) fn forest(name: &str, rows: &[Row], people: Option<f64>) -> String {
    let (low, high) = extent(rows);
    let x = |value: f64| LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    #[expect(clippy::cast_precision_loss, reason = "the number of rows")]
    let height = (rows.len() as f64 + 2.0) * LINE + 8.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"group\" aria-label=\"{}\">",
        safe(name)
    );
    let bottom = height - LINE;
    for tick in ticks(low, high) {
        let class = if tick == 0.0 { "zero" } else { "axis" };
        out.push_str(&format!(
            "<line class=\"{class}\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"8\" y2=\"{bottom:.1}\"/><text class=\"faint\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">{tick}</text>",
            x(tick),
            bottom + 16.0
        ));
    }
    if let Some(people) = people {
        out.push_str(&format!(
            "<line class=\"people\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"8\" y2=\"{bottom:.1}\"/><text class=\"faint\" x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\">people, roughly</text>",
            x(people),
            bottom - 4.0
        ));
    }
    for (place, row) in rows.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "the number of rows")]
        let y = place as f64 * LINE + 20.0;
        out.push_str(&format!(
            "<g data-row=\"{}\"><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            safe(&row.filter),
            LEFT - 10.0,
            y + 4.0,
            safe(&shortened(&row.label))
        ));
        let mut mark = String::new();
        if let Some(interval) = row.interval {
            mark.push_str(&format!(
                "<line class=\"bar\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                x(interval.low),
                x(interval.high)
            ));
        }
        if let Some(value) = row.value {
            mark.push_str(&format!(
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"6\"/>",
                x(value)
            ));
        }
        mark.push_str(&format!(
            "<text class=\"faint\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT + 10.0,
            y + 4.0,
            safe(&row.text)
        ));
        out.push_str(&linked(&row.href, &row.label, &row.text, &mark));
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}

/// Marks of an axis: at most seven steps of 1, 2 or 5 times a power of ten.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let least = (high - low) / 7.0;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = steps.into_iter().find(|step| *step >= least);
    let step = step.filter(|step| step.is_normal()).unwrap_or(1.0);
    let mut ticks = Vec::new();
    let mut at = (low / step).ceil();
    while at * step <= high {
        // Three steps of 0.2 are 0.6, and nothing is −0.
        let digits = 1e9 / power.min(1.0);
        ticks.push((at * step * digits).round() / digits + 0.0);
        at += 1.0;
    }
    ticks
}

/// A point of the plot of index against tokens.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) tokens: f64,
    pub(super) row: Row,
}

/// Index against output tokens, the latter on a logarithmic scale.
pub(super) fn scatter(name: &str, points: &[Point]) -> String {
    const HEIGHT: f64 = 420.0;
    const SIDE: f64 = 60.0;
    let rows: Vec<Row> = points.iter().map(|point| point.row.clone()).collect();
    let (low, high) = extent(&rows);
    let logs = |point: &Point| point.tokens.max(1.0).log10();
    let last = points.iter().map(logs).fold(1.0, f64::max).ceil();
    let x = |log: f64| SIDE + log / last * (WIDTH - 2.0 * SIDE);
    let y = |value: f64| 20.0 + (high - value) / (high - low) * (HEIGHT - 80.0);
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"group\" aria-label=\"{}\">",
        safe(name)
    );
    for tick in ticks(low, high) {
        let class = if tick == 0.0 { "zero" } else { "axis" };
        out.push_str(&format!(
            "<line class=\"{class}\" x1=\"{SIDE}\" x2=\"{0}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/><text class=\"faint\" x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{tick}</text>",
            WIDTH - SIDE,
            y(tick),
            SIDE - 8.0,
            y(tick) + 4.0
        ));
    }
    let mut power = 0.0;
    while power <= last {
        out.push_str(&format!(
            "<text class=\"faint\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(power),
            HEIGHT - 34.0,
            crate::domain::grouped(10.0_f64.powf(power))
        ));
        power += 1.0;
    }
    out.push_str(&format!(
        "<text class=\"faint\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">median output tokens of a reply</text>",
        WIDTH / 2.0,
        HEIGHT - 10.0
    ));
    for point in points {
        let row = &point.row;
        let Some(value) = row.value else { continue };
        let at = x(logs(point));
        let mut mark = String::new();
        if let Some(interval) = row.interval {
            mark.push_str(&format!(
                "<line class=\"bar\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
                y(interval.low),
                y(interval.high)
            ));
        }
        mark.push_str(&format!(
            "<circle class=\"dot\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"7\"/>",
            y(value)
        ));
        out.push_str(&format!("<g data-row=\"{}\">", safe(&row.filter)));
        out.push_str(&linked(&row.href, &row.label, &row.text, &mark));
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(ticks(0.0, 100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(-0.3, 1.0), [-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(0.0, 0.21), [0.0, 0.05, 0.1, 0.15, 0.2]);
        assert_eq!(ticks(1.0, 1.0).len(), 1);
    }
}
