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

__all__ = ["FoundLead", "LargerPilot", "Plan", "PlannedRule", "plan", "refining_plans"]


@dataclass(frozen=True)
class Effort:
    """How much is simulated: races on each of several resampled pilots, and how long a race may become."""

    pilots: int
    races: int
    longest: int


QUANTILES = (0.1, 0.5, 0.9)  # of races: the range, and the most likely (`benchmarks/validity.py plans` measures both)
RANGE = (0.05, 0.95)  # of the medians of resampled pilots
TRUSTED = 2.5  # the largest ratio of the ends of that range at which a pilot counts as large enough
FEWEST_ITEMS = 5  # of a pilot
LONGEST = 100_000  # evaluations after which a race counts as never ending
LARGER = 4  # times the items of the pilot: what that would add is said
WORTHWHILE = 0.9  # of the logarithmic width of the range: if a larger pilot leaves more of it, it adds hardly anything
USUALLY = 0.9  # of races: where fewer have an answer, that is said, and how many items would be enough
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
WIDTH = 32  # of the first column of the text form
Scores = NDArray[np.float64]
Bounds = tuple[float, float] | None


@dataclass(frozen=True)
class PlannedRule:
    """The evaluations that one rule takes on resampled items: quantiles of races, infinite where no end is in sight."""

    rule: str
    evaluations: dict[float, float]


@dataclass(frozen=True)
class LargerPilot:
    """The range that a pilot of so many items would give at best; a rule of thumb, explained at `bestarm.plan`."""

    items: int
    range: tuple[float, float]


@dataclass(frozen=True)
class FoundLead:
    """The share of races in which an arm that leads all others by this much is found within the budget."""

    lead: float
    found: float


@dataclass(frozen=True)
class Plan:
    """What a pilot says about a race like it; its text form is a few sentences, and a table if there is a budget.

    All figures are a bootstrap and a heuristic, not a guarantee; `bestarm.plan` says how they are made.

    Attributes
    ----------
    pilot_items, n_arms : the size of the pilot
    n_items : the length of the list that the race is planned for; None for fresh items
    best : the arm with the best mean in the pilot
    twins : arms that have the scores of the best on every item of the pilot, which cannot tell how they differ
    rules : quantiles of the evaluations of a race, and of one with different items for each arm
    answered : the share of races that have an answer: the others run out of items, or no end is in sight
    larger_pilot : what a pilot of four times the items would add; None if it cannot be said
    enough_items : where lists of ``n_items`` often run out: how long they must be for nine of ten races
    median_range : holds nine tenths of the medians of races on pilots that are resampled from this one
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
    answered: float = 1.0
    larger_pilot: LargerPilot | None = None
    enough_items: float | None = None
    twins: tuple[str, ...] = ()
    max_evaluations: int | None = None
    decided: float | None = None
    leads: tuple[FoundLead, ...] = ()

    @property
    def median(self) -> float:
        """The median number of evaluations of a race: the most likely, in the words of the text form."""
        return self.rules[0].evaluations[0.5]

    @property
    def range(self) -> tuple[float, float]:
        """The evaluations that four of five races lie between."""
        evaluations = self.rules[0].evaluations
        return evaluations[QUANTILES[0]], evaluations[QUANTILES[-1]]

    @property
    def large_enough(self) -> bool:
        """Whether the pilot tells the median within a factor of about 1.5."""
        low, high = self.median_range
        return not self.twins and math.isfinite(high) and high <= TRUSTED * low

    @property
    def advice(self) -> str:
        """The estimate in one sentence."""
        if math.isfinite(self.median):
            between = _between(self.rules[0])
            return f"{between[0].upper()}{between[1:]}, {_where(self.n_items)}."
        low, _ = self.range
        some = "" if math.isinf(low) else f", though one of ten takes fewer than {_rounded(low)}"
        return f"No end is in sight {_where(self.n_items)}: most races take more than {LONGEST:,} evaluations{some}."

    def _details(self) -> "Iterator[str]":
        """What else is known, most important first."""
        if self.twins:
            names = " and ".join(map(name_of, [self.best, *self.twins]))
            yield f"{names} have the same score on every item of the pilot, which cannot tell how they differ."
        if self.answered < USUALLY:
            yield self._races_without_answer()
        if math.isfinite(self.range[1]) and _rounded(self.range[0]) != _rounded(self.range[1]):
            known = f"as far as {self.pilot_items:,} items can tell"
            yield f"Four of five such races take that many, {known}.{self._narrower()}"
        if len(self.rules) > 1:
            yield f"With different items for each arm: {_between(self.rules[1])}."

    def _races_without_answer(self) -> str:
        """How many races have no answer, and what would change it."""
        share = "Nearly all such races" if self.answered < 0.005 else f"{1 - self.answered:.0%} of such races"
        epsilon = "an epsilon (how far from the best is good enough)"
        if self.enough_items is None:
            known = f"In {share} no end is in sight. " if math.isfinite(self.median) else ""
            a_list = ", or a list of items" if self.n_items is None else ""
            return f"{known}What would end them: {epsilon}{a_list}."
        more = f"more items ({_rounded(self.enough_items, LONGEST // self.n_arms)} for an answer in nine of ten)"
        return f"{share} end without an answer, as the items run out. What would help: {more}, or {epsilon}."

    def _narrower(self) -> str:
        """What a larger pilot would add."""
        if self.larger_pilot is None:
            return ""
        before, after = (math.log(high / low) for low, high in (self.range, self.larger_pilot.range))
        size = f" A pilot of {self.larger_pilot.items:,} items"
        if after >= WORTHWHILE * before:
            return f"{size} would hardly narrow the range: most of it is the luck of a race."
        low, high = map(_rounded, self.larger_pilot.range)
        return f"{size} would narrow the range, at best to {low} to {high} (a rule of thumb)."

    def __str__(self) -> str:
        return "\n".join([self.advice, *self._details(), *self._budget_lines()])

    def _budget_lines(self) -> list[str]:
        if self.max_evaluations is None or self.decided is None:
            return []
        budget = f"{self.max_evaluations:,} evaluations"
        lines = ["", f"Within {budget}, {self.decided:.0%} of races like this pilot have an answer."]
        if self.n_items is not None and self.max_evaluations >= self.n_items * self.n_arms:
            lines.append(f"More would not help: that is all {self.n_arms} arms on all {self.n_items:,} items.")
        if self.leads:
            lines += ["", f"{'lead of the best over the next':<{WIDTH}}found within {budget}"]
            lines += [f"{lead.lead:<{WIDTH}g}in {lead.found:.0%} of races" for lead in self.leads]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain values, null where no end is in sight."""
        plain = {"format": FORMAT} | asdict(self)
        plain |= {"advice": self.advice, "large_enough": self.large_enough, "median": _finite(self.median)}
        plain["rules"] = [
            {"rule": rule.rule, "evaluations": {f"{q:g}": _finite(n) for q, n in rule.evaluations.items()}}
            for rule in self.rules
        ]
        plain["range"] = [_finite(value) for value in self.range]
        plain["median_range"] = [_finite(value) for value in self.median_range]
        if self.larger_pilot is not None:
            plain["larger_pilot"] = {"items": self.larger_pilot.items, "range": list(self.larger_pilot.range)}
        plain["enough_items"] = None if self.enough_items is None else _finite(self.enough_items)
        return plain | {"twins": list(self.twins), "leads": [asdict(lead) for lead in self.leads]}


def _where(n_items: int | None) -> str:
    """What a race is run on, in words."""
    return "on fresh items" if n_items is None else f"on a list of {n_items:,} items"


def _between(rule: PlannedRule) -> str:
    """The range of a rule, in words."""
    low, likely, high = (rule.evaluations[q] for q in QUANTILES)
    if math.isinf(likely):
        return f"mostly more than {LONGEST:,} evaluations"
    if _rounded(low) == _rounded(high):
        return f"about {_rounded(low)} evaluations"
    return f"between {_rounded(low)} and {_rounded(high)} evaluations, most likely {_rounded(likely)}"


def _rounded(value: float, longest: int = LONGEST) -> str:
    """A number with two digits that count, and a third that is 0 or 5: nobody knows more."""
    if math.isinf(value):
        return f"more than {longest:,}"
    unit = 10 ** max(0, math.floor(math.log10(max(value, 1))) - 1)
    half = max(1, unit // 2)
    return f"{round(value / half) * half:,}"


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

    The rule is the one that `bestarm.race` will use. With ``n_items`` the race is on a list: it ends when it is
    decided or the items run out. With ``target="items"`` and bounds (or wins) it is about the mean over the list, which
    is known at its end; otherwise it is about the law of fresh items.

    Pilots of the same size are drawn with replacement from this one, and a few races are simulated on each. The range
    is from the 10% to the 90% quantile of all these races, the most likely number their median: a bootstrap of what one
    race will take, with the luck of the pilot and that of the race. Over the laws of ``benchmarks/validity.py plans``
    78% of races were in the range of pilots of 20 items, 84% of 50, 83% of 200; the median was right within a factor of
    1.5 in 65%, 85% and 83% of plans. It promises nothing, and the guarantee of the race does not depend on it.

    What a larger pilot would add is a rule of thumb: of the variance of the logarithm, the part between resampled
    pilots falls in proportion to the items, the part within them does not. It promised too much: ranges of pilots of 50
    items were to become 27% narrower with 200, and became 17% narrower (on a logarithmic scale).

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
    first = read.races(TableArms, FIRST)
    yield _planned(read, first)
    races = read.races(TableArms, _refined_effort(first.used, repetitions, max(LONGEST, max_evaluations or 0)))
    alone = read.races(UnpairedArms, replace(FIRST, longest=LONGEST))
    refined = _planned(read, races)
    refined = replace(
        refined,
        rules=(*refined.rules, _rule("the same, different items for each arm", alone)),
        larger_pilot=_larger_pilot(refined, races),
        enough_items=_enough_items(read) if refined.answered < USUALLY else None,
    )
    if max_evaluations is not None:
        by_mean = read.race.algorithm.start(2).guarantee.criterion == "mean"  # a shift of scores is no lead in wins
        budget, seed = max_evaluations, read.options.seed
        leads = found_leads(read.race, read.rewards, read.options.bounds, budget, seed) if by_mean else ()
        within = races.answered & (races.used <= budget)
        refined = replace(refined, max_evaluations=budget, decided=float(np.mean(within)), leads=leads)
    yield refined


@dataclass(frozen=True)
class SimulatedRaces:
    """Races on resampled pilots, shape (pilots, races).

    ``used`` are their evaluations, infinite where no end was in sight; ``rounds`` as many as were needed for an answer,
    infinite where there was none.
    """

    used: NDArray[np.float64]
    rounds: NDArray[np.float64]

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which have an answer."""
        return np.isfinite(self.rounds)


@dataclass(frozen=True)
class PlannedRace:
    """The race that is planned.

    A list of items drawn from the law of the pilot, taken in random order, is a sequence of independent draws of that
    law: a race on a list is simulated as one on fresh items that ends after ``n_items`` rounds. An algorithm that knows
    the length of its list has the answer then, any other may have none.
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

    def races(self, arms: Arms, races: int, seed: int, longest: int) -> SimulatedRaces:
        """So many races; where one was cut short, not by the end of its list, no end is in sight."""
        games = self.play(arms, races, seed, longest)
        ended = games.answered if self.n_items is None else games.answered | (games.rounds == self.n_items)
        return SimulatedRaces(np.where(ended, games.queries, np.inf), np.where(games.answered, games.rounds, np.inf))

    @property
    def whole_list_answers(self) -> bool:
        """Whether the answer is known when all items of the list are scored."""
        return self.algorithm.start(2).guarantee.pool is not None


@dataclass(frozen=True)
class _Pilot:
    """A pilot, its scores as rewards (more is better), and the race that is planned."""

    table: ScoreTable
    rewards: Scores
    options: Options
    race: PlannedRace

    def races(self, kind: Callable[[Scores], Arms], effort: Effort, race: PlannedRace | None = None) -> SimulatedRaces:
        """Races on pilots of the same size, drawn with replacement from this one; ``race`` is another than planned."""
        seed, n, race = self.options.seed, len(self.rewards), race or self.race
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        drawn = [self.rewards[rng.integers(n, size=n)] for _ in range(effort.pilots)]
        played = [race.races(kind(drawn[k]), effort.races, seed + k + 1, effort.longest) for k in range(effort.pilots)]
        return SimulatedRaces(np.array([one.used for one in played]), np.array([one.rounds for one in played]))


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
    race = PlannedRace(choose_algorithm(_with_target(chosen), n_items), n_items)
    if chosen.target == "items" and not race.whole_list_answers:
        raise ParameterError(
            "target",
            "cannot be 'items' without {n_items}, the length of the list, and {bounds} or wins as {criterion}: a race "
            "is about the population then",
            "items",
            {"n_items": "n_items", "bounds": "bounds=(low, high)", "criterion": "criterion"},
        )
    return _Pilot(table, rewards, chosen, race)


def _with_target(options: Options) -> Options:
    """The default of a race: what is sought is about items like those of the list."""
    return options if options.target is not None else replace(options, target="population")


def _check_budget(max_evaluations: int, n_arms: int) -> None:
    check_count("max_evaluations", max_evaluations)
    if max_evaluations < n_arms:
        problem = f"must allow for one round of all {n_arms} arms, got {max_evaluations}"
        raise ParameterError("max_evaluations", problem, max_evaluations)
    if max_evaluations > MOST_BUDGET:
        problem = f"must be at most {MOST_BUDGET} in a plan, so that races can be simulated, got {max_evaluations}"
        raise ParameterError("max_evaluations", problem, max_evaluations)


def _refined_effort(used: NDArray[np.float64], repetitions: int, longest: int) -> Effort:
    """As many races as were asked for, or as can be afforded if they are as long as the first ones."""
    length = float(np.mean(np.where(np.isfinite(used), used, longest)))
    races = min(repetitions, max(FIRST.pilots * FIRST.races, int(WORK / length)))
    pilots = max(1, min(PILOTS, races // FIRST.races))
    return Effort(pilots, races // pilots, longest)


def _planned(pilot: _Pilot, races: SimulatedRaces) -> Plan:
    """What races on resampled pilots say."""
    low, high = np.quantile(np.median(races.used, axis=1), RANGE, method="inverted_cdf")
    table, best = pilot.table, int(np.argmax(pilot.rewards.mean(axis=0)))
    alike = (pilot.rewards == pilot.rewards[:, [best]]).all(axis=0)
    return Plan(
        pilot_items=len(table.items),
        n_arms=len(table.arms),
        n_items=pilot.race.n_items,
        delta=checked_aim(pilot.options)[0],
        best=table.arms[best],
        twins=tuple(table.arms[arm] for arm in np.flatnonzero(alike) if arm != best),
        rules=(_rule(f"a race {_where(pilot.race.n_items)}", races),),
        median_range=(float(low), float(high)),
        answered=float(np.mean(races.answered)),
    )


def _rule(rule: str, races: SimulatedRaces) -> PlannedRule:
    """Quantiles of the evaluations of all races."""
    quantiles = np.quantile(races.used, QUANTILES, method="inverted_cdf")
    return PlannedRule(rule, dict(zip(QUANTILES, quantiles.tolist(), strict=True)))


def _larger_pilot(made: Plan, races: SimulatedRaces) -> LargerPilot | None:
    """What four times the items would leave of the range; None where an end is out of sight, or there is one race.

    With variances b between the pilots and w within one, of the logarithm of the evaluations, the range becomes
    narrower by sqrt((b / 4 + w) / (b + w)), to both sides of its median. The means of few races vary by w, too: that
    is taken off b.
    """
    (low, high), n_races = made.range, races.used.shape[1]
    if math.isinf(high) or min(races.used.shape) < 2:
        return None
    logarithms = np.log(np.minimum(races.used, LONGEST))
    within = float(logarithms.var(axis=1, ddof=1).mean())
    between = max(0.0, float(logarithms.mean(axis=1).var(ddof=1)) - within / n_races)
    left = math.sqrt((between / LARGER + within) / (between + within)) if between + within > 0 else 1.0
    ends = made.median * (low / made.median) ** left, made.median * (high / made.median) ** left
    return LargerPilot(LARGER * made.pilot_items, ends)


def _enough_items(pilot: _Pilot) -> float | None:
    """The length of a list on which half of the races have an answer; None where a list that ends is one."""
    if pilot.race.n_items is None or pilot.race.whole_list_answers:
        return None
    races = pilot.races(TableArms, replace(FIRST, longest=LONGEST), replace(pilot.race, n_items=None))
    return float(np.quantile(races.rounds, USUALLY, method="inverted_cdf"))


def found_leads(race: PlannedRace, rewards: Scores, bounds: Bounds, budget: int, seed: int) -> tuple[FoundLead, ...]:
    """How likely a lead of the best arm over the next is found within a budget, from the largest to one hardly found.

    The pilot's best column is raised or lowered, so that its mean leads as wanted and all else, the noise included,
    stays as it is; what would leave the bounds is put on them.
    """
    if race.n_items is not None and race.whole_list_answers and budget >= race.n_items * rewards.shape[1]:
        return ()  # all items can be scored, and are the answer
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
