"""A user's Flower strategy and clients, run under virtual time."""

import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run_flower
from simfl.errors import ComponentError, InputError
from simfl.runs.forks.fork import fork

SCENARIO: dict[str, Any] = {
    "name": "flower",
    "fleet": [
        {"name": "quick", "count": 4, "compute": "10 samples/s", "downlink": "32 kbit/s"},
        {"name": "slow", "count": 2, "compute": "1 samples/s"},
    ],
    "training": {"epochs": 2, "batch_size": 5},
    "rounds": {"clients": 6, "stop": {"rounds": 3}},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("flwr") is None, reason="flwr is not installed"),
]


def mean_of(number: int) -> float:
    return float(number)


def client_fn(context: Any) -> Any:
    """Return a client that moves half way to its own number, and counts how often it did."""
    from flwr.client import NumPyClient

    number = int(context.node_config["partition-id"])

    class Client(NumPyClient):
        def get_parameters(self, config: Any) -> Any:
            return [np.zeros(1000), np.zeros((2, 3), dtype=np.float32)]

        def fit(self, parameters: Any, config: Any) -> Any:
            new = [array + (mean_of(number) - array) / 2 for array in parameters]
            return new, 10, {"loss": 1.0}

        def evaluate(self, parameters: Any, config: Any) -> Any:
            return abs(float(parameters[0][0]) - number), 10, {"accuracy": 0.5}

    return Client()


def no_lr(server_round: int) -> Any:
    raise KeyError("lr")


def fedavg(**options: Any) -> Any:
    from flwr.server.strategy import FedAvg

    return lambda: FedAvg(**{"min_available_clients": 1, **options})


def test_virtual_time_is_the_fleets_and_the_model_is_flowers(tmp_path: Path) -> None:
    [result] = run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path)
    # 2 passes over 10 samples at 1 a second; slow devices have links of their own that cost nothing
    assert result.rounds.end_s.tolist() == pytest.approx([20.0, 40.0, 60.0])
    size = 1000 * 8 + 6 * 4
    assert set(result.clients.download_bytes) == {size}
    quick = result.clients[result.clients.client < 4]
    assert (quick.download_end_s - quick.selected_s).to_numpy() == pytest.approx(8 * size / 32e3)
    import torch

    first, _ = torch.load(result.folder / "model.pt")
    towards = np.mean(np.arange(6.0))  # half of what is left in each of three rounds
    assert first.numpy() == pytest.approx(np.full(1000, towards * (1 - 0.5**3)))
    assert result.summary["trainings"] == {"issued": 18, "computed": 18, "dropped": 0, "open": 0}


def test_whoever_misses_the_deadline_is_never_trained(tmp_path: Path) -> None:
    scenario = {
        **SCENARIO,
        "rounds": {
            "clients": 6,
            "policy": {"name": "synchronous", "deadline": "10 s"},
            "stop": {"rounds": 2},
        },
    }
    trained: list[int] = []

    def counting(context: Any) -> Any:
        client = client_fn(context)
        fit = client.fit

        def counted(parameters: Any, config: Any) -> Any:
            trained.append(int(context.node_config["partition-id"]))
            return fit(parameters, config)

        client.fit = counted
        return client

    failures: list[int] = []

    def strategy() -> Any:
        from flwr.server.strategy import FedAvg

        class Watched(FedAvg):
            def aggregate_fit(self, server_round: int, results: Any, failed: Any) -> Any:
                failures.append(len(failed))
                return super().aggregate_fit(server_round, results, failed)

        return Watched(min_available_clients=1)

    [result] = run_flower(scenario, counting, strategy, 10, tmp_path)
    assert sorted(trained) == sorted([0, 1, 2, 3] * 2)
    assert failures == [2, 2]
    assert result.outcomes["late"] == 4
    assert result.summary["trainings"]["dropped"] == 4


def test_models_that_nobody_trains_from_any_more_are_forgotten(tmp_path: Path) -> None:
    """Of many clients each has its instructions, with a model of a megabyte, for its turn only."""
    models: list[weakref.ref] = []

    def strategy() -> Any:
        from flwr.server.strategy import FedAvg

        class Watched(FedAvg):
            def configure_fit(self, server_round: int, parameters: Any, client_manager: Any) -> Any:
                pairs = super().configure_fit(server_round, parameters, client_manager)
                models.append(weakref.ref(pairs[0][1]))
                assert sum(model() is not None for model in models) < 4
                return pairs

        return Watched(fraction_fit=1e-9, min_fit_clients=1, min_available_clients=1)

    scenario = {**SCENARIO, "rounds": {"clients": 1, "stop": {"rounds": 30}}}
    run_flower(scenario, client_fn, strategy, 10, tmp_path)
    assert len(models) == 30


def test_the_strategy_chooses_who_takes_part(tmp_path: Path) -> None:
    strategy = fedavg(fraction_fit=0.5, min_fit_clients=1)
    [one] = run_flower({**SCENARIO, "seeds": [1]}, client_fn, strategy, 10, tmp_path / "a")
    [again] = run_flower({**SCENARIO, "seeds": [1]}, client_fn, strategy, 10, tmp_path / "b")
    assert set(one.rounds.selected) == {3}
    assert one.clients.client.tolist() == again.clients.client.tolist()
    assert one.summary == again.summary


def test_evaluation_is_the_strategys(tmp_path: Path) -> None:
    [by_clients] = run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path / "a")
    assert by_clients.rounds.loss.iloc[-1] == pytest.approx(
        np.mean([abs(2.5 * (1 - 0.5**3) - number) for number in range(6)])
    )

    def central(server_round: int, arrays: Any, config: Any) -> Any:
        return 2.0, {"accuracy": 0.1 * server_round}

    [centrally] = run_flower(
        {**SCENARIO, "evaluation": {"targets": [0.2]}},
        client_fn,
        fedavg(evaluate_fn=central),
        10,
        tmp_path / "b",
    )
    assert centrally.rounds.accuracy.tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert centrally.summary["targets"]["0.2"]["round"] == 2


@pytest.mark.parametrize("central", [True, False])
def test_before_round_1_only_the_strategy_itself_evaluates(tmp_path: Path, central: bool) -> None:
    """As Flower's server does."""

    def evaluate(server_round: int, arrays: Any, config: Any) -> Any:
        return 2.0, {"accuracy": 0.1 + 0.1 * server_round}

    strategy = fedavg(evaluate_fn=evaluate) if central else fedavg()
    scenario = {**SCENARIO, "evaluation": {"initial": True}}
    [result] = run_flower(scenario, client_fn, strategy, 10, tmp_path)
    assert result.rounds["round"].tolist() == [0] * central + [1, 2, 3]
    assert result.initial_evaluation == ({"accuracy": 0.1, "loss": 2.0} if central else {})


@pytest.mark.parametrize("who", [(0, 1, 2), range(6)])
def test_clients_that_evaluate_nothing_have_no_say(who: Any, tmp_path: Path) -> None:
    """As in Flower: its client answers so itself where the user's has no such method."""

    def some_only_train(context: Any) -> Any:
        client = client_fn(context)
        if context.node_config["partition-id"] in who:
            del type(client).evaluate
        return client

    [result] = run_flower(SCENARIO, some_only_train, fedavg(), 10, tmp_path)
    others = [abs(2.5 * (1 - 0.5**3) - number) for number in range(6) if number not in who]
    expected = np.mean(others) if others else np.nan
    assert result.rounds.loss.iloc[-1] == pytest.approx(expected, nan_ok=True)


def test_that_everybody_fails_to_evaluate_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def no_float(context: Any) -> Any:
        client = client_fn(context)
        client.evaluate = lambda parameters, config: (np.float32(1), 10, {})
        return client

    [result] = run_flower(SCENARIO, no_float, fedavg(), 10, tmp_path)
    assert result.rounds.loss.isna().all()
    assert (
        "model of round 1 is not judged: all clients that evaluated it failed: TypeError"
        in caplog.text
    )


def test_a_client_sees_nothing_of_what_another_does_with_its_config(tmp_path: Path) -> None:
    def taking(context: Any) -> Any:
        client = client_fn(context)
        fit = client.fit
        client.fit = lambda parameters, config: fit(parameters, config.pop("nothing"))
        return client

    strategy = fedavg(on_fit_config_fn=lambda server_round: {"nothing": 0})
    [result] = run_flower(SCENARIO, taking, strategy, 10, tmp_path)
    assert result.rounds.discarded.tolist() == [0, 0, 0]


def test_a_model_drawn_from_libraries_begins_the_same_again(tmp_path: Path) -> None:
    def drawing(context: Any) -> Any:
        client = client_fn(context)
        client.get_parameters = lambda config: [np.random.random(3)]
        return client

    losses = [
        run_flower({**SCENARIO, "seeds": [seed]}, drawing, fedavg(), 10, tmp_path / name)[
            0
        ].rounds.loss.tolist()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert losses[0] == losses[1] != losses[2]


def test_what_a_client_raises_is_a_failure(tmp_path: Path) -> None:
    def one_breaks(context: Any) -> Any:
        client = client_fn(context)
        if context.node_config["partition-id"] == 2:
            client.fit = lambda parameters, config: 1 / 0
        return client

    [result] = run_flower(SCENARIO, one_breaks, fedavg(), 10, tmp_path / "a")
    assert result.rounds.discarded.tolist() == [1, 1, 1]
    assert result.rounds.arrived.tolist() == [5, 5, 5]
    with pytest.raises(ComponentError, match="configure_fit in round 1: KeyError") as caught:
        run_flower(SCENARIO, client_fn, fedavg(on_fit_config_fn=no_lr), 10, tmp_path / "b")
    assert str(caught.value).endswith("run it again from Python, with `overwrite`")


def returning(answers: dict[str, Any]) -> Any:
    """Return what makes a strategy whose methods return these."""
    from flwr.server.strategy import FedAvg

    methods = {name: lambda *_, answer=answer: answer for name, answer in answers.items()}
    return lambda: type("Odd", (FedAvg,), methods)(min_available_clients=1)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("configure_fit", None),
        ("aggregate_fit", ([np.zeros(3)], {})),
        ("evaluate", 2.5),
        ("evaluate", (2.5, {"accuracy": "high"})),
        ("evaluate", (2.5, {"accuracy": 87.5})),
        ("configure_evaluate", None),
        ("aggregate_evaluate", ("low", {})),
    ],
)
def test_what_a_strategy_may_not_return_is_told_as_its(
    method: str, answer: Any, tmp_path: Path
) -> None:
    with pytest.raises(ComponentError, match=f"the strategy's {method} in round 1: .*Error: "):
        run_flower(SCENARIO, client_fn, returning({method: answer}), 10, tmp_path)


def test_what_training_cant_begin_with_is_told_before_it_does(tmp_path: Path) -> None:
    def nameless(context: Any) -> Any:
        client = client_fn(context)
        client.get_parameters = lambda config: 1 / 0
        return client

    arrays = [np.zeros(3)]
    for client, strategy, message in (
        (lambda _: None, fedavg(), "client_fn of client 0: TypeError: it must return a Flower cl"),
        (nameless, fedavg(), "client 0's get_parameters: ZeroDivisionError"),
        (client_fn, fedavg(initial_parameters=arrays), "initialize_parameters: .*return Param"),
        (client_fn, lambda: None, "what makes the strategy: TypeError: it must return a Flower st"),
    ):
        with pytest.raises(ComponentError, match=message):
            run_flower(SCENARIO, client, strategy, 10, tmp_path)
    with pytest.raises(
        InputError, match=r"fresh one for each run, such as `lambda: FedAvg\(...\)`"
    ):
        run_flower(SCENARIO, client_fn, fedavg()(), 10, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_metric_called_loss_may_be_text(tmp_path: Path) -> None:
    """Flower's may be: it is no loss then, and harms no run."""

    def wordy(context: Any) -> Any:
        client = client_fn(context)
        client.fit = lambda parameters, config: (parameters, 10, {"loss": "high"})
        return client

    scenario = {**SCENARIO, "rounds": {"clients": 2, "stop": {"rounds": 1}}}
    [result] = run_flower(scenario, wordy, fedavg(), 10, tmp_path)
    assert result.rounds.arrived.tolist() == [6]


def test_what_no_flower_can_do_is_refused_before_any_variant_runs(tmp_path: Path) -> None:
    first, second = SCENARIO["fleet"]
    for changes, message in (
        (
            {"fleet": [first, {**second, "attack": "sign_flip"}]},
            r"fleet\[1\].attack: what Flower's",
        ),
        ({"rounds.policy": {"name": "hierarchical"}}, "rounds.policy: .* averaged at edges"),
        ({"training.compression": "float16"}, "training.compression: .* how it is sent"),
        ({"training.filter": "cmfl"}, "training.filter: .* whether it is sent"),
        (
            {"fleet": [first, {**second, "on_offline": "salvage"}]},
            r"fleet\[1\].on_offline: .* full",
        ),
        ({"fleet": [{**first, "memory": "1 MB"}, second]}, r"fleet\[0\].memory: nobody knows"),
        ({"training.workload": "partial_epochs"}, "training.workload: .* not told to train less"),
        ({"training.optimizer.lr": 0.5}, "training.optimizer: what Flower's clients learn"),
        ({"evaluation.metrics": ["balanced_accuracy"]}, "evaluation.metrics: a Flower strategy te"),
        ({"evaluation.on": "train"}, "evaluation.on: a Flower strategy judges models"),
        ({"selection": "oort"}, "selection: a Flower strategy chooses its clients; 'oort' would"),
        (
            {"aggregation": {"name": "dp_fedavg", "clip": 1, "noise_multiplier": 1}},
            "aggregation: a Flower strategy makes the models; 'dp_fedavg' would never be asked",
        ),
        ({"rounds.stop": {"rounds": None, "accuracy": 0.9}}, "rounds.stop: .* may never tell how"),
    ):
        scenario = {**SCENARIO, "variants": {"plain": {}, "odd": changes}}
        with pytest.raises(InputError, match=message):
            run_flower(scenario, client_fn, fedavg(), 10, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_run_that_cant_go_on_without_its_clients_has_no_forks(tmp_path: Path) -> None:
    [result] = run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path)
    with pytest.raises(InputError, match="another program's clients, and can't be forked"):
        fork(result.folder, 30.0, ["rounds.clients=3"])
    assert [path.name for path in tmp_path.iterdir()] == ["default"]


def test_what_is_flowers_is_not_in_the_scenario(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`model` is what Flower's clients have"):
        run_flower({**SCENARIO, "model": "mlp"}, client_fn, fedavg(), 10, tmp_path)
    with pytest.raises(InputError, match="`samples` are of 2 clients, but the fleet has 6"):
        run_flower(SCENARIO, client_fn, fedavg(), [10, 10], tmp_path)
    for samples in (-1, 2.5, float("nan")):
        with pytest.raises(InputError, match=f"`samples` must be whole numbers .* got {samples}"):
            run_flower(SCENARIO, client_fn, fedavg(), samples, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`flops_per_sample` must be at least 0, but got nan"):
        run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path, np.nan)  # type: ignore[arg-type]
    results = run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path)
    assert results.table()["rounds"].tolist() == [results[0].n_rounds]
    with pytest.raises(InputError, match="holds a run already"):
        run_flower(SCENARIO, client_fn, fedavg(), 10, tmp_path)
