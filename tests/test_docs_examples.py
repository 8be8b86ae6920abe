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
SPECS = {name: importlib.util.find_spec(name) for name in MODULES}
WITH_EXAMPLES = [
    name
    for name, spec in SPECS.items()
    if spec is not None
    and str(spec.origin).endswith(".py")  # not the compiled kernel
    and ">>> " in Path(str(spec.origin)).read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
