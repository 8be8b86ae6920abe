"""Scenarios as they are written: the shortest, and one that uses every part of the language."""

from typing import Any

MINIMAL: dict[str, Any] = {
    "data": {"dataset": "synthetic"},
    "model": "logistic_regression",
    "fleet": {"count": 30},
}

FULL = """\
name: everything
description: uses every part of the language
seed: 7
data:
  dataset: {name: synthetic, alpha: 0.5}
  partition: {name: dirichlet, alpha: 0.2}
  local_validation: 20%
  test_share: 0.1
model: {name: mlp, hidden: [64, 30]}
fleet:
  - name: phones
    count: 20
    compute: {distribution: lognormal, median: 3 GFLOP/s, sigma: 0.5, max: 20 GFLOP/s}
    downlink: {distribution: choice, values: [10 Mbit/s, unlimited], weights: [3, 1]}
    uplink: 1.5 MB/s
    latency: {distribution: exponential, mean: 40 ms, min: 1 ms}
    availability: {name: on_off, on: 2 h, off: 6 h}
    on_offline: pause
    power: {idle: 50 mW, compute: 3 W}
    memory: 4 GiB
    battery: {distribution: uniform, min: 8 Wh, max: 15 Wh}
  - name: servers
    count: 2
    compute: 1 TFLOP/s
correlate: {compute~samples: 0.6, downlink~uplink: -0.25}
network: {server_downlink: 1 Gbit/s}
training:
  steps: 20
  batch_size: 64
  optimizer:
    lr: 1e-3
    momentum: 0.9
    weight_decay: 1e-4
    clip: 5
  lr_schedule: {name: step, milestones: [150, 300], factor: 0.5}
  workload: partial_epochs
  proximal: 0.1
rounds:
  policy: {name: synchronous, deadline: 90 s}
  clients: 50%
  stop: {rounds: 10, time: 12 h, accuracy: 90%, bytes: 10 GB, energy: 2 kWh}
selection: {name: power_of_choice}
aggregation: {name: fedavg, weighting: uniform}
evaluation: {every: 5, on: train, targets: [0.7, 80%]}
variants:
  plain: {}
  nested: {training: {proximal: 0}}
seeds: 0-2
"""
