"""On wide and narrow screens and in print nothing is cut."""

import json
import re
from pathlib import Path

import pytest

from simfl.report import write_report
from simfl.report.page.tuning import write_page
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.results.result import RunResult
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document
from tests.made_runs import made_run
from tests.report.page.browser import NEEDS_CHROMIUM, read
from tests.tiny import TINY

pytestmark = NEEDS_CHROMIUM


@pytest.mark.parametrize("width", [1280, 400, 320])
def test_nothing_is_cut(width: int, page: Path, tmp_path: Path) -> None:
    play = """const wide = document.documentElement;
    return {cut: wide.scrollWidth - wide.clientWidth,
      told: [...document.querySelectorAll(".plot, .scroll")].every(box =>
        getComputedStyle(box).backgroundAttachment.includes("local")),
      curves: simfl.figures.filter(f => f.chart && f.plot.scrollWidth > f.plot.clientWidth).length,
      empty: simfl.figures.filter(f => !f.plot.querySelector("svg path, svg rect")).length,
      small: simfl.figures.flatMap(f => [...f.plot.querySelectorAll("svg")]).map(svg =>
        svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)};"""
    found = read(page, play, tmp_path, width)
    assert found["cut"] <= 0
    assert found["curves"] == 0
    assert found["told"]  # by a shadow, where there is more to scroll to
    assert found["empty"] == 0
    assert min(found["small"]) > 0.85  # letters stay as large as they were meant


def test_long_names_and_short_values_fit_a_phone(tmp_path: Path) -> None:
    """A sweep's names ran out of the headline; `paper` stood in a table as `pape` above `r`."""
    endless = "no_place_to_break_a_line_at_all_" * 3
    for name, lr in (("clients=2_lr=0.1_partition=dirichlet-alpha=0.1", "lower"), ("b", "paper")):
        made_run(tmp_path / "runs", name, 0, [0.5, 0.6], targets=(), selection={"pacer": lr})
    for name in (endless, f"{endless}too"):
        made_run(tmp_path / "runs", name, 0, [0.5, 0.6], selection={"pacer": "x"}, finished=False)
    page = write_report(find_runs([tmp_path / "runs"]), tmp_path / "written.html")
    play = """const wide = document.documentElement;
    return {cut: wide.scrollWidth - wide.clientWidth,
      lines: [...document.querySelectorAll("td.wrap")].filter(td => td.textContent === "paper")
        .map(td => Math.round(td.clientHeight / parseFloat(getComputedStyle(td).lineHeight)))};"""
    assert read(page, play, tmp_path, 360) == {"cut": 0, "lines": [1]}


def test_bars_beside_long_names_fit_a_phone(tmp_path: Path) -> None:
    """What was late, or wasted, lay to the right of what can be seen."""
    for name in ("a", "a variant with a long name"):
        made_run(tmp_path / "runs", name, 0, [0.5, 0.6])
    page = write_report(find_runs([tmp_path / "runs"]), tmp_path / "written.html")
    play = """return [...document.querySelectorAll(".plot:has(text.row)")].map(plot => {
      const names = [...plot.querySelectorAll("text.row")].map(row => row.getBBox().x);
      const ends = [...plot.querySelectorAll("rect[class^='p-'], rect[class^='o-']")].map(bar =>
        bar.getBoundingClientRect().right - plot.getBoundingClientRect().right);
      return plot.scrollWidth <= plot.clientWidth && Math.max(...ends) < 0
        && Math.min(...names) > 0;});"""
    assert set(read(page, play, tmp_path, 390)) == {True}


def test_to_which_target_a_column_is_can_be_seen_on_a_phone(tmp_path: Path) -> None:
    """Above energies stood nothing: `to 30%` was in the middle of columns further right."""
    curves = [0.4, 0.6], [0.5, 0.7]
    runs = [made_run(tmp_path, "v", seed, own, targets=(0.55,)) for seed, own in enumerate(curves)]
    page = write_report(runs, tmp_path / "written.html")
    play = """return [...document.querySelectorAll("th.span")].map(th => {
      const box = th.closest(".scroll").getBoundingClientRect(), head = th.getBoundingClientRect();
      const words = th.firstElementChild.getBoundingClientRect();
      return head.left + words.width + 20 > box.right || words.right <= box.right;});"""
    assert set(read(page, play, tmp_path, 480)) == {True}


def test_a_wide_table_of_two_factors_says_in_sight_what_it_shows(tmp_path: Path) -> None:
    runs = []
    for clients in range(5, 13):
        run = made_run(tmp_path, f"clients={clients}", 0, [0.1, 0.5])
        point = {"training.optimizer.lr": clients % 2 + 1, "rounds.clients": clients}
        provenance = {"variant": f"clients={clients}", "seed": 0, "factors": point}
        (run.folder / "provenance.json").write_text(json.dumps(provenance))
        runs.append(RunResult(run.folder))
    play = """const caption = document.querySelector("#pivot caption").getBoundingClientRect();
    const box = document.querySelector("#pivot .scroll");
    return [box.scrollWidth > box.clientWidth,
      caption.right <= box.getBoundingClientRect().right + 1];"""
    assert read(write_report(runs, tmp_path / "written.html"), play, tmp_path, 360) == [True, True]


def test_without_a_script_it_is_whole(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    still = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    figures = re.findall(r"<figure.*?</figure>", still, re.DOTALL)
    assert figures
    for figure in figures:
        assert "<svg" in figure
        assert re.search(r"<(path|rect) class=\"(line|o-|p-)", figure)


def test_nothing_is_cut_in_print(page: Path, tmp_path: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert "@media print {" in html
    printed = tmp_path / "printed.html"
    printed.write_text(html.replace("@media print {", "@media all {"), encoding="utf-8")
    play = """const wide = document.documentElement, room = wide.clientWidth;
    return {cut: wide.scrollWidth - room,
      out: [...document.querySelectorAll("td, th, svg, figcaption")]
        .filter(e => e.getBoundingClientRect().right > room).length,
      heads: [...document.querySelectorAll("th button")]
        .filter(b => getComputedStyle(b).display !== "contents").length,
      scrolling: [...document.querySelectorAll(".plot, .scroll")]
        .filter(e => getComputedStyle(e).overflowX !== "visible").length};"""
    # A4 on its side, without its margins, is 1047 CSS pixels wide.
    assert read(printed, play, tmp_path, 1047) == {
        "cut": 0, "out": 0, "heads": 0, "scrolling": 0,
    }  # fmt: skip


def test_long_names_leave_numbers_whole_in_print(tmp_path: Path) -> None:
    """They took the room of "18.6 s ± 3.7 s", which was broken into four lines."""
    runs = [
        made_run(
            tmp_path,
            f"{which}{' all we thought of' * 5}",
            seed,
            curve,
            round_s=3210.0,
            targets=(0.3, 0.7),
        )
        for which in ("waits", "drops")
        for seed, curve in enumerate(([0.1, 0.8], [0.1] * 7, [0.2, 0.3, 0.7]))
    ]
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    printed = tmp_path / "printed.html"
    printed.write_text(page.replace("@media print {", "@media all {"), encoding="utf-8")
    play = """const cells = [...document.querySelector("table").querySelectorAll("td, td .sd")];
    return cells.flatMap(cell => [...cell.childNodes].filter(n => n.nodeType == 3)).filter(node => {
      const range = document.createRange(); range.selectNodeContents(node);
      return range.getClientRects().length > 1; }).map(node => node.textContent);"""
    assert read(printed, play, tmp_path, 1047) == []


DIFFER = """const box = document.querySelector("#origins .scroll");
    const rows = box.querySelectorAll("tr");
    const lines = node => {
      const range = document.createRange(); range.selectNodeContents(node);
      return new Set([...range.getClientRects()].map(r => Math.round(r.bottom))).size; };
    box.scrollLeft = 999;
    return {heads: Math.max(...[...rows[0].cells].map(head => head.clientWidth)),
      values: Math.max(...[...rows[1].cells].slice(1).map(lines)),
      words: Math.max(...[...rows[1].cells[0].querySelector("code").childNodes].map(lines)),
      seen: rows[1].cells[0].getBoundingClientRect().left >= 0,
      cut: document.documentElement.scrollWidth - document.documentElement.clientWidth};"""


@pytest.mark.parametrize("printed", [False, True])
def test_what_many_variants_differ_in_can_be_read(printed: bool, tmp_path: Path) -> None:
    """The longest name was as wide as the page, and letters of options stood above each other."""
    names = ["deadline-" * 9, *(f"v{n}" for n in range(11))]
    runs = []
    for name, number in zip(names, range(12), strict=True):
        policy = {f"option_{letter}_of_the_policy": f"{letter}{number}" for letter in "abcd"}
        words = "synchronous"[: 11 - number % 2]
        policy = {"name": "own", "a_name_of_several_words": words} | policy
        runs.append(made_run(tmp_path / "runs", name, 0, [0.5], rounds={"policy": policy}))
    page = write_report(runs, tmp_path / "page.html")
    if printed:
        html = page.read_text(encoding="utf-8").replace("@media print {", "@media all {")
        page.write_text(html.replace("@media screen", "@media tv"), encoding="utf-8")
    found = read(page, DIFFER, tmp_path, 1047)
    assert found["heads"] < 360
    assert found["values"] == 1 or printed
    assert (found["words"], found["seen"], found["cut"]) == (1, True, 0)


def test_a_table_of_means_and_spreads_fits_the_page(tmp_path: Path) -> None:
    runs = [
        made_run(
            tmp_path, name, seed, [0.1 + seed / 30, 0.5, last], round_s=3000.0, targets=(0.4, 0.6)
        )
        for name, last in (("waits", 0.9), ("drops-late", 0.5))
        for seed in range(3)
    ]
    play = """return [...document.querySelectorAll(".scroll")]
      .map(box => box.scrollWidth - box.clientWidth);"""
    page = write_report(runs, tmp_path / "written.html")
    assert set(read(page, play, tmp_path, 1100)) == {0}


@pytest.mark.parametrize("width", [1280, 400])
def test_names_on_an_axis_stay_names(width: int, tmp_path: Path) -> None:
    """On a phone, and zoomed, the values of a list that was tuned were 0, 1 and 2."""
    spec = {
        "parameters": {"fleet.uplink": ["1 Mbit/s", "100 kbit/s"]},
        "objective": "time",
        "trials": 2,
    }
    scenario = Document.of({**TINY, "tune": spec})
    path = write_page(tune(scenario, tmp_path / "tuned", Options(time_only=True, jobs=1)))
    play = """const named = f => f.node.querySelector("b").textContent === "fleet.uplink";
      const f = simfl.figures.find(named);
      const ticks = () => [...f.plot.querySelectorAll(".xs text")].map(t => t.textContent);
      const whole = ticks();
      f.plot.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
      return {whole, zoomed: ticks()};"""
    found = read(path, play, tmp_path, width)
    assert found["whole"] == ["1 Mbit/s", "100 kbit/s"]
    assert set(found["zoomed"]) <= set(found["whole"])
