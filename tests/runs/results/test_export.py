"""Tables of several runs as one file each."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simfl import RunResult, Scenario, run
from simfl.cli import main
from simfl.errors import InputError
from simfl.runs.results.export import concatenated, export
from tests.made_runs import made_run
from tests.tiny import TINY


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[RunResult]:
    scenario = Scenario.from_dict({**TINY, "sweep": {"rounds.clients": [2, 3]}, "seeds": [0, 1]})
    return run(scenario, tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize(
    "form",
    [
        "csv",
        pytest.param(
            "parquet",
            marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow"),
        ),
    ],
)
def test_every_row_says_whose_it_is(form: str, results: list[RunResult], tmp_path: Path) -> None:
    top = results[0].folder.parents[1]
    assert main(["export", str(top), "--format", form, "--out", str(tmp_path / "out")]) == 0
    read = pd.read_csv if form == "csv" else pd.read_parquet
    rounds, clients = (read(tmp_path / "out" / f"{name}.{form}") for name in ("rounds", "clients"))
    assert len(rounds) == 4 * 4
    for result in results:
        of_it = rounds[(rounds.variant == result.variant) & (rounds.seed == result.seed)]
        assert of_it["end_s"].tolist() == result.rounds.end_s.tolist()
        assert set(of_it["rounds.clients"]) == {result.scenario["rounds"]["clients"]}
    assert len(clients) == sum(len(result.clients) for result in results)
    assert set(clients.outcome) == {"arrived"}


def test_numbers_stay_what_they_are_beside_a_run_without_a_round(
    results: list[RunResult], tmp_path: Path
) -> None:
    """Seeds became 0.0."""
    none = run(Scenario.from_dict(TINY | {"rounds": {"stop": {"time": "1 ms"}}}), tmp_path)
    for name, table in ((n, concatenated([*none, *results], n)) for n in ("rounds", "clients")):
        assert table["seed"].dtype.kind == table["round"].dtype.kind == "i", name
        assert table["rounds.clients"].dropna().tolist(), name


def test_runs_that_have_not_finished_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their last rows looked like what whole runs had come to."""
    whole = made_run(tmp_path / "runs", "v", 0, [0.1, 0.5])
    half = made_run(tmp_path / "runs", "v", 1, [0.1], finished=False)
    assert main(["export", str(whole.folder), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""
    assert main(["export", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0
    told = f"note: not finished, with the rounds so far: {half.folder}\n"
    assert capsys.readouterr().err == told
    assert len(pd.read_csv(tmp_path / "out" / "rounds.csv")) == 3


def test_a_run_that_was_killed_before_its_first_round_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fork that is killed at its start has no table, and nothing of the others was exported."""
    made_run(tmp_path / "runs", "v", 0, [0.1, 0.5])
    killed = made_run(tmp_path / "runs", "v", 1, [0.1], finished=False)
    (killed.folder / "rounds.csv").unlink()
    assert main(["export", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0
    told = f"note: left out, without any round yet: {killed.folder}\n"
    assert capsys.readouterr().err == told
    assert len(pd.read_csv(tmp_path / "out" / "rounds.csv")) == 2


@pytest.mark.skipif(find_spec("pyarrow") is not None, reason="pyarrow is installed")
def test_parquet_without_pyarrow(results: list[RunResult], tmp_path: Path, capsys: Any) -> None:
    words = ["export", str(results[0].folder), "--format", "parquet", "--out", str(tmp_path / "o")]
    assert main(words) == 2
    assert "pip install 'simfl[parquet]'" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_neither_table_appears_without_the_other(results: list[RunResult], tmp_path: Path) -> None:
    (tmp_path / "clients.csv").mkdir()  # in place of a disk that is full by then
    with pytest.raises(InputError, match=r"can't write into "):
        export(results, tmp_path, "csv")
    assert [path.name for path in tmp_path.iterdir()] == ["clients.csv"]
