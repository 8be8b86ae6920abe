"""Shares: ``30%`` or ``0.3`` <-> a fraction of one."""

import re
import sys
from decimal import Decimal
from fractions import Fraction

from simfl.core.units.quantity import LONGEST, NUMBER, plain
from simfl.errors import UnitError


def parse_share(value: object, maximum: float | None = 1.0) -> float:
    """Return ``"30%"``, ``0.3`` or ``"0.3"`` as a fraction of one.

    Args:
        value: a share.
        maximum: largest sensible one; None: any, but more than 100% only with a percent sign.

    Raises:
        UnitError: it is no share, negative, or too large.

    >>> parse_share("30%")
    0.3
    """
    text = "" if isinstance(value, bool) else str(value).strip()
    share = re.fullmatch(rf"({NUMBER})\s*(%?)", text) if len(text) <= LONGEST else None
    if share is None:
        raise UnitError(f"expected a share such as '30%' or 0.3, got {value!r}")
    exact = Fraction(share[1]) / (100 if share[2] else 1)
    if abs(exact) > sys.float_info.max:
        raise UnitError(f"expected a share that is finite, got {value!r}")
    result = float(exact) + 0.0
    if result < 0:
        raise UnitError(f"a share can't be negative, got {value!r}")
    if maximum is None and result > 1 and not share[2]:
        raise UnitError(
            f"a share of more than 100% has a percent sign, got {value!r}; did you mean "
            f"'{text}%', or '{format_share(result)}'?"
        )
    if maximum is not None and result > maximum:
        hint = f"; did you mean '{text}%'?" if not share[2] and result <= 100 * maximum else ""
        raise UnitError(f"expected a share of at most {maximum:.0%}, got {value!r}{hint}")
    return result


def format_share(value: float) -> str:
    """Return short text that `parse_share` turns back into `value`, with a percent sign above 100%.

    >>> format_share(0.3), format_share(1 / 3)
    ('30%', '0.3333333333333333')
    """
    for number in (plain(value * 100), repr(round(value * 100, 9)).removesuffix(".0")):
        if float(Fraction(number) / 100) == value and len(number) < 12:
            return f"{number}%"
    return plain(value) if value <= 1 else f"{(Decimal(repr(value)) * 100).normalize():f}%"
