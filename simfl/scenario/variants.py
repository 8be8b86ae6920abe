"""One document -> the runs it stands for: every variant, swept, with every seed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter, ValidationError

from simfl.core.arguments import called, require_kind
from simfl.errors import InputError, ScenarioError, nearest
from simfl.scenario.conflicts import refuse_what_is_swept, refuse_what_is_undone
from simfl.scenario.document import Document
from simfl.scenario.one_variant import DEFAULT, read_with, variant
from simfl.scenario.parts.experiment import SeedList
from simfl.scenario.parts.sweep import Point, names, points
from simfl.scenario.parts.tune import Range, Tune
from simfl.scenario.problems import first_message, report
from simfl.scenario.scenario import Scenario, check, read

_SEEDS: TypeAdapter[tuple[int, ...]] = TypeAdapter(SeedList)


class Run(NamedTuple):
    """One run of a scenario: a variant of it, at a point of its sweep, with a seed.

    Attributes:
        variant: what both are called.
        seed: its seed.
        scenario: complete.
        factors: what was swept: a path -> its value, as written; and `variant`, where there are
            variants too.
        place: which of all variants and points it is, 0-based, in the order written.
    """

    variant: str
    seed: int
    scenario: Scenario
    factors: dict[str, Any]
    place: int = 0


class _Todo(NamedTuple):
    """What is to be run, with every seed.

    Attributes:
        name: what it is called.
        own: which variant it is (None: there are none).
        point: of the sweep.
        place: among all that there are.
    """

    name: str
    own: str | None
    point: Point
    place: int = 0

    @property
    def factors(self) -> dict[str, Any]:
        """See `Run.factors`."""
        swept = {factor.path: factor.value for factor in self.point}
        return {"variant": self.own, **swept} if self.own is not None and swept else swept


def expand(
    source: Document | Scenario,
    seeds: Sequence[int] | None = None,
    only: Sequence[str] | None = None,
) -> list[Run]:
    """Return every run that `source` stands for.

    Variants come in the order written, within each the points of the sweep, and then the seeds.
    Each run's scenario is complete: it has the changes, its own seed, and no variants, sweep or
    seeds.  Changes made by `Document.set` win over a variant's and a sweep's.

    Args:
        source: a scenario, or a document that describes one.
        seeds: instead of its own.
        only: variants, by their names with or without what is swept (None: all).

    Raises:
        ScenarioError: everything that is wrong with it or with a variant of it.
        InputError: there is no such variant, or no such seed.
    """
    only = None if only is None else list(only)  # they may come one by one
    base = source if isinstance(source, Scenario) else read_with(source, only or ())
    seeds = base.seeds or (base.seed,) if seeds is None else _checked(seeds)
    if base.tune is not None and not base.variants:  # else a variant may have what it names
        try_out(_document(base), base.tune)
    if not base.variants and base.sweep is None:
        chosen = _chosen([_Todo(DEFAULT, None, ())], only)
        return [run for item in chosen for run in _runs(item, base, seeds)]
    document = source if isinstance(source, Document) else _document(base)
    runs: list[Run] = []
    failures: dict[tuple[str, str], str] = {}
    for todo in _chosen(_combinations(base, document), only):
        scenario, problems = _changed(document, todo)
        for problem in problems:  # of the points of a sweep the first tells for all
            asked = todo.name if base.sweep is None else ""
            failures.setdefault((problem, asked), f"{problem} (in variant {todo.name!r})")
        if scenario is not None:
            runs.extend(_runs(todo, scenario, seeds))
    if failures:
        raise ScenarioError("\n".join(failures.values()))
    return runs


def _combinations(base: Scenario, document: Document) -> list[_Todo]:
    """Return every variant at every point of the sweep, in order.

    Raises:
        ScenarioError: what is swept is changed by `Document.set` too.
    """
    place = document.place(("sweep",))
    swept = [()] if base.sweep is None else points(base.sweep, base.seed, place)
    refuse_what_is_swept(document, swept)
    todo = [
        _Todo("_".join(filter(None, (own, name))), own, point)
        for own in base.variants or [None]
        for name, point in zip(names(swept, document.place), swept, strict=True)
    ]
    return [item._replace(place=place) for place, item in enumerate(todo)]


def _changed(document: Document, todo: _Todo) -> tuple[Scenario | None, list[str]]:
    """Return a variant's scenario at a point of the sweep, and what is wrong with it, line by line.

    It is None if anything is.
    """
    try:
        changed = variant(document, todo.own, todo.point)
    except ScenarioError as error:
        return None, [str(error)]
    scenario, problems = check(changed)
    return scenario, report(changed, problems).splitlines() if scenario is None else []


def try_out(document: Document, tune: Tune, name: str | None = None) -> Scenario:
    """Return the variant `name` with all that is tuned changed to the first that it may be.

    Raises:
        ScenarioError: a path leads nowhere, or a value does not fit, each with its place.
        InputError: there is no such variant.
    """
    known = document.data.get("variants") or [DEFAULT]
    _chosen([_Todo(own, own, ()) for own in known], name and [name])
    changed = variant(document, name)
    chosen = [
        document.override(
            path,
            ("tune", "parameters", path),
            choice.min if isinstance(choice, Range) else choice[0],
        )
        for path, choice in tune.parameters.items()
    ]
    refuse_what_is_undone(changed, chosen)
    for override in chosen:
        changed = changed.change(override)
    return read(changed)


def _chosen(todo: Sequence[_Todo], only: Sequence[str] | None) -> Sequence[_Todo]:
    """Return those that `only` names.

    Raises:
        InputError: there is no such variant.
    """
    known = {item.name for item in todo} | {item.own for item in todo if item.own is not None}
    given = called("--variant", "variants")
    for name in only or ():
        require_kind(given, name, str, "names")
        if name not in known:
            raise InputError(f"{given}: there is no variant {name!r}{nearest(name, known)}")
    return [item for item in todo if only is None or item.name in only or item.own in only]


def _document(scenario: Scenario) -> Document:
    """Return the document that `scenario` was read from, or one that describes it."""
    document = scenario._document
    seeds = {"seed": scenario.seed, "seeds": scenario.seeds}
    if document is not None and read(document).model_copy(update=seeds) == scenario:
        return document
    return Document.of(scenario.to_dict(), folder=scenario.folder)


def _checked(seeds: Sequence[int]) -> Sequence[int]:
    """Return `seeds` if a scenario could have them.

    Raises:
        InputError: one is no whole number, out of range or listed twice, or they are too many.
    """
    plain = [int(seed) if isinstance(seed, np.integer) else seed for seed in seeds]
    try:
        return _SEEDS.validate_python(plain)
    except ValidationError as error:
        raise InputError(f"seeds: {first_message(error)}") from None


def _runs(todo: _Todo, scenario: Scenario, seeds: Sequence[int]) -> list[Run]:
    single: dict[str, Any] = {"variants": {}, "sweep": None, "tune": None, "seeds": ()}
    complete = [scenario.model_copy(update={"seed": seed, **single}) for seed in seeds]
    return [Run(todo.name, own.seed, own, todo.factors, todo.place) for own in complete]
