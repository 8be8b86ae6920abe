"""What a terminal shows while runs go on fits it, and says which run it is of."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from simfl import Scenario
from simfl.report import progress as shown
from simfl.runs.job import Job
from simfl.runs.progress import Progress
from tests.tiny import TINY


def shown_of(
    title: str, columns: int, monkeypatch: pytest.MonkeyPatch, top: Path
) -> tuple[list[Job], list[str]]:
    """Return two seeds of a variant, and what a terminal shows when the first has ended."""
    file = io.StringIO()

    def terminal(**_: object) -> Console:
        return Console(file=file, width=columns, force_terminal=True, color_system=None)

    monkeypatch.setattr(shown, "Console", terminal)
    jobs = [Job(title, Scenario.from_dict(TINY | {"seed": seed}), top) for seed in range(2)]
    with shown.display(quiet=False) as board:
        assert board is not None
        board.begin(jobs, processes=1)
        board.tell(0, Progress(253.0, 4, 0.964, 0.1, ended=True))
        board.tell(1, Progress(99.0, 2, 0.5, 0.1))
    last = file.getvalue().split("\x1b[2K")[-1].splitlines()
    assert max(map(len, last)) <= columns
    return jobs, last


@pytest.mark.parametrize(("columns", "bar"), [(50, False), (80, True), (120, True)])
def test_a_narrow_terminal_loses_the_bar_not_the_seed(
    columns: int, bar: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs, last = shown_of("deadline", columns, monkeypatch, tmp_path)
    for job in jobs:
        [line] = [line for line in last if line.startswith(job.title)]
        assert "  round" in line
        assert ("━" in line) == bar


def test_what_matters_least_goes_before_a_word_is_cut() -> None:
    """`about 4.5 s l…` was the end of a line on a terminal of 80 columns."""
    at = Progress(3489.0, 12, 0.453, 13.2)
    told = [shown.text_of(at, 100, "about 4.5 s left", room) for room in (88, 66, 60, 20)]
    done = "round 12/100  accuracy 45.3%  about 4.5 s left"
    assert told[0] == f"58 min 9 s virtual  {done}  13.2 s host (264x)"
    assert told[1:] == [f"58 min 9 s virtual  {done}", *2 * [f"58 min 9 s  {done}"]]
    assert shown.text_of(at, 100, "about 4.5 s left") == told[0]


@pytest.mark.parametrize("columns", [40, 50])
def test_what_is_cut_ends_in_dots_and_never_loses_the_seed(
    columns: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`a_much_longer_name_than_others` was the name of every seed; `accuracy 9` was 96.4%."""
    _, last = shown_of("a_much_longer_name_than_others", columns, monkeypatch, tmp_path)
    for seed in range(2):
        [line] = [line for line in last if f" seed {seed} " in line]
        assert line.rstrip().endswith("…")


def test_a_terminal_that_can_not_go_back_gets_lines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Emacs and some CI saw nothing until the end."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(
        shown, "Console", lambda **_: Console(file=io.StringIO(), force_terminal=True)
    )
    with shown.display(quiet=False) as board:
        assert board is not None
        board.begin([Job("v", Scenario.from_dict(TINY), tmp_path)], processes=1)
        board.tell(0, Progress(253.0, 3, 0.964, 0.1))
    assert "v seed 0: 4 min 13 s virtual" in capsys.readouterr().err


def test_a_name_is_cut_before_numbers_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, last = shown_of("a_much_longer_name_than_others", 90, monkeypatch, tmp_path)
    for seed, numbers in enumerate(("accuracy 96.4%  0.1 s host (2,530x)", "accuracy 50.0%")):
        assert any(f" seed {seed} " in line and numbers in line for line in last)


def test_a_run_that_is_resumed_does_not_seem_to_begin_anew() -> None:
    assert shown.text_of(Progress(host_s=2.0), 200) == "preparing"
    assert "round 0/200" in shown.text_of(Progress(host_s=2.0, waits_for="training"), 200)


def test_a_clock_slower_than_the_hosts_is_not_told_as_standing() -> None:
    assert shown.text_of(Progress(0.4, 2, None, 1.0), 12).endswith("1.0 s host (<1x)")


def test_a_run_of_one_report_has_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = shown.Board()
    board.begin([Job("v", Scenario.from_dict(TINY), tmp_path)], processes=1)
    for ended in (False, True):
        board.tell(0, Progress(253.0, TINY["rounds"]["stop"]["rounds"], 0.9, 0.1, ended=ended))
    assert capsys.readouterr().err.count("v seed 0: ") == 1


def test_without_an_accuracy_the_loss_is_told() -> None:
    assert "  accuracy 70.9%  " in shown.text_of(Progress(9.0, 2, 0.709, 1.0, loss=0.5), 12)
    assert "  loss 0.4635  " in shown.text_of(Progress(9.0, 2, None, 1.0, loss=0.46351), 12)
    assert shown.text_of(Progress(9.0, 2, None, 1.0), 12).startswith(
        "9.0 s virtual  round 2/12  1.0 s"
    )


@pytest.mark.parametrize("seeds", [1, 2])
def test_how_long_it_may_take_leaves_out_what_was_loaded_before(
    seeds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run told nothing of it; runs of seconds began with minutes, and were over at once."""
    host = {"now_s": 1000.0}
    monkeypatch.setattr("time.perf_counter", lambda: host["now_s"])
    rounds = TINY["rounds"] | {"stop": {"rounds": 100}}
    jobs = [
        Job("v", Scenario.from_dict(TINY | {"rounds": rounds, "seed": seed}), tmp_path)
        for seed in range(seeds)
    ]
    board = shown.Board()
    board.begin(jobs, processes=1)
    for now_s, round_ in (1060.0, 4), (1072.0, 4 + 6 * seeds):
        host["now_s"] = now_s
        board.tell(0, Progress(round_ * 9.0, round_, 0.5, now_s - 1000))
    first, last = capsys.readouterr().err.splitlines()
    assert "left" not in first
    assert f"about {('3', '3.1')[seeds - 1]} min left" in last
