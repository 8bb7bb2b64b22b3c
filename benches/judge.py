#!/usr/bin/env python3
"""Scores of 192,000 calls to judges: 8 judges, 20 texts, 3 conditions, 4 temperatures, 100 calls each.

    python3 benches/judge.py target/release/wheel

Prints the time of scoring them, all bootstraps included, and the peak memory: once imported as JSON lines, once asked of
scripted judges, with every prompt in the store (300 trials under 4 conditions).
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

JUDGES, TEXTS, TEMPERATURES, TRIALS = 8, 20, (0, 0.5, 1, 2), 100
CATEGORIES = ("code_review", "creative_writing", "factual_qa", "summarization")


def calls():
    """The calls of a made-up study, some of them lost."""
    draw = random.Random(42)
    for judge in range(JUDGES):
        pull = judge / 20
        for text in range(TEXTS):
            own = 3.6 + 1.2 * draw.random()
            for temperature in TEMPERATURES:
                for condition in ("c0", "c1", "c2"):
                    for trial in range(1, TRIALS + 1):
                        anchor = round(3.99 * draw.random(), 2) if condition == "c2" else None
                        score = own + (temperature / 5) * draw.gauss(0, 1)
                        if anchor is not None:
                            score += pull * (anchor - own)
                        reply = json.dumps({"score": round(score, 2), "accept": score >= 4,
                                            "rationale": "It covers what was asked for, and leaves one point out.", "flags": []})
                        if draw.random() < 0.03 * temperature:
                            reply = reply[:20]
                        yield {"run": "one", "model": f"judge-{judge}", "task": f"text-{text:02}",
                               "category": CATEGORIES[text % 4], "condition": condition, "strategy": "none",
                               "temperature": temperature, "trial": trial, "attempt": 1 + trial % 4, "anchor": anchor,
                               "text": reply, "prompt_tokens": 500, "completion_tokens": 40}


def timed(command, folder):
    """Best of three runs, in seconds, and the largest memory so far, in megabytes."""
    best = float("inf")
    for _ in range(3):
        start = time.monotonic()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        best = min(best, time.monotonic() - start)
    return best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main():
    """Makes both stores and scores them."""
    wheel = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/calls.jsonl", "w", encoding="utf-8") as file:
            lines = 0
            for call in calls():
                file.write(json.dumps(call) + "\n")
                lines += 1
        subprocess.run([wheel, "import", "calls", "calls.jsonl", "--store", "imported"], cwd=folder, check=True)
        seconds, peak = timed([wheel, "score", "--suite", "judge", "--store", "imported", "--json"], folder)
        print(f"{lines} imported calls scored in {seconds:.2f} s (bound 5), peak {peak:.0f} MB")
        judges = [part for judge in range(JUDGES) for part in ("--model", f"scripted/pull={judge / 20}")]
        subprocess.run([wheel, "run", "--task", "judge", "--epochs", "300", "--quiet", *judges, "--store", "asked"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        size = sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(f"{folder}/asked") for name in names)
        seconds, peak = timed([wheel, "score", "--suite", "judge", "--store", "asked", "--json"], folder)
        print(f"{JUDGES * TEXTS * 4 * 300} asked calls ({size / 1e6:.0f} MB) scored in {seconds:.2f} s, peak {peak:.0f} MB")


main()
