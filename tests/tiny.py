"""A tiny scenario that trains in a fraction of a second."""

from collections.abc import Callable
from typing import Any

from simfl import RunResult

TINY: dict[str, Any] = {
    "name": "tiny",
    "data": {
        "dataset": {"name": "synthetic_images", "samples": 240, "test_samples": 60, "size": 6}
    },
    "model": {"name": "mlp", "hidden": [8]},
    "fleet": {
        "count": 8,
        "compute": {"distribution": "lognormal", "median": "50 samples/s", "sigma": 0.5},
        "uplink": "1 Mbit/s",
        "latency": "10 ms",
    },
    "training": {"epochs": 2, "batch_size": 8},
    "rounds": {"clients": 4, "stop": {"rounds": 4}},
}

PILOT = "client,samples,epochs,download_s,download_bytes,compute_s,upload_s,upload_bytes\n"
PILOT += "".join(f"c,{n},1,{0.1 * n},{n}000,{0.1 * n},{0.2 * n},{n}000\n" for n in (10, 20, 30))
"""What a pilot has measured, for `simfl calibrate`."""

RunTiny = Callable[..., RunResult]
