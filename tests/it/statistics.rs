//! Do the intervals and tests keep what they promise? Boards with a known truth.

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};
use wheel::score::stats::{IntervalMethod, Spread, bootstrap_items, sign_flip};
use wheel::score::{Index, Interval};

use super::support::Folder;

/// A standard normal number (Box & Muller 1958).
fn normal(rng: &mut ChaCha12Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// Forty questions whose pull lies around a mean, each asked so often under both anchors, with log-normal noise.
fn board(rng: &mut ChaCha12Rng, pull: f64, between: f64, noise: f64, epochs: usize) -> Vec<Spread> {
    let pulls: Vec<f64> = (0..40).map(|_| pull + between * normal(rng)).collect();
    board_of(rng, &pulls, noise, epochs)
}

/// Questions with these pulls, each asked so often under both anchors, in the way that cells are scored.
fn board_of(rng: &mut ChaCha12Rng, pulls: &[f64], noise: f64, epochs: usize) -> Vec<Spread> {
    let anchors = (40.0_f64, 250.0_f64);
    pulls
        .iter()
        .map(|pull| {
            let mut ask = |anchor: f64| -> Vec<f64> {
                (0..epochs)
                    .map(|_| {
                        100.0_f64.powf(1.0 - pull)
                            * anchor.powf(*pull)
                            * (noise * normal(rng)).exp()
                    })
                    .collect()
            };
            let (low, high) = (ask(anchors.0), ask(anchors.1));
            let value = Index::LogAi.of(&low, &high, anchors);
            let (low, high) = (Index::LogAi.prepare(&low), Index::LogAi.prepare(&high));
            Spread::of(value, &low, &high, |low, high| {
                Index::LogAi.of_prepared(low, high, anchors)
            })
        })
        .collect()
}

/// Share of 1,000 boards whose interval holds the truth.
fn coverage(size: usize, between: f64, noise: f64, epochs: usize, method: IntervalMethod) -> f64 {
    const TRUTH: f64 = 0.3;
    let mut rng = ChaCha12Rng::seed_from_u64(7);
    let held = (0..1000)
        .filter(|_| {
            let mut items = board(&mut rng, TRUTH, between, noise, epochs);
            items.truncate(size);
            let Interval { low, high } = bootstrap_items(&items, method);
            (low..=high).contains(&TRUTH)
        })
        .count();
    f64::from(u32::try_from(held).unwrap()) / 1000.0
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for (size, between, noise, epochs, method) in [
        (10, 0.2, 0.0, 1, IntervalMethod::Percentile),
        (10, 0.2, 0.3, 4, IntervalMethod::Percentile),
        // Questions that differ, questions that only wobble, and both; one epoch and several.
        (40, 0.2, 0.0, 1, IntervalMethod::Percentile),
        (40, 0.2, 0.3, 1, IntervalMethod::Percentile),
        (40, 0.0, 0.3, 4, IntervalMethod::Percentile),
        (40, 0.2, 0.3, 4, IntervalMethod::Percentile),
        (40, 0.2, 0.3, 4, IntervalMethod::Bca),
    ] {
        let held = coverage(size, between, noise, epochs, method);
        assert!(
            (0.93..=0.97).contains(&held),
            "{size} questions, between {between}, noise {noise}, epochs {epochs}, {method}: {held}"
        );
    }
}

#[test]
fn paired_intervals_cover_the_truth_and_paired_tests_keep_their_level() {
    // Two models with the same pull on each of the same questions, and noise of their own.
    let mut rng = ChaCha12Rng::seed_from_u64(13);
    let (mut held, mut alarms) = (0, 0);
    for _ in 0..500 {
        let pulls: Vec<f64> = (0..40).map(|_| 0.3 + 0.2 * normal(&mut rng)).collect();
        let mut model = || board_of(&mut rng, &pulls, 0.3, 4);
        let (a, b) = (model(), model());
        let differences: Vec<Spread> = b.iter().zip(&a).map(|(b, a)| b.minus(a)).collect();
        let Interval { low, high } = bootstrap_items(&differences, IntervalMethod::Percentile);
        held += usize::from((low..=high).contains(&0.0));
        let values: Vec<f64> = differences.iter().map(|item| item.value).collect();
        alarms += usize::from(sign_flip(&values).unwrap() < 0.05);
    }
    assert!((465..=485).contains(&held), "{held} of 500");
    assert!((12..=35).contains(&alarms), "{alarms} of 500");
}

#[test]
fn boards_without_pull_are_called_pulled_as_seldom_as_promised() {
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let alarms = (0..1000)
        .filter(|_| {
            let values: Vec<f64> = board(&mut rng, 0.0, 0.0, 0.3, 1)
                .iter()
                .map(|item| item.value)
                .collect();
            sign_flip(&values).unwrap() < 0.05
        })
        .count();
    assert!((30..=57).contains(&alarms), "{alarms} of 1,000");
}

#[test]
fn noise_is_told_from_pull() {
    let folder = Folder::new();
    for model in ["scripted/pull=0,noise=0.4", "scripted/pull=0.5,noise=0.2"] {
        folder
            .wheel(&format!("run --epochs 5 --quiet --model {model}"))
            .expect(0);
    }
    let scores = folder.wheel("score --json").expect(0).json();
    let cells: Vec<_> = scores["cells"].as_array().unwrap().clone();
    let (still, pulled): (Vec<_>, Vec<_>) = cells
        .iter()
        .filter(|cell| cell["task"] != "baseline")
        .partition(|cell| cell["model"] == "scripted/pull=0,noise=0.4");
    let mean = |cells: &[&serde_json::Value], name: &str| {
        let sum: f64 = cells.iter().map(|cell| cell[name].as_f64().unwrap()).sum();
        sum / 4.0
    };
    // Without pull the intervals hold 0, the tests are silent, and noise explains the sensitivity.
    for cell in &still {
        let value = |name: &str| cell[name].as_f64().unwrap();
        assert!(value("low") < 0.0 && value("high") > 0.0, "{cell}");
        assert!(value("p") > 0.05, "{cell}");
        assert!(value("index").abs() < value("noise_floor"), "{cell}");
    }
    let (sensitivity, noise) = (mean(&still, "sensitivity"), mean(&still, "noise"));
    assert!(
        sensitivity > 0.05 && (noise / sensitivity - 1.0).abs() < 0.15,
        "{noise} of {sensitivity}"
    );
    // Expected size: 2 epochs means of 5 on either side, so √(2/π) · √(2/5) · 0.4 / ln 6.25.
    let expected = (2.0 / std::f64::consts::PI).sqrt() * 0.4_f64.sqrt() * 0.4 / 6.25_f64.ln();
    assert!(
        (noise / expected - 1.0).abs() < 0.1,
        "{noise} for {expected}"
    );
    // With pull most of the sensitivity is pull.
    let pull = mean(&pulled, "pull");
    assert!((pull - 0.5).abs() < 0.03, "{pull}");
    for cell in &pulled {
        let value = |name: &str| cell[name].as_f64().unwrap();
        assert!(value("low") > 0.4 && value("p") < 0.001, "{cell}");
        assert_eq!(value("noise_items"), 40.0);
    }
}

#[test]
fn other_indices_come_from_the_same_replies() {
    let folder = Folder::new();
    folder
        .wheel("run --task classic --task baseline --quiet --model scripted/pull=0.5")
        .expect(0);
    let cell = |flags: &str| {
        let scores = folder
            .wheel(&format!("score --json {flags}"))
            .expect(0)
            .json();
        let cells = scores["cells"].as_array().unwrap().clone();
        cells
            .into_iter()
            .find(|cell| cell["task"] == "classic")
            .unwrap()
    };
    let log = cell("");
    assert_eq!(log["index_name"], "log_ai");
    let linear = cell("--index ai");
    // Estimates are geometric means of reference and anchor: (√2.5 − 1/√2.5) / (2.5 − 1/2.5), but for rounded anchors.
    let wanted = (2.5_f64.sqrt() - 1.0 / 2.5_f64.sqrt()) / (2.5 - 0.4);
    assert!(
        (linear["index"].as_f64().unwrap() - wanted).abs() < 0.01,
        "{}",
        linear["index"]
    );
    let half = |name: &str| linear[name]["value"].as_f64().unwrap();
    assert!((half("low_half") - (1.0 - 1.0 / 2.5_f64.sqrt()) / 0.6).abs() < 0.01);
    assert!((half("high_half") - (2.5_f64.sqrt() - 1.0) / 1.5).abs() < 0.01);
    assert_eq!(linear["low_half"]["n"], 40);
    let absolute = cell("--index a_index");
    let same = absolute["index"].as_f64().unwrap() - linear["index"].as_f64().unwrap();
    assert!(same.abs() < 1e-12);
    assert!(absolute["p"].is_null());
    let raw = cell("--index raw");
    assert!(raw["index"].is_null());
    assert!(
        raw["why"].as_str().unwrap().contains("4 epochs"),
        "{}",
        raw["why"]
    );
    let item = &raw["by_item"][0];
    let difference =
        item["estimate_high"].as_f64().unwrap() - item["estimate_low"].as_f64().unwrap();
    assert!((item["index"].as_f64().unwrap() - difference).abs() < 1e-9 * difference);
    folder
        .wheel("run --task classic --epochs 4 --quiet --model scripted/pull=0.5")
        .expect(0);
    assert_eq!(cell("--index raw")["index"], 1.0);
    for (index, title) in [
        ("log_ai", "## Anchoring index\n"),
        ("ai", "Jacowitz"),
        ("a_index", "A-index"),
        ("raw", "raw difference"),
    ] {
        folder
            .wheel(&format!(
                "leaderboard --index {index} --interval bca --out {index}"
            ))
            .expect(0);
        let board = folder.read(&format!("{index}/wheel.md"));
        assert!(board.contains(title), "{board}");
        assert!(board.contains(&format!("--index {index} --interval bca")));
    }
    folder
        .wheel("score --index best")
        .expect(2)
        .says(&["log_ai", "a_index"]);
}

#[test]
fn two_models_two_tasks_and_two_stores_are_compared_by_question() {
    let folder = Folder::new();
    for (model, tasks, store) in [
        (
            "scripted/pull=0.5,noise=0.1",
            "--task classic --task ticket",
            "runs",
        ),
        (
            "scripted/pull=0.3,noise=0.1",
            "--task classic --task ticket",
            "runs",
        ),
        ("scripted/pull=0.5,noise=0.1", "--task classic", "later"),
    ] {
        folder
            .wheel(&format!(
                "run --quiet --epochs 2 --model {model} {tasks} --store {store}"
            ))
            .expect(0);
    }
    let (a, b) = ("scripted/pull=0.5,noise=0.1", "scripted/pull=0.3,noise=0.1");
    let found = folder
        .wheel(&format!("compare {a} {b} --json"))
        .expect(0)
        .json();
    let contrasts = found["contrasts"].as_array().unwrap();
    assert_eq!(contrasts.len(), 2);
    for contrast in contrasts {
        let value = |name: &str| contrast[name].as_f64().unwrap();
        assert!((value("difference") + 0.2).abs() < 0.04, "{contrast}");
        assert!(value("low") < -0.2 + 0.04 && value("high") < 0.0);
        assert!(value("p") < 0.001 && value("p_holm") >= value("p"));
        assert_eq!(contrast["n"], 40);
        assert_eq!(contrast["by_item"].as_array().unwrap().len(), 40);
    }
    let tasks = folder
        .wheel(&format!("compare classic ticket --model {a} --json"))
        .expect(0)
        .json();
    assert!(
        tasks["contrasts"][0]["p"].as_f64().unwrap() > 0.01,
        "{tasks}"
    );
    let stores = folder
        .wheel("compare runs later --task classic --json")
        .expect(0)
        .json();
    // The same samples in both stores.
    assert_eq!(stores["contrasts"][0]["difference"], 0.0);
    assert_eq!(stores["contrasts"][0]["p"], 1.0);
    folder
        .wheel(&format!("compare {a} {b}"))
        .expect(0)
        .prints(&[
            "difference [95 %]",
            "the questions that differ most",
            "p (Holm)",
        ]);
    folder
        .wheel(&format!("compare {a} {a}"))
        .expect(2)
        .says(&["the same on both sides"]);
    folder
        .wheel(&format!("compare {a} nobody"))
        .expect(2)
        .says(&["nobody", "there are"]);
}

#[test]
fn epochs_under_a_changed_anchor_are_not_averaged_with_the_others() {
    let folder = Folder::new();
    let words = "run --quiet --task classic --model scripted/pull=1 --epochs";
    let bank = |reference: u32| {
        format!(
            "name: q\nquestions:\n  - id: a\n    tier: fermi\n    text: the number of beans\n    reference: {reference}\n    derivation: a guess\n"
        )
    };
    folder.write("questions/q.yaml", &bank(1000));
    folder.wheel(&format!("{words} 2")).expect(0);
    folder.write("questions/q.yaml", &bank(5000));
    folder
        .wheel("run --quiet --task classic --model scripted/pull=1 --epochs 1")
        .expect(0);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    let item = &cell["by_item"][0];
    assert_eq!(
        (&item["anchor_low"], &item["anchor_high"]),
        (&2000.0.into(), &13000.0.into()),
        "{cell}"
    );
    assert_eq!(
        (&item["estimate_low"], &item["estimate_high"]),
        (&2000.0.into(), &13000.0.into())
    );
    assert_eq!(
        (&item["index"], &item["epochs_low"]),
        (&1.0.into(), &1.into())
    );
    assert_eq!(cell["losses"], serde_json::json!({"other_anchor": 2}));
}
