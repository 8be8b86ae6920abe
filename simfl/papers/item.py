"""An item: one published table or figure, the scenario that repeats it, and what it claims."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from simfl.errors import InputError, NameNotFound
from simfl.papers.claims import Claim
from simfl.papers.measures import Measure, Record
from simfl.runs.job import Job, jobs
from simfl.scenario import Document
from simfl.scenario.language.yaml import read_yaml
from simfl.scenario.parts.experiment import parse_seeds
from simfl.scenario.parts.part import Part

PAPER = "paper"
"""Stem of a paper's own file."""


class Paper(Part):
    """A paper.

    Attributes:
        title: its name and authors.
        parts: its tables and figures with measurements, in order.
        elsewhere: those that a script of ``analysis`` or another command repeats: how it came out.
        not_repeated: those that nothing repeats, or not in full: why.
    """

    title: str
    parts: tuple[str, ...]
    elsewhere: dict[str, str] = Field(default_factory=dict)
    not_repeated: dict[str, str]


class Quick(Part):
    """The reduced form of an item: minutes on two cores.

    Attributes:
        changes: of the scenario, ``path=value``.
        rows: only these (None: all).
        seeds: instead of the item's.
        measure: what its claims are about (None: the item's first).
        claims: the orderings that even this form must show.
    """

    changes: tuple[str, ...] = Field((), alias="set")
    rows: tuple[str, ...] | None = None
    seeds: str = "0"
    measure: str | None = None
    claims: tuple[str, ...] = ()


class Item(Part):
    """One published table or figure.

    Attributes:
        id: ``PAPER/ITEM``, from the place of its file.
        covers: by paper, which of its tables and figures.
        title: one line.
        scenario: file of `simfl.papers.scenarios`.
        reading: whose description the scenario follows where the paper's text and the authors'
            code differ (ours: no paper has it).
        changes: of the scenario, ``path=value``.
        time_only: nothing is trained.
        seeds: as the command line takes them.
        measures: what is written down of each run; the first is what `printed` and `claims` are of.
        printed: by row (a variant of the scenario), the published number as printed ("": none).
        claims: orderings between rows that the paper claims; see `Claim`.
        shortened: what is less than in the paper ("": nothing).
        note: what else there is to say, Markdown.
        quick: the reduced form.
    """

    id: str
    covers: dict[str, tuple[str, ...]]
    title: str
    scenario: str
    reading: Literal["paper", "code", "ours"]
    changes: tuple[str, ...] = Field((), alias="set")
    time_only: bool = False
    seeds: str
    measures: tuple[str, ...] = Field(min_length=1)
    printed: dict[str, str]
    claims: tuple[str, ...] = ()
    shortened: str = ""
    note: str = ""
    quick: Quick = Quick()

    def column(self, records: Sequence[Record], measure: str | None = None) -> list[Record]:
        """Return what was measured of `measure` (None: the first)."""
        return [record for record in records if record.column == (measure or self.measures[0])]

    def by_seed(self, records: Sequence[Record], measure: str | None = None) -> list[Record]:
        """Return the same of each seed by itself, also where it is read off a mean curve."""
        text = measure or self.measures[0]
        alone = text.partition(" of the")[0]
        return self.column(records, alone if Measure.parse(text).mean_curve else text)

    @property
    def document(self) -> Document:
        """The scenario, changed."""
        place = files("simfl.papers.scenarios").joinpath(self.scenario)
        return Document.load(Path(str(place))).set(*self.changes)

    def jobs(self, out: Path, seeds: Sequence[int] | None = None) -> list[Job]:
        """Return its runs, each row with each seed."""
        return jobs(self.document, out, seeds or parse_seeds(self.seeds), list(self.printed))

    def reduced(self) -> "Item":
        """Return its quick form."""
        quick = self.quick
        rows = quick.rows or tuple(self.printed)
        return self.model_copy(
            update={
                "changes": self.changes + quick.changes,
                "seeds": quick.seeds,
                # Printed numbers are of the item's own measure.
                "printed": {row: "" if quick.measure else self.printed[row] for row in rows},
                "measures": self.measures if quick.measure is None else (quick.measure,),
                "claims": quick.claims,
                "shortened": "the quick form",
            }
        )


def items(pattern: str | None = None) -> list[Item]:
    """Return the items of a paper, one item, or all.

    Args:
        pattern: ``PAPER``, ``PAPER/ITEM`` or None.

    Raises:
        NameNotFound: there is none; with the nearest paper, or the nearest of its items.
        InputError: several begin so, or a file is damaged.
    """
    known = {f"{paper}/{file.stem}": file for paper, file in _files() if file.stem != PAPER}
    chosen = {
        name: file
        for name, file in known.items()
        if pattern is None or pattern in (name, name.partition("/")[0])
    }
    if not chosen:
        begun = [name for name in known if name.startswith(str(pattern))]
        if len(begun) > 1:
            raise InputError(f"several items begin with {pattern!r}: {', '.join(begun)}")
        paper, papers = str(pattern).partition("/")[0], {name.partition("/")[0] for name in known}
        if paper not in papers:
            raise NameNotFound("paper", paper, papers)
        own = [name for name in known if name.startswith(f"{paper}/")]
        raise NameNotFound("item", str(pattern), own)
    return [_item(name, file) for name, file in chosen.items()]


def papers() -> dict[str, Paper]:
    """Return every paper by the name of its folder."""
    return {
        name: Paper.model_validate(_read(file)) for name, file in _files() if file.stem == PAPER
    }


def _files() -> Iterator[tuple[str, Path]]:
    """Yield each paper's name with each of its files, in order."""
    top = Path(str(files("simfl.papers.items")))
    for file in sorted(top.glob("*/*.yaml")):
        yield file.parent.name, file


def _read(file: Path) -> dict[str, Any]:
    data, _ = read_yaml(file.read_text(encoding="utf-8"), str(file), lines=False)
    return dict(data)


def _item(name: str, file: Path) -> Item:
    try:
        item = Item.model_validate({"id": name, **_read(file)})
        for text in (*item.measures, *filter(None, [item.quick.measure])):
            Measure.parse(text)
        for text in (*item.claims, *item.quick.claims):
            if (measure := Claim.parse(text).measure) is not None:
                Measure.parse(measure)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None
    return item
