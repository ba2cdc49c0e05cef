"""How many evaluations will a race like this pilot need?"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm
from bestarm.arms import Arms, TableArms, UnpairedArms
from bestarm.checks import check_bounds, check_count, check_flag
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from bestarm.errors import AssumptionWarning
from bestarm.inputs.options import Options, PlanOptions, checked_aim, choose_algorithm, known_options
from bestarm.inputs.plain import FORMAT
from bestarm.inputs.tables import Missing, check_within, score_table, without_gaps
from bestarm.simulation import simulate

QUANTILES = (0.1, 0.5, 0.9)
LONGEST = 100_000  # rounds after which a race counts as never ending
FEWEST_ITEMS = 5
PILOTS = 40  # resampled pilots that say how far the prediction can be trusted
GAMES_EACH = 21
TRUSTED = 2.0  # the largest ratio between the 95% and the 5% quantile of their predictions: then 1.5 either way holds


@dataclass(frozen=True)
class PlannedRule:
    """The evaluations that one rule needs on resampled items: quantiles, infinite where a race did not end."""

    rule: str
    evaluations: dict[float, float]


@dataclass(frozen=True)
class Plan:
    """What a pilot says about a race like it; its text form is a table.

    ``median_range`` holds nine tenths of the medians that pilots resampled from this one predict for that rule:
    how far the prediction depends on which items the pilot happened to have. It is a bootstrap, not a guarantee.
    """

    n_items: int
    n_arms: int
    delta: float
    best: str
    rules: tuple[PlannedRule, ...]
    median_range: tuple[float, float]

    @property
    def median(self) -> float:
        """The median number of evaluations of the rule of `bestarm.race`."""
        return self.rules[0].evaluations[0.5]

    @property
    def large_enough(self) -> bool:
        """Whether the pilot tells the median within a factor of about 1.5."""
        low, high = self.median_range
        return math.isfinite(high) and high <= TRUSTED * low

    @property
    def advice(self) -> str:
        """What to make of it, in a sentence or two."""
        low, high = self.median_range
        if self.large_enough:
            return f"A race like this pilot will need about {self.median:,.0f} evaluations ({low:,.0f} to {high:,.0f})."
        least, most = (
            f"{value:,.0f} evaluations" if math.isfinite(value) else "no end in sight" for value in (low, high)
        )
        spread = f"the median could be anywhere from {least} to {most}" if math.isfinite(low) else "no end is in sight"
        return (
            f"The pilot of {self.n_items} items is too small to plan with: {spread}. Starting the race costs nothing "
            "extra, and its guarantee needs no plan; for a plan, score more items."
        )

    def __str__(self) -> str:
        heading = f"{'evaluations needed':<38}" + "".join(f"{f'{q:.0%} of races':>15}" for q in QUANTILES)
        lines = [
            f"{rule.rule:<38}" + "".join(f"{_count(rule.evaluations[q]):>15}" for q in QUANTILES) for rule in self.rules
        ]
        return "\n".join([self.advice, "", heading, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, null where a race did not end."""
        plain = (
            {"format": FORMAT}
            | asdict(self)
            | {"advice": self.advice, "large_enough": self.large_enough, "median": self.median}
        )
        plain["rules"] = [
            {"rule": rule.rule, "evaluations": {f"{q:g}": _finite(n) for q, n in rule.evaluations.items()}}
            for rule in self.rules
        ]
        plain["median"] = _finite(self.median)
        plain["median_range"] = [_finite(value) for value in self.median_range]
        return plain


def plan(
    pilot: Any,
    *,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    repetitions: int = 200,
    **options: Unpack[PlanOptions],
) -> Plan:
    """How many evaluations a race like this pilot will need, by racing on items resampled from it.

    For three rules: the one that `bestarm.race` uses, the paper's, and the first on different items for each arm.
    It also resamples the pilot itself to say whether it is large enough to be trusted. This is a bootstrap: it promises
    nothing, and the guarantee of the race does not depend on it.

    Parameters
    ----------
    pilot : a score table as in `bestarm.race_table`; 50 items are a good start
    repetitions : races of each rule
    bounds : of the race that is planned, as in `bestarm.race`
    missing : of the pilot, as in `bestarm.race_table`
    options : ``delta``, ``lower_is_better``, ``epsilon``, ``indifference_zone``, ``min_rounds`` of the race that is
        planned; ``seed`` of the resampling

    """
    check_count("repetitions", repetitions, least=10)
    chosen = known_options("plan", options, PlanOptions)
    check_count("seed", chosen.seed, least=0)
    check_flag("lower_is_better", chosen.lower_is_better)
    delta, epsilon, zone = checked_aim(chosen)
    limits = None if bounds is None else check_bounds(bounds)
    table = score_table(pilot, arms)
    table = without_gaps(check_within(table, limits), missing, limits, chosen.lower_is_better)
    if len(table.items) < FEWEST_ITEMS:
        raise ValueError(f"a pilot must have at least {FEWEST_ITEMS} items, got {len(table.items)}")
    scores, length = _rewards(table.scores, limits, chosen.lower_is_better)
    scaled = replace(
        chosen,
        bounds=None if limits is None else (0.0, 1.0),
        epsilon=epsilon / length,
        indifference_zone=zone / length,
    )
    rules, medians = _planned_rules(scaled, scores, repetitions)
    low, high = np.quantile(medians, [0.05, 0.95], method="inverted_cdf")
    return Plan(
        n_items=len(table.items),
        n_arms=len(table.arms),
        delta=delta,
        best=table.arms[int(np.argmax(scores.mean(axis=0)))],
        rules=rules,
        median_range=(float(low), float(high)),
    )


def _planned_rules(
    options: Options, scores: NDArray[np.float64], repetitions: int
) -> tuple[tuple[PlannedRule, ...], NDArray[np.float64]]:
    """What three rules need on resampled items, and the medians of the first on resampled pilots."""
    sharp, seed = choose_algorithm(options, None), options.seed
    paper = GaussianBernstein() if options.bounds is None else EmpiricalBernstein()
    ruled = replace(sharp, comparison=paper)  # type: ignore[type-var]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # resampled items are discrete whatever the scores are
        rules = (
            _planned("the rule of bestarm.race", sharp, TableArms(scores), repetitions, seed),
            _planned("the paper's rule", ruled, TableArms(scores), repetitions, seed + 1),
            _planned("the same, different items for each arm", sharp, UnpairedArms(scores), repetitions, seed + 2),
        )
        return rules, _medians_of_pilots(sharp, scores, rules[0].evaluations[0.5], seed + 3)


def _rewards(
    scores: NDArray[np.float64], bounds: tuple[float, float] | None, lower_is_better: bool
) -> tuple[NDArray[np.float64], float]:
    """Scores of which more is better, bounded ones scaled to [0, 1] as the paper's rule takes them; and their scale."""
    if bounds is None:
        return (-scores if lower_is_better else scores), 1.0
    low, high = bounds
    scaled = (scores - low) / (high - low)
    return np.clip(1.0 - scaled if lower_is_better else scaled, 0.0, 1.0), high - low


def _planned(rule: str, algorithm: Algorithm, arms: Arms, repetitions: int, seed: int) -> PlannedRule:
    needed = _evaluations(algorithm, arms, repetitions, seed, LONGEST)
    quantiles = np.quantile(needed, QUANTILES, method="inverted_cdf")
    return PlannedRule(rule, dict(zip(QUANTILES, quantiles.tolist(), strict=True)))


def _evaluations(algorithm: Algorithm, arms: Arms, repetitions: int, seed: int, max_rounds: int) -> NDArray[np.float64]:
    """The evaluations of each race, infinite where one did not end."""
    limited = replace(algorithm, max_rounds=max_rounds)  # type: ignore[type-var]
    games = simulate(limited, arms, repetitions=repetitions, seed=seed)
    return np.where(games.answered, games.queries, np.inf)


def _medians_of_pilots(
    algorithm: Algorithm, scores: NDArray[np.float64], median: float, seed: int
) -> NDArray[np.float64]:
    """The median evaluations that pilots resampled from this one predict."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    longest = LONGEST if math.isinf(median) else int(min(LONGEST, 20 * median))  # beyond, the spread is clear
    resampled: Callable[[], Arms] = lambda: TableArms(scores[rng.integers(len(scores), size=len(scores))])  # noqa: E731
    return np.array(
        [np.median(_evaluations(algorithm, resampled(), GAMES_EACH, seed + k, longest)) for k in range(PILOTS)]
    )


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "no end seen"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
