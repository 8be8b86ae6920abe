"""Charts of clients."""

import re
from pathlib import Path

import pytest

from simfl import run
from simfl.report.charts.base import COLUMNS
from simfl.report.charts.client_times import client_times
from simfl.report.charts.participation import participation
from simfl.report.charts.rounds import outcomes
from simfl.report.charts.staleness import staleness
from simfl.runs.options import Options
from simfl.scenario import Scenario
from tests.made_runs import made_run
from tests.tiny import TINY


def test_a_large_fleet_is_drawn_by_the_steps_of_its_curve(tmp_path: Path) -> None:
    """Most of many devices are never heard: the last step says so, without a point for each."""
    large = {"name": "generated", "mean_samples": 20}
    scenario = Scenario.from_dict(
        {
            **TINY,
            "data": {"dataset": large, "partition": "natural"},
            "model": "logistic_regression",
        },
        overrides=["fleet.count=5000"],
    )
    (result,) = run(scenario, tmp_path, Options(time_only=True))
    drawing = participation({"tiny": [result]})
    assert drawing is not None
    path = re.search(r'<path class="line[^"]*" d="M([^"]*)"', drawing.svg)
    assert path is not None
    corners = [tuple(map(float, corner.split(","))) for corner in path[1].split("L")]
    steps = set(result.participations.tolist())
    assert len(corners) == 2 * len(steps) == len(set(corners))
    (first, top), (last, bottom) = corners[0], corners[-1]
    assert top < bottom  # SVG counts from above
    heard = int((result.participations > 0).sum())
    step = max(across for across, up in corners if up < bottom)
    assert abs((step - first) / (last - first) - heard / 5000) < 1e-3


def test_updates_that_arrived_for_nothing_did_not_count(tmp_path: Path) -> None:
    """Discarded ones were said never to have arrived; shares of 0.4% and 7.5% were 0% and 7%."""
    for rounds, discarded, told in ((2, 1, "50%"), (250, 1, "<1%"), (40, 3, "8%")):
        made = made_run(tmp_path / str(rounds), "v", 0, [0.1] * rounds)
        made.client_rows.loc[: discarded - 1, "outcome"] = "discarded"
        drawing = client_times({"v": [made]})
        assert drawing is not None
        assert drawing.legend == [("c0", f"updates ({told} did not count)")]


def test_where_no_update_counted_nobody_is_as_unequal_as_anybody(tmp_path: Path) -> None:
    """A run that diverged was said to have a Gini coefficient of 0.000: equality."""
    diverged, other = (made_run(tmp_path, name, 0, [0.1] * 3) for name in ("diverged", "other"))
    diverged.client_rows["outcome"] = "discarded"
    alone = participation({"diverged": [diverged]})
    both = participation({"diverged": [diverged], "other": [other]})
    assert alone is not None
    assert both is not None
    assert alone.about == "No update counted."
    assert both.about.endswith("Gini coefficient: diverged none counted; other 0.167.")


@pytest.mark.parametrize("longest", [1.0, 1.7, 3.9, 30.0])
def test_no_bar_is_on_both_sides_of_the_deadline(tmp_path: Path, longest: float) -> None:
    """Updates that were there just in time were drawn as if some had been late."""
    made = made_run(tmp_path, "v", 0, [0.1] * 4)
    made.round_rows["deadline_s"] = 10.0
    taken_s = [4.0, 9.99, 10.0, 10 * longest]
    made.client_rows["upload_end_s"] = made.client_rows["selected_s"] + taken_s
    drawing = client_times({"v": [made]})
    assert drawing is not None
    bins = [(float(low), float(high)) for _, low, high, _ in drawing.table[1:]]
    assert [high for _, high in bins if high <= 10.001][-1] == pytest.approx(10)
    late = sum(float(share) for _, low, _, share in drawing.table[1:] if float(low) > 9.999)
    assert late == (0.25 if longest > 1 else 0)


def test_times_are_told_in_deadlines_only_where_everybody_has_one(tmp_path: Path) -> None:
    """Those without took the others', and a period was a deadline."""
    policy = {"name": "semi_synchronous", "period": "20 s"}
    semi = made_run(tmp_path, "semi", 0, [0.1] * 4, rounds={"policy": policy})
    semi.round_rows["deadline_s"] = 20.0
    sync = made_run(tmp_path, "sync", 0, [0.1] * 4)
    for groups, label in (
        ({"semi": [semi]}, "time / period"),
        ({"sync": [sync], "semi": [semi]}, "time (s)"),
    ):
        drawing = client_times(groups)
        assert drawing is not None
        assert f">{label}</text>" in drawing.svg
        assert ">period</text>" in drawing.svg  # whose it is had no room there
        assert drawing.about.endswith("the period of 20.0 s, with semi.") == (len(groups) > 1)
        assert ("0.50 periods of 20.0 s" in drawing.about) == (len(groups) == 1)
    timed = made_run(tmp_path, "timed", 0, [0.1] * 4)
    timed.round_rows["deadline_s"] = 20.0  # as long, but no period
    drawing = client_times({"timed": [timed], "semi": [semi]})
    assert drawing is not None
    assert ">time (s)</text>" in drawing.svg
    assert "upright" not in drawing.svg


@pytest.mark.parametrize("whose", ["all", "another"])
def test_times_far_below_the_deadline_have_an_axis_of_their_own(tmp_path: Path, whose: str) -> None:
    """All of them were one bar at the left end of an axis to the deadline."""
    made = made_run(tmp_path, "v", 0, [0.1] * 4)
    made.client_rows["upload_end_s"] = made.client_rows["selected_s"] + [2.0, 4.0, 6.0, 8.0]
    timed = made if whose == "all" else made_run(tmp_path, "timed", 0, [0.1])
    timed.round_rows["deadline_s"] = 3600.0
    drawing = client_times({"v": [made], timed.variant: [timed]})
    assert drawing is not None
    assert len([row for row in drawing.table[1:] if row[0] == "v"]) == 4
    assert ">time (s)</text>" in drawing.svg
    assert ">deadline</text>" not in drawing.svg
    told = ", less than 0.01 deadlines of 1 h." if whose == "all" else ", with timed."
    assert drawing.about.endswith(told)
    assert ("Beyond what is drawn: the deadline of 1 h" in drawing.about) == (whose == "another")


def test_a_staleness_stands_in_the_middle_of_its_column(tmp_path: Path) -> None:
    """The column of 1 stood between the ticks of 1 and 2."""
    made = made_run(tmp_path, "v", 0, [0.1] * 4)
    made.client_rows["staleness"] = [0, 1, 1, 2]
    drawing = staleness({"v": [made]})
    assert drawing is not None
    ticks = dict(
        re.findall(r'<text class="tick mid" x="([0-9.]+)" y="[0-9.]+">(\d)</text>', drawing.svg)
    )
    places = {text: float(x) for x, text in ticks.items()}
    path = re.search(r'<path class="line area c0" d="M([^"]*)"', drawing.svg)
    assert path is not None
    corners = [tuple(map(float, corner.split(","))) for corner in path[1].split("L")]
    top = min(up for _, up in corners)  # SVG counts from above
    left, right = (across for across, up in corners if up == top)
    assert places["1"] == pytest.approx((left + right) / 2, abs=0.1)


def test_of_many_variants_histograms_are_not_filled(tmp_path: Path) -> None:
    """Twenty-seven fillings on each other hid all but the last."""
    for count, filled in ((8, 8), (9, 0)):
        groups = {
            f"v{n}": [made_run(tmp_path / str(count), f"v{n}", 0, [0.1, 0.2])] for n in range(count)
        }
        drawing = client_times(groups)
        assert drawing is not None
        assert drawing.svg.count('class="line area ') == filled
        assert drawing.svg.count('<path class="line') == count


def test_legends_name_what_is_drawn(tmp_path: Path) -> None:
    """`came to nothing` was a colour that nothing had."""
    made = made_run(tmp_path, "v", 0, [0.1] * 4)
    drawing = participation({"v": [made]})
    assert drawing is not None
    assert drawing.legend == [("o-arrived", "counted")]


def test_what_became_of_those_selected_says_of_whom(tmp_path: Path) -> None:
    """Of several runs its bars had no caption."""
    groups = {name: [made_run(tmp_path, name, 0, [0.1] * 4)] for name in "ab"}
    drawing = outcomes(groups)
    assert drawing is not None
    assert drawing.about == "Of all participations; only what arrived counted."


def test_clients_are_counted_in_whole_numbers(tmp_path: Path) -> None:
    """One client a round stood at 1.0, above 0.8 and 0.6 of a client."""
    drawing = outcomes({"v": [made_run(tmp_path, "v", 0, [0.1] * 4)]})
    assert drawing is not None
    assert re.findall(r'<text class="tick end"[^>]*>([^<]*)', drawing.svg) == ["0", "1"]


def test_the_last_column_is_a_mean_of_the_rounds_that_it_has(tmp_path: Path) -> None:
    """Of 241 rounds it has one, and was divided by two."""
    drawing = outcomes({"v": [made_run(tmp_path, "v", 0, [0.1] * (COLUMNS + 1))]})
    assert drawing is not None
    assert drawing.table is not None
    assert {row[3] for row in drawing.table[1:]} == {1.0}
    assert drawing.table[1][:2] == (1, 2)
    assert drawing.table[-1][:2] == (COLUMNS + 1, COLUMNS + 1)
    tips = re.findall(r"<title>(rounds? [^:]*)", drawing.svg)
    assert (tips[0], tips[-1]) == ("rounds 1 to 2, in the mean", f"round {COLUMNS + 1}")
