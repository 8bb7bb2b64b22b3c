"""Makes case_views.json: answers of six respondents to eight cases, and what the formulas of docs/anchorbench.md come to,
worked out here with numpy and scipy alone. Run it again with `python3 tests/data/case_views.py`."""

import json
import pathlib

import numpy as np
from scipy.stats import wilcoxon

draw = np.random.default_rng(5)
SIDES = ["low", "high"]
KINDS = ["irrelevant", "plausible"]
CONDITIONS = ["control"] + [f"{kind}_{side}" for kind in KINDS for side in SIDES]
EPSILON = 3.0

cases = []
for place in range(8):
    hard = place % 2 == 1
    offset = 15 if place < 4 else 40
    ratings = [int(value) for value in draw.integers(40, 80, 5)]
    hidden = [1, 3] if hard else []
    seen = [value for slot, value in enumerate(ratings) if slot not in hidden]
    middle = 62
    cases.append({
        "id": f"EXT-d-{'h' if hard else 'e'}-off{offset}-{place:03}",
        "difficulty": "hard" if hard else "easy",
        "offset": offset,
        "ratings": ratings,
        "hidden": hidden,
        "gold": int(np.round(np.mean(seen))),
        "low": middle - offset,
        "high": min(middle + offset, 100),
    })

answers = {}
for model in range(6):
    pull = {"irrelevant": 0.05 + 0.09 * model, "plausible": 0.3 + 0.02 * model}
    of_model = {}
    for place, case in enumerate(cases):
        of_case = {}
        for condition in CONDITIONS:
            center = case["gold"] + (18 if place % 3 == 0 else 2)
            if condition != "control":
                kind, side = condition.split("_")
                center += pull[kind] * (case[side] - center)
            of_case[condition] = [int(value) for value in np.clip(np.round(center + draw.normal(0, 4, 2)), 0, 100)]
        of_model[case["id"]] = of_case
    answers[f"m{model}"] = of_model


def mean(values):
    return float(np.mean(values))


def score(model):
    out = {"shift": {}, "effects": {}}
    got = answers[model]
    control = {case["id"]: np.mean(got[case["id"]]["control"]) for case in cases}

    def index(case, condition):
        """The mean over epochs, of those whose anchor is far enough."""
        away = case[condition.split("_")[1]] - control[case["id"]]
        if abs(away) < EPSILON:
            return None
        return float(np.mean([(answer - control[case["id"]]) / away for answer in got[case["id"]][condition]]))

    def directed(kind, among=cases):
        pairs = [(case, side, index(case, f"{kind}_{side}")) for case in among for side in SIDES]
        return [(case, side, value) for case, side, value in pairs if value is not None]

    def free(case, kind):
        high, low = (np.mean(got[case["id"]][f"{kind}_{side}"]) for side in ["high", "low"])
        return float((high - low) / (case["high"] - case["low"]))

    for kind in KINDS:
        out[f"uai_{kind}"] = mean([value for _, _, value in directed(kind)])
        out[f"pull_{kind}"] = mean([free(case, kind) for case in cases])
        counts = {name: [0, 0, 0] for name in ["all", "closer", "farther", "equidistant"]}
        for case in cases:
            for side in SIDES:
                without = abs(control[case["id"]] - case["gold"])
                error = abs(np.mean(got[case["id"]][f"{kind}_{side}"]) - case["gold"])
                far = abs(case[side] - case["gold"])
                name = "closer" if far < without else "farther" if far > without else "equidistant"
                slot = 0 if error > without else 1 if error < without else 2
                counts["all"][slot] += 1
                counts[name][slot] += 1
        out["shift"][kind] = counts
        d = []
        for side in SIDES:
            with_anchor = np.array([np.mean(got[case["id"]][f"{kind}_{side}"]) for case in cases])
            plain = np.array([control[case["id"]] for case in cases])
            moved = with_anchor - plain
            spread = np.sqrt((with_anchor.var(ddof=1) + plain.var(ddof=1)) / 2)
            out["effects"][f"{kind}_{side}"] = {"d_av": mean(moved) / spread, "d_z": mean(moved) / moved.std(ddof=1)}
            d.append(abs(mean(moved) / spread))
        out[f"d_{kind}"] = mean(d)
    high, low = (
        np.array([np.mean(got[case["id"]][f"plausible_{side}"]) for case in cases]) for side in ["high", "low"]
    )
    out["d_high_low"] = float((high - low).mean() / np.sqrt((high.var(ddof=1) + low.var(ddof=1)) / 2))
    out["disc"] = out["uai_plausible"] - out["uai_irrelevant"]
    shown = [5 - len(case["hidden"]) for case, _, _ in directed("plausible")]
    out["ceiling"] = mean([1 / (n + 1) for n in shown])
    out["excess"] = mean([value - 1 / (5 - len(case["hidden"]) + 1) for case, _, value in directed("plausible")])
    weights = np.linspace(0, 20, 2_000_001)
    ceilings = sum(weights / (n + weights) for n in shown) / len(shown)
    out["implied_weight"] = float(np.interp(out["uai_plausible"], ceilings, weights))
    prompts = [values for case in cases for values in got[case["id"]].values()]
    by_epoch = []
    for epoch in range(2):
        values = []
        for case in cases:
            plain = got[case["id"]]["control"][epoch]
            for side in SIDES:
                if abs(case[side] - plain) >= EPSILON:
                    values.append((got[case["id"]][f"plausible_{side}"][epoch] - plain) / (case[side] - plain))
        by_epoch.append(np.mean(values))
    out["noise"] = {
        "prompts": len(prompts),
        "sd": float(np.sqrt(np.mean([np.var(values, ddof=1) for values in prompts]))),
        "differing": mean([values[0] != values[1] for values in prompts]),
        "sd_pull": float(np.std(by_epoch, ddof=1)),
    }
    out["dose"] = {
        str(offset): mean([v for _, _, v in directed("plausible", [c for c in cases if c["offset"] == offset])])
        for offset in [15, 40]
    }
    out["edges"] = {
        str(offset): [
            (value, 0 < case[side] < 100)
            for case, side, value in directed("plausible", [c for c in cases if c["offset"] == offset])
        ]
        for offset in [15, 40]
    }
    return out


models = {model: score(model) for model in answers}
discs = [one["disc"] for one in models.values()]
pathway = {
    "uai_plausible": mean([one["uai_plausible"] for one in models.values()]),
    "disc": mean(discs),
    "positive": int(np.sum(np.array(discs) > 0)),
    "p_adjusted": float(wilcoxon(discs).pvalue),
    "dose": {offset: mean([one["dose"][offset] for one in models.values()]) for offset in ["15", "40"]},
    "boundary": {},
}
for offset in ["15", "40"]:
    values = [pair for one in models.values() for pair in one["edges"][offset]]
    inside = [value for value, within in values if within]
    pathway["boundary"][offset] = {
        "all": mean([value for value, _ in values]),
        "n": len(values),
        "inside": mean(inside),
        "n_inside": len(inside),
    }
ranks = sorted(models, key=lambda model: abs(models[model]["pull_irrelevant"]))
for one in models.values():
    del one["edges"], one["dose"]
path = pathlib.Path(__file__).with_name("case_views.json")
expected = {"models": models, "pathway": pathway, "order": ranks}
path.write_text(json.dumps({"cases": cases, "answers": answers, "expected": expected}) + "\n")
