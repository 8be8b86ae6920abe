"""A scenario to break, and what is told of a command that is refused."""

import pytest

from simfl.cli import main

GOOD = """\
name: good
seed: 0
data:
  dataset: {name: synthetic, alpha: 1, beta: 1}
  partition: natural
model: logistic_regression
fleet:
  - name: phones
    count: 20
    compute: {distribution: normal, mean: 2 samples/s, std: 1 samples/s, min: 1 samples/s}
    downlink: 50 Mbit/s
    uplink: 10 Mbit/s
    latency: 20 ms
  - name: tablets
    count: 10
    compute: 3 samples/s
training:
  epochs: 10
  batch_size: 8
  optimizer: {name: sgd, lr: 0.01}
  workload: {name: coreset, method: k_medoids}
rounds:
  policy: {name: synchronous, deadline: {stragglers: 30%}}
  clients: 10
  stop: {rounds: 100}
selection: uniform
evaluation: {every: 1, targets: [0.7]}
variants:
  FedAvg: {rounds.policy.deadline: none}
  FedProx: {training.workload: partial_epochs, training.proximal: 1}
seeds: [0, 1]
network: {}
"""


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what is told of a command that must be refused as bad input."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("error: ")
    return err.removeprefix("error: ")
