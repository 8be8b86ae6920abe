"""What a sweep varied: a column per factor, and numbers for a table of any two of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from simfl import run
from simfl.report import write_report
from simfl.report.page.factors import factors
from simfl.report.page.tables import magnitude
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.tiny import TINY

POINTS: dict[str, tuple[dict[str, Any], int]] = {
    "a": ({"rounds.clients": 10, "selection": "oort", "model": "mlp"}, 2),
    "b": ({"rounds.clients": 5, "selection": "oort", "model": "mlp"}, 3),
    "c": ({"rounds.clients": 10, "selection": {"name": "uniform"}, "model": "mlp"}, 4),
    "d": ({"rounds.clients": 5, "selection": {"name": "uniform"}, "model": "mlp"}, 0),
}


@pytest.fixture
def swept(tmp_path: Path) -> list[RunResult]:
    runs = []
    for name, (point, at) in POINTS.items():
        for seed in (0, 1):
            made = made_run(tmp_path, name, seed, reaches(at, 5))
            provenance = {"variant": name, "seed": seed, "factors": point}
            (made.folder / "provenance.json").write_text(json.dumps(provenance))
            runs.append(RunResult(made.folder))
    return runs


def test_what_does_not_vary_is_no_factor_and_levels_are_in_order(swept: list[RunResult]) -> None:
    found = factors(by_variant(swept))
    assert found is not None
    assert found.data["factors"] == [
        {"name": "rounds.clients", "levels": ["5", "10"]},
        {"name": "selection", "levels": ["oort", '{"name": "uniform"}']},
    ]
    assert found.table.heads[:2] == ["rounds.clients", "selection"]
    assert [[cell.text for cell in row[:2]] for row in found.table.rows] == [
        ["10", "oort"], ["5", "oort"], ["10", '{"name": "uniform"}'], ["5", '{"name": "uniform"}']
    ]  # fmt: skip


def test_each_point_of_a_sweep_is_folded(swept: list[RunResult], tmp_path: Path) -> None:
    """Nearly the same numbers stand in the table of variants: a page, and its print, had both."""
    page = write_report(swept, tmp_path / "page.html").read_text(encoding="utf-8")
    before, table = page.split('<section id="factors">')[1].split("</section>")[0].split("<table")
    assert "<details><summary>Each point</summary>" in before
    assert table.count("<tr") == 1 + len(POINTS)
    assert "</details>" in table


def test_deviations_stand_below_their_means(tmp_path: Path) -> None:
    """Beside each other they made a sweep's table wider than its page."""
    for name, at in (("a", (1, 4)), ("b", (2, 3))):
        for seed, round_ in enumerate(at):
            made = made_run(tmp_path, name, seed, reaches(round_, 5))
            point = {"rounds.clients": 5 if name == "a" else 10}
            provenance = {"variant": name, "seed": seed, "factors": point}
            (made.folder / "provenance.json").write_text(json.dumps(provenance))
    found = factors(by_variant(find_runs([tmp_path])))
    assert found is not None
    column = found.table.heads.index("bytes to 70%")
    cells = [(row[column].text, row[column].more) for row in found.table.rows]
    assert cells == [("5.0 kB", "± 4.2 kB"), ("5.0 kB", "± 1.4 kB")]


def test_privacy_spent_is_a_measure_of_a_sweep(tmp_path: Path) -> None:
    """The trade of noise for accuracy could not be seen on its page: it had no epsilon."""
    private = TINY | {
        "aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 1},
        "rounds": {"clients": 4, "stop": {"rounds": 1}},
        "evaluation": {"targets": []},
        "sweep": {"aggregation.noise_multiplier": [1, 2]},
    }
    runs = run(Scenario.from_dict(private), tmp_path, Options(time_only=True, jobs=1))
    found = factors(by_variant(runs))
    assert found is not None
    column = [measure["label"] for measure in found.data["measures"]].index("epsilon")
    loud, louder = (row["values"][column] for row in found.data["rows"])
    assert loud > louder > 0
    assert "epsilon" in found.table.heads


def test_levels_with_units_are_in_the_order_of_their_size() -> None:
    levels = ["1 min", "2 s", "500 ms", "30", "10", "70%", "uniform"]
    ordered = sorted(levels, key=lambda level: (magnitude(level) is None, magnitude(level) or 0))
    assert ordered == ["500 ms", "2 s", "10", "30", "1 min", "70%", "uniform"]
    rates = ["2 Mbit/s", "800 kbit/s"]
    assert sorted(rates, key=lambda level: magnitude(level) or 0) == ["800 kbit/s", "2 Mbit/s"]


def test_the_numbers_are_those_of_the_runs(swept: list[RunResult]) -> None:
    found = factors(by_variant(swept))
    assert found is not None
    labels = [measure["label"] for measure in found.data["measures"]]
    times = [row["values"][labels.index("time to 70%")] for row in found.data["rows"]]
    assert times == [20, 20, 30, 30, 40, 40, None, None]
    assert [row["at"] for row in found.data["rows"][::2]] == [[1, 0], [0, 0], [1, 1], [0, 1]]
    column = found.table.heads.index("time to 70%")
    assert [row[column].text for row in found.table.rows] == ["20.0 s", "30.0 s", "40.0 s", "never"]


@pytest.mark.parametrize(("targets", "told"), [((0.3, 0.7, 0.9), "70%"), ((0.8, 0.9), "90%")])
def test_costs_are_to_a_target_that_somebody_reached(
    targets: tuple[float, ...], told: str, tmp_path: Path
) -> None:
    """Of 20% and 99% there were three columns of never."""
    for clients in (5, 10):
        made = made_run(tmp_path, f"{clients}", 0, reaches(2, 5), targets=targets)
        provenance = {"variant": f"{clients}", "seed": 0, "factors": {"rounds.clients": clients}}
        (made.folder / "provenance.json").write_text(json.dumps(provenance))
    found = factors(by_variant(find_runs([tmp_path])))
    assert found is not None
    assert [head for head in found.table.heads if " to " in head][:2] == [
        f"time to {told}", f"bytes to {told}"
    ]  # fmt: skip


def test_runs_that_were_not_swept_have_none(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, name, 0, [0.1]) for name in "ab"]
    assert factors(by_variant(runs)) is None
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="factors"' not in page


def test_a_page_escapes_what_was_swept(swept: list[RunResult], tmp_path: Path) -> None:
    path = swept[0].folder / "provenance.json"
    evil = "</script><b>"
    path.write_text(path.read_text().replace("oort", evil))
    page = write_report(swept, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="factors"' in page
    assert evil not in page


def test_a_page_says_what_was_assumed_and_by_whom(tmp_path: Path) -> None:
    scenario = {
        "name": "assuming",
        "data": {"dataset": {"name": "synthetic_images", "samples": 60, "size": 4}},
        "model": "logistic_regression",
        "fleet": {"count": 4, "uplink": "1 Mbit/s"},
        "training": {"epochs": 1, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.1}},
        "rounds": {"clients": 2, "stop": {"rounds": 1}},
        "variants": {"plain": {}, "timed": {"fleet.latency": "1 ms"}},
        "seeds": [0, 1],
    }
    results = run(Scenario.from_dict(scenario), tmp_path, Options(time_only=True))
    page = write_report(results, tmp_path / "page.html").read_text(encoding="utf-8")
    told = page.split("Assumed, not given")[1].split("</ul>")[0]
    assert "<code>fleet[0].compute: 100 samples/s</code>" in told
    assert "<code>fleet[0].latency: 0 s (plain)</code>" in told
    assert "uplink" not in told
    assert "seed" not in told  # every run has one


def test_an_error_is_looked_at_where_there_is_no_accuracy(tmp_path: Path) -> None:
    """Only time and bytes could be chosen."""
    data = TINY | {
        "data": {"dataset": "synthetic_regression", "partition": "natural"},
        "training": {"loss": "mean_squared_error"},
        "sweep": {"rounds.clients": [2, 4]},
    }
    runs = run(Scenario.from_dict(data), tmp_path)
    found = factors(by_variant(runs))
    assert found is not None
    assert [measure["label"] for measure in found.data["measures"]] == ["RMSE", "time", "bytes"]
    errors = [one.error[1] for one in runs if one.error is not None]
    assert [row["values"][0] for row in found.data["rows"]] == errors
