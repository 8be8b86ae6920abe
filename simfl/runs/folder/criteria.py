"""What a run's models were judged by, as far as its folder tells: users' code is not imported."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from simfl.components.losses.base import Loss, losses
from simfl.components.metrics.base import QualityMetric, quality_metrics
from simfl.runs.folder.written import component_name, value_at
from simfl.scenario.criteria import Criteria, Criterion


def criteria_of(scenario: Mapping[str, Any], provenance: Mapping[str, Any]) -> Criteria:
    """Return what the models of a run were judged by.

    Args:
        scenario: the resolved one, as plain data.
        provenance: has what users' own metrics said of themselves.
    """
    loss = _known_loss(value_at(scenario, "training", "loss"))
    written = value_at(scenario, "evaluation", "metrics") or []
    known = Criteria.of(loss, _known_metrics(written)).named
    own = {name: Criterion(better) for name, better in provenance.get("better", {}).items()}
    return Criteria(loss, {**known, **own})


def _known_metrics(written: list[Any]) -> Iterator[QualityMetric]:
    """Yield simfl's own of the metrics that a scenario names."""
    for metric in written:
        if component_name(metric) in quality_metrics.names():
            with suppress(Exception):  # another version's option: then nothing is known, either
                yield quality_metrics.parse(metric)


def _known_loss(written: Any) -> Loss | None:
    if component_name(written) in losses.names():
        with suppress(Exception):
            return losses.parse(written)
    return None
