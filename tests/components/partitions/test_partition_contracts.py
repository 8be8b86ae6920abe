"""Every registered partition goes through the contract, which catches faulty ones."""

from typing import Any

import numpy as np
import pytest

from simfl.components.partitions.base import partitions
from simfl.components.partitions.iid import Iid
from simfl.testing.contract import suites
from simfl.testing.partitions import PartitionContract

TRAITS: dict[str, dict[str, Any]] = {
    "dirichlet_skewness": {"shared": True, "whole": False},
    "skewness": {"shared": True, "whole": False},
    "power_law_two_digits": {"whole": False},
    "shards": {"whole": False},
    "pachinko": {"whole": False, "options": {"superclasses": [[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]}},
}
globals().update(suites(PartitionContract, partitions, TRAITS))


class Sorts(Iid):
    def deal(self, source, clients, rng):
        source.labels.sort()
        return super().deal(source, clients, rng)


class OneTooFew(Iid):
    def deal(self, source, clients, rng):
        return super().deal(source, clients, rng)[1:]


class LosesTheLast(Iid):
    def deal(self, source, clients, rng):
        return [rows[:-1] for rows in super().deal(source, clients, rng)]


class Repeats(Iid):
    def deal(self, source, clients, rng):
        return [np.append(rows, rows[:1]) for rows in super().deal(source, clients, rng)]


class AllToOne(Iid):
    def deal(self, source, clients, rng):
        nobody = [np.zeros(0, dtype=np.int64)] * (clients - 1)
        return [np.arange(len(source.labels)), *nobody]


class NeedsManyRows(Iid):
    """Fails by accident instead of saying why."""

    def deal(self, source, clients, rng):
        assert len(source.labels) >= clients
        return super().deal(source, clients, rng)


class DrawsForItself(Iid):
    def deal(self, source, clients, rng):
        return super().deal(source, clients, np.random.default_rng())


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Sorts, "test_it_deals_to_so_many_clients"),
        (OneTooFew, "test_it_deals_to_so_many_clients"),
        (LosesTheLast, "test_it_deals_to_so_many_clients"),
        (Repeats, "test_it_deals_to_so_many_clients"),
        (AllToOne, "test_it_deals_to_so_many_clients"),
        (NeedsManyRows, "test_it_deals_or_says_why_not"),
        (DrawsForItself, "test_same_numbers_same_partition"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(PartitionContract, test, fault, sound=Iid)
