"""Resuming: whatever interrupted a run, its files become those of an uninterrupted one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options
from simfl.runs.folder.checkpoint import FILE
from simfl.runs.folder.folder import CHECKPOINT
from simfl.runs.forks.fork import fork
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from simfl.runs.verify import verify
from tests.runs.resuming import CASES, EAGER, FILES, Stopped, contents, scenario, stop_after


@pytest.mark.parametrize("case", CASES)
def test_a_run_interrupted_anywhere_comes_out_the_same(tmp_path: Path, case: str) -> None:
    [whole] = jobs(scenario(CASES[case]), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    events = expected["events.jsonl"].count(b"\n")
    rng = np.random.default_rng(sorted(CASES).index(case))
    places = sorted({events // 2, events - 1, *rng.integers(3, events, size=2).tolist()})
    used_checkpoints = 0
    for place in places:
        [job] = jobs(scenario(CASES[case]), tmp_path / f"at-{place}")
        with pytest.raises(Stopped):
            run_one(job, EAGER, listeners=[stop_after(place)])
        used_checkpoints += (job.folder / CHECKPOINT / FILE).exists()
        assert not (job.folder / "summary.json").exists()
        assert expected["events.jsonl"].startswith((job.folder / "events.jsonl").read_bytes())
        assert contents(resume(job.folder, EAGER).folder) == expected
    assert used_checkpoints >= 2


@pytest.mark.parametrize(
    "changes",
    [
        {"aggregation": {"name": "fedavgm", "lr": 1e37}},
        {
            "data.dataset": {"name": "synthetic_regression", "clients": 8, "samples": 10},
            "model": "logistic_regression",
            "training.loss": "mean_squared_error",
            "aggregation": {"name": "fedavgm", "lr": 1e30},
        },
    ],
    ids=["not a number", "infinite"],
)
def test_a_run_whose_loss_is_no_finite_number_comes_out_the_same(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """The log has one word for all of these, and a replay knows no other."""
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    result = run_one(whole, Options())
    assert result.loss_is_lost
    [job] = jobs(scenario(changes), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(60)])
    assert "nan" in (job.folder / "rounds.csv").read_text()
    assert contents(resume(job.folder, EAGER).folder) == contents(result.folder)
    assert verify(result.folder) is None
    forked = fork(result.folder, float(result.rounds.end_s[1]), ["rounds.stop.rounds=9"], "longer")
    longer = scenario({**changes, "rounds.stop.rounds": 9})
    [whole] = jobs(longer, tmp_path / "longer")
    assert contents(resume(forked).folder) == contents(run_one(whole, Options()).folder)
    assert verify(forked) is None


def test_a_run_interrupted_again_and_again_comes_out_the_same(tmp_path: Path) -> None:
    [whole] = jobs(scenario(CASES["fedbuff"]), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario(CASES["fedbuff"]), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(40)])
    for place in (55, 56, 90, 120):
        with pytest.raises(Stopped):
            resume(job.folder, EAGER, [stop_after(place)])
    assert contents(resume(job.folder, Options()).folder) == expected


def test_a_resumed_run_does_not_train_again_what_was_aggregated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simfl.training.executors.inline import Inline

    [job] = jobs(scenario({"rounds.stop.rounds": 6}), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(70)])
    trained: list[tuple[int, int]] = []
    train = Inline.train

    def spy(self, batch):
        trained.extend(order.key for order in batch.orders)
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", spy)
    result = resume(job.folder, EAGER)
    assert 0 < len(trained) < result.summary["trainings"]["computed"]


def test_a_time_only_run_resumes_from_the_start(tmp_path: Path) -> None:
    only = Options(time_only=True)
    changes = {**CASES["deadline"], "rounds.stop.rounds": 12}
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = {**contents_of_time(run_one(whole, only).folder)}
    [job] = jobs(scenario(changes), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, only, listeners=[stop_after(101)])
    assert contents_of_time(resume(job.folder).folder) == expected


def contents_of_time(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if name != "model.pt"}
