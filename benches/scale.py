#!/usr/bin/env python3
"""A large store, scored: time and memory, beside a plain numpy script that does the same bootstrap.

    python3 benches/scale.py target/release/wheel

Makes a store of 30 models × 5 tasks × 37 epochs, 399,600 samples and some 500 MB, in a temporary folder, by asking scripted respondents; scores it; and scores a board of
30 models × 5 tasks with one epoch. The numpy script reads the exported items.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODELS, EPOCHS, RESAMPLES, BYTES = 30, 37, 10_000, 1250

NUMPY = """
import csv, sys
import numpy as np
rng = np.random.default_rng(1974)
cells = {}
for row in csv.DictReader(open("tables/items.csv")):
    if row["index"]:
        cells.setdefault((row["model"], row["task"]), []).append(float(row["index"]))
for values in cells.values():
    values = np.array(values)
    means = values[rng.integers(0, len(values), (10_000, len(values)))].mean(axis=1)
    np.quantile(means, [0.025, 0.975])
"""


def run(words, folder):
    """Wall time and peak memory (MB) of a command."""
    began = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - began
    assert status == 0, words
    return took, usage.ru_maxrss / 1024


def store(wheel, folder, epochs, padded):
    """Asks scripted respondents, and pads the lines to the length of real ones."""
    for model in range(MODELS):
        script = f"pull={model / MODELS:.3f},noise=0.2"
        run([wheel, "run", "--quiet", "--epochs", str(epochs), "--model", f"scripted/{script}"], folder)
    samples = size = 0
    for path, _, names in os.walk(os.path.join(folder, "runs")):
        for name in names:
            file = os.path.join(path, name)
            lines = open(file).read().splitlines()
            if padded:
                for place, line in enumerate(lines):
                    line = json.loads(line)
                    line["body"] = "x" * max(0, BYTES - len(lines[place]))
                    lines[place] = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
                open(file, "w").write("\n".join(lines) + "\n")
            samples += len(lines)
            size += os.path.getsize(file)
    return samples, size


def main():
    wheel = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        samples, size = store(wheel, folder, EPOCHS, True)
        times, peaks = zip(*(run([wheel, "score", "--json"], folder) for _ in range(5)))
        print(f"{samples} samples, {size / 1e6:.0f} MB: scored in {statistics.median(times):.2f} s (bound 5 s), peak {max(peaks):.0f} MB (bound 500 MB)")
    with tempfile.TemporaryDirectory() as folder:
        samples, _ = store(wheel, folder, 1, False)
        subprocess.run([wheel, "export", "csv", "--out", "tables"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        ours, theirs = [], []
        for _ in range(5):
            ours.append(run([wheel, "leaderboard"], folder)[0])
            theirs.append(run([sys.executable, "-c", NUMPY], folder)[0])
        print(f"board of {MODELS} models × 5 tasks, {RESAMPLES} resamples, {samples} samples read and parsed: {statistics.median(ours):.2f} s (bound 1 s)")
        print(f"  {statistics.median(theirs) / statistics.median(ours):.1f} × as fast as a numpy script that only bootstraps the exported indices of the cells")


main()
