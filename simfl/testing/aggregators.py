"""The contract of every aggregator, as a test suite to inherit: see `simfl.testing.contract`."""

import pickle
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.aggregators.base import Aggregator, Contribution
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.core.types import Floats, Params
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.testing.contract import (
    RELAXED,
    SEEDS,
    ComponentContract,
    finite_vector,
    plain,
    same,
    unchanged,
)

CLIENTS, PER_ROUND, SIZE = 9, 4, 6


def contribution(
    client: int,
    model: Params,
    update: Floats,
    *,
    round_: int = 1,
    samples: int = 1,
    steps: int = 1,
    staleness: int = 0,
    loss: float = 1.0,
) -> Contribution:
    """Return what `client` sends after moving `model` `(p,)` by `update` `(p,)`.

    Its loss is that before training, too, for those who want to know.
    """
    order = WorkOrder(client, round_ - 1, round_, round_ - 1, Plan(1), client)
    params = (model + update).astype(np.float32)
    told = {"loss": np.array(loss, np.float32), "squared_loss": np.array(loss**2, np.float32)}
    result = WorkResult(order, params, loss, steps, samples, told, lr_sum=0.1 * steps)
    return Contribution(result, model, staleness)


def arrivals(model: Params, seed: int, n: int, round_: int = 1) -> list[Contribution]:
    """Return what `n` clients with random updates, samples and steps send, in their order."""
    rng = np.random.default_rng([seed, round_])
    return [
        contribution(
            client,
            model,
            rng.normal(size=len(model)),
            round_=round_,
            samples=int(rng.integers(1, 30)),
            steps=int(rng.integers(1, 5)),
            loss=float(rng.exponential()),
        )
        for client in sorted(rng.choice(CLIENTS, n, replace=False).tolist())
    ]


class AggregatorContract(ComponentContract):
    """What holds for every aggregator; inherit and set `create`."""

    create: Callable[..., Aggregator]
    ordered: ClassVar[bool] = False
    """Whether it mixes one update after the other, so that their order matters."""
    local: ClassVar[LocalTraining] = LocalTraining(8, Sgd(lr=0.1))
    """How clients train, as `prepare` is told."""

    def prepared(self) -> Aggregator:
        """Return a new aggregator that has been told of the run."""
        aggregator = self.create()
        aggregator.prepare(self.local, CLIENTS, PER_ROUND)
        return aggregator

    def aggregate(
        self, aggregator: Aggregator, model: Params, arrived: Sequence[Contribution]
    ) -> Params:
        """Return the next model and check what it must always be."""
        before = (model.copy(), [(c.result.params.copy(), c.base.copy()) for c in arrived])
        following = aggregator.aggregate(model, arrived)
        unchanged((model, [(c.result.params, c.base) for c in arrived]), before)
        finite_vector(following, len(model), "a model")
        return following

    def play(self, aggregator: Aggregator, model: Params, rounds: range, seed: int) -> list[bytes]:
        """Return the bytes of the model after each of `rounds`."""
        log = []
        for round_ in rounds:
            model = self.aggregate(aggregator, model, arrivals(model, seed, 4, round_))
            log.append(model.tobytes())
        return log

    @RELAXED
    @given(seed=SEEDS, n=st.integers(1, CLIENTS))
    def test_a_model_comes_of_any_updates(self, seed: int, n: int) -> None:
        """Of the same size, float32 and finite, round after round."""
        aggregator, model = self.prepared(), np.ones(SIZE, dtype=np.float32)
        for round_ in range(1, 5):
            model = self.aggregate(aggregator, model, arrivals(model, seed, n, round_))

    def test_clients_without_samples_or_steps(self) -> None:
        """One of them, or all: the model stays finite."""
        model = np.ones(SIZE, dtype=np.float32)
        idle = [contribution(i, model, np.zeros(SIZE), samples=0, steps=0) for i in range(3)]
        self.aggregate(self.prepared(), model, idle)
        self.aggregate(self.prepared(), model, [*idle, contribution(3, model, np.ones(SIZE))])

    def test_nobody_moved(self) -> None:
        """Then the model stays where it is."""
        model = np.linspace(-1, 1, SIZE, dtype=np.float32)
        still = [contribution(i, model, np.zeros(SIZE), samples=1 + i) for i in range(4)]
        assert np.array_equal(self.aggregate(self.prepared(), model, still), model)

    @RELAXED
    @given(seed=SEEDS)
    def test_the_model_never_moves_against_all(self, seed: int) -> None:
        """Where all clients agree on a direction it goes there, or stays."""
        update = np.random.default_rng(seed).normal(size=SIZE)
        model = np.zeros(SIZE, dtype=np.float32)
        agreed = [contribution(i, model, update, samples=1 + i) for i in range(4)]
        step = self.aggregate(self.prepared(), model, agreed) - model
        assert np.all(step * update >= 0), f"all moved by {update}, the model by {step}"

    @RELAXED
    @given(seed=SEEDS, n=st.integers(2, CLIENTS))
    def test_whoever_stands_where_has_the_same_say(self, seed: int, n: int) -> None:
        """Up to rounding."""
        model = np.zeros(SIZE, dtype=np.float32)
        arrived = arrivals(model, seed, n)
        forwards = self.aggregate(self.prepared(), model, arrived)
        backwards = self.aggregate(self.prepared(), model, arrived[::-1])
        assert self.ordered or np.allclose(forwards, backwards, rtol=1e-5, atol=1e-6)

    def test_who_was_drawn_twice_counts_twice(self) -> None:
        """As two clients with the same model would."""
        model = np.zeros(SIZE, dtype=np.float32)
        first, second = arrivals(model, 3, 2)
        twice = Contribution(second.result, second.base, copies=2)
        model_of_copies = self.aggregate(self.prepared(), model, [first, twice])
        model_of_two = self.aggregate(self.prepared(), model, [first, second, second])
        assert np.allclose(model_of_copies, model_of_two, rtol=1e-5, atol=1e-6)

    def test_stale_updates(self) -> None:
        """They are used, unless the aggregator corrects gradients."""
        model = np.ones(SIZE, dtype=np.float32)
        late = [contribution(i, model - 1, np.ones(SIZE), staleness=1 + i) for i in range(3)]
        aggregator = self.prepared()
        if not aggregator.corrects:
            self.aggregate(aggregator, model, late)

    @RELAXED
    @given(seed=SEEDS)
    def test_what_is_given_out(self, seed: int) -> None:
        """A model of the same size, float32 and finite; the same draws make the same bits."""
        model = np.random.default_rng(seed).normal(size=SIZE).astype(np.float32)
        made = []
        for _ in range(2):
            aggregator = self.prepared()
            self.aggregate(aggregator, model, arrivals(model, seed, 4))
            before = model.copy()
            shown = aggregator.perturb(model, np.random.default_rng(seed))
            unchanged(model, before)
            finite_vector(shown, len(model), "a model")
            made.append(shown.tobytes())
        assert made[0] == made[1], "the same draws gave another model"

    def test_corrections(self) -> None:
        """None, or as many finite float32 numbers as the model has; none where none is promised."""
        aggregator, model = self.prepared(), np.ones(SIZE, dtype=np.float32)
        for round_ in range(1, 4):
            for client in range(CLIENTS):
                correction = aggregator.correction(client)
                if correction is None:
                    continue
                assert aggregator.corrects, "a correction, but `corrects` is false"
                finite_vector(correction, SIZE, "a correction")
            model = self.aggregate(aggregator, model, arrivals(model, 0, 4, round_))

    def test_same_updates_same_model(self) -> None:
        """Bit for bit."""
        model = np.ones(SIZE, dtype=np.float32)
        logs = [self.play(self.prepared(), model, range(1, 5), 2) for _ in range(2)]
        assert logs[0] == logs[1]

    def test_state_survives_a_round_trip(self) -> None:
        """A restored aggregator goes on exactly as the original, from any round on."""
        for rounds in range(4):
            aggregator, model = self.prepared(), np.ones(SIZE, dtype=np.float32)
            self.play(aggregator, model, range(1, 1 + rounds), 5)
            state = aggregator.state_dict()
            assert plain(state), f"not made of plain arrays and numbers: {state}"
            stored = pickle.dumps(state)
            other = self.prepared()
            other.load_state_dict(pickle.loads(stored))
            following = range(1 + rounds, 4 + rounds)
            assert self.play(aggregator, model, following, 5) == self.play(
                other, model, following, 5
            )
            assert same(aggregator.state_dict(), other.state_dict())
            assert same(state, pickle.loads(stored)), "a state that was handed out has changed"
