"""The items of the papers: whole, valid, measured as they say; the page is what the CSVs give."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.reproduction import DOCS, OURS, findings, page, results_of, verdict
from simfl.cli import main
from simfl.errors import InputError, NameNotFound
from simfl.papers.claims import Claim, median, paired
from simfl.papers.item import Item, items, papers
from simfl.papers.measures import Measure, Record, read, records, write
from simfl.papers.repeat import collect
from simfl.runs.results.find import find_runs
from simfl.runs.results.result import RunResult
from simfl.runs.results.statistics import Figure, Ratio
from tests.made_runs import made_run, reaches
from tests.reliability.disks import Disk, full

ITEMS = items()
LINKS = Path(__file__).parents[2] / "simfl" / "papers" / "scenarios"


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
@pytest.mark.parametrize("form", ["full", "quick"])
def test_an_item_can_be_run(item: Item, form: str) -> None:
    item = item.reduced() if form == "quick" else item
    jobs = item.jobs(Path())
    assert {job.variant for job in jobs} == set(item.printed)
    assert len({job.folder for job in jobs}) == len(jobs)
    claims = [Claim.parse(text) for text in item.claims]
    assert {claim.measure for claim in claims} <= {None, *item.measures}
    about = {row for claim in claims for row in claim.rows}
    assert about
    assert about <= set(item.printed)


def test_every_table_and_figure_is_repeated_or_has_a_reason() -> None:
    known = papers()
    del known[OURS]
    assert set(known) == {"dp3s", "fedacs", "fedcor", "fedcore", "fedgp"}
    for name, paper in known.items():
        covered = {part for item in ITEMS for part in item.covers.get(name, ())}
        assert covered | {*paper.elsewhere, *paper.not_repeated} == set(paper.parts), name
        for part, told in paper.elsewhere.items():  # where to, and how it came out
            link = r"\[.+\]\(papers\.md#[\w-]+\): (\*\*(reproduced|not)\*\*|partly)"
            assert re.match(link, told), f"{name}, {part}: {told}"


def test_every_scenario_of_the_five_papers_comes_with_simfl() -> None:
    for file in (LINKS.parents[2] / "scenarios" / "papers").glob("*.yaml"):
        if file.stem != "nvflare_edge":  # none of the five
            assert (LINKS / file.name).read_text() == file.read_text()


def test_items_by_name() -> None:
    [one] = items("fedcore/table1-synthetic-times")
    assert one in items("fedcore")
    with pytest.raises(NameNotFound):
        items("fedcore/table9")


def record(row: str, seed: int, value: float | None, followed: float | None = None) -> Record:
    return Record("p", "i", row, "rounds", str(seed), value, followed, "count", "", "", "", "", "")


def rows(**numbers: list[float | None]) -> list[Record]:
    return [
        record(row, seed, value, 500.0)
        for row, values in numbers.items()
        for seed, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("a < b", True),
        ("b < a", False),
        ("a < b < c, never", True),
        ("a < c, b", True),
        ("a, c < b", False),
        ("2 * a < b", False),
        ("1.9 * a < b", True),
        ("a < b - 9", True),
        ("a < b - 10", False),
        ("never < never", False),
        ("a < unknown", None),
    ],
)
def test_claims(claim: str, holds: bool | None) -> None:
    found = rows(a=[10, 1, 10], b=[20, 20, 999], c=[21, None, 21], never=[None, 1, None])
    assert Claim.parse(claim).holds(found) is holds


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ("a < b", "holds"),
        ("1.5 * a < b", "holds"),
        ("1.99 * a < b", "so ordered, not told from chance"),
        ("a < c", "so ordered, not told from chance"),
        ("b < a", "DOES NOT HOLD"),
        ("a < unknown", "not measured"),
    ],
)
def test_what_chance_may_have_ordered_does_not_hold(claim: str, told: str) -> None:
    found = rows(a=[10, 11, 10, 9], b=[20, 21, 21, 19], c=[12, 8, 14, 10])
    assert Claim.parse(claim).told(found) == told
    [one] = {Claim.parse("a < b").told(rows(a=[10], b=[20]))}
    assert one == "so ordered, one seed"


def test_orderings_of_which_no_ratio_is_known_are_told_as_such() -> None:
    """They were told as those of one seed, and an item with them counted as reproduced."""
    last: list[float | None] = [500.0] * 5
    found = rows(a=last, b=[None] * 5)
    assert Claim.parse("a < b").told(found) == "so ordered, not comparable seed by seed"
    unsure = rows(a=[10, 10, 30, 10, 10], b=last, c=[None] * 5, d=[20, 20, 20, 20, 20])
    assert Claim.parse("a < b < c").told(unsure) == "so ordered, not comparable seed by seed"
    assert Claim.parse("a < d < b < c").told(unsure) == "so ordered, not told from chance"


def test_claims_are_judged_on_the_seeds_that_all_rows_have() -> None:
    found = rows(a=[10, 10, 90, 90, 90], b=[20, 20])
    assert Claim.parse("a < b").holds(found)
    assert Claim.parse("a < b").holds([r for r in found if (r.row, r.seed) != ("b", "0")])
    assert Claim.parse("a < b").holds(found[2:5] + rows(b=[20, 20])[:2]) is None


def test_a_claim_may_name_its_measure() -> None:
    claim = Claim.parse("bytes to 69%: 2 * a < b")
    assert (claim.measure, claim.rows, claim.groups[0][0].times) == ("bytes to 69%", ["a", "b"], 2)
    assert Claim.parse("a < b").measure is None


@pytest.mark.parametrize("text", ["a", "a <", "a < b c", "x * a < b", "a > b"])
def test_what_is_no_claim(text: str) -> None:
    with pytest.raises(ValueError, match=r"ordering|no row"):
        Claim.parse(text)


def test_costs_are_compared_by_their_ratio_and_numbers_by_their_difference() -> None:
    ratio = paired(rows(a=[10, 20], b=[20, 80]), "a", "b")
    assert isinstance(ratio, Ratio)
    assert ratio.value == pytest.approx(math.sqrt(2 * 4))
    shares = [record("a", 0, 0.5), record("a", 1, 0.7), record("b", 0, 0.6), record("b", 1, 0.9)]
    difference = paired(shares, "a", "b")
    assert isinstance(difference, Figure)
    assert difference.mean == pytest.approx(0.15)
    assert paired(shares, "a", "c") is None


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResult]:
    for seed, round_ in enumerate((4, 8, 0)):
        made_run(tmp_path / "runs", "a", seed, reaches(round_, 10))
    return find_runs([tmp_path / "runs"])


def measured(runs: list[RunResult], text: str) -> list[tuple[str, float | None, float | None]]:
    return [(r.seed, r.value, r.followed) for r in records("paper/item", "code", [text], runs)]


def test_measures(runs: list[RunResult]) -> None:
    assert measured(runs, "rounds to 70%") == [("0", 4, 10), ("1", 8, 10), ("2", None, 10)]
    assert measured(runs, "time_s to 70%")[0] == ("0", 40, 100)
    assert measured(runs, "bytes to 70%")[1] == ("1", 16_000, 20_000)
    assert measured(runs, "accuracy") == [("0", 0.7, None), ("1", 0.7, None), ("2", 0.35, None)]
    assert measured(runs, "loss")[2][1] == pytest.approx(0.65)


def test_the_mean_curve_is_read_not_the_mean_of_readings(runs: list[RunResult]) -> None:
    """Means: 0.35, from round 4 0.4667, from round 8 0.5833."""
    assert measured(runs, "rounds to 50% of the mean curve") == [("0 1 2", 8, 10)]
    assert measured(runs, "rounds to 40% of the mean curve") == [("0 1 2", 4, 10)]
    assert measured(runs, "rounds to 70% of the mean curve") == [("0 1 2", None, 10)]


def test_a_smoothed_curve_is_read_in_the_middle_of_three_points(runs: list[RunResult]) -> None:
    """Means of three: rounds 7, 8 and 9 are at 0.5056, 0.5444 and 0.5833, the last is 9."""
    assert measured(runs, "rounds to 50% of the smoothed mean curve") == [("0 1 2", 7, 9)]
    assert measured(runs, "rounds to 55% of the smoothed mean curve") == [("0 1 2", 9, 9)]


def test_a_curve_of_two_points_has_no_middle_of_three(tmp_path: Path) -> None:
    """It was an error; and points of one place were averaged, whatever rounds they were of."""
    made = [
        made_run(tmp_path, "v", seed, curve) for seed, curve in enumerate(([0.6] * 2, [0.8] * 4))
    ]
    assert measured(made, "rounds to 50% of the smoothed mean curve") == [("0 1", None, 2)]
    assert measured(made, "rounds to 70% of the mean curve") == [("0 1", 1, 2)]


@pytest.mark.parametrize("text", ["charm", "gemd to 50%", "rounds to half", "rounds by 50%"])
def test_what_is_no_measure(text: str) -> None:
    with pytest.raises(ValueError, match="unknown measure"):
        Measure.parse(text)


def test_records_come_back_from_their_file(runs: list[RunResult], tmp_path: Path) -> None:
    found = records("paper/item", "code", ["rounds to 70%", "accuracy"], runs)
    assert (found[2].row, found[2].seed, found[2].value, found[2].unit) == ("a", "2", None, "count")
    write(tmp_path / "results.csv", found)
    assert read(tmp_path / "results.csv") == found
    assert median(found[:3], "a") == 8


ITEM = Item(
    id="paper/item",
    covers={},
    title="made",
    scenario="fedcore_synthetic_times.yaml",
    reading="code",
    seeds="0-1",
    measures=("rounds to 70%",),
    printed={"slow": "9", "fast": "2"},
    claims=("fast < slow",),
)


def test_the_beginning_of_several_items_lists_them() -> None:
    begun = [item.id for item in ITEMS if item.id.startswith("fedcor/table1")]
    assert len(begun) > 1
    with pytest.raises(InputError, match=f"several items begin with .*: {', '.join(begun)}"):
        items("fedcor/table1")


@pytest.mark.parametrize(("seeds", "told"), [([0], "(one seed)"), ([0, 1], "(2 seeds)")])
def test_what_was_measured_is_told_briefly(
    seeds: list[int], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "fedcore/table1-synthetic"
    for seed in seeds:
        made_run(tmp_path / name, "a1-FedAvg", seed, [0.88234567])
    main(["reproduce", name, "--collect", "--out", str(tmp_path)])
    assert f"  a1-FedAvg: 88.2%; 0.882 {told}\n" in capsys.readouterr().out


def test_a_mean_curve_is_told_as_that_of_its_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "dp3s/learning-rate"
    for seed in (0, 1, 2):
        made_run(tmp_path / name, "uniform-0.2", seed, [0.5, 0.5, 0.5, 0.95, 0.95, 0.95])
        made_run(tmp_path / name, "DP3S-0.2", seed, [0.5, 0.95, 0.95, 0.95, 0.95, 0.95])
    main(["reproduce", name, "--collect", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "  uniform-0.2: 127; 5 (curve of 3 seeds)\n" in out
    assert "  DP3S-0.2: 62; 3 (curve of 3 seeds)\n" in out
    assert "  1.5 * DP3S-0.2 < uniform-0.2: holds\n" in out


def test_what_finished_runs_have_is_collected_row_by_row(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        made_run(tmp_path, "fast", seed, reaches(2, 10))
        made_run(tmp_path, "slow", seed, reaches(9, 10), finished=seed < 2)
        made_run(tmp_path, "other", seed, reaches(1, 10))
    found = collect(ITEM, tmp_path, None)
    assert [(r.row, r.seed) for r in found] == [
        ("slow", "0"), ("slow", "1"), ("fast", "0"), ("fast", "1"), ("fast", "2")
    ]  # fmt: skip
    assert [r.seed for r in collect(ITEM, tmp_path, [1])] == ["1", "1"]
    assert collect(ITEM, tmp_path / "nothing", None) == []
    (tmp_path / "begun").mkdir()
    assert collect(ITEM, tmp_path / "begun", None) == []


def test_seeds_of_different_scenarios_are_not_collected(tmp_path: Path) -> None:
    """They were rows of their own, which no table has."""
    for seed in (0, 1, 2):
        made_run(tmp_path, "slow", seed, reaches(9, 10))
        made_run(tmp_path, "fast", seed, reaches(2, 10), training={"epochs": 2 + (seed == 1)})
    told = rf"{tmp_path}/fast/seed-1 is of another scenario .*: it is 'fast \(training.epochs 3\)'"
    with pytest.raises(InputError, match=told):
        collect(ITEM, tmp_path, None)
    assert len(collect(ITEM, tmp_path, [0, 2])) == 4


@pytest.mark.parametrize(
    ("fast", "seeds", "word"),
    [(2, 2, "**reproduced**"), (9, 2, "**not** reproduced"), (2, 1, "partly"), (2, 0, "not run")],
)
def test_the_verdict_on_an_item(fast: int, seeds: int, word: str) -> None:
    found = [
        record(row, seed, value, 10)
        for row, value in (("slow", 9), ("fast", fast))
        for seed in range(seeds)
    ]
    found = [Record(**{**vars(r), "column": "rounds to 70%"}) for r in found]
    assert verdict(ITEM, found) == word


def test_an_item_whose_rows_can_not_be_compared_seed_by_seed_is_not_reproduced() -> None:
    found = [
        record(row, seed, value, 10)
        for row, value in (("slow", None), ("fast", 10))
        for seed in range(2)
    ]
    found = [Record(**{**vars(r), "column": "rounds to 70%"}) for r in found]
    assert verdict(ITEM, found) == "partly"


def test_an_item_of_which_one_row_was_run_is_begun() -> None:
    [found] = [Record(**{**vars(record("fast", 0, 2, 10)), "column": "rounds to 70%"})]
    assert verdict(ITEM, [found]) == "begun"


def test_the_pages_are_what_the_results_give() -> None:
    """`python -m analysis.reproduction` writes both."""
    results = results_of(DOCS / "results")
    assert (DOCS / "reproduction.md").read_text() == page(results)
    assert (DOCS / "findings.md").read_text() == findings(results)


def test_listing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    out = capsys.readouterr().out
    for item in ITEMS:
        assert f"{item.id}: {item.title}" in out
    assert "needs fashion_mnist, mnist" in out


@pytest.mark.slow
def test_repeating_an_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reproduce", "fedcore/table1-synthetic-times", "--quick", "--quiet"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    file = tmp_path / "quick" / "fedcore" / "table1-synthetic-times.csv"
    first = file.read_bytes()
    [fedavg] = [r for r in read(file) if r.row == "FedAvg-30"]
    assert fedavg.value == pytest.approx(4.802, abs=5e-4)
    assert "4.7 * FedCore-30 < FedAvg-30: so ordered, one seed" in capsys.readouterr().out
    assert main([*words, "--collect", "--out", str(tmp_path)]) == 0
    assert file.read_bytes() == first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [(full, 1, "No space left on device"), (KeyboardInterrupt, 130, "interrupted")],
)
def test_repeating_goes_on_after_a_full_disk_or_an_interruption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: Any, code: int, words: str
) -> None:
    command = ["reproduce", "fedcore/table1-synthetic-times", "--quick", "--quiet", "--jobs", "1"]
    disk, table = Disk(10**9), "quick/fedcore/table1-synthetic-times.csv"
    with disk.installed():
        assert main([*command, "--out", str(tmp_path / "whole")]) == 0
    whole = (tmp_path / "whole" / table).read_bytes()
    for room in [*np.linspace(-1, disk.writes - 2, 5).astype(int).tolist(), disk.writes - 1]:
        out = tmp_path / f"{room}"
        with Disk(room, fault).installed():
            assert main([*command, "--out", str(out)]) == code
        told = capsys.readouterr().err
        assert words in told
        assert "internal" not in told
        assert not (out / table).exists()
        assert main([*command, "--out", str(out)]) == 0
        assert (out / table).read_bytes() == whole


def test_a_contradicted_claim_is_told_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in ("FedAvg", "FedAvg-DS", "FedProx", "FedCore"):
        for share in (10, 30):
            top = tmp_path / "fedcore" / "table1-synthetic"
            made_run(top, f"a0-{row}-{share}", 0, [0.2])
    made_run(top, "a0-FedAvg", 0, [0.9])
    words = ["reproduce", "fedcore/table1-synthetic", "--collect", "--out", str(tmp_path)]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "a0-FedAvg - 0.01 < a0-FedCore-10, a0-FedCore-30: DOES NOT HOLD" in out
    assert "a1-FedAvg - 0.01 < a1-FedCore-10, a1-FedCore-30: not measured" in out


def test_seeds_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "fedcore", "--seeds", "x"]) == 2
    assert "--seeds" in capsys.readouterr().err


def test_an_item_whose_data_are_not_there_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[str]()

    def repeat(item: Item, *_: Any) -> list[Record]:
        tried.append(item.id)
        if item.id == "fedcore/table1-mnist-times":
            raise InputError("data set 'mnist' is not there")
        return []

    monkeypatch.setattr("simfl.papers.repeat.repeat", repeat)
    assert main(["reproduce", "fedcore", "--out", str(tmp_path)]) == 2
    assert len(tried) == 5
    assert "fedcore/table1-mnist-times: error: data set 'mnist'" in capsys.readouterr().err
    assert main(["reproduce", "fedcore/table1-mnist-times", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: data set 'mnist'")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fedcr", "unknown paper 'fedcr'; did you mean 'fedcor'"),
        ("nobody/table1", "unknown paper 'nobody'; expected one of: "),
        ("fedcor/tabl1", "unknown item 'fedcor/tabl1'; did you mean 'fedcor/table1"),
    ],
)
def test_the_nearest_paper_or_item_is_named(name: str, told: str) -> None:
    """Of `fedcr` all items of all papers were, and of fedcor's one of fedcore's."""
    with pytest.raises(InputError) as error:
        items(name)
    assert str(error.value).startswith(told)
