"""`simfl plot --kind tradeoff`: its points, its front, and what its caption says."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from simfl import run
from simfl.cli import main
from simfl.errors import InputError
from simfl.report.plot.tradeoff import draw
from simfl.report.plot.tradeoff_caption import caption
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.runs.results.tradeoff import tradeoff
from simfl.scenario import Scenario
from tests.cli.printing import printed
from tests.made_runs import made_run, reaches
from tests.tiny import TINY

X, Y = "time_s_to_70%", "bytes_to_70%"


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResult]:
    """Five variants, three of them at the front of time and bytes to 70%."""
    firsts = {"quick": (1.0, [7, 8, 9]), "few": (20.0, [1, 2, 2]), "between": (5.0, [4, 0, 4])}
    firsts |= {"lost": (1.0, [0, 0, 0]), "lucky": (1.0, [1, 0, 0])}
    return [
        made_run(tmp_path, name, seed, reaches(first, 9), round_s=round_s)
        for name, (round_s, rounds) in firsts.items()
        for seed, first in enumerate(rounds)
    ]


def lines(figure: Figure) -> dict[str, np.ndarray]:
    """Return what is drawn and named."""
    drawn = figure.axes[0].get_lines()
    return {str(line.get_label()): np.asarray(line.get_xydata()) for line in drawn}


def test_medians_and_their_front_are_drawn(runs: list[RunResult]) -> None:
    figure = draw(tradeoff(runs, X, Y))
    drawn = lines(figure)
    assert drawn.keys() >= {"quick", "few", "between", "lucky", "front"}
    assert "lost" not in drawn
    np.testing.assert_array_equal(drawn["quick"], [[8, 16000]])
    np.testing.assert_array_equal(drawn["lucky"], [[1, 2000]])  # its only seed that got there
    np.testing.assert_array_equal(drawn["front"], [[8, 16000], [20, 8000], [40, 4000]])
    [axes] = figure.axes
    assert axes.get_xlabel() == "time to 70% (s)"
    assert axes.get_ylabel() == "bytes to 70% (kB)"
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0


def test_a_point_at_zero_is_not_cut_in_half_by_the_axis(runs: list[RunResult]) -> None:
    [axes] = draw(tradeoff(runs, X, Y)).axes
    points = [line for line in axes.get_lines() if line.get_label() != "front"]
    assert points
    assert not any(line.get_clip_on() for line in points)


def test_the_caption_names_those_that_never_got_there(runs: list[RunResult]) -> None:
    assert list(caption(tradeoff(runs, X, Y))) == [
        "small points: seeds; large ones: medians over 3 seeds",
        "front: quick, between and few; no other is as good in both (lower time to 70%, lower "
        "bytes to 70%), though chance may have a part in it",
        "never reached 70%, the worst in medians: between (1 of 3 seeds)",
        "never reached 70%, left out: lost",
        "never reached 70%, no median: lucky (2 of 3 seeds)",
    ]


def test_of_runs_under_way_the_caption_says_not_yet(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path, "v", seed, reaches(first, 3), finished=seed < 2)
        for seed, first in enumerate([1, 2, 0])
    ]
    assert list(caption(tradeoff(runs, X, Y))) == [
        "small points: seeds; large ones: medians over 3 seeds",
        "not yet at 70%, the worst in medians: v (1 of 3 seeds)",
        "not finished, counted as far as they got: v (1 of 3 seeds)",
    ]


def test_single_seeds_need_no_words(runs: list[RunResult]) -> None:
    told = tradeoff([run for run in runs if run.seed == 0], "time_s", "accuracy")
    [line] = caption(told)
    assert line == (
        "front: quick and lucky; no other is as good in both (lower time, higher accuracy)"
    )
    assert len(lines(draw(told))) == len(told.variants)  # two at one place have no line


def test_axes_may_be_logarithmic(runs: list[RunResult]) -> None:
    [axes] = draw(tradeoff(runs, X, Y), log="xy").axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    with pytest.raises(InputError, match="log y: not all values of wasted are above zero"):
        draw(tradeoff(runs, X, "wasted_bytes"), log="y")


def test_of_time_alone_no_target_is_asked(tmp_path: Path) -> None:
    timed = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    assert draw(tradeoff(timed, "time_s", "bytes")).axes
    with pytest.raises(InputError, match="x: 'time_s_to_60%': only time was simulated"):
        tradeoff(timed, "time_s_to_60%", "bytes")


def test_the_command_draws_it(
    runs: list[RunResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "front.svg"
    words = ["plot", tmp_path, "--kind", "tradeoff", "--x", X, "--y", Y, "--out", out]
    assert "left out: lost" in printed(capsys, *words)
    assert ">bytes to 70% (kB)</text>" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--kind", "pareto"], "--kind: unknown 'pareto'; expected one of: curves, tradeoff"),
        (["--kind", "tradeoff", "--x", X], "--kind tradeoff needs --x and --y: columns of"),
        (["--kind", "tradeoff", "--x", "time", "--y", Y], "--x: unknown column 'time'; did you"),
        (["--kind", "tradeoff", "--x", X, "--y", Y, "--band", "ci"], "--band is of curves"),
        (["--kind", "tradeoff", "--x", X, "--y", "bytes_to_99%"], "none of the runs has both: "),
    ],
)
def test_what_it_can_not_draw_is_told(
    runs: list[RunResult],
    tmp_path: Path,
    options: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["plot", str(runs[0].folder), "--out", str(tmp_path / "a.png"), *options]
    assert main(words) == 2
    assert told in capsys.readouterr().err
