"""Numbers for people: durations, sizes, shares.  A number that is not there is a dash."""

import math

from simfl.core.words import of_number

NOTHING = "–"
MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0
_FRACTIONS = (("n", 1e-9), ("µ", 1e-6), ("m", 1e-3))
_MULTIPLES = (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15))
_TWO_UNITS = (
    ("min", "s", MINUTE_S, 1.0, HOUR_S),
    ("h", "min", HOUR_S, MINUTE_S, DAY_S),
    ("d", "h", DAY_S, HOUR_S, math.inf),
)
"""A unit and the one below it, seconds of both, and below how many seconds the two are told."""
FEW, SOME = 3, 6
"""Names that a sentence lists: where it says more of each, and where it says the same of all."""


def duration(seconds: float) -> str:
    """Return virtual time with two units at most.

    >>> duration(0.02), duration(0.9996), duration(2345.3), duration(93784.2), duration(-90)
    ('20 ms', '1.0 s', '39 min 5 s', '1 d 2 h', '-1 min 30 s')
    >>> duration(1.5e-4), duration(134e-9)
    ('150 µs', '134 ns')
    """
    if not math.isfinite(seconds):
        return NOTHING
    if seconds < 0:  # an interval's end
        return f"-{duration(-seconds)}"
    if seconds < 0.9995:  # from there on it is 1,000 ms in three digits
        return scaled(seconds, "s", 3, fractions=True) if seconds else "0 s"
    if round(seconds, 1) < MINUTE_S:
        return f"{seconds:.1f} s"
    told = (row for row in _TWO_UNITS if round(seconds / row[3]) * row[3] < row[4])
    unit, below, size, part, _ = next(told)
    whole, rest = divmod(round(seconds / part), round(size / part))
    return f"{whole:,} {unit} {rest} {below}" if rest else f"{whole:,} {unit}"


def roughly(seconds: float) -> str:
    """Return a duration that is only estimated: two digits, one unit.

    >>> roughly(0.0796), roughly(14.48), roughly(59.7), roughly(100), roughly(5000), roughly(1e8)
    ('less than 1 s', 'about 14 s', 'about 1 min', 'about 1.7 min', 'about 1.4 h', 'about 1,200 d')
    """
    if seconds < 1:
        return "less than 1 s"
    digits = two_digits(seconds)
    for unit, length in (("d", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if digits >= length:
            return f"about {two_digits(max(seconds / length, 1)):,g} {unit}"
    return f"about {digits:g} s"


def two_digits(number: float) -> float:
    """Return an estimate without the digits that nobody knows.

    >>> two_digits(679.3), two_digits(0.0123)
    (680.0, 0.012)
    """
    return float(f"{number:.2g}")


def size(number: float) -> str:
    """Return bytes with an SI prefix, to four digits.

    >>> size(0), size(2440), size(1.5e9)
    ('0 B', '2.44 kB', '1.5 GB')
    """
    return scaled(number, "B")


def energy(joules: float) -> str:
    """Return joules with an SI prefix.

    >>> energy(12571.9), energy(1.35e-6)
    ('12.57 kJ', '1.35 µJ')
    """
    return scaled(joules, "J", fractions=True)


def scaled(number: float, unit: str, digits: int = 4, fractions: bool = False) -> str:
    """Return `number` with so many digits, at least three, and the prefix that suits it.

    Args:
        number: in `unit`.
        unit: without a prefix.
        digits: of the number.
        fractions: whether there are thousandths of the unit (of a byte there are none).

    >>> scaled(171380, "B"), scaled(171380, "B", 3), scaled(999.7, "J", 3)
    ('171.4 kB', '171 kB', '1 kJ')
    >>> scaled(0.5, "B"), scaled(0.5, "J", fractions=True), scaled(0.0, "J", fractions=True)
    ('0.5 B', '500 mJ', '0 J')
    """
    if not math.isfinite(number):
        return NOTHING
    prefix, size = _prefix(number, digits, fractions)
    return f"{number / size:.{digits}g} {prefix}{unit}"


def with_deviation(mean: float, deviation: float, unit: str, fractions: bool = False) -> str:
    """Return a mean and its deviation over seeds, in one unit and to the same decimal.

    That is the deviation's second digit, or its first if the mean has four digits before that.

    Args:
        mean: in `unit`, not 0.
        deviation: of it, above 0.
        unit: without a prefix.
        fractions: whether there are thousandths of the unit.

    >>> with_deviation(63000, 1410, "B"), with_deviation(968300, 3, "B")
    ('63.0 kB ± 1.4 kB', '968.300 kB ± 0.003 kB')
    >>> with_deviation(83000, 21213, "B"), with_deviation(0.9, 2.5, "J", fractions=True)
    ('83 kB ± 21 kB', '900 mJ ± 2,500 mJ')
    """
    prefix, size = _prefix(mean, 4, fractions)
    fourth = 3 - math.floor(math.log10(abs(mean) / size))
    first = -math.floor(math.log10(deviation / size))
    decimals = max(min(first + 1, fourth), first, 0)
    return " ± ".join(
        f"{number / size:,.{decimals}f} {prefix}{unit}" for number in (mean, deviation)
    )


def _prefix(number: float, digits: int, fractions: bool) -> tuple[str, float]:
    """Return the prefix that suits a number of so many digits, and what it stands for."""
    most = 1000 - 0.5 * 10.0 ** (3 - digits)  # from there on it is rounded to 1,000
    prefixes = (*(_FRACTIONS if fractions and number else ()), *_MULTIPLES)
    return next((p for p in prefixes if abs(number) / p[1] < most), _MULTIPLES[-1])


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage.

    >>> percent(0.78019), percent(0.7, 0)
    ('78.0%', '70%')
    """
    return f"{100 * share:.{digits}f}%" if math.isfinite(share) else NOTHING


def count(number: float) -> str:
    """Return a whole number, or the mean of some, with thousands apart.

    >>> count(12000), count(6.5)
    ('12,000', '6.5')
    """
    if not math.isfinite(number):
        return NOTHING
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def times(ratio: float) -> str:
    """Return how many times as much.

    >>> times(0.0123), times(0.614), times(8.997), times(54.3), times(130.2)
    ('0.0123×', '0.61×', '9.00×', '54.3×', '130×')
    """
    if 0 < ratio < 0.0995:
        return f"{ratio:.3g}×"
    digits = 2 if ratio < 9.995 else 1 if ratio < 99.95 else 0
    return f"{ratio:,.{digits}f}×"


def ratio(value: float) -> str:
    """Return a ratio or a coefficient.

    >>> ratio(0.9994)
    '0.999'
    """
    return f"{value:.3f}" if math.isfinite(value) else NOTHING


def plural(number: float, noun: str) -> str:
    """Return a number of things, or the mean of some.

    >>> plural(1, "round"), plural(1500, "round"), plural(6.5, "round")
    ('1 round', '1,500 rounds', '6.5 rounds')
    """
    return f"{count(number)} {of_number(number, noun)}"


def shortened(text: str, most: int) -> str:
    """Return at most so many characters of a name, its beginning and its end.

    >>> shortened("lr=0.1", 9), shortened("lr=0.1_clients=5", 9)
    ('lr=0.1', 'lr=0…ts=5')
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


def listed(words: list[str], most: int | None = None, last: str = "and") -> str:
    """Return words as people list them, of more than `most` the first.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], 2), listed(["a", "b"], last="or")
    ('a, b and c', 'a, b and 2 more', 'a or b')
    """
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def metric(name: str) -> str:
    """Return what a loss's error or a scenario's metric is called.

    >>> metric("auc"), metric("macro_f1"), metric("recall")
    ('AUC', 'macro f1', 'recall')
    """
    return name.upper() if len(name) <= len("RMSE") else name.replace("_", " ")
