"""Shakespeare by role: predict the next character of what one character of a play says.

Caldas et al., "LEAF: A Benchmark for Federated Settings", arXiv:1812.01097; FedProx's release takes
a fifth of it (docs/algorithms.md, D.7).
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.components.datasets.base import Corpus, Dataset, datasets
from simfl.components.datasets.clients import Samples, side_by_side
from simfl.core.apportion import whole_share
from simfl.core.arguments import called
from simfl.core.seeds import Seeds
from simfl.errors import InputError

WINDOW = 80
"""Characters that predict the next one."""

Codes = NDArray[np.uint8]
Role = tuple[str, Codes]
"""What the file calls it; `(n, 81)` its windows, each with the character that follows."""

LEAF_CHARACTERS = (
    "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
)
TFF_CHARACTERS = (
    "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
)
FILES = ("shakespeare_roles.json.gz", "shakespeare_roles.json", "all_data*.json*")


@datasets.register("shakespeare")
class Shakespeare(Dataset):
    """Tokens `(80,)` and the next one; each natural client is one role of one play.

    Reads LEAF's JSON layout, either with whole texts (``{"raw": ...}``) or with LEAF's own windows
    (``{"x": [...], "y": [...]}``).  The first four fifths of a role's windows train, the rest test.
    """

    tokens = True
    natural_clients = True

    needs_files: ClassVar[bool] = True

    vocabulary: Literal["leaf", "fedcore"] = Field(
        "leaf",
        description="leaf: LEAF's 80 characters, 80 classes, others count as blanks; fedcore: 86 "
        "characters as 1 to 86, 0 for padding, 87 for others, 90 classes (FedCore's code lets the "
        "character 'd' collide with the padding; here it does not)",
    )
    share: float = Field(
        0.2,
        gt=0,
        le=1,
        description="share of all windows to keep, whole roles in random order; 1 (2.7 GB) in "
        "LEAF; FedProx's release took 0.2 of what LEAF found in its text then; here .1231036 with "
        "generator_seed 2674 has its size, 143 roles with 517,106 windows",
    )
    stride: int = Field(1, ge=1, description="characters from one window to the next")
    min_samples: int = Field(
        10, ge=2, description="least windows of a role; roles with fewer are left out"
    )
    max_samples_per_client: int | None = Field(
        None, ge=2, description="most windows of a role; the first ones are kept"
    )
    gap: int = Field(
        0,
        ge=0,
        description="windows left out between training and test part; 0 in FedProx's release; with "
        "79 (stride 1) no character is in inputs of both, as in LEAF",
    )
    generator_seed: int | None = Field(
        0, ge=0, description="seed of which roles are kept; null: the run's own seed"
    )

    @property
    @override
    def zero_is_token(self) -> bool:
        return self.vocabulary == "leaf"

    @override
    def shape(self) -> tuple[tuple[int, ...], int]:
        return (WINDOW,), 80 if self.vocabulary == "leaf" else 90

    @override
    def load(self, folder: Path | None, seeds: Seeds) -> Corpus:
        path = self._find(folder)
        roles = self._windows(path)
        total = sum(len(windows) for _, windows in roles)
        kept = self._keep(roles, whole_share(self.share, total), seeds)
        if not kept:
            raise InputError(
                f"data set 'shakespeare': no role in {path} has {self.min_samples} windows "
                f"(min_samples) within a share of {self.share}"
            )
        train, test = [], []
        for _, windows in kept:
            cut = max(int(0.8 * len(windows)), 1)
            train.append(windows[:cut])
            test.append(windows[min(cut + self.gap, len(windows)) :])
        owned = side_by_side(train), side_by_side(test)
        names = np.array([name for name, _ in kept])
        return Corpus(_samples(train), _samples(test), self.shape()[1], *owned, names)

    def _find(self, folder: Path | None) -> Path:
        places = [] if folder is None else [folder / "shakespeare", folder]
        for place in places:
            for pattern in FILES:
                if files := sorted(place.glob(pattern)):
                    return files[0]
        where = "no data folder was given" if folder is None else f"it is not in {folder}"
        raise InputError(
            f"data set 'shakespeare' can't be downloaded (`simfl data` says more), and {where}; "
            f"expected {' or '.join(FILES)} (LEAF's JSON layout) there or in its folder "
            f"'shakespeare' ({called('--data-dir', 'data_dir')}, SIMFL_DATA)"
        )

    def _windows(self, path: Path) -> list[Role]:
        """Return the roles with enough windows and targets, in the file's order."""
        try:
            opener = gzip.open if path.suffix == ".gz" else open
            with opener(path, "rt", encoding="utf-8") as file:
                content = json.load(file)
            users = content["user_data"]
            roles = [(str(user), self._encode(users[user])) for user in content["users"]]
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is not in LEAF's JSON layout ({error!r})") from error
        if self.max_samples_per_client is not None:
            roles = [(name, own[: self.max_samples_per_client]) for name, own in roles]
        return [(name, windows) for name, windows in roles if len(windows) >= self.min_samples]

    def _encode(self, user: Mapping[str, Any]) -> Codes:
        table = self._table()
        if "raw" in user:
            codes = _translate(user["raw"], table)
            if len(codes) <= WINDOW:
                return np.empty((0, WINDOW + 1), dtype=np.uint8)
            return sliding_window_view(codes, WINDOW + 1)[:: self.stride]
        text = "".join(x + y for x, y in zip(user["x"], user["y"], strict=True))
        return _translate(text, table).reshape(-1, WINDOW + 1)[:: self.stride]

    def _table(self) -> Codes:
        """Return the token of each character code up to 254; 255 stands for all others."""
        leaf = self.vocabulary == "leaf"
        characters = LEAF_CHARACTERS if leaf else TFF_CHARACTERS
        table = np.full(256, LEAF_CHARACTERS.index(" ") if leaf else 87, dtype=np.uint8)
        table[[ord(c) for c in characters]] = np.arange(len(characters)) + (0 if leaf else 1)
        return table

    def _keep(self, roles: list[Role], budget: int, seeds: Seeds) -> list[Role]:
        """Return roles in random order until `budget` windows are spent, in the file's order."""
        if self.share == 1:
            return roles
        source = seeds if self.generator_seed is None else Seeds(self.generator_seed)
        kept = {}
        for role in source.stream("data", "roles").permutation(len(roles)):
            name, windows = roles[role]
            windows = windows[:budget]  # the last role is truncated
            if len(windows) < self.min_samples:
                break
            kept[int(role)] = name, windows
            budget -= len(windows)
        return [kept[role] for role in sorted(kept)]


def _translate(text: str, table: Codes) -> Codes:
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    tokens: Codes = table[np.minimum(codes, 255)]
    return tokens


def _samples(parts: list[Codes]) -> Samples:
    n = sum(len(part) for part in parts)
    x, y = np.empty((n, WINDOW), dtype=np.int64), np.empty(n, dtype=np.int64)
    for part, rows in zip(parts, side_by_side(parts), strict=True):
        target = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0, 0)
        x[target], y[target] = part[:, :-1], part[:, -1]
    return Samples(x, y)
