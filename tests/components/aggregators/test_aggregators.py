"""Aggregators: the published formulas by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from simfl.components.aggregators.base import Aggregator, Contribution, aggregators
from simfl.components.aggregators.fednova import FedNova
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.adam import Adam
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.exponential import Exponential
from simfl.components.schedules.step import Milestones
from simfl.components.schedules.warm_up import WarmUp
from simfl.core.work import Plan, WorkOrder, WorkResult
from simfl.testing.circumstances import circumstances
from tests.components.aggregators.by_hand import aggregate, contribution

MEANS = ["fedavg", {"name": "fedavgm", "momentum": 0}, "fednova", {"name": "fedbuff", "lr": 1.0}]


def rounds(aggregator: Aggregator, updates: list[float], model: float = 0.0) -> list[float]:
    """Return the model after each round in which one client's update is as given."""
    models, current = [], np.array([model], dtype=np.float32)
    for update in updates:
        base = float(current[0])
        current = aggregator.aggregate(current, [contribution(base + update, base=base)])
        models.append(float(current[0]))
    return models


@pytest.mark.parametrize("name", MEANS, ids=str)
def test_in_a_synchronous_round_they_are_fedavg(name: str | dict[str, Any]) -> None:
    options = {"weighting": "samples"} | ({"name": name} if isinstance(name, str) else name)
    rng = np.random.default_rng(0)
    arrived = [contribution(rng.normal(size=6), 1 + 7 * i, i, steps=5) for i in range(5)]
    assert aggregate(options, arrived) == pytest.approx(aggregate("fedavg", arrived), rel=1e-6)


def told(update: float, loss: float, samples: int = 1) -> Contribution:
    sent = contribution(update, samples)
    return replace(sent, result=replace(sent.result, extras={"loss": np.array(loss, np.float32)}))


@pytest.mark.parametrize("q", [0, 1, 2])
def test_large_losses_count_for_more_with_q_fedavg(q: int) -> None:
    """Algorithm 2 by hand: L = 2, updates of 1 and -1, losses of 3 and 1; q = 0 is FedAvg."""
    name = {"name": "qfedavg", "q": q, "lipschitz": 2, "weighting": "uniform"}
    steps, smooth = 3**q * 2 * 1 + 1 * 2 * -1, [q * 3.0 ** (q - 1) * 4 + 2 * 3**q, q * 4 + 2]
    model = aggregate(name, [told(1, 3), told(-1, 1)])
    assert model.tolist() == pytest.approx([steps / sum(smooth)], rel=1e-6)
    assert aggregate({**name, "q": 0}, [told(1, 3), told(-1, 1)]).tolist() == [0]


@pytest.mark.parametrize("losses", [(0, 0), (0, 1e30), (1e30, 1e30)])
def test_no_loss_is_too_small_or_large_for_q_fedavg(losses: tuple[float, float]) -> None:
    model = aggregate({"name": "qfedavg", "q": 100}, [told(1, losses[0]), told(1, losses[1])])
    assert 0 <= model[0] <= 1


def test_momentum_by_hand() -> None:
    steps = rounds(aggregators.parse({"name": "fedavgm", "momentum": 0.5, "lr": 2}), [1, 1, 0])
    assert steps == pytest.approx([2, 5, 6.5])  # v = 1, 1.5, 0.75


@pytest.mark.parametrize(
    ("name", "squares"),
    [  # v after updates of 1 and 0.5, beta2 = 0.75, from tau^2 = 0.25
        ({"name": "fedadagrad"}, [1.25, 1.5]),
        ({"name": "fedadam", "beta2": 0.75}, [0.4375, 0.390625]),
        ({"name": "fedyogi", "beta2": 0.75}, [0.5, 0.4375]),
    ],
    ids=["fedadagrad", "fedadam", "fedyogi"],
)
def test_adaptive_steps_by_hand(name: dict[str, object], squares: list[float]) -> None:
    found = rounds(aggregators.parse({**name, "beta1": 0.5, "tau": 0.5, "lr": 1}), [1, 0.5])
    first = 0.5 / (np.sqrt(squares[0]) + 0.5)
    second = (0.5 * 0.5 + 0.5 * 0.5) / (np.sqrt(squares[1]) + 0.5)
    assert found == pytest.approx([first, first + second], rel=1e-6)


def test_fednova_by_hand() -> None:
    """B.5: with 1 and 10 steps the directions 1 and 10/10 get their weights, not weight * steps."""
    two = [contribution(1, 100, 0, steps=1), contribution(10, 300, 1, steps=10)]
    tau = 0.25 * 1 + 0.75 * 10
    assert aggregate("fednova", two) == pytest.approx([tau * (0.25 * 1 + 0.75 * 1)])
    opposed = [contribution(-1, 1, 0, steps=1), contribution(10, 1, 1, steps=10)]
    assert aggregate("fednova", opposed) == pytest.approx([0.0])
    assert aggregate("fednova", [*two, contribution(99, 5, 2, steps=0)]) == pytest.approx([tau])
    assert aggregate("fednova", [contribution(9, steps=0)], 3.0).tolist() == [3.0]


def reach_of(aggregator: Aggregator, steps: int, round_: int = 1) -> float:
    """Return how far so many steps reach, a_k, read off one round beside a client of one step.

    Only the latter moves, by 1: tau_eff * 1/2 * 1/a_1, where tau_eff = (a_1 + a_k) / 2 and a_1 = 1.
    """
    two = [contribution(1, client=0), contribution(0, client=1, steps=steps)]
    two = [replace(c, result=replace(c.result, order=replace(c.result.order, round=round_)))
           for c in two]  # fmt: skip
    return 4 * float(aggregator.aggregate(two[0].base, two)[0]) - 1


def test_fednova_learns_of_local_training() -> None:
    """Momentum and learning rate times mu as local training has them; options go before."""

    def reach(local: LocalTraining, round_: int = 1, **options: float) -> float:
        aggregator = FedNova(**options)
        aggregator.prepare(local, 10, 5)
        return reach_of(aggregator, 7, round_)

    plain, schedule = Sgd(lr=0.5), Milestones(milestones=(3,), factor=0.5)
    heavy = LocalTraining(8, Sgd(lr=0.5, momentum=0.5), schedule)
    pulled = LocalTraining(8, plain, schedule, proximal=0.5)
    assert reach(LocalTraining(8, plain, schedule)) == 7
    assert reach(heavy) == reach_of(FedNova(momentum=0.5), 7)
    assert reach(pulled) == reach_of(FedNova(proximal=0.25), 7)
    assert reach(pulled, 4) == reach_of(FedNova(proximal=0.125), 7)  # the rate was cut
    assert reach(heavy, momentum=0) == reach(pulled, proximal=0) == 7
    both = LocalTraining(8, heavy.optimizer, schedule, proximal=0.5)
    [told] = FedNova().objections(circumstances(training=both))
    assert "can't both be above 0" in told
    assert reach(both, momentum=0) == reach(pulled)
    far = LocalTraining(8, plain, schedule, proximal=3.0)
    [told] = FedNova().objections(circumstances(training=far))
    assert "below 1, but it is 1.5" in told
    for local in (both, far):  # told too where the first round's rate is 0
        warming = replace(local, schedule=WarmUp(rounds=4, start=0.0))
        assert list(FedNova().objections(circumstances(training=warming)))
    other = circumstances(training=LocalTraining(8, Adam()))
    [told] = FedNova().objections(other)
    assert "how far steps of sgd reach" in told
    assert not list(FedNova(momentum=0).objections(other))


def test_fednova_weighs_steps_by_their_rates_where_these_fall_within_a_round() -> None:
    """Rates of 1 and 1/2 reach as far as one step and a half; with momentum it can't be told."""
    local = LocalTraining(8, Sgd(lr=1.0), Exponential(decay=0.5, per="epoch"), lr_epochs=2)
    aggregator = FedNova()
    aggregator.prepare(local, 10, 5)
    two = [contribution(1, client=0), contribution(0, client=1, steps=2)]
    sums = [local.rate(1), 1.5 * local.rate(1)]
    two = [
        replace(c, result=replace(c.result, lr_sum=lr_sum))
        for c, lr_sum in zip(two, sums, strict=True)
    ]
    assert float(aggregator.aggregate(two[0].base, two)[0]) == pytest.approx((1 + 1.5) / 4)
    assert not list(aggregator.objections(circumstances(training=local)))
    heavy = replace(local, optimizer=Sgd(lr=1.0, momentum=0.5))
    [told] = aggregator.objections(circumstances(training=heavy))
    assert "`lr_schedule` changes it per epoch" in told


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_fednova_reach_is_the_sum_of_step_weights(steps: int) -> None:
    """a_k is how far unit gradients carry: summed step by step here, in closed form there."""
    rho, velocity, far = 0.5, 0.0, 0.0
    for _ in range(steps):
        velocity = rho * velocity + 1
        far += velocity
    assert reach_of(FedNova(momentum=rho), steps) == pytest.approx(far)
    rate, far = 0.25, 0.0
    for _ in range(steps):
        far = (1 - rate) * far + 1
    assert reach_of(FedNova(proximal=rate), steps) == pytest.approx(far)
    assert reach_of(FedNova(proximal=1e-17), steps) == steps  # it was 0, and the model no number


def test_robust_statistics_by_hand() -> None:
    arrived = [contribution([value, -value], 10**client, client)
               for client, value in enumerate([1.0, 2.0, 3.0, 100.0, -50.0])]  # fmt: skip
    assert aggregate("median", arrived).tolist() == [2, -2]
    assert aggregate("median", arrived[:2]).tolist() == [1.5, -1.5]
    assert aggregate({"name": "trimmed_mean", "trim": 0.2}, arrived).tolist() == [2, -2]
    assert aggregate({"name": "trimmed_mean", "trim": 0.1}, arrived) == pytest.approx([11.2, -11.2])
    assert aggregate("median", [contribution(1, copies=3), contribution(5)]).tolist() == [1]


@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
def test_robust_ones_add_stale_updates_to_the_present_model(name: str) -> None:
    """Stale clients moved by 3, 1 and 3 from models that were; the present one is 10."""
    stale = [contribution(4, base=1, staleness=2), contribution(2, base=1, staleness=2)]
    arrived = [*stale, contribution(13, base=10)]
    expected = {"median": 13.0, "trimmed_mean": pytest.approx(10 + 7 / 3)}[name]
    assert aggregate(name, arrived, 10.0) == expected
    assert aggregate(name, stale[:1], 10.0).tolist() == [13]


def test_trim_is_not_lost_to_rounding() -> None:
    """29% of 100 are 29, although 0.29 * 100 is a little less in floating point."""
    assert int(0.29 * 100) == 28
    values = [9.0] * 29 + [1.0] * 42 + [-5.0] * 29
    arrived = [contribution(value, client=i) for i, value in enumerate(values)]
    assert aggregate({"name": "trimmed_mean", "trim": 0.29}, arrived).tolist() == [1]


def test_a_trim_that_rounds_to_half_leaves_the_values_in_the_middle() -> None:
    """All were cut off, and their mean was NaN."""
    arrived = [contribution(value, client=i) for i, value in enumerate([1.0, 2.0, 4.0, 99.0])]
    assert aggregate({"name": "trimmed_mean", "trim": 0.5 - 1e-11}, arrived).tolist() == [3]


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("name", ["median", "trimmed_mean"])
def test_robust_in_blocks_equals_numpy(name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    models = rng.normal(size=(n, 70_001)).astype(np.float32)
    found = aggregate(name, [contribution(model, client=i) for i, model in enumerate(models)])
    expected = np.median(models, axis=0) if name == "median" else models.mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_fedasync_by_hand() -> None:
    half = {"name": "fedasync", "alpha": 0.5}
    assert aggregate({**half, "staleness": "constant"}, [contribution(8)], 4.0).tolist() == [6]
    stale = [contribution(8, staleness=3)]
    assert aggregate(half, stale, 4.0).tolist() == [5]  # (1 + 3)^-0.5 = 1/2
    hinge = {**half, "staleness": "hinge", "a": 1, "b": 2}
    assert aggregate(hinge, stale, 4.0).tolist() == [5]  # 1 / (1 * (3 - 2) + 1)
    assert aggregate(hinge, [contribution(8, staleness=2)], 4.0).tolist() == [6]
    one_by_one = [contribution(8, client=0), contribution(0, client=1)]
    assert aggregate({**half, "staleness": "constant"}, one_by_one, 4.0).tolist() == [3]
    late, early = (replace(c, arrived_s=at) for c, at in zip(one_by_one, (9, 7), strict=True))
    assert aggregate({**half, "staleness": "constant"}, [late, early], 4.0).tolist() == [5]
    twice = [contribution(8, copies=2)]
    assert aggregate({**half, "staleness": "constant"}, twice, 0.0).tolist() == [6]


def test_fedbuff_by_hand() -> None:
    """Updates of 2 (fresh) and 4 (staleness 3, halved): the mean of 2 and 2."""
    two = [contribution(3, base=1), contribution(4, client=1, staleness=3)]
    assert aggregate("fedbuff", two, 10.0).tolist() == [12]
    assert aggregate({"name": "fedbuff", "lr": 0.5}, two, 10.0).tolist() == [11]
    assert aggregate({"name": "fedbuff", "exponent": 0}, two, 10.0).tolist() == [13]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "fedavg", "weighting": "size"},
        {"name": "fedavgm", "momentum": 1},
        {"name": "fedadam", "tau": 0},
        {"name": "fedyogi", "tau": 1e300},  # whose square is no number
        {"name": "fednova", "momentum": 0.5, "proximal": 0.1},
        {"name": "trimmed_mean", "trim": 0.5},
        {"name": "fedasync", "alpha": 0},
        {"name": "fedbuff", "lr": float("nan")},
        {"name": "dp_fedavg", "clip": 0, "noise_multiplier": 1},
        {"name": "dp_fedavg", "clip": 1, "noise_multiplier": -1},
        {"name": "krum", "byzantine": -1},
        {"name": "krum", "keep": 0},
    ],
    ids=str,
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    options = dict(wrong)
    with pytest.raises(ValidationError):
        aggregators.get(str(options.pop("name"))).model_validate(options)


def test_fednova_knows_that_momentum_begins_anew_on_a_coreset() -> None:
    """Equal gradients everywhere: whoever takes whichever steps, FedNova is FedAvg."""
    rho, lr = 0.9, 0.1

    def moved(*runs: int) -> float:
        total = 0.0
        for steps in runs:
            velocity = 0.0
            for _ in range(steps):
                velocity = rho * velocity + 1.0
                total += lr * velocity
        return total

    plans = {0: (Plan(full_epochs=1, coreset_epochs=2, coreset_size=3), (4, 4)), 1: (Plan(2), (4,))}
    made = []
    for client, (plan, runs) in plans.items():
        order = WorkOrder(client, 0, 1, 0, plan, 0)
        params = np.array([-moved(*runs)], dtype=np.float32)
        result = WorkResult(order, params, 0.5, sum(runs), 8 if client == 0 else 4)
        made.append(Contribution(result, np.zeros(1, dtype=np.float32)))
    aggregator = FedNova(weighting="uniform")
    local = LocalTraining(batch_size=2, optimizer=Sgd(lr=lr, momentum=rho))
    aggregator.prepare(local, 2, 2)
    reach = [moved(4, 4) / lr, moved(4) / lr]
    assert aggregator.aggregate(np.zeros(1, dtype=np.float32), made) == pytest.approx(
        [-lr * np.mean(reach)], rel=1e-6
    )
