"""What a selector and an aggregator want to show of a run, as files in its folder."""

import io
from collections.abc import Mapping

import numpy as np

from simfl.components.aggregators.base import Aggregator
from simfl.components.selectors.base import Selector
from simfl.core.blame import blaming
from simfl.core.returned import expect

DIAGNOSTICS, AGGREGATOR_DIAGNOSTICS = "selector.npz", "aggregator.npz"
"""Files of arrays: FedCor's embeddings, FedACS's duels and rewards; how a clip adapted."""


def diagnostics(selector: Selector, aggregator: Aggregator) -> dict[str, bytes]:
    """Return the files of whoever has something to show, by name.

    Raises:
        ComponentError: showing it fails in a user's code, or what is shown is no arrays by name.
    """
    files = {}
    parts: dict[str, Selector | Aggregator] = {
        DIAGNOSTICS: selector,
        AGGREGATOR_DIAGNOSTICS: aggregator,
    }
    for file, part in parts.items():
        with blaming(part, "showing its state"):
            shown = part.diagnostics()
            expect(isinstance(shown, Mapping), "arrays by name", type(shown).__name__)
        if shown:
            buffer = io.BytesIO()
            np.savez(buffer, **shown)  # type: ignore[arg-type]  # names of arrays
            files[file] = buffer.getvalue()
    return files
