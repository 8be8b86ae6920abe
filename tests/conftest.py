"""What tests of the whole share: tiny scenarios, run in a temporary folder."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from simfl import Options, RunResult, Scenario, run
from simfl.errors import InputError, RunError
from tests.tiny import TINY, RunTiny

# The same examples every time: what explores is `make soak`.
settings.register_profile("same", derandomize=True)
if "SIMFL_SOAK" not in os.environ:
    settings.load_profile("same")


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
