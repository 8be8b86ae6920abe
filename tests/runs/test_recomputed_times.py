"""Whole runs whose times, bytes and joules are computed anew, step by step, from nothing but when
devices were sent out and called off."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options, run
from simfl.core.seeds import Seeds
from simfl.sim.occasions import Failures, VaryingGroup
from tests.run_folders import events
from tests.runs.plain_clock import (
    IDLE,
    INF,
    POWER,
    Battery,
    Clock,
    Network,
    Phone,
    Rates,
    Task,
    Way,
)

POLICIES: list[dict[str, Any]] = [
    {"name": "synchronous"},
    {"name": "synchronous", "deadline": "12 s"},
    {"name": "synchronous", "deadline": "12 s", "late": "carry", "server_time": "1.5 s"},
    {"name": "fedbuff", "buffer": 3},
    {"name": "semi_synchronous", "period": "9 s"},
    {"name": "synchronous", "over_select": 1.5},
    {"name": "fedasync", "timeout": "13 s"},
    {"name": "tiered", "tiers": 2, "deadline": "14 s", "server_time": "1.1 s"},
]
HIDDEN, EPOCHS, BATCH, SAMPLES = 30, 2, 7, 18
SIZE = 4 * (16 * HIDDEN + HIDDEN + HIDDEN * 10 + 10)
FILTERED = range(40, 48)
"""Seeds of runs whose updates are compressed, and only go up if they agree with the last one."""
SMALLER = {"compression": {"name": "float16"}, "filter": {"name": "cmfl", "threshold": 0.65}}
STATUS = 4
WITH_MISHAPS = range(200, 216)
"""Seeds of runs whose trainings fail, whose devices may have to be plugged in, and hold samples as
rows of a file say."""
ABANDONING = {"name": "synchronous", "deadline": "14 s", "min_updates": 2}


def drawn_phone(rng: np.random.Generator, cells: list[str], device: int) -> Phone:
    """Return a device that may come and go.

    Its sessions end at instants at which nothing else does.
    """
    sessions, at = [], 0.0
    period_s = float(rng.choice([40.0, 64.0, 100.0]))
    while rng.random() < 0.9 and at < period_s - 40:
        start = at + rng.integers(0, 60) / 8
        at = start + rng.integers(16, 160) / 8
        sessions.append((start, at + (2 * device + 1) / 64))
        at += rng.integers(8, 100) / 8
    battery = drawn_battery(rng, device) if rng.random() < 0.4 else None
    return Phone(
        float(rng.choice([3.0, 7.5, 11.0, 20.0])),
        {"download": float(rng.choice([INF, 40e3, 15e3])), "upload": float(rng.choice([INF, 9e3]))},
        float(rng.choice([0.0, 0.05, 0.3, 1.0])),
        str(rng.choice(cells)) if cells and rng.random() < 0.7 else None,
        str(rng.choice(["abort", "pause", "salvage"])),
        sessions if rng.random() < 0.6 and sessions and not battery else None,
        period_s,
        battery,
        batches=batches_of(SAMPLES),
    )


def batches_of(samples: int) -> list[int]:
    """Return the sizes of the mini-batches of all epochs."""
    return [min(BATCH, samples - start) for start in range(0, samples, BATCH)] * EPOCHS


def samples_of(phone: Phone) -> int:
    """Return how many samples a device holds."""
    return sum(phone.batches) // EPOCHS


def with_mishaps(rng: np.random.Generator, device: int, phone: Phone) -> Phone:
    """Return a device that fails, has a battery and goes offline as well, or must be plugged in."""
    start, has_battery = float(rng.integers(0, 60)) / 8, phone.battery is not None
    session = start, start + float(rng.integers(120, 240)) / 8 + (2 * device + 1) / 64
    return replace(
        phone,
        sessions=[session] if has_battery and rng.random() < 0.5 else phone.sessions,
        only_plugged=has_battery and rng.random() < 0.6,
        failures=float(rng.choice([0.0, 0.2, 0.6])),
        batches=batches_of(int(rng.choice([0, 5, 7, 18, 30], p=[0.1, 0.2, 0.1, 0.3, 0.3]))),
    )


def drawn_battery(rng: np.random.Generator, device: int) -> Battery:
    """Return one that lasts for some rounds."""
    capacity_j, period_s = float(rng.choice([60.0, 120.0])), float(rng.choice([37.0, 53.0, 90.0]))
    start = rng.integers(0, 40) / 8 + (2 * device + 1) / 128
    plugged = float(start), float(start + rng.integers(40, 150) / 8)
    share, minimum = float(rng.choice([0.4, 0.7, 1.0])), float(rng.choice([0.1, 0.35]))
    charge_w = float(rng.choice([3.0, 6.0, 12.0]))
    return Battery(
        capacity_j, capacity_j * share, capacity_j * minimum, charge_w, plugged, period_s
    )


def drawn_rates(rng: np.random.Generator) -> Rates:
    """Return factors that last for seconds or minutes, and begin again or not."""
    lasts_s = rng.choice([0.5, 3.125, 11.0, 60.0, 200.0], int(rng.integers(0, 6)))
    times_s = [0.0, *np.cumsum(lasts_s).tolist()]
    factors = rng.choice([0.2, 0.5, 0.8, 1.0, 2.0], len(times_s)).tolist()
    period_s = times_s[-1] + float(rng.choice([1.0, 7.625, 90.0]))
    return Rates(list(zip(times_s, factors, strict=True)), period_s if rng.random() < 0.6 else INF)


def drawn(rng: np.random.Generator, polling: float = 0.0) -> tuple[list[Phone], Network]:
    """Return a fleet and its network."""
    cells: dict[str, dict[Way, float]] = {
        f"c{i}": {
            "download": float(rng.choice([20e3, INF])),
            "upload": float(rng.choice([7e3, 15e3])),
        }
        for i in range(rng.integers(0, 3))
    }
    network = Network(
        {"download": float(rng.choice([30e3, 80e3])), "upload": float(rng.choice([10e3, 25e3]))},
        cells,
        drawn_rates(rng) if rng.random() < 0.5 else None,
        {cell: drawn_rates(rng) for cell in cells if rng.random() < 0.5},
        float(rng.choice([0.0, 0.046])),
        float(rng.choice([0.0, 100.0])),
        float(rng.choice([0.0, 500.0, 1448.0])),
        polling,
    )
    count = int(rng.integers(5, 12))
    return [drawn_phone(rng, list(cells), device) for device in range(count)], network


def written(
    folder: Path, phones: list[Phone], network: Network, traced: bool = False
) -> dict[str, Any]:
    """Return the same as parts of a scenario, whose tables are written into `folder`.

    `traced`: the speed of devices, and how many samples they hold, stand in a table.
    """

    def bps(value: float) -> str:
        return "unlimited" if value == INF else f"{value} bit/s"

    groups = []
    for i, phone in enumerate(phones):
        group = {
            "name": f"phone-{i}",
            "count": 1,
            "compute": f"{phone.samples_per_s} samples/s",
            "downlink": bps(phone.bps["download"]),
            "uplink": bps(phone.bps["upload"]),
            "latency": f"{phone.latency_s} s",
            "on_offline": phone.on_offline,
            "power": {"idle": f"{IDLE} W", **{phase: f"{w} W" for phase, w in POWER.items()}},
            "failures": phone.failures,
            **({} if phone.cell is None else {"cell": phone.cell}),
        }
        if traced:
            del group["compute"]
            group["trace"] = {
                "file": "devices.csv",
                "where": {"device": i},
                "columns": {"compute": {"column": "rate", "unit": "samples/s"}},
                "samples": "samples",
            }
        if phone.sessions is not None:
            rows = [f"0,{start},{end}\n" for start, end in phone.sessions]
            (folder / f"{i}.csv").write_text("device,start_s,end_s\n" + "".join(rows))
            file = {"name": "trace", "file": f"{i}.csv", "period": f"{phone.period_s} s"}
            group["availability"] = {**file, "shuffle": False, "shift": False}
        if battery := phone.battery:
            (folder / f"plugged-{i}.csv").write_text(
                f"device,start_s,end_s\n0,{battery.plugged[0]},{battery.plugged[1]}\n"
            )
            file = {"name": "trace", "file": f"plugged-{i}.csv", "period": f"{battery.period_s} s"}
            group["battery"] = {
                "capacity": f"{battery.capacity_j} J",
                "start": battery.level_j / battery.capacity_j,
                "minimum": battery.minimum_j / battery.capacity_j,
                "charge": f"{battery.charge_w} W",
                "plugged": {**file, "shuffle": False, "shift": False},
                "only_plugged": phone.only_plugged,
            }
        groups.append(group)
    links: dict[str, Any] = {
        "server_uplink": bps(network.server["download"]),
        "server_downlink": bps(network.server["upload"]),
        "cells": {
            name: {"downlink": bps(cell["download"]), "uplink": bps(cell["upload"])}
            for name, cell in network.cells.items()
        },
        "overhead": network.overhead,
        "message_overhead": f"{network.message_overhead} B",
        "initial_window": f"{network.window} B",
        "polling": f"{network.polling} s",
    }
    if network.rates:
        links["rates"] = written_rates(folder, "rates.csv", network.rates)
    for name, rates in network.cell_rates.items():
        links["cells"][name]["rates"] = written_rates(folder, f"rates-{name}.csv", rates)
    numbers = [f"{i},{p.samples_per_s},{samples_of(p)}\n" for i, p in enumerate(phones)]
    (folder / "devices.csv").write_text("device,rate,samples\n" + "".join(numbers))
    return {"fleet": groups, "network": links}


def written_rates(folder: Path, file: str, rates: Rates) -> dict[str, Any]:
    """Return the same of `rates`."""
    rows = [f"{start},{factor}\n" for start, factor in rates.rows]
    (folder / file).write_text("time_s,factor\n" + "".join(rows))
    return {"file": file, "period": None if rates.period_s == INF else f"{rates.period_s} s"}


def upload_of(client: int, later: list[dict[str, Any]]) -> int:
    """Return the bytes that `client` uploads, who is just sent out."""
    for event in later:
        if event.get("client") == client and event["event"] in ("filtered", "dispatched"):
            return SIZE // 2 if event.get("kept") else STATUS
    return STATUS


@pytest.mark.parametrize(
    ("seed", "polling"),
    [
        (
            seed,
            0.0 if seed < 20 or seed in WITH_MISHAPS[::2] else (1.7137, 3.0137, 7.3137)[seed % 3],
        )
        for seed in (*range(40), *FILTERED, 134, *WITH_MISHAPS)
    ],
)
def test_times_bytes_and_joules_are_those_of_a_plain_clock(
    tmp_path: Path, seed: int, polling: float
) -> None:
    rng, policy = np.random.default_rng(seed), POLICIES[seed % len(POLICIES)]
    phones, network = drawn(rng, polling)
    if mishaps := seed in WITH_MISHAPS:
        phones = [with_mishaps(rng, i, phone) for i, phone in enumerate(phones)]
        policy = [*POLICIES, ABANDONING][seed % (len(POLICIES) + 1)]
    samples = sum(map(samples_of, phones))
    data = {"name": "synthetic_images", "samples": samples, "test_samples": 10}
    scenario = {
        "name": "anew",
        "folder": str(tmp_path),
        "seed": seed,
        "data": {"dataset": {**data, "size": 4}, "partition": "iid"},
        "model": {"name": "mlp", "hidden": [HIDDEN]},
        "training": {
            "epochs": EPOCHS,
            "batch_size": BATCH,
            **(SMALLER if seed in FILTERED else {}),
        },
        "rounds": {
            "clients": len(phones) // 2,
            "policy": policy,
            "min_clients": 1 if policy["name"] == "synchronous" else None,
            "stop": {"rounds": 10, "time": "10 min"},
        },
        "aggregation": "fedbuff",
        **written(tmp_path, phones, network, traced=mishaps),
    }
    options = Options(executor="inline", time_only=seed not in FILTERED)
    [result] = run(scenario, tmp_path / "runs", options)
    log = events(result.folder)
    ends = [event for event in log if event["event"] == "participation"]
    row_of = {(row["client"], row["selected_s"]): row for row in ends}
    groups = [VaryingGroup(f"phone-{i}", i, phone.failures) for i, phone in enumerate(phones)]
    failures = Failures(groups, Seeds(seed), "failures")
    clock = Clock(phones, network, SIZE, failures.breaks_off)
    tasks = list[tuple[Task, dict[str, Any]]]()
    for i, event in enumerate(log):
        if event["event"] == "dispatched":
            clock.run(event["t"])
            row = row_of[event["client"], event["t"]]
            called_off = row["outcome"] in ("late", "unfinished") and row["upload_end_s"] is None
            uploads = upload_of(event["client"], log[i + 1 :]) if seed in FILTERED else SIZE
            task = clock.send(event["client"], row["t"] if called_off else INF, uploads)
            tasks.append((task, row))
    clock.run(log[-1]["t"])
    assert len(tasks) >= 8
    starts = [(task.device, row["selected_s"]) for task, row in tasks]
    failed = sorted((task.device, task.over_s) for task, _ in tasks if task.failed)
    told = sorted((event["client"], event["t"]) for event in log if event["event"] == "failed")
    assert [client for client, _ in told] == [device for device, _ in failed]
    assert [at_s for _, at_s in told] == pytest.approx([at_s for _, at_s in failed])
    for task, row in tasks:
        assert row["samples"] == samples_of(phones[task.device])
        found = {phase: row[f"{phase}_end_s"] for phase in POWER}
        assert {k: v for k, v in found.items() if v is not None} == pytest.approx(task.ends_s)
        late = row["outcome"] == "late" and row["upload_end_s"] is not None  # nobody wants it now
        if late or row["outcome"] == "filtered":
            assert task.outcome == "arrived"
        else:
            assert row["outcome"] in (task.outcome, "unfinished")
        assert task.moved == {"download": row["download_bytes"], "upload": row["upload_bytes"]}
        waits_s = 0.0
        if task.outcome == "arrived":  # until it is used, leaves or has something else to do
            later = [at for device, at in starts if device == task.device and at >= task.over_s]
            waits_s = max(min([row["t"], task.leaves_s, *later]) - task.over_s, 0.0)
        assert math.isclose(row["energy_j"], task.joules + IDLE * waits_s, rel_tol=1e-9)
