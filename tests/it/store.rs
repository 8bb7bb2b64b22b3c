//! The store: nothing lost, nothing asked twice, nothing guessed.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::support::{Folder, Server};

const WORDS: &str = "run --model served --task classic --quiet --concurrency 8";

fn served(server: &Server) -> Folder {
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
}

/// Lines that can be read; a kill may leave a torn last one.
fn whole_lines(folder: &Folder) -> Vec<Value> {
    let path = folder.path().join("runs/served/classic.jsonl");
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(unix)]
#[test]
fn ten_kills_lose_no_stored_answer_and_repeat_none() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::from_millis(40));
    let folder = served(&server);
    let mut stored: HashSet<String> = HashSet::new();
    // Random moments from the start of the process, over the length of a run; the hasher's keys differ each time.
    let chance = std::collections::hash_map::RandomState::new();
    for kill in 0..10_u64 {
        let moment = 30 + chance.hash_one(kill) % 170;
        let asked_before = server.asked.times();
        let mut child = folder
            .command(WORDS)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        // SIGKILL on unix.
        let _ = child.kill();
        child.wait().unwrap();
        let now: HashSet<String> = whole_lines(&folder)
            .iter()
            .map(|line| line["conversation"].to_string())
            .collect();
        assert!(
            now.is_superset(&stored),
            "a stored answer was lost after {moment} ms"
        );
        // What was stored before this run was not asked for in it.
        for (prompt, times) in server.asked.times() {
            if stored.contains(&prompt) {
                assert_eq!(
                    Some(&times),
                    asked_before.get(&prompt),
                    "asked again: {prompt}"
                );
            }
        }
        stored = now;
    }
    folder.wheel(WORDS).expect(0);
    let lines = whole_lines(&folder);
    let keys: HashSet<&str> = lines
        .iter()
        .map(|line| line["key"].as_str().unwrap())
        .collect();
    assert_eq!(lines.len(), 80, "each sample once");
    assert_eq!(keys.len(), 80);
    let calls = server.asked.total();
    folder.wheel(WORDS).expect(0);
    assert_eq!(server.asked.total(), calls, "a full cell asks nothing");
}

#[test]
fn two_runs_on_one_cell_do_not_get_in_each_others_way() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::from_millis(100));
    let folder = served(&server);
    let mut first = folder
        .command(WORDS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Wait until the first has written something, so that it surely holds the lock.
    while whole_lines(&folder).is_empty() {
        std::thread::yield_now();
    }
    folder
        .wheel(WORDS)
        .expect(1)
        .says(&["is being written by another wheel run"]);
    assert!(first.wait().unwrap().success());
    assert_eq!(whole_lines(&folder).len(), 80);
    assert_eq!(server.asked.total(), 80);
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_everything_and_says_how_to_go_on() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::from_millis(150));
    let folder = served(&server);
    let child = folder
        .command("run --model served --task classic --concurrency 2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while whole_lines(&folder).is_empty() {
        std::thread::yield_now();
    }
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    let run = super::support::Run::from(child.wait_with_output().unwrap());
    let run = run.expect(130).says(&["type the same command again"]);
    // Calls in flight were waited for: every request that was sent is a line.
    assert_eq!(
        whole_lines(&folder).len(),
        server.asked.total(),
        "{}",
        run.err
    );
    folder.wheel(WORDS).expect(0);
    assert_eq!(whole_lines(&folder).len(), 80);
    assert_eq!(server.asked.total(), 80);
}

#[test]
fn a_torn_last_line_is_set_aside_and_asked_again() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::ZERO);
    let folder = served(&server);
    folder.wheel(WORDS).expect(0);
    let path = folder.path().join("runs/served/classic.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 100]).unwrap();
    // Scoring leaves the line out with a warning, and changes nothing.
    folder
        .wheel("score")
        .expect(0)
        .says(&["classic.jsonl:80: the last line is torn"]);
    folder
        .wheel(WORDS)
        .expect(0)
        .says(&["the last line was torn", "classic.jsonl.torn"]);
    assert_eq!(whole_lines(&folder).len(), 80);
    assert_eq!(server.asked.total(), 81);
    let aside =
        std::fs::read_to_string(folder.path().join("runs/served/classic.jsonl.torn")).unwrap();
    assert!(text.contains(aside.trim_end()) && !aside.trim().is_empty());
    // A whole line that lost only its line end is an answer.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.trim_end()).unwrap();
    folder.wheel(WORDS).expect(0);
    assert_eq!(server.asked.total(), 81);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_broken_line_in_the_middle_stops_scoring_and_is_named() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=0.5 --task classic --quiet")
        .expect(0);
    let path = folder
        .path()
        .join("runs/scripted%2Fpull%3D0.5/classic.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[6] = "{\"v\":1,\"key\":\"half a li";
    std::fs::write(&path, lines.join("\n")).unwrap();
    folder
        .wheel("score")
        .expect(1)
        .says(&["classic.jsonl:7: not a sample"]);
}

#[test]
fn a_line_of_a_newer_version_is_refused() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=0.5 --task classic --quiet")
        .expect(0);
    let path = folder
        .path()
        .join("runs/scripted%2Fpull%3D0.5/classic.jsonl");
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    writeln!(file, "{{\"v\":2,\"something\":\"new\"}}").unwrap();
    folder.wheel("score").expect(1).says(&[
        "classic.jsonl:81: written in format version 2",
        "use a newer wheel",
    ]);
}

#[test]
fn a_changed_setting_is_a_new_sample_and_a_mix_is_marked() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::ZERO);
    let folder = served(&server);
    folder.wheel(WORDS).expect(0);
    folder
        .wheel(&format!("{WORDS} --temperature 0.5 --tier known"))
        .expect(0);
    assert_eq!(server.asked.total(), 80 + 20);
    folder.wheel("leaderboard").expect(0);
    let board = folder.read("leaderboards/wheel.md");
    assert!(
        board.contains("servedˢ") && board.contains("mixes samples with different settings"),
        "{board}"
    );
}

#[test]
fn a_changed_wording_is_asked_anew_and_old_samples_are_marked() {
    let server = Server::steady("less\nESTIMATE: 100", Duration::ZERO);
    let folder = served(&server);
    folder.wheel(WORDS).expect(0);
    folder.wheel("init").expect(0);
    let task = folder
        .read("tasks/classic.yaml")
        .replace("Close with one line", "End with one line");
    folder.write("tasks/classic.yaml", &task);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert_eq!(cell["other_wording"], 80);
    folder.wheel(WORDS).expect(0);
    assert_eq!(server.asked.total(), 160);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert_eq!(cell["other_wording"], 0, "samples in today's wording count");
}
