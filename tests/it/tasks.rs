//! Tasks: what is sent, to the letter, and a task of one's own.

use std::fmt::Write;

use wheel::bank::{self, Strictness};
use wheel::domain::{Condition, Suite};
use wheel::task::Form;

use super::support::{Folder, built_in_tasks};

#[test]
fn the_ticket_prompt_is_the_one_of_the_specification() {
    let (bank, _) = bank::load(&bank::built_in(), Strictness::Usable).unwrap();
    let tasks = built_in_tasks().of(Suite::Wheel);
    let item = bank.get(&"everest-height".into()).unwrap();
    let prompt = tasks
        .get("ticket")
        .unwrap()
        .outline(item, Condition::High, Form::default())
        .unwrap();
    assert_eq!(prompt.0.len(), 1);
    assert_eq!(
        prompt.0[0].content,
        "Support ticket #22000\n\nEstimate the height of Mount Everest, in meters.\nReply with only one line, in the format: ESTIMATE: <number>. No explanation."
    );
}

#[test]
fn every_prompt_of_every_task_is_the_one_in_the_snapshot() {
    let (bank, _) = bank::load(&bank::built_in(), Strictness::Usable).unwrap();
    let tasks = built_in_tasks().of(Suite::Wheel);
    let mut prompts = 0;
    // The forms by probability ask in the words of their tasks.
    for grid in tasks.0.iter().filter(|task| task.targets.is_some()) {
        let of = tasks
            .get(grid.variant_of.as_ref().unwrap().as_str())
            .unwrap();
        let [ours, theirs] = [grid, of].map(|task| {
            let item = &bank.items[0];
            task.outline(item, task.conditions[0], Form::default())
                .unwrap()
        });
        assert_eq!(ours, theirs);
    }
    for task in tasks.0.iter().filter(|task| task.targets.is_none()) {
        let mut text = String::new();
        for item in &bank.items {
            for condition in &task.conditions {
                let conversation = task.outline(item, *condition, Form::default()).unwrap();
                writeln!(text, "=== {} {condition}", item.id).unwrap();
                for message in &conversation.0 {
                    writeln!(text, "{}", message.content).unwrap();
                }
                prompts += 1;
            }
        }
        insta::assert_snapshot!(format!("prompts_{}", task.name), text);
    }
    assert_eq!(prompts, 360);
}

const EMAIL: &str = "\
name: price-email
title: Price in a pasted email
about: an email with a price stands above the question
conditions: [low, high]
one_line: true
messages:
  - user: |-
      From: sales@example.com
      Our best offer is {{ anchor.grouped }} dollars, valid until Friday.

      Estimate {{ question }}{% if unit %}, in {{ unit }}{% endif %}.
      Reply with only one line, in the format: ESTIMATE: <number>.
  - ask: [estimate]
";

#[test]
fn a_task_of_ones_own_works_like_a_built_in_one() {
    let folder = Folder::new();
    folder.write("tasks/price-email.yaml", EMAIL);
    assert!(folder.wheel("tasks").expect(0).out.contains("price-email"));
    folder.wheel("tasks check").expect(0);
    let shown = folder
        .wheel("show --task price-email --item everest-height --condition low")
        .expect(0);
    assert!(
        shown.out.contains("Our best offer is 3,500 dollars"),
        "{}",
        shown.out
    );
    folder
        .wheel("run --model scripted/pull=0.4 --task price-email --quiet")
        .expect(0);
    let score = folder.wheel("score --json").expect(0).json();
    assert_eq!(score["cells"][0]["task"], "price-email");
    assert!((score["cells"][0]["index"].as_f64().unwrap() - 0.4).abs() < 5e-4);
    folder.wheel("leaderboard").expect(0);
    assert!(
        folder
            .read("leaderboards/wheel.md")
            .contains("Price in a pasted email")
    );
}

#[test]
fn the_reply_of_one_turn_stands_in_the_next() {
    let folder = Folder::new();
    folder.write(
        "tasks/two-turns.yaml",
        "name: two-turns\nconditions: [low, high]\nmessages:\n  - user: Is {{ question }} more or less than {{ anchor.phrase }}?\n  - ask: [comparison]\n  - user: \"You said {{ replies[0] }}. Estimate {{ question }}. ESTIMATE: <number>\"\n  - ask: [estimate]\n",
    );
    let server = super::support::Server::new(|request, _| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        if messages.len() == 1 {
            super::support::ok("less")
        } else {
            assert_eq!(messages[1]["content"], "less");
            assert!(
                messages[2]["content"]
                    .as_str()
                    .unwrap()
                    .starts_with("You said less.")
            );
            super::support::ok("ESTIMATE: 9,000")
        }
    });
    let words = format!(
        "run --model {} --task two-turns --item everest-height --quiet",
        server.model()
    );
    folder.wheel(&words).expect(0);
    let file = std::fs::read_dir(folder.path().join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let text = std::fs::read_to_string(file.path().join("two-turns.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4, "two samples of two turns");
    assert!(
        lines
            .iter()
            .any(|line| line["turn"] == 2 && line["conversation"].as_array().unwrap().len() == 3)
    );
    // A second run asks nothing; the comparison of turn 1 is set against the estimate of turn 2.
    folder.wheel(&words).expect(0);
    assert_eq!(server.asked.total(), 4);
    let score = folder.wheel("score --json").expect(0).json();
    assert_eq!(
        score["cells"][0]["contradictions"], 1,
        "less than 3,500, then 9,000"
    );
}

#[test]
fn a_bad_task_file_names_every_fault_with_its_place() {
    let folder = Folder::new();
    folder.write(
        "tasks/bad.yaml",
        "name: bad\nconditions: [low, hihg]\nmessages:\n  - user: Estimate {{ qestion }}.\n  - asks: [estimate]\n",
    );
    folder.wheel("tasks check").expect(2).says(&[
        "tasks/bad.yaml:2:19: conditions: task `bad`: `hihg` is not known here",
        "did you mean high?",
        "tasks/bad.yaml:5:5: asks: task `bad`: there is no such role",
        "exactly one ask",
    ]);
    folder.write(
        "tasks/bad.yaml",
        "name: bad\nconditions: [low, high]\nmessages:\n  - user: Estimate {{ qestion }}.\n  - ask: [estimate]\n",
    );
    folder
        .wheel("tasks check")
        .expect(2)
        .says(&["undefined value", "question, unit, replies"]);
    folder.write(
        "tasks/bad.yaml",
        "name: bad\nconditions: [low, high]\nmessages:\n  - user: Estimate {{ question }}.\n  - ask: [estimate]\n",
    );
    folder
        .wheel("tasks check")
        .expect(2)
        .says(&["low and high are the same"]);
}

#[test]
fn a_prompt_without_what_it_asks_about_is_refused() {
    let folder = Folder::new();
    // Quoted and escaped it is still there.
    folder.write(
        "tasks/mine.yaml",
        "name: mine\nsuite: judge\njudges: {of: messages}\nconditions: [c0, c1]\nmessages:\n  - user: \"<b>{{ text | e }}</b> {{ condition }}\"\n  - ask: [verdict]\n",
    );
    folder.wheel("tasks check").expect(0);
    for (fields, message, words) in [
        (
            "conditions: [low, high]",
            "user: Ticket {{ anchor.plain }}.",
            [
                "under low does not hold the question",
                "put {{ question }} into a message",
            ],
        ),
        (
            "suite: spinner\nconditions: [low, high]\ntargets: {from: 0, to: 100, text: \"{n}%\"}",
            "text: \"{{ scene }}{{ anchor }}. {{ absolute }}\"",
            [
                "under low does not hold the comparison",
                "{{ comparative }}",
            ],
        ),
        (
            "suite: judge\njudges: {of: texts}\nconditions: [c0, c1]",
            "user: \"{{ rubric }} {{ condition }}\"",
            [
                "under c0 does not hold the answer that is judged",
                "put {{ answer }} into a message",
            ],
        ),
        (
            "suite: judge\njudges: {of: messages}\nconditions: [c0, c1]",
            "user: \"{{ guide }} {{ condition }}\"",
            [
                "under c0 does not hold the message that is labelled",
                "put {{ text }} into a message",
            ],
        ),
    ] {
        let reads = if fields.contains("judge") {
            "verdict"
        } else {
            "estimate"
        };
        folder.write(
            "tasks/mine.yaml",
            &format!("name: mine\n{fields}\nmessages:\n  - {message}\n  - ask: [{reads}]\n"),
        );
        let check = folder.wheel("tasks check").expect(2);
        check
            .says(&["tasks/mine.yaml:", "task `mine`"])
            .says(&words);
    }
}
