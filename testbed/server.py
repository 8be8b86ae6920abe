"""The real server: synchronous rounds with and without deadline, over-selection, FedBuff."""

import json
import queue
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, TextIO

import grpc
import numpy as np

from testbed.messages import OPTIONS, SERVICE, Facts, Floats, pack, unpack


@dataclass(frozen=True)
class Rules:
    """How rounds are run: `buffer` 0 is synchronous, otherwise FedBuff's K."""

    rounds: int
    asked: int
    quorum: int
    deadline_s: float = float("inf")
    enough: int | None = None
    buffer: int = 0
    exponent: float = 0.5


@dataclass
class Server:
    """Runs the rounds in the thread that calls `run`; gRPC's threads only queue what comes in."""

    rules: Rules
    model: Floats
    journal: TextIO
    models: list[Floats] = field(default_factory=list)
    version: int = 0
    orders: int = 0

    def __post_init__(self) -> None:
        self._events: queue.Queue[tuple[float, str, Any, Any]] = queue.Queue()
        self._online: dict[int, queue.Queue[bytes | None]] = {}
        self._packed = -1, b""

    def serve(self, address: str, threads: int) -> grpc.Server:
        """Listen on `address`."""
        server = grpc.server(futures.ThreadPoolExecutor(threads), options=OPTIONS)
        handlers = {
            "Orders": grpc.unary_stream_rpc_method_handler(self._stream),
            "Deliver": grpc.unary_unary_rpc_method_handler(self._deliver),
        }
        generic = grpc.method_handlers_generic_handler(SERVICE, handlers)
        server.add_generic_rpc_handlers((generic,))
        server.add_insecure_port(address)
        server.start()
        return server

    def _stream(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        client, stream = int(request), queue.Queue[bytes | None]()

        def left() -> None:
            self._events.put((time.monotonic(), "left", client, stream))
            stream.put(None)

        context.add_callback(left)
        self._events.put((time.monotonic(), "joined", client, stream))
        while (message := stream.get()) is not None:
            yield message

    def _deliver(self, message: bytes, _: grpc.ServicerContext) -> bytes:
        self._events.put((time.monotonic(), "update", message, None))
        return b""

    def _note(self, event: str, **facts: Any) -> None:
        print(json.dumps({"event": event, **facts}), file=self.journal, flush=True)

    def _next(self, until: float) -> tuple[str, int, Facts, Floats | None] | None:
        """Return the next event as (kind, client, facts, numbers); None at `until`."""
        try:
            left = None if until == float("inf") else max(until - time.monotonic(), 0)
            at, kind, what, stream = self._events.get(timeout=left)
        except queue.Empty:
            return None
        if kind == "update":
            facts, numbers = unpack(what)
            self._note("arrived", at=at, order=facts["order"], bytes=len(what))
            return kind, facts["client"], facts, numbers
        if kind == "left" and self._online.get(what) is not stream:
            return "nothing", what, {}, None  # it has joined anew
        if kind == "joined":
            self._online[what] = stream
        else:
            del self._online[what]
        self._note(kind, at=at, client=what)
        return kind, what, {}, None

    def _send(self, client: int, at: float, number: int) -> None:
        if self._packed[0] != self.version:
            self._packed = self.version, self.model.tobytes()
        self.orders += 1
        facts = {"order": self.orders, "version": self.version}
        message = pack(facts, self._packed[1])
        self._note("ordered", at=at, client=client, round=number, bytes=len(message), **facts)
        self._online[client].put(message)

    def _aggregate(self, number: int, start: float, updates: list[tuple[Facts, Floats]]) -> None:
        closed = time.monotonic()
        age = [self.version - facts["version"] for facts, _ in updates]
        if self.rules.buffer:
            weights = [(1.0 + s) ** -self.rules.exponent / len(updates) for s in age]
        else:
            total = sum(facts["samples"] for facts, _ in updates)
            weights = [facts["samples"] / total for facts, _ in updates]
        for weight, (_, delta) in zip(weights, updates, strict=True):
            self.model = (self.model + weight * delta).astype(np.float32, copy=False)
        self.models.append(self.model)
        self.version += 1
        used = [
            {"order": f["order"], "staleness": s} for (f, _), s in zip(updates, age, strict=True)
        ]
        times = {"start": start, "closed": closed, "end": time.monotonic()}
        self._note("round", round=number, used=used, **times)

    def run(self) -> None:
        """Run all rounds, then send everybody home."""
        while len(self._online) < self.rules.asked:
            self._next(float("inf"))
        start = time.monotonic()
        self._note("began", at=start)
        (self._fedbuff if self.rules.buffer else self._synchronous)(start)
        for stream in self._online.values():
            stream.put(pack({"done": True}))
            stream.put(None)

    def _synchronous(self, start: float) -> None:
        for number in range(self.rules.rounds):
            while len(self._online) < self.rules.quorum:
                self._next(float("inf"))
                start = time.monotonic()
            pending = set(sorted(self._online)[: self.rules.asked])
            for client in sorted(pending):
                self._send(client, start, number)
            newest, updates = self.orders - len(pending), list[tuple[Facts, Floats]]()
            enough = min(self.rules.enough or len(pending), len(pending))
            until = start + self.rules.deadline_s
            while pending and len(updates) < enough and (event := self._next(until)):
                kind, client, facts, delta = event
                if delta is not None and facts["order"] > newest:
                    updates.append((facts, delta))
                if kind == "left" or (kind == "update" and facts["order"] > newest):
                    pending.discard(client)
            for client in sorted(pending & set(self._online)):
                self._online[client].put(pack({"stop": True}))
            self._aggregate(number, start, updates)
            start = time.monotonic()

    def _fedbuff(self, start: float) -> None:
        for client in sorted(self._online):
            self._send(client, start, 0)
        buffer: list[tuple[Facts, Floats]] = []
        while True:
            kind, client, facts, delta = self._next(float("inf")) or ("nothing", -1, {}, None)
            if delta is not None:
                buffer.append((facts, delta))
                if len(buffer) == self.rules.buffer:
                    self._aggregate(self.version, start, buffer)
                    start, buffer = time.monotonic(), []
                    if self.version == self.rules.rounds:
                        return
            if kind in ("update", "joined") and client in self._online:
                self._send(client, time.monotonic(), self.version)
