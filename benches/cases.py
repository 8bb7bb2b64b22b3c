#!/usr/bin/env python3
"""The core set of the published benchmark, generated and scored.

    python3 benches/cases.py target/release/wheel

Asks 14 scripted respondents about the core set of the five published suites (9,000 samples a model) in a temporary folder,
and prints the time of scoring them, with all intervals, tests and ranks, and of generating the cases of all suites and
variants.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODELS = 14
SUITES = ["external", "history", "icl", "rag", "tool"]


def run(words, folder):
    """Wall time and peak memory (MB) of a command."""
    began = time.perf_counter()
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, words
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def main():
    wheel = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        ask = [wheel, "run", "--quiet"]
        for suite in SUITES:
            ask += ["--task", suite]
        for model in range(MODELS):
            ask += ["--model", f"scripted/irrelevant={model / 100:.2f},plausible=0.3,noise=0.{model + 10}"]
        run(ask, folder)
        rounds = [run([wheel, "score", "--suite", "anchorbench", "--json"], folder) for _ in range(3)]
        took, memory = statistics.median(time for time, _ in rounds), max(memory for _, memory in rounds)
        print(f"{MODELS} models × 9,000 samples scored in {took:.2f} s (bound 3), peak {memory:.0f} MB")
        generated = statistics.median(run([wheel, "tasks"], folder)[0] for _ in range(5))
        print(f"all suites and variants generated, checked and listed in {generated:.3f} s (bound 1)")


main()
