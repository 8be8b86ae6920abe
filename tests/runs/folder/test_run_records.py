"""Records: what a run's folder says, kept in little memory."""

from pathlib import Path

from simfl import Options, Scenario, run
from simfl.runs.folder.records import Records
from tests.tiny import TINY


def test_what_facts_are_called_is_in_memory_once(tmp_path: Path) -> None:
    [result] = run(Scenario.from_dict(TINY), tmp_path, Options(time_only=True))
    (_, first), (_, second), *_ = Records.read(result.folder).of("participation")
    assert all(name is again for name, again in zip(first, second, strict=True))
