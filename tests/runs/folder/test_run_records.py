"""Records: what a run's folder says, kept in little memory."""

from pathlib import Path

from simfl import Options, Scenario, run
from simfl.runs.folder.records import Records
from tests.tiny import TINY


def test_what_facts_are_called_is_in_memory_once(tmp_path: Path) -> None:
    [result] = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    (_, first), (_, second), *_ = Records.read(result.folder).of("participation")
    assert all(name is again for name, again in zip(first, second, strict=True))
    assert first["event"] is second["event"]


def test_events_of_several_kinds_come_in_the_order_of_the_log(tmp_path: Path) -> None:
    [result] = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    records, kinds = Records.read(result.folder), ("uploaded", "nothing", "dispatched")
    wanted = [event for event in records.events if event["event"] in kinds]
    lines, events = zip(*records.of(*kinds), strict=True)
    assert list(events) == wanted
    assert all(records.events[line - 1] is event for line, event in zip(lines, wanted, strict=True))
