"""The contract of every tracker, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from simfl.components.trackers.base import Step, TrackedRun, Tracker
from simfl.testing.contract import ComponentContract


def example_run(top: Path) -> TrackedRun:
    """Return a run that begins."""
    options = {"seed": 7, "rounds.clients": 4, "name": "example", "fleet.0.name": "phones"}
    return TrackedRun("example", "slow", 7, options, top)


def example_steps(rounds: int) -> list[Step]:
    """Return so many rounds of it."""
    return [
        Step(number, 10.5 * number, {"accuracy": 0.25 * number, "loss": 1 / number})
        for number in range(1, rounds + 1)
    ]


def record(tracker: Tracker, top: Path, rounds: int = 3) -> None:
    """Let `tracker` keep a run of so many rounds, told of at twice."""
    steps, kept = example_steps(rounds), tracker.begin(example_run(top))
    for part in (steps[:1], steps[1:]):
        if part:
            kept.add(part)
    kept.end({"rounds": float(rounds)})


class TrackerContract(ComponentContract):
    """What holds for every tracker; inherit and set `create`."""

    create: Callable[..., Tracker]

    def test_it_records_below_the_folder_of_all_runs(self, tmp_path: Path) -> None:
        """Something is kept there, and the folders of runs are left alone."""
        if self.create().package and find_spec(self.create().package) is None:
            pytest.skip(f"{self.create().package} is not installed")
        run = tmp_path / "slow" / "seed-7"
        run.mkdir(parents=True)
        record(self.create(), tmp_path)
        assert len(list(tmp_path.iterdir())) > 1, "nothing was kept"
        assert not list(run.iterdir()), "something was written into a run's folder"

    def test_a_run_without_rounds_is_kept_too(self, tmp_path: Path) -> None:
        """It may have ended before its first aggregation, or been interrupted."""
        if not self.create().package or find_spec(self.create().package) is not None:
            record(self.create(), tmp_path, rounds=0)
            self.create().begin(example_run(tmp_path)).end(None)
