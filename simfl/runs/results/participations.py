"""What each participation of a round did: how long its phases took, and where it was cut off."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from simfl.core.types import Ids
from simfl.runs.folder.folder import logged
from simfl.runs.results.critical_path import STEPS
from simfl.runs.results.result import RunResult


@dataclass(frozen=True)
class Participation:
    """One participation of one client.

    Attributes:
        client: its number.
        group: its group of devices.
        attack: how these attack in its round ("": they don't, or not yet).
        outcome: what became of it.
        download_s: how long the model was on its way (NaN: it did not come so far, or was there).
        compute_s: how long it trained (NaN: it did not come so far).
        upload_s: how long its update was on its way (NaN: it did not come so far).
        cut_off_in: the phase in which it was cut off ("": in none).
        cut_off_after_s: how long it had been in that phase (NaN: not known).
        moved_bytes: of a download or upload that was cut off, what had been moved.
        moved_share: the same as a share of all there was to move (NaN: not known).
    """

    client: int
    group: str
    attack: str
    outcome: str
    download_s: float
    compute_s: float
    upload_s: float
    cut_off_in: str = ""
    cut_off_after_s: float = math.nan
    moved_bytes: int = 0
    moved_share: float = math.nan


def participations_of(run: RunResult, round_: int) -> list[Participation]:
    """Return the participations of clients that were chosen in a round.

    Those that came to nothing are first, by client; of the others who took longest.
    """
    rows = np.flatnonzero(run.of_clients("round") == round_)
    stops_s = _stops_s(run, round_, len(rows))
    sizes = {way: _size(run, way) for way in ("download", "upload")}
    # Who answers a question is brought the model; without any, nobody has it beforehand.
    asked = run.of_rounds("probe_bytes")[run.of_rounds("round") <= round_].any()
    has_model = bool(asked) and not run.of_clients("download_bytes")[rows].any()
    ranked = sorted(rows.tolist(), key=lambda row: _rank(run, row))
    return [_participation(run, row, stops_s, sizes, has_model) for row in ranked]


def _rank(run: RunResult, row: int) -> tuple[bool, float, int]:
    used = bool(run.used[row])
    taken_s = float(run.durations_s[row]) if used else 0.0
    return used, -taken_s, int(run.of_clients("client")[row])


def _participation(
    run: RunResult,
    row: int,
    stops_s: dict[tuple[int, float], float],
    sizes: dict[str, float],
    has_model: bool,
) -> Participation:
    """Return what a participation did.

    Args:
        run: the run.
        row: of `clients`.
        stops_s: when those of the round were over, as of `_stops_s`.
        sizes: bytes of every whole `download` and `upload` (NaN: they differ).
        has_model: whether its client had the model before it was chosen.
    """

    def cell(name: str) -> float:
        return float(run.of_clients(name)[row])

    client, outcome = int(cell("client")), str(run.of_clients("outcome")[row])
    since_s, fetched_s, trained_s, arrived_s = map(cell, STEPS)
    trained_from_s = since_s if math.isnan(fetched_s) else fetched_s
    took = fetched_s - since_s, trained_s - trained_from_s, arrived_s - trained_s
    group = str(run.of_clients("group")[row])
    attack = run.attack_in(int(cell("round")), group)
    known = client, group, attack, outcome, *took
    if outcome == "skipped" or not math.isnan(took[2]):
        return Participation(*known)
    if not math.isnan(took[1]):
        phase, began_s = "upload", trained_s
    elif outcome == "filtered":
        return Participation(*known)
    elif has_model or not math.isnan(took[0]):
        phase, began_s = "compute", trained_from_s
    else:
        phase, began_s = "download", since_s
    after_s = stops_s.get((client, since_s), math.nan) - began_s
    if phase == "compute":
        return Participation(*known, phase, after_s)
    moved = int(cell(f"{phase}_bytes"))
    share = moved / sizes[phase]
    return Participation(*known, phase, after_s, moved, share if share <= 1 else math.nan)


def _size(run: RunResult, way: str) -> float:
    """Return the bytes of every download or upload that was part of a model (NaN: they differ)."""
    done: Ids = run.of_clients(f"{way}_bytes")[run.used]
    sizes = np.unique(done[done > 0])
    return float(sizes[0]) if len(sizes) == 1 else math.nan


def _stops_s(run: RunResult, round_: int, participations: int) -> dict[tuple[int, float], float]:
    """Return when each participation of a round was over, by client and start, if the log says."""
    stops_s: dict[tuple[int, float], float] = {}
    left_s: dict[int, float] = {}
    for event in _events(run, round_):
        client = event["client"]
        if event["event"] == "offline":
            left_s[client] = event["t"]
            continue
        since_s = float(event["selected_s"])
        left = event["outcome"] == "offline" and left_s.get(client, -math.inf) >= since_s
        stops_s[client, since_s] = left_s[client] if left else float(event["t"])
        if len(stops_s) == participations:
            break
    return stops_s


def _events(run: RunResult, round_: int) -> Iterator[dict[str, Any]]:
    """Yield when devices left, and the participations of a round, as far as the log has them."""
    kinds = '"event":"offline"', f'"event":"participation","round":{round_},'
    if run.log == "full":
        for _, event in logged(run.folder, lambda line: any(kind in line for kind in kinds)):
            yield event
