"""What was measured of a row of an item."""

from simfl.papers.measures import Record


def record(row: str, seed: int, value: float | None, followed: float | None = None) -> Record:
    return Record("p", "i", row, "rounds", str(seed), value, followed, "count", "", "", "", "", "")


def rows(**numbers: list[float | None]) -> list[Record]:
    return [
        record(row, seed, value, 500.0)
        for row, values in numbers.items()
        for seed, value in enumerate(values)
    ]
