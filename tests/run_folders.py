"""What lies in the folder of a run, and which laws it breaks."""

import json
from pathlib import Path
from typing import Any

from simfl.coordinators.base import PERSONAL
from simfl.runs.check import check

COMPUTED = ("events.jsonl", "rounds.csv", "clients.csv", "summary.json", "model.pt")
"""The files that a run's computation decides, byte for byte."""


def computed(folder: Path) -> dict[str, bytes]:
    """Return the bytes of those files, and of what clients have of their own if any, by name."""
    names = [*COMPUTED, PERSONAL] if (folder / PERSONAL).exists() else COMPUTED
    return {name: (folder / name).read_bytes() for name in names}


def events(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Return the events of a plain log in their order: all, or those of a kind."""
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if kind in (None, event["event"])]


def files(top: Path) -> dict[str, bytes]:
    """Return the bytes of every file at or below `top`, by its path from there."""
    below = sorted(path for path in top.rglob("*") if path.is_file())
    return {str(path.relative_to(top)): path.read_bytes() for path in below}


def broken(folder: Path) -> list[str]:
    """Return which laws a run's folder breaks, and where."""
    return [str(finding) for finding in check(folder) if finding.violation]
