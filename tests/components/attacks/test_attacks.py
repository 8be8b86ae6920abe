"""What attackers send and learn, against what the papers say in plain words."""

import re
from statistics import NormalDist

import numpy as np
import pytest

from simfl.components.attacks.base import Attack, Update, attacks
from simfl.core.types import Rng
from simfl.errors import ScenarioError
from simfl.scenario import Scenario
from simfl.testing.circumstances import circumstances
from tests.tiny import TINY

RNG = np.random.default_rng


def test_sign_flip_points_the_other_way() -> None:
    update = np.array([1, -2, 0], dtype=np.float32)
    assert attacks.parse("sign_flip").forge(update, RNG(0)).tolist() == [-1, 2, 0]
    longer = attacks.parse({"name": "sign_flip", "scale": 5})
    assert longer.forge(update, RNG(0)).tolist() == [-5, 10, 0]


def test_gaussian_noise_has_its_deviation_and_knows_no_update() -> None:
    noise = attacks.parse({"name": "gaussian", "sigma": 3})
    zeros, ones = np.zeros(20_000, dtype=np.float32), np.ones(20_000, dtype=np.float32)
    sent = noise.forge(zeros, RNG(1))
    assert np.array_equal(sent, noise.forge(ones, RNG(1)))
    assert abs(sent.mean()) < 0.1
    assert abs(sent.std() - 3) < 0.1


def test_inner_product_is_the_mean_turned_round() -> None:
    updates = np.array([[1, 2], [3, -2]], dtype=np.float32)
    agreed = attacks.parse({"name": "inner_product", "epsilon": 0.5}).agree(updates, 10)
    assert agreed.tolist() == [-1, 0]


@pytest.mark.parametrize(
    ("clients", "attackers", "share"), [(50, 12, 24 / 38), (50, 24, 24 / 26), (20, 4, 9 / 16)]
)
def test_a_little_is_enough_goes_as_far_as_the_honest_majority_hides_it(
    clients: int, attackers: int, share: float
) -> None:
    """Of 50 with 24 wrong, s = 26 - 24 = 2 must be further away: z = 1.43."""
    updates = RNG(0).normal(size=(attackers, 6)).astype(np.float32)
    agreed = attacks.parse("a_little_is_enough").agree(updates, clients)
    z = NormalDist().inv_cdf(share)
    expected = updates.mean(axis=0) - z * updates.std(axis=0)
    assert np.allclose(agreed, expected, atol=1e-6)


@pytest.mark.parametrize("clients", [3, 4, 5])
def test_a_majority_need_not_hide(clients: int) -> None:
    updates = RNG(0).normal(size=(3, 6)).astype(np.float32)
    agreed = attacks.parse("a_little_is_enough").agree(updates, clients)
    assert np.allclose(agreed, updates.mean(axis=0), atol=1e-6)


def test_labels_are_flipped_to_the_opposite_class_a_random_other_or_one() -> None:
    labels = np.repeat(np.arange(5), 200)
    opposite = attacks.parse("label_flip").relabel(labels, 5, RNG(0))
    assert np.array_equal(opposite, 4 - labels)
    one = attacks.parse({"name": "label_flip", "to": 3}).relabel(labels, 5, RNG(0))
    assert np.array_equal(one, np.full(1000, 3))
    noise = attacks.parse({"name": "label_flip", "to": "random"}).relabel(labels, 5, RNG(0))
    assert (noise != labels).all()
    counts = np.bincount(noise[labels == 0], minlength=5)
    assert (counts[1:] > 25).all()  # 50 of each are expected


def test_a_share_of_the_labels_is_wrong_and_no_more() -> None:
    labels = np.arange(10).repeat(10)
    some = attacks.parse({"name": "label_flip", "to": "random", "share": "29%"})
    assert (some.relabel(labels, 10, RNG(0)) != labels).sum() == 29


def test_the_share_differs_from_device_to_device() -> None:
    """Label noise is seldom the same everywhere."""
    labels = np.zeros(1000, dtype=np.int64)
    noise = {"name": "label_flip", "to": "random", "share": {"min": "20%", "max": "60%"}}
    attack = attacks.parse(noise)
    wrong = [(attack.relabel(labels, 10, RNG(n)) != labels).mean() for n in range(200)]
    assert 0.2 <= min(wrong) < 0.22
    assert 0.58 < max(wrong) <= 0.6
    assert np.mean(wrong) == pytest.approx(0.4, abs=0.03)  # deviates by 0.008
    assert type(attack).model_validate(attack.model_dump(mode="json")) == attack
    assert attack.model_dump(mode="json")["share"] == {"min": "20%", "max": "60%"}


@pytest.mark.parametrize(
    ("share", "told"),
    [
        ({"min": "60%", "max": "20%"}, "fleet.attack.share: `min` must be below `max`"),
        ({"min": "20%", "most": "60%"}, "most"),
        ({"distribution": "uniform", "min": "20%"}, "has no distribution; give a share such as"),
        ("0%", "must be above 0"),
    ],
)
def test_what_is_no_share_is_told(share: object, told: str) -> None:
    fleet = {**TINY["fleet"], "attack": {"name": "label_flip", "share": share}}
    with pytest.raises(ScenarioError, match=re.escape(told)):
        Scenario.from_dict({**TINY, "fleet": fleet})


def test_one_class_alone_is_taken_for_another() -> None:
    labels = np.arange(10).repeat(20)
    shoes = attacks.parse({"name": "label_flip", "source": 5, "to": 9})
    wrong = shoes.relabel(labels, 10, RNG(0))
    assert np.array_equal(wrong, np.where(labels == 5, 9, labels))
    half = attacks.parse({"name": "label_flip", "source": 5, "to": "random", "share": "50%"})
    changed = half.relabel(labels, 10, RNG(0)) != labels
    assert changed.sum() == changed[labels == 5].sum() == 10


def test_an_attack_that_does_nothing_is_refused() -> None:
    """One of a user's own did so without a word where its method was called `forgery`."""

    class Harmless(Attack):
        def forgery(self, update: Update, rng: Rng) -> Update:
            return -update

    [objection] = Harmless().objections(circumstances())
    assert "none of the methods `relabel`, `forge`, `agree`" in objection
    assert not [*attacks.parse("sign_flip").objections(circumstances())]


@pytest.mark.parametrize(
    ("options", "facts", "told"),
    [
        ({}, {"targets": "numbers"}, "one class each"),
        ({}, {"deals_itself": True}, "held in memory"),
        ({"to": 10}, {}, "to class 10 of 10"),
        ({"source": 12, "to": 1}, {}, "of class 12 of 10"),
        ({"source": 1, "to": 1}, {}, "class 1 to itself"),
    ],
)
def test_what_labels_can_not_be_flipped(options, facts, told) -> None:
    attack = attacks.parse({"name": "label_flip", **options})
    [objection] = attack.objections(circumstances(**facts))
    assert told in objection
