"""A Flower `ClientApp` and a strategy of ``flwr.serverapp``, run under virtual time."""

import weakref
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run_flower
from simfl.errors import ComponentError, InputError, RunError

SCENARIO: dict[str, Any] = {
    "name": "flower-messages",
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


def client_app(**told: Any) -> Any:
    """Return an app that moves half way to its own number; `told` overrides what it tells."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.train()
    def train(message: Any, context: Any) -> Any:
        number = context.node_config["partition-id"]
        step = context.run_config.get("step", 0.5)
        new = [a + step * (number - a) for a in message.content["arrays"].to_numpy_ndarrays()]
        metrics = {"train_loss": 1.0, "num-examples": 10, **told}
        return Message(
            RecordDict({"arrays": ArrayRecord(new), "metrics": MetricRecord(metrics)}),
            reply_to=message,
        )

    @app.evaluate()
    def evaluate(message: Any, context: Any) -> Any:
        first, _ = message.content["arrays"].to_numpy_ndarrays()
        loss = abs(float(first[0]) - context.node_config["partition-id"])
        metrics = {"eval_loss": loss, "eval_acc": 0.5, "num-examples": 10}
        return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)

    return app


def fedavg(kind: Any = None, **options: Any) -> Any:
    from flwr.serverapp.strategy import FedAvg

    return lambda: (kind or FedAvg)(**options)


def started(**options: Any) -> dict[str, Any]:
    from flwr.app import ArrayRecord

    arrays = [np.zeros(1000), np.zeros((2, 3), dtype=np.float32)]
    return {"initial_arrays": ArrayRecord(arrays), **options}


def test_virtual_time_is_the_fleets_and_the_model_is_flowers(tmp_path: Path) -> None:
    [result] = run_flower(SCENARIO, client_app(), fedavg(), 10, tmp_path, **started())
    # 2 passes over 10 samples at 1 a second; slow devices have links of their own that cost nothing
    assert result.rounds.end_s.tolist() == pytest.approx([20.0, 40.0, 60.0])
    size = 1000 * 8 + 6 * 4
    assert set(result.clients.download_bytes) == {size}
    import torch

    first, _ = torch.load(result.folder / "model.pt").values()
    towards = np.mean(np.arange(6.0))  # half of what is left in each of three rounds
    assert first.numpy() == pytest.approx(np.full(1000, towards * (1 - 0.5**3)))
    assert result.rounds.loss.iloc[-1] == pytest.approx(
        np.mean([abs(2.5 * (1 - 0.5**3) - number) for number in range(6)])
    )
    assert result.rounds.accuracy.iloc[-1] == pytest.approx(0.5)
    assert set(result.rounds.train_loss) == {1.0}
    assert "flwr" in result.provenance["versions"]


def test_the_strategy_chooses_by_the_seed_and_judges_at_the_server(tmp_path: Path) -> None:
    from flwr.app import MetricRecord

    def judge(server_round: int, arrays: Any) -> Any:
        return MetricRecord({"accuracy": 0.1 * server_round, "loss": 2.0})

    strategy = fedavg(fraction_train=0.5, fraction_evaluate=0.0)
    chosen = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        scenario = {**SCENARIO, "seeds": [seed], "evaluation": {"targets": [0.2]}}
        [result] = run_flower(
            scenario, client_app(), strategy, 10, tmp_path / name, **started(evaluate_fn=judge)
        )
        assert set(result.rounds.selected) == {3}
        assert result.rounds.accuracy.tolist() == pytest.approx([0.1, 0.2, 0.3])
        assert result.summary["targets"]["0.2"]["round"] == 2
        chosen.append(result.clients.client.tolist())
    assert chosen[0] == chosen[1] != chosen[2]


def test_clients_read_what_they_are_told_when_it_is_sent(tmp_path: Path) -> None:
    """Flower's strategies write the round into one config, which late clients still read."""
    from flwr.app import Message
    from flwr.clientapp import ClientApp

    app, told = ClientApp(), []

    @app.train()
    def train(message: Any, context: Any) -> Message:
        told.append((message.content["config"]["server-round"], message.content["config"]["lr"]))
        return client_app()(message, context)

    fedbuff = {"name": "fedbuff", "concurrency": 6, "buffer": 3}
    scenario = {**SCENARIO, "rounds": {"policy": fedbuff, "stop": {"rounds": 4}}}
    options = started(train_config={"lr": 0.1}, run_config={"step": 1.0})
    strategy = fedavg(fraction_evaluate=0.0, min_train_nodes=1)
    run_flower(scenario, app, strategy, 10, tmp_path, **options)
    assert {lr for _, lr in told} == {0.1}
    assert [r for r, _ in told] != sorted(r for r, _ in told) or len({r for r, _ in told}) > 1


def test_who_is_late_sends_nothing_and_what_an_app_raises_is_an_error_reply(tmp_path: Path) -> None:
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    app, replies = ClientApp(), []

    @app.train()
    def train(message: Any, context: Any) -> Any:
        if context.node_config["partition-id"] == 2:
            raise ValueError("no data")
        return client_app()(message, context)

    class Watched(FedAvg):
        def aggregate_train(self, server_round: int, replies_: Any) -> Any:
            replies.append([r.error.reason if r.has_error() else "" for r in replies_])
            return super().aggregate_train(server_round, replies_)

    policy = {"name": "synchronous", "deadline": "10 s"}
    rounds = {"clients": 6, "policy": policy, "stop": {"rounds": 2}}
    scenario = {**SCENARIO, "rounds": rounds}
    strategy = fedavg(Watched, fraction_evaluate=0.0)
    [result] = run_flower(scenario, app, strategy, 10, tmp_path, **started())
    assert replies == [["", "", "", "ValueError: no data"]] * 2
    assert result.outcomes["late"] == 4
    assert result.rounds.discarded.tolist() == [1, 1]


def test_a_strategy_that_waits_for_more_than_there_are_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import flwr.serverapp.strategy.strategy_utils as waiting

    monkeypatch.setattr(waiting, "sleep", lambda _: None)
    with pytest.raises(ComponentError, match=r"configure_train in round 1: .* than the 6 that are"):
        run_flower(SCENARIO, client_app(), fedavg(min_train_nodes=7), 10, tmp_path, **started())


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("configure_train", None),
        ("aggregate_train", ([np.zeros(3)], None)),
        ("configure_evaluate", None),
        ("aggregate_evaluate", "low"),
    ],
)
def test_what_a_strategy_may_not_return_is_told_as_its(
    method: str, answer: Any, tmp_path: Path
) -> None:
    from flwr.serverapp.strategy import FedAvg

    odd = type("Odd", (FedAvg,), {method: lambda *_: answer})
    with pytest.raises(ComponentError, match=f"the strategy's {method} in round 1: .*Error: "):
        run_flower(SCENARIO, client_app(), fedavg(odd), 10, tmp_path, **started())


def test_halves_that_dont_fit_each_other_are_refused(tmp_path: Path) -> None:
    from flwr.server.strategy import FedAvg as OfMethods

    def client_fn(context: Any) -> Any:
        raise AssertionError

    for client, strategy, options, message in (
        (client_fn, fedavg(), started(), "to a ClientApp, not to clients that a function makes"),
        (client_app(), OfMethods, {}, "clients that a function makes, not a ClientApp"),
        (client_fn, OfMethods, started(), "this one, of flwr.server, has its own options"),
        (client_app(), fedavg(), {}, r"`initial_arrays` to begin with, an ArrayRecord"),
        (client_app(), fedavg(), {"initial_arrays": [1.0]}, "as its own `start` does, not a list"),
        (client_app(), fedavg(), started(train_config={"lr": None}), "`train_config` is no config"),
    ):
        with pytest.raises(InputError, match=message):
            run_flower(SCENARIO, client, strategy, 10, tmp_path, **options)
    assert not [*tmp_path.iterdir()]


def test_everything_that_all_clients_raise_ends_the_run(tmp_path: Path) -> None:
    from flwr.clientapp import ClientApp

    with pytest.raises(RunError, match="all clients of round 1 failed: ValueError: No train func"):
        run_flower(SCENARIO, ClientApp(), fedavg(), 10, tmp_path, **started())


@pytest.mark.parametrize(
    ("told", "loss"),
    [({"val_loss": 3.0}, 1.0), ({"loss": 3.0}, 1.0), ({"train_loss": [1.0, 2.0]}, np.nan)],
)
def test_a_loss_is_read_by_its_name(told: Mapping[str, Any], loss: float, tmp_path: Path) -> None:
    scenario = {**SCENARIO, "rounds": {"clients": 2, "stop": {"rounds": 1}}}
    [result] = run_flower(scenario, client_app(**told), fedavg(), 10, tmp_path, **started())
    assert result.rounds.train_loss.iloc[0] == pytest.approx(loss, nan_ok=True)


def test_what_clients_draw_by_libraries_of_their_own_is_the_same_again(tmp_path: Path) -> None:
    """As batches shuffled by torch are, in which nobody thought of a seed."""
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.train()
    def train(message: Any, context: Any) -> Any:
        return client_app(train_loss=float(np.random.random()))(message, context)

    scenario = {**SCENARIO, "seeds": [1]}
    losses = [
        run_flower(scenario, app, fedavg(), 10, tmp_path / name, **started())[0].rounds.train_loss
        for name in "ab"
    ]
    assert losses[0].tolist() == losses[1].tolist()
    assert len(set(losses[0])) == 3


def test_client_and_server_have_nothing_in_common_but_what_is_sent(tmp_path: Path) -> None:
    """Flower's own strategies and many apps take apart what they get, to save memory."""
    from flwr.app import Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    app, kept, failed = ClientApp(), [], []

    @app.query()
    def query(message: Message, context: Any) -> Message:
        message.content["arrays"].clear()
        return Message(RecordDict(), reply_to=message)

    @app.train()
    def train(message: Message, context: Any) -> Message:
        reply = client_app()(message, context)
        kept.append(len(context.state.get("mine", "--")))
        context.state["mine"] = reply.content["arrays"]
        return reply

    class Clearing(FedAvg):
        def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Any:
            content, nodes = RecordDict({"arrays": arrays}), (*grid.get_node_ids(), 77)
            asked = [Message(content, dst_node_id=node, message_type="query") for node in nodes]
            names = grid.push_messages(asked)
            for replies in (grid.send_and_receive(asked), grid.pull_messages(names)):
                failed.append([n for n, r in zip(nodes, replies, strict=True) if r.has_error()])
            assert not grid.pull_messages(names)
            return super().configure_train(server_round, arrays, config, grid)

        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            made = super().aggregate_train(server_round, replies)
            for reply in replies:
                reply.content["arrays"].clear()
            return made

    strategy = fedavg(Clearing, fraction_evaluate=0.0)
    [result] = run_flower(SCENARIO, app, strategy, 10, tmp_path, **started())
    assert result.rounds.discarded.tolist() == [0, 0, 0]
    assert set(kept) == {2}
    assert failed == [[77]] * 6


@pytest.mark.parametrize(("extra", "tasks"), [(0, "2 tasks"), (77, "1 task")])
def test_who_cant_train_is_told_as_the_strategys_choice(
    extra: int, tasks: str, tmp_path: Path
) -> None:
    from flwr.app import Message, RecordDict
    from flwr.serverapp.strategy import FedAvg

    class Odd(FedAvg):
        def configure_train(self, *args: Any) -> Any:
            more = Message(RecordDict(), dst_node_id=extra, message_type="train")
            return [*super().configure_train(*args), more]

    with pytest.raises(ComponentError, match=f"it has {tasks} for client {extra}; there are cl"):
        run_flower(SCENARIO, client_app(), fedavg(Odd), 10, tmp_path, **started())


def test_where_a_number_of_clients_is_kept_at_work_no_more_are_there(tmp_path: Path) -> None:
    fedbuff = {"name": "fedbuff", "concurrency": 2, "buffer": 2}
    scenario = {**SCENARIO, "rounds": {"policy": fedbuff, "stop": {"rounds": 4}}}
    strategy = fedavg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)
    [result] = run_flower(scenario, client_app(), strategy, 10, tmp_path, **started())
    assert result.rounds.selected.iloc[0] == 2
    assert result.summary["trainings"]["issued"] <= 4 * 2 + 2
    assert len(set(result.clients.client)) > 2


def test_accuracies_are_shares_but_for_rounding(tmp_path: Path) -> None:
    from flwr.app import MetricRecord

    def judge(server_round: int, arrays: Any) -> Any:
        return MetricRecord({"accuracy": (1 + 1e-12) if server_round == 1 else 87.5})

    with pytest.raises(ComponentError, match=r"evaluate_fn in round 2: .* from 0 to 1, not 87\.5"):
        run_flower(SCENARIO, client_app(), fedavg(), 10, tmp_path, **started(evaluate_fn=judge))


def test_that_clients_send_other_sizes_than_they_got_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Virtual time has to know sizes before anything is trained."""
    from flwr.app import Array, ArrayRecord
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    app = ClientApp()

    @app.train()
    def train(message: Any, context: Any) -> Any:
        own = Array("bfloat16", (2,), "their.own", b"1234")
        reply = client_app()(Watched.sent(message), context)
        reply.content["arrays"] = ArrayRecord({"w": own})
        return reply

    class Watched(FedAvg):
        @staticmethod
        def sent(message: Any) -> Any:
            message.content["arrays"] = started()["initial_arrays"]
            return message

        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            return replies[0].content["arrays"], None

    strategy = fedavg(Watched, fraction_evaluate=0.0)
    [result] = run_flower(SCENARIO, app, strategy, 10, tmp_path, **started())
    assert caplog.text.count("client 0 sends 4 bytes of arrays; virtual time takes each") == 1
    assert caplog.text.count("bytes of arrays") == 1
    import torch

    assert bytes(torch.load(result.folder / "model.pt")["w"].tolist()) == b"1234"


def test_that_a_strategy_makes_a_larger_model_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As Flower's own FedAdam does, by float64."""
    from flwr.app import ArrayRecord
    from flwr.serverapp.strategy import FedAdam

    first = ArrayRecord([np.zeros(1000, dtype=np.float32), np.zeros((2, 3), dtype=np.float32)])
    strategy = fedavg(FedAdam, fraction_evaluate=0.0)
    run_flower(SCENARIO, client_app(), strategy, 10, tmp_path, initial_arrays=first)
    assert "the strategy sends 8,304 bytes of arrays; virtual time" in caplog.text


def test_replies_that_nobody_needs_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flower's records refer to each other, so that only a search finds them."""
    from flwr.serverapp.strategy import FedAvg

    monkeypatch.setattr("simfl.coordinators.flower.grid.UNSWEPT", 50_000)  # 6 replies of 8 kB
    contents: list[weakref.ref] = []

    class Watched(FedAvg):
        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            contents.extend(weakref.ref(reply.content) for reply in replies)
            return super().aggregate_train(server_round, replies)

    scenario = {**SCENARIO, "rounds": {"clients": 6, "stop": {"rounds": 10}}}
    strategy = fedavg(Watched, fraction_evaluate=0.0)
    run_flower(scenario, client_app(), strategy, 10, tmp_path, **started())
    assert len(contents) == 60
    assert sum(content() is not None for content in contents) < 20


def test_once_somebody_has_trained_a_round_may_fail(tmp_path: Path) -> None:
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    app = ClientApp()

    @app.train()
    def train(message: Any, context: Any) -> Any:
        if context.node_config["partition-id"] == 2:
            raise ValueError("no data")
        return client_app()(message, context)

    class InTurn(FedAvg):
        def configure_train(self, server_round: int, *args: Any) -> Any:
            messages = super().configure_train(server_round, *args)
            return [m for m in messages if m.metadata.dst_node_id == server_round]

    strategy = fedavg(InTurn, fraction_evaluate=0.0)
    [result] = run_flower(SCENARIO, app, strategy, 10, tmp_path, **started())
    assert result.rounds.discarded.tolist() == [0, 1, 0]


def test_nobody_judges_in_place_of_a_client_that_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from flwr.app import Message, RecordDict
    from flwr.serverapp.strategy import FedAvg

    class Odd(FedAvg):
        def configure_evaluate(self, server_round: int, arrays: Any, *args: Any) -> Any:
            content = RecordDict({"arrays": arrays})
            return [Message(content, dst_node_id=99, message_type="evaluate")]

    [result] = run_flower(SCENARIO, client_app(), fedavg(Odd), 10, tmp_path, **started())
    assert result.rounds.loss.isna().all()
    assert "all clients that evaluated it failed: RunError: there is no client 99" in caplog.text
