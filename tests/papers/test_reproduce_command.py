"""`simfl reproduce`: lists items, repeats them, and goes on after an interruption."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl.cli import main
from simfl.errors import InputError
from simfl.papers.item import Item, items
from simfl.papers.measures import Record, read
from tests.made_runs import made_run
from tests.reliability.disks import Disk, full


def test_the_beginning_of_several_items_lists_them() -> None:
    begun = [item.id for item in items() if item.id.startswith("fedcor/table1")]
    assert len(begun) > 1
    with pytest.raises(InputError, match=f"several items begin with .*: {', '.join(begun)}"):
        items("fedcor/table1")


def test_without_an_item_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    out = capsys.readouterr().out
    for item in items():
        assert f"{item.id}: {item.title}" in out
    assert "needs fashion_mnist, mnist" in out


@pytest.mark.slow
def test_repeating_an_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "fedcore/table1-synthetic-times", "--quick", "--quiet"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    file = tmp_path / "quick" / "fedcore" / "table1-synthetic-times.csv"
    first = file.read_bytes()
    [fedavg] = [r for r in read(file) if r.row == "FedAvg-30"]
    assert fedavg.value == pytest.approx(4.802, abs=5e-4)
    assert "4.7 * FedCore-30 < FedAvg-30: so ordered, one seed" in capsys.readouterr().out
    assert main([*words, "--collect", "--out", str(tmp_path)]) == 0
    assert file.read_bytes() == first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [(full, 1, "No space left on device"), (KeyboardInterrupt, 130, "interrupted")],
)
def test_repeating_goes_on_after_a_full_disk_or_an_interruption(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    fault: Any,
    code: int,
    words: str,
) -> None:
    command = ["reproduce", "fedcore/table1-synthetic-times", "--quick", "--quiet", "--jobs", "1"]
    disk, table = Disk(10**9), "quick/fedcore/table1-synthetic-times.csv"
    with disk.installed():
        assert main([*command, "--out", str(tmp_path / "whole")]) == 0
    whole = (tmp_path / "whole" / table).read_bytes()
    for room in [*np.linspace(-1, disk.writes - 2, 5).astype(int).tolist(), disk.writes - 1]:
        out = tmp_path / f"{room}"
        with Disk(room, fault).installed():
            assert main([*command, "--out", str(out)]) == code
        told = capsys.readouterr().err
        assert words in told
        assert "internal" not in told
        assert not (out / table).exists()
        assert main([*command, "--out", str(out)]) == 0
        assert not caplog.messages  # of what is reused: nothing that the command has not
        assert (out / table).read_bytes() == whole


def test_runs_of_other_settings_are_replaced_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It advised --overwrite, which it did not have."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simfl.runs.run.simulate", interrupted)
    item = next(item for item in items() if item.id == "fedcore/table1-synthetic-times")
    row = next(iter(item.reduced().printed))
    top = tmp_path / "quick" / item.id
    provenance = made_run(top, row, 0, [0.2]).folder / "provenance.json"
    more = {"time_only": False, "device": "cpu", "scenario_sha256": ""}
    provenance.write_text(json.dumps(json.loads(provenance.read_text()) | more))
    words = ["reproduce", item.id, "--quick", "--quiet", "--jobs", "1", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "holds the results of a different scenario" in (told := capsys.readouterr().err)
    assert "give --overwrite to replace them" in told
    assert main([*words, "--overwrite"]) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert not provenance.with_name("summary.json").exists()
    assert main([*words, "--overwrite", "--collect"]) == 2


def test_a_contradicted_claim_is_told_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in ("FedAvg", "FedAvg-DS", "FedProx", "FedCore"):
        for share in (10, 30):
            top = tmp_path / "fedcore" / "table1-synthetic"
            made_run(top, f"a0-{row}-{share}", 0, [0.2])
    made_run(top, "a0-FedAvg", 0, [0.9])
    words = ["reproduce", "fedcore/table1-synthetic", "--collect", "--out", str(tmp_path)]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "a0-FedAvg - 0.01 < a0-FedCore-10, a0-FedCore-30: DOES NOT HOLD" in out
    assert "a1-FedAvg - 0.01 < a1-FedCore-10, a1-FedCore-30: not measured" in out


def test_seeds_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "fedcore", "--seeds", "x"]) == 2
    assert "--seeds" in capsys.readouterr().err


def test_an_item_whose_data_are_not_there_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[str]()

    def repeat(item: Item, *_: Any) -> list[Record]:
        tried.append(item.id)
        if item.id == "fedcore/table1-mnist-times":
            raise InputError("data set 'mnist' is not there")
        return []

    monkeypatch.setattr("simfl.papers.repeat.repeat", repeat)
    assert main(["reproduce", "fedcore", "--out", str(tmp_path)]) == 2
    assert len(tried) == 5
    assert "fedcore/table1-mnist-times: error: data set 'mnist'" in capsys.readouterr().err
    assert main(["reproduce", "fedcore/table1-mnist-times", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: data set 'mnist'")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fedcr", "unknown paper 'fedcr'; did you mean 'fedcor'"),
        ("nobody/table1", "unknown paper 'nobody'; expected one of: "),
        ("fedcor/tabl1", "unknown item 'fedcor/tabl1'; did you mean 'fedcor/table1"),
    ],
)
def test_the_nearest_paper_or_item_is_named(name: str, told: str) -> None:
    """Of `fedcr` all items of all papers were, and of fedcor's one of fedcore's."""
    with pytest.raises(InputError) as error:
        items(name)
    assert str(error.value).startswith(told)
