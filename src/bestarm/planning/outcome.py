"""What a plan says."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from bestarm.inputs.plain import FORMAT
from bestarm.inputs.texts import name_of
from bestarm.planning.races import LONGEST

QUANTILES = (0.1, 0.5, 0.9)
TRUSTED = (
    2.5  # the largest ratio between the ends of `median_range`: then 1.5 either way holds (benchmarks/plan_check.py)
)
WIDTH = 38


@dataclass(frozen=True)
class PlannedRule:
    """The evaluations that one rule needs on resampled items: quantiles, infinite where a race had no answer."""

    rule: str
    evaluations: dict[float, float]


@dataclass(frozen=True)
class FoundLead:
    """The share of races in which an arm that leads all others by this much is found within the budget."""

    lead: float
    found: float


@dataclass(frozen=True)
class Plan:
    """What a pilot says about a race like it; its text form is advice and tables.

    All figures are a bootstrap and a heuristic, not a guarantee; `bestarm.plan` says how they are made.

    Attributes
    ----------
    pilot_items, n_arms : the size of the pilot
    n_items : the length of the list that the race is planned for; None for fresh items
    best : the arm with the best mean in the pilot
    twins : arms that have the scores of the best on every item of the pilot, which cannot tell how they differ
    rules : quantiles of the evaluations needed: of the race, and of one with different items for each arm
    median_range : holds nine tenths of the medians that pilots of half the size, drawn from this one, predict
    max_evaluations : the budget that was asked for; None if none was
    decided : the share of races that have their answer within the budget
    leads : how likely leads of the best over the next are found within the budget

    """

    pilot_items: int
    n_arms: int
    n_items: int | None
    delta: float
    best: str
    rules: tuple[PlannedRule, ...]
    median_range: tuple[float, float]
    twins: tuple[str, ...] = ()
    max_evaluations: int | None = None
    decided: float | None = None
    leads: tuple[FoundLead, ...] = ()

    @property
    def median(self) -> float:
        """The median number of evaluations that a race will need."""
        return self.rules[0].evaluations[0.5]

    @property
    def large_enough(self) -> bool:
        """Whether the pilot tells the median within a factor of about 1.5."""
        low, high = self.median_range
        return not self.twins and math.isfinite(high) and high <= TRUSTED * low

    @property
    def advice(self) -> str:
        """What to make of it, in a sentence or two."""
        low, high = self.median_range
        if self.large_enough:
            return f"A race {self._where} will need about {self.median:,.0f} evaluations ({low:,.0f} to {high:,.0f})."
        if self._runs_out and not self.twins:
            return (
                f"Most races {self._where} will have no answer when the items run out. More items would help, or "
                "bounds, if the scores have any: then the mean over the list is known when all items are scored."
            )
        return (
            f"The pilot of {self.pilot_items:,} items is too small to plan a race {self._where}: {self._doubt}. "
            "Starting the race costs nothing extra, and its guarantee needs no plan; for a plan, score more items."
        )

    @property
    def _doubt(self) -> str:
        """Why the pilot is too small."""
        if self.twins:
            return f"{' and '.join(map(name_of, [self.best, *self.twins]))} have the same score on every item"
        low, high = self.median_range
        if math.isinf(low):
            return "no end is in sight"
        most = f"{high:,.0f}" if math.isfinite(high) else "no end in sight"
        return f"the median could be anywhere from {low:,.0f} evaluations to {most}"

    @property
    def _where(self) -> str:
        return where(self.n_items)

    @property
    def _runs_out(self) -> bool:
        """Whether hardly a race has an answer because its items run out."""
        whole = None if self.n_items is None else self.n_items * self.n_arms
        return whole is not None and whole <= LONGEST and math.isinf(self.median_range[0])

    def __str__(self) -> str:
        heading = f"{'evaluations needed':<{WIDTH}}" + "".join(f"{f'{q:.0%} of races':>13}" for q in QUANTILES)
        lines = [
            f"{rule.rule:<{WIDTH}}" + "".join(f"{_count(rule.evaluations[q]):>13}" for q in QUANTILES)
            for rule in self.rules
        ]
        return "\n".join([self.advice, "", heading, *lines, *self._budget_lines()])

    def _budget_lines(self) -> list[str]:
        if self.max_evaluations is None or self.decided is None:
            return []
        budget = f"{self.max_evaluations:,} evaluations"
        lines = ["", f"Within {budget}, {self.decided:.0%} of races like this pilot have an answer."]
        if self.n_items is not None and self.max_evaluations >= self.n_items * self.n_arms:
            lines.append(f"That is enough to score all {self.n_arms} arms on all {self.n_items:,} items.")
        if self.leads:
            lines += ["", f"{'lead of the best over the next':<{WIDTH}}found within {budget}"]
            lines += [f"{lead.lead:<{WIDTH}g}in {lead.found:.0%} of races" for lead in self.leads]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain values, null where a race had no answer."""
        plain = {"format": FORMAT} | asdict(self)
        plain |= {"advice": self.advice, "large_enough": self.large_enough, "median": _finite(self.median)}
        plain["rules"] = [
            {"rule": rule.rule, "evaluations": {f"{q:g}": _finite(n) for q, n in rule.evaluations.items()}}
            for rule in self.rules
        ]
        plain["median_range"] = [_finite(value) for value in self.median_range]
        return plain | {"twins": list(self.twins), "leads": [asdict(lead) for lead in self.leads]}


def where(n_items: int | None) -> str:
    """What a race is run on, in words."""
    return "on fresh items" if n_items is None else f"on a list of {n_items:,} items"


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "no end seen"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
