"""`simfl report`: which pages it writes, and what it refuses."""

from pathlib import Path

import pytest

from simfl.cli import main
from simfl.runs.results.result import RunResult
from tests.report.page.html_page import check


def test_all_pages(compared: list[RunResult], capsys: pytest.CaptureFixture[str]) -> None:
    top = compared[0].folder.parents[1]
    assert main(["report", str(top)]) == 0
    assert capsys.readouterr().out == f"Report: {top / 'report.html'}\n"
    for folder in [top, *(result.folder for result in compared)]:
        check(folder / "report.html")
    assert all((result.folder / "trace.json").exists() for result in compared)


def test_only_the_page_asked_for(broken_off: RunResult, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(broken_off.folder), "--out", str(page)]) == 0
    check(page)
    assert not (broken_off.folder / "report.html").exists()
    assert not (broken_off.folder / "trace.json").exists()


@pytest.mark.parametrize("what", ["missing", "empty", "damaged table", "damaged scenario"])
def test_folders_without_a_sound_run_are_refused_by_name(
    what: str, broken_off: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, named = broken_off.folder, "clients.csv"
    if what == "missing":
        folder, named = tmp_path / "nowhere", "nowhere"
    elif what == "empty":
        folder, named = tmp_path / "empty", "empty"
        folder.mkdir()
    elif what == "damaged table":
        (folder / "clients.csv").write_text("round,client\n1,what\n")
    else:
        named = "scenario.yaml"
        (folder / "scenario.yaml").write_text("{")
    assert main(["report", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert named in error
    assert "Traceback" not in error
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("out", ["", "nowhere/page.html"])
def test_a_page_that_can_not_be_there_is_refused(
    out: str,
    compared: list[RunResult],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = str(compared[0].folder)
    assert main(["report", folder, "--out", str(tmp_path / out)]) == 2
    assert "error: --out: " in capsys.readouterr().err


def test_several_folders_are_compared_here(
    compared: list[RunResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *(str(result.folder) for result in compared[1:3])]) == 0
    assert capsys.readouterr().out == "Report: report.html\n"
    check(tmp_path / "report.html")
