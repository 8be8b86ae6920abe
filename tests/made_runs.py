"""Run folders made by hand: known curves instead of simulated ones."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simfl.core.rows import ClientRow, RoundRow, header
from simfl.runs.results.result import RunResult


def made_run(
    top: Path,
    variant: str,
    seed: int,
    accuracies: Sequence[float],
    *,
    round_s: float = 10.0,
    targets: Sequence[float] = (0.7,),
    finished: bool = True,
    **scenario: Any,
) -> RunResult:
    """Write a run folder whose n-th round ends at n times `round_s` with the n-th accuracy."""
    folder = top / variant / f"seed-{seed}"
    folder.mkdir(parents=True)
    fleet = [{"count": 2, "power": {"compute": "1 W"}}]
    written: dict[str, Any] = {
        "name": "made",
        "fleet": fleet,
        "evaluation": {"targets": list(targets)},
    }
    written |= scenario
    (folder / "scenario.yaml").write_text(json.dumps(written))
    powered = any("power" in group for group in written["fleet"])
    provenance = {"variant": variant, "seed": seed, "powered": powered}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    numbers = dict.fromkeys(header(RoundRow), 0)
    rounds = [
        numbers | {"deadline_s": "", "gemd": "", "train_loss": ""} | {
            "round": n, "start_s": (n - 1) * round_s, "end_s": n * round_s,
            "last_arrival_s": n * round_s, "arrived": 1, "accuracy": accuracy,
            "loss": 1 - accuracy, "download_bytes": 1000, "upload_bytes": 1000, "energy_j": 2.0,
        }
        for n, accuracy in enumerate(accuracies, start=1)
    ]  # fmt: skip
    clients = [
        dict.fromkeys(header(ClientRow), 0) | {
            "round": n, "client": n % 2, "group": "g", "selected_s": (n - 1) * round_s,
            "download_end_s": (n - 0.8) * round_s, "compute_end_s": (n - 0.3) * round_s,
            "upload_end_s": n * round_s, "outcome": "arrived", "samples": 5,
            "download_bytes": 1000, "upload_bytes": 1000, "energy_j": 2.0,
        }
        for n, _ in enumerate(accuracies, start=1)
    ]  # fmt: skip
    for name, row, rows in (("rounds", RoundRow, rounds), ("clients", ClientRow, clients)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, header(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if finished:
        summary = {
            "virtual_time_s": round_s * len(rounds),
            "targets": {f"{target:g}": None for target in targets},
            "totals": {
                "download_bytes": 1000 * len(rounds), "upload_bytes": 1000 * len(rounds),
                "probe_bytes": 0, "wasted_bytes": 0, "energy_j": 2.0 * len(rounds),
                "idle_energy_j": 0.0,
            },
            "distinct_participants": min(len(rounds), 2),
            "participation_gini": abs(len(rounds) % 2 / len(rounds)) / 2 if rounds else 0.0,
            "trainings": {"issued": len(rounds), "computed": len(rounds), "dropped": 0},
        }  # fmt: skip
        (folder / "summary.json").write_text(json.dumps(summary))
    return RunResult(folder)


def reaches(round_: int, rounds: int, accuracy: float = 0.7) -> list[float]:
    """Return the accuracies of a run that reaches `accuracy` in `round_` (0: never)."""
    return [accuracy if 0 < round_ <= n else accuracy / 2 for n in range(1, rounds + 1)]
