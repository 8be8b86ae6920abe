"""Charts in a browser: drawn as the page came, with axes that fit, lines shown and hidden."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

from simfl.report import write_report
from simfl.runs.results.result import RunResult
from tests.made_runs import made_run
from tests.report.page.browser import NEEDS_CHROMIUM, read

pytestmark = NEEDS_CHROMIUM


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


def test_a_table_of_two_factors_tells_why_a_number_is_not_there(tmp_path: Path) -> None:
    """What was not known, and targets of runs that went on, were never reached."""
    lacking = math.nan
    runs = []
    for clients, accuracies, finished in (
        (5, [[0.1, 0.2], [0.1, 0.8]], True),
        (10, [[0.1, 0.2], [0.1, 0.2]], False),
        (20, [[lacking, lacking], [0.1, 0.2]], True),
        (40, [[lacking, lacking], [lacking, lacking]], True),
    ):
        for seed, own in enumerate(accuracies):
            run = made_run(tmp_path, f"{clients}", seed, own, finished=finished)
            point = {"rounds.clients": clients}
            provenance = {"variant": f"{clients}", "seed": seed, "factors": point}
            (run.folder / "provenance.json").write_text(json.dumps(provenance))
            runs.append(RunResult(run.folder))
    play = """const show = document.querySelector("[data-pivot=show]");
    return [...show.options].slice(0, 2).map(option => {
      show.value = option.value; show.dispatchEvent(new Event("change"));
      const rows = [...document.querySelectorAll("#pivot tr")].slice(1);
      return [option.textContent, ...rows.map(row => row.cells[1].textContent)]; });"""
    accuracy, time = read(write_report(runs, tmp_path / "written.html"), play, tmp_path)
    assert accuracy == ["last accuracy", "50.0%", "20.0%", "1 of 2 none", "–"]
    assert time == ["time to 70%", "1 of 2 never", "not yet", "never", "never"]


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
