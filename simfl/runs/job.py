"""What there is to do: one variant with one seed."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from simfl.core.arguments import called
from simfl.errors import InputError, ScenarioError
from simfl.runs.folder.folder import usual_place
from simfl.scenario import Document, Scenario, expand


class Study(NamedTuple):
    """What is asked for at once: all of these variants with all of these seeds."""

    variants: Sequence[str]
    seeds: Sequence[int]


@dataclass(frozen=True)
class Job:
    """One variant with one seed, and the folder its results go to.

    Attributes:
        variant: its name.
        scenario: complete.
        folder: of the run.
        factors: what was swept: a path -> its value.
        place: which of all variants it is, in the order written: that in which they are shown.
        study: names and seeds of all variants that were asked for together with it.
    """

    variant: str
    scenario: Scenario
    folder: Path
    factors: Mapping[str, Any] = field(default_factory=dict)
    place: int = 0
    study: Study = field(default_factory=lambda: Study((), ()))

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.variant} seed {self.scenario.seed}"

    @cached_property
    def text(self) -> str:
        """The scenario as its folder will hold it."""
        return self.scenario.to_yaml()


def jobs(
    scenario: Scenario | Document,
    out: Path | None = None,
    seeds: Sequence[int] | None = None,
    variants: Sequence[str] | None = None,
) -> list[Job]:
    """Return the runs that `scenario` asks for: every variant, swept, with every seed.

    Args:
        scenario: with its variants and seeds; as written, so that errors can name the line, or
            validated.
        out: the folder of run folders (None: ``runs/NAME``).
        seeds: instead of the scenario's own.
        variants: only these (None: all); see `expand`.

    Raises:
        InputError: no seed, or no variant, is asked for; or a `ScenarioError`, everything that is
            wrong with the scenario or with one of its variants.
    """
    for name, asked in (("seeds", seeds), ("variants", variants)):
        if isinstance(asked, Sized) and not len(asked):
            raise InputError(f"{name}: expected one at least, got {asked!r}")
    runs, todo = expand(scenario, seeds, variants), []
    seeds_asked = dict.fromkeys(run.seed for run in runs)
    study = Study([*dict.fromkeys(run.variant for run in runs)], [*seeds_asked])
    for run in runs:
        top = Path("runs") / run.scenario.name if out is None else out
        folder = top / usual_place(run.variant, run.seed)
        todo.append(Job(run.variant, run.scenario, folder, run.factors, run.place, study))
    return todo


def refuse_an_idle_seed(document: Document, seeds: Iterable[int]) -> None:
    """Refuse ``--set seed=7`` where the scenario's `seeds` have it run with others, too or instead.

    Args:
        document: the scenario, with what was set.
        seeds: that it is run with.

    Raises:
        ScenarioError: it is not run with that seed alone, and nothing is drawn by it.
    """
    draws = (document.data.get("sweep") or {}).get("random")
    changed_to = [override.value for override in document.overrides if override.path == ("seed",)]
    seed = changed_to[-1] if changed_to else None  # null: what is set is that it is not given
    if seed is not None and not draws and {*seeds} != {seed}:
        raise ScenarioError(
            f"{called('--set', 'overrides')} seed={seed}: the scenario has `seeds`, with which it "
            f"is run instead; give {called(f'--seed {seed}', f'seeds=[{seed}]')}"
        )
