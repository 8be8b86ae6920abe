"""The real server: synchronous rounds with and without deadline, over-selection, FedBuff."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import grpc

from testbed.messages import OPTIONS, SERVICE, Facts, Floats, pack, unpack
from testbed.rules import Rules


class Server:
    """Runs rounds by `rules`, from `model` on; `note` writes a line of its journal.

    Everything happens in one thread.  `models` are those after each round.
    """

    def __init__(self, rules: Rules, model: Floats, note: Callable[..., None]) -> None:
        self.models: list[Floats] = []
        self._rules, self._model, self._note = rules, model, note
        self._online: dict[int, asyncio.Queue[bytes | None]] = {}
        self._orders = 0
        self._open: dict[int, asyncio.Queue[bytes | None]] = {}  # awaited orders -> their streams
        self._updates: list[tuple[Facts, Floats]] = []
        self._news = asyncio.Event()

    async def run(self, address: str) -> None:
        """Run all rounds, then send everybody home."""
        orders = grpc.unary_stream_rpc_method_handler(self._stream)
        deliver = grpc.unary_unary_rpc_method_handler(self._deliver)
        methods = {"Orders": orders, "Deliver": deliver}
        handlers = [grpc.method_handlers_generic_handler(SERVICE, methods)]
        server = grpc.aio.server(handlers=handlers, options=OPTIONS)
        server.add_insecure_port(address)
        await server.start()
        await self._until(lambda: len(self._online) == self._rules.asked)
        start = time.monotonic()
        self._note(event="began", at=start)
        for _ in range(self._rules.rounds):
            start = await self._round(start)
        while self._online:
            self._online.popitem()[1].put_nowait(None)
        await server.stop(0.4)

    async def _stream(self, request: bytes, _: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
        client = int(request)
        stream = self._online[client] = asyncio.Queue()
        self._note(event="joined", at=time.monotonic(), client=client)
        self._news.set()
        try:
            while message := await stream.get():
                yield message
        finally:
            if self._online.get(client) is stream:  # neither joined anew nor sent home
                del self._online[client]
                self._note(event="left", at=time.monotonic(), client=client)
            self._open = {order: its for order, its in self._open.items() if its is not stream}
            self._news.set()

    async def _deliver(self, message: bytes, _: grpc.aio.ServicerContext) -> bytes:
        at, (facts, delta) = time.monotonic(), unpack(message)
        self._note(event="arrived", at=at, order=facts["order"], bytes=len(message))
        if self._open.pop(facts["order"], None) is not None:
            self._updates.append((facts, delta))
            self._news.set()
        return b""

    async def _until(self, done: Callable[[], bool]) -> None:
        """Wait until that is so; with FedBuff nobody is idle meanwhile, once it has begun."""
        while not done():
            if self._rules.buffered and self._orders:
                self._order()
            self._news.clear()
            await self._news.wait()

    def _order(self) -> None:
        """Have everybody train who is online and has no order."""
        at, version = time.monotonic(), len(self.models)
        for client in sorted(c for c, s in self._online.items() if s not in self._open.values()):
            self._orders += 1
            self._open[self._orders] = self._online[client]
            facts = {"order": self._orders, "version": version}
            message = pack(facts, self._model.data)
            told = {"client": client, "round": version, "bytes": len(message)}
            self._note(event="ordered", at=at, **told, **facts)
            self._online[client].put_nowait(message)

    async def _round(self, start: float) -> float:
        """Run a round that begins at `start`, or with a quorum; return when it has ended."""
        rules = self._rules
        if len(self._online) < rules.quorum:
            await self._until(lambda: len(self._online) >= rules.quorum)
            start = time.monotonic()
        self._order()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(start + rules.deadline_s):
                await self._until(lambda: rules.over(len(self._updates), len(self._open)))
        updates, self._updates = self._updates[: rules.enough], self._updates[rules.enough :]
        if not rules.buffered:
            for stream in self._open.values():
                stream.put_nowait(pack({"stop": True}))
            self._open, self._updates = {}, []
        return self._aggregate(start, updates)

    def _aggregate(self, start: float, updates: list[tuple[Facts, Floats]]) -> float:
        closed, version = time.monotonic(), len(self.models)
        weights = self._rules.weights([facts for facts, _ in updates], version)
        for weight, (_, delta) in zip(weights, updates, strict=True):
            self._model = self._model + weight * delta
        self.models.append(self._model)
        used = [{"order": f["order"], "staleness": version - f["version"]} for f, _ in updates]
        end = time.monotonic()
        self._note(event="round", round=version, used=used, start=start, closed=closed, end=end)
        return end
