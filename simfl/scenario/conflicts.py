"""Changes of which one undoes another: who reads them would be misled."""

from collections.abc import Sequence
from itertools import product

from simfl.core.arguments import called
from simfl.errors import ScenarioError
from simfl.scenario.document import Document
from simfl.scenario.language.place import Location, dotted
from simfl.scenario.overrides import Override, meant, replacements
from simfl.scenario.parts.sweep import Point


def refuse_what_is_swept(document: Document, swept: Sequence[Point]) -> None:
    """Refuse changes of what is swept: points would be named after values that they don't have.

    Raises:
        ScenarioError: naming the change.
    """
    for factor in swept[0]:
        path = document.override(*factor).path
        for override in document.overrides:
            if _changes(override, path, document):
                place = override.marks[override.path].key
                sweep = f"'sweep={{{dotted(path)}: [...]}}'"
                instead = called(f"--set {sweep}", f"overrides=[{sweep}]")
                raise ScenarioError(
                    f"{place}: {dotted(path)} is swept; change the sweep instead, `{instead}`"
                )


def refuse_what_is_undone(
    document: Document, changes: Sequence[Override], again: int | None = None
) -> None:
    """Refuse changes of which a later one undoes an earlier: who reads them would be misled.

    Args:
        document: what they change.
        changes: in the order in which they are made.
        again: from which on they may change once more what those before it did; what is called the
            same may then be changed twice, too (None: what is run is named after every value).

    Raises:
        ScenarioError: naming both.
    """
    before: list[tuple[int, Location, Location]] = []  # whose, as written, and what it means
    for number, override in enumerate(changes):
        changed = [(number, place, meant(place, document.data)) for place in _places(override)]
        for (_, written, place), (earlier, its, undone) in product(changed, before):
            if not _replaces(place, undone):
                continue
            same = place == undone
            if same and again is not None and (written == its or earlier < again <= number):
                continue
            at = override.marks[override.path].key
            cure = f"change {dotted(written)} first, or {dotted(its)} after it"
            raise ScenarioError(
                f"{at}: {dotted(override.path)} undoes {dotted(its)}, which is changed "
                f"before it; {'change it once' if same else cure}"
            )
        before += changed


def _changes(override: Override, path: Location, document: Document) -> bool:
    """Whether an override is about what `path` leads to, or something in it."""
    path = meant(path, document.data)
    changed = [meant(place, document.data) for place in _places(override)]
    return any(place[: len(path)] == path or _replaces(place, path) for place in changed)


def _places(override: Override) -> list[Location]:
    """Return where something is replaced."""
    return [place for place, _ in replacements(override.path, override.value)]


def _replaces(place: Location, path: Location) -> bool:
    """Whether what stands at `path` is gone once something else stands at `place`."""
    return path[: len(place)] == place
