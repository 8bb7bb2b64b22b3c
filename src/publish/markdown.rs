//! Markdown tables with alignment and escaped cells.

/// How a column is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Writes a table: a header, its alignment, and rows of the same width.
pub(super) fn table(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let mut out = line(columns.iter().map(|(name, _)| *name));
    out.push_str(&line(columns.iter().map(|(_, align)| match align {
        Align::Left => "---",
        Align::Right => "---:",
    })));
    for row in rows {
        out.push_str(&line(row.iter().map(String::as_str)));
    }
    out
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(escape).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A text that cannot leave its cell or run as markup.
pub(super) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace("](", "]\\(")
        .replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_columns() {
        let text = table(
            &[("name", Align::Left), ("n", Align::Right)],
            &[vec!["a|b\nc <script>".to_owned(), "1".to_owned()]],
        );
        assert_eq!(
            text,
            "| name | n |\n| --- | ---: |\n| a\\|b c &lt;script> | 1 |\n"
        );
    }
}
