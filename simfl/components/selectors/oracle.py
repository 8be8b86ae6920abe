"""What could be reached if the server knew the truth: upper bounds, not methods."""

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from simfl.components.selectors.base import Answers, Selector, View, selectors
from simfl.components.selectors.mathematics.draws import among_least
from simfl.core.circumstances import Circumstances
from simfl.core.types import Floats, Ids, Rng
from simfl.errors import RunError


@selectors.register("oracle")
class Oracle(Selector):
    """Chooses with knowledge that no server has; stamped as such on every output.

    `fastest` takes the clients whose next round will take the least time; `balanced` greedily makes
    the cohort's labels as evenly mixed as everybody's (least group earth mover's distance, with
    ties broken at random), so that it bounds what any method could learn about label skew.

    Cost: nothing beyond the round itself.  Server: O(N); `balanced` O(k N classes).
    """

    oracle: ClassVar[bool] = True

    goal: Literal["fastest", "balanced"] = Field(
        "fastest", description="true durations, or true label counts"
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        if self.goal != "balanced":
            return
        needs = f"selector {self.name!r} needs everybody's label counts, and"
        if circumstances.deals_itself:
            yield (
                f"{needs} data set {circumstances.dataset!r} makes a client's samples only when "
                "it trains"
            )
        elif circumstances.targets != "classes":
            yield (
                f"{needs} the targets of data set {circumstances.dataset!r} are "
                f"{circumstances.targets}"
            )

    @override
    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        """Choose by the truth.

        Raises:
            RunError: the simulation does not tell the truth that is needed.
        """
        ids = view.available
        if self.goal == "fastest":
            duration = self._truth(view, "duration_s")[ids]
            least = among_least(duration, k)
            return np.sort(ids[least[np.argsort(duration[least], kind="stable")[:k]]])
        return self._balanced(self._truth(view, "label_counts"), ids, k, rng)

    def _truth(self, view: View, name: str) -> Floats:
        if view.truth is None or name not in view.truth:
            raise RunError(f"the oracle selector needs to know {name!r}, which this run can't tell")
        return np.asarray(view.truth[name], dtype=np.float64)

    def _balanced(self, counts: Floats, ids: Ids, k: int, rng: Rng) -> Ids:
        target = counts.sum(axis=0) / max(float(counts.sum()), 1e-300)
        mixed, left = np.zeros(counts.shape[1]), rng.permutation(ids)
        chosen: list[int] = []
        for _ in range(min(k, len(ids))):
            candidates = mixed + counts[left]
            share = candidates / np.maximum(candidates.sum(axis=1, keepdims=True), 1e-300)
            best = int(np.argmin(np.abs(share - target).sum(axis=1)))
            mixed = candidates[best]
            chosen.append(int(left[best]))
            left = np.delete(left, best)
        return np.sort(np.array(chosen, dtype=np.int64))
