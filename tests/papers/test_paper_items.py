"""The items of the papers: whole, valid, and the page is what the CSVs give."""

import re
from pathlib import Path

import pytest

from analysis.reproduction import DOCS, OURS, findings, page, results_of, verdict
from simfl.cli import main
from simfl.errors import InputError, NameNotFound
from simfl.papers.claims import Claim
from simfl.papers.item import Item, items, papers
from simfl.papers.measures import Record
from simfl.papers.repeat import collect
from tests.made_runs import made_run, reaches
from tests.papers.records import record

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
    written, shipped = (
        {file.name: file.read_text() for file in folder.glob("*.yaml")}
        for folder in (LINKS.parents[2] / "scenarios" / "papers", LINKS)
    )
    del written["nvflare_edge.yaml"]  # of none of the five
    assert shipped == written


def test_items_by_name() -> None:
    [one] = items("fedcore/table1-synthetic-times")
    assert one in items("fedcore")
    with pytest.raises(NameNotFound):
        items("fedcore/table9")


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


def test_what_runs_have_is_collected_row_by_row(tmp_path: Path) -> None:
    """Of the third seed a row may still get there; of the fourth nothing can change any more."""
    for seed in (0, 1, 2, 3):
        made_run(tmp_path, "fast", seed, reaches(2, 10))
        made_run(tmp_path, "slow", seed, reaches(9, 8 if seed == 2 else 10), finished=seed < 2)
        made_run(tmp_path, "other", seed, reaches(1, 10))
    found = collect(ITEM, tmp_path, None)
    assert [(r.row, r.seed) for r in found] == [
        ("slow", "0"), ("slow", "1"), ("slow", "3"), ("fast", "0"), ("fast", "1"), ("fast", "3")
    ]  # fmt: skip
    curve = ITEM.model_copy(update={"measures": ("rounds to 70% of the mean curve",)})
    assert [r.seed for r in collect(curve, tmp_path, None)] == ["0 1", "0 1"]
    assert collect(curve, tmp_path, [2]) == []
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
    [
        (2, 3, "**reproduced**"),
        (9, 2, "**not** reproduced"),
        (2, 2, "partly"),  # which agree by chance, perhaps
        (2, 1, "partly"),
        (2, 0, "not run"),
    ],
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
