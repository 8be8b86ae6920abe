"""A scenario that `simfl run` is given, and what it leaves."""

from pathlib import Path

from simfl.cli import main

SCENARIO = """\
name: commanded
data: {dataset: {name: synthetic_images, samples: 600, test_samples: 60, size: 4}}
model: logistic_regression
fleet: {count: 30, compute: {distribution: lognormal, median: 50 samples/s, sigma: 0.5}}
training: {epochs: 1, batch_size: 8}
rounds: {clients: 5, stop: {rounds: 3}, policy: {name: synchronous, deadline: {stragglers: 30%}}}
evaluation: {targets: [0.01, 0.99]}
"""
VARIANTS = "variants: {waits: {rounds.policy.deadline: none}, drops: {}}\n"
FILES = {
    *("scenario.yaml", "provenance.json", "rounds.csv", "clients.csv", "events.jsonl"),
    *("summary.json", "report.html", "trace.json"),
}


def run(file: Path, *words: str, code: int = 0) -> None:
    assert main(["run", str(file), "--time-only", *words]) == code
