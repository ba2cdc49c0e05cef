"""Plans from a pilot: races on items that are resampled from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.arms import TableArms, UnpairedArms
from bestarm.checks import check_bounds, check_count, check_flag, check_seed
from bestarm.inputs.options import Options, PlanOptions, checked_aim, choose_algorithm, known_options
from bestarm.inputs.tables import Missing, ScoreTable, check_n_columns, check_within, score_table, without_gaps
from bestarm.planning.leads import found_leads
from bestarm.planning.outcome import QUANTILES, Plan, PlannedRule, where
from bestarm.planning.races import LONGEST, Effort, PlannedRace, evaluations_by_pilot

FEWEST_ITEMS = 5
REPETITIONS = 600
FIRST = Effort(pilots=12, races=5, longest=20_000)  # what a second or two are enough for
PILOTS = 40
FEWEST_RACES = FIRST.pilots * FIRST.races
WORK = 10_000_000  # evaluations that the refined plan may simulate: some five seconds
RANGE = (0.05, 0.95)
CAUTIOUS = 0.65  # the quantile over resampled pilots that is predicted: of their median, more plans were too low
MOST_BUDGET = 1_000_000


@dataclass(frozen=True)
class _Pilot:
    """A pilot as it is raced on: more is better; and the race that is planned."""

    table: ScoreTable
    scores: NDArray[np.float64]
    options: Options
    race: PlannedRace


def plan(
    pilot: Any,
    *,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    n_items: int | None = None,
    max_evaluations: int | None = None,
    repetitions: int = REPETITIONS,
    **options: Unpack[PlanOptions],
) -> Plan:
    """How many evaluations a race like this pilot will need, by racing on items resampled from it.

    The rule is the one that `bestarm.race` will use: with ``bounds`` and ``n_items`` the race is about the mean over a
    list and ends with it at the latest; otherwise it is about the law of fresh items.

    Races are simulated on many pilots of half the size, drawn with replacement from this one. The median that is
    predicted is the 65% quantile of their medians, because pilots that look easy by chance promise too much; and if
    their medians spread over more than a factor of 2.5, the plan says that the pilot is too small. This is a bootstrap
    and a heuristic, measured by ``benchmarks/plan_check.py``: it promises nothing, and the guarantee of the race does
    not depend on it.

    Parameters
    ----------
    pilot : a score table as in `bestarm.race_table`; 50 items are a good start
    bounds : of the race that is planned, as in `bestarm.race`
    missing : of the pilot, as in `bestarm.race_table`
    n_items : the number of items, if the race will be on a list (a test set); without, on fresh items without end
    max_evaluations : a budget; the plan then says how likely a race has an answer within it, and which leads of the
        best arm over the next would be found, were the pilot's best column raised or lowered (and clipped to the
        bounds) so that it leads by so much
    repetitions : simulated races; fewer where they are long
    options : ``criterion``, ``target``, ``delta``, ``lower_is_better``, ``epsilon``, ``indifference_zone``,
        ``min_rounds`` of the race that is planned; ``seed`` of the resampling

    """
    *_, refined = refining_plans(
        pilot,
        arms=arms,
        bounds=bounds,
        missing=missing,
        n_items=n_items,
        max_evaluations=max_evaluations,
        repetitions=repetitions,
        **options,
    )
    return refined


def refining_plans(
    pilot: Any, *, max_evaluations: int | None = None, repetitions: int = REPETITIONS, **settings: Any
) -> Iterator[Plan]:
    """A first plan from few races, without the part about a budget; then the one that `bestarm.plan` returns."""
    check_count("repetitions", repetitions, least=10)
    read = _read_pilot(pilot, **settings)
    if max_evaluations is not None:
        _check_budget(max_evaluations, len(read.table.arms))
    needed = evaluations_by_pilot(read.race, read.scores, TableArms, FIRST, read.options.seed)
    yield _planned(read, needed)
    effort = _refined_effort(needed, repetitions, max(LONGEST, max_evaluations or 0))
    needed = evaluations_by_pilot(read.race, read.scores, TableArms, effort, read.options.seed)
    refined = _planned(read, needed)
    refined = replace(refined, rules=(*refined.rules, _without_pairing(read)))
    if max_evaluations is not None:
        by_mean = read.race.algorithm.start(2).guarantee.criterion == "mean"  # a shift of scores is no lead in wins
        budget, seed = max_evaluations, read.options.seed
        leads = found_leads(read.race, read.scores, read.options.bounds, budget, seed) if by_mean else ()
        share = float(np.mean(needed <= max_evaluations))
        refined = replace(refined, max_evaluations=max_evaluations, decided=share, leads=leads)
    yield refined


def _read_pilot(
    pilot: Any,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    n_items: int | None = None,
    **options: Any,
) -> _Pilot:
    chosen = known_options("plan", options, PlanOptions)
    check_seed(chosen.seed)
    check_flag("lower_is_better", chosen.lower_is_better)
    if n_items is not None:
        check_count("n_items", n_items, least=2)
    limits = None if bounds is None else check_bounds(bounds)
    table = score_table(pilot, arms)
    check_n_columns(table)
    table = check_within(table, limits)
    table = without_gaps(table, missing, limits, chosen.lower_is_better)
    if len(table.items) < FEWEST_ITEMS:
        raise ValueError(f"a pilot must have at least {FEWEST_ITEMS} items, got {len(table.items)}")
    scores, limits = _rewards(table.scores, limits, chosen.lower_is_better)
    chosen = replace(chosen, bounds=limits)
    algorithm = choose_algorithm(chosen, n_items)
    if chosen.target == "items" and algorithm.start(2).guarantee.pool is None:
        raise ValueError(
            "target='items' needs the length of the list, n_items, and bounds=(low, high) or criterion='wins': without "
            "them a race is about the population"
        )
    return _Pilot(table, scores, chosen, PlannedRace(algorithm, n_items))


def _check_budget(max_evaluations: int, n_arms: int) -> None:
    check_count("max_evaluations", max_evaluations)
    if max_evaluations < n_arms:
        raise ValueError(f"max_evaluations must allow for one round of all {n_arms} arms, got {max_evaluations}")
    if max_evaluations > MOST_BUDGET:
        raise ValueError(
            f"max_evaluations must be at most {MOST_BUDGET} in a plan, so that races can be simulated, got "
            f"{max_evaluations}"
        )


def _rewards(
    scores: NDArray[np.float64], bounds: tuple[float, float] | None, lower_is_better: bool
) -> tuple[NDArray[np.float64], tuple[float, float] | None]:
    """Scores of which more is better, and their bounds."""
    if bounds is not None:
        scores = np.clip(scores, *bounds)
        bounds = (-bounds[1], -bounds[0]) if lower_is_better else bounds
    return (-scores if lower_is_better else scores), bounds


def _refined_effort(needed: NDArray[np.float64], repetitions: int, longest: int) -> Effort:
    """As many races as were asked for, or as can be afforded if they are as long as the first ones."""
    length = float(np.mean(np.where(np.isfinite(needed), needed, longest)))
    races = min(repetitions, max(FEWEST_RACES, int(WORK / length)))
    pilots = max(1, min(PILOTS, races // FIRST.races))
    return Effort(pilots, races // pilots, longest)


def _planned(pilot: _Pilot, needed: NDArray[np.float64]) -> Plan:
    """What the evaluations of races on resampled pilots say."""
    low, high = np.quantile(np.median(needed, axis=1), RANGE, method="inverted_cdf")
    table, best = pilot.table, int(np.argmax(pilot.scores.mean(axis=0)))
    same = (pilot.scores == pilot.scores[:, [best]]).all(axis=0)
    return Plan(
        pilot_items=len(table.items),
        n_arms=len(table.arms),
        n_items=pilot.race.n_items,
        delta=checked_aim(pilot.options)[0],
        best=table.arms[best],
        twins=tuple(table.arms[arm] for arm in np.flatnonzero(same) if arm != best),
        rules=(_rule(f"a race {where(pilot.race.n_items)}", needed),),
        median_range=(float(low), float(high)),
    )


def _without_pairing(pilot: _Pilot) -> PlannedRule:
    """What a race would need if every arm had items of its own."""
    effort = replace(FIRST, longest=LONGEST)
    needed = evaluations_by_pilot(pilot.race, pilot.scores, UnpairedArms, effort, pilot.options.seed)
    return _rule("the same, different items for each arm", needed)


def _rule(rule: str, needed: NDArray[np.float64]) -> PlannedRule:
    """Quantiles of the evaluations of all races; but the median is the cautious one of the pilots' medians.

    The order is kept: at least 30% of the races are at most it, and at least 15% are not below it.
    """
    quantiles = dict(zip(QUANTILES, np.quantile(needed, QUANTILES, method="inverted_cdf").tolist(), strict=True))
    cautious = np.quantile(np.median(needed, axis=1), CAUTIOUS, method="inverted_cdf")
    return PlannedRule(rule, quantiles | {0.5: float(cautious)})
