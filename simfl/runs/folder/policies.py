"""The round policy that was in force in each round: a fork may go on by another one."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from simfl.errors import InputError
from simfl.runs.folder.folder import SCENARIO, event_log, logged, past_names
from simfl.runs.folder.kinds import require_sound
from simfl.runs.folder.written import component_name, value_at
from simfl.scenario.language.yaml import read_yaml

_Row = Mapping[str, Any]


def past_scenarios(folder: Path, forks: int) -> list[_Row]:
    """Return the scenarios in force before each of a run's forks, as plain data.

    Raises:
        InputError: one is missing or damaged.
    """
    return [_past_scenario(folder / name) for name in past_names(forks)]


def _past_scenario(file: Path) -> _Row:
    try:
        text = file.read_text("utf-8")
        scenario, _ = read_yaml(text, str(file))
        require_sound(scenario, text, str(file))
    except OSError as error:
        raise InputError(f"{file} can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is damaged: {error}") from None
    return with_policy(scenario, file)


def with_policy(scenario: Any, file: Path) -> _Row:
    """Return what a run's `file` holds, where it is a scenario that says how its rounds go.

    Raises:
        InputError: it is damaged, and does not.
    """
    if not component_name(value_at(scenario, "rounds", "policy")):
        raise InputError(f"{file} is damaged: it holds no scenario with a `rounds.policy`")
    whole: _Row = scenario
    return whole


class Policies:
    """The round policies of a run, one unless it is a fork.

    Args:
        scenarios: that were in force, in their order, as plain data.
        forked: the log's events of forks that changed more than the end.
    """

    def __init__(self, scenarios: Iterable[_Row], forked: Iterable[_Row]) -> None:
        written = [scenario["rounds"]["policy"] for scenario in scenarios]
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
        past = past_scenarios(folder, len(provenance.get("forks", [])))
        lines = logged(folder, lambda line: '"event":"forked"' in line) if past else ()
        try:
            forked = [event for _, event in lines]
            return cls([*past, with_policy(scenario, folder / SCENARIO)], forked)
        except (LookupError, OSError) as error:
            raise InputError(
                f"{event_log(folder)} is damaged: its forks can't be read: {error}"
            ) from None

    def in_round(self, round_: int) -> _Row:
        """Return the policy, with its options, by which a round went.

        Raises:
            InputError: by the log it is that of a fork which the run does not have.
        """
        number = max((f for f, last in self._forks if last < round_), default=0)
        if number >= len(self._policies):
            raise InputError(f"the event log tells of a fork {number} that the run does not have")
        return self._policies[number]
