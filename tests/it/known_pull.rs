//! A respondent with a known pull, through the whole program.

use super::support::Folder;

#[test]
fn a_known_pull_comes_out_by_tier_to_three_digits() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/known=0,fuzzy=0.3,fermi=0.8 --task classic --task baseline --quiet")
        .expect(0);
    let score = folder.wheel("score --json").expect(0).json();
    let cell = score["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["task"] == "classic")
        .unwrap();
    let close = |value: &serde_json::Value, wanted: f64| {
        assert!(
            (value.as_f64().unwrap() - wanted).abs() < 5e-4,
            "{value} for {wanted}"
        );
    };
    close(&cell["tiers"]["known"]["index"], 0.0);
    close(&cell["tiers"]["fuzzy"]["index"], 0.3);
    close(&cell["tiers"]["fermi"]["index"], 0.8);
    close(&cell["index"], (10.0 * 0.3 + 20.0 * 0.8) / 40.0);
    close(&cell["resistance"], 1.0 - 0.475);
    close(&cell["sensitivity"], 0.475);
    assert_eq!(cell["usable"], 40);
    assert_eq!(cell["backlash"], 0);
    assert_eq!(cell["losses"], serde_json::json!({}));
    assert!(cell["low"].as_f64().unwrap() < 0.475 && cell["high"].as_f64().unwrap() > 0.475);
    let model = &score["models"][0];
    close(&model["accuracy"], 1.0);
    assert_eq!(model["accuracy_n"], 20);
    // Neither price nor tokens are known of a script.
    assert!(model["cost_usd"].is_null() && model["median_output_tokens"].is_null());
}

#[test]
fn a_push_away_is_negative_and_counts_as_backlash() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=-0.5 --task random --quiet")
        .expect(0);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert!((cell["index"].as_f64().unwrap() + 0.5).abs() < 5e-4);
    assert_eq!(cell["backlash"], 40);
}

#[test]
fn a_copier_has_index_one_and_copy_share_one() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=1 --task classic --quiet")
        .expect(0);
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert_eq!(cell["index"], 1.0);
    assert_eq!(cell["copy_share"], 1.0);
}

#[test]
fn epochs_are_samples_of_their_own_and_are_averaged() {
    let folder = Folder::new();
    let words =
        "run --model scripted/pull=0.5 --task ticket --item everest-height --quiet --epochs";
    folder.wheel(&format!("{words} 1")).expect(0);
    folder.wheel(&format!("{words} 3")).expect(0);
    let lines = folder.lines("scripted%2Fpull%3D0.5", "ticket");
    assert_eq!(lines.len(), 6, "the first epoch is not asked again");
    let keys: std::collections::BTreeSet<&str> = lines
        .iter()
        .map(|line| line["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys.len(), 6);
}

#[test]
fn relief_by_thinking_is_said_only_where_there_is_a_pull() {
    let folder = Folder::new();
    let words = "run --task classic --task thinking --quiet --model";
    folder
        .wheel(&format!("{words} scripted/pull=0.5"))
        .expect(0);
    folder.wheel(&format!("{words} scripted/pull=0")).expect(0);
    let models = folder.wheel("score --json").expect(0).json()["models"].clone();
    assert!(
        models[0]["relief_by_thinking"].is_null(),
        "a ratio to nothing"
    );
    assert!(models[1]["relief_by_thinking"].as_f64().unwrap().abs() < 1e-9);
    assert_eq!(models[1]["relief_by_thinking_n"], 40);
}
