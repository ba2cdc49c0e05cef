"""Numbers as people read them: one number of decimals for a whole result, units, bounds that are rounded up."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.result.population import widest_lead

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult

MOST_DECIMALS = 16
PLAIN = (1e-4, 1e12)  # scores of such sizes are written without a power of ten
SMALLEST = 1e-12  # of the size of the scores: a smaller difference is rounding
PREFIXES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))}  # of units that take one


@dataclass(frozen=True)
class Format:
    """How scores or differences are written: so many of ``size`` and its ``unit``, with so many decimals."""

    decimals: int
    size: float = 1.0
    unit: str = ""
    power: int = 0  # of ten, which ``size`` holds: 3.1e-15

    @property
    def heading(self) -> str:
        """What numbers without their unit are to be multiplied with, for a heading; nothing if it is 1."""
        return " ".join(part for part in (f"1e{self.power:+03d}" if self.power else "", self.unit) if part)

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

    def rounded_down(self, value: float) -> str:
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
        text = f"{text}e{self.power:+03d}" if self.power and text[-1:].isdigit() else text
        return f"{text}{'' if self.unit in ('', '%') else ' '}{self.unit}"


def score_format(result: "RaceResult[Any]") -> Format:
    """How the scores of a result are written; differences of means have the same form.

    The last digit is worth less than the standard error of the lead over the closest rival, and shows that lead.
    """
    size, unit, power = _unit(result)
    return Format(_decimals(result, size), size, unit, power)


def lead_format(result: "RaceResult[Any]") -> Format:
    """How differences are written: as scores, or as shares of items where wins count."""
    if result.guarantee.criterion == "mean":
        return score_format(result)
    return Format(max(0, _digits_of(100.0 / max(1, result.n_rounds))), 0.01, "%")  # one item more is seen


def bound_text(result: "RaceResult[Any]", bound: float) -> str | None:
    """How much better than the leader another arm can be, in the same form wherever it is shown.

    None where it says nothing: unknown, or no less than any lead there can be.
    """
    form = lead_format(result)
    known = math.isfinite(bound) and form.rounded_up(bound) * form.size < widest_lead(result.bounds, result.guarantee)
    return form.at_most(bound) if known else None


def _unit(result: "RaceResult[Any]") -> tuple[float, str, int]:
    """The unit of the scores with its prefix, by the mean of the leader; of the largest and tiniest a power of ten."""
    unit = result.settings.unit or ""
    means = np.abs(result.means[np.isfinite(result.means)])
    largest = float(means.max(initial=0.0))
    if unit in PREFIXES and largest > 0.0:
        of_leader = abs(float(result.means[result.order[0]]))
        typical = of_leader if of_leader > 0.0 else largest  # a leader without a mean is not above 0
        return *next(((size, name) for size, name in PREFIXES[unit] if typical >= size), PREFIXES[unit][-1]), 0
    if largest == 0.0 or PLAIN[0] <= largest < PLAIN[1]:
        return 1.0, unit, 0
    power = 3 * math.floor(math.log10(largest) / 3)
    return 10.0**power, unit, power


def _decimals(result: "RaceResult[Any]", size: float) -> int:
    """So many that the last digit is below the standard error of the closest lead, and no lead looks like 0."""
    if result.n_rounds == 0 or len(result.order) < 2:
        return 3
    leader, rival = result.order[:2]
    _, first, second = result.by_arm.shared(leader, rival)
    if first.size == 0:
        return 3
    scale = max(float(np.abs([first, second]).max()) / size, SMALLEST)
    error = float(np.std((first - second) / size)) / math.sqrt(first.size)
    leads = [abs(record.behind) / size for record in result.records] if result.guarantee.criterion == "mean" else []
    least = min((lead for lead in leads if lead > SMALLEST * scale), default=0.0)  # NaN is not greater
    if error <= SMALLEST * scale and least == 0.0:
        return max(0, min(3, _digits_of(scale) + 3))
    wanted = [_digits_of(value) + more for value, more in ((error, 1), (least, 0)) if value > SMALLEST * scale]
    return min(max(0, *wanted), MOST_DECIMALS)


def _digits_of(value: float) -> int:
    """Decimals that show the first digit of a number."""
    return -math.floor(math.log10(value))
