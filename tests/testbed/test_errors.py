"""What the comparison tells of two runs of which it is known how they differ."""

import pandas as pd
import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.compare import NOISE_S, errors
from testbed.journals import Run


def made(last_s: float = 3.0, outcome: str = "arrived", wire: tuple[int, int] = (1, 1)) -> Run:
    """Return a run of one round and two clients; the second ends at `last_s`."""
    rows = [
        {"client": 0, "upload_end_s": 2.9, "outcome": "arrived"},
        {"client": 1, "upload_end_s": last_s, "outcome": outcome},
    ]
    phases = {"round": 0, "selected_s": 0.0, "download_end_s": 1.0, "compute_end_s": 2.0}
    sizes = {"staleness": 0, "download_bytes": 1000, "upload_bytes": 500}
    clients = pd.DataFrame([phases | sizes | row for row in rows])
    rounds = pd.DataFrame([{"round": 0, "start_s": 0.0, "end_s": max(last_s, 2.9)}])
    return Run(rounds, clients, {"s": wire}, [])


def test_the_same_run_twice_has_no_error() -> None:
    found = errors(made(), made(), 0.0, [0])
    assert found.total == found.mean_round == found.max_round == 0
    assert set(found.phases.values()) == {0}
    assert (found.orders, found.outcomes, found.staleness) == (1, 1, 1)


def test_times_are_relative_to_what_was_measured() -> None:
    found = errors(made(last_s=4.0), made(last_s=3.0), 0.0, [0])
    assert found.total == pytest.approx(-0.25)
    assert found.phases["upload"] == pytest.approx(1.9 / 2.9 - 1)


@pytest.mark.parametrize(("apart_s", "agrees"), [(NOISE_S / 2, 1), (2 * NOISE_S, 0)])
def test_arrivals_are_in_order_unless_nearly_tied(apart_s: float, agrees: int) -> None:
    simulated, real = made(last_s=2.9 + apart_s), made(last_s=2.9 - apart_s)
    assert errors(real, simulated, 0.0, [0]).orders == agrees


def test_who_is_late_in_one_alone_is_another_outcome() -> None:
    assert errors(made(outcome="late"), made(), 0.0, [0]).outcomes == 0


def test_bytes_are_those_of_messages_headers_and_answers() -> None:
    received, sent = 1000 * 1.1 + 2000 * 0.033, 2000 * 1.1 + 1000 * 0.055
    real = made(wire=(round(1000 * received), round(1000 * sent)))
    found = errors(real, made(), 0.1, [0])
    assert found.down == pytest.approx(1 / 1000 - 1, abs=1e-6)
    assert found.up == pytest.approx(1 / 1000 - 1, abs=1e-6)
