"""The oracle: it needs the truth, and it bounds what others can reach."""

import numpy as np
import pytest

from simfl.components.selectors.oracle import Oracle
from simfl.errors import RunError
from simfl.testing.circumstances import circumstances
from simfl.testing.fake_server import FakeServer


def test_takes_the_truly_fastest() -> None:
    server = FakeServer.random(6)
    server.duration_s = np.array([5.0, 1, 4, 1, 9, 2])
    assert server.choose(Oracle(), 3, np.random.default_rng(0)).tolist() == [1, 3, 5]


def test_balances_labels() -> None:
    server = FakeServer.random(20)
    server.samples[:] = 50
    server.vectors = np.repeat(np.eye(5), 4, axis=0)
    chosen = server.choose(Oracle(goal="balanced"), 5, np.random.default_rng(0))
    assert (chosen // 4).tolist() == [0, 1, 2, 3, 4]
    other = server.choose(Oracle(goal="balanced"), 5, np.random.default_rng(1))
    assert other.tolist() != chosen.tolist()


def test_is_marked_and_refuses_to_guess() -> None:
    assert Oracle.oracle
    view = FakeServer.random(4).view(2)
    with pytest.raises(RunError, match="'duration_s'"):
        Oracle().select(view, (), 2, np.random.default_rng(0))


@pytest.mark.parametrize("targets", ["labels", "numbers"])
def test_objects_to_targets_without_classes_before_a_run(targets: str) -> None:
    [told] = Oracle(goal="balanced").objections(circumstances(targets=targets))
    assert f"the targets of data set 'synthetic_images' are {targets}" in told
    assert not list(Oracle().objections(circumstances(targets=targets)))
