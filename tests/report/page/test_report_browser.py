"""The page in a browser: charts are drawn, switches switch, nothing is cut, the numbers are right.

Chromium loads the page in a frame with a script of ours that plays the reader and reports.
"""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from simfl.report import write_report
from simfl.report.page.live import LiveRuns
from simfl.report.page.tuning import write_page
from simfl.runs.options import Options
from simfl.runs.results.find import find_runs
from simfl.runs.results.result import RunResult
from simfl.runs.tuning.tune import tune
from simfl.scenario import Document
from tests.made_runs import made_run
from tests.tiny import TINY

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)"),
]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom",
)  # fmt: skip
WATCH = """<script>
window.problems = [];
addEventListener("error", e => problems.push(e.message));
for (const name of ["error", "warn"]) console[name] = (...words) => problems.push(words.join(" "));
</script>"""
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe src="page.html" width="%d" height="900"
style="border:0"></iframe><script>addEventListener("message", e => {
  const pre = document.createElement("pre"); pre.id = "report"; pre.textContent = e.data;
  document.body.appendChild(pre); });</script>"""


def read(
    page: Path, play: str, tmp_path: Path, width: int = 1280, flags: Sequence[str] = ()
) -> Any:
    """Return what `play`, the body of a function in the page, returns; fail on console errors."""
    html = page.read_text(encoding="utf-8").replace("<head>", f"<head>{WATCH}", 1)
    end = (
        f"<script>const found = (() => {{{play}}})();"
        "setTimeout(() => parent.postMessage(JSON.stringify({found, problems}), '*'), 300);"
        "</script></body>"
    )
    (tmp_path / "page.html").write_text(html.replace("</body>", end))
    (tmp_path / "frame.html").write_text(FRAME % width)
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [str(CHROMIUM), *FLAGS, *flags, profile, f"--window-size={width + 20},1000"]
    done = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    match = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr[-2000:]
    report = json.loads(unescape(match[1]))
    assert report["problems"] == []
    return report["found"]


@pytest.fixture(scope="module")
def nine(tmp_path_factory: pytest.TempPathFactory) -> Sequence[RunResult]:
    """Nine variants with two seeds that end apart, one of them badly named."""
    top = tmp_path_factory.mktemp("nine")
    names = [f"variant-{index}" for index in range(8)] + ["</script><b>&amp;"]
    return [
        made_run(
            top, name.replace("/", "|"), seed, [0.08 * n + 0.01 * i for n in range(1, 9 + seed)]
        )
        for i, name in enumerate(names)
        for seed in (0, 1)
    ]


@pytest.fixture(params=["compared", "alone", "nine"])
def page(
    request: pytest.FixtureRequest,
    compared: list[RunResult],
    nine: Sequence[RunResult],
    tmp_path: Path,
) -> Path:
    runs = {"compared": compared, "alone": compared[:1], "nine": nine}[request.param]
    return write_report(runs, tmp_path / "written.html")


def test_the_script_draws_what_the_page_came_with(page: Path, tmp_path: Path) -> None:
    play = """return simfl.figures.filter(f => f.chart).map(f => {
      const inner = html => {
        const box = document.createElement("div"); box.innerHTML = html; return box; };
      const all = (html, what) => [...inner(html).querySelectorAll(what)];
      const numbers = html => all(html, "path").map(p => p.getAttribute("d")).join(" ")
        .match(/-?[0-9.]+/g).map(Number);
      const words = html => all(html, "text, desc").map(t => t.textContent).sort();
      const redrawn = simfl.redraw(f), [a, b] = [numbers(f.still), numbers(redrawn)];
      return {name: f.chart.name, same: a.length === b.length,
        off: Math.max(...a.map((v, i) => Math.abs(v - b[i]))),
        still: words(f.still), redrawn: words(redrawn)};
    });"""
    charts = read(page, play, tmp_path)
    assert len(charts) >= 2
    for chart in charts:
        assert chart["same"], chart
        assert chart["off"] <= 0.11, chart  # pixels: a rounding
        assert chart["still"] == chart["redrawn"]


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_cut(width: int, page: Path, tmp_path: Path) -> None:
    play = """const wide = document.documentElement;
    return {cut: wide.scrollWidth - wide.clientWidth,
      told: [...document.querySelectorAll(".plot, .scroll")].every(box =>
        getComputedStyle(box).backgroundAttachment.includes("local")),
      empty: simfl.figures.filter(f => !f.plot.querySelector("svg path, svg rect")).length,
      small: simfl.figures.flatMap(f => [...f.plot.querySelectorAll("svg")]).map(svg =>
        svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)};"""
    found = read(page, play, tmp_path, width)
    assert found["cut"] <= 0
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


def test_switches_switch(page: Path, tmp_path: Path) -> None:
    play = """const f = simfl.figures[0], now = () => f.plot.innerHTML, seen = [now()];
    const said = [];
    for (const box of f.node.querySelectorAll("select"))
      for (let i = 1; i < box.options.length; i++) {
        box.value = i; box.dispatchEvent(new Event("change")); seen.push(now()); }
    for (const box of f.node.querySelectorAll("[data-switch]")) { box.click(); seen.push(now()); }
    const legend = f.node.querySelector(".legend button");
    if (legend) {
      legend.click(); seen.push(now()); said.push(legend.getAttribute("aria-pressed")); }
    const svg = f.plot.querySelector("svg"), box = svg.getBoundingClientRect();
    const key = k => svg.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
    key("ArrowRight"); key("ArrowRight");
    said.push(document.querySelector(".tip").textContent);
    const offers = () => !f.node.querySelector("[data-whole]").hidden, offered = [offers()];
    key("+"); seen.push(now()); offered.push(offers());
    f.plot.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
    offered.push(offers());
    const head = document.querySelector("tr.heads th button");
    const first = () => document.querySelector("tbody th").textContent;
    let order = [];
    if (head) { head.click(); order.push(first()); head.click(); order.push(first()); }
    return {distinct: new Set(seen).size, seen: seen.length, said, order, offered};"""
    found = read(page, play, tmp_path)
    assert found["offered"] == [False, True, False], "the whole range, where it is not shown"
    assert found["distinct"] == found["seen"] >= 5
    assert "virtual time" in found["said"][-1] or "energy" in found["said"][-1]
    if len(found["said"]) > 1:
        assert found["said"][0] == "false"
        assert found["order"] == sorted(found["order"], key=found["order"].index)
        assert found["order"][0] != found["order"][1]


def test_downloads_hold_what_is_shown(page: Path, tmp_path: Path) -> None:
    play = """const names = [];
    HTMLAnchorElement.prototype.click = function () {
      names.push(this.download, this.href.slice(0, 5)); };
    for (const form of ["svg", "csv"])
      simfl.figures.forEach(f => f.node.querySelector(`[data-save=${form}]`).click());
    return names;"""
    names = read(page, play, tmp_path)
    assert {name.rpartition(".")[2] for name in names[::2]} == {"svg", "csv"}
    assert set(names[1::2]) == {"blob:"}


def test_saved_numbers_have_headers_and_units(page: Path, tmp_path: Path) -> None:
    saved = read(page, "return simfl.figures.map(simfl.csvOf);", tmp_path)
    assert saved[0].startswith("variant,seed,time_s,round,bytes,energy_j,accuracy,loss\n")
    for text in saved:
        header, *rows = csv.reader(text.splitlines())
        assert len(header) >= 3
        assert {len(row) for row in rows} == {len(header)}


def test_values_are_told_as_the_axes_are(tmp_path: Path) -> None:
    """Beside each other stood 2.001 min and 118.3 s, round 3.429, and 0.5 on a target of 50%."""
    accuracies = [0.1 + 0.02 * n for n in range(30)]
    runs = [
        made_run(tmp_path, name, 0, accuracies, round_s=round_s)
        for name, round_s in (("a", 3.9), ("b", 7.7))
    ]
    play = """const f = simfl.figures[0], svg = () => f.plot.querySelector("svg");
    const press = (k, n) => { for (let i = 0; i < n; i++)
      svg().dispatchEvent(new KeyboardEvent("keydown", {key: k})); };
    const tip = () => document.querySelector(".tip").textContent;
    press("ArrowRight", 30); const times = tip();
    const by = f.node.querySelector("[data-axis=x]"); by.value = 1;
    by.dispatchEvent(new Event("change")); press("ArrowRight", 8); const rounds = tip();
    f.node.querySelector("[data-switch=logy]").click();
    const ticks = [...svg().querySelectorAll("text.tick")].map(t => t.textContent);
    svg().focus(); press("+", 1);
    return {times, rounds, ticks, focused: document.activeElement === svg()};"""
    found = read(write_report(runs, tmp_path / "written.html"), play, tmp_path)
    assert len(re.findall(r"[0-9.]+ min", found["times"])) == 3
    assert not re.search(r"[0-9.]+ s", found["times"])
    assert set(re.findall(r"(?:round|at) ([0-9.]+)", found["rounds"])) <= set(map(str, range(31)))
    assert {"10%", "20%", "50%"} <= set(found["ticks"])
    assert found["focused"]


def test_a_stretch_of_x_has_the_height_that_it_needs(tmp_path: Path) -> None:
    """Near its end a curve between 96% and 97% was a flat line, below 0% to 100% of nothing."""
    accuracies = [0.1, *(0.96 + n / 2000 for n in range(20))]
    play = """const f = simfl.figures[0], svg = () => f.plot.querySelector("svg");
    const up = () => [...svg().querySelectorAll("text.tick.end")].map(t => t.textContent)
      .filter(t => t.endsWith("%")).map(parseFloat);
    const whole = up(); svg().dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
    return [whole, up()];"""
    page = write_report([made_run(tmp_path, "v", 0, accuracies)], tmp_path / "written.html")
    whole, near = read(page, play, tmp_path)
    assert whole[0] == 0
    assert len(near) >= 3
    assert 95 < near[0] < near[-1] < 98


def test_there_are_no_halves_of_rounds_and_devices(tmp_path: Path) -> None:
    """Below the only round stood 0.5, 1.0 and 1.5, below two devices -0.5 to 1.5."""
    play = """const below = svg => [...svg.querySelectorAll(".xs text")].map(t => t.textContent);
    return Object.fromEntries([...document.querySelectorAll("svg[data-x]")].map(svg =>
      [svg.querySelector("text.name:not([transform])").textContent, below(svg)]));"""
    run = made_run(tmp_path, "v", 0, [0.5])
    found = read(write_report([run], tmp_path / "written.html"), play, tmp_path, width=1100)
    assert found["round"] == ["1"]
    assert found["device"] == ["0", "1"]


def test_losses_of_orders_of_magnitude_come_on_a_logarithmic_scale(tmp_path: Path) -> None:
    """Of a loss of 1,000 that fell to 2 all but the first rounds lay on the axis."""
    made = made_run(tmp_path, "v", 0, [0.5] * 4, targets=())
    made.round_rows["accuracy"] = float("nan")
    made.round_rows["loss"] = [1000.0, 40.0, 8.0, 2.0]
    play = """const f = simfl.figures[0], box = f.node.querySelector("[data-switch=logy]");
    const up = html => [...html.matchAll(/class="tick end"[^>]*>([^<]*)/g)].map(m => m[1]);
    const set = box.checked, still = up(f.still), redrawn = up(simfl.redraw(f));
    box.click();
    return {set, still, redrawn, linear: up(f.plot.innerHTML)};"""
    found = read(write_report([made], tmp_path / "written.html"), play, tmp_path)
    assert found["set"]
    assert found["still"] == found["redrawn"] != found["linear"]
    assert {"10", "100", "1,000"} <= set(found["still"])
    assert "0" in found["linear"]


def test_lines_that_ended_are_told_last(tmp_path: Path) -> None:
    """What had ended long before stood first, and every row said the round of the headline."""
    short = made_run(tmp_path, "short", 0, [0.9] * 5)
    long = made_run(tmp_path, "long", 0, [0.5] * 20)
    play = """const f = simfl.figures[0], by = f.node.querySelector("[data-axis=x]");
    by.value = 1; by.dispatchEvent(new Event("change"));
    const svg = f.plot.querySelector("svg"), tip = document.querySelector(".tip");
    const press = n => { for (let i = 0; i < n; i++)
      svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
      return [...tip.querySelectorAll("li")].map(e => e.textContent); };
    return [press(5), press(40)];"""
    early, late = read(write_report([short, long], tmp_path / "written.html"), play, tmp_path)
    assert early == ["short: 90.0%", "long: 50.0%"]
    assert late == ["long: 50.0%", "short: 90.0% ended at 5"]


def test_saved_pictures_say_what_they_are_in_dark_ink_on_white(page: Path, tmp_path: Path) -> None:
    """Title and legend were left out, labels lay on lines, and dark screens made them dark."""
    play = """const ink = () => getComputedStyle(document.body).color;
    return {dark: matchMedia("(prefers-color-scheme: dark)").matches, before: ink(),
      all: simfl.figures.map(f => { const [svg, size] = simfl.joined(f);
        const box = document.createElement("div"); box.innerHTML = svg;
        const legend = [...f.node.querySelectorAll(".legend li")].map(li => li.textContent);
        return {size, legend, title: f.node.querySelector("b").textContent,
          words: [...box.querySelectorAll("text")].map(t => t.textContent),
          halo: [...box.querySelectorAll(".note, .heading")].map(t => t.style.paintOrder),
          paper: box.querySelector("rect").getAttribute("fill")}; }), after: ink()};"""
    found = read(page, play, tmp_path, flags=["--blink-settings=preferredColorScheme=0"])
    assert found["dark"]
    assert found["before"] == found["after"]
    for figure in found["all"]:
        assert {figure["title"], *figure["legend"]} <= set(figure["words"])
        assert set(figure["halo"]) <= {"stroke"}
        assert figure["paper"] == "rgb(255, 255, 255)"
    assert any(figure["halo"] for figure in found["all"])


def test_numbers_are_those_of_the_tables(compared: list[RunResult], tmp_path: Path) -> None:
    page = write_report(compared, tmp_path / "written.html")
    play = """return simfl.figures[0].chart.series
      .flatMap(s => s.runs.map(r => ({variant: s.name, ...r})));"""
    runs = {(run["variant"], run["seed"]): run for run in read(page, play, tmp_path)}
    assert len(runs) == len(compared)
    for result in compared:
        with (result.folder / "rounds.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        shown = runs[result.variant, result.seed]
        for key, column in (("time", "end_s"), ("accuracy", "accuracy"), ("loss", "loss")):
            assert shown[key] == pytest.approx([float(row[column]) for row in rows], rel=1e-5)


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


def test_any_two_factors_of_a_sweep_make_a_table(tmp_path: Path) -> None:
    runs = []
    for clients in (5, 10):
        for deadline, last in (("1 s", 0.5), ("none", 0.9)):
            name = f"{clients} {deadline}"
            run = made_run(tmp_path, name, 0, [0.1, last + clients / 1000])
            point = {"rounds.clients": clients, "deadline": deadline}
            provenance = {"variant": name, "seed": 0, "factors": point}
            (run.folder / "provenance.json").write_text(json.dumps(provenance))
            runs.append(RunResult(run.folder))
    play = """const table = () => [...document.querySelectorAll("#pivot tr")]
      .map(row => [...row.cells].map(cell => cell.textContent));
    const choose = (key, value) => {
      const box = document.querySelector(`[data-pivot=${key}]`);
      box.value = value; box.dispatchEvent(new Event("change")); return table(); };
    const caption = document.querySelector("#pivot caption").textContent;
    return [table(), choose("column", 2), choose("row", 1), caption];"""
    page = write_report(runs, tmp_path / "written.html")
    both, clients, deadline, caption = read(page, play, tmp_path)
    assert caption.endswith(" by rounds.clients and deadline: means over everything else")
    assert both == [
        [r"rounds.clients \ deadline", "1 s", "none"],
        ["5", "50.5%", "90.5%"],
        ["10", "51.0%", "91.0%"],
    ]
    assert clients == [["rounds.clients", ""], ["5", "70.5%"], ["10", "71.0%"]]
    assert deadline == [["deadline", ""], ["1 s", "50.8%"], ["none", "90.8%"]]


def test_charts_that_stand_still_can_be_enlarged(compared: list[RunResult], tmp_path: Path) -> None:
    play = """const still = simfl.figures.find(f => !f.chart);
    const width = () => still.plot.querySelector("svg").getBoundingClientRect().width;
    const before = width();
    still.node.querySelector("[data-enlarge]").click();
    return width() / before;"""
    assert read(write_report(compared, tmp_path / "written.html"), play, tmp_path) > 1.5


def test_charts_that_stand_still_fit_a_phone(compared: list[RunResult], tmp_path: Path) -> None:
    """Half of each bar lay beyond the edge."""
    play = """return simfl.figures.filter(f => !f.chart).map(f => {
      const svg = f.plot.querySelector("svg"), right = svg.getBoundingClientRect().right;
      const ends = [...svg.querySelectorAll(".area rect, .area path, .xs text, .name")].map(
        shape => shape.getBoundingClientRect().right);
      const end = Math.max(...[...svg.querySelectorAll("path.grid")].map(
        line => line.getBoundingClientRect().right));
      return {name: f.node.querySelector("b").textContent, beyond: Math.max(...ends) - right,
        over: f.plot.scrollWidth - f.plot.clientWidth, room: right - end,
        ticks: svg.querySelectorAll(".xs text").length};
    });"""
    charts = read(write_report(compared, tmp_path / "written.html"), play, tmp_path, 360)
    assert len(charts) >= 4
    for chart in charts:
        assert chart["over"] <= 0, chart
        assert chart["beyond"] <= 1, chart
        assert chart["room"] >= 13, chart  # as on a wide page
        assert chart["ticks"] >= 2, chart


@pytest.mark.parametrize("width", [1280, 360])
def test_charts_that_stand_still_can_be_zoomed(page: Path, width: int, tmp_path: Path) -> None:
    """Shapes go where their numbers lie on the new axis; by keys, by dragging, and back."""
    play = """const out = [];
    for (const f of simfl.figures.filter(f => !f.chart && f.plot.querySelector("svg[data-x]"))) {
      const svg = f.plot.querySelector("svg"), box = svg.getBoundingClientRect();
      const wide = svg.viewBox.baseVal.width, facts = JSON.parse(svg.dataset.x);
      const left = facts.left, right = wide - 14, middle = (left + right) / 2;
      const rect = [...svg.querySelectorAll(".area rect")].at(-1);
      const curve = svg.querySelector(".area path.line");
      const where = () => rect ? Number(rect.getAttribute("x"))
        : Number(curve.getAttribute("d").split("L").at(-1).split(",")[0]);
      const texts = () => [...svg.querySelectorAll(".xs text")].map(t => t.textContent);
      const ticks = () => [...svg.querySelectorAll(".xs text")].map(t => t.outerHTML);
      const key = k => svg.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
      const mouse = (kind, u) => svg.dispatchEvent(new PointerEvent(kind, {pointerType: "mouse",
        clientX: box.left + u * box.width / wide, clientY: box.top + 40}));
      const now = () => [".area", ".xs"].map(part => svg.querySelector(part).innerHTML).join();
      const before = now(), [at, marks] = [where(), ticks()];
      const offers = () => !f.node.querySelector("[data-whole]").hidden;
      const offered = [offers()];
      key("+");  // 60% around the middle
      offered.push(offers());
      const keyed = where(), zoomed = ticks(), told = texts();
      key("ArrowRight"); const panned = where();
      f.node.querySelector("[data-whole]").click(); const back = now() === before;
      mouse("pointerdown", middle); mouse("pointermove", right); mouse("pointerup", right);
      const dragged = where(), state = f.state.zoom;
      svg.dispatchEvent(new MouseEvent("dblclick"));
      offered.push(offers());
      out.push({offered, counts: facts.kind === "count",
        name: f.node.querySelector("b").textContent, left, right, middle, at, keyed, panned,
        dragged, marks, zoomed, told, state, back, again: now() === before, said: ticks()});
    }
    return out;"""
    charts = read(page, play, tmp_path, width)
    assert len(charts) >= 3
    for chart in charts:
        left, middle, at = chart["left"], chart["middle"], chart["at"]
        start = middle - 0.3 * (chart["right"] - left)
        assert chart["keyed"] == pytest.approx(left + (at - start) / 0.6, abs=0.3), chart
        assert chart["panned"] < chart["keyed"]
        assert chart["dragged"] == pytest.approx(left + (at - middle) * 2, abs=0.3), chart
        assert chart["state"]
        assert chart["zoomed"] != chart["marks"] == chart["said"]
        if chart["counts"]:  # of few devices one may be left
            assert chart["zoomed"], chart
            assert all(text.replace(",", "").isdigit() for text in chart["told"]), chart
        else:
            assert len(chart["zoomed"]) >= 2, chart
        assert chart["offered"] == [False, True, False], "the whole range, where it is not shown"
        assert chart["back"], chart["name"]
        assert chart["again"], chart["name"]


def test_a_finger_brings_up_values_that_stay(compared: list[RunResult], tmp_path: Path) -> None:
    """A tap showed nothing: values came with a pointer that moves."""
    play = """const tip = document.querySelector(".tip");
    const touch = (kind, target) => {
      const b = target.getBoundingClientRect();
      target.dispatchEvent(new PointerEvent(kind, {pointerType: "touch", bubbles: true,
        clientX: b.left + b.width / 2, clientY: b.top + b.height / 2})); };
    const tap = target => {
      for (const kind of ["pointerdown", "pointerup", "pointerleave"]) touch(kind, target);
      return tip.hidden ? null : tip.textContent; };
    const line = simfl.figures.find(f => f.chart).plot.querySelector("svg");
    const bar = simfl.figures.find(f => !f.chart).plot.querySelector(".area rect");
    const told = [tap(line), tap(bar), tap(line)];
    touch("pointerdown", document.querySelector("h1"));
    return {told, after: tip.hidden};"""
    found = read(write_report(compared, tmp_path / "written.html"), play, tmp_path)
    assert all(found["told"]), found
    assert found["told"][0] == found["told"][2] != found["told"][1]
    assert found["after"]


def test_keys_go_from_bar_to_bar_and_a_browser_tells_nothing_beside(
    compared: list[RunResult], tmp_path: Path
) -> None:
    """Bars told their values to pointers alone, and twice: a browser shows titles by itself."""
    play = """const figure = simfl.figures.find(f => !f.chart);
    const svg = figure.plot.querySelector("svg"), tip = document.querySelector(".tip");
    const press = k => { svg.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
      return tip.hidden ? null : tip.textContent; };
    const box = document.createElement("div"); box.innerHTML = simfl.joined(figure)[0];
    return {told: [press("ArrowRight"), press("ArrowRight"), press("ArrowLeft"), press("Escape")],
      titles: document.querySelectorAll("svg title").length,
      saved: box.querySelectorAll("title").length,
      shapes: svg.querySelectorAll("[data-tip]").length};"""
    found = read(write_report(compared, tmp_path / "written.html"), play, tmp_path)
    first, second, again, gone = found["told"]
    assert first == again != second
    assert gone is None
    assert found["titles"] == 0
    assert found["saved"] == found["shapes"] > 1  # a saved picture has nothing but them


def test_two_of_many_are_seen_alone(nine: Sequence[RunResult], tmp_path: Path) -> None:
    """Seven lines had to be hidden one by one."""
    play = """return simfl.figures.filter(f => f.node.querySelector("[data-all]")).map(f => {
      const all = f.node.querySelector("[data-all]"), said = [all.textContent];
      const count = () => f.chart ? f.plot.querySelectorAll("svg").length
        : [...f.plot.querySelectorAll(".area .line")].filter(s => !s.style.display).length;
      const seen = [count()]; all.click(); seen.push(count()); said.push(all.textContent);
      [...f.node.querySelectorAll(".legend button")].slice(0, 2).forEach(b => b.click());
      seen.push(count()); all.click(); seen.push(count());
      return {seen, said, lines: Boolean(f.chart)}; });"""
    figures = read(write_report(list(nine), tmp_path / "written.html"), play, tmp_path)
    assert {figure["lines"] for figure in figures} == {True, False}
    for figure in figures:
        whole, none, two, again = figure["seen"]
        assert none == 0 < two < whole == again
        assert figure["said"] == ["hide all", "show all"]


def test_one_of_very_many_is_hidden_alone(tmp_path: Path) -> None:
    """Beyond 48 variants lines look alike, and were hidden together."""
    runs = [made_run(tmp_path / "runs", f"v{n}", 0, [0.1, 0.2, 0.1 + n / 100]) for n in range(50)]
    play = """const many = f => f.node.querySelectorAll(".legend button").length === 50;
    return simfl.figures.filter(many).map(f => {
      const count = () => f.chart ? f.state.hidden.size
        : [...f.plot.querySelectorAll(".area .line")].filter(s => s.style.display).length;
      f.node.querySelectorAll(".legend button")[1].click();
      f.node.querySelector("[data-switch=together]")?.click();
      f.plot.querySelector("svg").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
      const tip = document.querySelector(".tip");
      return {hidden: count(), told: tip.querySelectorAll("li").length, tip: tip.textContent,
        lines: Boolean(f.chart)}; });"""
    found = read(write_report(runs, tmp_path / "written.html"), play, tmp_path)
    assert {figure["lines"] for figure in found} == {True, False}
    assert {figure["hidden"] for figure in found} == {1}
    assert (found[0]["told"], found[0]["tip"][-17:]) == (14, "and 35 below them")


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


LOADS = """<!DOCTYPE html><iframe src="page.html"></iframe><script>
let loads = 0;
document.querySelector("iframe").addEventListener("load", () => { loads++; });
setTimeout(() => { const pre = document.createElement("pre"); pre.id = "report";
  pre.textContent = loads; document.body.appendChild(pre); }, 3000);</script>"""


@pytest.mark.parametrize(("leaving", "loads"), [(False, 2), (True, 1)])
def test_a_page_that_its_reader_is_leaving_is_not_loaded_again(
    leaving: bool, loads: int, tmp_path: Path
) -> None:
    """A click on a run was lost where the list had just grown."""
    made_run(tmp_path / "runs", "v", 0, [0.1])
    html = str(LiveRuns(tmp_path / "runs").page("")).replace(
        "<head>",
        "<head><script>window.fetch = () => Promise.resolve({text: async () => 'more'});</script>",
    )
    if leaving:
        leave = "setTimeout(() => dispatchEvent(new Event('beforeunload')), 500);"
        html = html.replace("</body>", f"<script>{leave}</script></body>")
    (tmp_path / "page.html").write_text(html)
    (tmp_path / "frame.html").write_text(LOADS)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    match = re.search(r'<pre id="report">(\d+)</pre>', done.stdout)
    assert match, done.stderr[-2000:]
    assert int(match[1]) == loads
