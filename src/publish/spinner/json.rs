//! Scores of stimuli as JSON. The names of the published summary are kept, with Banzhaf for what it calls Shapley.

use serde_json::{Map, Value, json};
use strum::IntoEnumIterator;

use crate::domain::Field;
use crate::score::spinner::{Half, ModelScores, SpinnerScores, VariationScores};
use crate::score::{Interval, stats::Test};

/// `{"variations": […], "models": […]}`. What cannot be computed is null.
#[must_use]
pub fn spinner_scores_json(scores: &SpinnerScores) -> Value {
    json!({
        "variations": scores.variations.iter().map(variation_json).collect::<Vec<_>>(),
        "models": scores.models.iter().map(|model| model_json(model, scores)).collect::<Vec<_>>(),
    })
}

fn variation_json(one: &VariationScores) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("model", json!(one.model));
    put("task", json!(one.task));
    put("variation", json!(one.item));
    put("VariationID", json!(id_of(one.item.as_str())));
    put("regime", json!(one.regime));
    put("control", json!(one.control));
    put("mode", json!(one.mode));
    for (at, half) in [(1, &one.low), (2, &one.high)] {
        for (name, value) in half_json(half, at) {
            put(&name, value);
        }
    }
    let mut test = |statistic: &str, p: &str, sig: &str, test: Option<Test>| {
        put(statistic, json!(test.map(|test| test.statistic)));
        put(p, json!(test.map(|test| test.p)));
        put(sig, json!(test.map_or("", |test| stars(test.p))));
    };
    test("t_LogProb", "p_LogProb", "sig_LogProb", one.t_scores);
    test("W_LogProb", "p_Wilcoxon", "sig_Wilcoxon", one.wilcoxon);
    test(
        "t_BanzhafAnchor",
        "p_BanzhafAnchor",
        "sig_BanzhafAnchor",
        one.t_attribution,
    );
    put("p_Permutation", json!(one.p_permutation));
    put(
        "sig_Permutation",
        json!(one.p_permutation.map_or("", stars)),
    );
    let means = [&one.low, &one.high].map(|half| half.anchor_value.map(|value| value.mean));
    put("Anchoring_EV", json!(u8::from(one.shift() > 0.0)));
    let more = means[0]
        .zip(means[1])
        .map(|(low, high)| u8::from(high > low));
    put("Anchoring_BanzhafMean", json!(more));
    put(
        "BanzhafBias",
        json!(means[1].map(|mean| u8::from(mean > 0.0))),
    );
    for never_filled in ["t_EV", "p_EV", "sig_EV"] {
        put(never_filled, Value::Null);
    }
    put("shift", json!(one.shift()));
    put("index", json!(one.index()));
    put(
        "banzhaf_shift",
        json!(means[0].zip(means[1]).map(|(low, high)| high - low)),
    );
    put("banzhaf", of_fields(one, |half| &half.banzhaf));
    put("shapley", of_fields(one, |half| &half.shapley));
    put("mass_low", json!(one.low.mass));
    put("mass_high", json!(one.high.mass));
    let abss = &one.abss;
    put("abss", json!(one.is_attributed().then_some(abss.value)));
    put("s_b", json!(abss.behaviour));
    put("s_a", json!(abss.attribution));
    put("w_log", json!(abss.w_behaviour));
    put("w_attr", json!(abss.w_attribution));
    put("w_wil", json!(abss.w_wilcoxon));
    put("w_perm", json!(abss.w_permutation));
    put("rho", json!(abss.rho));
    put("concordance", json!(abss.concordance));
    put("missing_p", json!(one.missing_p()));
    Value::Object(out)
}

/// Columns of one anchor; 1 is the low one.
fn half_json(half: &Half, at: u8) -> Vec<(String, Value)> {
    let value = half.anchor_value;
    vec![
        (format!("Anchor{at}"), json!(half.anchor)),
        (format!("EV{at}"), json!(half.expected)),
        (format!("EV{at}_std"), json!(half.predictive.sd)),
        (format!("CI{at}_lower"), json!(half.predictive.interval.low)),
        (
            format!("CI{at}_upper"),
            json!(half.predictive.interval.high),
        ),
        (format!("LogProbMean{at}"), json!(half.mean_score)),
        (format!("n{at}"), json!(half.n)),
        (
            format!("BanzhafMean{at}"),
            json!(value.map(|value| value.mean)),
        ),
        (
            format!("BanzhafStd{at}"),
            json!(value.map(|value| value.sd)),
        ),
        (
            format!("BanzhafCI{at}_lower"),
            json!(value.map(|value| value.interval.low)),
        ),
        (
            format!("BanzhafCI{at}_upper"),
            json!(value.map(|value| value.interval.high)),
        ),
    ]
}

/// Mean values of all fields under both anchors.
fn of_fields(
    one: &VariationScores,
    of: impl Fn(&Half) -> &std::collections::BTreeMap<Field, f64>,
) -> Value {
    let fields = Field::iter().map(|field| {
        let value = |half: &Half| of(half).get(&field).copied();
        let both = json!({"low": value(&one.low), "high": value(&one.high)});
        (field.to_string(), both)
    });
    Value::Object(fields.collect())
}

fn model_json(model: &ModelScores, scores: &SpinnerScores) -> Value {
    let with = |(value, interval): (f64, Option<Interval>)| {
        json!({
            "value": value,
            "low": interval.map(|interval| interval.low),
            "high": interval.map(|interval| interval.high),
            "n": model.n,
        })
    };
    let whole = |value: f64| model.attributed.then_some(value);
    let lost = scores.lost.get(&(model.model.clone(), model.mode));
    let lost: Map<String, Value> = lost
        .into_iter()
        .flatten()
        .map(|(loss, n)| (loss.to_string(), json!(n)))
        .collect();
    json!({
        "model": model.model,
        "task": model.task,
        "mode": model.mode,
        "n": model.n,
        "abss": whole(model.abss),
        "abss_mean": whole(model.abss_mean.0),
        "abss_mean_interval": model.attributed.then(|| with(model.abss_mean)),
        "behaviour": whole(model.parts[0]),
        "attribution": whole(model.parts[1]),
        "agreement": whole(model.parts[2]),
        "softev_index": model.index.0,
        "softev_index_interval": with(model.index),
        "mass": model.mass,
        "shift_of_medians": model.shift_of_medians,
        "merged_prompts": scores.merged.get(&(model.model.clone(), model.mode)).unwrap_or(&0),
        "lost": lost,
    })
}

/// The number of a variation: 1 of `V1-S`.
fn id_of(item: &str) -> Option<u32> {
    item.split('-').next()?.strip_prefix('V')?.parse().ok()
}

/// `***` below 0.01, `**` below 0.05, `*` below 0.10, as the published summary has them.
fn stars(p: f64) -> &'static str {
    match p {
        p if p < 0.01 => "***",
        p if p < 0.05 => "**",
        p if p < 0.10 => "*",
        _ => "",
    }
}
