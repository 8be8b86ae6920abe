"""The repository's scenarios, damaged as text: refused with a place, or valid; nothing else."""

import re
from importlib.resources import files
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.errors import ScenarioError
from simfl.scenario import Document, expand

ROOT = Path(__file__).parents[2] / "scenarios"
FILES = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in ROOT.rglob("*.yaml")}
FILES["starter.yaml"] = files("simfl.cli").joinpath("starter.yaml").read_text("utf-8")

ODD = [
    "", "null", "true", "-1", "0", "1e400", "1" * 90, "1" * 5000, "0.5", "30%", "'", '"', "[]",
    "{}", "[[]]", "{name: uniform}", "{name: {}}", "{name: [x]}", "{distribution: x}", ":", "a:",
    "{file: x.csv}", "{file: {}}", "!!int foo", "!!str", "&a x", "*a", "<<: {a: 1}", "10 Mbit/s",
    "1 s", "none", ".inf", "0-4", "os:path", "no.such:Thing", "x" * 2000, "\t", "? x", "- x",
    "simfl.core.component:Component", "simfl.components.selectors.base:Selector",
    "simfl.components.models.base:Model",
]  # fmt: skip
TOKEN = re.compile(r"[^\s{}\[\],:#]+|[{}\[\],:]")


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str]:
    """Return a file's name, and its text with one to three things changed."""
    name = draw(st.sampled_from(sorted(FILES)))
    text = FILES[name]
    for _ in range(draw(st.integers(1, 3))):
        tokens = list(TOKEN.finditer(text))
        token = tokens[draw(st.integers(0, len(tokens) - 1))]
        other = tokens[draw(st.integers(0, len(tokens) - 1))]
        new = draw(st.sampled_from(ODD) | st.just(other[0]) | st.text(max_size=3))
        text = text[: token.start()] + new + text[token.end() :]
    return name, text


@settings(max_examples=60)
@given(damaged())
def test_refused_with_a_place_or_valid(case: tuple[str, str]) -> None:
    name, text = case
    told = ""
    try:
        runs = expand(Document.parse(text, "s.yaml", (ROOT / name).parent))
    except ScenarioError as error:
        told = str(error)
    if told:
        assert all(line.startswith("s.yaml:") for line in told.splitlines())
    else:
        assert runs
