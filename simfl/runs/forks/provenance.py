"""The provenance of a fork: that of the run it comes from, and what is another's now."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from simfl.runs.inputs import changed, contents
from simfl.runs.provenance import now, told_cautions
from simfl.scenario import Scenario

_ITS_OWN = ("host_s", "failed")
"""What the provenance of a run says of it alone, and not of its forks."""


def forked_provenance(
    provenance: Mapping[str, Any],
    origin: Mapping[str, Any],
    name: str,
    scenario: Scenario,
    before: Scenario,
) -> dict[str, Any]:
    """Return the provenance of a fork.

    Args:
        provenance: of the run that it comes from.
        origin: what is to be remembered of that run: its folder, variant and digests, and when and
            by which changes the fork began.
        name: of the fork.
        scenario: in force from then on.
        before: in force until then.
    """
    then = {name: provenance["files"][name] for name in changed(provenance, scenario)}
    return {
        **{key: value for key, value in provenance.items() if key not in _ITS_OWN},
        "variant": name,
        "log_compressed": False,
        "forks": [*provenance["forks"], origin],
        "oracle": bool(provenance.get("oracle")) or scenario.selection.oracle,
        "cautions": told_cautions(_as_given(scenario, before, provenance, origin["set"])),
        "files": contents(scenario) | then,  # whoever goes on with it is told what has changed
        "started": now(),
        "scenario_sha256": sha256(scenario.to_yaml().encode()).hexdigest(),
    }


def _as_given(
    scenario: Scenario, before: Scenario, provenance: Mapping[str, Any], changes: Sequence[str]
) -> Scenario:
    """Return a fork's scenario with an aggregation only if somebody chose it for the policy.

    The scenario that it is made from, a resolved one, spells out what was a default, too.
    """
    assumed = any(line.startswith("aggregation: ") for line in provenance.get("cautions", []))
    same_policy = type(scenario.rounds.policy) is type(before.rounds.policy)
    chosen = any(change.startswith("aggregation") for change in changes)
    if chosen or (same_policy and not assumed):
        return scenario
    copy = scenario.model_copy()
    copy.model_fields_set.discard("aggregation")
    return copy
