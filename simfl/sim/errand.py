"""An errand: what a device is sent to do, and what became of it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from simfl.sim.fleet import DeviceGroup

Phase = Literal["download", "compute", "upload"]
End = Literal["arrived", "late", "offline"]


@dataclass(slots=True)
class Errand:
    """What a device is sent to do, and what became of it.

    Attributes:
        device: who.
        group: of the device.
        download_bytes: to fetch first (None: it has the model already).
        units: sample-units to compute.
        upload_bytes: to send back.
        before_upload: called once the computing is done; may change `upload_bytes`.
        when_sent: is told of it once its device has sent all, or does no more for it.
        download_end_s: when the download ended (None: it has not); likewise the other phases.
        down_bytes: bytes really moved towards the device.
        up_bytes: and towards the server.
        download_s: seconds really spent on the download; likewise the other phases.
        polled_s: seconds it idled until what it fetched was asked for, or what it sent looked for.
        done_units: sample-units really computed.
        end: how it ended, None while under way.
        ended_s: when.
        landed_s: when its update had come that the server has yet to look for (inf: none had).
        free_s: when its device, having sent all, leaves or is given something else to do.
    """

    device: int
    group: DeviceGroup
    download_bytes: int | None
    units: float
    upload_bytes: int
    before_upload: Callable[[], None] | None = None
    when_sent: "Callable[[Errand], None] | None" = None
    started_s: float = 0.0
    download_end_s: float | None = None
    compute_end_s: float | None = None
    upload_end_s: float | None = None
    down_bytes: int = 0
    up_bytes: int = 0
    download_s: float = 0.0
    compute_s: float = 0.0
    upload_s: float = 0.0
    polled_s: float = 0.0
    done_units: float = 0.0
    end: End | None = None
    ended_s: float | None = None
    landed_s: float = math.inf
    free_s: float = math.inf

    def sent(self, free_s: float) -> None:
        """Take note that its device has sent all, or does no more, and until when it stays."""
        self.free_s = free_s
        if self.when_sent is not None:
            self.when_sent(self)

    @property
    def over_s(self) -> float:
        """When its device has nothing more to do for it (inf: not yet)."""
        return self.landed_s if self.ended_s is None else min(self.ended_s, self.landed_s)

    def waited_s(self, now_s: float) -> float:
        """Return how long the device has waited online since it ended, until `now_s` or `free_s`.

        Until it ends it is in one of the phases, polls (`polled_s`), or is away.
        """
        if self.end != "arrived" or self.ended_s is None:
            return 0.0
        return max(min(now_s, self.free_s) - self.ended_s, 0.0)
