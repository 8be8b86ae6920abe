"""Workloads: the oracles of docs/algorithms.md (B.2, B.3), and that a plan ends by the deadline."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simfl.components.workloads.base import Assignment, Workload, most, workloads
from simfl.core.work import Plan
from simfl.errors import InputError
from simfl.testing.circumstances import circumstances


def assignment(
    capability: float,
    tau: float,
    samples: int,
    epochs: int = 10,
    *,
    steps: int | None = None,
    convex: bool = False,
    batch_size: int = 8,
) -> Assignment:
    return Assignment(
        client=0,
        samples=samples,
        batch_size=batch_size,
        epochs=epochs,
        steps=steps,
        fits=lambda units: units / capability <= tau,
        rng_seed=0,
        convex=convex,
    )


def plan(name: object, *args: float, **options: object) -> Plan | None:
    return workloads.parse(name).plan(assignment(*args, **options))  # type: ignore[arg-type]


def test_most_is_the_largest_that_fits() -> None:
    assert [most(5, top.__ge__) for top in range(8)] == [0, 1, 2, 3, 4, 5, 5, 5]


def test_full_trains_everything_however_late() -> None:
    assert plan("full", 1, 1, 10) == Plan(full_epochs=10)
    assert plan("full", 1, 1, 10, steps=7) == Plan(steps=7)


@pytest.mark.parametrize(
    ("c", "tau", "m", "epochs"), [(1, 20, 10, 2), (1, 5, 10, 0), (0.5, 200, 60, 1), (1, 99, 10, 9)]
)
def test_partial_epochs_are_those_of_fedprox(c: float, tau: float, m: int, epochs: int) -> None:
    assert plan("partial_epochs", c, tau, m) == (Plan(full_epochs=epochs) if epochs else None)


def test_partial_epochs_that_end_on_the_deadline_are_not_partial() -> None:
    assert plan("partial_epochs", 1, 100, 10) == Plan(full_epochs=10)


def test_partial_steps_count_short_batches_as_short() -> None:
    """Ten samples in batches of 8 and 2: three steps cost 18 units, four cost 20."""
    assert plan("partial_epochs", 1, 19, 10, steps=20) == Plan(steps=3)
    assert plan("partial_epochs", 1, 20, 10, steps=20) == Plan(steps=4)
    assert plan("partial_epochs", 1, 7, 10, steps=20) is None


@pytest.mark.parametrize(
    ("c", "tau", "m", "expected"),
    [
        (1, 20, 10, Plan(1, 9, 1)),
        (1, 5, 10, None),  # the fallback's b0 = floor(5 / 10) = 0
        (1, 100, 10, Plan(full_epochs=10)),  # b = 10 = m: the same work as in full
        (0.5, 200, 60, Plan(1, 9, 4)),
        (1, 10, 10, Plan(full_epochs=1)),  # b = 0 and a full epoch fits
        (1, 18, 10, Plan(full_epochs=1)),
        (1, 40, 60, Plan(0, 10, 4)),  # fallback
        (1, 10, 1, Plan(full_epochs=10)),
    ],
)
def test_coreset_budgets_are_those_of_fedcore(
    c: float, tau: float, m: int, expected: Plan | None
) -> None:
    assert plan("coreset", c, tau, m) == expected


@pytest.mark.parametrize(
    ("m", "c", "b", "epochs"),
    [(4388, 1.8098, 2366, 5), (2103, 1.3121, 1835, 8), (4645, 1.8658, 2425, 5)],
)
def test_stragglers_of_fedcore_table_1(m: int, c: float, b: int, epochs: int) -> None:
    """The three stragglers of 10% on Synthetic (docs/algorithms.md, F.4)."""
    assert plan("coreset", c, 10 * 1419.1267, m) == Plan(1, 9, b)
    assert plan("partial_epochs", c, 10 * 1419.1267, m) == Plan(full_epochs=epochs)


def test_coreset_time_of_the_oracle() -> None:
    chosen = plan("coreset", 0.5, 200, 60)
    assert chosen is not None
    assert chosen.units(60, 8) / 0.5 == 192


def test_coreset_fallback_pays_for_features_only_in_deep_models() -> None:
    deep = {"name": "coreset", "feature_cost": 0.25}
    assert plan(deep, 1, 40, 60) == Plan(0, 10, 2, extra_units=15)  # floor((40 - 15) / 10)
    assert plan(deep, 1, 40, 60, convex=True) == Plan(0, 10, 4)
    assert plan({"name": "coreset", "fallback": False}, 1, 40, 60) is None
    blind = {"name": "coreset", "method": "random", "feature_cost": 0.25}
    assert plan(blind, 1, 40, 60) == Plan(0, 10, 4)


def test_coreset_of_one_epoch_is_full_or_fallback() -> None:
    assert plan("coreset", 1, 60, 60, 1) == Plan(full_epochs=1)
    assert plan("coreset", 1, 59, 60, 1) == Plan(0, 1, 59)


@settings(max_examples=200)
@given(
    name=st.sampled_from(["partial_epochs", "coreset", {"name": "coreset", "feature_cost": 1 / 3}]),
    c=st.floats(0.05, 20),
    tau=st.floats(0, 5000),
    m=st.integers(1, 500),
    epochs=st.integers(1, 20),
    convex=st.booleans(),
)
def test_what_is_planned_fits_and_one_sample_more_would_not(
    name: object, c: float, tau: float, m: int, epochs: int, convex: bool
) -> None:
    asked = assignment(c, tau, m, epochs, convex=convex)
    chosen = workloads.parse(name).plan(asked)
    if chosen is None:
        return
    assert asked.fits(asked.units(chosen))
    assert chosen.coreset_size <= m
    if chosen.coreset_size:
        left = c * tau - chosen.extra_units - chosen.full_epochs * m
        assert chosen.coreset_size == pytest.approx(left / chosen.coreset_epochs, abs=1.001)
        more = Plan(
            chosen.full_epochs, chosen.coreset_epochs, chosen.coreset_size + 1, None,
            chosen.extra_units,
        )  # fmt: skip
        assert chosen.coreset_size == m or not asked.fits(asked.units(more))


@pytest.mark.parametrize("steps", [None, 5])
def test_random_work_is_equally_likely_from_the_least_to_all(steps: int | None) -> None:
    """FedNova's 2 to 5; each participation has a seed of its own."""
    workload = workloads.parse({"name": "random_epochs", "min": 2})
    asked = [replace(assignment(1, 1, 10, 5, steps=steps), rng_seed=n) for n in range(2000)]
    plans = [workload.plan(task) for task in asked]
    assert plans == [workload.fresh().plan(task) for task in asked]
    amounts = [Plan(n) if steps is None else Plan(steps=n) for n in range(2, 6)]
    assert [plans.count(amount) for amount in amounts] == pytest.approx([500] * 4, abs=100)


def test_a_share_of_stragglers_does_random_work_and_the_others_all() -> None:
    """FedProx's 90%, of which a tenth happen to do all of ten epochs."""
    workload = workloads.parse({"name": "random_epochs", "share": "90%"})
    asked = [replace(assignment(1, 1, 10), rng_seed=n) for n in range(2000)]
    plans = [workload.plan(task) for task in asked]
    assert plans.count(Plan(10)) == pytest.approx(2000 * (0.1 + 0.09), abs=100)
    assert plans.count(Plan(1)) == pytest.approx(2000 * 0.09, abs=60)


def test_more_random_epochs_than_all_are_refused() -> None:
    workload = workloads.parse({"name": "random_epochs", "min": 2})
    [told] = workload.objections(circumstances())
    assert told == "workload 'random_epochs': `min` is 2, but `epochs` only 1"
    [told] = workload.objections(circumstances(steps=1))
    assert told == "workload 'random_epochs': `min` is 2, but `steps` only 1"
    assert not [*workload.objections(circumstances(steps=2))]


def test_coreset_needs_epochs() -> None:
    [told] = workloads.parse("coreset").objections(circumstances(steps=5))
    assert "needs `epochs`" in told
    with pytest.raises(InputError, match="needs training epochs"):
        plan("coreset", 1, 1, 10, steps=5)


def test_coreset_options_survive_a_round_trip() -> None:
    workload = workloads.parse({"name": "coreset", "method": {"name": "k_medoids", "max_rows": 9}})
    written = workloads.dump(workload)
    assert written["method"]["max_rows"] == 9
    assert workloads.parse(written) == workload
    assert isinstance(workload.fresh(), Workload)


@pytest.mark.parametrize(
    "options", [{"method": "k_mediods"}, {"method": {"name": "random", "x": 1}}, {"method": 3}]
)
def test_a_wrong_method_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=r"k_medoids|wrong options"):
        workloads.get("coreset").model_validate(options)
