"""Names that become folders: those that some system can't have are refused."""

import re

import pytest

from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from tests.tiny import TINY


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CON", "'CON' is a device on Windows"),
        ("com1.x", "'com1' is a device on Windows"),
        ("trailing. ", "'trailing. ' ends in a space"),
        ("trailing.", "'trailing.' ends in a dot"),
        ("größe", "expected letters from A to Z or a to z, digits and any of"),
        ("x" * 101, "expected at most 100 characters, got 101"),
    ],
)
def test_names_that_are_no_folders_everywhere_are_refused(name: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(words)):
        Scenario.from_dict({**TINY, "name": name})
    with pytest.raises(ScenarioError, match=re.escape(words)):
        Scenario.from_dict({**TINY, "variants": {name: {}}})


def test_names_that_differ_in_case_alone_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"variants: 'A' and 'a' differ in case alone"):
        Scenario.from_dict({**TINY, "variants": {"A": {}, "b": {}, "a": {}}})
    Scenario.from_dict({**TINY, "variants": {"A": {}, "b": {}, "console": {}}})
