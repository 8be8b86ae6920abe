"""A federation over gRPC, as small as can be: the real thing that simfl's clock is held against.

The server pushes orders down a stream that every client holds open; an order or a stop calls off
what its client does.  Messages are a line of JSON and float32 numbers; nothing is compressed,
polled or authenticated.  Instants are `time.monotonic()`, which a machine's processes share.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Facts = dict[str, Any]

SERVICE = "simfl.Testbed"
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.lookahead_bytes", 8 << 20),  # flow control is TCP's alone
    ("grpc.http2.bdp_probe", 0),
]


def pack(facts: Facts, numbers: bytes | memoryview = b"") -> bytes:
    """Return a message of `facts` and float32 `numbers`."""
    return json.dumps(facts).encode() + b"\n" + numbers


def unpack(message: bytes) -> tuple[Facts, Floats]:
    """Return what `pack` was given."""
    line = message.index(b"\n")
    return json.loads(message[:line]), np.frombuffer(message, np.float32, offset=line + 1)
