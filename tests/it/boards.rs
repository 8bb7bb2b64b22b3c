//! Boards: the same store gives the same bytes, and the committed board is what its replies say.

use std::path::Path;
use std::process::Command;

use super::support::Folder;

#[test]
fn the_same_store_gives_the_same_bytes_in_any_order() {
    let folder = Folder::new();
    for (model, tasks) in [
        ("scripted/pull=0.5", "--task classic --task baseline"),
        ("scripted/pull=0.1", "--task classic --task ticket"),
    ] {
        folder
            .wheel(&format!("run --model {model} {tasks} --quiet"))
            .expect(0);
    }
    folder.wheel("leaderboard --out one").expect(0);
    // Lines in another order, and answers that stand there twice, change nothing that is said.
    let path = folder
        .path()
        .join("runs/scripted%2Fpull%3D0.5/classic.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    folder.wheel("leaderboard --out two").expect(0);
    assert_eq!(folder.read("one/wheel.md"), folder.read("two/wheel.md"));
}

#[test]
fn a_board_says_what_it_shows() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=0.5 --quiet")
        .expect(0);
    folder
        .wheel("run --model scripted/pull=0.9 --task classic --tier known --quiet")
        .expect(0);
    folder.wheel("leaderboard").expect(0);
    let board = folder.read("leaderboards/wheel.md");
    let dates = regex::Regex::new(r"\d{4}-\d\d-\d\d")
        .unwrap()
        .replace_all(&board, "[date-here]")
        .into_owned();
    insta::assert_snapshot!("board", dates);
}

#[test]
fn the_committed_board_is_what_its_replies_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_wheel"))
        .args(["leaderboard", "--store", "leaderboards/runs", "--out"])
        .arg(out.path())
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let committed = std::fs::read_to_string(root.join("leaderboards/wheel.md")).unwrap();
    let computed = std::fs::read_to_string(out.path().join("wheel.md")).unwrap();
    assert!(
        committed == computed,
        "write it again: wheel leaderboard --store leaderboards/runs"
    );
    // The table in the README is a part of it, not typed by hand.
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let table: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    assert!(table.len() > 4 && committed.contains(&table.join("\n")));
}

#[test]
fn an_empty_selection_is_an_error_and_no_empty_board() {
    let folder = Folder::new();
    folder
        .wheel("leaderboard")
        .expect(2)
        .says(&["there is no store at runs"]);
    folder.wheel("score").expect(2);
    std::fs::create_dir_all(folder.path().join("runs/m")).unwrap();
    folder
        .wheel("leaderboard")
        .expect(2)
        .says(&["holds no sample"]);
    assert!(!folder.path().join("leaderboards").exists());
}
