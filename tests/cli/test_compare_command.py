"""`simfl compare`: its formats agree with each other and with the summaries."""

import csv
import errno
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.cli import main
from simfl.runs.results.find import find_runs
from tests.cli.printing import printed

SCENARIO = """\
name: compared
data: {dataset: {name: synthetic, alpha: 1, beta: 1}}
model: logistic_regression
fleet: {count: 30, compute: {distribution: lognormal, median: 50 samples/s, sigma: 0.5}}
training: {epochs: 2, batch_size: 8}
rounds: {clients: 5, stop: {rounds: 3}, policy: {name: synchronous, deadline: {stragglers: 30%}}}
evaluation: {targets: [10%, 99%]}
variants: {waits: {rounds.policy.deadline: none}, drops: {}}
seeds: [0, 1]
"""


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants with two seeds each."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "s.yaml").write_text(SCENARIO)
    assert main(["run", str(folder / "s.yaml"), "--out", str(folder / "o"), "-q"]) == 0
    return folder / "o"


def as_json(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    return list(json.loads(printed(capsys, "compare", *words, "--format", "json")))


def summaries(top: Path, variant: str) -> list[dict[str, Any]]:
    files = (top / variant / f"seed-{seed}" / "summary.json" for seed in (0, 1))
    return [json.loads(file.read_text()) for file in files]


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_note_that_does_not_fit_keeps_nobody_from_the_table(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where stderr could not be written there was no table, and the exit code was 1."""
    monkeypatch.setattr(sys, "stderr", Full())
    words = ["compare", str(top), "--baseline", "waits", "--columns", "rounds"]
    assert main(words) == 0  # beside which it is noted that `rounds` is not compared
    assert "drops" in capsys.readouterr().out


def test_means_and_spreads(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_json(capsys, top)
    assert [(line["variant"], line["seeds"]) for line in lines] == [("waits", 2), ("drops", 2)]
    for line in lines:
        first, second = (one["virtual_time_s"] for one in summaries(top, line["variant"]))
        assert line["time_s"]["mean"] == pytest.approx((first + second) / 2)
        assert line["time_s"]["std"] == pytest.approx(abs(first - second) / math.sqrt(2))
        assert line["time_s"]["missing"] == 0
        reached = [one["targets"]["0.1"] for one in summaries(top, line["variant"])]
        times = [at["time_s"] for at in reached if at]
        assert line["time_s_to_10%"]["missing"] == 2 - len(times)
        assert line["time_s_to_99%"] == {
            "mean": None,
            "std": None,
            "median": None,
            "missing": 2,
            "low": None,
            "high": None,
            "interval": None,
            "why_no_interval": "some seed lacks it",
        }


def test_targets_other_than_the_scenarios(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, keys in (("0.05", ["5%"]), ("5%,12.5%", ["5%", "12.5%"])):
        (line, _) = as_json(capsys, top, "--targets", text)
        found = [key for key in line if key.startswith("time_s_to_")]
        assert found == [f"time_s_to_{key}" for key in keys]
    # Found in rounds.csv, as the run itself would have.
    at = as_json(capsys, top, "--targets", "0.1")[0]
    assert at == {k: v for k, v in as_json(capsys, top)[0].items() if "99%" not in k}


def test_csv_and_json_have_the_same_numbers(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "compare", top, "--format", "csv"))))
    for row, line in zip(rows, as_json(capsys, top), strict=True):
        told = {name: value for name, value in row.items() if value}
        assert told.pop("variant") == line.pop("variant")
        assert int(told.pop("seeds")) == line.pop("seeds")
        for name, figure in line.items():
            for key, value in (figure or {}).items():
                text = told.pop(name if key == "mean" else f"{name}_{key}", None)
                assert text == (None if value is None else str(value))
        assert told == {}


@pytest.mark.parametrize("form", ["markdown", "latex", "table"])
def test_what_people_read(form: str, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "compare", top, "--format", form, "--baseline", "waits")
    words = " ".join(text.split())
    assert "whole runs" in words
    assert "never" in words
    assert "drops" in words
    assert "standard deviation" in words
    assert "95% intervals" in words
    assert max(map(len, text.splitlines())) <= 100 or form != "table"


@pytest.mark.parametrize("form", ["markdown", "latex", "table", "csv", "json"])
def test_columns_are_chosen(form: str, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "time_s_to_10%,accuracy"
    text = printed(capsys, "compare", top, "--format", form, "--columns", names)
    assert "accuracy" in text
    assert "bytes" not in text
    assert "round" not in text.replace("toprule", "")
    if form == "json":
        assert list(json.loads(text)[0]) == ["variant", "seeds", "time_s_to_10%", "accuracy"]


def test_some_columns_are_there_only_if_asked_for(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No comparison had the last loss or the best accuracy, which papers give."""
    names = ["best_accuracy", "loss", "gini", "download_bytes", "upload_bytes"]
    told = json.loads(printed(capsys, "compare", top, "--format", "json"))
    assert not set(names) & set(told[0])
    asked = ["compare", top, "--format", "json", "--columns", ",".join(names)]
    for row in json.loads(printed(capsys, *asked)):
        runs = [run for run in find_runs([top]) if run.variant == row["variant"]]
        for name, values in (
            ("best_accuracy", [run.rounds.accuracy.max() for run in runs]),
            ("loss", [run.rounds.loss.iloc[-1] for run in runs]),
            ("gini", [run.gini for run in runs]),
            ("download_bytes", [run.rounds.download_bytes.sum() for run in runs]),
            ("upload_bytes", [run.rounds.upload_bytes.sum() for run in runs]),
        ):
            assert row[name]["mean"] == pytest.approx(np.mean(values))
    versus = ["--baseline", "waits", "--columns", "loss_difference,loss"]
    assert "difference from waits" in printed(capsys, "compare", top, *versus)


def test_columns_without_the_baseline_are_told(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--baseline` had no effect, and nothing said what its columns are called."""
    words = ["compare", str(top), "--baseline", "waits", "--columns"]
    assert main([*words, "accuracy,time_s_to_10%"]) == 0
    told = capsys.readouterr().err
    assert "none that compares with --baseline: accuracy_difference, time_speedup_to_10%" in told
    assert main([*words, "accuracy,time_speedup_to_10%"]) == 0
    assert capsys.readouterr().err == ""
    for column in ("time_speedup_to_10%", "time_sooner_to_10%", "accuracy_difference"):
        assert main(["compare", str(top), "--columns", column]) == 2
        told = f"column '{column}' compares variants, and needs --baseline"
        assert told in capsys.readouterr().err


def test_a_run_named_twice_counts_once(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = as_json(capsys, top, top / "waits", top / "." / "waits" / "seed-0")
    assert twice == as_json(capsys, top)


def test_a_columns_target_as_it_is_asked_about(
    top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key has no space: `time_s_to_loss 9` was unknown, and `time_s` perhaps meant."""
    keys = "time_s_to_loss 9", "time_s_to_loss_9"
    tables = []
    for key in keys:
        command = ["compare", str(top), "--targets", "loss 9", "--columns", key]
        assert main(command) == 0
        tables.append(capsys.readouterr().out)
    assert "to loss 9" in tables[0]
    assert tables[0] == tables[1]


def test_single_folders_in_any_order(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [top / "waits" / "seed-1", top / "drops" / "seed-0"]
    lines = as_json(capsys, *folders)
    assert [(line["variant"], line["seeds"]) for line in lines] == [("waits", 1), ("drops", 1)]
    assert lines[0]["time_s"]["std"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "cvs"], "unknown format 'cvs'; did you mean 'csv'?"),
        (["--targets", "much"], "--targets: "),
        (["nowhere"], "nowhere: no such folder"),
        (["--columns", "acc"], "--columns: unknown column 'acc'; did you mean 'accuracy'?"),
        (
            ["--columns", "x"],
            "--columns: unknown column 'x'; expected one of: accuracy, backhaul_bytes, b",
        ),
        (["--columns", ""], "--columns is empty; is a variable of the shell not set?"),
    ],
)
def test_bad_input_is_refused_with_what_was_expected(
    words: list[str], message: str, top: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(top), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_unfinished_runs_are_named(
    top: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from shutil import copytree

    folder = tmp_path / "seed-0"
    copytree(top / "drops" / "seed-0", folder)
    (folder / "summary.json").unlink()
    assert main(["compare", str(folder)]) == 2
    assert f"simfl resume {folder}" in capsys.readouterr().err
    assert main(["compare", str(top / "drops"), str(folder), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == f"note: left out, not finished: {folder}\n"
    whole = [str(top / "waits" / "seed-0"), str(folder)]
    assert main(["compare", *whole, "--baseline", "drops"]) == 2  # it was run, and is not unknown
    assert f"{folder} has not finished" in capsys.readouterr().err
    assert [(line["variant"], line["seeds"]) for line in json.loads(out)] == [("drops", 2)]
