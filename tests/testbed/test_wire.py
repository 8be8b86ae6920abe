"""Bytes booked, and bytes that cross the server's interface."""

from dataclasses import replace

import pytest

from testbed.errors import errors
from testbed.wire import (
    FLOWER,
    GRPC,
    HEADERS,
    NOTHING,
    PER_ANSWERED_BYTE,
    PER_LOST,
    SEGMENT,
    Overhead,
    composition,
)
from tests.testbed.made import made


@pytest.mark.parametrize("overhead", [NOTHING, GRPC, FLOWER])
def test_bytes_are_those_of_messages_headers_answers_and_nothing_sent_twice(
    overhead: Overhead,
) -> None:
    down, up, again = 2 * 1000, 2 * 500, 3
    sent = down * (1 + overhead.per_byte) + up * PER_ANSWERED_BYTE
    sent += 2 * (overhead.down + overhead.opening_down)
    received = up * (1 + overhead.per_byte) + down * PER_ANSWERED_BYTE + again * PER_LOST
    received += 2 * (overhead.up + overhead.opening_up)
    wire = (round(received), round(sent) + again * (SEGMENT + HEADERS), 0, 0, again)
    found = errors(made(wire=wire), made(), overhead, [0])
    assert found.down == pytest.approx(0, abs=1e-3)
    assert found.up == pytest.approx(0, abs=1e-3)


def test_updates_that_the_end_cuts_off_are_left_out_and_downloads_are_sent_to_their_end() -> None:
    clients = made().clients
    cut = clients.assign(outcome=["arrived", "unfinished"])
    simulated = replace(
        made(), clients=cut.assign(download_bytes=[1000, 400], upload_bytes=[500, 0])
    )
    down, up = 2 * 1000, 500
    received = round(up + down * PER_ANSWERED_BYTE + 300)
    real = replace(made(), clients=cut, cut_off=300)
    real = replace(real, wire={"s": (received, round(down + up * PER_ANSWERED_BYTE), 0, 0, 0)})
    for unfinished in (0, 499):
        late = simulated.clients.assign(upload_bytes=[500, unfinished])
        found = errors(real, replace(simulated, clients=late), NOTHING, [0])
        assert found.down == pytest.approx(0, abs=1e-3)
        assert found.up == pytest.approx(0, abs=1e-3)


def test_what_packets_and_bytes_were_is_told_apart() -> None:
    booked, answers, twice = 2 * 1000, 7, 2
    packets = 2 * 1000 / SEGMENT + answers + twice
    size = booked + 55 + HEADERS * packets + SEGMENT * twice
    parts = composition(made(wire=(0, size, 0, packets, twice)))["down"]  # type: ignore[arg-type]
    assert parts["frames"] == pytest.approx(55 / booked)
    assert parts["answers"] == pytest.approx(HEADERS * answers / booked)
    assert parts["again"] == pytest.approx(twice * (SEGMENT + HEADERS) / booked)
