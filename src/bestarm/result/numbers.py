"""Numbers as people read them: one number of decimals for a whole result, units, bounds that are rounded up."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.result.population import widest_lead

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult

MOST_DECIMALS = 9
SMALLEST = 1e-12  # of the size of the scores: a smaller difference is rounding
PREFIXES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))}  # of units that take one


@dataclass(frozen=True)
class Format:
    """How scores or differences are written: so many of ``size`` and its ``unit``, with so many decimals."""

    decimals: int
    size: float = 1.0
    unit: str = ""

    def number(self, value: float) -> str:
        """A number without its unit, for a column whose heading has it; nothing for NaN."""
        if math.isnan(value):
            return ""
        if math.isinf(value):
            return "unlimited" if value > 0 else "-unlimited"
        text = f"{value / self.size:,.{self.decimals}f}"
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text

    def amount(self, value: float) -> str:
        """A number with its unit, in a sentence."""
        return self._with_unit(self.number(value))

    def at_least(self, value: float) -> str:
        """A lower limit with its unit, rounded down."""
        step = 10.0**-self.decimals * self.size
        return self.amount(math.floor(value / step + 1e-9) * step)

    def exactly(self, value: float) -> str:
        """A number that somebody gave, with its unit."""
        return self._with_unit(f"{value / self.size:.12g}")

    def at_most(self, bound: float) -> str:
        """An upper bound, rounded up to two digits."""
        up = self.rounded_up(bound)
        digits = 1 - math.floor(math.log10(up)) if up else 0
        return self._with_unit(f"{up:.2g}" if 1e-4 <= up < 10 else f"{up:,.{max(0, digits)}f}")

    def rounded_up(self, bound: float) -> float:
        """An upper bound in this unit, rounded up to two digits."""
        value = bound / self.size
        if value <= 0.0:
            return 0.0
        step = 10.0 ** (math.floor(math.log10(value)) - 1)
        return math.ceil(value / step * (1.0 - 1e-12)) * step

    def _with_unit(self, text: str) -> str:
        return f"{text}{'' if self.unit in ('', '%') else ' '}{self.unit}"


def score_format(result: "RaceResult[Any]") -> Format:
    """How the scores of a result are written; differences of means have the same form.

    The last digit is worth less than the standard error of the lead over the closest rival, and shows that lead.
    """
    size, unit = _unit(result)
    return Format(_decimals(result, size), size, unit)


def lead_format(result: "RaceResult[Any]") -> Format:
    """How differences are written: as scores, or as shares of items where wins count."""
    if result.guarantee.criterion == "mean":
        return score_format(result)
    return Format(1 if result.n_rounds > 200 else 0, 0.01, "%")


def bound_text(result: "RaceResult[Any]", bound: float) -> str | None:
    """How much better than the leader another arm can be, in the same form wherever it is shown.

    None where it says nothing: unknown, or no less than any lead there can be.
    """
    form = lead_format(result)
    known = math.isfinite(bound) and form.rounded_up(bound) * form.size < widest_lead(result.bounds, result.guarantee)
    return form.at_most(bound) if known else None


def _unit(result: "RaceResult[Any]") -> tuple[float, str]:
    """The unit of the scores with its prefix, by the size of the mean of the leader."""
    unit = result.settings.unit or ""
    means = np.abs(result.means[np.isfinite(result.means)])
    if unit not in PREFIXES or means.size == 0:
        return 1.0, unit
    typical = float(means.min())
    return next(((size, name) for size, name in PREFIXES[unit] if typical >= size), PREFIXES[unit][-1])


def _decimals(result: "RaceResult[Any]", size: float) -> int:
    """So many that the last digit is below the standard error of the closest lead, and the lead is not 0."""
    if result.n_rounds == 0 or len(result.order) < 2:
        return 3
    leader, rival = result.order[:2]
    _, first, second = result.by_arm.shared(leader, rival)
    if first.size == 0:
        return 3
    differences, scale = (first - second) / size, max(float(np.abs([first, second]).max()) / size, SMALLEST)
    error = float(np.std(differences)) / math.sqrt(differences.size)
    lead = abs(float(np.mean(differences)))
    wanted = [
        _digits_of(error) + 1 if error > SMALLEST * scale else 0,
        _digits_of(lead) if lead > SMALLEST * scale else 0,
    ]
    if error <= SMALLEST * scale >= lead:
        wanted.append(min(3, _digits_of(scale) + 3))
    return min(max(0, *wanted), MOST_DECIMALS)


def _digits_of(value: float) -> int:
    """Decimals that show the first digit of a number."""
    return -math.floor(math.log10(value))
