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

/// The differences of two texts, cell by cell within tables, line by line elsewhere. Lines that came or went do not shift
/// what follows.
#[must_use]
pub fn mismatches(published: &str, computed: &str) -> Vec<Mismatch> {
    let (theirs, ours): (Vec<&str>, Vec<&str>) =
        (published.lines().collect(), computed.lines().collect());
    let mut found = Vec::new();
    for change in similar::capture_diff_slices(similar::Algorithm::Myers, &theirs, &ours) {
        if change.tag() == similar::DiffTag::Equal {
            continue;
        }
        let (old, new) = (change.old_range(), change.new_range());
        for step in 0..old.len().max(new.len()) {
            let (at, own) = (old.start + step, new.start + step);
            let theirs_here = theirs.get(at).filter(|_| step < old.len());
            let ours_here = ours.get(own).filter(|_| step < new.len());
            compare_lines(&theirs, at, theirs_here, ours_here, &mut found);
        }
    }
    if found.is_empty() && published != computed {
        found.push(Mismatch {
            line: theirs.len(),
            section: "line ends".to_owned(),
            row: None,
            column: None,
            published: Some("other line ends, or another end of the file".to_owned()),
            computed: Some("lines that end in \\n, the last one too".to_owned()),
        });
    }
    found
}

/// Names the differences of one line, `at` its place in the published text.
fn compare_lines(
    published: &[&str],
    at: usize,
    theirs: Option<&&str>,
    ours: Option<&&str>,
    found: &mut Vec<Mismatch>,
) {
    let before = &published[..at.min(published.len())];
    let section = published
        .get(at)
        .into_iter()
        .chain(before.iter().rev())
        .find_map(|line| heading(line))
        .unwrap_or_default();
    let mismatch = |row, column, published, computed| Mismatch {
        line: at + 1,
        section: section.clone(),
        row,
        column,
        published,
        computed,
    };
    if let (Some(ours), Some(theirs)) = (
        ours.and_then(|line| cells_of(line)),
        theirs.and_then(|line| cells_of(line)),
    ) && ours.len() == theirs.len()
        && ours != theirs
    {
        let head = before
            .iter()
            .rev()
            .map_while(|line| cells_of(line))
            .last()
            .unwrap_or_default();
        for (column, (ours, theirs_here)) in ours.iter().zip(&theirs).enumerate() {
            if ours != theirs_here {
                found.push(mismatch(
                    theirs.first().cloned(),
                    head.get(column).cloned(),
                    Some(theirs_here.clone()),
                    Some(ours.clone()),
                ));
            }
        }
        return;
    }
    let text = |line: Option<&&str>| line.map(|line| (*line).to_owned());
    found.push(mismatch(None, None, text(theirs), text(ours)));
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
        // A row too many is one difference, and so is a blank too many.
        let more = board.replace("| c | 1 |", "| b | 2 |\n| c | 1 |");
        assert_eq!(mismatches(&more, board).len(), 1);
        let found = mismatches(&board.replace("| c |", "| c  |"), board);
        assert_eq!((found.len(), found[0].line), (1, 8));
    }
}
