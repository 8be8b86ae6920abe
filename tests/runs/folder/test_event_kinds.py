"""What `simfl describe events` says is what the clock notes."""

import ast
from collections import defaultdict
from pathlib import Path

import simfl.sim
from simfl.runs.folder.event_kinds import EVENT_KINDS


def test_every_kind_of_event_and_each_of_its_facts_is_described() -> None:
    noted: dict[str, set[str]] = defaultdict(set)
    for file in Path(simfl.sim.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(
                    func=ast.Name(id="note") | ast.Attribute(attr="note"),
                    args=[ast.Constant(value=str(kind))],
                ):
                    noted[kind] |= {word.arg for word in node.keywords if word.arg is not None}
    assert noted.keys() == EVENT_KINDS.keys()
    for kind, facts in noted.items():
        described = {"row"} if EVENT_KINDS[kind].row_of else EVENT_KINDS[kind].facts.keys()
        assert facts <= described, kind
