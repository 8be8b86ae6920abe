"""Forks that are broken off: they end the same, or nothing is left of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.cli import main
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import RunError
from simfl.runs.folder import checkpoint
from simfl.runs.forks.fork import fork
from simfl.runs.run import resume
from simfl.training.executors.inline import Inline
from tests.run_folders import computed, files
from tests.runs.forks.forked_runs import CHANGES, FEDBUFF, LONG, Ran, instant
from tests.runs.interruptions import EAGER


@pytest.mark.parametrize("name", ["policy", pytest.param("asker", marks=pytest.mark.slow)])
def test_an_interrupted_fork_ends_the_same(tmp_path: Path, ran: Ran, name: str) -> None:
    """At every fifth event, with the last checkpoint that there was by then."""
    whole = ran(tmp_path)
    there = fork(whole, instant(whole, 0.5), CHANGES[name])
    states: list[dict[str, bytes]] = []

    class Watch:
        def listen(self, *_: Any) -> None:
            states.append(files(there))

    resume(there, EAGER, [Watch().listen])
    expected = computed(there)
    for state in states[::5]:
        for file in [path for path in there.rglob("*") if path.is_file()]:
            file.unlink()
        for path, data in state.items():
            (there / path).write_bytes(data)
        (there / ".lock").unlink()
        resume(there, EAGER)
        assert computed(there) == expected


def test_the_state_is_taken_over_from_a_checkpoint_before_the_instant(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ran(tmp_path)
    trained, train = list[int](), Inline.train

    def counted(self: Inline, batch: OrderBatch) -> list[WorkResult]:
        trained.append(len(batch.orders))
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", counted)
    there = fork(whole, instant(whole, 0.97), ["rounds.stop.rounds=9"])
    resume(there, Options("inline"))
    assert (there / "checkpoint").exists()
    assert len(trained) < 4  # of nine rounds


def test_of_several_seeds_all_are_forked_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    scenario = Scenario.from_dict({**LONG, "seeds": "0-2"})
    run(scenario, tmp_path / "r", Options(time_only=True, jobs=1))
    study, before = tmp_path / "r", files(tmp_path)
    command = ["fork", str(study / "default"), "--at", "2 s", "--set", FEDBUFF[0], "-q"]
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "inherit", fails_at_the_third())
        assert main(command) == 1
    assert "disk full" in capsys.readouterr().err
    assert files(tmp_path) == before
    assert not (study / "default-fork").exists()
    assert main(command) == 0
    forked = sorted(path.name for path in (study / "default-fork").iterdir() if path.is_dir())
    assert forked == ["seed-0", "seed-1", "seed-2"]
    assert main(["check", str(study)]) == 0
    assert main([*command, "--overwrite"]) == 0
    capsys.readouterr()
    assert main(["fork", str(study), "--at", "3 s", "--name", "new", "-q"]) == 2
    assert "can't both become" in capsys.readouterr().err


def fails_at_the_third() -> Callable[..., None]:
    calls = iter(range(3))

    def fail(*_: object) -> None:
        if next(calls) == 2:
            raise RunError("disk full")

    return fail
