"""What Python and notebooks are given: paths, progress, tables and figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from simfl import Scenario, compare, load, run
from simfl.errors import InputError, ScenarioError
from tests.tiny import TINY

TWO = {**TINY, "variants": {"few": {"rounds.clients": 2}, "many": {}}, "seeds": [0, 1]}


def test_run_takes_paths_and_shows_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps(TWO))
    results = run(str(file), str(tmp_path / "runs"), progress=True)
    assert [(result.variant, result.seed) for result in results] == [
        ("few", 0), ("few", 1), ("many", 0), ("many", 1),
    ]  # fmt: skip
    assert "many seed 1: " in capsys.readouterr().err
    run(Scenario.load(file), tmp_path / "again", seeds=[0], variants=["few"])
    assert capsys.readouterr().err == ""  # nobody looks on


def test_run_takes_changes_as_the_command_does(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(json.dumps(TWO))
    changes = ["rounds.stop.rounds=2", "rounds.clients=3"]
    sources: list[Path | dict[str, Any] | Scenario] = [file, TWO, Scenario.load(file)]
    for number, scenario in enumerate(sources):
        results = run(scenario, tmp_path / str(number), overrides=changes, seeds=[0])
        assert [result.n_rounds for result in results] == [2, 2]
        assert all(set(result.column("selected")) == {3} for result in results)
    with pytest.raises(ScenarioError, match=r"rounds\.cleints: unknown key"):
        run(file, tmp_path / "wrong", overrides=["rounds.cleints=3"])


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected a scenario \(a path, .*\), got 5"):
        run(5)  # type: ignore[arg-type]


def test_results_show_themselves(tmp_path: Path) -> None:
    results = run(Scenario.from_dict(TWO), tmp_path)
    html = results._repr_html_()
    assert html.count("<tr") == 1 + 4
    table = results.table()
    assert table["virtual time (s)"].tolist() == [result.end_s for result in results]
    assert "many" in repr(results)
    assert load(results[0].folder)._repr_html_().count("<tr") == 2
    compared = results.compare(baseline="few")
    assert list(compared.index) == ["few", "many"]
    assert "rounds" in compared["whole runs"].columns
    told = results.compare(targets=["1%"], baseline="few", as_numbers=True)
    assert told["bytes"]["many"] == sum(result.total_bytes for result in results[2:]) / 2
    assert told["seeds"].tolist() == [2, 2]
    assert {"accuracy_std", "accuracy_difference_low", "time_speedup_to_1%"} <= set(told.columns)
    assert repr(compare(results)).startswith("Comparison(variants: few, many; columns: accuracy, ")
    figure = results.plot(y="loss", band="range")
    assert len(figure.axes[0].get_lines()) == 2
