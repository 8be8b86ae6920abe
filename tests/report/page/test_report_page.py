"""The page stands alone, is well formed, says what the tables say, and never changes by itself."""

import csv
import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simfl
from simfl.cli import main
from simfl.report import formats, write_report, write_reports
from simfl.report.charts.anatomy import anatomy
from simfl.report.page.notes import notes
from simfl.report.page.rendering import SCRIPT, asset, script
from simfl.report.page.sections import SLOWEST
from simfl.runs.folder.lock import locked
from simfl.runs.options import Options
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.critical_path import PHASES
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from tests.made_runs import made_run
from tests.tiny import TINY, RunTiny

STUDY_BYTES = 8_000_000
"""A page of 9 variants, 3 seeds and 100 rounds is smaller; `benchmarks/opening.py` opens it."""
VOID = {"meta", "br", "img", "link", "input", "hr", "wbr"}


class Checker(HTMLParser):
    """Fails on tags that do not match; collects text, tables and addresses."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.words.append(data)
        if any(tag in ("td", "th") for tag in self.open):
            self.cells[-1] += data


def check(path: Path) -> Checker:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    return checker


def rows(result: RunResult, name: str) -> list[dict[str, str]]:
    with (result.folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_well_formed_and_self_contained(compared: list[RunResult], tmp_path: Path) -> None:
    for results in (compared, compared[:1]):
        path = write_report(results, tmp_path / "page.html")
        checker = check(path)
        icon, *others = checker.addresses
        assert icon == "data:,"  # so that no browser asks for one
        assert all(other.startswith("#") for other in others)
        assert not checker.tags & {"img", "iframe", "object", "embed"}
        text = path.read_text(encoding="utf-8")
        text = text.replace('"http://www.w3.org/2000/svg"', "").replace("url(#${clip})", "")
        assert not re.search(r"url\(|@import|https?:|import\(|fetch\(|XMLHttp|sendBeacon", text)


def test_landmarks_heads_and_charts_have_words(compared: list[RunResult], tmp_path: Path) -> None:
    page = write_report(compared, tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<main>") == 1
    assert not re.search(r"<th[^>]*></th>", page)
    assert page.count("<desc>") == page.count("<svg ")
    assert "<desc>Axes: virtual time (min) from 0 to " in page
    boxes = re.findall(r'<div class="scroll"[^>]*>', page)  # which the Tab key stops at
    assert boxes
    assert all('role="region" aria-label="table by ' in box for box in boxes)
    assert 'aria-label="table by variant, to 20%, to 99%"' in boxes[0]
    assert len(set(boxes)) == len(boxes)  # told from each other by ear, too
    first = re.findall(r"<tbody>\n<tr><(\w+ scope=\"row\")", page)  # is said with each of its cells
    assert len(first) == len(boxes)


def test_the_scripts_are_small_and_whole() -> None:
    """Every file of `script` is part of the script, and all of them share one scope."""
    names = [file.name for file in files("simfl.report.page").joinpath("script").iterdir()]
    assert sorted(names) == sorted(f"{name}.js" for name in SCRIPT)
    assert script().startswith('"use strict";\n(() => {\n')
    assert script().endswith("})();\n")
    assert len(f"{script()}{asset('live.js')}".encode()) <= 60_000


EVIL = "</script><script>alert(1)</script><b a='\"&"


def test_what_users_wrote_is_escaped(compared: list[RunResult], tmp_path: Path) -> None:
    text = write_report(compared, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a fleet with &lt;slow&gt; &amp; offline devices" in text
    assert "<slow>" not in text


def test_whatever_users_wrote_is_escaped(tmp_path: Path) -> None:
    """Names of variants, scenarios and groups stand in text, attributes, pictures and data."""
    runs = [
        made_run(tmp_path / str(i), "v", 0, [0.5, 0.8], name=EVIL, description=EVIL) for i in (0, 1)
    ]
    for i, run in enumerate(runs):
        (run.folder / "provenance.json").write_text(json.dumps({"variant": f"{EVIL}{i}"}))
    page = write_report(runs, tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "<b a=" not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert f"{EVIL}1" in check(page).cells
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert data is not None
    charts = json.loads(data[1])
    assert charts["learning"]["series"][1]["name"] == f"{EVIL}1"


def test_same_bytes_again(compared: list[RunResult], tmp_path: Path) -> None:
    first = write_report(compared, tmp_path / "a.html").read_bytes()
    assert write_report(compared, tmp_path / "b.html").read_bytes() == first


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
    compared: list[RunResult], timed: list[RunResult], probed: RunResult
) -> None:
    for result in [*compared, *timed, probed]:
        run, summary = result, result.summary
        assert run.total_bytes == result.total_bytes
        assert run.wasted_bytes == summary["totals"]["wasted_bytes"]
        assert run.end_s == summary["virtual_time_s"]
        assert run.outcomes == summary["participations"]
        assert run.total_energy_j == summary["totals"]["energy_j"]
        for name in ("final_accuracy", "best_accuracy", "terminal_accuracy"):
            told = np.nan if summary[name] is None else summary[name]
            np.testing.assert_equal(getattr(run, name), told)
        for target, at in summary["targets"].items():
            reached = run.reached(float(target))
            assert (reached is None) == (at is None)
            if reached is not None:
                assert (reached.time_s, reached.round) == (at["time_s"], at["round"])
                assert reached.bytes == at["bytes"]
        if "normalised_round_time" in summary:
            expected = summary["normalised_round_time"]["last_arrival"]
            assert run.normalised_round == expected


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


def test_long_names_of_variants_are_broken_into_lines(tmp_path: Path) -> None:
    """At the edge of a table that is scrolled they left no room for its numbers."""
    long = "a-name-that-says-all-that-was-changed"
    runs = [made_run(tmp_path / "runs", name, 0, [0.5]) for name in ("short", long)]
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    page = re.sub("<wbr>|</?span[^>]*>", "", page)
    heads = re.findall(r'<th scope="row"([^>]*)>(?:<i[^>]*></i>)?(short|' + long + ")<", page)
    assert {("", "short"), (' class="long"', long)} == set(heads)
    assert len(heads) == 2 * 3  # results, clients, runs


def test_an_interrupted_run_has_a_page(broken_off: RunResult, tmp_path: Path) -> None:
    checker = check(write_report([broken_off], tmp_path / "page.html"))
    only = broken_off
    assert only.n_rounds == len(rows(broken_off, "rounds.csv")) - 1  # the last is cut short
    assert only.targets == [0.2, 0.99]
    assert "Not finished:" in checker.words
    planned, page = only.scenario["rounds"]["stop"]["rounds"], (tmp_path / "page.html").read_text()
    assert f"(round {only.n_rounds} of {planned}); <code>simfl resume</code> goes on" in page
    with locked(only.folder):
        page = write_report([broken_off], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"(round {only.n_rounds} of {planned}); still running." in page
    assert "goes on where it stopped" not in page


def test_a_run_that_failed_says_by_what(broken_off: RunResult, tmp_path: Path) -> None:
    path = broken_off.folder / "provenance.json"
    failed = {"round": 3, "error": "ValueError: <no>"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "failed": failed}))
    run = RunResult(broken_off.folder)
    page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    told = f"<b>Failed:</b> {run.variant} seed {run.seed} in round 3: ValueError: &lt;no&gt;; once"
    assert told in page
    assert "Not finished" not in page


def test_what_five_runs_failed_by_is_told_once(tmp_path: Path) -> None:
    """A mistake in a selector of one's own stood there three times, in a paragraph of its own."""
    for seed in range(5):
        folder = made_run(tmp_path, "own", seed, [0.5], finished=False).folder
        path = folder / "provenance.json"
        failed = {"round": 1, "error": "ValueError: no" if seed < 4 else "ValueError: yes"}
        path.write_text(json.dumps({**json.loads(path.read_text()), "failed": failed}))
    runs = [RunResult(tmp_path / "own" / f"seed-{seed}") for seed in range(5)]
    assert dict(notes({"own": runs}))["Failed"].startswith(
        "own seed 0, own seed 1, own seed 2 and 1 more in round 1: ValueError: no; own seed 4 in "
        "round 1: ValueError: yes; once"
    )


def test_what_was_not_recorded_is_not_promised(tmp_path: Path) -> None:
    """The digest of an empty log stood there, and files with nothing in them."""
    runs = simfl.run(
        Scenario.from_dict(TINY), tmp_path, Options(time_only=True, log="none", jobs=1)
    )
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    assert sha256(b"").hexdigest()[:16] not in page
    assert "clients.csv" not in page
    assert "was not recorded (<code>--log none</code>)" in page


def test_a_run_that_has_hardly_begun_has_a_page(broken_off: RunResult, tmp_path: Path) -> None:
    for name in ("rounds.csv", "clients.csv"):
        head = (broken_off.folder / name).read_text().splitlines(keepends=True)[0]
        (broken_off.folder / name).write_text(head)
    (broken_off.folder / "events.jsonl").write_text("")
    words = check(write_report([broken_off], tmp_path / "page.html")).words
    assert "No round has ended yet." in words
    assert "Who was heard how often" not in words
    write_reports([broken_off], broken_off.folder)


def test_time_only_is_said(timed: list[RunResult], tmp_path: Path) -> None:
    words = check(write_report(timed, tmp_path / "page.html")).words
    assert "Time only:" in words
    assert "Rounds over virtual time" in words
    assert not any("Accuracy over" in word for word in words)


def test_an_oracle_is_said(
    compared: list[RunResult], broken_off: RunResult, tmp_path: Path
) -> None:
    assert "Oracle selector:" not in check(write_report(compared, tmp_path / "page.html")).words
    path = broken_off.folder / "provenance.json"
    path.write_text(path.read_text().replace('"oracle": false', '"oracle": true'))
    assert "Oracle selector:" in check(write_report([broken_off], tmp_path / "page.html")).words


def test_probes_are_paid_for(probed: RunResult, tmp_path: Path) -> None:
    run = probed
    assert run.bytes_by_purpose["probes"] == probed.summary["totals"]["probe_bytes"] > 0
    assert run.total_bytes == probed.total_bytes
    assert "probes" in " ".join(check(write_report([probed], tmp_path / "page.html")).words)


def test_runs_of_two_scenarios_are_told_apart(
    compared: list[RunResult], broken_off: RunResult
) -> None:
    path = broken_off.folder / "scenario.yaml"
    path.write_text(path.read_text().replace("name: reported", "name: other", 1))
    runs = [compared[0], compared[1], broken_off]
    assert {name: len(found) for name, found in by_variant(runs).items()} == {
        "reported/waits": 2,
        "other/drops": 1,
    }


class TestCommand:
    def test_all_pages(self, compared: list[RunResult], capsys: pytest.CaptureFixture[str]) -> None:
        top = compared[0].folder.parents[1]
        assert main(["report", str(top)]) == 0
        assert capsys.readouterr().out == f"Report: {top / 'report.html'}\n"
        for folder in [top, *(result.folder for result in compared)]:
            check(folder / "report.html")
        assert all((result.folder / "trace.json").exists() for result in compared)

    def test_only_the_page_asked_for(self, broken_off: RunResult, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        assert main(["report", str(broken_off.folder), "--out", str(page)]) == 0
        check(page)
        assert not (broken_off.folder / "report.html").exists()
        assert not (broken_off.folder / "trace.json").exists()

    @pytest.mark.parametrize("what", ["missing", "empty", "damaged table", "damaged scenario"])
    def test_bad_folders(
        self, what: str, broken_off: RunResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder, named = broken_off.folder, "clients.csv"
        if what == "missing":
            folder, named = tmp_path / "nowhere", "nowhere"
        elif what == "empty":
            folder, named = tmp_path / "empty", "empty"
            folder.mkdir()
        elif what == "damaged table":
            (folder / "clients.csv").write_text("round,client\n1,what\n")
        else:
            named = "scenario.yaml"
            (folder / "scenario.yaml").write_text("{")
        assert main(["report", str(folder)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert named in error
        assert "Traceback" not in error
        assert not (folder / "report.html").exists()

    @pytest.mark.parametrize("out", ["", "nowhere/page.html"])
    def test_bad_out(
        self,
        out: str,
        compared: list[RunResult],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        folder = str(compared[0].folder)
        assert main(["report", folder, "--out", str(tmp_path / out)]) == 2
        assert "error: --out: " in capsys.readouterr().err

    def test_several_folders_are_compared_here(
        self,
        compared: list[RunResult],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert main(["report", *(str(result.folder) for result in compared[1:3])]) == 0
        assert capsys.readouterr().out == "Report: report.html\n"
        check(tmp_path / "report.html")


def test_the_anatomy_names_a_probe_where_there_is_one(
    compared: list[RunResult], probed: RunResult, tmp_path: Path
) -> None:
    asked = Anatomy.of(probed).phases_ns[:-1, PHASES.index("poll")]
    dispatched = probed.clients.groupby("round")["selected_s"].min().to_numpy()
    waited = dispatched - probed.column("start_s")  # a synchronous server does nothing else first
    np.testing.assert_allclose(asked / 1e9, waited, atol=1e-8)
    assert (asked > 0).all()
    for run, legend in ((probed, True), (compared[0], False)):
        page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
        assert ('<i class="key p-probe"></i>poll' in page) == legend


def test_short_rounds_are_told_with_how_many_devices_a_result_rests_on(tmp_path: Path) -> None:
    run = made_run(tmp_path, "v", 0, [0.5, 0.6, 0.7])
    path = tmp_path / "page.html"
    assert "Rounds ran short:" not in check(write_report([run], path)).words
    with (run.folder / "rounds.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    for row in table[:2]:
        row["missing"] = "3"
    with (run.folder / "rounds.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    words = " ".join(check(write_report([RunResult(run.folder)], path)).words)
    assert "2 of 3 rounds had fewer clients than asked; updates of 2 of 2 devices counted" in words


def test_a_table_of_some_devices_says_of_how_many(
    compared: list[RunResult], tmp_path: Path
) -> None:
    """Twelve rows stood there as if they were all."""
    asked = len(np.unique(compared[0].part("client")))
    assert asked > SLOWEST
    page = write_report(compared[:1], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Below are the {SLOWEST} that cost most of {asked}: " in page
    assert ">rounds it was last in</th>" in page


def test_names_break_after_their_marks(compared: list[RunResult], tmp_path: Path) -> None:
    """On a phone they broke within words, and from their colours."""
    name = "lr=0.1_clients-per-round=5"
    runs = [made_run(tmp_path, n, 0, [0.1, 0.2]) for n in (name, "b")]
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    told = (
        '<span class="whole"><i class="key c0"></i>lr=</span>'
        "<wbr>0.1_<wbr>clients-<wbr>per-<wbr>round=<wbr>5"
    )
    assert f'<th scope="row">{told}</th>' in page
    assert f'<li data-css="c0">{told}</li>' in page


def test_contents_lead_to_what_there_is(compared: list[RunResult], tmp_path: Path) -> None:
    """From the top of a long page to its costs the Tab key stopped at every table and chart."""
    page = write_report(compared, tmp_path / "page.html").read_text(encoding="utf-8")
    [contents] = re.findall(r"<nav.*?</nav>", page, re.DOTALL)
    links = dict(re.findall(r'<a href="#(\w+)">([^<]*)', contents))
    assert list(links.values()) == ["Learning", "Rounds", "Clients", "Costs", "How it was made"]
    assert all(page.count(f' id="{place}"') == 1 for place in links)


def test_only_warnings_look_like_warnings(tmp_path: Path) -> None:
    """That late clients need not be trained was as yellow as a run that diverged."""
    made = made_run(tmp_path, "v", 0, [0.1] * 4)
    made.summary["trainings"]["dropped"] = 1
    made.round_rows["loss"] = float("inf")
    page = write_report([made], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<li><b>Never trained:</b>" in page
    assert '<li class="warns"><b>Diverged:</b>' in page


def test_notes_say_how_many_in_plain_words(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, f"v{n}", 0, [0.1]) for n in range(5)]
    for run in runs:
        run.round_rows["missing"] = 3
        run.summary["totals"] |= {"wasted_bytes": 500}
        run.summary["trainings"] |= {"issued": 4, "dropped": 1, "computed": 3}
    told = " ".join(text for _, text in notes(by_variant(runs)))
    assert "fewer with 2 other variants" in told
    assert "25.0% of v0's bytes; 25.0% of v1's bytes; 25.0% of v2's bytes" in told
    assert "5 of 20 trainings were never computed, as their updates came to nothing" in told
    assert "in 1 of 1 round." in anatomy({"v": runs[:1]}).about  # type: ignore[union-attr]


def test_of_what_nothing_was_trained_is_named(run_tiny: RunTiny) -> None:
    """Beside accuracies of others it was said of all, and its orders counted as trained."""
    late = {"rounds.policy": {"name": "synchronous", "deadline": "1 s"}}
    trained, timed = run_tiny(late), run_tiny(late, Options(time_only=True))
    told = dict(notes({"a": [trained], "b": [timed]}))
    assert told["Time only"].startswith("nothing was trained with b, so")
    counts = trained.summary["trainings"]
    assert f"{counts['dropped']} of {counts['issued']} trainings" in told["Never trained"]
    assert dict(notes({"b": [timed]}))["Time only"].startswith("nothing was trained, so")


def test_the_page_of_a_study_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [
        made_run(tmp_path, f"variant-{n}", seed, np.sort(rng.random(100)).tolist())
        for n in range(9)
        for seed in range(3)
    ]
    assert write_report(runs, tmp_path / "report.html").stat().st_size < STUDY_BYTES


def test_a_fork_is_told_and_marked(tmp_path: Path) -> None:
    """Nothing on its page said so, but the provenance at its end."""
    runs = [made_run(tmp_path, name, 0, [0.1, 0.5, 0.6]) for name in ("plain", "plain-fork")]
    fork = {"variant": "plain", "at_s": 15.0, "set": ["rounds.policy=fedbuff"]}
    path = runs[1].folder / "provenance.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "forks": [fork]}))
    told = "ork of plain, from 15.0 s on: rounds.policy=fedbuff."
    for results, words, marks in (
        (runs[1:], f"F{told}", True),
        (runs, f"plain-fork: f{told}", True),
        (runs[:1], told, False),
    ):
        out = write_report([RunResult(run.folder) for run in results], tmp_path / "page.html")
        assert (words in check(out).words) == marks
        page = out.read_text(encoding="utf-8")
        assert ('y="24">fork</text>' in page) == marks
        assert island(page)["learning"]["forks"] == ([15.0] if marks else [])


def island(page: str) -> dict[str, Any]:
    """Return what the page's script is given."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert data is not None
    charts: dict[str, Any] = json.loads(data[1])
    return charts


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


def test_the_factors_of_a_large_sweep_stand_first(tmp_path: Path) -> None:
    """They stood below two tables with a row for every variant."""
    runs = []
    for level in range(9):
        run = made_run(tmp_path, f"v{level:02}", 0, [0.1, 0.5])
        provenance = {"variant": run.variant, "seed": 0, "factors": {"lr": level}}
        (run.folder / "provenance.json").write_text(json.dumps(provenance))
        runs.append(RunResult(run.folder))
    for count, factors_first in ((8, False), (9, True)):
        path = write_report(runs[:count], tmp_path / "page.html")
        check(path)
        page = path.read_text(encoding="utf-8")
        place = page.index('id="factors"')
        assert (place < page.index("<figure")) == factors_first
        assert (place < page.index(">last accuracy<")) == factors_first
        link = page.index('href="#factors"')
        assert (link < page.index('href="#curves"')) == factors_first
