"""The page's numbers are those of the tables."""

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from simfl.report import formats, write_report
from simfl.report.charts.costs import bytes_of
from simfl.report.page.sections import SLOWEST
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.critical_path import PHASES
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run
from tests.report.page.html_page import check, island


def rows(result: RunResult, name: str) -> list[dict[str, str]]:
    with (result.folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_numbers_of_one_run_are_those_of_its_tables(
    compared: list[RunResult], tmp_path: Path
) -> None:
    result = compared[-1]
    checker = check(write_report([result], tmp_path / "page.html"))
    rounds, clients = rows(result, "rounds.csv"), rows(result, "clients.csv")
    moved, time_s, bytes_ = 0, None, None
    for row in rounds:
        moved += sum(int(row[f"{what}_bytes"]) for what in ("download", "upload", "probe"))
        if time_s is None and float(row["accuracy"]) >= 0.2:
            time_s, bytes_ = float(row["end_s"]), moved
    lost = [row for row in clients if row["outcome"] != "arrived"]
    wasted = sum(int(row["download_bytes"]) + int(row["upload_bytes"]) for row in lost)
    assert time_s is not None
    assert bytes_ is not None
    expected = [
        formats.percent(float(rounds[-1]["accuracy"]), 2),
        formats.duration(time_s),
        formats.size(bytes_),
        formats.duration(float(rounds[-1]["end_s"])),
        formats.size(moved),
        formats.size(wasted),
        formats.energy(sum(float(row["energy_j"]) for row in clients)),
    ]
    shown = [cell for cell in checker.cells if cell in expected]
    assert set(expected) <= set(shown)
    asked = {row["client"] for row in clients}
    assert f"{len(asked)} of 30 devices were asked" in " ".join(checker.words)


def test_totals_are_those_of_the_summary(
    compared: list[RunResult], timed: list[RunResult], probed: RunResult, tmp_path: Path
) -> None:
    for number, result in enumerate([*compared, *timed, probed]):
        summary, totals = result.summary, result.summary["totals"]
        folder = Path(shutil.copytree(result.folder, tmp_path / str(number)))
        (folder / "summary.json").unlink()
        folded = RunResult(folder)  # which has the tables alone
        assert folded.outcomes == summary["participations"]
        for name in ("final_accuracy", "best_accuracy", "terminal_accuracy"):
            told = np.nan if summary[name] is None else summary[name]
            np.testing.assert_equal(getattr(folded, name), told)
        for target, at in summary["targets"].items():
            reached = folded.reached(float(target))
            assert (reached is None) == (at is None)
            if reached is not None:
                assert (reached.time_s, reached.round) == (at["time_s"], at["round"])
                assert reached.bytes == at["bytes"]
        if "normalised_round_time" in summary:
            expected = summary["normalised_round_time"]["last_arrival"]
            assert folded.normalised_round == expected
        if folded.component("rounds", "policy") == "synchronous":  # ends with nobody at work
            moved = sum(totals[f"{what}_bytes"] for what in ("download", "upload", "probe"))
            assert folded.total_bytes == result.total_bytes == moved
            assert folded.wasted_bytes == result.wasted_bytes == totals["wasted_bytes"]
            assert folded.end_s == result.end_s == summary["virtual_time_s"]
            assert folded.total_energy_j == pytest.approx(totals["energy_j"], rel=1e-12)


def test_seeds_are_averaged_and_variants_side_by_side(
    compared: list[RunResult], tmp_path: Path
) -> None:
    checker = check(write_report(compared, tmp_path / "page.html"))
    ends = [result.summary["virtual_time_s"] for result in compared[:2]]
    mean = sum(ends) / 2
    spread = abs(ends[0] - ends[1]) / 2**0.5
    assert f"{formats.duration(mean)} ± {formats.duration(spread)}" in checker.cells
    assert {"waits", "drops"} <= set(checker.cells)
    assert "Nobody reached 99%" in " ".join(checker.words)


def test_what_variants_differ_in(compared: list[RunResult], tmp_path: Path) -> None:
    checker = check(write_report(compared, tmp_path / "page.html"))
    assert "rounds.policy.deadline" in checker.cells
    assert "training.epochs" not in checker.cells


def test_where_many_variants_differ_each_has_a_row(tmp_path: Path) -> None:
    """27 columns of a sweep's points were 8,000 pixels wide."""
    names = [f"clients={n}_deadline=none_lr=0.01" for n in range(1, 10)]
    runs = [
        made_run(tmp_path / "runs", name, 0, [0.5], rounds={"clients": n})
        for n, name in enumerate(names, start=1)
    ]
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'aria-label="table by variant: rounds.clients"' in page
    few = write_report(runs[:2], tmp_path / "few.html").read_text(encoding="utf-8")
    assert f'aria-label="table by option: {names[0]}, {names[1]}"' in few


def test_probes_are_paid_for(probed: RunResult, tmp_path: Path) -> None:
    totals, moved = probed.summary["totals"], bytes_of(probed)
    assert moved["probes"] == totals["probe_bytes"] > 0
    assert sum(moved.values()) == sum(
        totals[f"{what}_bytes"] for what in ("download", "upload", "probe")
    )
    assert "probes" in " ".join(check(write_report([probed], tmp_path / "page.html")).words)


def test_the_anatomy_names_a_probe_where_there_is_one(
    compared: list[RunResult], probed: RunResult, tmp_path: Path
) -> None:
    asked = Anatomy.of(probed).phases_ns[:-1, PHASES.index("poll")]
    dispatched = probed.clients.groupby("round")["selected_s"].min().to_numpy()
    # A synchronous server does nothing else first.
    waited = dispatched - probed.of_rounds("start_s")
    np.testing.assert_allclose(asked / 1e9, waited, atol=1e-8)
    assert (asked > 0).all()
    for run, legend in ((probed, True), (compared[0], False)):
        page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
        assert ('<i class="key p-probe"></i>poll' in page) == legend


def test_a_table_of_some_devices_says_of_how_many(
    compared: list[RunResult], tmp_path: Path
) -> None:
    """Twelve rows stood there as if they were all."""
    asked = len(np.unique(compared[0].of_clients("client")))
    assert asked > SLOWEST
    page = write_report(compared[:1], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Below are the {SLOWEST} that cost most of {asked}: " in page
    assert ">rounds it was last in</th>" in page


def test_every_chart_can_be_taken_along_as_numbers(
    compared: list[RunResult], timed: list[RunResult], tmp_path: Path
) -> None:
    """Charts that are drawn once gave the sentences of their shapes, or nothing."""
    for results in (compared, compared[:1], timed):
        page = write_report(results, tmp_path / "page.html").read_text(encoding="utf-8")
        named = re.findall(r'<figure data-(?:chart|table)="([^"]*)"', page)
        assert len(named) == page.count("<figure") > 3
        charts = island(page)
        assert set(named) == set(charts)
        for title, table in charts.items():
            if isinstance(table, list):
                assert len(table) > 1, title
                assert {len(row) for row in table} == {len(table[0])}
    alone = island(write_report(compared[:1], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [extent["column"] for extent in alone["learning"]["xs"]] == [
        "time_s", "round", "bytes", "energy_j",
    ]  # fmt: skip
    run = compared[0]
    header, *moved = alone["Bytes by purpose"]
    assert header == ["variant", "part", "bytes"]
    assert sum(row[2] for row in moved) == pytest.approx(run.total_bytes, rel=1e-5)
    header, *spent = alone["Anatomy of each round"]
    assert header == ["from_round", "to_round", "phase", "time_s"]
    assert sum(row[3] for row in spent) == pytest.approx(run.end_s, rel=1e-4)
    header, *heard = alone["Who was heard how often"]
    assert header == ["device", "asked", "counted"]
    assert [row[2] for row in heard] == run.participations.tolist()
