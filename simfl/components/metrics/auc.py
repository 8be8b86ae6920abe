"""The area under the receiver operating characteristic."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from simfl.components.data_targets import Targets
from simfl.components.metrics.base import Better, QualityMetric, quality_metrics
from simfl.components.metrics.predictions import class_scores, true_classes
from simfl.core.types import Flags, Floats


@quality_metrics.register("auc")
class Auc(QualityMetric):
    """How often a sample of a class scores higher in it than one of another class; a tie is a half.

    Mean over classes, each against all others, of their softmax shares, or over labels
    (``sklearn.metrics.roc_auc_score`` with ``multi_class="ovr"``).  A class or label that all or
    none of the samples have is left out; if none is left, there is no number.
    """

    takes: ClassVar[tuple[Targets, ...]] = ("classes", "labels")
    within: ClassVar[tuple[float, float]] = (0.0, 1.0)
    better: ClassVar[Better] = "more"

    @override
    def of(self, outputs: Floats, targets: NDArray[Any]) -> float:
        true, scores = true_classes(outputs, targets), class_scores(outputs, targets)
        if targets.ndim == 1 and outputs.shape[1] > 1:
            scores = _log_odds(outputs)
        areas = [_area(scores[:, c], true[:, c]) for c in range(true.shape[1])]
        known = [area for area in areas if not np.isnan(area)]
        return float(np.mean(known)) if known else float("nan")


def _log_odds(outputs: Floats) -> Floats:
    """Return `(n, c)` logarithms of the odds of each class, which order samples as its shares do.

    Shares near one are rounded to one: those of a model that is sure of itself would nearly all
    tie.  Rounded themselves, so that equal odds tie whatever the order of a sum.  NaN for samples
    whose largest output is not finite: nobody knows their shares.
    """
    from scipy.special import log_softmax, logsumexp

    exact = outputs.astype(np.float64)
    exact[~np.isfinite(exact.max(1))] = np.nan
    first = np.arange(len(exact)), exact.argmax(1)
    shares = log_softmax(exact, axis=1)
    others = exact.copy()
    others[first] = shares[first] = -np.inf
    odds = shares - np.log1p(-np.exp(shares))
    odds[first] = exact[first] - logsumexp(others, axis=1)
    return np.asarray(odds.round(9))


def _area(scores: Floats, true: Flags) -> float:
    """Return the area of one class, by ranks (Mann and Whitney, 1947)."""
    from scipy.stats import rankdata

    n = int(true.sum())
    pairs = n * (len(true) - n)
    return (float(rankdata(scores)[true].sum()) - n * (n + 1) / 2) / pairs if pairs else np.nan
