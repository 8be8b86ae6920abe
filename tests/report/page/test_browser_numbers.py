"""What a reader takes along, pictures and numbers, is what the page and the tables hold."""

import csv
from pathlib import Path

import pytest

from simfl.report import write_report
from simfl.runs.results.result import RunResult
from tests.report.page.browser import NEEDS_CHROMIUM, read

pytestmark = NEEDS_CHROMIUM


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
