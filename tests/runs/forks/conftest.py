"""Runs to fork, each made once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from simfl import Options, Scenario
from simfl.runs.job import Job
from simfl.runs.run import run_one
from tests.runs.forks.forked_runs import LONG, Ran
from tests.runs.interruptions import EAGER


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Run `LONG` with changes, each set of them once for all tests."""
    folders: dict[str, Path] = {}

    def make(overrides: tuple[str, ...], options: Options) -> Path:
        scenario = Scenario.from_dict(LONG, overrides=overrides)
        key = f"{overrides} {options}"
        if key not in folders:
            job = Job("default", scenario, tmp_path_factory.mktemp("made") / "seed-0")
            folders[key] = run_one(job, options).folder
        return folders[key]

    return make


@pytest.fixture
def ran(made: Callable[..., Path]) -> Ran:
    """Return a copy of the folder of such a run."""

    def copy(top: Path, *overrides: str, options: Options = EAGER) -> Path:
        return Path(shutil.copytree(made(overrides, options), top / "r" / "default" / "seed-0"))

    return copy
