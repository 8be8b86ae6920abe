"""Every registered aggregator goes through the contract, which catches faulty ones."""

from typing import Any

import numpy as np
import pytest
from pydantic import PrivateAttr

from simfl.components.aggregators.base import Aggregator, aggregators
from simfl.components.local_training import LocalTraining
from simfl.components.optimizers.sgd import Sgd
from simfl.testing.aggregators import AggregatorContract
from simfl.testing.contract import suites

TRAITS: dict[str, dict[str, Any]] = {
    "fedasync": {"ordered": True},
    "feddyn": {"local": LocalTraining(8, Sgd(lr=0.1), proximal=0.1)},
    "dp_fedavg": {"options": {"clip": 5, "noise_multiplier": 1}},
    "dp_fedavg_adaptive": {"options": {"clip": 5, "noise_multiplier": 1, "count_noise": 2}},
}
globals().update(suites(AggregatorContract, aggregators, TRAITS))


class Mean(Aggregator):
    """Each subclass does one thing wrong."""

    def aggregate(self, model, contributions):
        models = [c.result.params for c in contributions for _ in range(c.copies)]
        return np.mean(models, axis=0, dtype=np.float64).astype(np.float32)


class Double(Mean):
    def aggregate(self, model, contributions):
        return super().aggregate(model, contributions).astype(np.float64)


class InPlace(Mean):
    def aggregate(self, model, contributions):
        model[:] = super().aggregate(model, contributions)
        return model


class FirstOnly(Mean):
    def aggregate(self, model, contributions):
        return contributions[0].result.params


class Backwards(Mean):
    def aggregate(self, model, contributions):
        return 2 * model - super().aggregate(model, contributions)


class DivideBySamples(Mean):
    def aggregate(self, model, contributions):
        weights = np.array([c.result.samples for c in contributions], dtype=np.float64)
        with np.errstate(all="ignore"):
            weights /= weights.sum()
        return np.float32(
            sum(w * c.result.params for w, c in zip(weights, contributions, strict=True))
        )


class Drifts(Mean):
    def aggregate(self, model, contributions):
        return super().aggregate(model, contributions) + np.float32(0.1)


class Forgets(Mean):
    _last: np.ndarray | None = PrivateAttr(None)

    def aggregate(self, model, contributions):
        old, self._last = self._last, super().aggregate(model, contributions)
        return self._last if old is None else (self._last + old) / 2

    def state_dict(self):
        return {}


class DrawsForItself(Mean):
    def aggregate(self, model, contributions):
        noise = np.random.default_rng().normal(size=len(model))
        return (super().aggregate(model, contributions) + noise).astype(np.float32)


class PerturbsByItself(Mean):
    def perturb(self, model, rng):
        return model + np.random.default_rng().normal(size=len(model)).astype(np.float32)


class CorrectsInSecret(Mean):
    def correction(self, client):
        return np.zeros(6, dtype=np.float32)


class Undescribed(Mean):
    lr: float = 1.0


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (Double, "test_a_model_comes_of_any_updates"),
        (InPlace, "test_a_model_comes_of_any_updates"),
        (FirstOnly, "test_whoever_stands_where_has_the_same_say"),
        (Backwards, "test_the_model_never_moves_against_all"),
        (DivideBySamples, "test_clients_without_samples_or_steps"),
        (DivideBySamples, "test_who_was_drawn_twice_counts_twice"),
        (Drifts, "test_nobody_moved"),
        (Forgets, "test_state_survives_a_round_trip"),
        (DrawsForItself, "test_same_updates_same_model"),
        (PerturbsByItself, "test_what_is_given_out"),
        (CorrectsInSecret, "test_corrections"),
        (Undescribed, "test_class_and_options_are_described"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(AggregatorContract, test, fault, sound=Mean)
