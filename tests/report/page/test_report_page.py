"""The page stands alone, is well formed, escapes what users wrote, and never changes by itself."""

import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np

from simfl.report import write_report, write_reports
from simfl.report.page.rendering import SCRIPT, asset, script
from simfl.runs.folder.lock import locked
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run
from tests.report.page.html_page import check, island

STUDY_BYTES = 8_000_000
"""A page of 9 variants, 3 seeds and 100 rounds is smaller; `benchmarks/opening.py` opens it."""


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
    assert island(text)["learning"]["series"][1]["name"] == f"{EVIL}1"


def test_same_bytes_again(compared: list[RunResult], tmp_path: Path) -> None:
    first = write_report(compared, tmp_path / "a.html").read_bytes()
    assert write_report(compared, tmp_path / "b.html").read_bytes() == first


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
    lines = (only.folder / "rounds.csv").read_text().split("\n")
    assert only.n_rounds == len(lines) - 2  # beside the header and the last, which is cut short
    assert only.targets == [0.2, 0.99]
    assert "Not finished:" in checker.words
    planned, page = only.scenario["rounds"]["stop"]["rounds"], (tmp_path / "page.html").read_text()
    assert f"(round {only.n_rounds} of {planned}); <code>simfl resume</code> goes on" in page
    with locked(only.folder):
        page = write_report([broken_off], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"(round {only.n_rounds} of {planned}); still running." in page
    assert "goes on where it stopped" not in page


def test_a_run_that_has_hardly_begun_has_a_page(broken_off: RunResult, tmp_path: Path) -> None:
    for name in ("rounds.csv", "clients.csv"):
        head = (broken_off.folder / name).read_text().splitlines(keepends=True)[0]
        (broken_off.folder / name).write_text(head)
    (broken_off.folder / "events.jsonl").write_text("")
    words = check(write_report([broken_off], tmp_path / "page.html")).words
    assert "No round has ended yet." in words
    assert "Who was heard how often" not in words
    write_reports([broken_off], broken_off.folder)


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


def test_the_page_of_a_study_is_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    runs = [
        made_run(tmp_path, f"variant-{n}", seed, np.sort(rng.random(100)).tolist())
        for n in range(9)
        for seed in range(3)
    ]
    page = write_report(runs, tmp_path / "report.html")
    assert page.stat().st_size < STUDY_BYTES
    assert "<p>9 variants · seeds 0-2 · 2 devices · 100 rounds</p>" in page.read_text()


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
