"""What a race has found: the answer, why, at what cost, and how sure."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Elimination, EliminationGame, Game, Guarantee, Intervals, Lead, Reason
from bestarm.algorithms.game import Arm
from bestarm.errors import AssumptionWarning
from bestarm.files import write_text
from bestarm.record.record import ByArm, Failure, Record, RewardTransform
from bestarm.record.replay import DisqualifiedArm, Outage, at_rest, replay, replay_given, reward_transform
from bestarm.record.settings import RaceSettings, Target, start_game, target_of, unit_of
from bestarm.result.failures import Breakdown, FailureCount, breakdown_of, failure_counts
from bestarm.sources.items import RaceArms
from bestarm.text import counted, described, hashable, label_text, name_of
from bestarm.values import equal_values, hash_of_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


FEW_VALUES = 10
SKEWED = 4.0  # standard errors: of 50 looks at Gaussian differences hardly one is beyond
LARGEST = 0.5  # of the sum of squares
FEWEST = 3  # items that a shape needs
HUGE = 1e60
MOST_PAIRS = 2  # that a warning describes
WHAT_TO_DO = "give bounds=(low, high) if the scores have any, or compare by criterion='wins', which assumes nothing"


@dataclass(frozen=True, eq=False)
class Shape(Generic[Arm]):
    """The differences of two arms on the items that they shared up to a round.

    ``distinct`` counts the values of the differences, ``fewest_scores`` those of the arm that has fewer;
    ``skewness`` has the ``standard_error`` that it would have if the differences were Gaussian; ``largest_share`` is
    that of one item in the sum of squares about the mean.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    against: Arm
    round: int
    n_items: int
    distinct: int
    fewest_scores: int
    skewness: float
    standard_error: float
    largest_share: float

    @property
    def problem(self) -> str | None:
        """What does not look Gaussian, in words; None if nothing does."""
        few = min(FEW_VALUES, self.n_items // 2)
        if self.distinct <= few:
            return f"take only {counted(self.distinct, 'distinct value')}"
        if self.fewest_scores <= few:
            return f"are of scores that take only {counted(self.fewest_scores, 'distinct value')}"
        if self.largest_share > max(LARGEST, FEW_VALUES / self.n_items):
            return f"are dominated by one item ({self.largest_share:.0%} of their sum of squares)"
        if abs(self.skewness) > SKEWED * self.standard_error:
            return f"are strongly skewed (skewness {self.skewness:.2g}, standard error {self.standard_error:.2g})"
        return None


def shape_of(arm: Arm, against: Arm, number: int, scores: NDArray[np.float64]) -> Shape[Arm] | None:
    """The shape of two columns of scores up to a round; None where too few items are shared."""
    shared = scores[~np.isnan(scores).any(axis=1)]
    n = len(shared)
    if n < FEWEST:
        return None
    size = float(np.max(np.abs(shared), initial=0.0))
    if size and not HUGE**-1 < size < HUGE:  # their cubes would overflow or vanish: the shape is that of any multiple
        shared, size = shared / size, 1.0
    differences = shared[:, 0] - shared[:, 1]
    centred = differences - differences.mean()
    squares = centred**2
    total = float(squares.sum())
    rounding = 1e-13 * size
    flat = total <= n * rounding**2
    return Shape(
        arm=arm,
        against=against,
        round=number,
        n_items=n,
        distinct=1 if flat else int((np.diff(np.sort(differences)) > rounding).sum()) + 1,
        fewest_scores=min(np.unique(column).size for column in shared.T),
        skewness=0.0 if flat else float(np.mean(centred**3) / (total / n) ** 1.5 * np.sqrt(n * (n - 1)) / (n - 2)),
        standard_error=float(np.sqrt(6.0 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))),
        largest_share=1.0 if flat else float(squares.max()) / total,
    )


def shapes_of(
    pairs: list[tuple[int, int, int]],
    columns: Callable[[int, int, int], NDArray[np.float64]],
    label: Callable[[int], Arm],
) -> tuple[Shape[Arm], ...]:
    """The shapes of pairs (arm, against, round); ``columns`` gives the scores of two arms up to a round."""
    found = (shape_of(label(arm), label(against), t, columns(arm, against, t)) for arm, against, t in pairs)
    return tuple(shape for shape in found if shape is not None)


def shape_warning(shapes: tuple[Shape[Arm], ...]) -> str | None:
    """What does not look Gaussian, for which arms, and what to do; None if nothing does."""
    wrong = [shape for shape in shapes if shape.problem is not None]
    if not wrong:
        return None
    said = [
        f"between {name_of(shape.arm)} and {name_of(shape.against)} {shape.problem} (up to round {shape.round:,})"
        for shape in wrong[:MOST_PAIRS]
    ]
    more = f", and {counted(len(wrong) - MOST_PAIRS, 'more pair')} look wrong" if len(wrong) > MOST_PAIRS else ""
    return f"the differences {', those '.join(said)}{more}: the guarantee does not cover them; {WHAT_TO_DO}"


Status = Literal["best", "within epsilon", "tied", "leader", "candidate", "out", "disqualified"]


@dataclass(frozen=True)
class Outcome:
    """How a race stands, by the numbers of its arms."""

    leader: int | None
    candidates: tuple[int, ...]  # the leader first, then by their means
    eliminations: tuple[Elimination[int], ...]
    failures: tuple[DisqualifiedArm, ...]  # those that disqualified an arm
    contradiction: Elimination[int] | None

    def elimination(self, arm: int) -> Elimination[int] | None:
        """How an arm was beaten, if it was."""
        return next((out for out in self.eliminations if out.arm == arm), None)

    def failure(self, arm: int) -> DisqualifiedArm | None:
        """How an arm was disqualified, if it was."""
        return next((failure for failure in self.failures if failure.arm == arm), None)

    @property
    def disqualifying(self) -> dict[int, dict[int, Failure]]:
        """By round and arm: the failures that disqualified somebody."""
        failures: dict[int, dict[int, Failure]] = {}
        for out in self.failures:
            failures.setdefault(out.round, {})[out.arm] = out.failure
        return failures

    def compared(self, n_rounds: int) -> list[tuple[int, int, int]]:
        """The pairs that decided something: who left, against whom, in which round; at the end the closest rival."""
        pairs = [(out.arm, out.by, out.round) for out in self.eliminations]
        if self.leader is not None and len(self.candidates) > 1:
            pairs.append((self.candidates[1], self.leader, n_rounds))
        return pairs

    def status(self, arm: int, reason: Reason, answered: bool) -> Status:
        """What an arm is in a race that ended for this reason: gone, a candidate, or the answer."""
        if arm not in self.candidates:
            return "disqualified" if self.failure(arm) and not self.elimination(arm) else "out"
        if not answered:
            return "leader" if arm == self.leader else "candidate"
        if reason is Reason.ALL_ITEMS_USED and len(self.candidates) > 1:
            return "tied"
        if arm != self.leader:
            return "candidate"
        if reason is Reason.WITHIN_EPSILON:
            return "within epsilon"
        return "best"


@dataclass(frozen=True, eq=False)
class Disqualification(Generic[Arm]):
    """An arm that could not be evaluated: in which round, why, and whom it had eliminated before."""

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    round: int
    failure: str
    had_eliminated: tuple[Arm, ...]


def disqualifications(arms: Sequence[Arm], outcome: Outcome) -> tuple[Disqualification[Arm], ...]:
    """Who could not be evaluated, and why, by label."""
    return tuple(
        Disqualification(
            arms[failure.arm],
            failure.round,
            failure.text,
            tuple(arms[out.arm] for out in outcome.eliminations if out.by == failure.arm),
        )
        for failure in outcome.failures
    )


@dataclass(frozen=True, eq=False)
class ArmRecord(Generic[Arm]):
    """What a race knows about one arm.

    ``status`` is ``"best"`` (or ``"within epsilon"``, ``"tied"``) for the answer, ``"leader"`` and ``"candidate"``
    while there is none, ``"out"`` or ``"disqualified"`` for arms that left. ``mean`` is over the ``n_items`` that the
    arm was evaluated on; ``behind`` is how far it is behind the leader on the items that both share.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    status: Status
    mean: float
    n_items: int
    behind: float
    left_in_round: int | None
    beaten_by: Arm | None
    margin: float | None
    failure: str | None


def labelled(arms: tuple[Arm, ...], out: Elimination[int]) -> Elimination[Arm]:
    """An elimination with the labels of the arms in place of their numbers."""
    if out.weights is None:
        return Elimination(arms[out.arm], out.round, arms[out.by], out.margin)
    key: list[Any] = [label if hashable(label) else label_text(label) for label in arms]
    if len(set(key)) < len(key):  # 1, 1.0 and True are one key
        key = [label_text(label) for label in arms]
    weights = {key[arm]: weight for arm, weight in out.weights.items()}
    return Elimination(arms[out.arm], out.round, arms[out.by], out.margin, weights)


FREE = {
    "epsilon": 0.0,
    "max_rounds": None,
    "max_queries": None,
}  # the race ended already: what is left is who is beaten


@dataclass(frozen=True, eq=False)
class ForPopulation(Generic[Arm]):
    """What a race says about items like these: the law that the items are a random sample of.

    With probability at least ``1 - delta``, of its own and at all times, the best arm for that law is among the
    ``candidates``, and not better than the leader of the race by more than ``regret_bound``, or it is among those that
    were ``disqualified`` while they could be the best. ``decided`` says whether one candidate is left.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    candidates: tuple[Arm, ...]
    regret_bound: float
    disqualified: tuple[Arm, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether one candidate is left."""
        return len(self.candidates) == 1


def for_population(result: "RaceResult[Arm]") -> ForPopulation[Arm] | None:
    """The statement about items like these; None where the race has none.

    A race whose target is the population has made it already. If its target is the items of its list, the same bets
    against a mean of 0 are played on its record, the arms of each round given: an arm that the race dropped stays as
    it was then. Items drawn again and again say nothing about others.
    """
    if result.target == "population":
        failed = tuple(failed.arm for failed in result.disqualified)
        return ForPopulation(result.candidates, result.regret_bound, failed)
    game = population_game(result.settings, len(result.arms)) if result.settings.items == "pool" else None
    leader = result.outcome.leader
    if game is None or leader is None or result.n_rounds == 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # was said when the race ran
        gone = _played(game, result)
    order = [arm for arm in result.order if arm in game.candidates and arm not in gone]
    bound = 0.0 if order == [leader] else _regret_bound(game, leader, order)
    labels = result.arms
    return ForPopulation(tuple(labels[arm] for arm in order), bound, tuple(labels[arm] for arm in sorted(gone)))


def _played(game: EliminationGame, result: "RaceResult[Any]") -> set[int]:
    """Play the record of a race, the arms of each round given; who was disqualified while it could be the best.

    Every failure counts, also of an arm that the race had dropped and that was still in flight: its score is not known.
    If all that are left fail at once, the game stays where it was.
    """
    failures = result.record.disqualifying()
    for out in result.outcome.failures:  # one may have ended the race before its round
        failures.setdefault(out.round, {})[out.arm] = out.failure
    gone: set[int] = set()
    transform, record = RewardTransform(result.settings.lower_is_better, game.bounds), result.record
    for number in sorted(failures):
        replay_given(game, record.first_rounds(min(number - 1, record.n_rounds)), {}, transform)
        failed = [] if game.finished else [arm for arm in failures[number] if arm in game.next_arms()]
        gone |= {arm for arm in failed if arm in game.candidates}
        if set(game.candidates) <= gone:
            return gone
        for arm in failed:
            game.disqualify(arm)
    replay_given(game, record, {}, transform)
    return gone


def population_game(settings: RaceSettings, n_arms: int) -> EliminationGame | None:
    """A game by the rules of a race on a pool, but about the law behind it; None where there is no such game."""
    algorithm: Any = settings.algorithm
    comparison = getattr(algorithm, "comparison", None)
    if not is_dataclass(algorithm) or not is_dataclass(comparison) or not _has(comparison, "pool"):
        return None
    free = {name: value for name, value in FREE.items() if _has(algorithm, name)}
    like_these: Any = replace(algorithm, comparison=replace(comparison, pool=None), **free)  # type: ignore[type-var]
    game = start_game(replace(settings, algorithm=like_these), n_arms)
    return game if isinstance(game, EliminationGame) else None


def _has(settings: Any, name: str) -> bool:
    return any(field.name == name for field in fields(settings))


def _regret_bound(game: EliminationGame, leader: int, candidates: list[int]) -> float:
    """None of the candidates is better than the leader, which need not be one, by more than this; NaN is unknown."""
    smallest = game.evidence.smallest_lead_bound(leader, [arm for arm in candidates if arm != leader])
    if not candidates or smallest is None:
        return math.nan
    return min(max(0.0, -smallest), widest_lead(game.bounds, game.guarantee))


def widest_lead(bounds: tuple[float, float] | None, guarantee: Guarantee) -> float:
    """The largest lead that there can be: a share of items, or as far as the bounds are apart."""
    if guarantee.criterion == "wins":
        return 1.0
    return math.inf if bounds is None else bounds[1] - bounds[0]


def order(result: "RaceResult[Any]") -> tuple[int, ...]:
    """The numbers of the arms: candidates by their means, then those that left last."""
    sign = 1.0 if result.settings.lower_is_better else -1.0
    leader, standing = result.outcome.leader, result.outcome.candidates
    first = sorted(standing, key=lambda arm: (arm != leader, sign * result.means[arm], arm))  # ties up to rounding
    left = [arm for arm in range(len(result.arms)) if arm not in standing]
    return (*first, *sorted(left, key=lambda arm: (-result.counts[arm], sign * result.means[arm])))


def number_of(arms: tuple[Any, ...], arm: Any) -> int:
    """The number of an arm, by its label or its name."""
    return RaceArms(arms, tuple(map(label_text, arms)), arms).find(arm)


def ahead(result: "RaceResult[Any]", a: int, b: int) -> float:
    """By how much arm number a is ahead of arm number b on the items that both were evaluated on."""
    rounds, scores_a, scores_b = result.by_arm.shared(a, b)
    if not rounds.size:
        return math.nan
    leads = scores_a - scores_b
    leads = np.sign(leads) if result.guarantee.criterion == "wins" else leads
    lead = float(leads.mean())
    if result.unit != 1.0:  # groups of several sizes
        lead = float(np.average(leads, weights=np.array(result.settings.group_sizes)[rounds]))
    return -lead if result.settings.lower_is_better else lead


def arm_record(result: "RaceResult[Arm]", arm: int) -> ArmRecord[Arm]:
    """What the race knows about an arm."""
    out, failed = result.outcome.elimination(arm), result.outcome.failure(arm)
    gone = out or failed
    return ArmRecord(
        arm=result.arms[arm],
        status=result.outcome.status(arm, result.reason, result.answered),
        mean=float(result.means[arm]),
        n_items=_n_items(result, arm),
        behind=ahead(result, result.order[0], arm),
        left_in_round=gone.round if gone else None,
        beaten_by=result.arms[out.by] if out else None,
        margin=out.margin if out else None,
        failure=failed.text if failed else None,
    )


def _n_items(result: "RaceResult[Any]", arm: int) -> int:
    """The number of items that an arm was evaluated on."""
    sizes = result.settings.group_sizes
    if sizes is None:
        return int(result.counts[arm])
    rounds, _ = result.by_arm.of(arm)
    return sum(sizes[t] for t in rounds[: result.counts[arm]].tolist())  # rounds in flight when it left do not count


def as_frame(records: list[dict[str, Any]]) -> "pd.DataFrame":
    """Records of arms as a data frame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install 'bestarm[frames]'") from error
    return pd.DataFrame(records).set_index("arm")


@dataclass(frozen=True, eq=False, repr=False)
class RaceResult(Generic[Arm]):
    """The result of a race, finished or not; its text form is a table. ``result["name"]`` is the record of one arm.

    Attributes
    ----------
    answered : whether the race has its answer
    best : the answer; None unless the race is answered
    leader : the candidate with the best mean, answered or not; None before the first round
    candidates : the arms that may still be the best, the best mean first
    target : what these are about: the ``"items"`` of the list, or the ``"population"`` behind it
    for_population : candidates and regret bound for items like these
    reason : why the race ended: ``"decided"``, ``"within epsilon"`` or ``"all items used"``, which are answers;
        ``"budget"``, ``"ran out of items"`` (of a stream), ``"interrupted"``, ``"outage"``; or ``"running"``
    n_evaluations, n_rounds : evaluations asked for, and rounds that are complete
    eliminations, disqualified : who left when, and why
    failures : how many evaluations failed and were retried, count as worst, timed out or disqualified, by arm
    breakdown : None, or that every evaluation of a round failed, or more than half of all
    outage : None, or the round in which no candidate could be evaluated, which ended the race
    saved : the share of evaluations that was not needed, where the race is answered and the number of items is known
    arms, means, counts : the arms, and of each its mean and its number of items
    scores, items : all scores, one row per round and one column per arm (NaN where not asked); the items of the rows
    warnings : scores that do not look the way the test assumes, and what to do
    shapes : where the test assumes nearly Gaussian differences, how they look for each pair that decided something
    settings : all that decides the course of the race besides its scores
    bounds : the interval that scores had to lie in, if there was one
    guarantee : what the race promises, and what it assumes
    record : what was scored, round by round
    outcome : leader, candidates and eliminations by the numbers of the arms

    """

    arms: tuple[Arm, ...]
    reason: Reason
    n_evaluations: int
    n_rounds: int
    means: NDArray[np.float64]
    counts: NDArray[np.int64]
    outcome: Outcome
    settings: RaceSettings
    bounds: tuple[float, float] | None
    guarantee: Guarantee
    record: Record
    warnings: tuple[str, ...] = ()
    shapes: tuple[Shape[Arm], ...] = ()
    outage: Outage | None = None

    def __repr__(self) -> str:
        leader = described(self.leader)
        found = f"best={leader}" if self.answered else f"leader={leader}, {len(self.candidates)} candidates"
        spent = f"{counted(self.n_evaluations, 'evaluation')}, {counted(self.n_rounds, 'round')}"
        return f"<RaceResult {self.reason}: {found}, {spent}>"

    @property
    def answered(self) -> bool:
        """Whether the race has its answer: decided, within epsilon, or all items used, and not mostly on failures."""
        failing = self.breakdown is not None and self.breakdown.no_answer
        return self.reason.answers and self.outcome.leader is not None and not failing

    @property
    def best(self) -> Arm | None:
        """The answer; None unless the race is answered.

        Of a race that ended within epsilon, an arm that is so close to the best; of arms that tie, the first.
        """
        return self.leader if self.answered else None

    @property
    def leader(self) -> Arm | None:
        """The candidate with the best mean, answered or not; None before the first round."""
        return None if self.outcome.leader is None else self.arms[self.outcome.leader]

    @property
    def candidates(self) -> tuple[Arm, ...]:
        """The arms that may still be the best, the best mean first."""
        return tuple(self.arms[arm] for arm in self.outcome.candidates)

    @cached_property
    def eliminations(self) -> tuple[Elimination[Arm], ...]:
        """Who was beaten when, and by whom."""
        return tuple(labelled(self.arms, out) for out in self.outcome.eliminations)

    @property
    def disqualified(self) -> tuple[Disqualification[Arm], ...]:
        """Who could not be evaluated, and why."""
        return disqualifications(self.arms, self.outcome)

    @cached_property
    def failures(self) -> tuple[FailureCount[Arm], ...]:
        """How often evaluations failed, and what followed, for each arm with failures."""
        return failure_counts(self.arms, self.record, self.outcome.failures)

    @cached_property
    def breakdown(self) -> Breakdown | None:
        """None, or that every evaluation of a round failed, or more than half of all: the verdict begins with it."""
        return breakdown_of(self.record)

    @property
    def contradiction(self) -> Elimination[Arm] | None:
        """The evidence against the leader, if every remaining candidate was beaten in the same round."""
        against = self.outcome.contradiction
        return None if against is None else labelled(self.arms, against)

    @property
    def saved(self) -> float | None:
        """The share of evaluations that was not needed; None without an answer or a known number of items."""
        everything = self.settings.everything
        if everything is None or not self.answered:
            return None
        return 1.0 - self.n_evaluations / (everything * len(self.arms))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """All scores, one row per round and one column per arm; NaN where an arm was not asked."""
        scores = self.record.dense(1, self.n_rounds, len(self.arms))
        scores.setflags(write=False)
        return scores

    @cached_property
    def by_arm(self) -> ByArm:
        """The same scores arm by arm, without what was not asked: for races of many arms, of which few stay long."""
        return self.record.by_arm(self.n_rounds, len(self.arms))

    @property
    def items(self) -> tuple[str, ...]:
        """The items of the rows of `scores`, as text of at most 200 characters, as files and messages hold them."""
        return tuple(item or "" for item in self.record.items)

    def new_game(self) -> Game:
        """A game by the rules of the race, before its first round."""
        return start_game(self.settings, len(self.arms))

    def play(self, game: Game, last: int) -> None:
        """Play such a game through the rounds of the race up to the last, as the race went."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # was said when the race ran
            replay(game, self.record, self.outcome.disqualifying, last, reward_transform(self.settings, game))

    @cached_property
    def _game(self) -> Game:
        """The game as it stood: the race itself may have gone on."""
        game = self.new_game()
        self.play(game, self.n_rounds)
        for failure in self.outcome.failures:
            if failure.round > self.n_rounds and not game.finished:  # they ended the race before their round
                game.disqualify(failure.arm)
        return at_rest(game)

    def keep_game(self, game: Game) -> None:
        """Take the game of the race itself, which does not go on: there is no need to play it again."""
        vars(self)["_game"] = at_rest(game)

    @cached_property
    def regret_bound(self) -> float:
        """With probability ``1 - delta`` no arm beats `leader` by more, or the best was disqualified; NaN: unknown."""
        if len(self.candidates) == 1:
            return 0.0
        bound = self._game.regret_bound if self.n_rounds else math.inf
        widest = widest_lead(self.bounds, self.guarantee) if self.n_rounds else math.inf
        return math.nan if bound is None else min(bound * self.unit, widest)

    @property
    def target(self) -> Target:
        """What the answer is about: ``"items"``, those of the list, or the ``"population"`` that they are from."""
        return target_of(self.settings, self.guarantee)

    @cached_property
    def for_population(self) -> ForPopulation[Arm] | None:
        """What the race says about items like these, whatever its target; None where it says nothing about them.

        Each of the two statements holds with probability at least ``1 - delta``, both with at least ``1 - 2 delta``.
        """
        return for_population(self)

    @cached_property
    def intervals(self) -> Intervals | None:
        """Simultaneous intervals for all leads: ``[a, b]`` is by how much arm number a is ahead of arm number b.

        At level delta, at all times together, from the rounds that both shared. None where the algorithm keeps no
        statistics of differences. `lead` is the same for one pair, by label.
        """
        found = self._game.intervals()
        return None if found is None else Intervals(found.low * self.unit, found.high * self.unit)

    @property
    def unit(self) -> float:
        """What one point of a difference in the game is worth in scores: 1 unless groups are weighed by their sizes."""
        return unit_of(self.settings, self.guarantee)

    def lead(self, a: Arm, b: Arm) -> Lead:
        """By how much arm a is ahead of arm b (also where lower scores are better): estimate, low and high.

        The estimate is over the items that both share; NaN is unknown. With probability at least ``1 - delta`` the
        intervals of all pairs hold, at all times together: wider than the tests, which protect the best arm alone.
        """
        first, second = number_of(self.arms, a), number_of(self.arms, b)
        if first == second:
            raise ValueError(f"lead takes two different arms, got {described(a)} twice")
        known = self._game.lead(first, second, simultaneous=True)
        low, high = (math.nan, math.nan) if known is None else (known.low * self.unit, known.high * self.unit)
        return Lead(ahead(self, first, second), low, high)

    def __getitem__(self, arm: Arm) -> ArmRecord[Arm]:
        try:
            return arm_record(self, number_of(self.arms, arm))
        except ValueError as error:
            raise KeyError(str(error)) from error

    __iter__ = None  # arms are looked up, not counted

    @property
    def delta(self) -> float:
        """The accepted probability of a wrong answer."""
        return self.guarantee.delta

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        from bestarm.result.verdict import sentences

        return " ".join(sentences(self))

    def __str__(self) -> str:
        from bestarm.result.table import text_table

        return text_table(self)

    def to_records(self) -> list[dict[str, Any]]:
        """One record per arm as a dictionary, the leader first; `ArmRecord` says what is in it."""
        return [{one.name: getattr(record, one.name) for one in fields(record)} for record in self.records]

    @cached_property
    def records(self) -> tuple[ArmRecord[Arm], ...]:
        """One record per arm, the leader first."""
        return tuple(arm_record(self, arm) for arm in self.order)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of the arms: candidates by their means, then those that left last."""
        return order(self)

    def to_frame(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame, one row per arm (needs the extra ``bestarm[frames]``)."""
        return as_frame(self.to_records())

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the individual scores as JSON, written to a file if one is given; NaN becomes null."""
        from bestarm.result.table import result_json

        text = result_json(self)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def plot(self) -> "Figure":
        """Which arm left when and which arm beat it, and the leader's lead over the rounds, as a matplotlib figure."""
        from bestarm.result.figure import race_figure

        return race_figure(self)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained HTML page: the verdict, the race as a picture, the table, what is guaranteed."""
        from bestarm.result.page import write_page

        write_page(self, path)
