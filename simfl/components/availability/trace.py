"""Availability replayed from recorded sessions."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, PrivateAttr, model_validator
from typing_extensions import override

from simfl.components.availability.base import Availability, OnlineSchedule, availabilities
from simfl.components.availability.records import Records, read_records
from simfl.components.availability.spells import Instants, Spells
from simfl.core.circumstances import Circumstances
from simfl.core.seeds import Seeds
from simfl.core.tables.by_name import places_of
from simfl.core.types import Flags, Floats, Ids
from simfl.core.units import Duration
from simfl.errors import InputError

_CALENDAR_S = 1e9
"""A record that begins so late, after 31 years, has the times of a calendar, such as Unix's."""
_MOST_FLIPS = 10_000_000
"""So many changes of devices are looked at, to know how many are online at once."""


@availabilities.register("trace")
class Trace(Availability):
    """Devices replay recorded ones, over and over, as many devices as there may be.

    The file is a CSV, plain or gzipped, with a row a stretch of time: ``device, start_s, end_s``
    (or ``client_id`` for ``device``) and, if the rows are not all online, ``state``: 1 online, 0
    offline, -1 unknown.  Times count from 0, when the record begins; what no row covers is offline;
    instants are rounded to 1/1024 s.
    Cost: O(log sessions) per question; memory: the file, once.
    """

    file: Path = Field(description="the CSV, relative to the scenario")
    unknown: Literal["skip", "offline"] = Field(
        "skip",
        description="unknown periods (rows of state -1, nothing else) are cut out, so a record "
        "repeats sooner; or count as offline (records keep the file's clock)",
    )
    shuffle: bool = Field(
        True, description="records are dealt to devices in random order; false: in the file's order"
    )
    shift: bool = Field(
        True,
        description="each device starts at a random instant of its record; false: at its start",
    )
    period: Duration | None = Field(
        None,
        ge=1e-3,
        description="repeat records after this duration, and ignore what they have later "
        "(default: the latest end in the file, or of what is known)",
    )

    by_client: bool = Field(
        False,
        description="each device replays the record of the client whose data it holds, by its "
        "name (`data.partition: natural`, of your own data); records of others are left out",
    )

    _clients: tuple[str, ...] | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _dealt_by_name(cls, value: Any) -> Any:
        """Let nothing else say who replays which record."""
        if not isinstance(value, dict) or value.get("by_client") is not True:
            return value
        if value.get("shuffle") is True:
            raise ValueError("shuffle: `by_client` says which record each device replays")
        return {**value, "shuffle": False}

    @property
    @override
    def by_name(self) -> bool:
        return self.by_client

    @override
    def for_clients(self, names: Sequence[str]) -> Self:
        if not self.by_client:
            return self
        named = self.fresh()
        named._clients = tuple(names)
        return named

    @override
    def schedule(self, devices: int, group: str, seeds: Seeds, folder: Path) -> OnlineSchedule:
        """Replay the records, one a device.

        Raises:
            InputError: the file can't be read or makes no sense, or has no record of some client.
        """
        return self._replay(devices, group, seeds, folder)

    @override
    def longest_session_s(self, folder: Path) -> float:
        return self._records(folder).longest_s

    @override
    def most_at_once(self, devices: int, group: str, seeds: Seeds, folder: Path) -> int:
        if self.by_client and self._clients is None:  # whose records count is not known
            return devices
        return self._replay(devices, group, seeds, folder).most_at_once()

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if circumstances.folder is not None:
            records = self._records(circumstances.folder)
            if records.begins_s >= (self.period or _CALENDAR_S):
                ends = f", when its period of {self.period:.15g} s is over" if self.period else ""
                yield (
                    f"{self.file} begins at {records.begins_s:.15g} s{ends}; times have to count "
                    "from 0, when the record begins: subtract that from those of a calendar, such "
                    "as Unix's"
                )
            elif not (records.starts_on.any() or len(records.flips)):
                yield f"no device in {self.file} is ever online"

    def _replay(self, devices: int, group: str, seeds: Seeds, folder: Path) -> "_Replay":
        records = self._records(folder)
        order = np.arange(len(records.periods))
        if self.by_client:
            if self._clients is None:
                raise InputError("by_client: nothing says what clients devices hold the data of")
            order = places_of(self._clients, records.names, self.file)
        return _Replay(self, records, order, devices, group, seeds)

    def _records(self, folder: Path) -> Records:
        file = folder / self.file
        written = file.stat() if file.is_file() else None
        stamp = None if written is None else (written.st_mtime_ns, written.st_size)
        return _read(file, self.unknown == "skip", self.period, stamp)


@lru_cache(maxsize=4)
def _read(file: Path, skip: bool, period_s: float | None, _stamp: object) -> Records:
    """Read a file once for all that ask, as long as it stays as it is."""
    return read_records(file, skip, period_s)


class _Replay(Spells):
    """Time is in whole ticks of 1/1024 s, so that sums and remainders are exact."""

    def __init__(
        self,
        options: Trace,
        records: Records,
        order: Ids,
        devices: int,
        group: str,
        seeds: Seeds,
    ) -> None:
        super().__init__(devices)
        self._options, self._records = options, records
        self._seeds, self._address = seeds, ("availability", group, "trace")
        if options.shuffle:
            order = seeds.stream(*self._address, "order").permutation(order)
        self._order = order

    @override
    def spells(self, devices: Ids, now_s: Instants) -> tuple[Flags, Floats]:
        ticks = np.floor(now_s * self._records.TICKS).astype(np.int64)
        chosen, at = self._at(devices, ticks)
        is_on, ahead = self._records.look(chosen, at)
        until = np.where(ahead < 0, np.inf, (ticks + ahead) / self._records.TICKS)
        return is_on, until

    def _at(self, devices: Ids, ticks: Ids | int) -> tuple[Ids, Ids]:
        """Return `(m,)` each device's record, and `(m,)` where in that it is after `ticks`."""
        chosen = self._order[devices % len(self._order)]
        period = self._records.periods[chosen]
        at = ticks % period
        if self._options.shift:
            shift = self._seeds.uniforms((*self._address, "shift"), devices, 0) * period
            at = (at + shift.astype(np.int64)) % period
        return chosen, at

    def most_at_once(self) -> int:
        """Return how many devices are ever online at once; all, where that is not known.

        It is if their records repeat after equal times, and are not too many to look at.
        """
        devices, records = np.arange(len(self._until)), self._records
        chosen = self._order[devices % len(self._order)]
        period, flips = records.periods[chosen[0]], np.diff(records.first)[chosen]
        if (records.periods[chosen] != period).any() or flips.sum() > _MOST_FLIPS:
            return len(devices)
        _, at = self._at(devices, 0)
        is_on, _ = records.look(chosen, at)
        # The flips of all, each device's after the other's, and how many of its own come before.
        place = np.arange(flips.sum()) - np.repeat(np.cumsum(flips) - flips, flips)
        flip = records.flips[np.repeat(records.first[chosen], flips) + place]
        comes = np.repeat(records.starts_on[chosen], flips) ^ (place % 2 == 0)
        ticks, where = np.unique((flip - np.repeat(at, flips)) % period, return_inverse=True)
        change = np.bincount(where, np.where(comes, 1, -1), minlength=len(ticks))
        change = change[ticks > 0]  # what changes at 0 has changed
        return int(np.count_nonzero(is_on) + np.cumsum(change).max(initial=0))
