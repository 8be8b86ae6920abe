"""Commands that read a run say which file of its is damaged, and what it lacks."""

import json

import pytest

from simfl.cli import main
from tests.tiny import RunTiny


def test_a_table_that_has_lost_a_column(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    table = folder / "clients.csv"
    table.write_text(table.read_text().replace("round,client,", "round,clien,", 1))
    assert main(["explain", str(folder)]) == 2
    assert f"{table} is damaged: it has no column 'client'" in capsys.readouterr().err


def test_a_summary_that_lacks_a_number(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_tiny().folder
    file = folder / "summary.json"
    summary = json.loads(file.read_text())
    del summary["totals"]["wasted_bytes"]
    file.write_text(json.dumps(summary))
    assert main(["report", str(folder)]) == 2
    assert f"{file} is damaged: it has no 'wasted_bytes'" in capsys.readouterr().err
