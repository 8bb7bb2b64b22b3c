//! Boards, pages, reports and comparisons of cases.

use serde_json::Value;

use super::support::Folder;

/// Two scripts in all pathways, and one variant.
fn asked() -> Folder {
    let folder = Folder::new();
    for (model, more) in [
        ("irrelevant=0.1,plausible=0.4", "noise=0.05"),
        ("irrelevant=0.3,plausible=0.3", "noise=0.05"),
    ] {
        let run = format!("run --size smoke --epochs 2 -q --model scripted/{model},{more}");
        folder
            .wheel(&format!("{run} --suite anchorbench"))
            .expect(0);
        folder
            .wheel(&format!("{run} --task external-ignore --task rag-last"))
            .expect(0);
    }
    folder
}

const FIRST: &str = "scripted/irrelevant=0.1,plausible=0.4,noise=0.05";
const SECOND: &str = "scripted/irrelevant=0.3,plausible=0.3,noise=0.05";

#[test]
fn the_board_is_checked_to_the_digit_and_pages_lead_to_replies() {
    let folder = asked();
    folder.wheel("leaderboard --suite anchorbench").expect(0);
    let board = folder.read("leaderboards/anchorbench.md");
    for part in [
        "## Pull of irrelevant anchors",
        "## Pull beyond what a plausible anchor deserves",
        "## Pull or drift",
        "## Dose and response",
        "## Over models",
        "## Ranks",
        "## Variants",
        "| External | History | Demonstrations | Shifted demonstrations | Retrieval | Tool output |",
        " ▲ |",
    ] {
        assert!(board.contains(part), "no {part} in\n{board}");
    }
    let verify = "verify leaderboards/anchorbench.md";
    folder.wheel(verify).expect(0);
    // The first digit behind a decimal point of the first pull is made another one.
    let at = board.find("## Pull of plausible anchors").unwrap();
    let at = at + board[at..].find("| 0.").unwrap() + 4;
    let other = if &board[at..=at] == "9" { "8" } else { "9" };
    let edited = format!("{}{other}{}", &board[..at], &board[at + 1..]);
    folder.write("leaderboards/anchorbench.md", &edited);
    folder
        .wheel(verify)
        .expect(1)
        .says(&["Pull of plausible anchors", "External"]);
    // Another clustering is another board, and says so itself.
    folder
        .wheel("leaderboard --suite anchorbench --clustering published --out published")
        .expect(0);
    folder.wheel("verify published/anchorbench.md").expect(0);
    folder
        .wheel("leaderboard --suite anchorbench --html site")
        .expect(0);
    let index = folder.read("site/index.html");
    assert!(index.contains("<polyline class=\"curve\"") && index.contains("Accuracy against pull"));
    let mut links = 0;
    for link in index.split("href=\"").skip(1) {
        let link = link.split('"').next().unwrap();
        let file = link.split('#').next().unwrap();
        if file.contains(".html") {
            assert!(folder.path().join("site").join(file).is_file(), "{file}");
            links += 1;
        }
    }
    assert!(links > 30, "{links}");
    folder.wheel("verify site").expect(0);
}

#[test]
fn boards_of_the_two_suites_do_not_see_each_other() {
    let folder = Folder::new();
    folder
        .wheel("run --task classic --model scripted/pull=0.5 -q")
        .expect(0);
    folder.wheel("leaderboard").expect(0);
    let before = folder.read("leaderboards/wheel.md");
    folder
        .wheel("score --suite anchorbench")
        .expect(2)
        .says(&["no sample of suite anchorbench", "lines of --suite wheel"]);
    folder
        .wheel("run --task external --size smoke --model scripted/pull=0.5 -q")
        .expect(0);
    folder.wheel("leaderboard").expect(0);
    assert_eq!(folder.read("leaderboards/wheel.md"), before);
    // A task says by itself which suite is meant; two suites at once are refused.
    folder
        .wheel("score --task external")
        .expect(0)
        .prints(&["external"]);
    folder
        .wheel("run --task external --task classic --model scripted/pull=0.5")
        .expect(2)
        .says(&["suites are asked and scored one at a time"]);
    folder
        .wheel("run --task external --tier known --model scripted/pull=0.5")
        .expect(2)
        .says(&["cases have no tiers"]);
    folder
        .wheel("run --task external --item EXT-pricing_wtp-e-off15-011 --model scripted/pull=0.5")
        .expect(2)
        .says(&["did you mean EXT-pricing_wtp-e-off15-010?"]);
}

#[test]
fn a_report_lays_variants_beside_their_tasks_and_counts_noise() {
    let folder = asked();
    let report = folder
        .wheel(&format!("report --suite anchorbench --model {FIRST}"))
        .expect(0)
        .out;
    for part in [
        "## Channels",
        "## External\n",
        "### By difficulty and distance, and at other epsilons",
        "### What anchors do to the error",
        "## Variants",
        "external-ignore",
        "rag-last",
        "asked again, 1.00 of 30 prompts get another answer",
        "from epoch to epoch the plausible pull moves by",
    ] {
        assert!(report.contains(part), "no {part} in\n{report}");
    }
    folder
        .wheel(&format!(
            "report --suite anchorbench --model {FIRST} --html --out report.html"
        ))
        .expect(0);
    assert!(folder.read("report.html").contains("<table"));
}

#[test]
fn two_models_and_two_tasks_are_compared_case_by_case() {
    let folder = asked();
    let json = |words: &str| -> Value { folder.wheel(words).expect(0).json() };
    let models = json(&format!(
        "compare {FIRST} {SECOND} --suite anchorbench --json"
    ));
    let contrasts = models["contrasts"].as_array().unwrap();
    assert_eq!(contrasts.len(), 8);
    for contrast in contrasts {
        // The second minus the first, in pulls that are known.
        for (name, wanted) in [("uai_irrelevant", 0.2), ("uai_plausible", -0.1)] {
            let value = &contrast[name];
            let (low, high) = (
                value["low"].as_f64().unwrap(),
                value["high"].as_f64().unwrap(),
            );
            assert!(low < wanted + 0.3 && high > wanted - 0.3, "{contrast}");
            assert_eq!(value["n"], 6, "{contrast}");
        }
    }
    let tasks = json(&format!(
        "compare external external-ignore --model {FIRST} --json"
    ));
    assert_eq!(tasks["contrasts"][0]["about"], FIRST);
    folder
        .wheel(&format!("compare {FIRST} nobody --suite anchorbench"))
        .expect(2)
        .says(&["there is no model, task or store `nobody`"]);
}

#[test]
fn packed_files_are_read_and_not_asked_again() {
    let folder = asked();
    let score = || {
        folder
            .wheel("score --suite anchorbench --json")
            .expect(0)
            .out
    };
    let before = score();
    for file in walk(&folder.path().join("runs")) {
        let packed = format!("{}.xz", file.display());
        let text = std::fs::read(&file).unwrap();
        let mut writer = lzma_rust2::XzWriter::new(
            std::fs::File::create(packed).unwrap(),
            lzma_rust2::XzOptions::with_preset(1),
        )
        .unwrap();
        std::io::Write::write_all(&mut writer, &text).unwrap();
        writer.finish().unwrap();
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(score(), before);
    folder
        .wheel(&format!(
            "run --suite anchorbench --size smoke --epochs 2 --model {FIRST}"
        ))
        .expect(0)
        .says(&["0 samples to ask, 360 already"]);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            files.push(path);
        }
    }
    files
}
