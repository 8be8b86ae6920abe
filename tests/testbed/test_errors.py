"""What the comparison tells of two runs of which it is known how they differ."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from simfl import Options, Scenario
from simfl.build.builder import Builder
from simfl.scenario.distributions.base import Constant
from testbed.compare import calibrate, errors
from testbed.journals import Run, read
from testbed.orders import NOISE_S, first_swap, kept, repeated, served
from testbed.simulated import simulate
from testbed.tables import BEGIN, END, fill, tables
from testbed.wire import (
    FLOWER,
    GRPC,
    HEADERS,
    NOTHING,
    PER_ANSWERED_BYTE,
    PER_LOST,
    SEGMENT,
    Overhead,
    composition,
)
from tests.tiny import TINY


def made(
    last_s: float = 3.0,
    outcome: str = "arrived",
    wire: tuple[int, ...] = (1, 1, 0, 0, 0),
    by_flower: bool = False,
) -> Run:
    """Return a run of one round and two clients; the second ends at `last_s`."""
    rows = [
        {"client": 0, "upload_end_s": 2.9, "outcome": "arrived"},
        {"client": 1, "upload_end_s": last_s, "outcome": outcome},
    ]
    phases = {"round": 0, "selected_s": 0.0, "download_end_s": 1.0, "compute_end_s": 2.0}
    sizes = {"staleness": 0, "download_bytes": 1000, "upload_bytes": 500}
    clients = pd.DataFrame([phases | sizes | row for row in rows])
    clients = clients.assign(received_s=0.5) if by_flower else clients
    rounds = pd.DataFrame([{"round": 0, "start_s": 0.0, "end_s": max(last_s, 2.9)}])
    return Run(rounds, clients, {"s": wire}, [])


def test_the_same_run_twice_has_no_error() -> None:
    found = errors(made(), made(), NOTHING, [0])
    assert found.total == found.mean_round == found.max_round == 0
    assert set(found.phases.values()) == {0}
    assert (found.orders, found.outcomes, found.staleness) == (1, 1, 1)


def test_times_are_relative_to_what_was_measured() -> None:
    found = errors(made(last_s=4.0), made(last_s=3.0), NOTHING, [0])
    assert found.total == pytest.approx(-0.25)
    assert found.phases["upload"] == pytest.approx(1.9 / 2.9 - 1)


@pytest.mark.parametrize(("apart_s", "agrees"), [(NOISE_S / 2, 1), (2 * NOISE_S, 0)])
def test_arrivals_are_in_order_unless_nearly_tied(apart_s: float, agrees: int) -> None:
    simulated, real = made(last_s=2.9 + apart_s), made(last_s=2.9 - apart_s)
    assert errors(real, simulated, NOTHING, [0]).orders == agrees


def test_what_was_measured_nearly_at_once_is_a_tie_too() -> None:
    simulated, real = made(last_s=3.5), made(last_s=2.9 - NOISE_S / 2)
    assert errors(real, simulated, NOTHING, [0]).orders == 1


def test_where_the_order_first_differs_is_told_with_how_far_apart_they_were() -> None:
    simulated, real = made(last_s=2.94), made(last_s=2.88)
    swap = first_swap(real, simulated)
    assert swap == pytest.approx({"after": 0, "measured_s": 0.02, "simulated_s": 0.04})
    assert first_swap(real, real) == first_swap(real, made(last_s=2.9)) == {}


def test_who_is_late_in_one_alone_is_another_outcome() -> None:
    assert errors(made(outcome="late"), made(), NOTHING, [0]).outcomes == 0


@pytest.mark.parametrize("overhead", [NOTHING, GRPC, FLOWER])
def test_bytes_are_those_of_messages_headers_answers_and_nothing_sent_twice(
    overhead: Overhead,
) -> None:
    down, up, again = 2 * 1000, 2 * 500, 3
    sent = down * (1 + overhead.per_byte) + up * PER_ANSWERED_BYTE
    sent += 2 * (overhead.down + overhead.opening_down)
    received = up * (1 + overhead.per_byte) + down * PER_ANSWERED_BYTE + again * PER_LOST
    received += 2 * (overhead.up + overhead.opening_up)
    wire = (round(received), round(sent) + again * (SEGMENT + HEADERS), 0, 0, again)
    found = errors(made(wire=wire), made(), overhead, [0])
    assert found.down == pytest.approx(0, abs=1e-3)
    assert found.up == pytest.approx(0, abs=1e-3)


def test_updates_that_the_end_cuts_off_are_left_out_and_downloads_are_sent_to_their_end() -> None:
    clients = made().clients
    cut = clients.assign(outcome=["arrived", "unfinished"])
    simulated = replace(
        made(), clients=cut.assign(download_bytes=[1000, 400], upload_bytes=[500, 0])
    )
    down, up = 2 * 1000, 500
    received = round(up + down * PER_ANSWERED_BYTE + 300)
    real = replace(made(), clients=cut, cut_off=300)
    real = replace(real, wire={"s": (received, round(down + up * PER_ANSWERED_BYTE), 0, 0, 0)})
    for unfinished in (0, 499):
        late = simulated.clients.assign(upload_bytes=[500, unfinished])
        found = errors(real, replace(simulated, clients=late), NOTHING, [0])
        assert found.down == pytest.approx(0, abs=1e-3)
        assert found.up == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("computed", "cut_off"), [({"computed": 104.0}, 250), ({}, 0)])
def test_what_was_sent_of_an_update_under_way_at_the_end_is_told_by_the_counters(
    tmp_path: Path, computed: dict[str, float], cut_off: int
) -> None:
    order = {"event": "ordered", "order": 1, "client": 0, "round": 0, "at": 100.0, "bytes": 8}
    closed = {"event": "round", "round": 0, "used": []} | dict.fromkeys(("start", "end"), 105.0)
    server = [{"event": "began", "at": 100.0}, order, closed | {"closed": 105.0}]
    client = [{"order": 1, "downloaded": 101.0}]
    client += [{"order": 1, "sent": 1000} | computed] if computed else []
    for name, events in (("server", server), ("client-0", client)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 1250, 0, 0, 0)})
    assert (found.clients.outcome.tolist(), found.cut_off) == (["unfinished"], cut_off)


def test_who_leaves_with_an_update_under_way_is_offline_with_fedbuff_too(tmp_path: Path) -> None:
    """Whatever else its client sends, once it is back, is no part of an update that was cut off."""
    events: list[dict[str, Any]] = [{"event": "began", "at": 100.0}]
    for order, at in enumerate((100.0, 104.0, 105.0)):
        events.append({"event": "ordered", "order": order, "client": 0, "round": 0, "at": at})
    events.insert(2, {"event": "left", "at": 103.0, "client": 0})
    events.append({"event": "arrived", "at": 105.0, "order": 1, "bytes": 8})
    used = [{"order": 1, "staleness": 0}]
    times = {"start": 100.0, "closed": 106.0, "end": 106.0}
    events.append({"event": "round", "round": 0, "used": used} | times)
    events = [{"bytes": 8} | event for event in events]
    client = [{"order": 0, "downloaded": 101.0, "computed": 102.0, "sent": 1000}]
    for name, lines in (("server", events), ("client-0", client)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in lines))
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 9000, 0, 0, 0)})
    assert found.clients.outcome.tolist() == ["offline", "arrived", "unfinished"]
    assert found.cut_off == 0


def test_what_a_client_sent_of_two_updates_that_the_end_cut_off_counts_once(tmp_path: Path) -> None:
    order = {"event": "ordered", "client": 0, "round": 0, "bytes": 8}
    over = {"event": "round", "round": 0, "used": [], "start": 100.0, "closed": 106.0, "end": 106.0}
    server = [{"event": "began", "at": 100.0}, order | {"order": 0, "at": 100.0}]
    server += [{"event": "arrived", "at": 103.0, "order": 0, "bytes": 8}]  # nobody used it
    server += [order | {"order": 1, "at": 103.0}, over]
    done = [{"downloaded": 101.0, "computed": 102.0}, {"downloaded": 104.0, "computed": 105.0}]
    client = [done[0] | {"order": 0, "sent": 1000}, done[1] | {"order": 1, "sent": 1300}]
    for name, lines in (("server", server), ("client-0", client)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in lines))
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 1450, 0, 0, 0)})
    assert found.clients.outcome.tolist() == ["unfinished", "unfinished"]
    assert found.cut_off == 450


def test_each_of_many_devices_is_calibrated_by_itself() -> None:
    rates = [20.0 + number for number in range(9)]
    links = {"count": 1, "downlink": "1 Mbit/s", "uplink": "1 Mbit/s"}
    fleet = [{"name": f"d{rate:g}", "compute": f"{rate} samples/s"} | links for rate in rates]
    rounds = {"clients": len(fleet), "stop": {"rounds": 2}}
    scenario = Scenario.from_dict({**TINY, "fleet": fleet, "rounds": rounds})
    builder = Builder(scenario, None, True, Options().make_executor())
    simulated = simulate(scenario, None, False)
    measured = simulated.rounds.assign(closed_s=simulated.rounds.end_s)
    found = calibrate(scenario, builder, replace(simulated, rounds=measured))
    assert found is not None
    drawn = [group.compute for group in found.fleet]
    values = [draw.value for draw in drawn if isinstance(draw, Constant)]
    assert values == pytest.approx(rates, rel=1e-3)


def test_what_packets_and_bytes_were_is_told_apart() -> None:
    booked, answers, twice = 2 * 1000, 7, 2
    packets = 2 * 1000 / SEGMENT + answers + twice
    size = booked + 55 + HEADERS * packets + SEGMENT * twice
    parts = composition(made(wire=(0, size, 0, packets, twice)))["down"]  # type: ignore[arg-type]
    assert parts["frames"] == pytest.approx(55 / booked)
    assert parts["answers"] == pytest.approx(HEADERS * answers / booked)
    assert parts["again"] == pytest.approx(twice * (SEGMENT + HEADERS) / booked)


def test_the_first_client_and_all_others_are_told_apart_behind_links_that_are_shared() -> None:
    found = served(made(last_s=4.0), made(last_s=3.5))
    assert found["measured"] == {"download": [1.0, 1.0], "upload": pytest.approx([0.9, 2.0])}
    assert found["simulated"]["upload"] == pytest.approx([0.9, 1.5])
    text = tables([told("fine", 0.01, 0.001) | {"served": found}, told("alone", 0.01, 0.001)])
    row = "1000 ms | 1000 ms | 1000 ms | 1000 ms | 900 ms | 2000 ms | 900 ms | 1500 ms"
    assert f"| fine | {row} |" in text
    assert text.count(row) == 1


def test_the_seconds_of_a_quota_are_told_apart_and_what_they_would_be_with_the_cpu_needed() -> None:
    parts = {"throttled_s": 1.0, "waited_s": 0.5, "loop_s": 0.002}
    slow = {"client": 0, "round": 0, "given_s": 2.0, "compute_s": 2.5, "cpu_s": 0.5} | parts
    quick = slow | {"round": 1, "compute_s": 1.6, "cpu_s": 0.3, "throttled_s": 0.8, "waited_s": 0.4}
    quick["loop_s"] = 0.003
    result = told("fine", 0.01, 0.001) | {"shares": [0.2], "computing": [slow, quick]}
    row = "2.00 s | 2.05 s | 0.90 s | 0.45 s | 0.30 s | 400 ms | 400 ms"
    row += " | 35.4% | -1.00 | 22.5% | 3.1%"
    assert f"| fine, client 0 | {row} |\n| fine, all | {row} |" in tables([result])


def told(name: str, given: float, calibrated: float, down: float = 0.0) -> dict[str, Any]:
    """Return what the comparison would tell of a scenario whose rounds are so far off."""
    found = asdict(errors(made(), made(), NOTHING, [0])) | {
        "mean_round": given,
        "down": down,
        "up": 0,
    }
    fitted = {"calibrated": found | {"mean_round": calibrated}}
    kept = {"accuracy": {"measured": []}, "rounds": 1, "measured_s": 3.0, "load": [0.1, 2.4]}
    apart = {"mean_round": given, "orders": 1.0, "outcomes": 0.5}
    nearer = {**apart, "mean_round": calibrated}
    again = {"repeated": {**apart, "runs": 3, "furthest": 0.02, "simulated": nearer, "within": 0.5}}
    again["repeated"]["settled"] = 0.96 if name == "fine" else 0.9
    kept["latency_s"] = [1.2e-5, 0.0804]
    kept["shaken"] = {"mean_round": 0.001, "orders": 1.0}
    return {"name": name, "plain": found, "stated": found} | again | fitted | kept


def test_real_runs_are_held_against_each_other_and_the_simulation_against_them() -> None:
    first, slower, late = (
        json.loads(json.dumps(kept(run)))
        for run in (made(last_s=3.1), made(last_s=4.1), made(last_s=2.7, outcome="late"))
    )
    assert repeated([first], first) is None
    assert repeated([first, {**slower, "ends_s": [1.0, 2.0]}], first) is None
    same = {"mean_round": 0, "orders": 1, "outcomes": 1}
    found = {"runs": 2, **same, "furthest": 0, "simulated": same, "within": 1, "settled": 1}
    assert repeated([first, first], first) == found
    again = repeated([first, slower, late], first)
    assert again is not None
    apart = [1 / 4.1, 0.2 / 2.9, 1.2 / 2.9]  # of the later run's round
    assert again["runs"] == 3
    assert again["mean_round"] == pytest.approx(sum(apart) / 3)
    assert again["furthest"] == pytest.approx(apart[2])
    assert (again["orders"], again["outcomes"]) == pytest.approx((1 / 3, 1 / 3))
    assert again["simulated"]["mean_round"] == pytest.approx((apart[0] + apart[1]) / 3)
    assert again["simulated"]["orders"] == pytest.approx(2 / 3)
    assert again["within"] == 1


@pytest.mark.parametrize(("last_s", "within"), [(3.5, 1), (3.1 - 2 * NOISE_S, 0)])
def test_a_simulated_round_is_in_the_range_of_the_real_ones(last_s: float, within: int) -> None:
    again = repeated([kept(made(last_s=3.1)), kept(made(last_s=4.1))], kept(made(last_s=last_s)))
    assert again is not None
    assert again["within"] == within


@pytest.mark.parametrize(
    ("simulated", "agrees"),
    [
        ([1.0, 2.0, 3.0], True),
        ([1.0, 3.0, 2.0], True),  # the real runs have the last two both ways
        ([2.0, 1.0, 3.0], False),  # none of them has the second before the first
        ([1.0, 1.0 - NOISE_S / 2, 3.0], True),  # a tie
        ([1.0, 2.0, None], False),  # all of them have the third
        ([1.0, 2.0, 3.0, 4.0], False),  # none of them has a fourth
    ],
)
def test_what_all_real_runs_agree_on_is_held_against_the_simulation(
    simulated: list[float | None], agrees: bool
) -> None:
    def run(*ends_s: float | None) -> dict[str, Any]:
        ends = enumerate(ends_s)
        rows = [[i, 0, 0, "late" if s is None else "arrived", s or math.nan] for i, s in ends]
        return {"ends_s": [5.0], "updates": rows}

    again = repeated([run(1.0, 2.0, 3.0), run(1.0, 3.0, 2.5)], run(*simulated))
    assert again is not None
    assert again["settled"] == agrees


def test_the_verdict_names_who_misses_a_target(tmp_path: Path) -> None:
    text = tables([told("fine", 0.01, 0.001), told("far", 0.07, 0.03, down=-0.02)])
    assert "| fine | 1.0% | 1.0% | 0.1% | 1.0% | 0.1% | 100% | 0.012 to 80 ms | 0 to 2 |" in text
    assert "| far | 3 | 7.0% | 2.0% | 3.0% | 50% | 100% | 100% | 50% | 50% | 90% |" in text
    assert "one way and another aside: 1 of 2; not far (90.0%)." in text
    assert "one of these from another: 0 of 1; not far (3.0%)." in text
    assert "rounds within 5%: 1 of 2; not far (7.0%). In the mean 4.0%, not within 2%." in text
    assert "further apart than 5%: 1 of 1. In the mean 1.0%, within 2%." in text
    assert "rounds within 2%: 1 of 2; not far (3.0%). In the mean 1.6%, not within 1%." in text
    assert "bytes down within 1%: 1 of 2; not far (2.0%)." in text
    assert "bytes up within 1%: 2 of 2." in text
    document = tmp_path / "document.md"
    document.write_text(f"before\n{BEGIN}old{END}\nafter\n")
    fill(document, text)
    assert document.read_text() == f"before\n{BEGIN}\n{text}\n{END}\nafter\n"
