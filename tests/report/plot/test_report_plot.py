"""`simfl plot`: the lines and bands are the statistics of the runs, in the size asked for."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from simfl import run
from simfl.cli import main
from simfl.errors import InputError
from simfl.report.figures.looks import LOOKS, STYLES
from simfl.report.plot import Band, plot
from simfl.report.plot.caption import caption
from simfl.report.plot.measures import XS, YS
from simfl.runs.options import Options
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import mean_interval
from simfl.scenario import Scenario
from tests.made_runs import made_run
from tests.tiny import TINY

CURVES = {0: [0.2, 0.4, 0.8], 1: [0.2, 0.6, 0.8], 2: [0.5, 0.5, 0.2]}


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResult]:
    return [made_run(tmp_path, "v", seed, curve) for seed, curve in CURVES.items()]


def lines(figure: Figure) -> list[np.ndarray]:
    return [np.asarray(line.get_xydata()) for line in figure.axes[0].get_lines()]


def bounds(figure: Figure) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper edge of the only band."""
    (band,) = (c for c in figure.axes[0].collections if isinstance(c, PolyCollection))
    corners = np.asarray(band.get_paths()[0].vertices)
    edges = [np.sort(corners[corners[:, 0] == x, 1]) for x in np.unique(corners[:, 0])]
    return np.array([edge[0] for edge in edges]), np.array([edge[-1] for edge in edges])


def test_the_line_is_the_mean_and_the_band_its_interval(runs: list[RunResult]) -> None:
    figure = plot(runs, "rounds")
    columns = np.array(list(CURVES.values())).T
    np.testing.assert_allclose(lines(figure), [[[1, 0.3], [2, 0.5], [3, 0.6]]])
    intervals = [mean_interval(column.tolist(), (0.0, 1.0)) for column in columns]
    low, high = bounds(figure)
    np.testing.assert_allclose(low, [i.low for i in intervals if i])
    np.testing.assert_allclose(high, [i.high for i in intervals if i])
    low, high = bounds(plot(runs, "rounds", band="std"))
    np.testing.assert_allclose(high - low, 2 * columns.std(axis=1, ddof=1))
    low, high = bounds(plot(runs, "rounds", band="range"))
    np.testing.assert_allclose([low, high], [columns.min(axis=1), columns.max(axis=1)])


@pytest.mark.parametrize(("x", "label"), [("time", "rounds done"), ("rounds", "duration (s)")])
def test_of_time_alone_rounds_are_drawn(x: str, label: str, tmp_path: Path) -> None:
    """It was told that there is no accuracy."""
    timed = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    assert plot(timed, x).axes[0].get_ylabel() == label


def test_across_it_ends_where_the_lines_do(tmp_path: Path) -> None:
    """A mean ends with the shortest seed; the rest of the longest was an empty half of a chart."""
    runs = [made_run(tmp_path, "v", 0, [0.1, 0.2]), made_run(tmp_path, "v", 1, [0.1] * 20)]
    ends: dict[Band, int] = {"ci": 2, "runs": 20}
    for band, last in ends.items():
        figure = plot(runs, "rounds", band=band)
        assert max(line[-1, 0] for line in lines(figure)) == last
        assert figure.axes[0].get_xlim()[1] == last


def test_a_single_round_is_drawn(tmp_path: Path) -> None:
    """A line of one point has no length: the axes were empty, and so was its band."""
    runs = [made_run(tmp_path, "v", seed, [0.5 + seed / 10]) for seed in range(3)]
    [line] = plot(runs[:1]).axes[0].lines
    assert line.get_marker() == "o"
    [axes] = plot(runs, x="rounds", band="range").axes
    assert axes.lines[0].get_marker() == "o"
    [bar] = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert np.ravel(bar.get_segments()).tolist() == pytest.approx([1, 0.5, 1, 0.7])
    longer = plot([made_run(tmp_path, "w", 0, [0.5, 0.6])]).axes[0]
    assert longer.lines[0].get_marker() == ""


def test_runs_are_drawn_one_by_one_on_demand(runs: list[RunResult]) -> None:
    figure = plot(runs, "bytes", band="runs")
    assert len(lines(figure)) == 3
    np.testing.assert_allclose(lines(figure)[0], [[2000, 0.2], [4000, 0.4], [6000, 0.8]])


@pytest.mark.parametrize("x", [name for name in XS if not name.startswith("epsilon")])
@pytest.mark.parametrize("y", ["accuracy", "loss", "duration", "bytes"])
def test_axes_name_what_they_show(runs: list[RunResult], x: str, y: str) -> None:
    axes = plot(runs, x, y).axes[0]
    assert axes.get_xlabel().startswith(XS[x].label)
    assert axes.get_ylabel().startswith(YS[y].label)
    assert all(mark.get_text() for mark in axes.get_xticklabels())


@pytest.mark.parametrize("style", [*STYLES, "ggplot"])
def test_it_has_the_size_asked_for(runs: list[RunResult], style: str) -> None:
    figure = plot(runs, width_mm=254, height_mm=127, style=style)
    np.testing.assert_allclose(figure.get_size_inches(), [10, 5])


def test_a_program_that_saves_it_gets_letters_that_journals_take(
    runs: list[RunResult], tmp_path: Path
) -> None:
    """By itself matplotlib would write Type 3 fonts."""
    plot(runs).savefig(tmp_path / "p.pdf")
    pdf = (tmp_path / "p.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"/CIDFontType2" in pdf


def test_variants_have_lines_of_their_own_and_a_legend(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, f"v{i}", 0, [0.1, 0.2]) for i in range(10)]
    figure = plot(runs)
    axes = figure.axes[0]
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == 10
    assert len(figure.legends) == 1
    assert plot(runs[:3]).axes[0].get_legend() is not None


def test_a_caption_says_what_the_picture_does_not(tmp_path: Path) -> None:
    """Seeds that share no instant became lines of their own, and others were left out, silently."""
    alike = [made_run(tmp_path, "v", seed, curve) for seed, curve in CURVES.items()]
    none = made_run(tmp_path, "lost", 0, [math.nan] * 3)
    assert list(caption(alike, "time", None, "ci")) == [
        "lines: means over 3 seeds, as far as each of them got; bands: 95% intervals of the mean"
    ]
    assert list(caption([*alike[:2], none], "time", "accuracy", "ci")) == [
        "lines: means over 2 seeds, as far as each of them got; no bands: a 95% interval takes 3 "
        "seeds",
        "left out, without any accuracy: lost",
    ]
    free = made_run(tmp_path, "free", 0, CURVES[0], fleet=[{"count": 2}])  # of charge
    assert list(caption([alike[0], free, none], "energy", "accuracy", "ci")) == [
        "left out, without any accuracy: lost",
        "left out, without any energy at work: free",
    ]
    single = made_run(tmp_path, "longer", 0, CURVES[0])  # was told to be a mean over 3 seeds, too
    assert list(caption([*alike, single], "time", None, "ci"))[1:] == [
        "one seed alone, no mean: longer"
    ]
    assert list(caption(alike, "time", None, "runs")) == []
    late = made_run(tmp_path, "v", 3, [0.5], round_s=1000)
    assert len(lines(plot([*alike, late]))) == 4
    assert list(caption([*alike, late], "time", None, "ci")) == [
        "no mean of v: at no virtual time do all seeds have a value, so each is a line of its own"
    ]


def test_different_losses_share_no_axis(tmp_path: Path) -> None:
    losses = ("cross_entropy", "mean_squared_error")
    runs = [made_run(tmp_path, n, 0, [0.1, 0.2], training={"loss": n}) for n in losses]
    with pytest.raises(InputError, match=r"different losses \(cross_entropy and mean_squared_err"):
        plot(runs, y="loss")
    assert plot(runs, y="accuracy").axes


def test_nothing_above_zero_has_no_logarithm(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "v", seed, [0.0, 0.0]) for seed in (0, 1)]
    with pytest.raises(InputError, match="log y: none of the values of accuracy is above zero"):
        plot(runs, "rounds", "accuracy", log="y")


def test_names_lie_on_no_line(tmp_path: Path) -> None:
    runs = [
        made_run(tmp_path, f"v{n}{k}", 0, [0.1 * n + 0.05 * k + 0.4 * (k % 2)] * 9)
        for n in range(5)
        for k in range(2)
    ]
    assert len(plot(runs).legends) == 1
    assert plot(runs[:2]).axes[0].get_legend() is not None


def test_bands_are_whole(tmp_path: Path) -> None:
    """They were cut where the highest seed is, and went below zero."""
    curves = ([0.9, 0.8], [0.05, 0.1], [0.1, 0.1])
    runs = [made_run(tmp_path, "v", seed, curve) for seed, curve in enumerate(curves)]
    bands: tuple[Band, ...] = ("ci", "std")
    for y, most in (("accuracy", 1.0), ("loss", math.inf)):
        for band in bands:
            figure = plot(runs, "rounds", y, band=band)
            low, high = bounds(figure)
            bottom, top = figure.axes[0].get_ylim()
            assert bottom <= 0 <= low.min()
            assert high.max() <= min(top, most)


def test_long_names_stand_below_the_axes(tmp_path: Path) -> None:
    """A sweep's names covered its lines, the numbers of the axis and its label."""
    name = "clients={}_lr=0.01_partition=dirichlet-alpha=0.1"
    runs = [made_run(tmp_path, name.format(n), 0, [0.1, 0.2]) for n in range(8)]
    figure = plot(runs)
    figure.draw_without_rendering()
    [legend], [axes] = figure.legends, figure.axes
    below, above = legend.get_window_extent(), axes.get_tightbbox()
    assert above is not None
    assert axes.get_legend() is None
    assert below.y1 <= above.y0
    assert 0 <= below.x0 < below.x1 <= figure.bbox.width
    assert axes.get_window_extent().height > figure.bbox.width / 3
    assert plot(runs, height_mm=60).get_figheight() == pytest.approx(60 / 25.4)


def test_names_too_long_for_the_picture_are_shortened(tmp_path: Path) -> None:
    """They were cut at both of its sides."""
    name = "learning-rate-schedule=cosine_warmup=5_clients-per-round={}_lr=0.01_and-more"
    figure = plot([made_run(tmp_path, name.format(n), 0, [0.1, 0.2]) for n in range(8)])
    figure.draw_without_rendering()
    [legend] = figure.legends
    assert 0 <= legend.get_window_extent().x0 < legend.get_window_extent().x1 <= figure.bbox.width
    assert all("…" in text.get_text() for text in legend.get_texts())


def test_two_seeds_have_no_interval_to_draw(runs: list[RunResult]) -> None:
    """Their bands covered the whole chart."""
    assert len(plot(runs).axes[0].collections) == 1
    assert not plot(runs[:2]).axes[0].collections
    assert len(plot(runs[:2], band="range").axes[0].collections) == 1


@pytest.mark.parametrize(("width_mm", "style"), [(85.0, "paper"), (175, "paper"), (250, "slide")])
def test_ticks_are_as_many_as_the_letters_leave_room_for(
    runs: list[RunResult], width_mm: float, style: str
) -> None:
    """Of a column's width there were two."""
    [axes] = plot(runs, width_mm=width_mm, style=style).axes
    assert 4 <= len(axes.get_xticks()) <= width_mm / 10


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"x": "tine"}, "x: unknown 'tine'; did you mean 'time'?"),
        ({"y": "speed"}, "y: unknown 'speed'"),
        ({"band": "sd"}, "band: unknown 'sd'"),
        ({"style": "papier"}, "did you mean 'paper'?"),
        ({"x": ["time"]}, "x: expected a name such as 'time', got ['time']"),
        ({"band": None}, "band: expected a name such as 'ci', got None"),
        ({"y": "gemd"}, "none of the runs has any GEMD over virtual time"),
    ],
)
def test_what_can_not_be_drawn_is_told(
    runs: list[RunResult], wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError) as error:
        plot(runs, **wrong)
    assert told in str(error.value)


class TestCommand:
    @pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
    def test_it_writes_the_same_bytes_every_time(
        self, runs: list[RunResult], tmp_path: Path, ending: str
    ) -> None:
        paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
        for path in paths:
            assert main(["plot", str(tmp_path), "--out", str(path), "--width", "8.5cm"]) == 0
        assert paths[0].read_bytes() == paths[1].read_bytes() != b""

    def test_its_letters_are_letters(self, runs: list[RunResult], tmp_path: Path) -> None:
        """Journals refuse Type 3 fonts, and outlines can't be searched."""
        for ending in ("pdf", "svg"):
            path = tmp_path / f"p.{ending}"
            assert main(["plot", str(tmp_path / "v"), "--out", str(path)]) == 0
        pdf = (tmp_path / "p.pdf").read_bytes()
        assert b"/Type3" not in pdf
        assert b"/CIDFontType2" in pdf
        assert ">accuracy</text>" in (tmp_path / "p.svg").read_text(encoding="utf-8")

    def test_lines_that_look_alike_are_told_of(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for n in range(LOOKS + 1):
            made_run(tmp_path, f"v{n}", 0, [0.1, 0.2])
        options = ["--width", "slide", "--height", "300mm", "--out", str(tmp_path / "a.png")]
        assert main(["plot", str(tmp_path), *options]) == 0
        assert "49 variants share 48 colours and dashes" in capsys.readouterr().err
        options += ["--kind", "tradeoff", "--x", "time_s", "--y", "accuracy"]
        assert main(["plot", str(tmp_path), *options]) == 0
        assert "49 variants share 48 colours and markers" in capsys.readouterr().err

    @pytest.mark.parametrize("side", [math.nan, math.inf, 0.0])
    def test_a_side_is_some_millimetres(self, runs: list[RunResult], side: float) -> None:
        with pytest.raises(InputError, match=f"width_mm: expected 10 to 2000 mm, got {side:g} mm"):
            plot(runs, width_mm=side)
        with pytest.raises(InputError, match=f"height_mm: expected 10 to 2000 mm, got {side:g} mm"):
            plot(runs, height_mm=side)

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (["--out", "a.gif"], "must end in .png, .svg or .pdf"),
            (["--out", "a.pdf", "--width", "85"], "--width: expected a length such as 85mm"),
            (["--out", "a.pdf", "--height", "1 km"], "--height: expected a length"),
            (["--out", "a.pdf", "--width", "0.1mm"], "--width: expected 10 to 2000 mm, got 0.1"),
            (["--out", "a.pdf", "--width", "10mm"], "a picture of 10 by 7 mm has no room for its"),
            (["--out", "a.pdf", "--log", "z"], "--log: expected x, y or xy, got 'z'"),
        ],
    )
    def test_what_it_can_not_do_is_told(
        self,
        runs: list[RunResult],
        tmp_path: Path,
        options: list[str],
        told: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(["plot", str(runs[0].folder), *options]) == 2
        assert told in capsys.readouterr().err
        assert not list(tmp_path.glob("a.*"))

    @pytest.mark.parametrize("variable", ["MPLBACKEND", "SOURCE_DATE_EPOCH"])
    def test_what_the_environment_says_wrongly_is_told(
        self, variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(variable, "nonsense")
        monkeypatch.delitem(sys.modules, "matplotlib")  # which reads it once
        assert main(["plot", "nowhere", "--out", "a.pdf"]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"error: the variable {variable}: ")
        assert "'nonsense'" in told
