"""What Python and notebooks are given: paths, progress, tables and figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, RunResult, Scenario, compare, load, resume, run, run_flower
from simfl.errors import InputError, ScenarioError
from tests.tiny import TINY

ODD = Options("processes", executor_options={"workers": "x"})
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
        assert all(set(result.of_rounds("selected")) == {3} for result in results)
    with pytest.raises(ScenarioError, match=r"rounds\.cleints: unknown key"):
        run(file, tmp_path / "wrong", overrides=["rounds.cleints=3"])


def test_a_seed_among_changes_is_not_left_unused_beside_others(tmp_path: Path) -> None:
    """The command refused it, and here the listed seeds were run."""
    seeded = {**TWO, "seeds": [0, 1]}
    with pytest.raises(InputError, match="the scenario has `seeds`, with which it is run instead"):
        run(seeded, tmp_path / "never", overrides=["seed=7"])
    assert not (tmp_path / "never").exists()
    results = run(seeded, tmp_path, overrides=["seed=7"], seeds=[1])
    assert {result.seed for result in results} == {1}


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected a scenario \(a path, .*\), got 5"):
        run(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"scenario: expected a mapping such as .*, got 5"):
        Scenario.from_dict(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"scenario: expected the path of a YAML file, got \{"):
        Scenario.load(TWO)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"overrides: expected a list such as .*, got 'a=1'"):
        Scenario.from_dict(TWO, overrides="a=1")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"seeds": 3}, r"seeds: expected a list such as \[0, 1, 2\], got 3"),
        ({"seeds": "0-2"}, r"seeds: expected a list such as \[0, 1, 2\], got '0-2'"),
        ({"variants": "few"}, r"variants: expected a list such as \['default'\], got 'few'"),
        ({"overrides": "rounds.clients=2"}, r"overrides: .* \['rounds.clients=10'\], got 'rounds"),
        ({"overrides": {"rounds.clients": 2}}, r"overrides: .* \['rounds.clients=10'\], got {"),
        ({"seeds": []}, r"seeds: expected one at least, got \[\]"),
        ({"variants": ()}, r"variants: expected one at least, got \(\)"),
        ({"variants": [5]}, "variants: expected names, got 5"),
        ({"overrides": [("a", 1)]}, r"overrides: .* such as 'rounds.clients=10', got \('a', 1\)"),
        ({"options": {"jobs": 2}}, r"options: .* such as Options\(jobs=2\), got {'jobs': 2}"),
        ({"overwrite": "no"}, "overwrite: expected True or False, got 'no'"),
        ({"go_on": 1}, "go_on: expected True or False, got 1"),
        ({"progress": "no"}, "progress: expected True, False or None, got 'no'"),
        ({"out": ""}, "out is empty; is a variable not set"),
        ({"options": ODD}, "executor_options: workers: expected a whole number, got 'x'"),
        ({"out": 5}, "out: expected a folder such as 'runs/mine', got 5"),
        ({"watch": [print]}, r"watch: expected a Watch \(simfl.runs.many\), got \[<built-in"),
        ({"listen": [print]}, r"listen: expected a function that takes a Job, got \[<built-in"),
        ({"listen": lambda _: print}, "listen: .* returns a list of listeners, got .* <built-in"),
        ({"listen": lambda _: [5]}, r"listen: .* list of listeners, got one that returns \[5\]"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(
    argument: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """They ended in a raw error, overwrite="no" overwrote, and of '--set r' nobody had spoken."""
    with pytest.raises(InputError, match=message):
        run(TWO, **{"out": tmp_path / "never", **argument})
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(("out", "told"), [("", "out is empty"), (5, "out: expected a folder")])
def test_flower_runs_are_put_in_no_folder_without_a_name(out: Any, told: str) -> None:
    """They went into the working directory, or it was a raw error."""
    with pytest.raises(InputError, match=told):
        run_flower({"fleet": {"count": 2}}, lambda _: None, lambda: None, 10, out)


def test_a_result_stands_for_its_folder_and_what_is_none_is_told(tmp_path: Path) -> None:
    [result] = run(Scenario.from_dict(TINY), tmp_path)
    assert load(result) == resume(result) == result
    for wrong in ([result], None, 5):
        for call in (load, resume):
            with pytest.raises(InputError, match="folder: expected a run folder such as 'runs/NA"):
                call(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="options: expected Options"):
        resume(result, {"jobs": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"variants": ["fwe"]}, "^variants: there is no variant 'fwe'; did you mean 'few'"),
        (
            {"overrides": ["rounds.cleints=3"]},
            r"^overrides rounds\.cleints=3: rounds\.cleints: unk",
        ),
        ({"overrides": ["seed=1", "seeds=0-1"]}, r"^overrides seed=1: .*; give seeds=\[1\]"),
        ({"options": Options(log="none")}, "overwrite=True computes them again"),
        (
            {"overrides": ["training.epochs=7"]},
            "give overwrite=True to replace.* or another out or",
        ),
        ({"options": Options(time_only=True)}, "time_only: false there, true now"),
    ],
)
def test_arguments_are_called_by_their_own_names_and_not_by_those_of_options(
    argument: dict[str, Any], message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(TWO, tmp_path)
    try:
        run(TWO, tmp_path, **argument)
    except InputError as error:
        told = str(error)
    else:
        told = caplog.text
    assert re.search(message, told)
    assert "--" not in told


def test_results_show_themselves(tmp_path: Path) -> None:
    results = run(Scenario.from_dict(TWO), tmp_path)
    html = results._repr_html_()
    assert html.count("<tr") == 1 + 4
    table = results.table()
    assert table["virtual time (s)"].tolist() == [result.end_s for result in results]
    assert "many" in repr(results)
    assert load(results[0].folder)._repr_html_().count("<tr") == 2
    for column in (results[0].of_rounds, results[0].of_clients):
        with pytest.raises(InputError, match="there is no column 'nope'; expected one of: "):
            column("nope")
    compared = results.compare(baseline="few")
    assert list(compared.index) == ["few", "many"]
    assert "rounds" in compared["whole runs"].columns
    for target in (0.5, "50%"):
        with pytest.raises(InputError, match=r"targets: expected a list such as \['60%'\], got"):
            results.compare(targets=target)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="baseline: expected the name of a variant, got 5"):
        results.compare(baseline=5)  # type: ignore[arg-type]
    lone = str(results[0].folder)
    for runs in (lone, results[0]):
        with pytest.raises(InputError, match=r"results: expected a list such as \[load\(folder\),"):
            compare(runs)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"expected runs such as load\(folder\), got '.*seed-0'"):
        compare([lone])  # type: ignore[list-item]
    told = results.compare(targets=["1%"], baseline="few", as_numbers=True)
    assert told["bytes"]["many"] == sum(result.total_bytes for result in results[2:]) / 2
    assert told["seeds"].tolist() == [2, 2]
    assert {"accuracy_std", "accuracy_difference_low", "time_speedup_to_1%"} <= set(told.columns)
    told = results.compare(columns=["upload_bytes", "rounds"], as_numbers=True)
    assert [*told.columns[:2]] == ["seeds", "upload_bytes"]
    assert "accuracy" not in told
    assert len(results.compare(columns=["accuracy"]).columns) == 2  # seeds, too
    with pytest.raises(InputError, match="unknown column 'accurcy'; did you mean 'accuracy'"):
        results.compare(columns=["accurcy"])
    for columns, why in (("accuracy", "expected a list such as"), ([], "is empty")):
        with pytest.raises(InputError, match=f"columns:? {why}"):
            results.compare(columns=columns)
    with pytest.raises(InputError, match="columns: expected names such as 'accuracy', got 1"):
        results.compare(columns=[1])  # type: ignore[list-item]
    assert repr(compare(results)).startswith("Comparison(variants: few, many; columns: accuracy, ")
    assert isinstance(results[0], RunResult)
    for part in (results[2:], results[:2] + results[2:]):
        assert part._repr_html_().count("<tr") == 1 + len(part)  # whose methods it has, too
    figure = results.plot(y="loss", band="range")
    assert len(figure.axes[0].get_lines()) == 2
