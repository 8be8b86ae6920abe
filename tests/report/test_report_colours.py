"""What is drawn is seen, and colours beside each other are told apart, by all kinds of eyes."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from simfl.core.rows import OUTCOMES
from simfl.core.types import Floats
from simfl.report.charts.anatomy import CSS as PHASES
from simfl.report.charts.costs import BYTE_CSS, ENERGY_CSS
from simfl.report.figures.looks import COLOURS
from simfl.report.figures.looks import PHASES as PICTURED

VARIANTS = [f"c{n}" for n in range(8)]
# Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: severity 1, linear RGB.
EYES = {
    "all cones": np.eye(3),
    "no long cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no middle cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no short cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def schemes() -> list[dict[str, str]]:
    """Return the light and the dark colours of the page by name."""
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    parts = style.split("@media")[:2]
    return [dict(re.findall(r"--([\w-]+): (#\w{6})\b", part)) for part in parts]


def oklab(colour: str, eye: str) -> Floats:
    """Return where an eye sees `#rrggbb` in OKLab (Ottosson 2020), in hundredths."""
    rgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(EYES[eye]) @ linear, 0, 1)
    cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    axes = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.asarray(100 * np.asarray(axes) @ np.cbrt(np.asarray(cones) @ seen))


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize(
    ("names", "least"),
    [
        (VARIANTS[:4], 8),
        (VARIANTS, 6),
        (OUTCOMES, 7),
        ([css.removeprefix("p-") for css in PHASES], 9),
    ],
    ids=["first variants", "variants", "outcomes", "phases"],
)
def test_colours_are_told_apart(names: list[str], least: float, eye: str) -> None:
    """FedAvg's blue was FedCore's magenta to who has no long cones, a probe's that of models."""
    for scheme in schemes():
        seen = {name: oklab(scheme[name], eye) for name in names}
        for one, other in combinations(names, 2):
            assert np.linalg.norm(seen[one] - seen[other]) >= least, (one, other)


def test_pictures_have_the_colours_of_the_page() -> None:
    page, _ = schemes()
    phases = {"download": "model", "compute": "compute", "upload": "update"}
    assert {phase: page[css] for phase, css in phases.items()} == PICTURED


def test_every_outcome_is_told_and_has_a_colour() -> None:
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    for outcome in OUTCOMES:
        assert f".o-{outcome} " in style
        assert style.count(f"--{outcome}: ") == 2  # on light and on dark


def _luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb` (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_what_is_drawn_is_seen_on_its_paper() -> None:
    """Contrast of shapes, 3 to 1 or more (WCAG 2.2, 1.4.11); the palest two have an edge."""
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})\b", part)) for part in style.split("@media")[:2]
    )
    shapes = {"edge", *(f"c{n}" for n in range(8)), *OUTCOMES}
    parts = {*PHASES, *BYTE_CSS, *ENERGY_CSS}
    shapes |= {css.removeprefix("p-") for css in parts if " " not in css}
    assert {"p-update", "p-model"}.isdisjoint(ENERGY_CSS)  # which are bytes, on the same page
    shapes -= {"wait", "unfinished"}
    assert ".o-unfinished, .p-wait { stroke: var(--edge);" in style
    for scheme, paper in ((light, "#ffffff"), (dark, dark["card"])):
        for shape in shapes:
            pair = sorted((_luminance(scheme[shape]), _luminance(paper)))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 3, shape
    assert [light[f"c{n}"] for n in range(8)] == list(COLOURS)


def test_dark_colours_are_for_screens() -> None:
    """Dark screens printed black pages."""
    style = files("simfl.report.page").joinpath("style.css").read_text(encoding="utf-8")
    schemes = [line for line in style.splitlines() if "prefers-color-scheme" in line]
    assert schemes == ["@media screen and (prefers-color-scheme: dark) {"]
