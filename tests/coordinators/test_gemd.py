"""The label skew of a round is that of the clients it heard."""

import numpy as np

from simfl.components.selectors.uniform import Uniform
from simfl.coordinators.base import Choosing
from simfl.coordinators.time_only import TimeOnlyCoordinator
from simfl.core.seeds import Seeds


def test_a_client_with_two_updates_in_a_round_is_one_client() -> None:
    """In FedBuff's buffer it counted twice, and once where it was drawn twice."""
    labels = np.array([[4, 0], [0, 4], [2, 2]])
    coordinator = TimeOnlyCoordinator(Choosing(Uniform(), Seeds(0), labels))
    assert coordinator.gemd([0, 1]) == coordinator.gemd([0, 1, 1]) == 0
    assert coordinator.gemd([0, 0]) == 1
