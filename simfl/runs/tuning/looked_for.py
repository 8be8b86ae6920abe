"""What a tuning looks for, and whether it will be known."""

from simfl.core.arguments import called
from simfl.errors import InputError, ScenarioError
from simfl.scenario import Scenario
from simfl.scenario.incompatible_parts import why_no_objective
from simfl.scenario.parts.tune import Tune
from simfl.scenario.privacy import why_no_epsilon


def looked_for(scenario: Scenario, source: str, variant: str | None) -> Tune:
    """Return what is looked for.

    Args:
        scenario: with its variants.
        source: what messages call the file.
        variant: the one that is tuned, if it was said.

    Raises:
        InputError: the scenario does not say, or it stands for more than one.
    """
    if scenario.tune is None:
        besides = called(", and no --parameter and --objective were given", "")
        raise InputError(
            f"{source} does not say what to look for: it has no `tune` section{besides}"
        )
    if scenario.sweep is not None:
        without = called("--set sweep=null", "document.set('sweep=null')")
        raise InputError(
            f"a scenario is swept or tuned, not both: it has a `sweep`, which {without} takes away"
        )
    if scenario.variants and variant is None:
        names = ", ".join(scenario.variants)
        asked = called("--variant", "variant")
        raise InputError(f"one variant is tuned; name it with {asked}, one of: {names}")
    return scenario.tune


def refuse_unknown(spec: Tune, scenario: Scenario) -> None:
    """Refuse a choice of which nobody will know what it is judged by.

    Raises:
        ScenarioError: naming what asks for it.
    """
    if why := why_no_objective(spec, scenario):
        raise ScenarioError(f"tune.objective: {why}")
    asked = {"objective": [spec.measured], "under": spec.limits}
    for key, names in asked.items():
        if "energy" in names and not scenario.powered:
            raise ScenarioError(
                f"tune.{key}: no group of the fleet says what `power` it takes, so that no energy "
                "is known"
            )
        if "epsilon" in names and (why := why_no_epsilon(scenario)):
            raise ScenarioError(f"tune.{key}: no epsilon can be given: {why}")
