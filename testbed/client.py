"""A real client: it trains, and takes as long as its device would."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import grpc

from testbed.messages import OPTIONS, SERVICE, Floats, pack, unpack


@dataclass
class Client:
    """Serves the newest order, in `compute_s` seconds; `note` writes a line of its journal.

    `train` takes a model and its order's number, and returns what changes of that model, and what
    else there is to note.
    """

    number: int
    samples: int
    compute_s: float
    train: Callable[[Floats, int], tuple[Floats, dict[str, float]]]
    note: Callable[..., None]

    async def run(self, address: str) -> None:
        """Serve orders until the server has no more."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
            self._deliver = channel.unary_unary(f"/{SERVICE}/Deliver")
            orders = channel.unary_stream(f"/{SERVICE}/Orders")
            work: asyncio.Task[None] | None = None
            async for message in orders(str(self.number).encode(), wait_for_ready=True):
                if work:
                    work.cancel()
                work = asyncio.create_task(self._serve(time.monotonic(), message))

    async def _serve(self, began: float, message: bytes) -> None:
        facts, model = unpack(message)
        if "stop" in facts:
            return
        self.note(order=facts["order"], downloaded=began)
        delta, spent = await asyncio.to_thread(self.train, model, facts["order"])
        update = pack({**facts, "client": self.number, "samples": self.samples}, delta.data)
        await asyncio.sleep(began + self.compute_s - time.monotonic())
        self.note(order=facts["order"], computed=time.monotonic(), **spent)
        await self._deliver(update)
