"""Ways to doctor a run's folder, and the law that each breaks."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def in_log(folder: Path, kind: str, change: Callable[[dict[str, Any]], Any], number: int = 0):
    """Change the `number`-th event of a `kind`."""
    path = folder / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    change([event for event in events if event["event"] == kind][number])
    lines = (json.dumps(event, separators=(",", ":")) for event in events)
    path.write_text("".join(f"{line}\n" for line in lines))


def in_table(folder: Path, name: str, column: str, change: Callable[[str], Any], row: int = 0):
    """Change one cell of a table."""
    path = folder / name
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    rows[row][column] = str(change(rows[row][column]))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def in_summary(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    change(summary)
    path.write_text(json.dumps(summary))


def in_text(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def with_epsilons(folder: Path, limit: float = 9.0) -> None:
    """Let rounds tell an epsilon, of which the run has a limit: 2 by the first, then 1."""
    header, *rows = (folder / "rounds.csv").read_text().splitlines()
    told = [f"{row},{1.0 + (n == 0)}" for n, row in enumerate(rows)]
    (folder / "rounds.csv").write_text("\n".join([f"{header},epsilon", *told, ""]))
    in_text(folder, "scenario.yaml", "stop: {", f"stop: {{epsilon: {limit}, ")


def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda event: event.__setitem__(name, value)


def later(text: str) -> float:
    return float(text) + 1.0


def twice(folder: Path) -> None:
    """Send a client out again while it is at work."""
    path = folder / "events.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    row = next(line for line in lines if '"participation"' in line and '"arrived"' in line)
    path.write_text("".join([*lines, row]))


def nobody_asked(event: dict[str, Any]) -> None:
    event["answered"] = [77]


def first(outcome: str, folder: Path) -> int:
    """Return the place of the first participation with an outcome."""
    rows = csv.DictReader(io.StringIO((folder / "clients.csv").read_text()))
    return next(number for number, row in enumerate(rows) if row["outcome"] == outcome)


FORGED: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "no JSON": ("readable", lambda f: (f / "events.jsonl").write_text("{\n"), "events.jsonl:1"),
    "nested": ("readable", lambda f: (f / "events.jsonl").write_text("[" * 9**5 + "\n"), ""),
    "no time": ("readable", lambda f: in_log(f, "round", lambda e: e.pop("t")), "events.jsonl:1"),
    "a summary that is a list": ("readable", lambda f: (f / "summary.json").write_text("[]"), ""),
    "no scenario": ("readable", lambda f: (f / "scenario.yaml").write_text("a"), "scenario.yaml"),
    "a row too short": (
        "readable",
        lambda f: (f / "rounds.csv").write_text("a,b\n1\n"),
        "rounds.csv:2",
    ),
    "time runs back": ("clock", lambda f: in_log(f, "round_end", put("t", 0.0)), "t is 0.0 after"),
    "no finite time": ("clock", lambda f: in_log(f, "round", put("t", 1e999)), "events.jsonl:1"),
    "a round is missing": (
        "round numbers",
        lambda f: in_log(f, "round", put("round", 7), 1),
        "round 7, expected 2",
    ),
    "a row is missing": (
        "round numbers",
        lambda f: in_table(f, "rounds.csv", "round", lambda _: 9, 2),
        "rounds.csv:4: round 9",
    ),
    "another cell": (
        "tables",
        lambda f: in_table(f, "clients.csv", "steps", lambda _: 999, 2),
        "clients.csv:4: steps is 999",
    ),
    "in two places": ("one place", twice, "is sent out at"),
    "answers while it works": (
        "one place",
        lambda f: in_log(f, "participation", put("upload_end_s", 1e6)),
        "1000000.0 s",
    ),
    "nobody asked": ("questions", lambda f: in_log(f, "probed", nobody_asked), "[77]"),
    "upload before compute": (
        "phases",
        lambda f: in_log(f, "participation", put("compute_end_s", 1e6)),
        "its phases end at",
    ),
    "no such upload": (
        "phases",
        lambda f: in_log(f, "uploaded", put("client", 99), -1),
        "but nothing is uploaded then",
    ),
    "arrived without upload": (
        "phases",
        lambda f: in_log(f, "participation", put("upload_end_s", None), first("arrived", f)),
        "its upload never ended",
    ),
    "late counts as arrived": (
        "outcomes",
        lambda f: in_log(f, "participation", put("outcome", "arrived"), first("late", f)),
        "rounds.csv:",
    ),
    "somebody is lost": (
        "outcomes",
        lambda f: in_log(f, "selected", lambda e: e["clients"].append(55)),
        "client 55",
    ),
    "nobody selected it": (
        "outcomes",
        lambda f: in_log(f, "participation", put("client", 66)),
        "client 66 takes part in round 1",
    ),
    "offline, but it stayed": (
        "offline",
        lambda f: in_log(f, "participation", put("outcome", "offline"), first("arrived", f)),
        "neither left nor failed",
    ),
    "failed, but it computed": (
        "failed",
        lambda f: in_log(f, "downloaded", put("event", "failed")),
        "failed, but has computed it",
    ),
    "failed, but it counts": (
        "failed",
        lambda f: in_log(f, "uploaded", put("event", "failed"), -1),
        "failed, but is arrived",
    ),
    "bytes of a participation": (
        "bytes",
        lambda f: in_table(
            f, "clients.csv", "upload_bytes", lambda old: int(old) + 1, first("arrived", f)
        ),
        "the log has",
    ),
    "bytes of a round": (
        "bytes",
        lambda f: in_table(f, "rounds.csv", "wasted_bytes", lambda old: int(old) + 1, 1),
        "rounds.csv:3: wasted_bytes",
    ),
    "bytes of a probe": (
        "bytes",
        lambda f: in_log(f, "probed", lambda e: e.update(bytes=e["bytes"] + 1)),
        "rounds.csv:2: probe_bytes",
    ),
    "bytes of the run": (
        "bytes",
        lambda f: in_summary(f, lambda s: s["totals"].update(download_bytes=3)),
        "summary.json:1: download_bytes is 3",
    ),
    "after the deadline": (
        "deadlines",
        lambda f: in_table(f, "rounds.csv", "deadline_s", lambda _: 1e-3),
        "was due at 0.",
    ),
    "late before the deadline": (
        "deadlines",
        lambda f: in_table(f, "clients.csv", "outcome", lambda _: "late", first("arrived", f)),
        "late, but came at",
    ),
    "too few updates": (
        "abandoned rounds",
        lambda f: in_text(f, "scenario.yaml", "min_updates: 1", "min_updates: 9"),
        "updates, but it takes 9",
    ),
    "after the end": (
        "end",
        lambda f: in_log(f, "round_end", put("t", 5000.0), -1),
        "the run stops at 3600.0 s",
    ),
    "negative staleness": (
        "staleness",
        lambda f: in_log(f, "participation", put("staleness", -1)),
        "staleness is -1",
    ),
    "wrong staleness": (
        "staleness",
        lambda f: in_log(f, "participation", put("staleness", 2), first("arrived", f)),
        "by the log [0]",
    ),
    "wrong staleness of a dropped one": (
        "staleness",
        lambda f: in_log(f, "participation", put("staleness", 2), first("late", f)),
        "dropped at staleness 2, by the log [0]",
    ),
    "a model too many": (
        "staleness",
        lambda f: in_log(f, "aggregated", put("version", 9), 1),
        "version 9 after 1",
    ),
    "bytes of those at work": (
        "in flight",
        lambda f: in_log(f, "round_end", put("in_flight_bytes", -1), 1),
        "in_flight_bytes is -1, the log has transfers of",
    ),
    "energy of a round": (
        "energy",
        lambda f: in_table(f, "rounds.csv", "energy_j", later, 1),
        "rounds.csv:3: energy_j",
    ),
    "negative energy": (
        "energy",
        lambda f: in_table(f, "clients.csv", "energy_j", lambda _: -1.0, 4),
        "clients.csv:6: energy_j is -1.0",
    ),
    "energy of the run": (
        "energy",
        lambda f: in_summary(f, lambda s: s["totals"].update(idle_energy_j=-1.0)),
        "summary.json:1: idle_energy_j",
    ),
    "too little energy": (
        "power",
        lambda f: in_log(f, "participation", put("energy_j", 0.0)),
        "energy_j is 0.0, by its power from",
    ),
    "as little as where devices poll": (
        "power",
        lambda f: in_log(f, "participation", put("energy_j", 1.5)),
        "energy_j is 1.5, by its power from",
    ),
    "too good to be true": (
        "accuracy",
        lambda f: in_log(f, "evaluated", put("accuracy", 1.2)),
        "accuracy is 1.2",
    ),
    "accuracy of a round": (
        "accuracy",
        lambda f: in_table(f, "rounds.csv", "accuracy", lambda _: 0.123, 2),
        "rounds.csv:4: accuracy is 0.123",
    ),
    "a target not reached": (
        "accuracy",
        lambda f: in_log(f, "target", put("accuracy", 0.99)),
        "the target 0.99",
    ),
    "privacy regained": ("privacy", with_epsilons, "rounds.csv:3: epsilon is 1.0 after 2.0"),
    "more than the privacy allowed": (
        "privacy",
        lambda f: with_epsilons(f, 1.5),
        "rounds.csv:2: epsilon is 2.0, the run stops at 1.5",
    ),
    "other counts": (
        "summary",
        lambda f: in_summary(f, put("distinct_participants", 99)),
        "distinct_participants is 99",
    ),
    "another target": (
        "summary",
        lambda f: in_summary(f, lambda s: s["targets"].update({"0.1": None})),
        "target 0.1",
    ),
    "trained for nothing": (
        "trainings",
        lambda f: in_summary(f, lambda s: s["trainings"].update(dropped=0, computed=0)),
        "0 are computed",
    ),
    "another log": (
        "event digest",
        lambda f: in_log(f, "dispatched", put("full_epochs", 9)),
        "events_sha256 is",
    ),
    "another scenario": (
        "scenario digest",
        lambda f: (f / "scenario.yaml").write_text((f / "scenario.yaml").read_text() + "# x\n"),
        "provenance.json:1",
    ),
}
