"""What the contracts of all kinds of component share: options, copies, state.

Each kind has its suite: `simfl.testing.aggregators`, `simfl.testing.models` and so on.  In a
plugin's own tests one line is enough::

    class TestMine(AggregatorContract):
        create = MyAggregator

Needs pytest and hypothesis.
"""

import inspect
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from simfl.core.component import Component
from simfl.core.registry import Registry

RELAXED = settings(
    deadline=None,
    max_examples=12,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
SEEDS = st.integers(0, 2**16)

C = TypeVar("C", bound=Component)


class ComponentContract:
    """What holds for every component; a kind's own suite inherits it."""

    create: Callable[..., Any]
    """The component's class, whose required options get their first example, or a function (in
    `staticmethod`) that returns a new one."""

    def __init_subclass__(cls) -> None:
        """Let a class create what `example` returns of it."""
        if isinstance(create := cls.__dict__.get("create"), type):
            cls.create = staticmethod(partial(example, create))

    def test_class_and_options_are_described(self) -> None:
        """`simfl describe` has something to say of the class and of each option."""
        component = type(self.create())
        assert inspect.getdoc(component), f"{component.__name__} has no docstring"
        for name, option in component.model_fields.items():
            assert option.description, f"option {name!r} has no description"

    def test_written_out_and_read_again_it_is_the_same(self) -> None:
        """A run's folder holds every option written out, from which the run can be repeated."""
        component = self.create()
        assert type(component).model_validate(component.model_dump(mode="json")) == component

    def test_it_can_be_sent_to_another_process(self) -> None:
        """Pickling keeps the options."""
        component = self.create()
        assert pickle.loads(pickle.dumps(component)).model_dump() == component.model_dump()

    def test_a_fresh_copy_has_the_same_options(self) -> None:
        """`fresh` keeps the options and shares no state."""
        component, untouched = self.create(), self.create()
        copy = component.fresh()
        assert copy is not component
        assert copy.model_dump() == component.model_dump()
        assert same(copy.__pydantic_private__, untouched.__pydantic_private__)


def example(component: type[C], options: Mapping[str, Any] | None = None) -> C:
    """Return one `component` with its defaults, and the first example of each required option.

    Args:
        component: the class.
        options: options that are given instead, as a scenario would.
    """
    required = {
        name: option.examples[0]
        for name, option in component.model_fields.items()
        if option.is_required() and option.examples
    }
    return component.model_validate({**required, **(options or {})})


def suites(
    contract: type[ComponentContract],
    registry: Registry[Any],
    traits: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, type[ComponentContract]]:
    """Return a suite for each registered member, to be added to a test module's globals.

    Args:
        contract: the suite of the kind.
        registry: the kind.
        traits: what the suite must know of some members, by name: attributes of `contract`, and
            under `options` the member's options where its own examples do not do.
    """
    made = {}
    for name in registry.names():
        known = dict((traits or {}).get(name, {}))
        create = partial(example, registry.get(name), known.pop("options", None))
        made[f"Test_{name}"] = type(
            f"Test_{name}", (contract,), {"create": staticmethod(create), **known}
        )
    return made


def plain(value: Any) -> bool:
    """Return whether `value` can be saved, and comes back as it was.

    That is: whether it consists of arrays of numbers, numbers, strings, and dicts, lists and tuples
    of these; a `Counter` or a named tuple would come back as a mere dict or tuple.
    """
    if type(value) is dict:
        return all(plain(item) for pair in value.items() for item in pair)
    if type(value) in (list, tuple):
        return all(plain(item) for item in value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biuf"
    return value is None or type(value) in (bool, int, float, str)


def same(a: Any, b: Any) -> bool:
    """Return whether two states are equal, NaN being equal to NaN."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    return bool(a == b) or (a != a and b != b)


def finite_vector(vector: object, size: int, what: str) -> None:
    """Assert that `vector` is `(size,)` finite float32 numbers, such as ``a model``."""
    assert isinstance(vector, np.ndarray), f"{what} of type {type(vector).__name__}"
    assert vector.shape == (size,), f"{what} of shape {vector.shape}, expected ({size},)"
    assert vector.dtype == np.float32, f"{what} of {vector.dtype}"
    assert np.isfinite(vector).all(), f"{what} that is not finite: {vector}"


def unchanged(values: Any, before: Any) -> None:
    """Assert that arguments `values` still are what they were `before` the call."""
    assert same(values, before), "an argument was written to"
