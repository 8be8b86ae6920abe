"""The files of a run's folder that say what it is, and how far it is."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE, SCENARIO, SUMMARY, is_finished, resuming
from simfl.runs.folder.json_files import read_json
from simfl.runs.folder.kinds import require_sound
from simfl.runs.folder.lock import is_locked
from simfl.runs.folder.written import WrittenGroup, component_name, value_at, written_groups


@dataclass(frozen=True)
class RunFiles:
    """The files of a run, finished or not.

    They are read when they are first needed; reading raises `InputError` where one is missing or
    damaged.

    Attributes:
        folder: where they are.
    """

    folder: Path

    def __fspath__(self) -> str:
        """Return the folder: a result can be given for it."""
        return str(self.folder)

    @cached_property
    def scenario_text(self) -> str:
        """The resolved scenario as it is written.

        Raises:
            InputError: it can't be read.
        """
        try:
            return (self.folder / SCENARIO).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"{self.folder / SCENARIO} can't be read: {error}") from None

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, as plain data.

        Raises:
            InputError: it can't be read, is none, or something in it is not what it should be.
        """
        from simfl.scenario.language.yaml import read_yaml

        path = self.folder / SCENARIO
        scenario, _ = read_yaml(self.scenario_text, str(path), lines=False)
        if not isinstance(scenario, dict):
            raise InputError(f"{path} holds no scenario")
        require_sound(scenario, self.scenario_text, str(path))
        return scenario

    def written(self, *path: str) -> Any:
        """Return what the scenario says at a path, such as `rounds`, `stop` (None: nothing)."""
        return value_at(self.scenario, *path)

    def component(self, *path: str) -> str:
        """Return the name of the component at a path of the scenario ("": there is none)."""
        return component_name(self.written(*path))

    @property
    def holds_data(self) -> bool:
        """Whether clients' samples are the scenario's, not those of another program's clients."""
        return not self.component("data", "dataset").endswith(":Elsewhere")

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Versions, machine, executor, seed."""
        return read_json(self.folder / PROVENANCE)

    @cached_property
    def contents(self) -> dict[str, str]:
        """Digests of the files that its scenario names, by name (older runs: nothing)."""
        return dict(self.provenance.get("files", {}))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Totals, targets and digests.

        Raises:
            InputError: the run has not finished.
        """
        self.require_finished()
        return read_json(self.folder / SUMMARY)

    def require_finished(self) -> None:
        """Refuse a run that has not finished.

        Raises:
            InputError: it has not; tells what became of it, and how to go on.
        """
        if not self.finished:
            state = f"failed {self.failure}" if self.failure else "has not finished"
            raise InputError(f"{self.folder} {state}; go on with `{resuming(self.folder)}`")

    @cached_property
    def finished(self) -> bool:
        """Whether it ended."""
        return is_finished(self.folder)

    @property
    def failure(self) -> str:
        """In which round it failed, and by what ("": it did not, or goes on)."""
        failed = self.provenance.get("failed")
        if self.finished or failed is None:
            return ""
        return f"in round {failed.get('round')}: {failed.get('error')}"

    @property
    def state(self) -> str:
        """How it is now: `finished`, `running`, `failed` (see `failure`) or `stopped`."""
        if self.finished:
            return "finished"
        if is_locked(self.folder):
            return "running"
        return "failed" if self.failure else "stopped"

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario.get("name", ""))

    @property
    def variant(self) -> str:
        """Which variant of the scenario."""
        return str(self.provenance.get("variant", ""))

    @property
    def seed(self) -> int:
        """Root of its randomness."""
        return int(self.provenance.get("seed", 0))

    @property
    def time_only(self) -> bool:
        """Whether nothing was trained."""
        return bool(self.provenance.get("time_only", False))

    @property
    def log(self) -> str:
        """What was recorded: full, rounds or none; see `Options`."""
        return str(self.provenance.get("log", "full"))

    @property
    def forks(self) -> list[dict[str, Any]]:
        """When it was forked, `at_s`, and what each fork `set`, in order ([]: it is no fork)."""
        return list(self.provenance.get("forks", []))

    @property
    def oracle(self) -> bool:
        """Whether its selector saw what no server can know."""
        return bool(self.provenance.get("oracle", False))

    @property
    def powered(self) -> bool:
        """What `Experiment.powered` was; folders older than the word have the fleet."""
        return bool(self.provenance.get("powered", any(group.powered for group in self.fleet)))

    @property
    def unpowered(self) -> list[str]:
        """What `Experiment.unpowered` was; folders older than the word have the fleet."""
        silent = [group.name for group in self.fleet if self.powered and not group.powered]
        return list(self.provenance.get("unpowered", silent))

    @property
    def factors(self) -> dict[str, Any]:
        """What was swept to make it: a path -> its value, as written.

        Where the scenario has variants too, `variant` is the name of its own.
        """
        return dict(self.provenance.get("factors", {}))

    @cached_property
    def fleet(self) -> list[WrittenGroup]:
        """The fleet's groups."""
        return list(written_groups(self.scenario))

    @cached_property
    def groups(self) -> list[tuple[str, int]]:
        """The same: name, and id of the first device."""
        return [(group.name, group.first) for group in self.fleet]

    @cached_property
    def client_names(self) -> list[str]:
        """What the data set calls the client of each device ([]: it does not say)."""
        return list(self.provenance.get("clients", []))

    def client_name(self, device: int) -> str:
        """Return what the data set calls the client of a device ("": it does not say)."""
        return self.client_names[device] if device < len(self.client_names) else ""

    def called(self, device: int) -> str:
        """Return which device that is, and whose: ``device 3``, or ``device 3 (St. Mary)``."""
        name = self.client_name(device)
        return f"device {device} ({name})" if name else f"device {device}"

    @cached_property
    def attacks(self) -> dict[str, str]:
        """How the devices of those groups of the fleet attack that do, by their names."""
        return {group.name: group.attack for group in self.fleet if group.attack}

    def attack_in(self, round_: int, group: str) -> str:
        """Return how the devices of a group attack in a round ("": they don't, or not yet)."""
        begun = (own.name == group and round_ >= own.attack_from for own in self.fleet)
        return self.attacks.get(group, "") if any(begun) else ""

    @property
    def attackers(self) -> int:
        """How many devices attack."""
        return sum(group.count for group in self.fleet if group.attack)

    @cached_property
    def targets(self) -> list[float]:
        """What the scenario asks about, as it lists them."""
        from simfl.core.target import parse_target

        return [parse_target(target) for target in self.written("evaluation", "targets") or []]

    @property
    def planned_rounds(self) -> int | None:
        """How many rounds it is to have at most (None: the scenario does not count them)."""
        planned = self.written("rounds", "stop", "rounds")
        return planned if isinstance(planned, int) else None
