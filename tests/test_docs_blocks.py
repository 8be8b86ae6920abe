"""What README and docs show is so: scenarios validate, components pass, links lead on."""

import inspect
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
import yaml

from simfl import Scenario
from simfl.components.selectors.base import History
from simfl.core.component import Component
from simfl.scenario.parts.device_trace import TracedNumber
from simfl.scenario.reference.kinds import KINDS, registry
from simfl.testing.contract import ComponentContract

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_readmes_scenario_is_valid(tmp_path: Path) -> None:
    [text] = blocks(ROOT / "README.md", "yaml")
    (tmp_path / "phones.yaml").write_text(text)
    scenario = Scenario.load(tmp_path / "phones.yaml")
    assert scenario.name == "phones"


@pytest.mark.parametrize("page", ["README.md", "docs/after.md"])
def test_python_about_the_quickstart(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quickstart takes a while; its first round goes through the same lines."""
    [code] = blocks(ROOT / page, "python")
    text = (ROOT / "scenarios" / "quickstart.yaml").read_text()
    short = re.sub(r"stop: \{.*?\}", "stop: {rounds: 1}", text)
    assert short != text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "quickstart.yaml").write_text(short)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, page, "exec"), names)
    if page == "docs/after.md":
        rows = pd.concat(run.clients for run in names["results"])
        late = rows[rows["outcome"] == "late"]
        assert set(names["first_late_s"]) == set(late["client"])
        ends_s = {end_s for run in names["results"] for end_s in run.rounds["end_s"]}
        assert set(names["first_late_s"].values()) <= ends_s


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda page: page.name
)
def test_yaml_is_yaml(page: Path) -> None:
    for text in blocks(page, "yaml"):
        assert isinstance(yaml.safe_load(text), dict)


def extending() -> dict[str, type[ComponentContract]]:
    names: dict[str, Any] = {"__name__": "extending"}
    for code in blocks(ROOT / "docs" / "extending.md", "python"):
        exec(compile(code, "extending.md", "exec"), names)
    return {name: suite for name, suite in names.items() if name.startswith("Test")}


@pytest.mark.parametrize(("name", "suite"), extending().items(), ids=lambda x: str(x))
def test_the_components_of_extending_pass_their_suites(name, suite, tmp_path: Path) -> None:
    tests = [test for test in dir(suite) if test.startswith("test_")]
    assert len(tests) > 4
    for test in tests:
        if test == "test_it_can_be_sent_to_another_process":
            continue  # a class of a document's block can't be found by name
        wants = inspect.signature(getattr(suite, test)).parameters
        getattr(suite(), test)(**({"tmp_path": tmp_path} if "tmp_path" in wants else {}))


def test_citations_lead_to_a_section() -> None:
    """What docstrings cite, and `simfl describe` prints, is in docs/algorithms.md."""
    page = (ROOT / "docs" / "algorithms.md").read_text()
    titles = set(re.findall(r"^#+ ([A-H](?:\.\d+)?|0(?:\.1)?)[ .]", page, re.MULTILINE))
    cited = set()
    for file in sorted((ROOT / "simfl").rglob("*.py")):
        for rest in re.findall(r"docs/algorithms\.md[,\s(]+(.{0,24})", file.read_text(), re.DOTALL):
            cited |= set(re.findall(r"\b[A-H](?:\.\d+)?\b|\b0\.\d+\b", rest.split(")")[0]))
    assert len(cited) > 25
    numbered = {f"0.{i}" for i in range(1, 11)} | {"G.1", "G.2", "G.3", "G.6", "H.3"}
    assert cited <= titles | numbered, sorted(cited - titles - numbered)


def test_docs_name_what_selectors_see_and_traces_give() -> None:
    """Who wrote a selector had to read simfl's code, or an AttributeError."""
    extending, devices = (
        (ROOT / "docs" / f"{name}.md").read_text() for name in ("extending", "devices")
    )
    assert [column.name for column in fields(History) if f"`{column.name}`" not in extending] == []
    told = devices[devices.index("`columns` can name") :].split(".")[0]
    assert set(re.findall("`([a-z]+)`", told)) == {"columns", *get_args(TracedNumber)}


NOT_FOR_AUTHORS = {
    "aggregators": {"is_mean"},
    "executors": {"task"},
    "losses": {"softmax", "has_accuracy", "checked_rows", "checked_hits"},
}
"""What base classes offer beside what a component may say of itself."""


@pytest.mark.parametrize("kind", KINDS)
def test_extending_names_what_a_component_can_implement(kind: str) -> None:
    """A policy with edge servers of its own had to be found out from simfl's code."""
    page = (ROOT / "docs" / "extending.md").read_text()
    told = " ".join(re.findall(rf"^\| `{kind}` \|.*", page, re.MULTILINE))
    component = registry(kind).get(registry(kind).names()[0])
    [base] = [parent for parent in component.__mro__ if Component in parent.__bases__]
    common = {*dir(Component), "model_post_init"}
    seam = {name for name in vars(base) if name[0] != "_"} - common
    unnamed = {name for name in seam if f"`{name}`" not in told}
    assert unnamed == NOT_FOR_AUTHORS.get(kind, set())
