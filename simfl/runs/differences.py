"""In what the run that a folder holds is another than the one asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simfl.core.arguments import called
from simfl.errors import InputError
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import SCENARIO
from simfl.runs.folder.json_files import read_provenance
from simfl.scenario.language.place import flat
from simfl.scenario.language.yaml import read_yaml
from simfl.scenario.scenario import Scenario

_SHOWN = 8
"""Differences between scenarios that are told."""


def differences(folder: Path, scenario: str, time_only: bool) -> str:
    """Return what a resolved scenario has in another way than the run in `folder`, for people.

    Empty if nothing: at most `_SHOWN` lines of a path, the value there and the value asked for.

    Raises:
        InputError: what the folder holds is damaged.
    """
    recorded, asked = dict[str, Any](), dict[str, Any]()
    if RunFiles(folder).scenario_text != scenario:
        recorded, asked = (
            flat(read_yaml(text, SCENARIO, lines=False)[0])
            for text in (_read_now(folder), scenario)
        )
    provenance = read_provenance(folder)
    for number, fork in enumerate(provenance["forks"], start=1):
        recorded[f"fork {number}"] = f"at {fork['at_s']:g} s"
    trained = called("--time-only", "time_only")
    recorded[trained], asked[trained] = provenance["time_only"], time_only
    paths = [path for path in {**recorded, **asked} if recorded.get(path) != asked.get(path)]
    lines = [
        f"  {path}: {_shown(recorded, path)} there, {_shown(asked, path)} now" for path in paths
    ]
    more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *more])


def _read_now(folder: Path) -> str:
    """Return the scenario in `folder`, with the defaults of options that are newer than the run."""
    try:
        return Scenario.load(folder / SCENARIO).to_yaml()
    except InputError:  # it can't be read any more
        return RunFiles(folder).scenario_text


def _shown(values: Mapping[str, Any], path: str) -> str:
    return json.dumps(values[path]) if path in values else "nothing"
