"""Charts: thinned, not too wide, and with as many pictures as can be read."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simfl.report import formats, measures
from simfl.report.axes import Axis
from simfl.report.charts import curve_data, curves
from simfl.report.charts.anatomy import anatomy
from simfl.report.charts.base import COLUMNS, bars, by_name
from simfl.report.charts.costs import bytes_by_purpose
from simfl.report.charts.svg import TICK
from simfl.report.page.sections import sections
from tests.made_runs import made_run


def test_an_axis_shows_what_is_below_zero(tmp_path: Path) -> None:
    """A metric of a user's own, such as a log-likelihood, lay on the axis."""
    made = [made_run(tmp_path, "v", 0, [0.1, 0.5])]
    below = replace(measures.ACCURACY, kind="number", of=lambda run: -run.of_rounds("accuracy"))
    extent = curve_data.extent(below, made, (), vertical=True)
    assert extent["low"] == pytest.approx(-0.525)
    assert extent["high"] == pytest.approx(-0.1 / 1.05)
    assert curve_data.extent(measures.ACCURACY, made, (), vertical=True)["low"] == 0


@pytest.mark.parametrize(
    ("accuracies", "target", "ends"),
    [
        ([0.8, 0.9], None, (0.795, 0.905)),
        ([0.8, 0.9], 0.6, (0.585, 0.915)),  # a line across is seen, too
        ([0.8, 0.9], 0.3, (0.0, 0.945)),
        ([0.4, 0.9], None, (0.0, 0.945)),
        ([0.9, 1.0], None, (0.895, 1.0)),
        ([0.85, 0.85], None, (0.845, 0.855)),
    ],
)
def test_shares_in_the_upper_half_have_the_height_of_the_chart(
    accuracies: list[float], target: float | None, ends: tuple[float, float], tmp_path: Path
) -> None:
    """From 80% to 90% was a tenth of the height: the axis began at 0%."""
    made = [made_run(tmp_path, "v", 0, accuracies)]
    marks = [] if target is None else [("accuracy", target, "target")]
    extent = curve_data.extent(measures.ACCURACY, made, marks, vertical=True)
    assert (extent["low"], extent["high"]) == pytest.approx(ends)


def test_long_runs_are_thinned_to_their_extremes(tmp_path: Path) -> None:
    accuracies = (0.5 + 0.4 * np.sin(np.arange(5_000.0))).round(6)
    accuracies[[777, 4321]] = 0.01, 0.99
    run = made_run(tmp_path, "v", 0, accuracies.tolist())
    drawing = curves.curves(
        "c", "", "", {"v": [run]}, [measures.TIME], [measures.ACCURACY, measures.LOSS]
    )
    assert drawing is not None
    assert drawing.data is not None
    assert "the least and the most of every stretch" in drawing.about
    [shown] = drawing.data["series"][0]["runs"]
    assert len(shown["time"]) <= curve_data.POINTS
    assert (shown["time"][0], shown["time"][-1]) == (10, 50_000)
    assert (min(shown["accuracy"]), max(shown["accuracy"])) == (0.01, 0.99)


def test_long_runs_reach_a_target_where_they_did(tmp_path: Path) -> None:
    """One of 1,000 rounds that reached 50% after 16 s did so after 26 s in its picture."""
    accuracies = 0.9 * (1 - np.exp(-np.arange(1, 1001) / 12))
    every_fifth = np.where(np.arange(1, 1001) % 5 == 0, accuracies, np.nan)
    xs = [measures.TIME, measures.ROUNDS, measures.BYTES, measures.COSTS["energy"]]
    for name, looked_at in (("each", accuracies), ("fifth", every_fifth)):
        run = made_run(tmp_path, name, 0, looked_at.tolist())
        drawing = curves.curves("c", "", "", {"v": [run]}, xs, [measures.ACCURACY, measures.LOSS])
        assert drawing is not None
        assert drawing.data is not None
        [shown] = drawing.data["series"][0]["runs"]
        drawn = np.interp(np.arange(5, 1001), shown["round"], shown["accuracy"])
        assert drawn == pytest.approx(accuracies[4:], abs=0.05)
        assert len(shown["round"]) <= curve_data.POINTS


def test_mean_and_band_over_seeds(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "v", seed, [0.2, 0.4 + 0.2 * seed, 0.8]) for seed in (0, 1)]
    drawing = curves.curves("c", "", "", {"v": runs}, [measures.ROUNDS], [measures.ACCURACY])
    assert drawing is not None
    assert drawing.data is not None
    mean = drawing.data["series"][0]["means"]["round accuracy"]
    assert mean["x"] == [1, 2, 3]
    assert mean["mean"] == pytest.approx([0.2, 0.5, 0.8])
    assert mean["low"] == pytest.approx([0.2, 0.4, 0.8])
    assert mean["high"] == pytest.approx([0.2, 0.6, 0.8])


def test_where_a_seed_has_ended_the_others_are_lines_of_their_own(tmp_path: Path) -> None:
    """The right part of such a chart was empty: the mean ends with the first seed."""
    accuracies = {0: [0.2, 0.4], 1: [0.2, 0.6, 0.7, 0.8]}
    runs = [made_run(tmp_path, "v", seed, values) for seed, values in accuracies.items()]
    drawing = curves.curves("c", "", "", {"v": runs}, [measures.ROUNDS], [measures.ACCURACY])
    assert drawing is not None
    assert drawing.data is not None
    mean = drawing.data["series"][0]["means"]["round accuracy"]
    assert mean["x"] == [1, 2]
    assert mean["tails"] == [{"seed": 1, "x": [2, 3, 4], "y": [0.6, 0.7, 0.8]}]
    assert drawing.svg.count('class="line c0 thin"') == drawing.svg.count("v, seed 1") == 1
    assert drawing.about.endswith("thin: single runs, where another seed has ended.")
    level = curves.curves("c", "", "", {"v": runs[:1] * 2}, [measures.ROUNDS], [measures.ACCURACY])
    assert level is not None
    assert "thin" not in level.svg + level.about


def test_runs_of_few_rounds_beside_long_ones_are_no_strokes(tmp_path: Path) -> None:
    """Five rounds beside thousands stood upright at the start of "Duration of rounds"."""
    short = made_run(tmp_path, "short", 0, [0.5] * 5, round_s=100.0)
    for name, rounds, axis in (("alike", 50, "round"), ("long", 100, "time")):
        groups = {"short": [short], name: [made_run(tmp_path, name, 0, [0.5] * rounds)]}
        durations = sections(groups)[0].drawings[0]
        assert durations.data is not None
        assert durations.data["xs"][0]["key"] == axis


def test_more_than_eight_variants_have_a_picture_each(tmp_path: Path) -> None:
    for count, pictures in ((8, 1), (9, 9)):
        groups = {
            f"v{i}": [made_run(tmp_path / str(count), f"v{i}", 0, [0.1, 0.2])] for i in range(count)
        }
        drawing = curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY])
        assert drawing is not None
        assert drawing.svg.count("<svg") == pictures
        assert len({css for css, _ in drawing.legend}) == count


def test_labels_of_targets_close_together_stand_side_by_side(tmp_path: Path) -> None:
    """97%, 98% and 99% were one on the other."""
    made = {"v": [made_run(tmp_path, "v", 0, [0.1, 0.99])]}
    marks = [(measures.ACCURACY.key, share, f"{share:.0%}") for share in (0.5, 0.97, 0.98, 0.99)]
    drawing = curves.curves("c", "", "", made, [measures.TIME], [measures.ACCURACY], marks)
    assert drawing is not None
    labels = re.findall(r'class="note end" x="([\d.]+)" y="[\d.]+">(\d+)%<', drawing.svg)
    right = {int(share): float(x) for x, share in labels}
    assert right[50] == right[99]  # it has room of its own
    for share in (97, 98):
        assert right[share] < right[share + 1] - 3 * TICK


def test_long_names_leave_room_for_bars_and_stay_in_their_pictures(tmp_path: Path) -> None:
    """A picture was as wide as its longest name and the bars, and no screen is."""
    names = [f"{'a_very_long_name_of_a_variant_' * 4}{i}" for i in range(9)]
    groups = {name: [made_run(tmp_path, name, 0, [0.1, 0.2])] for name in names}
    for drawing in (
        bytes_by_purpose(groups),
        curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY]),
    ):
        assert drawing is not None
        written = re.findall(r'<text class="(?:row end|heading)"[^>]*>([^<]*)', drawing.svg)
        assert len(set(written)) == len(names)
        assert max(map(len, written)) <= curves.HEADING
        assert int(drawing.svg.split('width="')[1].split('"')[0]) < 700


def test_headings_fit_their_pictures_in_a_wide_font(tmp_path: Path) -> None:
    """The last letters of long names were beyond the edge."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    font = FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans-Bold.ttf")
    font.set_size(12, 72)
    names = [f"clients={n}_deadline=none_momentum=0.9_partition=dirichlet" for n in range(10, 19)]
    groups = {name: [made_run(tmp_path, name, 0, [0.1, 0.2])] for name in names}
    drawing = curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY])
    assert drawing is not None
    headings = re.findall(r'<text class="heading" x="(\d+)"[^>]*>([^<]*)', drawing.svg)
    assert len(headings) == len(names)
    for left, text in headings:
        font.set_text(text)
        assert int(left) + font.get_width_height()[0] / 64 < curves.SMALL[0], text


def test_names_of_sixty_bars_can_be_read_in_print() -> None:
    """As high as its page is, a picture of many had letters of a millimetre."""
    values = {f"clients={number}": {"compute": 1.0} for number in range(60)}
    x = Axis("time", 0.0, 1.0, ())
    css = {"compute": "p-compute"}
    svg = bars("t", "", x, values, css, "seconds", formats.duration).svg
    style = (Path(formats.__file__).parent / "page/style.css").read_text()
    [most_mm], [letter_px] = (
        re.findall(pattern, style)
        for pattern in (
            r"\.grid \.plot svg { max-height: (\d+)mm",
            r"\.row { font-size: ([\d.]+)px",
        )
    )
    [height_px] = re.findall(r'viewBox="0 0 \d+ (\d+)"', svg)
    assert float(letter_px) / float(height_px) * float(most_mm) > 1.9  # millimetres: 5.4 pt


def test_names_of_bars_fit_their_room_in_a_wide_font(tmp_path: Path) -> None:
    """Names in capitals and Chinese ones began left of the picture's edge."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    font = FT2Font(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf")
    font.set_size(12.5, 72)
    for name in (
        "FEDAVG-WITH-WAITING-AND-MOMENTUM",
        "clients=10_deadline=none_lr=0.01",
        "mmwwmmww",
    ):
        groups = {n: [made_run(tmp_path / name, n, 0, [0.1, 0.2])] for n in (name, "b")}
        drawing = bytes_by_purpose(groups)
        assert drawing is not None
        end = re.search(rf'<text class="row end" x="([0-9.]+)"[^>]*>{name}</text>', drawing.svg)
        assert end is not None
        font.set_text(name)
        width, _ = font.get_width_height()
        assert 0 <= float(end[1]) - width / 64 < 60, name


def test_words_above_a_chart_do_not_list_thirty_variants(tmp_path: Path) -> None:
    values = {f"v{n}": n / 100 for n in range(30)}
    assert by_name(values, formats.percent) == "0.0% (v0) to 29.0% (v29)"
    runs = {f"v{n}": [made_run(tmp_path, f"v{n}", 0, [0.5])] for n in range(30)}
    drawing = bytes_by_purpose(runs)
    assert drawing is not None
    assert drawing.about == "Wasted: 0.0%."


def test_pages_of_sweeps_grow_with_their_variants(tmp_path: Path) -> None:
    """Every picture drew every variant: 200 variants with 5 rounds were 16 MB."""
    sizes = {}
    for count in (40, 80):
        groups = {
            f"v{i}": [made_run(tmp_path / str(count), f"v{i}", 0, [0.1, 0.2])] for i in range(count)
        }
        drawing = curves.curves("c", "", "", groups, [measures.TIME], [measures.ACCURACY])
        assert drawing is not None
        assert drawing.svg.count("<svg") == curves.PICTURES
        assert drawing.svg.count('class="line other"') == count
        assert f"All {count} variants in grey" in drawing.about
        assert len({css for css, _ in drawing.legend}) == count  # the script hides by them
        sizes[count] = len(drawing.svg)
    assert sizes[80] < 1.5 * sizes[40]


def test_bars_of_means_fill_the_anatomy(tmp_path: Path) -> None:
    """The one long round set the scale of bars that are means of two."""
    made = made_run(tmp_path, "v", 0, [0.5] * 2 * COLUMNS)
    lasts_s = np.tile([1.0, 19.0], COLUMNS)
    ends_s = np.cumsum(lasts_s)
    made.round_rows["start_s"], made.round_rows["end_s"] = ends_s - lasts_s, ends_s
    for column, share in (("selected", 0), ("download_end", 0.2), ("compute_end", 0.7)):
        made.client_rows[f"{column}_s"] = ends_s - (1 - share) * lasts_s
    made.client_rows["upload_end_s"] = made.round_rows["last_arrival_s"] = ends_s
    drawing = anatomy({"v": [made]})
    assert drawing is not None
    assert drawing.about.endswith(" Each bar is the mean of 2 rounds.")
    assert re.findall(r'<text class="tick end"[^>]*>(\d+)<', drawing.svg)[-1] == "10"
