"""What was meant by a key that is not known where it stands: one beside it, or one elsewhere."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from simfl.core.arguments import called
from simfl.core.registry import Registry
from simfl.core.words import either
from simfl.errors import MEANT, listed_hint, nearest
from simfl.scenario.criteria import measured_names
from simfl.scenario.distributions import DISTRIBUTIONS
from simfl.scenario.fields import by_name, fits, option_names, takes
from simfl.scenario.keys import Key, keys, plain
from simfl.scenario.language.place import Location, dotted
from simfl.scenario.parts.rounds import Stop

MOST = 3
"""Paths that a hint names; a name of more places says too little."""
ALTERNATIVES = 8
"""Components that a hint names of which another one has the option that was written."""
COMMON = ("name", "description")
"""What almost anything has."""
BOUNDS = ("min", "max", "mean", "std", "median")
"""What numbers of a distribution are called, and what names of much else begin with."""
ASIDE = ("sweep", "tune", "variants")
"""Sections that say nothing of one run."""


@dataclass(frozen=True)
class Unknown:
    """A key that is not known where it stands.

    Attributes:
        path: where it stands.
        value: what is written there.
        owner: what the mapping that it stands in is for (None: not known).
        missing: required keys that this mapping lacks.
    """

    path: Location
    value: Any
    owner: type[BaseModel] | None
    missing: Sequence[str]

    @property
    def name(self) -> str:
        """The key itself."""
        return str(self.path[-1])

    def hint(self, data: Mapping[str, Any]) -> str:
        """Return a hint at what was meant, in a scenario with such `data`: the first that there is.

        1. How a path, or a target, is written in a file.
        2. A missing key whose description has the word.
        3. A key beside it that differs in a letter.
        4. A key elsewhere that is called so and takes such a value; before it, the option of that
           name of other components that may stand here instead.
        5. An option of other distributions.
        6. A key beside it that is spelt alike, or begins so, or whose description has the word
           and which takes such a value; or else one elsewhere that is spelt alike.
        7. An option of other components.
        8. A key elsewhere that is called so, where the value may only lack its unit.
        9. A key beside it, or else one elsewhere, whose description has the word.
        10. All keys beside it.
        """
        return next(filter(None, self._hints(data)), "")

    def _hints(self, data: Mapping[str, Any]) -> Iterator[str]:
        """Yield the hints that `hint` numbers, in that order ("": there is none of that kind)."""
        beside = [] if self.owner is None else option_names(self.owner)
        possible = [name for name in beside if self._fits(name)]
        yield _rewritten(self.name, beside) or self._as_target()  # 1
        yield _listed([n for n in self.missing if describes(self.owner, n, self.name)])  # 2
        yield _meant(nearest(self.name, possible, alike=0.9))  # 3
        elsewhere = self._elsewhere(data)
        fitting = {path: key for path, key in elsewhere.items() if takes(key.field, self.value)}
        sections = {path: key for path, key in elsewhere.items() if not fits(key.field, self.value)}
        paths = _called(self.name, fitting) or _called(self.name, sections)
        if paths == [self.name]:  # which alone says nothing
            yield f"; did you mean {self.name!r} at the top of the scenario?"
        yield self._of_others(self._others(elsewhere), ALTERNATIVES) if paths else ""  # 4
        yield _listed(paths)
        yield self._of_distributions()  # 5
        yield _meant(nearest(self.name, possible))  # 6
        begun = [name for name in possible if name.startswith(f"{self.name}_")]
        yield _listed([name for name in begun if self._taken_by(name)])
        told = [name for name in beside if describes(self.owner, name, self.name)]
        yield _listed([name for name in told if self._taken_by(name)])
        yield _listed(_called(_alike(self.name, {key.last for key in fitting.values()}), fitting))
        yield self._of_others(self._others(elsewhere))  # 7
        unitless = type(self.value) in (int, float)  # told once the key is where it belongs
        paths = _called(self.name, elsewhere if unitless else {})  # 8
        paths = paths or told  # 9
        paths = paths or [path for path, key in elsewhere.items() if self._told_by(key)]
        yield _listed(paths) if len(paths) <= MOST else ""
        yield nearest(self.name, beside)  # 10

    def _as_target(self) -> str:
        """Return how a value of what evaluations measure is written where a target may stand."""
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if self.owner is not Stop or not number or self.name not in measured_names():
            return ""
        return f"; write it `target: {self.name} {self.value}`"

    def _others(self, elsewhere: Mapping[str, Key]) -> Registry[Any] | None:
        """Return the components of which one is written where the key stands, if it is so."""
        above = plain(dotted(self.path[:-1]))
        kinds = (key.members for path, key in elsewhere.items() if plain(path) == above)
        return next(kinds, None)

    def _of_others(self, members: Registry[Any] | None, most: int = MOST) -> str:
        """Return which of these components have such an option, or go by such a name."""
        if members is None:
            return ""
        if self.value in (names := members.names()):
            return f"; the name is written `name: {self.value}`"
        return self._option_of(members.kind, {name: members.get(name) for name in names}, most)

    def _of_distributions(self) -> str:
        """Return which distributions have such an option, if it stands in one that has not."""
        draws = DISTRIBUTIONS if self.owner in DISTRIBUTIONS.values() else {}
        return self._option_of("distribution", draws)

    def _option_of(
        self, kind: str, members: Mapping[str, type[BaseModel]], most: int = MOST
    ) -> str:
        having = [name for name, member in members.items() if by_name(member, self.name)]
        if not 0 < len(having) <= most:
            return ""
        return f"; it is an option of {kind} {either([repr(name) for name in having])}"

    def _fits(self, name: str) -> bool:
        field = None if self.owner is None else by_name(self.owner, name)
        return field is None or fits(field, self.value)

    def _taken_by(self, name: str) -> bool:
        field = None if self.owner is None else by_name(self.owner, name)
        return field is not None and takes(field, self.value)

    def _told_by(self, key: Key) -> bool:
        """Return whether a key's description has the word, and it takes what is written so."""
        if key.members is not None or key.part is not None or self.name in BOUNDS:
            return False
        has_it = self.name in _words(key.field.description)
        written = (self.value, {self.name: self.value})
        return has_it and any(takes(key.field, value) for value in written)

    def _elsewhere(self, data: Mapping[str, Any]) -> dict[str, Key]:
        """Return the keys of such a scenario by their paths, as it would have them."""
        group = self.path[1] if self.path[:1] == ("fleet",) and len(self.path) > 1 else 0
        index = group if isinstance(group, int) else 0

        def chosen(path: str, members: Registry[Any]) -> list[str]:
            return _names(data, path, index) or [members.default or ""]

        return {
            _shown(key, data, index): key
            for key in keys(chosen)
            if key.path.partition(".")[0] not in ASIDE and "*" not in key.path
        }


def describes(owner: type[BaseModel] | None, key: str, word: str) -> bool:
    """Return whether a word stands in the description of a key of a mapping for `owner`."""
    field = None if owner is None else by_name(owner, key)
    return word in _words(field and field.description)


def _words(text: str | None) -> list[str]:
    return re.findall(r"\w+", text or "")


def _rewritten(name: str, beside: Sequence[str]) -> str:
    """Return how ``alpha=0.1``, or a path such as ``data.partition``, is written in a file.

    ("": it is neither.)  A colon without a space after it joins what should be two, too.
    """
    key, *value = (word.strip() for word in re.split("[=:]", name, maxsplit=1))
    if any(value) and key in beside:
        return f"; write it `{key}: {value[0]}`"
    section, *inner = re.findall(r"[^.\[\]/:]+", name) or [""]
    if not inner or section not in beside:
        return ""
    written = "..."
    for key in reversed(inner):
        written = f"[{written}]" if key.isdigit() else f"{{{key}: {written}}}"
    return (
        f"; write it nested, `{section}: {written}`; names with dots are for variants, sweeps "
        f"and {called('--set', 'overrides')}"
    )


def _listed(meant: Sequence[str]) -> str:
    return listed_hint(meant) if meant else ""


def _meant(hint: str) -> str:
    """Return a hint of `nearest` if it names one thing, not all there are."""
    return hint if hint.startswith(MEANT) else ""


def _called(name: str, elsewhere: Mapping[str, Key]) -> list[str]:
    """Return the paths that end in a name, if they are few and it says what they are."""
    paths = [path for path, key in elsewhere.items() if key.last == name]
    return paths if len(paths) <= MOST and name not in COMMON else []


def _alike(name: str, names: set[str]) -> str:
    """Return which of `names` a name probably is, such as rounds for max_rounds ("": none)."""
    words = name.split("_")
    ends = ["_".join(words[first:]) for first in range(1, len(words))]
    if known := next((end for end in ends if end in names), ""):
        return known
    hint = nearest(name, names.difference(BOUNDS), alike=0.8)
    return next((known for known in names if hint.endswith(f"mean {known!r}?")), "")


def _names(data: Any, path: str, index: int) -> list[str]:
    """Return the names of the components that are written at a path of the language."""
    for step in re.findall(r"\[\]|[^.\[\]]+", path):
        if step == "[]" and isinstance(data, list):
            data = data[index] if index < len(data) else None
        elif step != "[]":
            data = data.get(step) if isinstance(data, Mapping) else None
    items = data if isinstance(data, list) else [data]
    named = [item.get("name") if isinstance(item, Mapping) else item for item in items]
    return [name for name in named if isinstance(name, str)]


def _shown(key: Key, data: Mapping[str, Any], index: int) -> str:
    """Return the path of a key as it is written in such a scenario."""
    listed = isinstance(data.get("fleet"), list)
    path = key.path.replace("fleet[]", f"fleet[{index}]" if listed else "fleet")
    return path.replace("[]", "")
