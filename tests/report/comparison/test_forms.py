"""How comparisons are told: tables that fit, figures, LaTeX, and all facts for programs."""

import csv
import io
import json
import math
import re
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from simfl.report.comparison.cells import as_long, cell_text
from simfl.report.comparison.forms import render
from simfl.report.comparison.sections import sections
from simfl.report.width import PIPED
from simfl.runs.results.column import Column
from simfl.runs.results.compare import compare
from simfl.runs.results.comparison import Comparison
from simfl.runs.results.find import find_runs
from simfl.runs.results.metric import BYTES, ROUNDS, TIME, Metric
from simfl.runs.results.paired import Ratio, Times, paired_ratio
from simfl.runs.results.statistics import Figure
from tests.made_runs import made_run, reaches


@pytest.fixture
def noisy(tmp_path: Path) -> Comparison:
    """A variant that is slower by chance, one that really is, one that misses on some seeds."""
    rounds = {"a": (34, 42, 49), "chance": (59, 29, 44), "slow": (70, 83, 99), "some": (40, 0, 0)}
    for name, of in rounds.items():
        for seed, round_ in enumerate(of):
            made_run(tmp_path, name, seed, reaches(round_, 120))
    return compare(find_runs([tmp_path]), baseline="a")


def test_what_chance_explains_is_told(noisy: Comparison) -> None:
    [speedup] = (column for column in noisy.columns if column.key == "time_speedup_to_70%")
    chance, slow, some = (noisy.cell(name, speedup) for name in ("chance", "slow", "some"))
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


def test_with_how_many_seeds_it_was_sooner_is_told(noisy: Comparison) -> None:
    lines = render(noisy, "markdown").splitlines()
    ratios = lines[lines.index("**to 70%, a ÷ each**") :]
    [heads] = (line for line in ratios if line.startswith("| variant"))
    told = {line.split("|")[1].strip(): line.split("|") for line in ratios if line[0:1] == "|"}
    place = [head.strip() for head in heads.split("|")].index("sooner than a")
    assert told["chance"][place].strip() == "2 of 3 seeds (p = 1)"
    assert told["slow"][place].strip() == "0 of 3 seeds (p = 0.25)"
    assert told["some"][place].strip() == "0 of 3 seeds (p = 0.25)"  # who never did was later
    assert told["a"][place].strip() == "–"
    [legend] = (line for line in lines if line.startswith("Sooner than a: "))
    assert "fewer than 6 seeds are never below" in legend
    rows = {row["variant"]: row for row in json.loads(render(noisy, "json"))}
    facts = {"sooner": 2, "later": 1, "seeds": 3, "sign_test_p": 1.0}
    assert rows["chance"]["time_sooner_to_70%"] == facts
    [column] = noisy.only(["time_sooner_to_70%"]).columns
    assert column.counted


def test_one_seed_is_not_counted(tmp_path: Path) -> None:
    for name in "ab":
        made_run(tmp_path, name, 0, reaches(3, 5))
    assert "sooner" not in render(compare(find_runs([tmp_path]), baseline="a"), "markdown")


def test_two_seeds_that_agree_have_no_interval_for_programs(tmp_path: Path) -> None:
    """It had no width there, as if it were sure; text says that they are not distinguishable."""
    for name, round_ in (("a", 30), ("b", 40)):
        for seed in (0, 1):
            made_run(tmp_path, name, seed, reaches(round_, 60))
    compared = compare(find_runs([tmp_path]), ["70%"], baseline="a")
    _, told = json.loads(render(compared, "json"))
    for name in ("time_speedup_to_70%", "accuracy_difference", "rounds"):
        assert {told[name][fact] for fact in ("low", "high", "interval")} == {None}
        assert told[name]["why_no_interval"] == "two seeds agree"


def test_where_no_seed_is_shared_nothing_is_said_of_differences(tmp_path: Path) -> None:
    """The baseline's own, which is not shown, brought three lines on how to read dashes."""
    for name, seeds in (("a", (0, 1)), ("b", (2, 3))):
        for seed in seeds:
            made_run(tmp_path, name, seed, reaches(30 + seed, 60))
    text = render(compare(find_runs([tmp_path]), baseline="a"), "table")
    assert "Compared are the seeds that both have: 0 with b." in text
    for words in ("Differences are", "Ratios compare", "interval"):
        assert words not in text


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        ([100, 200, 300], "1.00× [1.00×, 1.00×], not distinguishable"),
        ([100.04, 200.08, 300.1], "1.0004× [1.0003×, 1.0005×]"),
        ([99.7, 199.5, 299.1], "0.997× [0.996×, 0.998×]"),
        ([101, 202, 304], "1.01× [1.01×, 1.02×]"),
        ([101.01, 202.02, 303.03], "1.01× [1.01×, 1.01×]"),
    ],
)
def test_a_small_difference_that_is_sure_does_not_read_as_none(
    seconds: list[float], told: str
) -> None:
    """1.00× [1.00×, 1.00×] stood there, which seemed to hold 1."""
    own, base = ([*enumerate(of)] for of in (seconds, [100.0, 200.0, 300.0]))
    ratio = paired_ratio(Times(dict(own), dict(own)), Times(dict(base), dict(base)))
    assert ratio is not None
    assert cell_text(Column(TIME, 0.7, versus="a"), ratio) == told
    in_words = "just as long" if ratio.tied else told.replace(" ", " as long ", 1)
    assert as_long(ratio) == in_words


@pytest.mark.parametrize(("columns", "most"), [("", PIPED), ("80", 80), ("160", 160)])
def test_a_table_fits_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str, most: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for index in range(9):
        for seed in range(3):
            name = f"a-variant-with-a-name-{index}"
            made_run(tmp_path, name, seed, reaches(30 + index + seed, 60), targets=(0.3, 0.7))
    comparison = compare(find_runs([tmp_path]), baseline="a-variant-with-a-name-0")
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
    comparison = compare(find_runs([tmp_path]))
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
    comparison = compare(find_runs([tmp_path]))
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
    text = render(compare(find_runs([tmp_path])), "latex")
    assert r"\usepackage{booktabs}" in text
    assert r"50\%\_\&\{b\} &" in text
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    assert body.count("&") - body.count(r"\&") == text.splitlines()[2].count("r") - 1
    for name in ("tabular",):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 2


def test_latex_sets_a_minus_where_one_is_meant(tmp_path: Path) -> None:
    for name, accuracy in (("a", 0.7), ("a-2", 0.6)):
        for seed in (0, 1, 2):
            made_run(tmp_path, name, seed, reaches(1, 2, accuracy + seed / 100 * (name != "a")))
    text = render(compare(find_runs([tmp_path]), baseline="a"), "latex")
    assert "\na-2 & 3 &" in text
    assert " & $-$" in text
    assert not re.search(r"[ }]-\d", text)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([0.98990, 0.98998], "0.9899 ± 0.0001"),
        ([0.9, 1.0], "0.9500 ± 0.0707"),
        ([12.0, 13.0], "12.50 ± 0.71"),
        ([0.15, 0.15], "0.15"),
        ([1e-6, 2e-6], "1.5e-06 ± 7.07e-07"),
    ],
)
def test_a_deviation_is_as_exact_as_its_mean(numbers: list[float], told: str) -> None:
    column = Column(Metric("macro_f1", "number", lambda _: math.nan))
    assert cell_text(column, Figure.of(numbers, worst=math.nan)) == told


@pytest.mark.parametrize(
    ("differences", "told"),
    [
        ([-0.0026, 0.0026, 0.00003], "+0.0000 [-0.0064, +0.0065]"),
        ([0.101, 0.102, 0.1033], "+0.1021 [+0.0992, +0.1050]"),
        ([0.01, 0.0172, 0.0136], "+0.0136 [+0.0047, +0.0225]"),
        ([-12_000.0, -12_400.0, -12_100.0], "-12,167 [-12,684, -11,650]"),
        ([0.5, 0.5, 0.5], "+0.5 [+0.5, +0.5]"),
    ],
)
def test_a_difference_is_told_no_finer_than_its_interval_is_wide(
    differences: list[float], told: str
) -> None:
    """It was "+1.307e-05 [-0.002586, +0.002613]"."""
    column = Column(Metric("macro_f1", "number", lambda _: math.nan), versus="a")
    assert cell_text(column, Figure.of(differences)) == told


@pytest.mark.parametrize(
    ("metric", "numbers", "told"),
    [
        (BYTES, [62_000, 64_000], "63.0 kB ± 1.4 kB"),
        (BYTES, [5_000, 5_000], "5 kB"),
        (BYTES, [967_998, 968_002], "968.000 kB ± 0.003 kB"),
        (TIME, [0.498, 0.502], "500.0 ms ± 2.8 ms"),
        (TIME, [26.0, 27.4], "26.70 s ± 0.99 s"),
        (TIME, [252.0, 290.0], "4 min 31 s ± 27 s"),
        (TIME, [7_980.0, 8_220.0], "2 h 15 min ± 3 min"),
        (ROUNDS, [1, 3], "2.0 ± 1.4"),
    ],
)
def test_a_mean_and_its_deviation_share_unit_and_place(
    metric: Metric, numbers: list[float], told: str
) -> None:
    """It was "63 kB ± 1.41 kB": the mean dropped its zeros, the deviation had more digits."""
    assert cell_text(Column(metric), Figure.of(numbers)) == told


def test_rounding_is_no_deviation() -> None:
    assert Figure.of([0.1 + 0.2, 0.3]).std == 0
    assert Figure.of([1e-30, 3e-30]).std > 0


def test_targets_are_told_once_each_lowest_first(tmp_path: Path) -> None:
    made_run(tmp_path, "a", 0, [0.1, 0.9])
    assert compare(find_runs([tmp_path]), ["70%", 0.4, "40%"]).targets == [0.4, 0.7]


def test_a_mean_of_the_last_rounds_is_explained(tmp_path: Path) -> None:
    made_run(tmp_path, "a", 0, [0.5] * 50)
    assert "last 50 rounds" not in render(compare(find_runs([tmp_path])), "table")
    made_run(tmp_path, "b", 0, [0.1] * 10 + [0.5] * 50)
    text = render(compare(find_runs([tmp_path])), "markdown")
    assert "| variant | accuracy | accuracy, last 50 rounds | rounds |" in text
    assert "Accuracy, last 50 rounds: the mean of their evaluations, or of all there are." in text
    made_run(tmp_path, "short", 0, [0.1, 0.5])  # as a synchronous run beside FedAsync's
    assert "last 50 rounds" not in render(compare(find_runs([tmp_path])), "table")


def test_comparisons_say_of_how_many_seeds_they_are(tmp_path: Path) -> None:
    """Beside "10 seeds" stood the ratio of the five that the baseline has, too."""
    for seed in range(4):
        made_run(tmp_path, "b", seed, [0.1, 0.8])
    for seed in (0, 1):
        made_run(tmp_path, "a", seed, [0.8])
    words = " ".join(render(compare(find_runs([tmp_path]), baseline="a"), "table").split())
    assert "Compared are the seeds that both have: 2 with b." in words
    words = " ".join(render(compare(find_runs([tmp_path])), "table").split())
    assert "seeds that both have" not in words


def test_the_legend_is_of_what_is_there(tmp_path: Path) -> None:
    for variant, seed in product("ab", (0, 1)):
        made_run(tmp_path, variant, seed, [], targets=())
    text = render(compare(find_runs([tmp_path]), baseline="a"), "table")
    assert "Ratios" not in text  # no target, no accuracy: nothing is compared
    made_run(tmp_path / "more", "c", 0, [0.5], targets=())
    made_run(tmp_path / "more", "c", 1, [], targets=())
    text = render(compare(find_runs([tmp_path / "more"])), "table")
    assert "median none, 1 of 2 none" in text
    assert "target" not in text


def test_why_there_is_no_ratio_to_what_took_nothing_is_told(tmp_path: Path) -> None:
    for variant, seed in product("ab", (0, 1)):
        made_run(tmp_path, variant, seed, [0.8], round_s=seed * 10.0)
    runs, why = find_runs([tmp_path]), "one of the two took nothing"
    assert why in " ".join(render(compare(runs, baseline="a"), "table").split())
    assert why not in " ".join(render(compare(runs), "table").split())


def test_chosen_columns_are_in_their_order_and_none_is_left_out(tmp_path: Path) -> None:
    """What the first variant lacks came last in a CSV file, and what all lack nowhere."""
    bare, power = [{"count": 2}], [{"count": 2, "power": {"compute": "1 W"}}]
    for name, fleet in (("a", bare), ("b", power)):
        made_run(tmp_path, name, 0, reaches(3, 5), fleet=fleet)
    asked = ["energy_j_to_70%", "energy_speedup_to_70%", "rounds"]
    text = render(compare(find_runs([tmp_path]), baseline="a").only(asked), "csv")
    heads = text.partition("\n")[0].split(",")
    assert [head for head in heads if head in asked] == asked


def test_a_column_for_a_paper_has_one_unit(tmp_path: Path) -> None:
    """39 min 5 s beside 2.1 h can't be compared at a glance, nor aligned."""
    for name, round_s in (("fast", 3.0), ("middle", 150.0), ("slow", 900.0)):
        for seed, late in ((0, 0), (1, 1)):
            made_run(tmp_path, name, seed, reaches(6 + late, 10), round_s=round_s)
    comparison = compare(find_runs([tmp_path]))
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
