"""The site's pages: generated from the code, complete, with links that hold."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import simfl
from analysis.markdown import anchors, links
from analysis.site import write_pages
from simfl.core import rows
from simfl.core.rows import ClientRow, RoundRow, header
from simfl.runs.folder import provenance_keys
from simfl.runs.folder.event_kinds import EVENT_KINDS
from simfl.runs.folder.file_descriptions import column_texts
from simfl.runs.folder.summary import MEANINGS
from simfl.scenario.parts.catalogue import DEVICES
from simfl.scenario.reference.describe import overview
from simfl.scenario.reference.kinds import KINDS
from tests.tiny import RunTiny

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_pages(folder)
    return folder


def test_links_hold_on_the_site(site: Path) -> None:
    wrong = []
    for page in site.rglob("*.md"):
        for path, anchor in links(page.read_text()):
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
                wrong.append(f"{page.relative_to(site)}: {path}#{anchor}")
    assert not wrong


def test_headings_skip_no_level(site: Path) -> None:
    """Screen readers go through a page by them: findings.md went from the first to the third."""
    skipping = []
    for page in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        levels = [len(marks) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
        if any(level > before + 1 for before, level in pairwise([0, *levels])):
            skipping.append(page.name)
    assert skipping == []


def test_a_page_has_one_title(site: Path) -> None:
    """The table of contents ends at a second: it had 2 of the algorithms' 42 sections."""
    titles = {}
    for page in site.rglob("*.md"):
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        titles[str(page.relative_to(site))] = len(re.findall(r"^# ", text, re.MULTILINE))
    assert titles == dict.fromkeys(titles, 1)


def test_citations_lead_to_their_sections(site: Path) -> None:
    """Those of a component led to the top of a page of forty sections."""
    page = (site / "components" / "selectors.md").read_text()
    assert "[as specified, A.3](../algorithms.md#a3-afl)" in page
    told = [(file.name, file.read_text()) for file in site.rglob("*.md")]
    assert [name for name, text in told if "docs/algorithms.md, " in text] == []


def test_every_page_is_in_the_navigation(site: Path) -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(site)) for page in site.rglob("*.md")]
    assert len(pages) > 30
    assert [page for page in pages if page not in navigation] == []


@pytest.mark.parametrize("kind", [*KINDS, DEVICES])
def test_every_component_has_its_place(kind: str, site: Path) -> None:
    page = (site / "components" / f"{kind}.md").read_text()
    assert anchors(page) >= set(overview(kind))


def test_defaults_and_units_are_told(site: Path) -> None:
    page = (site / "scenario.md").read_text()
    assert "## Group: `fleet[]`" in page
    assert "| `stop` | [Stop](#stop-roundsstop) |" in page
    assert (
        "| `compute` | a compute rate, or a [distribution](#distributions) | `100 samples/s` |"
        in page
    )
    assert (
        "| `compute` | a power | none | while it trains; omitted: as `idle` (mW, W, kW) |" in page
    )
    assert "virtual time (us, ms, s, min, h, d)" in page
    assert "| `lognormal`" in page or "### lognormal" in page


@pytest.mark.parametrize("row", [RoundRow, ClientRow])
def test_every_column_has_its_meaning(row: type, site: Path) -> None:
    texts = column_texts(row)
    assert list(texts) == header(row)
    assert all(texts.values())
    page = (site / "columns.md").read_text()
    assert all(f"| `{name}` | {text} |" in page for name, text in texts.items())


def test_every_kind_of_event_has_its_meaning(site: Path) -> None:
    """`simfl describe events` told them, the site did not."""
    page = (site / "columns.md").read_text()
    assert all(f"| `{kind}` | {event.meaning} | " in page for kind, event in EVENT_KINDS.items())


def test_outcomes_are_told() -> None:
    assert "arrived in time; late:" in column_texts(rows)["Outcome"]


def test_everything_in_summary_and_provenance_has_its_meaning(run_tiny: RunTiny) -> None:
    run = run_tiny({"rounds.stop.rounds": 1, "rounds.policy.deadline": "20 s"})
    outer = {name.partition(".")[0] for name in MEANINGS if "." in name} & set(run.summary)
    inner = {f"{name}.{part}" for name in outer for part in run.summary[name]}
    seldom = {
        "abandoned_rounds", "refused_REASON", "needed_memory_bytes", "privacy",
        "totals.backhaul_bytes",
    }  # fmt: skip
    assert {*run.summary, *inner} == {
        name for name in MEANINGS if name not in seldom and not name.startswith("privacy.")
    }
    assert {*run.provenance} == {*provenance_keys.MEANINGS} - {"better", "failed", "clients"}


def test_it_says_how_to_cite_simfl_and_the_algorithms(site: Path) -> None:
    page = (site / "cite.md").read_text()
    assert f"version = {{{simfl.__version__}}}" in page
    assert "@software{simfl," in page
    assert "@inproceedings{lai2021oort," in page
    assert "@inproceedings{lai2021oort," in (site / "components" / "selectors.md").read_text()
