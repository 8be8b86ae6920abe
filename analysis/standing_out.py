"""What stands out of docs/results/findings: sentences whose numbers are those of the CSV files."""

from collections.abc import Mapping, Sequence

from simfl.papers.claims import paired, values
from simfl.papers.measures import Record
from simfl.report import formats
from simfl.runs.results.paired import Ratio

TIME, BYTES = "time_s to 69%", "bytes to 69%"
SELECTORS = ("Oort", "FedCor", "FedGP", "pow-d", "FedSAE", "DP3S", "AFL")


def standing_out(results: Mapping[str, Sequence[Record]]) -> str:
    """Return a paragraph, Markdown."""
    return " ".join(
        [
            _selectors(results["findings/selectors"]),
            _combined(results["findings/combined"]),
            _asynchronous(results["findings/asynchronous"]),
        ]
    )


def _selectors(records: Sequence[Record]) -> str:
    ratios = {name: _ratio(records, TIME, name, "uniform") for name in SELECTORS}
    told = [name for name, ratio in ratios.items() if ratio is not None and ratio.distinguishable]
    others = [name for name in SELECTORS if name not in told]
    how = ", ".join(f"{name} by {_times(ratios[name])}" for name in told)
    more = {name: _times(_ratio(records, BYTES, "uniform", name)) for name in SELECTORS}
    return (
        f"**Selectors** ({_seeds(records)}): in time to 69% these are told from uniform "
        f"selection: {how or 'none'}; these are not: {', '.join(others) or 'none'}. For that "
        f"FedCor moves {more['FedCor']} and FedGP {more['FedGP']} as many bytes as uniform "
        "selection, for all devices are asked for their losses; Oort asks nobody and moves "
        f"{more['Oort']}."
    )


def _combined(records: Sequence[Record]) -> str:
    saved = ", ".join(
        f"{name} {_times(_ratio(records, TIME, f'{name}-coreset', f'{name}-waits'))} "
        f"(dropping: {_times(_ratio(records, TIME, f'{name}-drops', f'{name}-waits'))})"
        for name in ("uniform", "DP3S", "FedCor")
    )
    chosen = _times(_ratio(records, TIME, "FedCor-coreset", "uniform-coreset"))
    return (
        f"**One deadline** ({_seeds(records)}) that the slowest 30% miss: training on coresets "
        f"instead of waiting makes {saved} as fast. Who is chosen matters as well: with coresets "
        f"FedCor is {chosen} as fast as uniform selection."
    )


def _asynchronous(records: Sequence[Record]) -> str:
    rows = ("FedAsync-10", "FedBuff-20-10", "FedBuff-10-5", "FedBuff-20-5")
    told = ", ".join(f"{row} {_against_synchronous(records, row)}" for row in rows)
    return (
        f"**Asynchronous aggregation** ({_seeds(records)}), against synchronous rounds of five: "
        f"{told}."
    )


def _against_synchronous(records: Sequence[Record], row: str) -> str:
    text = f"{_times(_ratio(records, TIME, row, 'sync-5'))} as fast"
    reached = values(_of(records, TIME), row)
    never = reached.count(None)
    return f"{text} ({never} of {len(reached)} never)" if never else text


def _of(records: Sequence[Record], measure: str) -> list[Record]:
    return [record for record in records if record.column == measure]


def _ratio(records: Sequence[Record], measure: str, below: str, above: str) -> Ratio | None:
    ratio = paired(_of(records, measure), below, above)
    return ratio if isinstance(ratio, Ratio) else None


def _times(ratio: Ratio | None) -> str:
    return formats.NOTHING if ratio is None else formats.times(ratio.value)


def _seeds(records: Sequence[Record]) -> str:
    return formats.plural(len({record.seed for record in records}), "seed")
