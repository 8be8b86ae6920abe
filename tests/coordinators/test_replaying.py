"""Recorded answers come before real ones, and are read as they are needed."""

from collections.abc import Iterator
from typing import Any, cast

from simfl.coordinators.base import BaseCoordinator
from simfl.coordinators.replaying import ReplayingCoordinator


def test_records_are_read_one_ahead_and_the_state_is_taken_over_after_the_last() -> None:
    read, moments = list[int](), list[str]()

    def events() -> Iterator[dict[str, Any]]:
        for number in range(1000):
            read.append(number)
            yield {"t": 0.0, "event": "evaluated", "accuracy": number / 1000, "loss": 1.0}
            yield {"t": 0.0, "event": "round", "round": number}

    nobody = cast("BaseCoordinator", None)
    replaying = ReplayingCoordinator(nobody, events(), lambda: moments.append("taken over"))
    for number in range(1000):
        assert len(read) == number + 1
        assert not moments
        evaluation = replaying.evaluate(number)
        assert evaluation is not None
        assert evaluation.accuracy == number / 1000
    assert moments == ["taken over"]
