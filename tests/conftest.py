"""What tests of the whole share: tiny scenarios, run in a temporary folder."""

import gc
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from simfl import Options, RunResult, Scenario, run
from simfl.errors import InputError, RunError
from tests.tiny import TINY, RunTiny

# The same examples every time: what explores is `make soak`.  How long one takes is no matter.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if "SIMFL_SOAK" in os.environ else "same")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no reference cycles among the thousands of tests being collected: they all stay.

    It took a quarter of the time that collecting takes, in each worker.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the user has allowed is no matter of the tests, and the other way round.

    Nor is how wide a terminal is: pytest-xdist tells its workers.
    """
    folder = tmp_path_factory.mktemp("configuration")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        patch.delenv("COLUMNS", raising=False)
        yield folder


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_disks() -> Iterator[None]:
    """Nobody cuts the power here: what a failure then leaves, `reliability/disks.py` plays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(autouse=True)
def _nothing_allowed_before(_configuration: Path) -> None:
    (_configuration / "simfl" / "allowed").unlink(missing_ok=True)


@pytest.fixture
def caught() -> Callable[..., None]:
    """Assert that a contract's `test` fails on the class `fault`, but not on the `sound` one."""

    def check(contract: type, test: str, fault: type, sound: type) -> None:
        getattr(type("Suite", (contract,), {"create": sound})(), test)()
        with pytest.raises((AssertionError, InputError, RunError, ExceptionGroup)):
            getattr(type("Suite", (contract,), {"create": fault})(), test)()

    return check


@pytest.fixture
def run_tiny(tmp_path: Path) -> RunTiny:
    """Run `TINY` with changes such as ``{"rounds.clients": 3}``; return its only result."""
    count = 0

    def call(changes: Mapping[str, Any] | None = None, options: Options | None = None) -> RunResult:
        nonlocal count
        count += 1
        overrides = [f"{path}={_yaml(value)}" for path, value in (changes or {}).items()]
        scenario = Scenario.from_dict(TINY, overrides=overrides)
        [result] = run(scenario, tmp_path / f"run-{count}", options)
        return result

    return call


def _yaml(value: Any) -> str:
    import json

    return json.dumps(value)
