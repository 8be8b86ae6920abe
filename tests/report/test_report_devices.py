"""Who was heard, who was not, and whom rounds waited for."""

from pathlib import Path

from simfl import run
from simfl.report.devices import Devices
from simfl.runs.options import Options
from simfl.runs.result import RunResult
from simfl.scenario import Scenario
from tests.tiny import TINY


def asynchronous(folder: Path, **stop: object) -> RunResult:
    scenario = Scenario.from_dict(
        {**TINY, "rounds": {"clients": 4, "policy": "fedbuff", "stop": stop}},
        overrides=["rounds.policy.buffer=2"],
    )
    return run(scenario, folder, Options(time_only=True, jobs=1))[0]


def test_who_was_only_at_work_when_the_run_ended_was_not_heard(tmp_path: Path) -> None:
    devices = Devices.of(asynchronous(tmp_path, rounds=1))
    assert int(devices.heard.sum()) == 2
    assert not devices.never.any()
    assert "still at work when the run ended" in str(devices)
    assert "each of them" not in str(devices)


def test_the_last_of_a_round_is_who_its_row_says(tmp_path: Path) -> None:
    result = asynchronous(tmp_path, rounds=12)
    devices = Devices.of(result)
    last_s = result.column("last_arrival_s")
    arrived = result.clients[result.clients["outcome"] == "arrived"]
    expected = [int(arrived[arrived["upload_end_s"] == s]["client"].iloc[-1]) for s in last_s]
    counted = dict(zip(devices.ids.tolist(), devices.last.tolist(), strict=True))
    assert {c: n for c, n in counted.items() if n} == {c: expected.count(c) for c in expected}
