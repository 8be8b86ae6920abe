"""Tables of many runs as one: for programs that know nothing of run folders."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simfl.core.extras import extra
from simfl.core.files import failure, whole
from simfl.runs.folder.outside import refuse_inside
from simfl.runs.results.result import RunResult

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet"]


def export(results: Sequence[RunResult], folder: Path, form: Format) -> list[Path]:
    """Write `rounds` and `clients` of all `results` into `folder`; return the files.

    Each row says of which scenario, variant and seed it is, and what was swept.

    Raises:
        InputError: a table is missing or damaged, Parquet is wanted without pyarrow, or `folder`
            is a run's, whose tables these are not, or can't be written to.
        RunError: the disk is full.
    """
    refuse_inside(folder, "--out")
    if form == "parquet":
        extra("pyarrow", "parquet", "--format parquet")
    paths = {name: folder / f"{name}.{form}" for name in ("rounds", "clients")}
    try:
        with ExitStack() as together:  # neither table appears without the other
            for name, path in paths.items():
                file, table = together.enter_context(whole(path)), concatenated(results, name)
                if form == "csv":
                    table.to_csv(file, index=False, lineterminator="\n")
                else:
                    table.to_parquet(file, index=False)
                file.flush()
    except OSError as error:
        raise failure(f"can't write into {folder}", error) from error
    return list(paths.values())


def concatenated(results: Sequence[RunResult], name: str) -> "pd.DataFrame":
    """Return one table (`rounds` or `clients`) of all `results`, one below the other."""
    return stacked([(result, getattr(result, name)) for result in results])


def stacked(tables: Sequence[tuple[RunResult, "pd.DataFrame"]]) -> "pd.DataFrame":
    """Return tables of runs one below the other, each row with whose it is before it."""
    import pandas as pd

    parts = []
    for result, table in tables:
        part = table.copy()
        whose = {"scenario": result.name, "variant": result.variant, "seed": result.seed}
        whose |= {path: value for path, value in result.factors.items() if path != "variant"}
        for place, (column, value) in enumerate(whose.items()):
            # Without a row, too, it has the value's type: or seeds of others would be read as 0.0.
            part.insert(place, column, pd.Series([value]).repeat(len(part)).to_numpy())
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
