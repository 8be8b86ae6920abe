"""The contract of every client selector, as a test suite to inherit: see `contract`."""

import copy
import pickle
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simfl.components.selectors.base import Selector
from simfl.core.types import Ids
from simfl.testing.contract import RELAXED, SEEDS, ComponentContract, plain, same
from simfl.testing.fake_server import FakeServer


class SelectorContract(ComponentContract):
    """What holds for every selector; inherit and set `create`."""

    create: Callable[..., Selector]
    repeats: ClassVar[bool] = False
    """Whether one client may be chosen several times in a round (sampling with replacement)."""
    ordered: ClassVar[bool] = False
    """Whether ids themselves matter, as in round robin, so that renaming changes the choice."""
    fewer: ClassVar[bool] = False
    """Whether it may choose fewer than asked although more are available (but not nobody)."""
    draws: ClassVar[int] = 200
    """How often a choice is repeated to see that renaming clients merely renames the chosen."""

    def check(self, chosen: Ids, available: Ids, k: int) -> None:
        """Assert that `chosen` may be the answer to a request for `k` of `available`."""
        ids = [int(client) for client in chosen]
        assert set(ids) <= set(available.tolist()), f"{ids} are not all among {available}"
        if self.fewer:
            assert 0 < len(ids) <= k or not len(available), f"{len(ids)} of {k} were chosen"
        elif len(available) <= k and self.repeats:
            assert len(ids) <= k, f"{len(ids)} were chosen instead of {k}: {ids}"
            assert ids or not len(available), "nobody was chosen"
        elif len(available) <= k:
            assert sorted(set(ids)) == sorted(available.tolist()), "not everybody was chosen"
        else:
            assert len(ids) == k, f"{len(ids)} were chosen instead of {k}: {ids}"
        if not self.repeats:
            assert len(set(ids)) == len(ids), f"somebody was chosen twice: {ids}"

    def play_and_check(self, server: FakeServer, k: int, rounds: int, seed: int) -> Selector:
        """Play so many rounds, check each choice, and return the selector."""
        selector, rng = self.create(), np.random.default_rng(seed)
        for _ in range(rounds):
            chosen = server.choose(selector, k, rng)
            self.check(chosen, server.view(k).available, k)
            server.finish(selector, chosen)
        return selector

    @RELAXED
    @given(seed=SEEDS, n=st.integers(1, 14), k=st.integers(1, 8), data=st.data())
    def test_chooses_k_distinct_available_clients(
        self, seed: int, n: int, k: int, data: st.DataObject
    ) -> None:
        """Whoever is online, and whoever keeps silent when asked."""
        server = FakeServer.random(n, seed)
        selector, rng = self.create(), np.random.default_rng(seed)
        subsets = st.sets(st.integers(0, n - 1))
        for _ in range(4):
            server.available = np.array(sorted(data.draw(subsets)), dtype=np.int64)
            server.silent = frozenset(data.draw(subsets))
            chosen = server.choose(selector, k, rng)
            self.check(chosen, server.available, k)
            delivered = [client for client in chosen.tolist() if client not in server.silent]
            server.finish(selector, delivered)

    def test_nobody_available(self) -> None:
        """Nobody is chosen, before as well as after a normal round."""
        server = FakeServer.random(5)
        server.available = server.available[:0]
        selector = self.play_and_check(server, 2, 1, seed=0)
        server.available = np.arange(5)
        server.finish(selector, server.choose(selector, 2, np.random.default_rng(1)))
        server.available = server.available[:0]
        assert len(server.choose(selector, 2, np.random.default_rng(2))) == 0

    @RELAXED
    @given(seed=SEEDS, odd=st.sampled_from([np.nan, np.inf]), everybody=st.booleans())
    def test_losses_that_are_not_finite(self, seed: int, odd: float, everybody: bool) -> None:
        """Some or all losses are NaN or infinite, in probes and in outcomes."""
        server = FakeServer.random(9, seed)
        server.loss[:: 1 if everybody else 3] = odd
        self.play_and_check(server, 3, 5, seed)

    @RELAXED
    @given(seed=SEEDS, everybody=st.booleans())
    def test_vectors_that_are_not_finite(self, seed: int, everybody: bool) -> None:
        """Some or all profiles, gradients and updates are NaN."""
        server = FakeServer.random(9, seed)
        server.vectors[:: 1 if everybody else 3] = np.nan
        self.play_and_check(server, 3, 5, seed)

    def test_answers_without_content(self) -> None:
        """Where nothing is trained, answers come in on time but say nothing."""
        server = FakeServer.random(9)
        server.blank, server.loss = True, np.full(9, np.nan)
        server.vectors[:] = np.nan
        self.play_and_check(server, 3, 5, seed=0)

    @RELAXED
    @given(seed=SEEDS, value=st.sampled_from([0.0, 1.0]))
    def test_all_clients_alike(self, seed: int, value: float) -> None:
        """Equal sizes, losses, durations and (zero) profiles, gradients and updates."""
        server = FakeServer.random(9, seed)
        server.samples[:], server.loss[:], server.duration_s[:] = 10, 1.0, 5.0
        server.vectors[:] = value
        self.play_and_check(server, 3, 5, seed)

    @RELAXED
    @given(sizes=st.lists(st.integers(0, 1), min_size=2, max_size=12), seed=SEEDS)
    def test_clients_with_no_or_one_sample(self, sizes: list[int], seed: int) -> None:
        """Those without samples can't be chosen, and disturb nobody."""
        server = FakeServer.random(len(sizes), seed)
        server.samples[:] = sizes
        self.play_and_check(server, 3, 5, seed)

    def test_same_numbers_same_choice(self) -> None:
        """Two selectors that see and draw the same choose the same."""
        logs = [
            FakeServer.random(12, 3).play(self.create(), 6, 4, np.random.default_rng(7))
            for _ in range(2)
        ]
        assert logs[0] == logs[1]

    def test_state_survives_a_round_trip(self) -> None:
        """A restored selector goes on exactly as the original, from any round on."""
        for rounds in range(5):
            server, rng = FakeServer.random(12, 5), np.random.default_rng(11)
            selector = self.create()
            server.play(selector, rounds, 4, rng)
            state = selector.state_dict()
            assert plain(state), f"not made of plain arrays and numbers: {state}"
            stored, kept = pickle.dumps(state), copy.deepcopy(state)
            other, other_server = self.create(), copy.deepcopy(server)
            other_rng = copy.deepcopy(rng)
            other.load_state_dict(pickle.loads(stored))
            assert server.play(selector, 3, 4, rng) == other_server.play(other, 3, 4, other_rng)
            asked, asked_again = (
                [(probe.report, probe.clients.tolist()) for probe in one.asked]
                for one in (server, other_server)
            )
            assert asked == asked_again, f"restored after {rounds} rounds it asks others"
            assert same(selector.state_dict(), other.state_dict())
            assert same(state, kept), "going on changed a state that had been handed out"

    def test_a_fresh_copy_has_no_past(self) -> None:
        """`fresh` keeps the options and forgets the state."""
        selector = self.create()
        untouched = selector.state_dict()
        FakeServer.random(12, 5).play(selector, 3, 4, np.random.default_rng(0))
        assert same(selector.fresh().state_dict(), untouched)
        assert selector.fresh().model_dump() == selector.model_dump()

    def test_renaming_the_clients_renames_the_chosen(self) -> None:
        """Each client is chosen as often under another id: within 5 standard errors."""
        if self.ordered:
            return
        n, k, rounds = 8, 3, 3
        order = np.random.default_rng(1).permutation(n)
        counts = np.zeros((2, n))
        for seed in range(self.draws):
            server = FakeServer.random(n, 2)
            for row, fleet in enumerate((server, server.permuted(order))):
                log = fleet.play(self.create(), rounds, k, np.random.default_rng([seed, row]))
                counts[row] += np.bincount(np.concatenate(log), minlength=n)
        rate = counts / (self.draws * rounds)
        mean = (rate[0, order] + rate[1]) / 2
        # Choices of one client in successive rounds may go together: hence no division by rounds.
        error = np.sqrt(2 * np.clip(mean * (1 - mean), 0, None) / self.draws)
        assert np.all(np.abs(rate[0, order] - rate[1]) <= 5 * error + 1e-12)
