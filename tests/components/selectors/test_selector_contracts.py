"""Every registered selector, with its defaults and in its variants, goes through the contract."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from simfl.components.selectors.base import selectors
from simfl.testing.fake_server import FakeServer
from simfl.testing.selectors import SelectorContract

TRAITS: dict[str, dict[str, Any]] = {
    "round_robin": {"ordered": True},
    "fedcore_cohorts": {"ordered": True, "fewer": True},
    "clustered": {"repeats": True},
    "fedcor": {"draws": 20},  # the slowest; the variants below draw more often
    "fedgp": {"draws": 20},
}
"""What `SelectorContract` must know of a selector beyond its name."""
SHORT = {"fedcor": {"warmup_steps": 10}, "fedgp": {"warmup_steps": 10}}
"""Ten of the steps of which there are 150 by default, for they take nearly all of the time."""

VARIANTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("weighted", {"replacement": True}, {"repeats": True}),
    ("power_of_choice", {"loss": "last"}, {}),
    ("power_of_choice", {"loss": "minibatch", "candidates": 5}, {}),
    ("afl", {"discarded": 0, "uniform_share": 1}, {}),
    ("k_dpp", {"profile": "gradient", "refresh_every": 2}, {}),
    ("k_dpp", {"profile": "representative_gradient"}, {}),
    ("fedacs", {"reward": "reuse_update", "fast": True}, {}),
    ("fedacs", {"norm": "layer_sum", "tolerance": 1}, {}),
    ("clustered", {"similarity": "L2", "linkage_input": "condensed"}, {}),
    ("clustered", {"similarity": "L1"}, {}),
    ("fedsae", {"top_loss": True}, {}),
    ("divfl", {"vectors": "update"}, {}),
    ("divfl", {"refresh": "everybody"}, {}),
    ("oort", {"preset": "code", "window": 1}, {}),
    ("oort", {"penalise": "utility", "exploration": 0.2, "blacklist": 1, "budget": 7}, {}),
    ("tifl", {"interval": 2, "tiers": 3, "credits": 1, "profile": "loss"}, {}),
    ("tifl", {"interval": 1, "tiers": 2, "rounds": 4, "probabilities": "positive"}, {}),
    ("oracle", {"goal": "balanced"}, {}),
    ("fedcor", {"warmup": 0, "interval": 1, "warmup_steps": 2, "update_steps": 2}, {"draws": 200}),
    ("fedcor", {"warmup": 1, "interval": 2, "warmup_steps": 5, "update_steps": 5}, {"draws": 100}),
    ("fedgp", {"warmup": 1, "interval": None, "warmup_steps": 2}, {"draws": 100}),
]
"""Options that take other paths than the defaults, with the traits they bring."""


def contract(name: str, options: dict[str, Any], traits: dict[str, Any]) -> type[SelectorContract]:
    create = staticmethod(partial(selectors.get(name), **options))
    return type(
        "Contract", (SelectorContract,), {"create": create, **TRAITS.get(name, {}), **traits}
    )


for name in selectors.names():
    globals()[f"Test_{name}"] = contract(name, SHORT.get(name, {}), {})
for number, (name, options, traits) in enumerate(VARIANTS):
    globals()[f"Test_{name}_{number}"] = contract(name, options, traits)


@pytest.mark.parametrize("name", selectors.names())
def test_no_selector_escapes(name: str) -> None:
    assert issubclass(globals()[f"Test_{name}"], SelectorContract)
    assert isinstance(globals()[f"Test_{name}"]().create(), selectors.get(name))


@pytest.mark.parametrize("name", selectors.names())
def test_every_class_says_what_it_costs(name: str) -> None:
    assert "Cost:" in (selectors.get(name).__doc__ or "")


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, {}) for name in selectors.names()), *((name, own) for name, own, _ in VARIANTS)],
)
def test_what_it_will_ask_is_known_before(name: str, options: dict[str, Any]) -> None:
    """Estimates left questions out: tifl's training of everybody, divfl's gradients of each."""
    quick = {"warmup_steps": 1, "update_steps": 1} if name in ("fedcor", "fedgp") else {}
    selector = selectors.get(name)(**{**options, **quick})
    server, rounds, rng = FakeServer.random(12, 3), 21, np.random.default_rng(7)
    server.samples[:] = 5
    server.play(selector, rounds, 4, rng)
    asked = Counter[str]()
    for probe in server.asked:
        asked[probe.report] += len(probe.clients)
    expected = +Counter(selector.fresh().answers(4, 12, rounds))
    assert dict(asked) == pytest.approx(dict(expected), rel=0.05)
