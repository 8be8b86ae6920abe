"""What the commands that look at a scenario before it is run share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli._options import importing

if TYPE_CHECKING:
    from simfl.build.builder import Builder
    from simfl.scenario import Scenario
    from simfl.scenario.language.place import Location
    from simfl.scenario.variants import Run

File = Annotated[Path, typer.Argument(metavar="SCENARIO.yaml", help="The scenario to show.")]
Variant = Annotated[
    str | None,
    typer.Option("--variant", help="Show this variant (default: the scenario without variants)."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Draw a picture to this file: .png, .svg or .pdf."),
]


def load(
    file: Path,
    changes: Sequence[str] | None,
    variant: str | None,
    seed: int | None,
    allow_code: bool,
) -> "Scenario":
    """Return the scenario that a run would have, which may import what a run would.

    Raises:
        ScenarioError: it is not valid, or not run with the seed that was set.
        InputError: it has no such variant.
    """
    from simfl.runs.job import refuse_an_idle_seed
    from simfl.scenario import Document, expand
    from simfl.scenario.one_variant import read_with

    document = Document.load(file).set(*(changes or ()))
    with importing(allow_code):
        if variant is None:
            scenario = read_with(document, ())
            seeds = scenario.seeds or (scenario.seed,)
            shown = scenario.model_copy(update={"seed": seeds[0] if seed is None else seed})
        else:
            runs = expand(document, None if seed is None else [seed], [variant])
            seeds, shown = tuple(run.seed for run in runs), runs[0].scenario
    if seed is None:
        refuse_an_idle_seed(document, seeds)
    return shown


def tell_which(scenario: "Scenario") -> None:
    """Print that what is shown is none of the variants that run, if `scenario` has some."""
    from simfl.report.width import hanging

    if scenario.variants or scenario.sweep is not None:
        text = "Shown without variants, which may differ: --variant NAME shows one."
        typer.echo(hanging(text, 0))


def tell_assumptions(
    scenario: "Scenario", runs: "Iterable[Run] | None" = None, *, trains: bool = True
) -> None:
    """Print what `scenario` leaves to defaults that decide its result, and may not have meant.

    Args:
        scenario: as it is written.
        runs: that it stands for (None: they are looked for, if it has variants or a sweep).
        trains: whether anything is to be trained.
    """
    from simfl.errors import SimflError
    from simfl.scenario import expand
    from simfl.scenario.assumptions import SEEDS, assumptions
    from simfl.scenario.cautions import cautions, never_met

    variants = {"": scenario}
    if scenario.variants or scenario.sweep is not None:
        with suppress(SimflError):  # of what is shown nothing is wrong
            variants = {run.variant: run.scenario for run in runs or expand(scenario)}
    seeds = [line for line in assumptions(scenario) if line.path in SEEDS]
    others = {
        name: [line for line in assumptions(own) if line.path not in SEEDS]
        for name, own in variants.items()
    }
    _tell("assumed, not given", [*seeds, *_of_any(others)])
    unsure = {
        name: [*never_met(own, trains=trains), *cautions(own)] for name, own in variants.items()
    }
    _tell("perhaps not meant", _of_any(unsure))


def _of_any(
    lines: "Mapping[str, Iterable[tuple[Location, str]]]",
) -> "Iterator[tuple[Location, str]]":
    """Yield the `lines` of all variants, those of only some with their names."""
    from simfl.core.words import owners
    from simfl.report.formats import FEW, listed

    for (path, text), names in owners(lines).items():
        yield path, text if len(names) == len(lines) else f"{text} ({listed(names, FEW)})"


def _tell(heading: str, lines: "Iterable[tuple[Location, str]]") -> None:
    """Print `lines` on places in a scenario, alike groups of the fleet in one line."""
    from simfl.core.words import ranges
    from simfl.report.width import hanging
    from simfl.scenario.language.place import dotted

    groups: dict[str, list[int]] = {}
    for path, value in lines:
        of_fleet = path[0] == "fleet"
        text = (
            f"fleet[{{}}].{dotted(path[2:])}: {value}" if of_fleet else f"{dotted(path)}: {value}"
        )
        groups.setdefault(text, []).extend([int(path[1])] if of_fleet else [])
    if groups:
        typer.echo(f"  {heading}:")
    for text, indices in groups.items():
        told = text.replace("{}", ranges(indices), 1) if indices else text
        typer.echo(hanging(f"    {told}", 6))


def builder(scenario: "Scenario", data_dir: Path | None) -> "Builder":
    """Return what makes the fleet and the data of `scenario`; it trains nothing.

    Raises:
        InputError: the data folder was named but is not there.
    """
    from simfl.runs.options import Options
    from simfl.runs.run import builder_of

    options = Options(data_dir=data_dir)
    return builder_of(scenario, options, options.make_executor())
