"""The contract of every tracker, as a test suite to inherit: see `simfl.testing.contract`."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from simfl.components.trackers.base import Step, TrackedRun, Tracker
from simfl.testing.contract import ComponentContract


def example_run(top: Path, rounds: int = 3) -> TrackedRun:
    """Return a run of so many rounds."""
    steps = [
        Step(number, 10.5 * number, {"accuracy": 0.25 * number, "loss": 1 / number})
        for number in range(1, rounds + 1)
    ]
    options = {"seed": 7, "rounds.clients": 4, "name": "example", "fleet.0.name": "phones"}
    return TrackedRun("example", "slow", 7, options, steps, {"rounds": float(rounds)}, top)


class TrackerContract(ComponentContract):
    """What holds for every tracker; inherit and set `create`."""

    create: Callable[[], Tracker]

    def test_it_records_below_the_folder_of_all_runs(self, tmp_path: Path) -> None:
        """Something is kept there, and the folders of runs are left alone."""
        if self.create().package and find_spec(self.create().package) is None:
            pytest.skip(f"{self.create().package} is not installed")
        run = tmp_path / "slow" / "seed-7"
        run.mkdir(parents=True)
        self.create().record(example_run(tmp_path))
        assert len(list(tmp_path.iterdir())) > 1, "nothing was kept"
        assert not list(run.iterdir()), "something was written into a run's folder"

    def test_a_run_without_rounds_is_kept_too(self, tmp_path: Path) -> None:
        """It may have ended before its first aggregation."""
        if not self.create().package or find_spec(self.create().package) is not None:
            self.create().record(example_run(tmp_path, rounds=0))
