"""The page of a tuning: what to set, and a dot for every value."""

import re
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.report.page.tuning import page, write_page
from simfl.runs.tuning.trials import PAGE
from tests.runs.tuning.tuned import CLOCK, timed


def test_the_page_says_what_to_set_and_no_other_page_is_written_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page of all trials, many of them cut off, called another the best."""
    spec = {**CLOCK, "parameters": {"rounds.clients": [2, 3]}, "trials": 2}
    tuning = timed(tmp_path, spec)
    best = tuning.best
    assert best is not None
    told = f"<code>--set &#39;rounds.clients={best.parameters['rounds.clients']}&#39;</code>"
    assert told in write_page(tuning).read_text(encoding="utf-8")
    assert main(["report", str(tmp_path)]) == 2
    assert f"whose report is {tmp_path / PAGE}; name one" in capsys.readouterr().err
    assert not list(tmp_path.rglob("report.html"))
    assert main(["report", str(tmp_path / best.name)]) == 0
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "all.html")]) == 0


def test_what_is_drawn_by_ratio_is_shown_by_ratio(tmp_path: Path) -> None:
    rate = {"min": 0.001, "max": 0.1, "log": True}
    spec = {**CLOCK, "parameters": {"training.optimizer.lr": rate}, "trials": 2}
    html = page(timed(tmp_path, spec))
    shown = html.split("<b>training.optimizer.lr</b>")[1].split("</figure>")[0]
    assert re.findall(r'<text class="tick (?:mid|end)" [^>]*>([^<]*)', shown)[:3] == [
        "0.001", "0.002", "0.005",
    ]  # fmt: skip


def test_there_are_no_halves_of_what_is_tuned_in_whole_numbers(tmp_path: Path) -> None:
    """Between two and four clients stood 2.5 and 3.5."""
    spec = {**CLOCK, "parameters": {"rounds.clients": {"min": 2, "max": 4}}, "trials": 2}
    html = page(timed(tmp_path, spec))
    shown = html.split("<b>rounds.clients</b>")[1].split("</figure>")[0]
    below = re.findall(r'<text class="tick mid" [^>]*>([^<]*)', shown)
    assert below == ["2", "3", "4"]


@pytest.mark.slow
def test_the_page_has_a_dot_for_every_value_and_a_row_for_every_trial(tmp_path: Path) -> None:
    spec = {**CLOCK, "parameters": {"rounds.clients": [2, 3, 99]}, "trials": 6}
    tuning = timed(tmp_path, spec)
    html = page(tuning)
    valued = sum(trial.state == "done" for trial in tuning.trials)
    assert valued
    assert html.count("<circle") == 2 * valued  # by trial, and by clients
    assert html.count('<th scope="row">trial-') == len(tuning.trials)
