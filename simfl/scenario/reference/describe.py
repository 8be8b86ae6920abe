"""What a component is and which options it has, for people."""

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simfl.core.component import Component
from simfl.core.registry import Registry
from simfl.errors import NameNotFound
from simfl.scenario.distributions import DISTRIBUTIONS, Draw
from simfl.scenario.parts.catalogue import DEVICES, DeviceClass, catalogue, device_class
from simfl.scenario.reference.kinds import KINDS, plural, registry
from simfl.scenario.reference.option import Option, option_lines, options
from simfl.scenario.reference.references import bibtex

DRAWS = "distributions"
LISTED = (*KINDS, DRAWS, DEVICES)
"""Kinds of components, and what else is listed by name."""
_SOURCE = "Source:"
"""Begins the paragraph of a docstring that tells where a component comes from."""


@dataclass(frozen=True)
class Description:
    """What a component is.

    Attributes:
        kind: such as ``selector``.
        name: as scenarios write it.
        text: what it does, and what it costs.
        source: where it comes from: paper, section, disagreements.
        bibtex: what to cite.
        module: where its code is.
        options: in the order in which they were defined, the common ones last.
    """

    kind: str
    name: str
    text: str
    source: str
    bibtex: str
    module: str
    options: Sequence[Option]

    @classmethod
    def of(cls, component: type[Component], kind: str, name: str) -> "Description":
        """Return the description of a component's class, as scenarios `name` it."""
        text, source = _sourced(component)
        marked = "Experimental: options and results may still change.\n\n"
        return cls(
            kind,
            name,
            marked * component.experimental + text,
            source,
            bibtex(plural(kind), name),
            component.__module__,
            options(component),
        )

    @classmethod
    def find(cls, kind: str, name: str) -> "Description":
        """Return the description of a component, a distribution, or a class of devices.

        Args:
            kind: plural or singular.
            name: as scenarios write it.

        Raises:
            NameNotFound: there is no such kind, or nothing of that kind has this name.
        """
        if _is(DEVICES, kind):
            return cls._of_device(name, device_class(name))
        if _is(DRAWS, kind):
            return cls._of_draw(name)
        members = _members(kind)
        component = members.get(name)
        return cls.of(component, members.kind, members.known_by(name, component))

    @classmethod
    def _of_draw(cls, name: str) -> "Description":
        if name not in DISTRIBUTIONS:
            raise NameNotFound("distribution", name, DISTRIBUTIONS)
        draw = DISTRIBUTIONS[name]
        text = (
            f"{_text(draw)}\n\nIt stands for a device's number, as in `compute: {{distribution: "
            f"{name}, ...}}`;\nquantities are in units of that number."
        )
        return cls("distribution", name, text, "", "", draw.__module__, options(draw))

    @classmethod
    def _of_device(cls, name: str, device: DeviceClass) -> "Description":
        options = [
            Option(number, "", _flow(default), False, "", _why(device, number))
            for number, default in device.defaults().items()
        ]
        text = f"{device.description[0].upper()}{device.description[1:]}."
        if device.battery is not None:
            text += f"\n\nIts battery holds {device.battery} ({device.source['battery']})."
        return cls("device class", name, text, "", "", "simfl.scenario.parts.catalogue", options)

    def __str__(self) -> str:
        blocks = [f"{self.name} ({self.kind})", self.text]
        if self.options:
            blocks.append("Options:\n" + "\n".join(map(option_lines, self.options)))
        blocks.append(f"{_SOURCE} {self.source}" if self.source else "")
        blocks.append(f"To cite:\n{self.bibtex}" if self.bibtex else "")
        blocks.append(f"Code: {self.module}")
        return "\n\n".join(block for block in blocks if block)


def kinds_of(name: str) -> list[str]:
    """Return the kinds (plural) of components, or classes of devices, of which one has this name.

    Raises:
        NameNotFound: nothing has.
    """
    members = {kind: overview(kind) for kind in LISTED}
    kinds = [kind for kind, names in members.items() if name in names]
    if len(kinds) > 1 and DRAWS in kinds:  # several are called as components are
        kinds.remove(DRAWS)
    if not kinds:
        raise NameNotFound("component", name, {own for names in members.values() for own in names})
    return kinds


def is_kind(name: str) -> bool:
    """Return whether a kind of component, or the devices, are called so (plural or singular)."""
    try:
        return bool(overview(name))
    except NameNotFound:
        return False


def overview(kind: str) -> dict[str, str]:
    """Return a line for each component of a kind, plural or singular, distribution, or device.

    Raises:
        NameNotFound: there is no such kind.
    """
    if _is(DRAWS, kind):
        return {name: summary(draw) for name, draw in DISTRIBUTIONS.items()}
    if _is(DEVICES, kind):
        return {name: device.description for name, device in catalogue().items()}
    members = _members(kind)
    return {name: summary(members.get(name)) for name in members.names()}


def _members(kind: str) -> Registry[Any]:
    try:
        return registry(plural(kind))
    except NameNotFound:
        raise NameNotFound("kind", kind, LISTED) from None


def _is(plural: str, kind: str) -> bool:
    return kind in (plural, plural.removesuffix("s"))


def _flow(value: Any) -> str:
    """Return a value as one line of YAML."""
    if not isinstance(value, dict):
        return str(value)
    return "{" + ", ".join(f"{key}: {item}" for key, item in value.items()) + "}"


def _why(device: DeviceClass, number: str) -> str:
    """Return what a number is, and where it comes from."""
    links = ("downlink", "uplink", "latency")
    what = DeviceClass.model_fields[number].description or ""
    return f"{what}; {device.source['links' if number in links else number]}"


def summary(component: type[Component] | type[Draw]) -> str:
    """Return the first paragraph of a component's description, in one line."""
    marked = "(experimental) " * getattr(component, "experimental", False)
    return marked + " ".join(_text(component).partition("\n\n")[0].split())


def _sourced(component: type[Component]) -> tuple[str, str]:
    """Return what a component does, and where it comes from: as it says itself, or its module."""
    paragraphs = _text(component).split("\n\n")
    own = [each for each in paragraphs if each.startswith(_SOURCE)]
    text = "\n\n".join(each for each in paragraphs if each not in own)
    source = "\n\n".join(own) or _text(sys.modules[component.__module__])
    return text, source.removeprefix(_SOURCE).lstrip()


def _text(documented: object) -> str:
    return (inspect.getdoc(documented) or "").replace("``", "`")
