"""How far two runs are apart of which it is known how they differ."""

import pytest

from testbed.errors import errors
from testbed.wire import NOTHING
from tests.testbed.made import made


def test_the_same_run_twice_has_no_error() -> None:
    found = errors(made(), made(), NOTHING, [0])
    assert found.total == found.mean_round == found.max_round == 0
    assert set(found.phases.values()) == {0}
    assert (found.orders, found.outcomes, found.staleness) == (1, 1, 1)


def test_times_are_relative_to_what_was_measured() -> None:
    found = errors(made(last_s=4.0), made(last_s=3.0), NOTHING, [0])
    assert found.total == pytest.approx(-0.25)
    assert found.phases["upload"] == pytest.approx(1.9 / 2.9 - 1)
