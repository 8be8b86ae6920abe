"""What is said of variants: who was first, who had the shortest rounds, and what may be chance."""

import math
import re
from pathlib import Path

import pytest

from simfl import run
from simfl.report import formats
from simfl.report.comparison.forms import as_table
from simfl.report.page.answer.headline import headline, paragraphs
from simfl.report.page.answer.pace import pace
from simfl.report.page.answer.race import race
from simfl.report.page.answer.standings import Standing
from simfl.report.page.results import results
from simfl.runs.options import Options
from simfl.runs.results.compare import compare
from simfl.runs.results.find import find_runs
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.paired import Times, paired_ratio
from simfl.runs.results.statistics import Figure
from simfl.scenario import Scenario
from tests.made_runs import made_run, reaches
from tests.tiny import TINY


def standing(name: str, *times: float | None, first: tuple[float, ...] = ()) -> Standing:
    def by_seed(costs: tuple[float | None, ...]) -> Times:
        return Times(dict(enumerate(costs)), dict.fromkeys(range(len(costs)), 600.0))

    there = [None if time is None else 1.0 for time in times]
    ratio = paired_ratio(by_seed(times), by_seed(first)) if first else None
    rounds, sizes = (Figure.of([one and one * n for one in there]) for n in (3, 1000))
    shared = min(len(times), len(first))
    return Standing(name, Figure.of(times), rounds, sizes, ratio, shared)


@pytest.mark.parametrize(
    ("ranked", "text"),
    [
        ([standing("a", 60)], "Reached 70% after 1 min of virtual time, 3 rounds and 1 kB moved."),
        (
            [standing("a", 60), standing("b", 120, first=(60,)), standing("c", None, first=(60,))],
            "a reached 70% first: after 1 min of virtual time, 3 rounds and 1 kB moved. "
            "b took 2 min (2.00× as long). With one seed there is no interval: chance may have "
            "made the difference. c never did.",
        ),
        (
            [
                standing("a", 50, 60, 70),
                standing("b", 100, 120, 140, first=(50, 60, 70)),
                standing("c", None, 10, 40, first=(50, 60, 70)),
            ],
            "a reached 70% with 3 of 3 seeds; c, not distinguishable from it in time, with fewer. "
            "a took 1 min of virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. "
            "b took 2 min (2.00× as long [2.00×, 2.00×]) and c took 40.0 s with 2 of 3 seeds "
            "(1.05× as long [0.00441×, 248×], never counting as 10 min). "
            "Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [standing("a", 50, 60, 70), standing("c", None, None, 40, first=(50, 60, 70))],
            "a reached 70% with 3 of 3 seeds; c, not distinguishable from it in time, with fewer. "
            "a took 1 min of virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. "
            "c got there with 1 of 3 seeds (4.09× as long [0.0589×, 285×], never counting as "
            "10 min). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [
                standing("a", 50, 60, 70),
                standing("b", 70, 50, 60, first=(50, 60, 70)),
                standing("c", None, None, 40, first=(50, 60, 70)),
            ],
            "a and b are not distinguishable in the time they took to reach 70%. a took 1 min of "
            "virtual time, 3 rounds and 1 kB moved, in the mean of 3 seeds. b took 1 min (1.00× as "
            "long [0.48×, 2.06×]) and c got there with 1 of 3 seeds (4.09× as long [0.0589×, "
            "285×], never counting as 10 min). Ratios are geometric means, seed by seed, with 95% "
            "intervals.",
        ),
        (
            [
                standing("a", 50, 60),
                standing("b", 100, 120, first=(50, 60)),
                standing("c", 120, first=(50, 60)),
            ],
            "a reached 70% first: after 55.0 s of virtual time, 3 rounds and 1 kB moved, in the "
            "mean of 2 seeds. b took 1 min 50 s (2.00× as long [2.00×, 2.00×]) and c took 2 "
            "min (2.40× as long, with the 1 seed that both have). Ratios are geometric means, "
            "seed by seed, with 95% intervals. a and c have one seed in common: chance may be why "
            "they differ.",
        ),
        (
            [standing("a", 60), standing("b", 60, first=(60,)), standing("c", 120, first=(60,))],
            "a and b reached 70% equally soon, before all others: after 1 min of virtual time, 3 "
            "rounds and 1 kB moved. c took 2 min (2.00× as long). With one seed there is no "
            "interval: chance may have made the difference.",
        ),
        (
            [standing("a", 19.57), standing("b", 19.62, first=(19.57,))],
            "a and b reached 70% equally soon: after 19.6 s of virtual time, 3 rounds and 1 kB "
            "moved.",
        ),
        (
            [standing("a", 60), standing("b", 60, first=(60,))],
            "a and b reached 70% equally soon: after 1 min of virtual time, 3 rounds and 1 kB "
            "moved.",
        ),
        (
            [
                standing("a", *[100.0] * 30),
                standing("b", *[50.0] * 28, 900.0, 900.0, first=(100.0,) * 30),
            ],
            "a reached 70% first on the whole, after 1 min 40 s of virtual time, 3 rounds and 1 kB "
            "moved, in the mean of 30 seeds; seed by seed b took less. b took 1 min 47 s (0.61× as "
            "long [0.50×, 0.81×]). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
        (
            [
                standing("a", 60, None, None),
                standing("b", None, 70, None, first=(60, 60)),
                standing("c", None, None, None, first=(60, 60)),
            ],
            "70% was not reached with most seeds; a and b reached it with 1 of 3 each.",
        ),
        (
            [standing("a", 60, None), standing("b", None, None, first=(60, 60))],
            "70% was not reached with most seeds; a reached it with 1 of 2.",
        ),
    ],
)
def test_a_race_is_told_in_these_sentences(ranked: list[Standing], text: str) -> None:
    assert sorted(ranked, key=lambda one: one.order) == ranked
    assert " ".join(race(ranked, 0.7)) == text


def test_two_seeds_are_said_to_be_too_few(tmp_path: Path) -> None:
    """What took three times as long was "not distinguishable", as if the two were alike."""
    ranked = [standing("a", 50, 60), standing("b", 100, 260, first=(50, 60))]
    first, _, behind, _ = race(ranked, 0.7)
    assert first == "2 seeds are too few to tell a and b apart in the time they took to reach 70%."
    assert behind.startswith("b took 3 min (2.94× as long [")
    for name, lasts in {"a": (9, 16), "b": (20, 90)}.items():
        for seed, round_s in enumerate(lasts):
            made_run(tmp_path, name, seed, [0.5] * 4, round_s=round_s)
    first, behind, _ = pace(by_variant(find_runs([tmp_path])))
    assert first.startswith("2 seeds are too few to tell a and b apart in how long a round takes: ")
    assert behind.startswith("b takes 55.0 s (3.54× as long [")


def test_two_seeds_that_agree_are_said_to_be_too_few(tmp_path: Path) -> None:
    """`fast` was first, as what is seen every 10 rounds came twice in the same."""
    for name, reached in {"fast": 10, "slow": 20}.items():
        for seed in range(2):
            made_run(tmp_path, name, seed, reaches(reached, 30))
    runs = find_runs([tmp_path])
    told = "2 seeds are too few to tell fast and slow apart in the time they took to reach 70%."
    assert headline(by_variant(runs))[0] == told
    table = as_table(compare(runs, targets=[0.7], baseline="fast"))
    assert "not distinguishable" in table
    assert "the interval holds 1, or two seeds agree." in " ".join(table.split())


@pytest.mark.parametrize(("seeds", "sure"), [(2, False), (3, True)])
def test_two_accuracies_that_agree_in_what_they_differ_by_tell_nothing(
    tmp_path: Path, seeds: int, sure: bool
) -> None:
    """One sample in fifty more, twice, had an interval of no width, and was the best for sure."""
    for name, more in {"more": 0.02, "less": 0.0}.items():
        for seed, accuracy in enumerate((0.68, 0.78, 0.73)[:seeds]):
            made_run(tmp_path, name, seed, [accuracy + more], targets=())
    groups = by_variant(find_runs([tmp_path]))
    [told] = headline(groups)
    assert told.endswith("2 seeds are too few to tell less from it.") != sure
    tables, _ = results(groups)
    assert [row[2].css for row in tables[0].rows] == ["", "best" if sure else ""]
    table = as_table(compare(find_runs([tmp_path]), baseline="less"))
    agreed = "Where an interval holds 0, or two seeds agree, chance may explain it."
    assert (agreed in " ".join(table.split())) != sure


def test_of_many_variants_sentences_name_the_best(tmp_path: Path) -> None:
    """Eighteen long names were eight lines."""
    for index in range(9):
        for seed in range(3):
            accuracies = reaches(10 + index + seed * (index % 2), 60)
            made_run(tmp_path, f"v{index}", seed, accuracies)
    told = headline(by_variant(find_runs([tmp_path])))
    assert set(re.findall(r"v\d", " ".join(told))) == {"v0", "v1"}
    assert "; the table has 7 others." in " ".join(told)


def test_a_seed_that_has_not_ended_is_not_said_to_have_failed() -> None:
    some = Figure.of([10.0, 20.0, None], open=1)
    [told] = race([Standing("a", some, some, some)], 0.7)
    assert told.endswith(", in the median of 3 seeds, of which 1 not yet.")


def test_the_best_accuracy_is_no_lucky_seeds(tmp_path: Path) -> None:
    """It was the best of all runs: with more seeds it could only grow."""
    for name, accuracies in {"lucky": (0.5, 0.9), "steady": (0.8, 0.8)}.items():
        for seed, accuracy in enumerate(accuracies):
            made_run(tmp_path, name, seed, [accuracy, 0.1], targets=())
    groups = by_variant(find_runs([tmp_path]))
    assert headline(groups) == [
        "The best accuracy of any round was 80.00% (steady, mean of 2 seeds); 2 seeds are too "
        "few to tell lucky from it."
    ]
    both = {"a": groups["steady"], "b": groups["steady"]}
    assert headline(both) == [
        "The best accuracy of any round was 80.00% (a and b, mean of 2 seeds)."
    ]
    alone = {"lucky": [run for run in groups["lucky"] if run.seed == 1]}
    assert headline(alone) == ["The best accuracy of any round was 90.00%."]
    alone["steady"] = groups["steady"][:1]
    assert headline(alone) == ["The best accuracy of any round was 90.00% (lucky, one seed)."]


def test_the_headlines_accuracy_is_told_from_the_tables(tmp_path: Path) -> None:
    """Two accuracies stood above each other, 94.2% and 94.25%, and the best was somebody else's."""
    groups = {"v": [made_run(tmp_path, "v", 0, [0.9425, 0.1], targets=())]}
    assert headline(groups) == ["The best accuracy of any round was 94.25%."]
    tables, _ = results(groups)
    assert tables[0].heads[:2] == ["variant", "last accuracy"]
    assert tables[0].rows[0][1].text == "10.00%"


def test_each_target_has_a_paragraph(tmp_path: Path) -> None:
    """Of three targets all was said in one, of thirteen lines; and of none which one `it` was."""
    groups = {
        name: [made_run(tmp_path, name, seed, of, targets=(0.3, 0.6, 0.9)) for seed, of in curves]
        for name, curves in (
            ("a", ((0, [0.4, 0.2]), (1, [0.4, 0.5]), (2, [0.4, 0.5]))),
            ("b", ((0, [0.2, 0.4]), (1, [0.2, 0.4]), (2, [0.4, 0.7]))),
        )
    }
    first, second, third = paragraphs(groups)
    assert first[-1] == "Short of 30% again at the end: a with 1 of 3 seeds."
    assert second == ["60% was not reached with most seeds; b reached it with 1 of 3."]
    assert third[0].startswith("Nobody reached 90%; ")


@pytest.mark.parametrize(
    ("samples", "last", "told"),
    [(0, 0.694, False), (0, 0.69, True), (100, 0.66, False), (100, 0.65, True), (100, 0.75, False)],
)
def test_who_is_hardly_short_of_a_target_is_not_told_to_be(
    tmp_path: Path, samples: int, last: float, told: bool
) -> None:
    """0.01 points below it were told, of 100 samples with a standard error of 4.6."""
    made = made_run(tmp_path, "v", 0, [0.5, 0.7, last])
    made.provenance.update({"judged_on": samples} if samples else {})
    assert len(headline({"v": [made]})) == 1 + told


def test_who_is_short_of_a_target_again_at_the_end_is_told(tmp_path: Path) -> None:
    """Under an attack a model fell to 11%, and its page began "Reached 60% after 27.2 s"."""
    up, down = [0.5, 0.7, 0.71], [0.5, 0.7, 0.4]
    steady = [made_run(tmp_path, "steady", seed, up) for seed in (0, 1)]
    fell = [made_run(tmp_path, "fell", seed, down) for seed in (0, 1)]
    some = [made_run(tmp_path, "some", seed, of) for seed, of in ((0, up), (1, down))]
    going = [made_run(tmp_path, "going", 0, down, finished=False)]
    assert headline({"fell": fell})[1:] == ["Its last model is short of 70% again (40.00%)."]
    assert headline({"some": some})[1:] == [
        "Its last model is short of 70% again with 1 of 2 seeds."
    ]
    assert len(headline({"steady": steady})) == len(headline({"going": going})) == 1
    told = headline({"steady": steady, "fell": fell, "some": some, "going": going})
    assert told[-1] == "Short of 70% again at the end: fell (40.00%) and some with 1 of 2 seeds."


def test_who_trained_nothing_is_not_said_to_have_failed(tmp_path: Path) -> None:
    """Beside trained variants those of --time-only "never did", as if they had tried."""
    spec = TINY | {"evaluation": {"targets": ["1%"]}}
    trained = run(Scenario.from_dict(spec), tmp_path / "trained")
    timed = run(Scenario.from_dict(spec), tmp_path / "timed", Options(time_only=True))
    regression = {
        "data": {"dataset": {"name": "synthetic_regression"}, "partition": "natural"},
        "training": {"loss": "mean_squared_error"},
    }
    errors = run(Scenario.from_dict(TINY | regression), tmp_path / "errors")
    alone = headline({"a": trained})
    assert alone[0].startswith("Reached 1% after")
    assert headline({"a": trained, "b": timed, "c": errors}) == alone


def test_the_headline_tells_errors_where_there_is_no_accuracy(tmp_path: Path) -> None:
    """It told rounds alone, as if nothing had been learnt."""
    data = {"dataset": {"name": "synthetic_regression"}, "partition": "natural"}
    training = {"loss": "mean_squared_error", "optimizer": {"name": "sgd", "lr": 0.01}}
    variants = {"a": {"training.epochs": 1}, "b": {"training.epochs": 2}}
    scenario = TINY | {"data": data, "training": training, "variants": variants, "seeds": [0, 1]}
    runs = run(Scenario.from_dict(scenario), tmp_path)
    groups = by_variant(runs)
    means = {
        name: math.fsum(one.error[1] for one in made if one.error) / 2
        for name, made in groups.items()
    }
    assert means["b"] < means["a"]
    first, *others = headline(groups)
    assert first.startswith(f"The lowest RMSE at the end is {means['b']:.4g} (b, mean of 2 seeds)")
    assert others == pace(groups)


def test_green_is_who_is_better_seed_by_seed_and_got_there_as_surely(tmp_path: Path) -> None:
    """By means `a` is ahead, seed by seed `b`; `c` is behind both."""
    times = {"a": [20] * 8, "b": [10, 10, 10, 10, 10, 10, 10, 95], "c": [40] * 8}
    for name, rounds in times.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 99))
    tables, _ = results(by_variant(find_runs([tmp_path])))
    column = tables[0].heads.index("time")
    assert {row[0].text: row[column].css for row in tables[0].rows} == dict.fromkeys("abc", "")
    best = {**times, "b": [10] * 8}
    for name, rounds in best.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path / "clear", name, seed, reaches(round_, 99))
    tables, _ = results(by_variant(find_runs([tmp_path / "clear"])))
    column = tables[0].heads.index("time")
    assert [row[0].text for row in tables[0].rows if row[column].css == "best"] == ["b"]


def test_deviations_end_where_their_means_do_in_the_terminals_table_too(tmp_path: Path) -> None:
    for seed, round_ in enumerate((34, 49)):
        made_run(tmp_path, "a", seed, reaches(round_, 60))
    told = as_table(compare(find_runs([tmp_path])))
    assert "83 kB ± 21 kB" in told


def test_the_headline_calls_no_noise_a_winner(tmp_path: Path) -> None:
    """6:56 against 7:18 with deviations of 1:16 and 2:29, three seeds."""
    for name, rounds in {"a": (34, 42, 49), "b": (59, 29, 44)}.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    told = " ".join(headline(by_variant(find_runs([tmp_path]))))
    assert told.startswith("a and b are not distinguishable in the time they took to reach 70%.")
    assert "first" not in told


def test_a_variant_of_fewer_seeds_is_first_only_where_both_have_been(tmp_path: Path) -> None:
    """A fork of one easy seed was "first", beside a variant that took half as long on that seed."""
    for name, rounds in {"a": (5, 15, 40), "b": (10, 20, 30)}.items():
        for seed, round_ in enumerate(rounds):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    made_run(tmp_path, "fork", 0, reaches(10, 60))
    groups = by_variant(find_runs([tmp_path]))
    assert " ".join(headline(groups)) == (
        "a and b are not distinguishable in the time they took to reach 70%. a took 3 min 20 s of "
        "virtual time, 20 rounds and 40 kB moved, in the mean of 3 seeds. b took 3 min 20 s (1.26× "
        "as long [0.37×, 4.29×]) and fork took 1 min 40 s (2.00× as long, with the 1 seed that "
        "both have). Ratios are geometric means, seed by seed, with 95% intervals. a and fork have "
        "one seed in common: chance may be why they differ. a was sooner than b with 2 of 3 seeds "
        "(p = 1); p is the sign test's: from 0.05 on chance may explain it, which fewer than 6 "
        "seeds are never below."
    )
    told = " ".join(headline(by_variant(find_runs([tmp_path / n for n in ("b", "fork")]))))
    assert told.startswith("b reached 70% first on the whole, after 3 min 20 s")
    assert told.endswith(
        "on the one seed that both have, fork took just as long. fork took 1 min 40 s (just as "
        "long, with the 1 seed that both have)."
    )
    made_run(tmp_path, "elsewhere", 7, reaches(50, 60))
    told = " ".join(headline(by_variant(find_runs([tmp_path / n for n in ("b", "elsewhere")]))))
    assert told.endswith(
        "elsewhere took 8 min 20 s. b has no seed in common with elsewhere: chance may be why."
    )


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        (
            3,
            "a and b reached 70% equally soon: after 3 min 20 s of virtual time, 20 rounds and "
            "40 kB moved, in the mean of 3 seeds.",
        ),
        (
            2,
            "a reached 70% first on the whole, after 3 min 20 s of virtual time, 20 rounds and "
            "40 kB moved, in the mean of 3 seeds; on the seeds that both have, b took just as "
            "long. b took 2 min 30 s (just as long, with the 2 seeds that both have).",
        ),
    ],
)
def test_who_took_the_same_with_each_seed_ties(seeds: int, told: str, tmp_path: Path) -> None:
    """It was 1.00× as long, which "2 seeds are too few to tell apart"."""
    for name, most in {"a": 3, "b": seeds}.items():
        for seed, round_ in enumerate((10, 20, 30)[:most]):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    assert " ".join(headline(by_variant(find_runs([tmp_path])))) == told


@pytest.mark.parametrize(
    ("lasts", "told"),
    [
        (
            (0, 30, 20),
            "a reached 70% first: after 10.0 s of virtual time, 1 round and 2 kB moved, in the "
            "mean of 3 seeds. b took 16.7 s. Of 0 s, which some seeds took, there is no ratio: "
            "chance may be why a and b differ. a was sooner than b with 1 of 3 seeds, later with 0 "
            "(p = 1); p is the sign test's: from 0.05 on chance may explain it, which fewer than "
            "6 seeds are never below.",
        ),
        (
            (0, 10, 20),
            "a and b reached 70% equally soon: after 10.0 s of virtual time, 1 round and 2 kB "
            "moved, in the mean of 3 seeds.",
        ),
    ],
)
def test_who_was_at_a_target_at_once_has_no_ratio(
    lasts: tuple[float, ...], told: str, tmp_path: Path
) -> None:
    """Of two that differed with one seed of three, one was first and nothing said more."""
    for name, each in {"a": (0, 10, 20), "b": lasts}.items():
        for seed, round_s in enumerate(each):
            made_run(tmp_path, name, seed, [0.8], round_s=round_s)
    assert " ".join(headline(by_variant(find_runs([tmp_path])))) == told


@pytest.mark.parametrize("seeds", [2, 3])
def test_who_was_at_a_target_at_once_with_each_seed_is_surely_first(
    seeds: int, tmp_path: Path
) -> None:
    """However many seeds there were, chance might be why they differed."""
    for seed in range(seeds):
        made_run(tmp_path, "a", seed, [0.8], round_s=0)
        made_run(tmp_path, "b", seed, [0.8], round_s=10 + seed)
    told = " ".join(headline(by_variant(find_runs([tmp_path]))))
    sure = "a was there from the start with each seed, b with none: of 0 s there is no ratio."
    assert told.endswith(sure if seeds > 2 else "chance may be why a and b differ.")


def test_rounds_that_last_as_long_with_each_seed_tie(tmp_path: Path) -> None:
    for name, lasts in {"a": (10, 20, 30), "b": (10,)}.items():
        for seed, round_s in enumerate(lasts):
            made_run(tmp_path, name, seed, [0.5] * 4, round_s=round_s)
    assert " ".join(pace(by_variant(find_runs([tmp_path])))) == (
        "b has the shortest rounds: 10.0 s in the mean. a takes 20.0 s (just as long, with the 1 "
        "seed that both have)."
    )


def test_time_before_and_between_rounds_is_told(tmp_path: Path) -> None:
    """60 rounds "took 20 h 7 min: 2.4 s each": nobody was online for 20 h 5 min."""
    (tmp_path / "sessions.csv").write_text("device,start_s,end_s\na,1000,5000\n")
    availability = {"name": "trace", "file": "sessions.csv", "shift": False}
    fleet = {"count": 8, "compute": "10 samples/s", "availability": availability}
    scenario = Scenario.from_dict(TINY | {"fleet": fleet, "seeds": [0, 1]}, folder=tmp_path)
    runs = run(scenario, tmp_path / "runs", Options(time_only=True))
    assert headline({"default": runs}) == [
        "4 rounds took 17 min 4 s of virtual time, in the mean of 2 seeds: 6.0 s each, and "
        "16 min 40 s before and between them."
    ]


def test_nobody_has_the_shortest_rounds_by_coming_first(tmp_path: Path) -> None:
    """Of two deadlines that nobody ever met, the first was said to be the faster."""
    compute = {"distribution": "uniform", "min": "10 samples/s", "max": "90 samples/s"}
    variants = {
        name: {"rounds.policy.deadline": deadline, "rounds.policy.over_select": share}
        for name, deadline, share in (
            ("a", "900 s", 1), ("b", "800 s", 2), ("c", "900 s", 2), ("d", "800 s", 1),
        )
    }  # fmt: skip
    data = TINY | {"fleet": {"count": 8, "compute": compute}, "variants": variants}
    runs = by_variant(run(Scenario.from_dict(data), tmp_path, Options(time_only=True)))
    first, second, caution = headline(runs)
    assert first.startswith("b and c have the shortest rounds: ")
    assert second.startswith("a and d take ")
    assert caution.startswith("With one seed there is no interval")
    alone = headline({name: runs[name] for name in "ad"})
    assert [sentence.partition(" in ")[2] for sentence in alone] == ["the mean, with a and d."]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (
            (20, 40, 10),
            "a and b are not distinguishable in how long a round takes: 11.7 s to 23.3 s. c takes "
            "1 min (5.31× as long [2.48×, 11.4×]). Ratios are geometric means, seed by seed, with "
            "95% intervals.",
        ),
        (
            (10, 20, 12),
            "a has the shortest rounds: 11.7 s in the mean. c takes 1 min (5.31× as long [2.48×, "
            "11.4×]). Ratios are geometric means, seed by seed, with 95% intervals.",
        ),
    ],
)
def test_who_has_the_shortest_rounds_is_no_matter_of_chance(
    seconds: tuple[int, ...], told: str, tmp_path: Path
) -> None:
    for name, lasts in {"a": (9, 16, 10), "b": seconds, "c": (60, 60, 60)}.items():
        for seed, round_s in enumerate(lasts):
            made_run(tmp_path, name, seed, [0.5] * 4, round_s=round_s)
    assert " ".join(pace(by_variant(find_runs([tmp_path])))) == told


def test_of_unequal_rounds_the_updates_are_compared(tmp_path: Path) -> None:
    """A buffer of one had "the shortest rounds", of an update each."""
    variants = {
        "waits": {"rounds.policy": "synchronous"},
        "hurries": {"rounds.policy": {"name": "fedbuff", "buffer": 1, "concurrency": 2}},
        "gathers": {"rounds.policy": {"name": "fedbuff", "buffer": 3, "concurrency": 2}},
    }
    data = TINY | {"variants": variants, "aggregation": "fedbuff"}
    runs = by_variant(run(Scenario.from_dict(data), tmp_path, Options(time_only=True)))
    every = {
        name: result.end_s / int((result.clients.outcome == "arrived").sum())
        for name, [result] in runs.items()
    }
    first, _, last = sorted(every, key=lambda name: every[name])
    least, most = (formats.duration(every[name]) for name in (first, last))
    answer = headline(runs)
    assert answer[0] == f"Updates count most often with {first}: one every {least} in the mean."
    assert answer[1].startswith(f"{last} takes {most} (")


def test_energy_to_a_target_is_told_wherever_there_is_room(tmp_path: Path) -> None:
    """The command's table had it, the page's had not where there were two targets or more."""
    six = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    for targets, columns in ((0.5,), [4]), ((0.4, 0.5), [3, 1]), (six, [3, 1, 0]):
        folder = tmp_path / str(len(targets))
        made_run(folder, "a", 0, [0.05, 0.9], targets=targets)
        tables, _ = results(by_variant(find_runs([folder])))
        assert [dict(table.above).get("to 50%", 0) for table in tables] == columns
        energies = [head for table in tables for head in table.heads if head == "energy at work"]
        assert len(energies) == len(targets) + 1  # and that of the whole run


def test_the_headline_compares_where_most_seeds_got(tmp_path: Path) -> None:
    """A target that one seed in five reached was all that it told of, beside one that all had."""
    for seed in (0, 1, 2):
        top = 0.9 if seed == 0 else 0.6
        made_run(tmp_path, "a", seed, [0.1, 0.5, top], targets=(0.5, 0.8))
        made_run(tmp_path, "b", seed, [0.1, 0.1, 0.5], targets=(0.5, 0.8))
    first, *others = headline(by_variant(find_runs([tmp_path])))
    assert first.startswith("a reached 50% first: after 20.0 s")
    assert others[-1] == "80% was not reached with most seeds; a reached it with 1 of 3."
