"""A real client: it trains, and takes as long as its device would."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import grpc

from testbed.messages import OPTIONS, SERVICE, Facts, Floats, pack, unpack


@dataclass
class Client:
    """Holds the stream of orders open and serves the newest.

    Attributes:
        number: who.
        samples: what its update weighs.
        compute_s: how long its device takes to train; who is done sooner waits for that.
        train: the model, the order's number -> what training changes of the model.
        journal: takes a line for each phase that ended.
        clocks: what else is to be read before and after training, seconds by name.
    """

    number: int
    samples: int
    compute_s: float
    train: Callable[[Floats, int], Floats]
    journal: TextIO
    clocks: Callable[[], dict[str, float]] = dict

    def run(self, address: str) -> None:
        """Serve orders until the server has no more."""
        self._changed = threading.Condition()
        self._newest: tuple[float, bytes] | None = None
        with grpc.insecure_channel(address, options=OPTIONS) as channel:
            self._deliver = channel.unary_unary(f"/{SERVICE}/Deliver")
            orders = channel.unary_stream(f"/{SERVICE}/Orders")
            stream = orders(str(self.number).encode(), wait_for_ready=True)
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._newest is not None)
                    (at, message), self._newest = self._newest or (0.0, b""), None
                facts, model = unpack(message)
                if "done" in facts:
                    return
                if "order" in facts:
                    self._serve(at, facts, model)

    def _read(self, stream: Iterator[bytes]) -> None:
        try:
            for message in stream:
                self._tell((time.monotonic(), message))
        except grpc.RpcError:
            self._tell((time.monotonic(), pack({"done": True})))

    def _tell(self, newest: tuple[float, bytes] | None = None) -> None:
        with self._changed:
            self._newest = newest or self._newest
            self._changed.notify()

    def _serve(self, began: float, order: Facts, model: Floats) -> None:
        def note(**facts: Any) -> None:
            print(json.dumps({"order": order["order"], **facts}), file=self.journal, flush=True)

        note(downloaded=began)
        before = self.clocks()
        delta = self.train(model, order["order"])
        trained = time.monotonic()
        spent = {name: after - before[name] for name, after in self.clocks().items()}
        update = pack({**order, "client": self.number, "samples": self.samples}, delta.tobytes())
        with self._changed:
            left = began + self.compute_s - time.monotonic()
            if self._changed.wait_for(lambda: self._newest is not None, max(left, 0)):
                return
        note(computed=time.monotonic(), trained=trained - began, **spent)
        call = self._deliver.future(update)
        call.add_done_callback(lambda _: self._tell())
        with self._changed:
            self._changed.wait_for(lambda: call.done() or self._newest is not None)
        call.cancel()
