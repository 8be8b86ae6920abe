"""What a run's scenario says, looked up in plain data: no code that it names is imported."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WrittenGroup:
    """A group of devices.

    Attributes:
        name: of the group.
        first: id of its first device.
        count: how many it has.
        powered: whether it says what power its devices take.
        attack: how they attack ("": they don't).
        attack_from: the round in which they begin to.
    """

    name: str
    first: int
    count: int
    powered: bool
    attack: str
    attack_from: int


def written_groups(scenario: Mapping[str, Any]) -> Iterator[WrittenGroup]:
    """Yield the groups of a scenario, in their order."""
    first = 0
    for index, group in enumerate(scenario.get("fleet", [])):
        count = int(group.get("count") or 0)
        yield WrittenGroup(
            name=str(group.get("name", f"group-{index}")),
            first=first,
            count=count,
            powered=group.get("power") is not None,
            attack=component_name(group.get("attack")),
            attack_from=value_at(group, "attack", "from_round") or 1,
        )
        first += count


def value_at(scenario: Mapping[str, Any], *path: str) -> Any:
    """Return what plain data have at a path (None: nothing, or no mapping on the way)."""
    value: Any = scenario
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def component_name(written: Any) -> str:
    """Return the name of a component as scenarios have it: alone, or with options beside it."""
    name = written.get("name") if isinstance(written, dict) else written
    return name if isinstance(name, str) else ""
