"""Whom the models of one variant serve better than another's, by paired seeds."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simfl import Scenario, run
from simfl.cli import main
from simfl.errors import InputError
from simfl.report.client_differences import as_text
from simfl.report.client_evaluation import as_text as alone
from simfl.report.client_evaluation import over_seeds
from simfl.runs.evaluation.client_differences import client_differences
from simfl.runs.evaluation.client_evaluation import ClientEvaluation
from simfl.runs.evaluation.evaluate import evaluate
from tests.made_runs import made_run
from tests.tiny import TINY

FLEET = [
    {"name": name, "count": 4, "compute": "50 samples/s", "uplink": "1 Mbit/s"} for name in "xy"
]


SCENARIO = {
    **TINY,
    "fleet": FLEET,
    "data": {**TINY["data"], "local_validation": 0.2},
    "variants": {"short": {"rounds.stop.rounds": 1}, "long": {}},
    "seeds": [0, 1, 2],
}


@pytest.fixture(scope="module")
def evaluations(tmp_path_factory: pytest.TempPathFactory) -> list[ClientEvaluation]:
    runs = run(Scenario.from_dict(SCENARIO), tmp_path_factory.mktemp("runs"))
    return [evaluate(one, fine_tune=1) for one in runs]


def test_differences_are_of_the_same_seeds_and_clients(evaluations: list[ClientEvaluation]) -> None:
    found = client_differences(evaluations, "short")
    keys = [(d.variant, d.whom, d.fine_tuned) for d in found]
    whom = ("everybody", "x", "y")
    assert keys == [("long", name, tuned) for tuned in (False, True) for name in whom]
    tables = {(e.run.variant, e.run.seed): e.clients for e in evaluations}
    for difference, rows in zip(found[:3], (slice(0, 8), slice(0, 4), slice(4, 8)), strict=True):
        by_seed = [
            np.array([tables[name, seed]["accuracy"][rows] for name in ("long", "short")])
            for seed in range(3)
        ]
        means = [float(own.mean() - other.mean()) for own, other in by_seed]
        spreads = [float(own.std() - other.std()) for own, other in by_seed]
        worst = [float(own.min() - other.min()) for own, other in by_seed]
        assert difference.of["mean"].mean == pytest.approx(np.mean(means))
        assert difference.of["std"].mean == pytest.approx(np.mean(spreads))
        assert difference.of["worst_tenth"].mean == pytest.approx(np.mean(worst))
        assert difference.of["mean"].interval is not None
    tuned = [
        tables["long", seed]["fine_tuned_accuracy"].mean()
        - tables["short", seed]["fine_tuned_accuracy"].mean()
        for seed in range(3)
    ]
    assert found[3].of["mean"].mean == pytest.approx(np.mean(tuned))


def test_a_group_called_heard_is_not_who_was_heard(tmp_path: Path) -> None:
    """One row stood for both, in the differences and over seeds."""
    fleet = [{**FLEET[0], "name": name} for name in ("heard", "group heard")]
    few = {"fleet": fleet, "variants": {"a": {}, "b": {"training.epochs": 1}}, "seeds": [0]}
    scenario = Scenario.from_dict({**SCENARIO, **few}, overrides=["rounds.stop.rounds=1"])
    found = [evaluate(one) for one in run(scenario, tmp_path)]
    whom = ["everybody", "group heard", "group group heard", "heard", "never heard"]
    assert [[spread.whom for spread in own.spreads] for own in found] == [whom, whom]
    assert [difference.whom for difference in client_differences(found, "a")] == whom[:3]


def test_its_tables_break_no_number(
    evaluations: list[ClientEvaluation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`12.5% ±` stood above `1.5%`, and `everybo` above `dy`."""
    monkeypatch.setenv("COLUMNS", "50")
    for text in (alone(evaluations[0]), over_seeds(evaluations)):
        lines = text.splitlines()
        assert max(map(len, lines)) <= 50
        assert not [line for line in lines if line.endswith("±")]
        assert sum(line.startswith(" everybody ") for line in lines) >= 4


def test_what_is_judged_by_another_measure_has_no_difference(
    evaluations: list[ClientEvaluation],
) -> None:
    other = [
        replace(e, clients=e.clients.assign(accuracy=np.nan)) if e.run.variant == "long" else e
        for e in evaluations
    ]
    assert client_differences(other, "short") == []
    why = "long is judged by another measure, or on other samples, than short."
    assert why in as_text(other, "short")
    with pytest.raises(InputError, match="no variant 'lnog' was run; did you mean 'long'"):
        client_differences(evaluations, "lnog")


def test_differences_are_of_the_measure_that_the_baseline_is_judged_by(
    evaluations: list[ClientEvaluation], tmp_path: Path
) -> None:
    by_loss = [replace(e, clients=e.clients.assign(accuracy=np.nan)) for e in evaluations]
    by_accuracy = made_run(tmp_path, "first", 0, [0.5], name=TINY["name"])
    text = as_text([replace(evaluations[0], run=by_accuracy), *by_loss], "short")
    assert text.startswith("long, loss of the final models by client: difference from short")
    assert "points" not in text


def test_seeds_of_one_alone_are_left_out(evaluations: list[ClientEvaluation]) -> None:
    fewer = [e for e in evaluations if (e.run.variant, e.run.seed) != ("long", 0)]
    assert {d.of["mean"].seeds for d in client_differences(fewer, "short")} == {2}
    assert "Compared are the seeds that both have: 2 with long." in as_text(fewer, "short")
    apart = [e for e in evaluations if (e.run.variant == "long") == (e.run.seed == 0)]
    assert as_text(apart, "short") == "long has no seed in common with short."


def test_as_a_command(
    evaluations: list[ClientEvaluation], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = evaluations[0].run.folder.parents[1]
    assert main(["evaluate", str(folder), "--baseline", "short"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "long, accuracy of the final models by client: difference from short" in told
    assert "Differences are seed by seed (mean) with 95% intervals (Student's t)" in told
    assert main(["evaluate", str(folder), "--baseline", "short", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["evaluations"]) == 6
    first = found["differences"][0]
    assert (first["variant"], first["baseline"], first["whom"]) == ("long", "short", "everybody")
    assert first["mean"]["low"] <= first["mean"]["mean"] <= first["mean"]["high"]
    assert main(["evaluate", str(folder), "--baseline", "shrt"]) == 2
    assert "--baseline: no variant 'shrt' was run" in capsys.readouterr().err
