"""What runs are expected to take, told before they are begun: host time, memory and disk."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.components.optimizers.sgd import Sgd
from simfl.components.selectors.uniform import Uniform
from simfl.errors import InputError
from simfl.runs.estimate import PROCESS_BYTES, estimate
from simfl.runs.job import jobs
from simfl.runs.many import cores_each, planned, shared_bytes
from tests.tiny import TINY, RunTiny


def scenario(**changes: Any) -> Scenario:
    overrides = [f"{path}={json.dumps(value)}" for path, value in changes.items()]
    return Scenario.from_dict(TINY, overrides=overrides)


def test_estimates_grow_with_the_work() -> None:
    small = estimate(scenario())
    for path, value in (
        ("rounds.stop.rounds", 40), ("rounds.clients", 8), ("training.epochs", 20),
        ("model.hidden", [800]), ("data.dataset.samples", 2400),
    ):  # fmt: skip
        assert estimate(scenario(**{path: value})).host_s > small.host_s, path
    dealt = {"name": "dirichlet_skewness", "samples": 500}
    shared = {path: estimate(scenario(**{"data.partition": {**dealt, **more}})).host_s
              for path, more in (("few", {}), ("many", {"samples": 2000}))}  # fmt: skip
    assert shared["many"] > shared["few"] > small.host_s
    assert estimate(scenario(), Options(time_only=True)).host_s < small.host_s
    assert small.rounds == 4


def test_judging_each_client_by_itself_takes_its_time() -> None:
    """Of 10,000 small models each time 0.9 s, of which next to nothing was reckoned with."""
    fleet = {"fleet.count": 10_000, "data.local_validation": "20%", "rounds.stop.rounds": 100}
    alike, each = (
        estimate(scenario(**fleet, **{"evaluation.on": on})).host_s for on in ("test", "clients")
    )
    assert each - alike == pytest.approx(100 * 10_000 * 1e-4, rel=0.1)


def test_all_whom_edges_ask_are_reckoned_with() -> None:
    policy = {"name": "hierarchical", "edges": 2}
    asked = {1: 2, 3: 6, 9: 8, None: 4}  # by clients of an edge; eight devices are all
    for clients, together in asked.items():
        told = estimate(scenario(**{"rounds.policy": {**policy, "clients_per_edge": clients}}))
        assert told.together == together


def test_a_shorter_log_takes_less_of_the_disk(tmp_path: Path) -> None:
    """`--dry-run` told of the full one, however it was to be written."""
    plan, sizes = scenario(), list[float]()
    for options in (
        Options(time_only=True),
        Options(time_only=True, compress_log=True),
        Options(time_only=True, log="rounds"),
        Options(time_only=True, log="none"),
    ):
        [result] = run(plan, tmp_path / str(len(sizes)), options)
        files = [*result.folder.glob("events.*"), *result.folder.glob("*.csv")]
        told = estimate(plan, options).disk_bytes
        assert 1 / 4 < told / sum(file.stat().st_size for file in files) < 4, options
        sizes.append(told)
    assert sizes == sorted(sizes, reverse=True)


def test_what_the_compiled_kernel_trains_is_estimated_by_its_rates() -> None:
    """FedProx costs nothing beside; a loss that the kernel does not know is PyTorch's to train."""
    two = {"data.dataset.classes": 2, "training.epochs": 100}
    fast = estimate(scenario(**two, **{"training.proximal": 0.1}))
    slow = estimate(scenario(**two, **{"training.loss": "binary_cross_entropy"}))
    assert slow.host_s > 2 * fast.host_s


class OwnSgd(Sgd):
    """The compiled kernel does not know it."""


def test_what_pytorch_trains_one_client_after_the_other_is_worth_a_second_process() -> None:
    """As modules of a user's own are: a sweep of minutes was told as seconds, and not split."""
    of_a_step = {}
    for name in ("mlp", "cnn"):
        changes = {"model": name, "training.optimizer.name": "tests.runs.test_estimate:OwnSgd"}
        large, small = (
            estimate(scenario(**changes, **{"training.batch_size": size}))
            for size in (30, 1)  # samples of a client; as much arithmetic in more steps
        )
        steps = 4 * 4 * 2 * (30 - 1)
        of_a_step[name] = (small.host_s - large.host_s) / steps
    assert of_a_step["mlp"] < 1e-4 < of_a_step["cnn"] < 1e-3


def test_a_deep_network_is_estimated_by_what_pytorch_makes_of_one() -> None:
    """A round of W5 took 5.9 s on a slow day (2.3 in benchmarks/results); 44 s were told."""
    data = {"name": "synthetic_images", "channels": 3, "size": 32, "samples": 600}
    deep = scenario(
        **{"data.dataset": data, "model": "resnet", "training.epochs": 1, "fleet.count": 12},
        **{"training.batch_size": 25, "rounds.clients": 2, "rounds.stop.rounds": 1},
    )
    assert 0.4 < estimate(deep).host_s / 5.9 < 3


@pytest.mark.parametrize("time_only", [True, False])
def test_a_large_fleet_takes_memory(time_only: bool) -> None:
    """As docs/scale.md has it: ten million devices are 0.9 GB beyond the libraries."""
    few, many = (
        estimate(scenario(**{"fleet.count": count}), Options(time_only=time_only))
        for count in (100, 10_000_100)
    )
    more = many.memory_bytes - few.memory_bytes
    assert 0.9e9 < more < (1e9 if time_only else 2e9)


def test_a_clock_alone_holds_the_data_too() -> None:
    """It said 0.3 GB of CIFAR-10, which it loads to deal it; samples made on demand take none."""
    cifar10 = scenario(**{"data.dataset": "cifar10", "model": "fedacs_cnn"})
    held = estimate(cifar10, Options(time_only=True))
    assert held.shared_bytes == estimate(cifar10).shared_bytes > 0.7e9
    assert held.memory_bytes > held.shared_bytes + PROCESS_BYTES
    made = scenario(data={"dataset": {"name": "generated", "features": 3000}})
    assert estimate(made, Options(time_only=True)).memory_bytes < 1.2 * PROCESS_BYTES


def test_the_quickstart_is_not_worth_a_second_process() -> None:
    quickstart = Scenario.load(Path(__file__).parents[2] / "scenarios" / "quickstart.yaml")
    assert planned([estimate(quickstart)] * 4, Options())[0] == 1


@pytest.mark.parametrize(("gpu", "at_once"), [(False, 8), (True, 1)])
def test_as_many_runs_at_once_as_cores_where_auto_is_the_cpu(
    gpu: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were made one after the other, by one core each, on machines without a GPU, too."""
    monkeypatch.setattr("simfl.runs.many.cores", lambda: 8)
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    costly = replace(estimate(scenario()), host_s=100.0, memory_bytes=1.0)
    options = Options(device="auto")
    assert planned([costly] * 9, options) == (at_once, at_once)
    assert cores_each(options, 2, 8) == (1 if gpu else 4)


def test_memory_of_a_data_set_that_runs_share_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seeds on CIFAR-10 were made one after the other where there is room for three."""
    dataset = {"data.dataset": "cifar10", "model": "fedacs_cnn", "training.epochs": 100}
    todo = jobs(scenario(**dataset), seeds=range(4))
    costs = [estimate(job.scenario) for job in todo]
    own = costs[0].memory_bytes - costs[0].shared_bytes
    assert 0.7e9 < costs[0].shared_bytes < 0.75e9
    assert own < 0.4e9
    shared = shared_bytes(todo, costs)
    assert shared == costs[0].shared_bytes
    monkeypatch.setattr("simfl.runs.many.free_memory", lambda: (3 * own + shared) / 0.8 + 1)
    monkeypatch.setattr("simfl.runs.many.cores", lambda: 8)
    assert planned(costs, Options(), shared)[0] == 3


def test_one_run_takes_less_on_more_cores_where_training_takes_long() -> None:
    """The seconds of one core were told, however many train for it: twice too many on two."""
    run_ = estimate(scenario(**{"training.epochs": 300_000}))
    alone_s = run_.host_s - run_.training_s
    assert run_.lasts_s(1) == run_.host_s > 60
    assert run_.lasts_s(2) == pytest.approx(alone_s + 5 + (run_.training_s - 5) / 2)
    assert run_.lasts_s(64) == run_.lasts_s(4)  # clients of a round
    short = estimate(scenario())
    assert short.lasts_s(2) == short.host_s  # nobody is asked to help
    many_rounds = {"training.epochs": 10, "rounds.stop.rounds": 1_000_000}
    quick = estimate(scenario(**many_rounds))
    assert quick.training_s > 60
    assert quick.lasts_s(2) == quick.host_s  # nor where a round trains for milliseconds
    assert [cores_each(Options(), processes, 8) for processes in (1, 3, 8)] == [8, 2, 1]


def test_workers_share_the_cores_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 workers as many were told to train at once as a round has clients."""
    monkeypatch.setattr("simfl.runs.many.cores", lambda: 8)
    for workers, each in ((3, [3, 2, 1]), (200, [8, 2, 1]), (None, [8, 2, 1])):
        options = Options(executor="processes", workers=workers)
        assert [cores_each(options, processes, 1) for processes in (1, 3, 9)] == each


def test_a_round_of_an_asynchronous_policy_is_one_aggregation() -> None:
    """FedAsync was reckoned with a participation of each of `rounds.clients` per update."""
    costs = {
        name: estimate(scenario(**{"rounds.policy": {"name": name}})).host_s
        for name in ("synchronous", "fedasync")
    }
    assert costs["fedasync"] < costs["synchronous"] / 2


def test_what_a_selector_asks_is_reckoned_with(tmp_path: Path) -> None:
    """TiFL has everybody train once, of whom a run of few rounds was told to ask few."""
    fleet = {"fleet.count": 200, "data.dataset.samples": 6000}
    tifl = {**fleet, "selection": "tifl"}
    costs = {name: estimate(scenario(**own)) for name, own in (("uniform", fleet), ("tifl", tifl))}
    trainings = 4 * costs["uniform"].rounds
    more = costs["tifl"].training_s / costs["uniform"].training_s
    assert (trainings + 200) / trainings < more < 2 * (trainings + 200) / trainings
    times = {"selection.profile": "loss", **tifl, "rounds.stop.rounds": 2}
    [result] = run(scenario(**times), tmp_path, Options(time_only=True))
    size = (result.folder / "events.jsonl").stat().st_size
    told = estimate(scenario(**times), Options(time_only=True)).disk_bytes
    assert 1 / 2 < told / size < 2


class Guessing(Uniform):
    """A user's own selector, which says of what it asks whatever it is told to."""

    says: Any = None

    def answers(self, clients: int, devices: int, rounds: int) -> Any:
        return self.says


@pytest.mark.parametrize("says", [None, ["loss"], {"loses": 3}, {"loss": -1}, {"loss": "many"}])
def test_a_selector_that_says_nonsense_of_what_it_asks_is_named(says: Any) -> None:
    """It was an internal error, or so many bytes less than nothing."""
    selection = {"name": f"{__name__}:Guessing", "says": says}
    with pytest.raises(InputError, match=r"Guessing.*telling how many answers it asks for"):
        estimate(scenario(selection=selection))
    assert estimate(scenario(selection={**selection, "says": {"loss": 3}})).host_s > 0


def test_privacy_that_ends_a_run_is_reckoned_with(run_tiny: RunTiny) -> None:
    """`--dry-run` told of a hundred rounds, or of all that `rounds.stop` allows."""
    noisy = {"name": "dp_fedavg", "clip": 1.0, "noise_multiplier": 3.0, "delta": 1e-3}
    changes = {"aggregation": noisy, "rounds.stop": {"epsilon": 8, "rounds": 900}}
    told = {
        clients: estimate(scenario(**changes, **{"rounds.clients": clients})) for clients in (2, 8)
    }
    assert all(cost.about and cost.counted for cost in told.values())
    everybody = run_tiny({**changes, "rounds.clients": 8}, Options(time_only=True))
    assert everybody.summary["finished"] == "epsilon"
    assert told[8].rounds == len(everybody.rounds)
    seeds = [
        len(
            run_tiny({**changes, "rounds.clients": 2, "seed": seed}, Options(time_only=True)).rounds
        )
        for seed in range(3)
    ]
    assert min(seeds) / 1.5 < told[2].rounds < 1.5 * max(seeds)
    few = estimate(scenario(**{**changes, "rounds.stop": {"epsilon": 8, "rounds": 9}}))
    assert (few.rounds, few.about) == (9, False)
