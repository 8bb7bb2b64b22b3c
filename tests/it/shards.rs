//! Many machines: disjoint parts of a plan, and stores that become one.

use std::collections::BTreeSet;

use super::support::Folder;

const WORDS: &str = "run --model scripted/known=0.1,fuzzy=0.3,fermi=0.8 --quiet --epochs 2";

fn board(folder: &Folder, store: &str) -> String {
    folder
        .wheel(&format!("leaderboard --store {store} --out boards-{store}"))
        .expect(0);
    folder.read(&format!("boards-{store}/wheel.md"))
}

fn keys(folder: &Folder, store: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let model = std::fs::read_dir(folder.path().join(store))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for file in std::fs::read_dir(model).unwrap() {
        for line in std::fs::read_to_string(file.unwrap().path())
            .unwrap()
            .lines()
        {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(keys.insert(line["key"].as_str().unwrap().to_owned()));
        }
    }
    keys
}

#[test]
fn shards_are_disjoint_and_their_merged_board_is_that_of_one_run() {
    let folder = Folder::new();
    folder.wheel(&format!("{WORDS} --store whole")).expect(0);
    let mut together = BTreeSet::new();
    for i in 1..=3 {
        folder
            .wheel(&format!("{WORDS} --store part-{i} --shard {i}/3"))
            .expect(0);
        let part = keys(&folder, &format!("part-{i}"));
        assert!((232..=248).contains(&part.len()), "{}", part.len());
        assert!(part.is_disjoint(&together));
        together.extend(part);
    }
    assert_eq!(together, keys(&folder, "whole"));
    let words = "merge part-1 part-2 part-3 part-1 --into merged";
    folder
        .wheel(words)
        .expect(0)
        .says(&["720 lines added to 5 files"]);
    folder.wheel(words).expect(0).says(&["0 lines added"]);
    let whole = board(&folder, "whole");
    assert_eq!(board(&folder, "merged"), whole);
    // Concatenation in any order does as well, even with a part that comes twice.
    let model = "scripted%2Fknown%3D0.1%2Cfuzzy%3D0.3%2Cfermi%3D0.8";
    for task in ["classic", "baseline", "thinking", "random", "ticket"] {
        let parts: String = [3, 1, 2, 3]
            .iter()
            .map(|i| folder.read(&format!("part-{i}/{model}/{task}.jsonl")))
            .collect();
        folder.write(&format!("joined/{model}/{task}.jsonl"), &parts);
    }
    assert_eq!(board(&folder, "joined"), whole);
    // A merged store is whole: nothing is asked again.
    folder.wheel(&format!("{WORDS} --store merged")).expect(0);
    assert_eq!(keys(&folder, "merged").len(), 720);
}

#[test]
fn a_merge_names_what_is_wrong() {
    let folder = Folder::new();
    folder
        .wheel("merge nowhere")
        .expect(2)
        .says(&["there is no store at nowhere"]);
    folder
        .wheel(&format!("{WORDS} --task baseline --store good"))
        .expect(0);
    let model = "scripted%2Fknown%3D0.1%2Cfuzzy%3D0.3%2Cfermi%3D0.8";
    let text = folder.read(&format!("good/{model}/baseline.jsonl"));
    folder.write("torn/m/baseline.jsonl", &text[..text.len() - 10]);
    folder
        .wheel("merge torn --into a")
        .expect(0)
        .says(&["1 torn last lines", "79 lines added"]);
    folder.write("broken/m/baseline.jsonl", &format!("{{oops\n{text}"));
    folder
        .wheel("merge broken --into b")
        .expect(1)
        .says(&["broken/m/baseline.jsonl:1: not a sample"]);
    folder
        .wheel("run --shard 3/2")
        .expect(2)
        .says(&["such as 2/8"]);
}
