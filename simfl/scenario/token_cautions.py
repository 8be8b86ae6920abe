"""What of data made of tokens may not be what was meant."""

from collections.abc import Iterator

from simfl.components.datasets.shakespeare import WINDOW, Shakespeare
from simfl.components.models.fedcore_lstm import FedcoreLstm
from simfl.scenario.language.place import Location
from simfl.scenario.scenario import Scenario


def of_tokens(scenario: Scenario) -> Iterator[tuple[Location, str]]:
    """Yield a token that is taken for padding, and samples kept aside that training has seen."""
    model, dataset = scenario.model, scenario.data.dataset
    if isinstance(model, FedcoreLstm) and model.padding == 0 and dataset.zero_is_token:
        yield (
            ("model", "padding"),
            "token 0 is an ordinary token in the data, but its embedding stays at zero; with null, "
            "it is learned, too",
        )
    overlap = isinstance(dataset, Shakespeare) and dataset.stride < WINDOW
    if overlap and scenario.data.local_validation:
        yield (
            ("data", "local_validation"),
            f"windows of {WINDOW} characters overlap (`stride` is below that), so clients train on "
            "text that they keep aside, and come out better on it than on other text",
        )
