"""The round policy that was in force in each round: a fork may go on by another one."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simfl.errors import InputError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.folder import event_lines, past_names
from simfl.scenario.language.yaml import read_yaml

_Row = Mapping[str, Any]


def past_scenarios(folder: Path, forks: int) -> list[_Row]:
    """Return the scenarios in force before each of a run's forks, as plain data.

    Raises:
        OSError, ValueError, InputError: one is missing or damaged.
    """
    names = past_names(forks)
    return [read_yaml((folder / name).read_text("utf-8"), name)[0] for name in names]


class Policies:
    """The round policies of a run, one unless it is a fork.

    Args:
        scenarios: that were in force, in their order, as plain data.
        forked: the log's events of forks that changed more than the end.
    """

    def __init__(self, scenarios: Iterable[_Row], forked: Iterable[_Row]) -> None:
        written = [scenario.get("rounds", {}).get("policy", {}) for scenario in scenarios]
        self._policies = [{"name": p} if isinstance(p, str) else dict(p) for p in written]
        self._forks = [(event["fork"], event["round"]) for event in forked]

    @classmethod
    def of(cls, folder: Path, scenario: _Row, provenance: _Row) -> "Policies":
        """Read the policies of a run whose log holds more than nothing.

        Args:
            folder: of the run.
            scenario: in force last.
            provenance: says of which run it is a fork, if it is one.

        Raises:
            InputError, RunError: a file is damaged.
        """
        try:
            return cls._read(folder, scenario, provenance)
        except (AttributeError, LookupError, TypeError, OSError, ValueError) as error:
            raise InputError(
                f"{folder} is damaged: its round policies can't be read: {error}"
            ) from None

    @classmethod
    def _read(cls, folder: Path, scenario: _Row, provenance: _Row) -> "Policies":
        past = past_scenarios(folder, len(provenance.get("forks", [])))
        lines = event_lines(folder) if past else ()
        return cls([*past, scenario], [decode(x) for x in lines if '"event":"forked"' in x])

    def in_round(self, round_: int) -> _Row:
        """Return the policy, with its options, by which a round went."""
        number = max((f for f, last in self._forks if last < round_), default=0)
        if number >= len(self._policies):
            raise InputError(f"the event log tells of a fork {number} that the run does not have")
        return self._policies[number]
