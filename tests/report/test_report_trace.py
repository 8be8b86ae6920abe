"""The timeline is valid, its slices nest, and they are those of the tables."""

import csv
import json
from collections import Counter, defaultdict
from typing import Any

import pytest

from simfl.report.timeline import SERVER, trace
from simfl.runs.result import RunResult


def events(result: RunResult, **options: Any) -> list[dict[str, Any]]:
    found = json.loads(trace(result, **options))
    assert found["displayTimeUnit"] == "ms"
    return list(found["traceEvents"])


def slices(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in found if event["ph"] == "X"]


def rows(result: RunResult, name: str) -> list[dict[str, str]]:
    with (result.folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def ns(microseconds: float) -> int:
    return round(microseconds * 1000)


@pytest.fixture(params=range(8))
def result(request: pytest.FixtureRequest, timed: list[RunResult], probed: RunResult) -> RunResult:
    return [*timed, probed][request.param]


def check_nesting(found: list[dict[str, Any]]) -> None:
    tracks = defaultdict(list)
    for event in slices(found):
        start = ns(event["ts"])
        tracks[event["pid"], event["tid"]].append((start, start + ns(event["dur"])))
    assert len(tracks) > 1
    for track in tracks.values():
        inside: list[int] = []
        for start, end in sorted(track, key=lambda pair: (pair[0], -pair[1])):
            assert end >= start
            while inside and inside[-1] <= start:
                inside.pop()
            assert not inside or end <= inside[-1]
            inside.append(end)


def test_slices_nest(result: RunResult) -> None:
    check_nesting(events(result))


def test_an_interrupted_run_has_a_timeline(broken_off: RunResult) -> None:
    check_nesting(events(broken_off))


def test_a_slice_per_participation(result: RunResult) -> None:
    drawn = Counter(
        (event["args"]["round"], event["tid"] - 1, event["args"]["outcome"], ns(event["ts"]))
        for event in slices(events(result))
        if event["pid"] > SERVER and "outcome" in event.get("args", {})
    )
    expected = Counter(
        (int(r["round"]), int(r["client"]), r["outcome"], round(float(r["selected_s"]) * 1e9))
        for r in rows(result, "clients.csv")
        if r["outcome"] != "skipped"
    )
    assert drawn == expected


def test_phases_end_as_the_table_says(result: RunResult) -> None:
    ends = defaultdict(set)
    for event in slices(events(result)):
        ends[event["tid"] - 1, event["name"]].add(ns(event["ts"]) + ns(event["dur"]))
    for row in rows(result, "clients.csv"):
        for phase in ("download", "compute", "upload"):
            if row[f"{phase}_end_s"]:
                at = round(float(row[f"{phase}_end_s"]) * 1e9)
                assert at in ends[int(row["client"]), phase]


def test_rounds_and_accuracy(probed: RunResult) -> None:
    found = events(probed)
    table = rows(probed, "rounds.csv")
    drawn = [event for event in slices(found) if event["pid"] == SERVER]
    assert [event["name"] for event in drawn] == [f"round {row['round']}" for row in table]
    for event, row in zip(drawn, table, strict=True):
        assert ns(event["ts"]) == round(float(row["start_s"]) * 1e9)
        assert ns(event["ts"]) + ns(event["dur"]) == round(float(row["end_s"]) * 1e9)
    counters = [event["args"]["accuracy"] for event in found if event["ph"] == "C"]
    assert counters == [float(row["accuracy"]) for row in table]


def test_devices_are_grouped_as_in_the_fleet(probed: RunResult) -> None:
    found = events(probed)
    names = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    assert names == {1: "server", 2: "devices: phones", 3: "devices: boards"}
    assert {e["pid"] == 2 for e in slices(found) if e["pid"] > 1 and e["tid"] <= 20} == {True}
    assert {e["pid"] == 3 for e in slices(found) if e["pid"] > 1 and e["tid"] > 20} == {True}


def test_probes_are_drawn(probed: RunResult) -> None:
    asked = [event for event in slices(events(probed)) if event["name"] == "probe: loss"]
    log = [json.loads(line) for line in (probed.folder / "events.jsonl").read_text().splitlines()]
    answered = sum(len(event["answered"]) for event in log if event["event"] == "probed")
    assert sum(event["args"]["answered"] for event in asked) == answered > 0


def test_a_long_run_is_cut_off_with_a_note(probed: RunResult) -> None:
    whole = len(slices(events(probed)))
    text = trace(probed, slices=whole // 2)
    cut = json.loads(text)
    assert len(slices(cut["traceEvents"])) < whole
    assert "cut off after round" in cut["otherData"]["note"]
    # Whole rounds only.
    last = [e["name"] for e in slices(cut["traceEvents"]) if e["pid"] == SERVER][-1]
    assert cut["otherData"]["note"].startswith(f"cut off after {last}:")


def test_same_bytes_again(probed: RunResult) -> None:
    run = probed
    assert trace(run) == trace(run)
