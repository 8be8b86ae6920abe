"""What does not fit is refused before it is allocated."""

import math
import sys

import numpy as np
import pytest

from simfl.components.datasets.synthetic_images import SyntheticImages
from simfl.components.selectors.base import selectors
from simfl.core.machine import memory
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.testing.fake_server import FakeServer

GIB = 2**30


@pytest.fixture(autouse=True)
def three_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    """That much is left of a container's memory; what others in it have taken does not count."""
    monkeypatch.setattr(memory, "free_memory", lambda: 3.0 * GIB)


def test_little_fits_and_too_much_does_not() -> None:
    memory.require_memory(3 * GIB, "all of it")
    with pytest.raises(InputError, match=r"a matrix needs 4\.5 GiB of memory, and 3\.0 are left"):
        memory.require_memory(9 * GIB // 2, "a matrix")


@pytest.mark.parametrize(
    ("name", "clients"), [("clustered", 1500), ("divfl", 2100), ("k_dpp", 1500)]
)
def test_a_selector_that_compares_clients_says_so_in_time(
    name: str, clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    selector, server = selectors.parse(name).fresh(), FakeServer.random(clients)
    with pytest.raises(InputError, match=rf"selector '{name}' with [\d,]+ .* needs .* of memory"):
        server.play(selector, 2, 1000, np.random.default_rng(0))


def test_divfl_says_what_to_do_before_anybody_computes_a_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    server, rng = FakeServer.random(2100), np.random.default_rng(0)
    with pytest.raises(InputError, match=r"are left; take fewer clients, or `k_dpp`"):
        server.choose(selectors.parse("divfl").fresh(), 10, rng)
    assert not server.asked
    assert len(server.choose(selectors.parse("divfl").fresh(), 2100, rng)) == 2100  # no distances


def test_test_samples_that_do_not_fit_are_refused_as_training_samples_are() -> None:
    dataset = SyntheticImages(samples=100, test_samples=2**31, size=4)
    with pytest.raises(InputError, match=r"'synthetic_images' needs 128\.0 GiB of memory"):
        dataset.load(None, Seeds(0))


def test_a_limit_that_leaves_no_room_for_pytorch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the midst of its libraries the process ended with what C++ says of that."""
    monkeypatch.setattr(memory, "free_addresses", lambda: 2.0**26)
    monkeypatch.setitem(sys.modules, "torch", sys)
    memory.require_room_for_torch()  # it is there already
    monkeypatch.delitem(sys.modules, "torch")
    told = r"PyTorch and a small run need [\d,]+ MiB, and 64 are left by the limit"
    with pytest.raises(InputError, match=told):
        memory.require_room_for_torch()
    monkeypatch.setattr(memory, "free_addresses", lambda: math.inf)
    memory.require_room_for_torch()
