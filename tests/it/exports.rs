//! Tables for other programs, and boards held against their store.

use std::process::Command;

use super::support::Folder;

fn scripted() -> Folder {
    let folder = Folder::new();
    folder
        .wheel(
            "run --quiet --epochs 2 --model scripted/pull=0.5,noise=0.1 --model scripted/pull=0.1",
        )
        .expect(0);
    folder
}

#[test]
fn every_column_is_described() {
    let folder = scripted();
    folder.wheel("export csv --out tables").expect(0);
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/statistics.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for name in ["cells", "items", "samples"] {
        let text = folder.read(&format!("tables/{name}.csv"));
        let (_, section) = docs.split_once(&format!("### {name}.csv")).unwrap();
        let section = section.split("\n### ").next().unwrap();
        for column in text.lines().next().unwrap().split(',') {
            assert!(
                section.contains(&format!("| `{column}` |")),
                "{name}: {column}"
            );
        }
    }
}

#[test]
fn tables_hold_what_the_scores_say() {
    let folder = scripted();
    folder.wheel("export json --out tables").expect(0);
    folder.wheel("export csv --out tables").expect(0);
    let cells: serde_json::Value = serde_json::from_str(&folder.read("tables/cells.json")).unwrap();
    let scores = folder.wheel("score --json").expect(0).json();
    for (cell, score) in cells
        .as_array()
        .unwrap()
        .iter()
        .zip(scores["cells"].as_array().unwrap())
    {
        for name in [
            "model", "task", "index", "low", "p", "p_holm", "rank", "noise", "why",
        ] {
            assert_eq!(cell[name], score[name], "{name}");
        }
    }
    assert_eq!(folder.read("tables/cells.csv").lines().count(), 11);
    assert_eq!(
        folder.read("tables/items.csv").lines().count(),
        2 * 4 * 40 + 1
    );
    assert_eq!(
        folder.read("tables/samples.csv").lines().count(),
        2 * 360 * 2 + 1
    );
}

#[test]
fn the_tables_load_in_pandas_and_duckdb() {
    let folder = scripted();
    folder.wheel("export csv --out tables").expect(0);
    let script = "
import pandas, duckdb
for name, rows in ('cells', 10), ('items', 320), ('samples', 1440):
    frame = pandas.read_csv(f'tables/{name}.csv')
    assert len(frame) == rows, (name, len(frame))
cells = pandas.read_csv('tables/cells.csv')
for column in 'index', 'low', 'high', 'p', 'rank', 'noise_floor':
    assert cells[column].dtype.kind == 'f', column
found = duckdb.sql(\"select model, avg(estimate / anchor) from 'tables/samples.csv' where anchor is not null group by model order by model\").fetchall()
assert len(found) == 2 and all(mean > 0 for _, mean in found), found
store = duckdb.sql(\"select count(*), count(distinct key) from read_json('runs/*/*.jsonl', union_by_name=true)\").fetchall()
assert store == [(1440, 1440)], store
print('loaded')
";
    let has = |module: &str| {
        Command::new("python3")
            .args(["-c", &format!("import {module}")])
            .output()
            .is_ok_and(|done| done.status.success())
    };
    if !has("pandas") || !has("duckdb") {
        skipped();
        return;
    }
    let done = Command::new("python3")
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skipped() {
    eprintln!("SKIPPED: python3 has no pandas and duckdb (pip install pandas duckdb)");
}

#[test]
fn a_digit_edited_by_hand_is_found() {
    let folder = scripted();
    folder
        .wheel("leaderboard --index ai --interval bca")
        .expect(0);
    folder.wheel("leaderboard --html site").expect(0);
    folder
        .wheel("verify")
        .expect(0)
        .prints(&["every cell is what"]);
    folder.wheel("verify leaderboards/wheel.md site").expect(0);
    let board = folder.read("leaderboards/wheel.md");
    let cell = regex::Regex::new(r"0\.\d(\d) \[").unwrap();
    let at = cell.captures(&board).unwrap().get(1).unwrap().start();
    let mut edited = board.clone();
    let digit = if &board[at..=at] == "9" { "8" } else { "9" };
    edited.replace_range(at..=at, digit);
    folder.write("leaderboards/wheel.md", &edited);
    folder.wheel("verify").expect(1).says(&[
        "row scripted/pull=0",
        "published \"0.",
        "the replies say \"0.",
        "not what the replies say: 1",
    ]);
    // A site, and a reply in it.
    let pages: Vec<_> = std::fs::read_dir(folder.path().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let page = pages
        .iter()
        .find(|page| page.display().to_string().contains("/cell-"))
        .unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    std::fs::write(
        page,
        text.replacen("reply\">ESTIMATE: ", "reply\">ESTIMATE: 1", 1),
    )
    .unwrap();
    folder.wheel("verify site").expect(1).says(&[
        "cell-scripted",
        "reply\">ESTIMATE: 1",
        " · unanchored · epoch 1: published",
    ]);
    std::fs::remove_file(page).unwrap();
    folder.write("site/other.html", "");
    folder
        .wheel("verify site")
        .expect(1)
        .says(&["No such file", "other.html: nothing of that name"]);
    // Another store, a board that is none, a file that is not there.
    folder.write("leaderboards/wheel.md", &board);
    folder
        .wheel("run --quiet --task random --epochs 3 --model scripted/pull=0.1")
        .expect(0);
    folder.wheel("verify").expect(1).says(&["fingerprint"]);
    folder.write("other.md", "# nothing\n");
    folder
        .wheel("verify other.md")
        .expect(2)
        .says(&["how it was made"]);
    folder
        .wheel("verify nowhere.md")
        .expect(2)
        .says(&["nowhere.md"]);
}
