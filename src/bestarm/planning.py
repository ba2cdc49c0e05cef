"""How many evaluations will a race like this pilot need, and what can be found within a budget?"""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm
from bestarm.arms import Arms, TableArms, UnpairedArms
from bestarm.checks import check_bounds, check_count, check_flag, check_seed
from bestarm.errors import AssumptionWarning, ParameterError
from bestarm.racing.options import Options, PlanOptions, checked_aim, choose_algorithm, known_options
from bestarm.record.record import RewardTransform
from bestarm.record.settings import FORMAT
from bestarm.simulation import Simulation, simulate
from bestarm.sources.frames import score_table
from bestarm.sources.tables import Missing, ScoreTable, check_n_columns, check_within, without_gaps
from bestarm.text import name_of

__all__ = ["FoundLead", "Plan", "PlannedRule", "plan", "refining_plans"]


@dataclass(frozen=True)
class Effort:
    """How much is simulated: races on each of several resampled pilots, and how long a race may become."""

    pilots: int
    races: int
    longest: int


QUANTILES = (0.1, 0.5, 0.9)
CAUTIOUS = 0.65  # the quantile over resampled pilots that is predicted: of their median, more plans were too low
RANGE = (0.05, 0.95)  # of the medians of resampled pilots
TRUSTED = 2.5  # the largest ratio of the ends of that range: then 1.5 either way holds (`benchmarks/validity.py plans`)
FEWEST_ITEMS = 5  # of a pilot
LONGEST = 100_000  # evaluations after which a race counts as never ending
REPETITIONS = 600
FIRST = Effort(pilots=12, races=5, longest=20_000)  # what a second or two are enough for
PILOTS = 40  # resampled for the refined plan
WORK = 10_000_000  # evaluations that the refined plan may simulate: some five seconds
MOST_BUDGET = 1_000_000
RACES_PER_LEAD = (20, 200)  # the fewest and the most, fewer where they are long
WORK_PER_LEAD = 2_000_000  # evaluations
LARGEST_LEAD = 4.0  # the first that is tried, in standard deviations of the difference
LEADS_TRIED = 15
LEADS_SHOWN = 6
WIDTH = 38  # of the first column of the text form
Scores = NDArray[np.float64]
Bounds = tuple[float, float] | None


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
        (low, high), where = self.median_range, _where(self.n_items)
        if self.large_enough:
            return f"A race {where} will need about {self.median:,.0f} evaluations ({low:,.0f} to {high:,.0f})."
        if self._runs_out and not self.twins:
            return (
                f"Most races {where} will have no answer when the items run out. More items would help, or "
                "bounds, if the scores have any: then the mean over the list is known when all items are scored."
            )
        return (
            f"The pilot of {self.pilot_items:,} items is too small to plan a race {where}: {self._doubt}. "
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


def _where(n_items: int | None) -> str:
    """What a race is run on, in words."""
    return "on fresh items" if n_items is None else f"on a list of {n_items:,} items"


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "no end seen"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def plan(  # noqa: PLR0913 - columns are chosen here as in a file
    pilot: Any,
    *,
    arms: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
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
    and a heuristic, measured by ``benchmarks/validity.py plans``: it promises nothing, and the guarantee of the race
    does not depend on it.

    Parameters
    ----------
    pilot : a score table as in `bestarm.race_table`, as are ``arms``, ``ignore``, ``item_column``, ``arm_column`` and
        ``score_column``; 50 items are a good start
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
    columns = {"item_column": item_column, "arm_column": arm_column, "score_column": score_column}
    given: dict[str, Any] = {"arms": arms, "ignore": ignore, **columns, "bounds": bounds, "missing": missing}
    given |= {"n_items": n_items, **options}
    *_, refined = refining_plans(pilot, max_evaluations=max_evaluations, repetitions=repetitions, **given)
    return refined


def refining_plans(
    pilot: Any, *, max_evaluations: int | None = None, repetitions: int = REPETITIONS, **settings: Any
) -> Iterator[Plan]:
    """A first plan from few races, without the part about a budget; then the one that `bestarm.plan` returns."""
    check_count("repetitions", repetitions, least=10)
    read = _read_pilot(pilot, **settings)
    if max_evaluations is not None:
        _check_budget(max_evaluations, len(read.table.arms))
    needed = read.evaluations(TableArms, FIRST)
    yield _planned(read, needed)
    needed = read.evaluations(TableArms, _refined_effort(needed, repetitions, max(LONGEST, max_evaluations or 0)))
    alone = read.evaluations(UnpairedArms, replace(FIRST, longest=LONGEST))
    refined = _planned(read, needed)
    refined = replace(refined, rules=(*refined.rules, _rule("the same, different items for each arm", alone)))
    if max_evaluations is not None:
        by_mean = read.race.algorithm.start(2).guarantee.criterion == "mean"  # a shift of scores is no lead in wins
        budget, seed = max_evaluations, read.options.seed
        leads = found_leads(read.race, read.rewards, read.options.bounds, budget, seed) if by_mean else ()
        refined = replace(refined, max_evaluations=budget, decided=float(np.mean(needed <= budget)), leads=leads)
    yield refined


@dataclass(frozen=True)
class PlannedRace:
    """The race that is planned.

    A list of items drawn from the law of the pilot, taken in random order, is a sequence of independent draws of that
    law: a race on a list is simulated as one on fresh items that ends after ``n_items`` rounds. An algorithm that knows
    the length of its list has the answer then, any other has none.
    """

    algorithm: Algorithm
    n_items: int | None = None

    def play(self, arms: Arms, races: int, seed: int, longest: int) -> Simulation:
        """So many races, each of at most so many evaluations."""
        limits = {"max_rounds": self.n_items, "max_queries": max(longest, arms.n_arms)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # resampled items are discrete whatever the scores are
            limited = replace(self.algorithm, **limits)  # type: ignore[type-var]
            return simulate(limited, arms, repetitions=races, seed=seed, progress=False)

    def evaluations(self, arms: Arms, races: int, seed: int, longest: int) -> NDArray[np.float64]:
        """The evaluations of each race, infinite where it had no answer."""
        games = self.play(arms, races, seed, longest)
        return np.where(games.answered, games.queries, np.inf)


@dataclass(frozen=True)
class _Pilot:
    """A pilot, its scores as rewards (more is better), and the race that is planned."""

    table: ScoreTable
    rewards: Scores
    options: Options
    race: PlannedRace

    def evaluations(self, kind: Callable[[Scores], Arms], effort: Effort) -> NDArray[np.float64]:
        """The evaluations of races on resampled pilots, shape (pilots, races).

        Pilots of half as many items are drawn with replacement from this one: from pilots of full size the differences
        look too certain, and those that look easy by chance would be called large enough.
        """
        seed, n = self.options.seed, len(self.rewards)
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        halves = [self.rewards[rng.integers(n, size=(n + 1) // 2)] for _ in range(effort.pilots)]
        found = [
            self.race.evaluations(kind(half), effort.races, seed + k, effort.longest)
            for k, half in enumerate(halves, start=1)
        ]
        return np.array(found)


def _read_pilot(
    pilot: Any,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    n_items: int | None = None,
    **options: Any,
) -> _Pilot:
    names = ("ignore", "item_column", "arm_column", "score_column")
    columns = {name: options.pop(name) for name in names if name in options}
    chosen = known_options("plan", options, PlanOptions)
    check_seed(chosen.seed)
    check_flag("lower_is_better", chosen.lower_is_better)
    if n_items is not None:
        check_count("n_items", n_items, least=2)
    limits = None if bounds is None else check_bounds(bounds)
    table = score_table(pilot, arms, **columns)
    check_n_columns(table)
    table = check_within(table, limits)
    table = without_gaps(table, missing, limits, chosen.lower_is_better)
    if len(table.items) < FEWEST_ITEMS:
        raise ValueError(f"a pilot must have at least {FEWEST_ITEMS} items, got {len(table.items)}")
    rewards = RewardTransform(chosen.lower_is_better, limits).rewards(table.scores, 1)
    chosen = replace(chosen, bounds=limits)
    algorithm = choose_algorithm(chosen, n_items)
    if chosen.target == "items" and algorithm.start(2).guarantee.pool is None:
        raise ParameterError(
            "target",
            "cannot be 'items' without {n_items}, the length of the list, and {bounds} or wins as {criterion}: a race "
            "is about the population then",
            "items",
            {"n_items": "n_items", "bounds": "bounds=(low, high)", "criterion": "criterion"},
        )
    return _Pilot(table, rewards, chosen, PlannedRace(algorithm, n_items))


def _check_budget(max_evaluations: int, n_arms: int) -> None:
    check_count("max_evaluations", max_evaluations)
    if max_evaluations < n_arms:
        problem = f"must allow for one round of all {n_arms} arms, got {max_evaluations}"
        raise ParameterError("max_evaluations", problem, max_evaluations)
    if max_evaluations > MOST_BUDGET:
        problem = f"must be at most {MOST_BUDGET} in a plan, so that races can be simulated, got {max_evaluations}"
        raise ParameterError("max_evaluations", problem, max_evaluations)


def _refined_effort(needed: NDArray[np.float64], repetitions: int, longest: int) -> Effort:
    """As many races as were asked for, or as can be afforded if they are as long as the first ones."""
    length = float(np.mean(np.where(np.isfinite(needed), needed, longest)))
    races = min(repetitions, max(FIRST.pilots * FIRST.races, int(WORK / length)))
    pilots = max(1, min(PILOTS, races // FIRST.races))
    return Effort(pilots, races // pilots, longest)


def _planned(pilot: _Pilot, needed: NDArray[np.float64]) -> Plan:
    """What the evaluations of races on resampled pilots say."""
    low, high = np.quantile(np.median(needed, axis=1), RANGE, method="inverted_cdf")
    table, best = pilot.table, int(np.argmax(pilot.rewards.mean(axis=0)))
    alike = (pilot.rewards == pilot.rewards[:, [best]]).all(axis=0)
    return Plan(
        pilot_items=len(table.items),
        n_arms=len(table.arms),
        n_items=pilot.race.n_items,
        delta=checked_aim(pilot.options)[0],
        best=table.arms[best],
        twins=tuple(table.arms[arm] for arm in np.flatnonzero(alike) if arm != best),
        rules=(_rule(f"a race {_where(pilot.race.n_items)}", needed),),
        median_range=(float(low), float(high)),
    )


def _rule(rule: str, needed: NDArray[np.float64]) -> PlannedRule:
    """Quantiles of the evaluations of all races; but the median is the cautious one of the pilots' medians.

    The order is kept: at least 30% of the races are at most it, and at least 15% are not below it.
    """
    quantiles = dict(zip(QUANTILES, np.quantile(needed, QUANTILES, method="inverted_cdf").tolist(), strict=True))
    cautious = np.quantile(np.median(needed, axis=1), CAUTIOUS, method="inverted_cdf")
    return PlannedRule(rule, quantiles | {0.5: float(cautious)})


def found_leads(race: PlannedRace, rewards: Scores, bounds: Bounds, budget: int, seed: int) -> tuple[FoundLead, ...]:
    """How likely a lead of the best arm over the next is found within a budget, from the largest to one hardly found.

    The pilot's best column is raised or lowered, so that its mean leads as wanted and all else, the noise included,
    stays as it is; what would leave the bounds is put on them.
    """
    if race.n_items is not None and budget >= race.n_items * rewards.shape[1]:
        return ()  # all items can be scored
    best, races = int(np.argmax(rewards.mean(axis=0))), int(np.clip(WORK_PER_LEAD // budget, *RACES_PER_LEAD))
    leads: list[FoundLead] = []
    for lead in _leads_to_try(rewards, bounds):
        games = race.play(TableArms(with_lead(rewards, lead, bounds)), races, seed, budget)
        leads.append(FoundLead(lead, float(np.mean(games.answered & (games.winners == best)))))
        if leads[-1].found < 0.05:
            break
    surely = sum(lead.found > 0.99 for lead in leads)
    return tuple(leads[max(surely - 1, 0) :][:LEADS_SHOWN])


def with_lead(rewards: Scores, lead: float, bounds: Bounds) -> Scores:
    """The rewards with the best column shifted until its mean leads the next by so much, within the bounds."""
    best, second = _two_largest_means(rewards)
    column, wanted = rewards[:, best], rewards[:, second].mean() + lead

    def shifted(shift: float) -> Scores:
        return column + shift if bounds is None else np.clip(column + shift, *bounds)

    low, high = wanted - column.max(), wanted - column.min()
    for _ in range(60):  # bisection: the mean of the shifted and clipped column increases with the shift
        middle = (low + high) / 2
        low, high = (middle, high) if shifted(middle).mean() < wanted else (low, middle)
    changed = rewards.copy()
    changed[:, best] = shifted(high)
    return changed


def _leads_to_try(rewards: Scores, bounds: Bounds) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten) in decreasing order, from the largest that makes sense."""
    best, second = _two_largest_means(rewards)
    largest = LARGEST_LEAD * float(np.std(rewards[:, best] - rewards[:, second]))
    if bounds is not None:
        largest = min(largest, bounds[1] - float(rewards[:, second].mean()))
    if largest <= 0:
        return []
    top = int(np.floor(np.log10(largest)))
    numbers = [float(f"{digit}e{power}") for power in range(top, top - LEADS_TRIED, -1) for digit in (5, 2, 1)]
    return [number for number in numbers if number <= largest][:LEADS_TRIED]


def _two_largest_means(rewards: Scores) -> tuple[int, int]:
    """The arms with the two largest means."""
    best, second = np.argsort(-rewards.mean(axis=0), kind="stable")[:2].tolist()
    return best, second
