"""The timeline is valid, its slices nest, and they are those of the tables."""

import csv
import json
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from simfl.core.rows import MOVED
from simfl.report.timeline.fold import SERVER
from simfl.report.timeline.timeline import trace
from simfl.runs.results.result import RunResult

COUNTERS = ("accuracy", "bytes moved")


def events(result: RunResult, **options: Any) -> list[dict[str, Any]]:
    found = json.loads(trace(result, **options))
    assert found["displayTimeUnit"] == "ms"
    return list(found["traceEvents"])


def slices(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in found if event["ph"] == "X"]


def counters(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in found if event["ph"] == "C" and event["name"] == name]


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
    told = {name: {e["ts"]: e["args"][name] for e in counters(found, name)} for name in COUNTERS}
    ends = [round(float(row["end_s"]) * 1e9) / 1000 for row in table]
    for row, at in zip(table, ends, strict=True):
        seen = [value for ts, value in told["accuracy"].items() if ts <= at]
        assert seen[-1] == float(row["accuracy"])
    moved = np.cumsum([sum(int(row[name]) for name in MOVED) for row in table])
    assert list(told["bytes moved"].items()) == list(zip(ends, moved.tolist(), strict=True))


def test_as_many_are_at_work_as_have_not_delivered(result: RunResult) -> None:
    found = counters(events(result), "at work")
    assert [e["ts"] for e in found] == sorted({e["ts"] for e in found})
    assert found[-1]["args"]["at work"] == 0
    most = max(event["args"]["at work"] for event in found)
    assert 0 < most <= len(result.clients)
    if result.scenario["rounds"]["policy"]["name"] == "synchronous":
        assert most == 6  # those asked


def test_arrows_lead_from_rounds_to_devices_and_back(result: RunResult) -> None:
    found = events(result)
    spans: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in slices(found):
        start = ns(event["ts"])
        spans[event["pid"], event["tid"]].append((start, start + ns(event["dur"])))
    arrows: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in found:
        if event["ph"] in "sf":
            arrows[event["id"]].append(event)
            at = ns(event["ts"])
            track = spans[event["pid"], event["tid"]]
            assert any(low <= at <= high for low, high in track)
    kinds: Counter[str] = Counter()
    for out, back in arrows.values():
        assert (out["ph"], back["ph"], back["bp"]) == ("s", "f", "e")
        assert out["ts"] <= back["ts"]
        assert (out["pid"] == SERVER) != (back["pid"] == SERVER)
        kinds[out["name"]] += 1
    assert kinds["sent out"] == len(result.clients) - result.outcomes["skipped"]
    assert kinds["counted"] == result.outcomes["arrived"]


def test_of_a_large_fleet_some_devices_are_drawn_and_the_others_counted(
    probed: RunResult,
) -> None:
    drawn = json.loads(trace(probed, tracks=3))
    assert len({e["tid"] for e in slices(drawn["traceEvents"]) if e["pid"] > SERVER}) == 3
    everybody = {e["tid"] for e in slices(events(probed)) if e["pid"] > SERVER}
    told = f"{len(everybody) - 3} devices more than the 3 that are drawn"
    assert drawn["otherData"]["note"] == told


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


@pytest.mark.parametrize("limit", ["slices", "events"])
def test_a_long_run_is_cut_off_with_a_note(probed: RunResult, limit: str) -> None:
    whole = len(slices(events(probed)))
    logged = len((probed.folder / "events.jsonl").read_text().splitlines())
    most = {"slices": whole, "events": logged}[limit] // 2
    cut = json.loads(trace(probed, **{limit: most}))
    assert f"more than {most:,} {limit}" in cut["otherData"]["note"]
    assert len(slices(cut["traceEvents"])) < whole
    assert "cut off after round" in cut["otherData"]["note"]
    # Whole rounds only.
    last = [e["name"] for e in slices(cut["traceEvents"]) if e["pid"] == SERVER][-1]
    assert cut["otherData"]["note"].startswith(f"cut off after {last}:")


def test_same_bytes_again(probed: RunResult) -> None:
    run = probed
    assert trace(run) == trace(run)
