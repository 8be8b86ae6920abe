"""What every benchmark leaves: JSON with machine and versions, and the same as a table of text."""

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Row = Mapping[str, Any]
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2"}
"""Instructions that decide how fast small products are: the widest that a processor has counts."""


def machine() -> dict[str, Any]:
    """Return what results depend on: processor, cores, memory, versions."""
    versions = {"python": sys.version.split()[0]}
    for package in ("simfl", "torch", "numpy", "simpy", "ray"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "load_at_end": [round(load, 2) for load in os.getloadavg()],
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = [line.partition(":") for line in lines]
    names = [value.strip() for key, _, value in facts if key.strip() == "model name"]
    flags = next((value.split() for key, _, value in facts if key.strip() == "flags"), [])
    vectors = [name for flag, name in VECTORS.items() if flag in flags]
    return f"{names[0] if names else platform.machine()}{f' ({vectors[0]})' if vectors else ''}"


def table(rows: Sequence[Row]) -> str:
    """Return `rows` as aligned text; the columns are the keys of the first."""
    columns = list(rows[0])
    lines = [columns, *([_shown(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def leave(name: str, tables: Mapping[str, Sequence[Row]], notes: Sequence[str] = ()) -> None:
    """Print `tables` and write them to ``results/NAME.json`` and ``results/NAME.txt``."""
    where = machine()
    text = "\n\n".join(f"{title}\n{table(rows)}" for title, rows in tables.items() if rows)
    about = f"{where['processor']}, {where['cores']} cores, {where['memory_gb']} GB; " + ", ".join(
        f"{package} {number}" for package, number in where["versions"].items()
    )
    text = "\n".join([about, "", text, *(["", *notes] if notes else [])]) + "\n"
    print(text, end="")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
    document = {"machine": where, "tables": tables, "notes": list(notes)}
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def known(name: str) -> dict[str, Sequence[Row]]:
    """Return the tables that `leave` wrote last, to be added to; empty if there are none."""
    path = RESULTS / f"{name}.json"
    tables: dict[str, Sequence[Row]] = {}
    if path.exists():
        tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
    return tables
