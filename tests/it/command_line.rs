//! The command line: help, names, exit codes, showing a sample.

use super::support::{Folder, Server, ok};

#[test]
fn help_is_what_the_snapshot_says() {
    let folder = Folder::new();
    for verb in [
        "",
        "run",
        "score",
        "leaderboard",
        "show",
        "parse",
        "models",
        "tasks",
        "questions",
        "init",
        "completions",
    ] {
        let run = folder.wheel(&format!("{verb} --help")).expect(0);
        assert!(run.err.is_empty());
        insta::assert_snapshot!(format!("help_{verb}"), run.out);
    }
}

#[test]
fn unknown_names_say_what_exists_and_the_nearest() {
    let folder = Folder::new();
    for (words, says) in [
        (
            "run --task clasic",
            "there is no task `clasic`, did you mean classic?; there are: baseline, baseline-grid, classic",
        ),
        (
            "run --item everest",
            "there is no question `everest`, did you mean everest-height?",
        ),
        (
            "run --tier fuzy",
            "there is no tier `fuzy`, did you mean fuzzy?",
        ),
        ("run --tier known --item oak-leaves", "no question is left"),
        (
            "show --task classic --item everest-hight",
            "did you mean everest-height?",
        ),
        (
            "show --task classic --item everest-height --condition unanchored",
            "there are: low, high",
        ),
        ("score --task clasic", "did you mean classic?"),
        ("run --questions nowhere.yaml", "cannot read nowhere.yaml"),
        ("run --models nowhere.yaml", "cannot read nowhere.yaml"),
        ("run --tasks nowhere", "cannot read nowhere"),
        ("run --temperature hot", "must be a number from 0"),
        ("run --epochs 0", "1.."),
        ("frobnicate", "unrecognized subcommand"),
    ] {
        folder.wheel(words).expect(2).says(&[says]);
    }
}

#[test]
fn a_dry_run_asks_nothing_and_shows_what_would_be_sent() {
    let server = Server::new(|_, _| ok("ESTIMATE: 1"));
    let folder = Folder::new();
    folder.write("models.yaml", &server.models("    api_key_env: NOT_SET\n"));
    let run = folder.wheel("run --model served --dry-run").expect(0);
    for part in [
        "360",
        "classic",
        "reply tokens",
        "400 – 320,000 (assumed)",
        "Support ticket #",
    ] {
        let found = run.out.contains(part) || (part == "360" && run.out.matches("80").count() >= 4);
        assert!(found, "{part}: {}", run.out);
    }
    assert_eq!(server.asked.total(), 0);
    assert!(!folder.path().join("runs").exists());
}

#[test]
fn a_doubter_sees_the_prompt_the_reply_and_the_reading() {
    let server = Server::new(|_, _| ok("more\nESTIMATE: about 3,000 m"));
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel("run --model served --task classic --item everest-height --quiet")
        .expect(0);
    let run = folder
        .wheel("show --model served --task classic --item everest-height --condition low")
        .expect(0);
    for part in [
        "Is the height of Mount Everest more or less than 3,500 meters?",
        "more\nESTIMATE: about 3,000 m",
        "estimate 3,000, by the rule label",
        "compared: more; the comparison contradicts the estimate",
        "anchor 3,500; reference 8,849",
        "31 tokens in, 9 out",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let line = folder
        .wheel("show --model served --task classic --item everest-height --condition low --json")
        .expect(0);
    assert_eq!(line.json()["text"], "more\nESTIMATE: about 3,000 m");
    // Without a stored sample, the prompt alone.
    let prompt = folder
        .wheel("show --task ticket --item everest-height --condition high")
        .expect(0);
    assert!(prompt.out.contains("Support ticket #22000"));
}

#[test]
fn init_writes_what_is_built_in_and_spares_what_is_there() {
    let folder = Folder::new();
    folder.write("questions/known.yaml", "name: mine\nquestions: []\n");
    let run = folder
        .wheel("init")
        .expect(0)
        .says(&["questions/known.yaml exists and is left as it is"]);
    assert_eq!(run.out.lines().count(), 25);
    assert_eq!(
        folder.read("questions/known.yaml"),
        "name: mine\nquestions: []\n"
    );
    assert_eq!(
        folder.read("tasks/ticket.yaml"),
        include_str!("../../tasks/ticket.yaml")
    );
    folder.wheel("tasks check").expect(0);
}

#[test]
fn completions_are_printed_for_each_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(
            folder
                .wheel(&format!("completions {shell}"))
                .expect(0)
                .out
                .contains("leaderboard")
        );
    }
}

#[test]
fn scores_below_the_coverage_rule_are_null_with_the_reason() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=0.5 --task classic --tier known --quiet")
        .expect(0);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert!(cell["index"].is_null() && cell["low"].is_null() && cell["resistance"].is_null());
    assert_eq!(cell["why"], "10 of 40 items usable; at least 32 are needed");
    assert!((cell["tiers"]["known"]["index"].as_f64().unwrap() - 0.5).abs() < 5e-4);
    assert!(cell["tiers"]["fermi"]["index"].is_null());
    assert_eq!(cell["losses"]["not_asked"], 60);
}
