//! Money: what a run would cost, and where it stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::faulty::{Act, Faulty, json};
use super::support::{Folder, completion};

/// 31 tokens in and some out; a dollar for a million in, a thousand dollars for a million out.
fn priced(server: &Faulty, names: &[&str]) -> String {
    let mut models = "models:\n".to_owned();
    for name in names {
        models.push_str(&format!(
            "  - {{name: {name}, provider: openai_compatible, model: m, base_url: \"{}/{name}\", max_output_tokens: 100, price: {{input: 1, output: 1000, source: list, as_of: today}}}}\n",
            server.url()
        ));
    }
    models
}

fn answering() -> Faulty {
    Faulty::new(|asked| {
        let mut body = completion("less\nESTIMATE: 100");
        // From 15 to 24 tokens.
        let tokens = 15 + asked.number % 10;
        body["usage"] =
            json!({"prompt_tokens": 31, "completion_tokens": tokens, "total_tokens": 31 + tokens});
        Act::Write(json(200, &body))
    })
}

fn cost(lines: &[Value]) -> f64 {
    lines
        .iter()
        .filter_map(|line| line["cost_usd"]["computed"].as_f64())
        .sum()
}

#[test]
fn a_budget_is_kept_over_all_models_and_everything_is_kept() {
    let server = answering();
    let folder = Folder::new();
    folder.write("models.yaml", &priced(&server, &["a", "b"]));
    // A call costs some two cents and at most ten.
    let run = folder
        .wheel("run --model a --model b --task classic --max-cost 1.5 --concurrency 8")
        .expect(4)
        .says(&[
            "stopped: the budget leaves no room for another call",
            "not asked",
            "this run cost $1.",
        ]);
    assert!(run.err.contains("type the same command again"));
    let mut lines = folder.lines("a", "classic");
    lines.extend(folder.lines("b", "classic"));
    let spent = cost(&lines);
    assert!(spent <= 1.5, "{spent}");
    assert!(spent > 1.3, "the room is used: {spent}");
    assert_eq!(server.requests(), lines.len());
    // The rest with enough money.
    folder
        .wheel("run --model a --model b --task classic --max-cost 10 --quiet")
        .expect(0);
    assert_eq!(server.requests(), 160);
}

#[test]
fn an_unknown_price_refuses_a_budget_unless_allowed() {
    let server = answering();
    let folder = Folder::new();
    folder.write("models.yaml", &format!("models:\n  - {{name: a, provider: openai_compatible, model: m, base_url: \"{}/v1\"}}\n", server.url()));
    let words = "run --model a --task baseline --item everest-height --max-cost 1 --quiet";
    folder
        .wheel(words)
        .expect(2)
        .says(&["model `a` has no price", "--allow-unknown-price"]);
    assert_eq!(server.requests(), 0);
    folder
        .wheel(&format!("{words} --allow-unknown-price"))
        .expect(0);
    // What runs here is free.
    folder
        .wheel("run --model scripted/pull=0.5 --task baseline --max-cost 0.01 --quiet")
        .expect(0);
}

#[test]
fn calls_that_may_have_been_billed_count_at_their_most() {
    let hung = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&hung);
    let server = Faulty::new(move |asked| {
        if asked.number % 2 == 0 {
            counting.fetch_add(1, Ordering::Relaxed);
            Act::Close(json(200, &completion("ESTIMATE: 1"))[..100].to_vec())
        } else {
            Act::Write(json(200, &completion("ESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    folder.write("models.yaml", &priced(&server, &["a"]));
    folder
        .wheel("run --model a --task baseline --max-cost 0.5 --concurrency 1")
        .expect(4)
        .says(&["whose cost nobody told"]);
    let hung = hung.load(Ordering::Relaxed);
    // A reply costs less than a cent, a broken call counts as ten: four of them leave no room.
    assert!((3..=5).contains(&hung), "{hung}");
}

fn dollars(row: &str) -> Vec<f64> {
    row.split([' ', '│'])
        .filter_map(|word| word.strip_prefix('$')?.parse().ok())
        .collect()
}

#[test]
fn the_bill_is_what_the_dry_run_said() {
    let server = answering();
    let folder = Folder::new();
    folder.write("models.yaml", &priced(&server, &["a"]));
    folder
        .wheel("run --model a --task classic --limit 10 --quiet")
        .expect(0);
    let before = cost(&folder.lines("a", "classic"));
    let dry = folder
        .wheel("run --model a --task classic --dry-run")
        .expect(0);
    assert!(dry.out.contains("observed, n=20"), "{}", dry.out);
    assert_eq!(server.requests(), 20);
    let row = dry
        .out
        .lines()
        .find(|line| line.contains("classic"))
        .unwrap();
    let [low, high, most] = dollars(row)[..] else {
        panic!("{row}")
    };
    folder
        .wheel("run --model a --task classic --quiet")
        .expect(0);
    let bill = cost(&folder.lines("a", "classic")) - before;
    assert!(
        low <= bill && bill <= high && high <= most,
        "{low} {bill} {high} {most}"
    );
    assert!(
        high < 1.5 * low,
        "a range that says something: {low} – {high}"
    );
    // At half the price by batch.
    let other = Folder::new();
    other.write("models.yaml", &priced(&server, &["a"]));
    let full = other
        .wheel("run --model a --task classic --dry-run")
        .expect(0)
        .out;
    let half = other
        .wheel("run --model a --task classic --dry-run --batch")
        .expect(0)
        .out;
    let last = |text: &str| -> f64 {
        let row = text.lines().find(|line| line.contains("classic")).unwrap();
        *dollars(row).last().unwrap()
    };
    assert!((last(&full) / last(&half) - 2.0).abs() < 0.01);
}

#[test]
fn computed_and_reported_costs_are_both_kept_and_shown_where_they_differ() {
    let server = Faulty::new(|_| {
        let mut body = completion("less\nESTIMATE: 100");
        body["usage"]["cost"] = json!(0.02);
        Act::Write(json(200, &body))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &priced(&server, &["a"]));
    folder
        .wheel("run --model a --task baseline --limit 2 --quiet")
        .expect(0);
    let line = &folder.lines("a", "baseline")[0];
    assert_eq!(
        line["cost_usd"],
        json!({"computed": 0.009_031, "reported": 0.02})
    );
    let out = folder.wheel("score").expect(0).out;
    assert!(out.contains("$0.0181") && out.contains("$0.04"), "{out}");
}

#[test]
fn a_limit_hidden_in_the_extra_body_refuses_a_budget() {
    let server = answering();
    let folder = Folder::new();
    folder.write("models.yaml", &format!("models:\n  - {{name: a, provider: openai_compatible, model: m, base_url: \"{}/v1\", extra_body: {{options: {{num_predict: 9}}}}, price: {{input: 1, output: 1, source: list, as_of: today}}}}\n", server.url()));
    folder
        .wheel("run --model a --task baseline --max-cost 1 --quiet")
        .expect(2)
        .says(&["extra_body of model `a` sets num_predict"]);
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_server_that_bills_beyond_the_limit_is_reckoned_with() {
    let server = Faulty::new(|_| {
        let mut body = completion("ESTIMATE: 100");
        // Ten times the limit of 100 tokens.
        body["usage"] =
            json!({"prompt_tokens": 31, "completion_tokens": 1000, "total_tokens": 1031});
        Act::Write(json(200, &body))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &priced(&server, &["a"]));
    folder
        .wheel("run --model a --task baseline --max-cost 5 --concurrency 1 --quiet")
        .expect(4);
    let spent = cost(&folder.lines("a", "baseline"));
    assert!(spent <= 5.0, "{spent}");
}
