"""A reader's mouse, finger and keys: charts are enlarged and zoomed, values come up and stay."""

import re
import subprocess
from pathlib import Path

import pytest

from simfl.report import write_report
from simfl.report.page.live import LiveRuns
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run
from tests.report.page.browser import CHROMIUM, FLAGS, NEEDS_CHROMIUM, read

pytestmark = NEEDS_CHROMIUM


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
      const left = Number(svg.querySelector("clipPath rect").getAttribute("x"));  // of the plot
      const right = wide - 14, middle = (left + right) / 2;
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
