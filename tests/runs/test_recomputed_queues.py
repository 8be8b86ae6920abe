"""Whole runs over plain queues: when uploads and downloads end, computed anew packet by packet."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options, run
from tests.run_folders import events
from tests.sim.networks.flows import BITS
from tests.sim.networks.packets import Queue

UP, DOWN = 200e3, 300e3
"""bit/s of what is shared."""


def drawn(rng: np.random.Generator) -> list[dict[str, float]]:
    """Return devices, near and far, with links of their own."""
    return [
        {
            "compute": float(rng.uniform(3, 20)),
            "downlink": float(rng.choice([1e9, rng.uniform(150e3, 250e3)])),
            "uplink": float(rng.uniform(50e3, 400e3)),
            "latency": float(rng.choice([0, 0.02, 0.3]) * rng.uniform(0.5, 2)),
        }
        for _ in range(rng.integers(2, 6))
    ]


@pytest.mark.parametrize("where", ["server", "cell"])
@pytest.mark.parametrize("seed", range(6))
def test_transfers_end_when_their_packets_have_come(tmp_path: Path, seed: int, where: str) -> None:
    rng = np.random.default_rng([seed, where == "cell"])
    devices = drawn(rng)
    overhead, added = float(rng.choice([0, 0.046])), float(rng.choice([0, 300]))
    window, buffer = (1448 * float(rng.choice([0, 2, 4, 10])), float(rng.choice([0, 6e3, 20.8e3])))
    up, down = f"{UP} bit/s", f"{DOWN} bit/s"
    shared: dict[str, Any] = {"cells": {"c": {"uplink": up, "downlink": down}}}
    if where == "server":
        shared = {"server_downlink": up, "server_uplink": down}
    units = {"compute": "samples/s", "downlink": "bit/s", "uplink": "bit/s", "latency": "s"}
    data = {"name": "synthetic_images", "samples": 18 * len(devices), "test_samples": 10}
    scenario = {
        "name": "queues",
        "seed": seed,
        "data": {"dataset": {**data, "size": 8}, "partition": "iid"},
        "model": {"name": "mlp", "hidden": [int(rng.integers(20, 150))]},
        "training": {"epochs": 1, "batch_size": 8},
        "fleet": [
            {
                "name": f"phone-{i}",
                "count": 1,
                **{key: f"{device[key]} {unit}" for key, unit in units.items()},
                **({"cell": "c"} if where == "cell" else {}),
            }
            for i, device in enumerate(devices)
        ],
        "rounds": {"clients": len(devices), "stop": {"rounds": 2}},
        "network": {
            "queue": "fifo",
            "overhead": overhead,
            "message_overhead": f"{added} B",
            "initial_window": f"{window} B",
            "buffer": f"{buffer} B",
            **shared,
        },
    }
    [result] = run(scenario, tmp_path, Options(executor="inline", time_only=True))
    parts = [event for event in events(result.folder) if event["event"] == "participation"]
    gross, windows = 1 + overhead, 8 * window
    for round_ in (1, 2):
        rows = [row for row in parts if row["round"] == round_]
        own = [devices[row["client"]] for row in rows]
        latencies_s = [device["latency"] for device in own]
        bits = [8 * (row["upload_bytes"] + added / gross) for row in rows]
        queues = [("compute", "upload", Queue(UP / gross, windows, 8 * buffer, own_first=True))]
        if not window or where == "cell":  # else the server's own kernel has its say
            queue = Queue(DOWN / gross, windows, 0.0, own_first=False)
            queues.append(("selected", "download", queue))
        for before, phase, queue in queues:
            begins_s = [
                row[f"{before}_s" if before == "selected" else f"{before}_end_s"] for row in rows
            ]
            links = [
                device["uplink" if phase == "upload" else "downlink"] / gross for device in own
            ]
            expected = queue.ends(list(zip(begins_s, bits, links, strict=True)), latencies_s)
            found = [row[f"{phase}_end_s"] for row in rows]
            assert found == pytest.approx(expected, rel=0, abs=1e-6)
            assert max(bits) < 512 * BITS  # so that no two packets move as one
