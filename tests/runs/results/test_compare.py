"""Comparisons of runs: numbers over seeds, ratios, relative improvement."""

import math
from pathlib import Path

import pytest

from simfl import run
from simfl.errors import InputError
from simfl.report.caveats.cadence import seen_unequally
from simfl.report.comparison.cells import cell_text, figure_text
from simfl.report.comparison.forms import render
from simfl.report.comparison.sections import sections
from simfl.report.page.answer.headline import headline
from simfl.runs.options import Options
from simfl.runs.results.column import Column
from simfl.runs.results.compare import compare
from simfl.runs.results.comparison import Cell, Comparison
from simfl.runs.results.find import find_runs
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.metric import BYTES, ENERGY, ROUNDS, TIME, Metric, times
from simfl.runs.results.paired import Ratio
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import Figure
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.runs.doctored import in_summary, in_table
from tests.tiny import TINY


def cells(comparison: Comparison, variant: str) -> dict[str, Cell]:
    return {column.key: comparison.cell(variant, column) for column in comparison.columns}


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """FedACS's own table (algorithms.md, G.3) as runs: rounds to 65%, terminal accuracy."""
    for name, round_, accuracy in (("IID", 85, 0.74), ("base", 270, 0.697), ("ours", 130, 0.725)):
        made_run(tmp_path, name, 0, reaches(round_, 400, accuracy), targets=(0.65,))
    return compare(find_runs([tmp_path]), baseline="base", ideal="IID")


def test_a_target_has_all_its_digits(tmp_path: Path) -> None:
    two_thirds = 0.66666661  # which the summary rounds up
    made = made_run(tmp_path, "a", 0, [two_thirds], targets=(two_thirds,))
    assert made.targets == [two_thirds]
    assert made.reached(made.targets[0]) is not None


def test_runs_that_come_one_by_one_are_compared(three: Comparison) -> None:
    """A generator was used up by the first look: the table was empty."""
    runs = [run for own in three.groups.values() for run in own]
    table = compare((run for run in runs), baseline=three.baseline)  # type: ignore[arg-type]
    assert table.groups == three.groups
    assert table.columns == compare(runs, baseline=three.baseline).columns


def test_fedacs_table_from_its_own_rounded_entries(three: Comparison) -> None:
    ours, base, ideal = (cells(three, name) for name in ("ours", "base", "IID"))
    for key in ("rounds_speedup_to_65%", "time_speedup_to_65%"):
        speedup = ours[key]
        assert isinstance(speedup, Ratio)
        assert speedup.value == pytest.approx(2.08, abs=0.005)
    improvements = [c["relative_improvement"] for c in (ours, base, ideal)]
    assert all(isinstance(figure, Figure) for figure in improvements)
    means = [figure.mean for figure in improvements if isinstance(figure, Figure)]
    assert means == [pytest.approx(0.651, abs=5e-4), 0, 1]
    assert "65.12%" in render(three, "markdown")


def test_an_ideal_that_is_no_better_than_the_baseline(tmp_path: Path) -> None:
    for name, accuracy in (("base", 0.5), ("other", 0.5), ("worse", 0.4)):
        made_run(tmp_path, name, 0, [accuracy])
    for name, ideal in (("base", "other"), ("other", "other"), ("base", "worse")):
        comparison = compare(find_runs([tmp_path]), baseline="base", ideal=ideal)
        figure = cells(comparison, name)["relative_improvement"]
        assert isinstance(figure, Figure)
        assert math.isnan(figure.mean)


def test_what_a_relative_improvement_is_of_is_told(tmp_path: Path) -> None:
    """Beside it stood another accuracy, of which it was not."""
    for name, last in (("base", 0.5), ("ours", 0.7), ("IID", 0.6)):
        for seed in (0, 1, 2):
            made_run(tmp_path, name, seed, [0.1, 0.2 + 0.3 * seed, last])
    comparison = compare(find_runs([tmp_path]), baseline="base", ideal="IID")
    assert "terminal_accuracy" in [column.key for column in comparison.columns]
    text = " ".join(render(comparison, "table").split())
    assert "of accuracy, last 50 rounds; 0% is base's, 100% IID's" in text
    assert "not distinguishable in it" not in text
    for seed in (2, 3):
        made_run(tmp_path, "IID", seed - 2 + 10, [0.1])
    made_run(tmp_path, "base", 10, [0.9])
    noisy = compare(find_runs([tmp_path]), baseline="base", ideal="IID")
    assert "not distinguishable in it" in " ".join(render(noisy, "table").split())


def test_what_a_metric_can_be_is_known(tmp_path: Path) -> None:
    """The interval of an AUC reached from -2.87 to 3.73."""
    scenario = {**TINY, "evaluation": {"metrics": ["auc"]}, "seeds": [0, 1]}
    runs = run(Scenario.from_dict(scenario), tmp_path, Options(jobs=1))
    comparison = compare(runs)
    figure = cells(comparison, "default")["auc"]
    assert isinstance(figure, Figure)
    assert figure.interval is not None
    assert 0 <= figure.interval.low < figure.interval.high <= 1


def test_an_option_of_another_version_is_no_reason_to_show_nothing(tmp_path: Path) -> None:
    scenario = {**TINY, "evaluation": {"metrics": ["auc"]}}
    [made] = run(Scenario.from_dict(scenario), tmp_path, Options(jobs=1))
    path = made.folder / "scenario.yaml"
    path.write_text(path.read_text().replace("name: auc", "name: auc, zzz: 3"))
    assert "zzz" in path.read_text()
    assert "auc" in cells(compare(find_runs([tmp_path])), "default")


def test_targets_seen_only_as_a_run_ended_are_told_of(tmp_path: Path) -> None:
    """Beside runs that went on, and were not looked at then."""
    every = {"every": 10, "targets": [0.5]}
    accuracies = [math.nan] * 4 + [0.6]
    made_run(tmp_path, "short", 0, accuracies, evaluation=every)
    assert not seen_unequally(by_variant(find_runs([tmp_path])))
    made_run(tmp_path, "as short", 0, accuracies, evaluation=every)
    assert not seen_unequally(by_variant(find_runs([tmp_path])))
    made_run(tmp_path, "long", 0, [math.nan] * 9 + [0.6], evaluation=every)
    [line] = seen_unequally(by_variant(find_runs([tmp_path])))
    assert line.startswith("with as short and short a target counts from a model that was judged")


def test_what_a_reader_does_to_a_frame_is_the_readers(tmp_path: Path) -> None:
    """A column of a notebook's became a metric, and a frame that was sorted another crossing."""
    made = made_run(tmp_path, "v", 0, reaches(3, 5))
    before, columns = made.reached(0.7), [c.key for c in compare([made]).columns]
    made.rounds["minutes"] = made.rounds["end_s"] / 60
    made.rounds["accuracy"] = 0.0
    made.clients["outcome"] = "late"
    assert "minutes" in made.rounds
    assert made.reached(0.7) == before
    assert [c.key for c in compare([made]).columns] == columns
    assert made.used.all()


def test_a_column_of_another_target_is_told_how_to_be_had(tmp_path: Path) -> None:
    made_run(tmp_path, "v", 0, [0.5])
    with pytest.raises(
        InputError, match=r"'time_s_to_40%' is of .* not asked about; targets=\['40%'\]"
    ):
        compare(find_runs([tmp_path])).only(["time_s_to_40%"])


def test_a_table_that_lost_rows_is_damaged(tmp_path: Path) -> None:
    """It was told of as of a run with fewer rounds."""
    for file in ("rounds.csv", "clients.csv"):
        [made] = run(Scenario.from_dict(TINY), tmp_path / file, Options(time_only=True))
        path = made.folder / file
        for lines in (1, 3, 0):
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
            with pytest.raises(InputError, match=rf"{file} is damaged: it has \d+ rows, and by"):
                RunResult(made.folder).read()


def test_runs_without_a_round_have_columns_of_numbers(tmp_path: Path) -> None:
    """A metric of theirs made a column of objects, and the page an internal error."""
    scenario = {**TINY, "evaluation": {"metrics": ["auc"], "every": 1}}
    scenario["rounds"] = {**TINY["rounds"], "stop": {"time": "1 us"}}
    [empty] = run(Scenario.from_dict(scenario), tmp_path, Options(jobs=1))
    assert empty.n_rounds == 0
    assert empty.of_rounds("auc").dtype == float


def test_an_unknown_baseline_is_told_with_the_nearest_name(three: Comparison) -> None:
    runs = [run for members in three.groups.values() for run in members]
    with pytest.raises(InputError, match="did you mean 'base'"):
        compare(runs, baseline="bas")


def test_a_metric_whose_direction_is_not_known_has_no_median_where_a_seed_lacks_it() -> None:
    figure = Figure.of([0.3, 0.4, math.nan], worst=math.nan)
    assert math.isnan(figure.median)
    assert figure_text(figure, "{:g}".format) == "1 of 3 none"


def test_a_run_that_has_not_ended_has_not_yet_got_there(tmp_path: Path) -> None:
    for seed in (0, 1):
        made_run(tmp_path, "a", seed, reaches(1, 3))
        made_run(tmp_path, "b", seed, [0.1, 0.2], finished=False)
    comparison = compare(find_runs([tmp_path]))
    [column] = [c for c in comparison.columns if c.key == "time_s_to_70%"]
    assert cell_text(column, comparison.cell("b", column)) == "not yet"
    assert " ".join(headline(comparison.groups)).endswith("Not yet there: b.")


def test_what_a_run_that_never_got_there_has_cost_is_counted_as_to_a_target(tmp_path: Path) -> None:
    """With what is in flight as its last round ends, without what was broken off after it."""
    accuracies = reaches(0, 3)
    for variant, finished in (("ended", True), ("goes-on", False)):
        made_run(tmp_path, variant, 0, accuracies, finished=finished)
        folder = tmp_path / variant / "seed-0"
        in_table(folder, "rounds.csv", "in_flight_bytes", lambda _: 700, 2)
        in_table(folder, "rounds.csv", "in_flight_energy_j", lambda _: 0.5, 2)
    in_summary(tmp_path / "ended" / "seed-0", lambda facts: facts["totals"].update(energy_j=99.0))
    for runs in by_variant(find_runs([tmp_path])).values():
        for metric, cost in ((BYTES, 6700), (ENERGY, 6.5), (TIME, 30), (ROUNDS, 3)):
            counted = times(runs, metric, 0.7)
            assert (counted.reached, counted.followed) == ({0: None}, {0: cost})


def test_what_was_never_measured_is_not_said_to_be_never_reached(tmp_path: Path) -> None:
    made_run(tmp_path, "judged", 0, [0.1, 0.2], targets=(0.65,))
    made_run(tmp_path, "timed", 0, [], targets=(0.65,))
    comparison = compare(find_runs([tmp_path]))
    [column] = [c for c in comparison.columns if c.key == "time_s_to_65%"]
    texts = [cell_text(column, comparison.cell(name, column)) for name in ("judged", "timed")]
    assert texts == ["never", "–"]


def test_runs_of_time_alone_have_no_columns_of_accuracy(tmp_path: Path) -> None:
    scenario = Scenario.from_dict({**TINY, "evaluation": {"targets": ["50%"]}})
    run(scenario, tmp_path / "timed", Options(time_only=True))
    timed = compare(find_runs([tmp_path / "timed"]), baseline="default")
    assert not any("accuracy" in column.key or column.target for column in timed.columns)
    assert not compare(find_runs([tmp_path / "timed"]), ["30%"]).targets
    told = "Only time was simulated: nothing was trained, so there is no accuracy."
    assert render(timed, "table").endswith(told)
    with pytest.raises(InputError, match="'time_s_to_50%' is of a target, and only time was"):
        timed.only(["time_s_to_50%"])
    run(scenario, tmp_path / "trained")
    both = compare(find_runs([tmp_path]))
    assert {"accuracy", "time_s_to_50%"} <= {column.key for column in both.columns}
    assert told not in render(both, "table")


def test_errors_are_compared_as_accuracies_are() -> None:
    rmse = Metric("rmse", "number", lambda run: math.nan)
    text = cell_text(Column(rmse, versus="a"), Figure.of([0.02, -0.01, 0.01]))
    assert text == "+0.007 [-0.031, +0.045]"
    assert cell_text(Column(rmse, versus="a"), Figure.of([0.02])) == "+0.02 (one seed, no interval)"


def test_without_a_target_rounds_are_compared(tmp_path: Path) -> None:
    """A baseline was asked for, and nothing was compared with it."""
    variants = {"short": {"rounds.stop.rounds": 2}, "long": {"training.epochs": 5}}
    scenario = Scenario.from_dict({**TINY, "variants": variants, "seeds": [0, 1, 2]})
    runs = run(scenario, tmp_path, Options(time_only=True))
    compared = compare(runs, baseline="long")
    speedup = cells(compared, "short")["time_per_round_speedup"]
    assert isinstance(speedup, Ratio)
    assert speedup.interval is not None
    short, long = by_variant(runs)["short"], by_variant(runs)["long"]
    ratios = [(b.end_s / b.n_rounds) / (a.end_s / 2) for a, b in zip(short, long, strict=True)]
    assert speedup.value == pytest.approx(math.prod(ratios) ** (1 / 3))
    assert [section.title for section in sections(compared)] == [
        "whole runs",
        "per round, long ÷ each",
    ]
    of_bytes = cells(compared, "short")["bytes_per_round_speedup"]
    assert isinstance(of_bytes, Ratio)
    assert of_bytes.value == pytest.approx(1.0)


def test_a_variant_whose_energy_is_not_known_has_no_figure_of_it(tmp_path: Path) -> None:
    made_run(tmp_path, "known", 0, reaches(3, 5))
    made_run(tmp_path, "unknown", 0, reaches(3, 5), fleet=[{"count": 2}])
    comparison = compare(find_runs([tmp_path]), baseline="known")
    [whole] = [c for c in comparison.columns if c.key == "energy_j"]
    assert cell_text(whole, comparison.cell("known", whole)) == "10 J"
    assert cell_text(whole, comparison.cell("unknown", whole)) == "–"
    for key in ("energy_j_to_70%", "energy_speedup_to_70%"):
        [column] = comparison.only([key]).columns
        assert comparison.cell("unknown", column) is None


@pytest.mark.parametrize("baseline", ["a", "b"])
def test_what_one_of_two_lacks_is_not_compared_unless_asked_for(
    tmp_path: Path, baseline: str
) -> None:
    """Beside a baseline without privacy there were two columns of dashes for each target."""
    for name, fleet in (("a", [{"count": 2}]), ("b", [{"count": 2, "power": {"compute": "1 W"}}])):
        made_run(tmp_path, name, 0, reaches(3, 5), fleet=fleet)
    keys = {c.key for c in compare(find_runs([tmp_path]), baseline=baseline).columns}
    assert {"energy_j_to_70%", "bytes_speedup_to_70%"} < keys
    assert "energy_speedup_to_70%" not in keys
    made_run(tmp_path, "c", 0, reaches(2, 5))
    made_run(tmp_path, "d", 0, reaches(2, 5), fleet=[{"count": 2, "power": {"compute": "1 W"}}])
    keys = {c.key for c in compare(find_runs([tmp_path]), baseline=baseline).columns}
    assert ("energy_speedup_to_70%" in keys) == (baseline == "b")


def test_ratios_are_told_as_ratios(three: Comparison) -> None:
    """They were told in seconds."""
    for form in ("table", "markdown"):
        text = " ".join(render(three, form).split())
        assert "2.08×" in text
        assert "one seed, no interval" in text
        assert "interval holds" not in text  # there is none to be read
        assert " 2.1 s" not in text
        assert "deadline" not in text  # there was none


def test_differences_are_told_as_such(three: Comparison) -> None:
    """They stood under "less base", and only ratios were explained."""
    text = " ".join(render(three.only(["accuracy", "accuracy_difference"]), "table").split())
    assert "difference from base" in text
    assert "Differences are seed by seed (mean); above 0: more than base." in text
    assert "Ratios" not in text


def test_means_of_rounds_and_the_best_of_them_are_compared_with_a_baseline(tmp_path: Path) -> None:
    """Only the last evaluation was, which varies more from seed to seed."""
    for seed, last in enumerate((0.5, 0.7, 0.6)):
        made_run(tmp_path, "base", seed, [*[0.5] * 59, last])
        made_run(tmp_path, "ours", seed, [*[0.6] * 59, 0.6])
    comparison = compare(find_runs([tmp_path]), baseline="base")
    assert "terminal_accuracy_difference" in [column.key for column in comparison.columns]
    asked = comparison.only(["terminal_accuracy_difference", "best_accuracy_difference"])
    by_round, best = cells(asked, "ours").values()
    assert isinstance(by_round, Figure)
    assert isinstance(best, Figure)
    assert by_round.mean == pytest.approx(0.1 * 49 / 50)
    assert best.mean == pytest.approx((0.1 - 0.1 + 0) / 3)
    text = " ".join(render(asked, "table").split())
    assert "accuracy, last 50 rounds best accuracy" in text
    assert "the mean of their evaluations" in text


def test_how_stale_updates_are_and_what_else_is_told_if_asked_for(tmp_path: Path) -> None:
    """How stale updates are stood in clients.csv alone, a backhaul's bytes in summary.json."""
    policies = [{"name": "fedbuff", "buffer": 2}, {"name": "hierarchical", "edges": 2}]
    for name, policy in zip(("buffered", "edges"), policies, strict=True):
        aggregation = "fedbuff" if name == "buffered" else "fedavg"
        scenario = {**TINY, "name": name, "aggregation": aggregation}
        scenario["rounds"] = {**TINY["rounds"], "policy": policy}
        run(Scenario.from_dict(scenario), tmp_path / name, Options(jobs=1))
    runs = find_runs([tmp_path])
    asked = compare(runs).only(["never_heard", "staleness", "backhaul_bytes"])
    told = [cell for variant in asked.groups for cell in cells(asked, variant).values()]
    means = [cell.mean for cell in told if isinstance(cell, Figure)]
    expected = []
    for made in runs:
        heard = made.clients[made.clients["outcome"] == "arrived"]
        missed = 1 - heard["client"].nunique() / 8
        expected += [missed, heard["staleness"].mean(), made.backhaul_bytes]
    assert means == pytest.approx(expected)
    assert means[1] > 0 < means[5]


def test_that_of_many_intervals_some_tell_a_difference_by_chance_is_told(tmp_path: Path) -> None:
    """With 12 points of a sweep two of 43 intervals would, and nothing said so."""
    for name in map(str, range(7)):
        for seed in range(2):
            made_run(tmp_path, name, seed, reaches(3 + seed + int(name), 12, 0.7 + 0.1 * seed))
    comparison = compare(find_runs([tmp_path]), baseline="0")
    text = " ".join(render(comparison, "table").split())
    assert "of 30 of them about 2 would tell a difference if there were none" in text
    few = comparison.only(["accuracy_difference"])
    assert "of one comparison alone" not in " ".join(render(few, "table").split())
    assert "The first of 7 is so in part by luck." in headline(comparison.groups)
