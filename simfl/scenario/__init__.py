"""What a user writes: one YAML file, typed and checked (no torch)."""

from simfl.scenario.distributions import Draw
from simfl.scenario.document import Document
from simfl.scenario.parts.fleet import Group
from simfl.scenario.scenario import Scenario
from simfl.scenario.variants import Run, expand

__all__ = ["Document", "Draw", "Group", "Run", "Scenario", "expand"]
