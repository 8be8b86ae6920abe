"""Pachinko allocation: its law against closed forms, classes that run out, CIFAR-100's groups."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from simfl import Scenario
from simfl.components.datasets.cifar100 import Cifar100
from simfl.components.partitions.base import Source
from simfl.components.partitions.pachinko import Pachinko
from simfl.core.types import Ids
from simfl.errors import InputError, ScenarioError
from simfl.scenario.checks import refuse
from tests.tiny import TINY

CIFAR = """
aquatic mammals: beaver, dolphin, otter, seal, whale
fish: aquarium fish, flatfish, ray, shark, trout
flowers: orchid, poppy, rose, sunflower, tulip
food containers: bottle, bowl, can, cup, plate
fruit and vegetables: apple, mushroom, orange, pear, sweet pepper
household electrical devices: clock, keyboard, lamp, telephone, television
household furniture: bed, chair, couch, table, wardrobe
insects: bee, beetle, butterfly, caterpillar, cockroach
large carnivores: bear, leopard, lion, tiger, wolf
large man-made outdoor things: bridge, castle, house, road, skyscraper
large natural outdoor scenes: cloud, forest, mountain, plain, sea
large omnivores and herbivores: camel, cattle, chimpanzee, elephant, kangaroo
medium mammals: fox, porcupine, possum, raccoon, skunk
non-insect invertebrates: crab, lobster, snail, spider, worm
people: baby, boy, girl, man, woman
reptiles: crocodile, dinosaur, lizard, snake, turtle
small mammals: hamster, mouse, rabbit, shrew, squirrel
trees: maple tree, oak tree, palm tree, pine tree, willow tree
vehicles 1: bicycle, bus, motorcycle, pickup truck, train
vehicles 2: lawn mower, rocket, streetcar, tank, tractor
"""
"""As CIFAR's page has them; both kinds of labels are numbered in the order of the alphabet."""


def counts(partition: Pachinko, sizes: list[int], clients: int, seed: int) -> Ids:
    """Return `(clients, classes)` what each got of classes of these `sizes`."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    dealt = partition.deal(Source(labels, len(sizes)), clients, np.random.default_rng(seed))
    return np.array([np.bincount(labels[rows], minlength=len(sizes)) for rows in dealt])


def test_two_samples_of_a_client_are_as_alike_as_its_shares_make_them() -> None:
    """(alpha + 1) / (20 alpha + 1) of them are of one superclass, of which so many of one class."""
    data = Cifar100()
    assert data.superclasses is not None
    groups = [[c for c in range(100) if data.superclasses[c] == group] for group in range(20)]
    got = counts(Pachinko(beta=2, per_client=50, superclasses=groups), [5000] * 100, 600, 1)
    both = np.array([got[:, group].sum(axis=1) for group in groups]).T
    alike = [(n * (n - 1)).sum(axis=1).mean() / (50 * 49) for n in (both, got)]
    assert alike[0] == pytest.approx(1.1 / 3, rel=0.06)
    assert alike[1] / alike[0] == pytest.approx(3 / 11, rel=0.06)


@pytest.mark.parametrize(
    ("sizes", "groups", "concentration", "chances"),
    [
        # Shares u and 1 - u, u uniform: (1 - u)^2 never draw the one sample of class 0.
        ([1, 3], [[0], [1]], 1.0, {"11": 2 / 3, "02": 1 / 3}),
        # Equal shares: that of class 0 goes to its sister, not to the other superclass.
        (
            [1, 9, 9],
            [[0, 1], [2]],
            1e9,
            {"101": 1 / 4, "110": 3 / 16, "020": 1 / 16, "011": 1 / 4, "002": 1 / 4},
        ),
        # And that of a superclass of which nothing is left to all others.
        (
            [1, 1, 1, 9],
            [[0], [1, 2], [3]],
            1e9,
            {
                "1100": 5 / 36,
                "1010": 5 / 36,
                "1001": 5 / 18,
                "0110": 1 / 9,
                "0101": 1 / 9,
                "0011": 1 / 9,
                "0002": 1 / 9,
            },
        ),
    ],
)
def test_shares_of_what_has_run_out_go_on(
    sizes: list[int], groups: Any, concentration: float, chances: dict[str, float]
) -> None:
    """The first of two clients, who draws two samples."""
    partition = Pachinko(alpha=concentration, beta=concentration, per_client=2, superclasses=groups)
    first = [counts(partition, sizes, 2, seed)[0] for seed in range(600)]
    seen = Counter("".join(map(str, got.tolist())) for got in first)
    assert sum(chances.values()) == pytest.approx(1)
    assert seen.keys() == chances.keys()
    expected = [600 * chances[key] for key in sorted(chances)]
    assert chisquare([seen[key] for key in sorted(seen)], expected).pvalue > 1e-3


def test_all_of_cifar100_is_dealt_to_the_papers_clients() -> None:
    """50,000 photographs to 500, a hundred each; the last get what is left."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(100), 500))
    source = Source(labels, 100, superclasses=Cifar100().superclasses)
    dealt = Pachinko().deal(source, 500, np.random.default_rng(0))
    assert {len(rows) for rows in dealt} == {100}
    assert len(np.unique(np.concatenate(dealt))) == 50_000
    for extreme in (1e-9, 1e9):
        assert len(Pachinko(alpha=extreme, beta=extreme).deal(source, 9, np.random.default_rng(0)))


def test_cifar100s_superclasses_are_those_of_its_page() -> None:
    lines = [line.split(": ")[1].split(", ") for line in CIFAR.strip().splitlines()]
    fine = sorted(name for line in lines for name in line)
    superclasses = Cifar100().superclasses
    assert superclasses is not None
    assert [sorted(fine[c] for c in range(100) if superclasses[c] == g) for g in range(20)] == lines
    assert Cifar100(labels="coarse").superclasses is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "data.partition: partition 'pachinko' needs classes that belong to superclasses"),
        ({"superclasses": [[0, 1], [1, 2, 3, 4, 5, 6, 7, 8, 9]]}, "each of the 10 classes, 0 to 9"),
        ({"superclasses": [[0, 1], [2, 3]]}, "`superclasses` must hold each of the 10 classes"),
        ({"superclasses": [[*range(10)]], "per_client": 31}, "can't deal 240 samples to 8 clients"),
        ({"superclasses": []}, "expected at least 1 of them"),
    ],
)
def test_what_can_t_be_dealt_is_told(changes: dict[str, Any], message: str) -> None:
    partition = json.dumps({"name": "pachinko", **changes})
    with pytest.raises(ScenarioError, match=message):
        refuse({"": Scenario.from_dict(TINY, overrides=[f"data.partition={partition}"])})


def test_superclasses_of_other_classes_are_told() -> None:
    source = Source(np.arange(10) % 5, 5, superclasses=[0, 0, 1])
    with pytest.raises(InputError, match="each of the 5 classes, 0 to 4, once"):
        Pachinko().deal(source, 2, np.random.default_rng(0))
