"""Every published component says what to cite."""

import re
from importlib.resources import files

import pytest

from simfl.cli import main
from simfl.scenario.reference.describe import Description, overview
from simfl.scenario.reference.kinds import KINDS
from simfl.scenario.reference.references import bibtex, references

ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
COMPONENTS = [(kind, name) for kind in KINDS for name in overview(kind)]


def test_every_component_with_a_published_source_has_it_among_its_entries() -> None:
    missing = []
    for kind, name in COMPONENTS:
        found = Description.find(kind, name)
        published = "et al." in found.source or ARXIV.search(found.source)
        cited = set(ARXIV.findall(found.source))
        if (published and not found.bibtex) or any(id_ not in found.bibtex for id_ in cited):
            missing.append(f"{kind}/{name}: {sorted(cited)}")
    assert missing == []


def test_entries_are_of_components_that_there_are() -> None:
    known = {f"{kind}/{name}" for kind, name in COMPONENTS}
    assert {component for of, _ in references() for component in of} <= known


def test_entries_are_whole() -> None:
    text = files("simfl.scenario.reference").joinpath("references.bib").read_text(encoding="utf-8")
    entries = [entry for _, entry in references()]
    assert len(entries) == text.count("@") > 30
    keys = [re.match(r"@\w+\{(\w+),\n", entry) for entry in entries]
    assert len({key[1] for key in keys if key}) == len(entries)
    for entry in entries:
        assert "simfl" not in entry
        assert entry.count("{") == entry.count("}")
        for field in ("author", "title", "year"):
            assert len(re.findall(rf"^  {field} = \{{", entry, re.MULTILINE)) == 1, entry


def test_it_is_told_where_a_component_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "selectors", "oort"]) == 0
    assert "@inproceedings{lai2021oort," in capsys.readouterr().out
    assert bibtex("selectors", "oracle") == ""
