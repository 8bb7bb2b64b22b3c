//! What differs between a published text and the one that the store gives.

/// A place that is not what the replies say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Line of the published text, from 1.
    pub line: usize,
    /// The heading above it.
    pub section: String,
    /// First field of the row, in a table.
    pub row: Option<String>,
    /// Head of the column, in a table.
    pub column: Option<String>,
    /// What is published; `None` where a line is missing.
    pub published: Option<String>,
    /// What the replies say; `None` where nothing should stand.
    pub computed: Option<String>,
}

/// The first differences of two texts, cell by cell within tables, line by line elsewhere.
#[must_use]
pub fn mismatches(published: &str, computed: &str) -> Vec<Mismatch> {
    let mut found = Vec::new();
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        (computed.lines().collect(), published.lines().collect());
    let mut section = String::new();
    let mut head: Vec<String> = Vec::new();
    for place in 0..ours.len().max(theirs.len()) {
        let (ours, theirs) = (ours.get(place), theirs.get(place));
        let line = ours.or(theirs).copied().unwrap_or_default();
        if let Some(heading) = heading(line) {
            section = heading;
        }
        let fields = cells_of(line);
        match (&fields, head.is_empty()) {
            (None, _) => head.clear(),
            (Some(fields), true) => head.clone_from(fields),
            (Some(_), false) => {}
        }
        if ours == theirs {
            continue;
        }
        let at = |row, column, published, computed| Mismatch {
            line: place + 1,
            section: section.clone(),
            row,
            column,
            published,
            computed,
        };
        match (
            ours.and_then(|line| cells_of(line)),
            theirs.and_then(|line| cells_of(line)),
        ) {
            (Some(ours), Some(theirs)) if ours.len() == theirs.len() => {
                for (column, (ours, theirs_here)) in ours.iter().zip(&theirs).enumerate() {
                    if ours != theirs_here {
                        found.push(at(
                            theirs.first().cloned(),
                            head.get(column).cloned(),
                            Some(theirs_here.clone()),
                            Some(ours.clone()),
                        ));
                    }
                }
            }
            _ => found.push(at(
                None,
                None,
                theirs.map(|line| (*line).to_owned()),
                ours.map(|line| (*line).to_owned()),
            )),
        }
    }
    if found.is_empty() && published != computed {
        // Line ends and the end of the file.
        found.push(Mismatch {
            line: theirs.len(),
            section,
            row: None,
            column: None,
            published: Some("other line ends".to_owned()),
            computed: Some("lines that end in \\n".to_owned()),
        });
    }
    found
}

/// What a line says if it is a heading, of markdown or HTML.
fn heading(line: &str) -> Option<String> {
    if line.starts_with('#') {
        return Some(line.trim_start_matches('#').trim().to_owned());
    }
    let text = line
        .strip_prefix("<h1>")
        .or_else(|| line.strip_prefix("<h2>"))?;
    Some(text.split('<').next().unwrap_or_default().to_owned())
}

/// Two texts that differ, cut down to the neighbourhood of the first difference.
#[must_use]
pub fn around_difference(a: &str, b: &str) -> (String, String) {
    const BEFORE: usize = 30;
    const AFTER: usize = 50;
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let from = same.saturating_sub(BEFORE);
        let mut kept: String = text
            .chars()
            .skip(from)
            .take(BEFORE.min(same) + AFTER)
            .collect();
        if from > 0 {
            kept.insert(0, '…');
        }
        if kept.chars().count() < text.chars().skip(from).count() {
            kept.push('…');
        }
        kept
    };
    (cut(a), cut(b))
}

/// The fields of a row of a markdown table.
fn cells_of(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let mut fields = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        if c == '|' && !escaped {
            fields.push(String::new());
        } else if let Some(field) = fields.last_mut() {
            field.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    Some(fields.iter().map(|field| field.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_digit_is_named_by_row_and_column() {
        let board =
            "# B\n\n## Index\n\n| model | x |\n| --- | ---: |\n| a\\|b | 0.62 |\n| c | 1 |\n";
        assert!(mismatches(board, board).is_empty());
        let found = mismatches(&board.replace("0.62", "0.52"), board);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 7);
        assert_eq!(found[0].section, "Index");
        assert_eq!(found[0].row.as_deref(), Some("a\\|b"));
        assert_eq!(found[0].column.as_deref(), Some("x"));
        assert_eq!(found[0].published.as_deref(), Some("0.52"));
        assert_eq!(found[0].computed.as_deref(), Some("0.62"));
        let cut = board.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
        assert_eq!(mismatches(&cut, board)[0].published, None);
        assert_eq!(mismatches(board.trim_end(), board).len(), 1);
    }
}
