"""Events of a YAML parser -> plain data, and where each piece of it stands.

PyYAML splits text into events (by its C parser where there is one); what they mean is decided
here, by the core schema (`yaml_schema`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import yaml
from yaml import events

from simfl.core.words import LONGEST_TEXT
from simfl.errors import ScenarioError
from simfl.scenario.language.place import Location, Marks, Place, dotted
from simfl.scenario.language.yaml_schema import CORE, TAG, VALUE

PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Turns text into events; both parsers find the same."""

MOST_PROBLEMS = 100
"""So many are told at once."""
_MOST_VALUES = 50_000
_DEEPEST = 50
TOO_DEEP = f"is nested too deeply: more than {_DEEPEST} levels"
_LONGEST_NUMBER = 100

_STEPS = {
    events.ScalarEvent: 0,
    events.AliasEvent: 0,
    events.SequenceStartEvent: 1,
    events.MappingStartEvent: 1,
    events.SequenceEndEvent: -1,
    events.MappingEndEvent: -1,
}
"""How much deeper each event that begins or ends a node leads."""


def _nodes(text: str) -> Iterator[Any]:
    """Yield the events of the document in `text` that begin or end a node."""
    parser = PARSER(text)
    documents = 0
    try:
        while parser.check_event():
            event: Any = parser.get_event()
            if type(event) in _STEPS:
                yield event
            documents += isinstance(event, events.DocumentStartEvent)
            if documents > 1:
                raise yaml.MarkedYAMLError(
                    problem="found a second document", problem_mark=event.start_mark
                )
    finally:
        parser.dispose()


class Builder:
    """Turns events into plain data and marks, collecting every problem.

    Args:
        source: what messages call the text.
        lines: whether lines and columns mean anything to their reader.
    """

    def __init__(self, source: str, lines: bool) -> None:
        self._source = source
        self._lines = lines
        self._marks: dict[Location, Marks] = {}
        self._problems: list[str] = []
        self._events: list[Any] = []
        self._meant: dict[int, int] = {}  # index of an alias -> index of what it stands for
        self._next = 0
        self._open: set[int] = set()  # indices of the collections being built

    def place(self, mark: Any) -> Place:
        """Return where `mark` is, if that means anything."""
        if self._lines and mark:
            return Place(self._source, mark.line + 1, mark.column + 1)
        return Place(self._source)

    def build(self, text: str) -> tuple[Any, dict[Location, Marks]]:
        """Return the data in `text`, and where each piece of it stands.

        Raises:
            ScenarioError: it is too large, or holds what no scenario can; every problem.
            YAMLError: it is no YAML.
            ValueError: the same, of an escape that is no character.
        """
        self._list_events(text)
        if not self._events:
            return None, {(): Marks(Place(self._source), Place(self._source))}
        data = self._value((), self._events[0])
        if self._problems:
            raise ScenarioError("\n".join(self._problems))
        return data, self._marks

    def _list_events(self, text: str) -> None:
        """Fill the list of events; stop as soon as they are too many, or nested too deeply."""
        anchors: dict[str, int] = {}
        depth = 0
        for index, event in enumerate(_nodes(text)):
            depth += _STEPS[type(event)]
            self._bound(event, depth, index // 2)  # a value may have a key
            self._events.append(event)
            anchor = getattr(event, "anchor", None)
            if isinstance(event, events.AliasEvent):
                if anchor not in anchors:
                    what, mark = f"found undefined alias {anchor!r}", cast(Any, event.start_mark)
                    raise yaml.MarkedYAMLError(problem=what, problem_mark=mark)
                self._meant[index] = anchors[anchor]
            elif anchor is not None:
                anchors[anchor] = index

    def _bound(self, event: Any, depth: int, values: int) -> None:
        if depth > _DEEPEST:
            place = self.place(event.start_mark)
            raise ScenarioError(f"{place}: {TOO_DEEP}")
        if values > _MOST_VALUES:
            place = self.place(event.start_mark)
            raise ScenarioError(f"{place}: has more than {_MOST_VALUES:,} values")

    def _value(self, path: Location, key: Any) -> Any:
        """Return what begins at the next event, and note where it stands."""
        index = self._next
        event = self._events[index]
        if index in self._meant:
            self._next = target = self._meant[index]
            if target in self._open:
                data = self._problem(event, path, "refers to itself")
            else:
                data = self._value(path, self._events[target] if key is event else key)
            self._next = index + 1
            return data
        self._next += 1
        self._marks[path] = Marks(self.place(key.start_mark), self.place(event.start_mark))
        self._bound(event, len(path), len(self._marks))
        if isinstance(event, events.ScalarEvent):
            return self._scalar(event, path)
        is_mapping = isinstance(event, events.MappingStartEvent)
        self._open.add(index)
        data = self._mapping(path) if is_mapping else self._list(path)
        self._open.remove(index)
        self._next += 1  # past its end
        if event.tag not in (None, "!", TAG + ("map" if is_mapping else "seq")):
            return self._problem(event, path, f"unknown YAML tag {event.tag}")
        return data

    def _items(self) -> Iterator[Any]:
        """Yield the first event of each item of a collection; the caller moves on."""
        while not isinstance(event := self._events[self._next], events.CollectionEndEvent):
            yield event

    def _list(self, path: Location) -> list[Any]:
        data: list[Any] = []
        for event in self._items():
            data.append(self._value((*path, len(data)), event))
        return data

    def _mapping(self, path: Location) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key in self._items():
            written = self._events[self._meant.get(self._next, self._next)]
            wrong = self._wrong_key(written, path, data)
            self._skip()
            if wrong:
                self._problem(key, path, wrong)
                self._skip()
            else:
                data[written.value] = self._value((*path, written.value), key)
        return data

    def _wrong_key(self, key: Any, path: Location, before: Mapping[str, Any]) -> str:
        """Return what is wrong with a key of the mapping at `path`; "" if nothing is."""
        if not isinstance(key, events.ScalarEvent) or key.tag not in (None, "!", TAG + "str"):
            return "expected text as a key"
        if key.value == "<<" and key.implicit[0]:
            return "merge keys (<<) are no YAML 1.2; write the keys out"
        if key.value in before:
            first = self._marks[(*path, key.value)].key
            where = f", first in line {first.line}" if first.line else ""
            return f"duplicate key {key.value!r}{where}"
        return ""

    def _skip(self) -> None:
        """Move past what begins at the next event."""
        depth = _STEPS[type(self._events[self._next])]
        self._next += 1
        while depth:
            depth += _STEPS[type(self._events[self._next])]
            self._next += 1

    def _scalar(self, event: Any, path: Location) -> Any:
        text, kind = event.value, str(event.tag).removeprefix(TAG)
        if event.tag in (None, "!"):
            bare = event.tag is None and event.implicit[0]  # neither tagged nor quoted
            looks = CORE.items() if bare else ()
            kind = next((kind for kind, look in looks if look.fullmatch(text)), "str")
        if kind == "str":
            return text
        if kind not in CORE:
            return self._problem(event, path, f"unknown YAML tag {event.tag}")
        if not CORE[kind].fullmatch(text):
            return self._problem(event, path, f"{text[:LONGEST_TEXT]!r} is no {kind}")
        if len(text) > _LONGEST_NUMBER:
            return self._problem(event, path, f"a number of more than {_LONGEST_NUMBER} digits")
        value = VALUE[kind](text)
        if value != value:
            return self._problem(event, path, "NaN is no number a scenario can use")
        return value

    def _problem(self, event: Any, path: Location, message: str) -> Any:
        where = f"{dotted(path)}: " if path else ""
        self._problems.append(f"{self.place(event.start_mark)}: {where}{message}")
        if len(self._problems) >= MOST_PROBLEMS:
            raise ScenarioError("\n".join(self._problems))
