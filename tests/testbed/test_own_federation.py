"""The testbed's own federation, server and clients in one process: who is told what, and when."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

import grpc

from testbed.client import Client
from testbed.journals import writer
from testbed.messages import OPTIONS, SERVICE, Floats, pack, unpack
from testbed.network import Loopback
from testbed.processes import to_the_end
from testbed.rules import Rules
from testbed.server import Server

HERE = Path(__file__).parents[2] / "testbed"
ENDLESS_S = 60.0


def test_it_has_at_most_two_hundred_lines() -> None:
    files = [HERE / name for name in ("server.py", "client.py", "messages.py")]
    assert sum(len(file.read_text().splitlines()) for file in files) <= 200


class Federation:
    """A server, and clients that add their number to every parameter."""

    def __init__(self, rules: Rules, size: int = 3) -> None:
        try:
            self.address = Loopback().address
        except OSError as error:
            pytest.skip(f"no sockets here: {error}")
        self._journals = [StringIO() for _ in range(rules.asked + 1)]
        self.server = Server(rules, np.zeros(size, np.float32), writer(self._journals[0]))

    def client(self, number: int, compute_s: float, samples: int = 1) -> Coroutine[Any, Any, None]:
        """Return a client's life."""

        def train(model: Floats, _: int) -> tuple[Floats, dict[str, float]]:
            return np.full_like(model, number), {}

        note = writer(self._journals[number])
        return Client(number, samples, compute_s, train, note).run(self.address)

    def run(self, *others: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run the server to its end, and others beside it."""

        async def together() -> None:
            beside = [asyncio.create_task(other()) for other in others]
            await asyncio.wait_for(self.server.run(self.address), ENDLESS_S)
            await asyncio.wait_for(asyncio.gather(*beside), ENDLESS_S)

        to_the_end(together())

    def told(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of the server's journal of these events."""
        return [line for line in self._lines(0) if line["event"] == event]

    def phases(self, number: int, phase: str) -> list[int]:
        """Return the orders of which a client has noted this phase."""
        return [line["order"] for line in self._lines(number) if phase in line]

    def _lines(self, number: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._journals[number].getvalue().splitlines()]


def used(federation: Federation) -> list[list[tuple[int, int]]]:
    """Return the client and the staleness of each update that a round used."""
    clients = {order["order"]: order["client"] for order in federation.told("ordered")}
    return [
        [(clients[use["order"]], use["staleness"]) for use in round_["used"]]
        for round_ in federation.told("round")
    ]


def test_everybodys_update_counts_by_its_samples() -> None:
    federation = Federation(Rules(2, 2, 2, 2))
    federation.run(lambda: federation.client(1, 0.0, samples=3), lambda: federation.client(2, 0.05))
    assert used(federation) == [[(1, 0), (2, 0)]] * 2
    assert [model.tolist() for model in federation.server.models] == [[1.25] * 3, [2.5] * 3]
    assert len(federation.told("arrived")) == 4


def test_who_is_not_done_at_the_deadline_is_called_off_and_asked_again() -> None:
    federation = Federation(Rules(2, 2, 2, 2, deadline_s=0.6))
    federation.run(lambda: federation.client(1, 0.0), lambda: federation.client(2, ENDLESS_S))
    assert used(federation) == [[(1, 0)]] * 2
    first, _ = federation.told("round")
    assert 0.6 <= first["closed"] - first["start"] < 5
    assert federation.phases(2, "downloaded") == [2, 4]
    assert federation.phases(2, "computed") == []


def test_a_round_ends_with_as_many_updates_as_are_wanted() -> None:
    federation = Federation(Rules(2, 2, 2, 1))
    federation.run(lambda: federation.client(1, ENDLESS_S), lambda: federation.client(2, 0.0))
    assert used(federation) == [[(2, 0)]] * 2


def test_with_fedbuff_who_has_sent_an_update_trains_on_at_once() -> None:
    federation = Federation(Rules(2, 2, 0, 2, buffered=True))
    federation.run(lambda: federation.client(1, 0.0), lambda: federation.client(2, ENDLESS_S))
    assert used(federation) == [[(1, 0), (1, 0)]] * 2
    assert [order["version"] for order in federation.told("ordered")] == [0, 0, 0, 1, 1]
    assert federation.server.models[-1].tolist() == [2.0] * 3


def test_with_fedbuff_stale_updates_weigh_less() -> None:
    federation = Federation(Rules(2, 2, 0, 1, buffered=True))
    federation.run(lambda: federation.client(1, 0.4), lambda: federation.client(2, 0.6))
    (first,), (second,) = used(federation)
    assert (first, second) == ((1, 0), (2, 1))
    assert federation.server.models[1][0] == pytest.approx(1 + 2 / 2**0.5)


@pytest.mark.parametrize("size", [3, 5_000_000])
def test_who_leaves_is_not_waited_for_and_counts_again_once_back(size: int) -> None:
    """Twenty megabytes are still on their way to it when it leaves."""
    federation = Federation(Rules(2, 2, 2, 2), size)

    async def leaving() -> None:
        async with grpc.aio.insecure_channel(federation.address, options=OPTIONS) as channel:
            stream = channel.unary_stream(f"/{SERVICE}/Orders")(b"2", wait_for_ready=True)
            while not federation.told("ordered"):
                await asyncio.sleep(0.001)
            stream.cancel()
        while not federation.told("round"):
            await asyncio.sleep(0.01)
        await federation.client(2, 0.3)

    federation.run(lambda: federation.client(1, 0.1), leaving)
    assert [line["client"] for line in federation.told("joined")][2:] == [2]
    assert [line["client"] for line in federation.told("left")] == [2]
    assert used(federation) == [[(1, 0)], [(1, 0), (2, 0)]]


def test_what_is_told_who_joined_anew_is_not_dropped_once_its_old_stream_ends() -> None:
    federation = Federation(Rules(1, 2, 2, 2))

    async def joining_twice() -> None:
        async with (
            grpc.aio.insecure_channel(federation.address, options=OPTIONS) as old,
            grpc.aio.insecure_channel(federation.address, options=OPTIONS) as new,
        ):
            streams = []
            for channel in (old, new):
                open_stream = channel.unary_stream(f"/{SERVICE}/Orders")
                streams.append(open_stream(b"2", wait_for_ready=True))
                while len(federation.told("joined")) < len(streams):
                    await asyncio.sleep(0.001)
            works = asyncio.create_task(federation.client(1, 0.1))
            facts, model = unpack(await streams[1].read())
            streams[0].cancel()
            await asyncio.sleep(0.2)
            update = pack({**facts, "client": 2, "samples": 1}, np.full_like(model, 2).data)
            with suppress(grpc.aio.AioRpcError):  # it may have gone home
                await new.unary_unary(f"/{SERVICE}/Deliver")(update)
            await works

    federation.run(joining_twice)
    assert used(federation) == [[(1, 0), (2, 0)]]
