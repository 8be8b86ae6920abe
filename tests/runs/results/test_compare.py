"""Comparisons of runs: numbers over seeds, ratios, relative improvement, and how they are told."""

import csv
import io
import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from simfl import run
from simfl.errors import InputError
from simfl.report import forked
from simfl.report.cadence import seen_unequally
from simfl.report.comparison.cells import cell_text, figure_text
from simfl.report.comparison.forms import render
from simfl.report.comparison.sections import sections
from simfl.report.page.answer.headline import headline
from simfl.report.width import PIPED
from simfl.runs.forks.fork import fork
from simfl.runs.options import Options
from simfl.runs.results.compare import Cell, Column, Comparison, compare
from simfl.runs.results.find import runs_of_study
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.metric import Metric
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import Figure, Ratio
from simfl.runs.run import resume
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.tiny import TINY


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """FedACS's own table (algorithms.md, G.3) as runs: rounds to 65%, terminal accuracy."""
    for name, round_, accuracy in (("IID", 85, 0.74), ("base", 270, 0.697), ("ours", 130, 0.725)):
        made_run(tmp_path, name, 0, reaches(round_, 400, accuracy), targets=(0.65,))
    return compare(_runs(tmp_path), baseline="base", ideal="IID")


def _runs(top: Path):
    from simfl.runs.results.find import find_runs

    return find_runs([top])


def cells(comparison: Comparison, variant: str) -> dict[str, Cell]:
    return {column.key: comparison.cell(variant, column) for column in comparison.columns}


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


def test_ratios_are_told_as_ratios(three: Comparison) -> None:
    """They were told in seconds."""
    for form in ("table", "markdown"):
        text = " ".join(render(three, form).split())
        assert "2.08×" in text
        assert "one seed, no interval" in text
        assert " 2.1 s" not in text
        assert "deadline" not in text  # there was none


def test_differences_are_told_as_such(three: Comparison) -> None:
    """They stood under "less base", and only ratios were explained."""
    text = " ".join(render(three.only(["accuracy", "accuracy_difference"]), "table").split())
    assert "difference from base" in text
    assert "Differences are seed by seed (mean); above 0: more than base." in text
    assert "Ratios" not in text


def test_an_ideal_that_is_no_better_than_the_baseline(tmp_path: Path) -> None:
    for name, accuracy in (("base", 0.5), ("other", 0.5), ("worse", 0.4)):
        made_run(tmp_path, name, 0, [accuracy])
    for name, ideal in (("base", "other"), ("other", "other"), ("base", "worse")):
        comparison = compare(_runs(tmp_path), baseline="base", ideal=ideal)
        figure = cells(comparison, name)["relative_improvement"]
        assert isinstance(figure, Figure)
        assert math.isnan(figure.mean)


def test_what_a_relative_improvement_is_of_is_told(tmp_path: Path) -> None:
    """Beside it stood another accuracy, of which it was not."""
    for name, last in (("base", 0.5), ("ours", 0.7), ("IID", 0.6)):
        for seed in (0, 1):
            made_run(tmp_path, name, seed, [0.1, 0.2 + 0.3 * seed, last])
    comparison = compare(_runs(tmp_path), baseline="base", ideal="IID")
    assert "terminal_accuracy" in [column.key for column in comparison.columns]
    text = " ".join(render(comparison, "table").split())
    assert "of accuracy, last 50 rounds; 0% is base's, 100% IID's" in text
    assert "not distinguishable in it" not in text
    for seed in (2, 3):
        made_run(tmp_path, "IID", seed - 2 + 10, [0.1])
    made_run(tmp_path, "base", 10, [0.9])
    noisy = compare(_runs(tmp_path), baseline="base", ideal="IID")
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
    assert "auc" in cells(compare(_runs(tmp_path)), "default")


def test_targets_seen_only_as_a_run_ended_are_told_of(tmp_path: Path) -> None:
    """Beside runs that went on, and were not looked at then."""
    every = {"every": 10, "targets": [0.5]}
    accuracies = [math.nan] * 4 + [0.6]
    made_run(tmp_path, "short", 0, accuracies, evaluation=every)
    assert not seen_unequally(by_variant(_runs(tmp_path)))
    made_run(tmp_path, "as short", 0, accuracies, evaluation=every)
    assert not seen_unequally(by_variant(_runs(tmp_path)))
    made_run(tmp_path, "long", 0, [math.nan] * 9 + [0.6], evaluation=every)
    [line] = seen_unequally(by_variant(_runs(tmp_path)))
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
        compare(_runs(tmp_path)).only(["time_s_to_40%"])


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
    assert empty.column("auc").dtype == float


def test_an_unknown_baseline_is_told_with_the_nearest_name(three: Comparison) -> None:
    runs = [run for members in three.groups.values() for run in members]
    with pytest.raises(InputError, match="did you mean 'base'"):
        compare(runs, baseline="bas")


@pytest.fixture
def noisy(tmp_path: Path) -> Comparison:
    """A variant that is slower by chance, one that really is, one that misses on some seeds."""
    rounds = {"a": (34, 42, 49), "chance": (59, 29, 44), "slow": (70, 83, 99), "some": (40, 0, 0)}
    for name, of in rounds.items():
        for seed, round_ in enumerate(of):
            made_run(tmp_path, name, seed, reaches(round_, 120))
    return compare(_runs(tmp_path), baseline="a")


def test_what_chance_explains_is_told(noisy: Comparison) -> None:
    chance, slow, some = (
        cells(noisy, name)["time_speedup_to_70%"] for name in ("chance", "slow", "some")
    )
    assert isinstance(chance, Ratio) and isinstance(slow, Ratio) and isinstance(some, Ratio)  # noqa: PT018
    assert not chance.distinguishable
    assert slow.distinguishable
    assert some.horizon == 1200.0
    lines = render(noisy, "markdown").splitlines()
    ratios = lines[lines.index("**to 70%, a ÷ each**") :]
    told = {line.split("|")[1].strip(): line for line in ratios if line.startswith("| ")}
    assert "not distinguishable" in told["chance"]
    assert "not distinguishable" not in told["slow"]
    assert "within 20 min" in told["some"]
    text = render(noisy, "table")
    assert "± is the sample standard deviation" in text
    assert "| median never, 2 of 3 never |" in "\n".join(lines)


@pytest.mark.parametrize(("columns", "most"), [("", PIPED), ("80", 80), ("160", 160)])
def test_a_table_fits_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for index in range(9):
        for seed in range(3):
            name = f"a-variant-with-a-name-{index}"
            made_run(tmp_path, name, seed, reaches(30 + index + seed, 60), targets=(0.3, 0.7))
    comparison = compare(_runs(tmp_path), baseline="a-variant-with-a-name-0")
    text = render(comparison, "table")
    assert most - 40 < max(map(len, text.splitlines())) <= most
    assert "…" not in text
    figures = [cell for part in sections(comparison)[:2] for row in part.rows for cell in row]
    assert [cell for cell in figures if cell not in text] == []


def test_long_names_are_folded_instead_of_every_number_having_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "rounds.policy.deadline-30s_selection-power_of_choice_" + 40 * "x"
    made_run(tmp_path, name, 0, reaches(30, 60), targets=())
    comparison = compare(_runs(tmp_path))
    text = render(comparison, "table")
    assert text.count("whole runs") == 2  # of eight columns
    assert max(map(len, text.splitlines())) <= 80
    words = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert "".join(words[words.index("rounds.policy.deadline-") :]).startswith(name)
    assert name in render(comparison, "markdown")


def test_heads_are_broken_before_any_cell_is(tmp_path: Path) -> None:
    """Nine columns whose heads need more than a hundred characters, but whose cells don't."""
    totals = {"energy_j": 1663.0, "idle_energy_j": 474.4, "download_bytes": 882_600}
    for name in ("random", "oort"):
        folder = made_run(tmp_path, name, 0, reaches(8, 8), round_s=8.875, targets=()).folder
        rounds = pd.read_csv(folder / "rounds.csv")
        last_s = rounds.start_s + 8.7
        rounds = rounds.assign(deadline_s=60.0, last_arrival_s=last_s, idle_energy_j=59.3)
        rounds.to_csv(folder / "rounds.csv", index=False)
        summary = json.loads((folder / "summary.json").read_text())
        summary["totals"] |= {**totals, "wasted_bytes": 116_200}
        (folder / "summary.json").write_text(json.dumps(summary))
    comparison = compare(_runs(tmp_path))
    text = render(comparison, "table")
    for row in (row for part in sections(comparison) for row in part.rows):
        assert [cell for cell in row if cell not in text] == []
    assert "Last arrival / deadline: time to the last arrival of a round by its deadline" in text


def test_programs_get_all_facts(noisy: Comparison) -> None:
    rows = {row["variant"]: row for row in json.loads(render(noisy, "json"))}
    lines = {row["variant"]: row for row in csv.DictReader(io.StringIO(render(noisy, "csv")))}
    for variant, row in rows.items():
        ratio = row["time_speedup_to_70%"]
        line = lines[variant]
        assert float(line["time_speedup_to_70%"]) == ratio["ratio"]
        for name in ("low", "high"):
            assert float(line[f"time_speedup_to_70%_{name}"]) == ratio[name]
    assert rows["slow"]["time_s_to_70%"]["mean"] == pytest.approx(840)
    assert rows["some"]["time_s_to_70%"]["mean"] is None
    assert rows["some"]["time_s_to_70%"]["missing"] == 2


def test_latex_is_booktabs_with_nothing_left_to_escape(tmp_path: Path) -> None:
    made_run(tmp_path, "50%_&{b}", 0, reaches(3, 5))
    text = render(compare(_runs(tmp_path)), "latex")
    assert r"\usepackage{booktabs}" in text
    assert r"50\%\_\&\{b\} &" in text
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    assert body.count("&") - body.count(r"\&") == text.splitlines()[2].count("r") - 1
    for name in ("tabular",):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 2


def test_the_same_seed_in_two_places_is_not_two_seeds(tmp_path: Path) -> None:
    """Two settings of a scenario, say, in two folders: nothing says that they are alike."""
    for out, round_ in (("five", 10), ("ten", 20)):
        made_run(tmp_path / out, "wait", 0, reaches(round_, 40, 0.7), targets=(0.65,))
    made_run(tmp_path / "five", "drop", 0, reaches(15, 40, 0.7), targets=(0.65,))
    groups = compare(_runs(tmp_path)).groups
    assert {name: len(runs) for name, runs in groups.items()} == {
        "drop": 1,
        f"wait in {tmp_path / 'five'}": 1,
        f"wait in {tmp_path / 'ten'}": 1,
    }


def test_folders_that_links_lead_to_are_looked_into_and_each_run_is_found_once(
    tmp_path: Path,
) -> None:
    """Runs that lie on another disk were left out without a word."""
    here, there = tmp_path / "here", tmp_path / "there"
    own = made_run(here / "study", "v", 0, reaches(1, 2)).folder
    other = made_run(there, "w", 0, reaches(1, 2)).folder
    (here / "a latest").symlink_to(own)
    (here / "linked").symlink_to(there)
    (there / "up").symlink_to(here)  # in a circle
    (here / "gone").symlink_to(tmp_path / "nowhere")
    assert [run.folder for run in _runs(here)] == [here / "linked" / "w" / "seed-0", own]
    assert [run.folder for run in _runs(there)] == [other, there / "up" / "study" / "v" / "seed-0"]
    (here / "study" / "out").symlink_to(tmp_path)  # up and out: it is not asked about
    assert [run.folder for run in _runs(here / "study")] == [own]
    (here / "study" / "again").symlink_to(own.parent)
    assert [run.folder for run in runs_of_study(here / "study")] == [own]


def test_seeds_of_different_experiments_are_not_one_variant(tmp_path: Path) -> None:
    for seed, clients in enumerate([5, 5, 10]):
        rounds = {"clients": clients, "stop": {"rounds": 4}}
        made_run(tmp_path, "wait", seed, reaches(2, 4, 0.7), rounds=rounds)
    timed = made_run(tmp_path, "wait", 3, [], rounds={"clients": 10, "stop": {"rounds": 4}})
    provenance = {"variant": "wait", "seed": 3, "time_only": True}
    (timed.folder / "provenance.json").write_text(json.dumps(provenance))
    groups = by_variant(_runs(tmp_path))
    assert {name: [run.seed for run in runs] for name, runs in groups.items()} == {
        "wait (trained, rounds.clients 5)": [0, 1],
        "wait (trained, rounds.clients 10)": [2],
        "wait (time only, rounds.clients 10)": [3],
    }


def test_scenarios_that_differ_in_much_or_were_forked_stay_apart(tmp_path: Path) -> None:
    for seed, (a, b, c) in enumerate([(1, 1, 1), (1, 1, 2), (2, 2, 1)]):
        made_run(tmp_path, "v", seed, [0.5], a=a, b=b, c=c)
    names = list(by_variant(_runs(tmp_path)))
    assert names == [
        "v (a 1, b 1, and 1 more)",
        "v (a 1, b 1, and 1 more) #2",
        "v (a 2, b 2, and 1 more)",
    ]
    for seed, at_s in enumerate([None, 4.0, 6.0]):
        made = made_run(tmp_path / "forked", "v", seed, [0.5])
        forks = [] if at_s is None else [{"at_s": at_s, "set": ["training.epochs=1"]}]
        provenance = {"variant": "v", "seed": seed, "forks": forks}
        (made.folder / "provenance.json").write_text(json.dumps(provenance))
    names = list(by_variant(_runs(tmp_path / "forked")))
    assert names == ["v (not forked)", "v (forked at 4 s)", "v (forked at 6 s)"]


def test_seeds_that_were_only_made_longer_are_one_variant(tmp_path: Path) -> None:
    """Each goes on from just before its own end: they were a variant each, `(forked at 9 s)`."""
    for seed, at_s in enumerate([9.0, 8.0]):
        made = made_run(tmp_path, "longer", seed, [0.5])
        forks = [{"variant": "v", "at_s": at_s, "set": ["rounds.stop.rounds=9"]}]
        provenance = {"variant": "longer", "seed": seed, "forks": forks}
        (made.folder / "provenance.json").write_text(json.dumps(provenance))
    runs = _runs(tmp_path)
    assert {name: len(seeds) for name, seeds in by_variant(runs).items()} == {"longer": 2}
    assert forked.told(runs) == ["Fork of v, gone on with: rounds.stop.rounds=9."]
    assert forked.instants_s(runs) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rounds": {"deadline": "none"}}, {"rounds": {"deadline": {"stragglers": "30%"}}}),
        ({"fleet": [{"count": 2}]}, {"fleet": [{"count": 2}, {"count": 3}]}),
        ({"levels": [1]}, {"levels": [1, 2]}),
        ({"levels": []}, {"levels": [1]}),
    ],
)
def test_something_else_in_a_place_is_another_experiment(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any]
) -> None:
    for seed, scenario in enumerate((one, other)):
        made_run(tmp_path, "v", seed, [0.5], **scenario)
    assert len(by_variant(_runs(tmp_path))) == 2


def test_a_scenario_that_is_older_than_an_option_is_no_other_one(tmp_path: Path) -> None:
    for seed, rounds in enumerate([{"clients": 2}, {"clients": 2, "newer": 1}]):
        made_run(tmp_path, "v", seed, [0.5], rounds=rounds)
    assert list(by_variant(_runs(tmp_path))) == ["v"]


def test_nothing_that_runs_name_is_imported_to_tell_them_apart(tmp_path: Path) -> None:
    for seed in (0, 1):
        selection = {"name": "stranger.py:Own"}
        made = made_run(tmp_path, "v", seed, [0.5], selection=selection, rounds={"clients": seed})
        (made.folder / "stranger.py").write_text("raise SystemExit('imported')")
    assert list(by_variant(_runs(tmp_path))) == ["v (rounds.clients 0)", "v (rounds.clients 1)"]


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([0.98990, 0.98998], "0.9899 ± 0.0001"),
        ([0.9, 1.0], "0.95 ± 0.0707"),
        ([12.0, 13.0], "12.5 ± 0.71"),
        ([1e-6, 2e-6], "1.5e-06 ± 7.07e-07"),
    ],
)
def test_a_deviation_is_no_more_exact_than_its_mean(numbers: list[float], told: str) -> None:
    column = Column(Metric("macro_f1", "number", lambda _: math.nan))
    assert cell_text(column, Figure.of(numbers, worst=math.nan)) == told


def test_a_metric_whose_direction_is_not_known_has_no_median_where_a_seed_lacks_it() -> None:
    figure = Figure.of([0.3, 0.4, math.nan], worst=math.nan)
    assert math.isnan(figure.median)
    assert figure_text(figure, "{:g}".format) == "1 of 3 none"


def test_a_run_that_has_not_ended_has_not_yet_got_there(tmp_path: Path) -> None:
    for seed in (0, 1):
        made_run(tmp_path, "a", seed, reaches(1, 3))
        made_run(tmp_path, "b", seed, [0.1, 0.2], finished=False)
    comparison = compare(_runs(tmp_path))
    [column] = [c for c in comparison.columns if c.key == "time_s_to_70%"]
    assert cell_text(column, comparison.cell("b", column)) == "not yet"
    assert " ".join(headline(comparison.groups)).endswith("Not yet there: b.")


def test_what_was_never_measured_is_not_said_to_be_never_reached(tmp_path: Path) -> None:
    made_run(tmp_path, "judged", 0, [0.1, 0.2], targets=(0.65,))
    made_run(tmp_path, "timed", 0, [], targets=(0.65,))
    comparison = compare(_runs(tmp_path))
    [column] = [c for c in comparison.columns if c.key == "time_s_to_65%"]
    texts = [cell_text(column, comparison.cell(name, column)) for name in ("judged", "timed")]
    assert texts == ["never", "–"]


def test_runs_of_time_alone_have_no_columns_of_accuracy(tmp_path: Path) -> None:
    scenario = Scenario.from_dict({**TINY, "evaluation": {"targets": ["50%"]}})
    run(scenario, tmp_path / "timed", Options(time_only=True))
    timed = compare(_runs(tmp_path / "timed"), baseline="default")
    assert not any("accuracy" in column.key or column.target for column in timed.columns)
    assert not compare(_runs(tmp_path / "timed"), ["30%"]).targets
    told = "Only time was simulated: nothing was trained, so there is no accuracy."
    assert render(timed, "table").endswith(told)
    run(scenario, tmp_path / "trained")
    both = compare(_runs(tmp_path))
    assert {"accuracy", "time_s_to_50%"} <= {column.key for column in both.columns}
    assert told not in render(both, "table")


def test_errors_are_compared_as_accuracies_are() -> None:
    rmse = Metric("rmse", "number", lambda run: math.nan)
    text = cell_text(Column(rmse, versus="a"), Figure.of([0.02, -0.01, 0.01]))
    assert text == "+0.006667 [-0.03128, +0.04461]"
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


def test_variants_stay_in_the_order_in_which_the_scenario_has_them(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(
        {**TINY, "seeds": [2, 10], "variants": {name: {} for name in ("zebra", "ant", "bee")}}
    )
    run(scenario, tmp_path, Options(time_only=True), variants=["ant", "zebra"])
    run(scenario, tmp_path, Options(time_only=True), variants=["bee"])
    found = [(one.variant, one.seed) for one in _runs(tmp_path)]
    assert found == [(name, seed) for name in ("zebra", "ant", "bee") for seed in (2, 10)]


def test_a_fork_follows_its_run_and_a_baseline_comes_first(tmp_path: Path) -> None:
    """A fork whose name sorts before its run's took the run's place, and its colour."""
    scenario = Scenario.from_dict({**TINY, "variants": {"sync": {}, "other": {}}})
    [sync, _] = run(scenario, tmp_path, Options(time_only=True))
    forked = resume(fork(sync.folder, 0.5, ["rounds.clients=3"], "b"))
    resume(fork(forked.folder, 1.0, ["rounds.clients=2"], "a"))
    runs = _runs(tmp_path)
    assert [one.variant for one in runs] == ["sync", "b", "a", "other"]
    assert list(compare(runs, baseline="other").groups) == ["other", "sync", "b", "a"]


def test_rounding_is_no_deviation() -> None:
    assert Figure.of([0.1 + 0.2, 0.3]).std == 0
    assert Figure.of([1e-30, 3e-30]).std > 0


def test_targets_are_told_once_each_lowest_first(tmp_path: Path) -> None:
    made_run(tmp_path, "a", 0, [0.1, 0.9])
    assert compare(_runs(tmp_path), ["70%", 0.4, "40%"]).targets == [0.4, 0.7]


def test_a_mean_of_the_last_rounds_is_explained(tmp_path: Path) -> None:
    made_run(tmp_path, "a", 0, [0.5] * 50)
    assert "last 50 rounds" not in render(compare(_runs(tmp_path)), "table")
    made_run(tmp_path, "b", 0, [0.1] * 10 + [0.5] * 50)
    text = render(compare(_runs(tmp_path)), "markdown")
    assert "| variant | accuracy | accuracy, last 50 rounds | rounds |" in text
    assert "Accuracy, last 50 rounds: the mean of their evaluations, or of all there are." in text
    made_run(tmp_path, "short", 0, [0.1, 0.5])  # as a synchronous run beside FedAsync's
    assert "last 50 rounds" not in render(compare(_runs(tmp_path)), "table")


def test_comparisons_say_of_how_many_seeds_they_are(tmp_path: Path) -> None:
    """Beside "10 seeds" stood the ratio of the five that the baseline has, too."""
    for seed in range(4):
        made_run(tmp_path, "b", seed, [0.1, 0.8])
    for seed in (0, 1):
        made_run(tmp_path, "a", seed, [0.8])
    words = " ".join(render(compare(_runs(tmp_path), baseline="a"), "table").split())
    assert "Compared are the seeds that both have: 2 with b." in words
    words = " ".join(render(compare(_runs(tmp_path)), "table").split())
    assert "seeds that both have" not in words


def test_the_legend_is_of_what_is_there(tmp_path: Path) -> None:
    for variant, seed in product("ab", (0, 1)):
        made_run(tmp_path, variant, seed, [], targets=())
    text = render(compare(_runs(tmp_path), baseline="a"), "table")
    assert "Ratios" not in text  # no target, no accuracy: nothing is compared
    made_run(tmp_path / "more", "c", 0, [0.5], targets=())
    made_run(tmp_path / "more", "c", 1, [], targets=())
    text = render(compare(_runs(tmp_path / "more")), "table")
    assert "median none, 1 of 2 none" in text
    assert "target" not in text


def test_a_variant_whose_energy_is_not_known_has_no_figure_of_it(tmp_path: Path) -> None:
    made_run(tmp_path, "known", 0, reaches(3, 5))
    made_run(tmp_path, "unknown", 0, reaches(3, 5), fleet=[{"count": 2}])
    comparison = compare(_runs(tmp_path), baseline="known")
    [whole] = [c for c in comparison.columns if c.key == "energy_j"]
    assert cell_text(whole, comparison.cell("known", whole)) == "10 J"
    assert cell_text(whole, comparison.cell("unknown", whole)) == "–"
    for key in ("energy_j_to_70%", "energy_speedup_to_70%"):
        [column] = [c for c in comparison.columns if c.key == key]
        assert comparison.cell("unknown", column) is None


def test_chosen_columns_are_in_their_order_and_none_is_left_out(tmp_path: Path) -> None:
    """What the first variant lacks came last in a CSV file, and what all lack nowhere."""
    bare, power = [{"count": 2}], [{"count": 2, "power": {"compute": "1 W"}}]
    for name, fleet in (("a", bare), ("b", power)):
        made_run(tmp_path, name, 0, reaches(3, 5), fleet=fleet)
    asked = ["energy_j_to_70%", "energy_speedup_to_70%", "rounds"]
    text = render(compare(_runs(tmp_path), baseline="a").only(asked), "csv")
    heads = text.partition("\n")[0].split(",")
    assert [head for head in heads if head in asked] == asked


def test_a_column_for_a_paper_has_one_unit(tmp_path: Path) -> None:
    """39 min 5 s beside 2.1 h can't be compared at a glance, nor aligned."""
    for name, round_s in (("fast", 3.0), ("middle", 150.0), ("slow", 900.0)):
        for seed, late in ((0, 0), (1, 1)):
            made_run(tmp_path, name, seed, reaches(6 + late, 10), round_s=round_s)
    comparison = compare(_runs(tmp_path))
    rows = {form: render(comparison, form).splitlines() for form in ("markdown", "latex")}
    assert (
        "| variant | seeds | time (min) | rounds | bytes (kB) | energy at work (J) |"
        in (rows["markdown"])
    )
    assert (
        "| slow | 2 | 97.500 ± 10.607 | 6.5 ± 0.7 | 13.0 ± 1.4 | 13.0 ± 1.4 |" in (rows["markdown"])
    )
    assert (
        r"fast & 2 & 0.325 $\pm$ 0.035 & 6.5 $\pm$ 0.7 & 13.0 $\pm$ 1.4 & 13.0 $\pm$ 1.4 \\"
        in (rows["latex"])
    )
    assert "1 h 38 min" in render(comparison, "table")
