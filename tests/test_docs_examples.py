"""The examples in docstrings do what they say."""

import doctest
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import simfl

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(simfl.__path__, "simfl.")
    if module.name != "simfl.__main__"
)
WITH_EXAMPLES = [
    name
    for name in MODULES
    if ">>> " in Path(str(importlib.util.find_spec(name).origin)).read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
