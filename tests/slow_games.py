"""Slow, obvious games by the sharper comparisons: who is queried, who is out, and how they end.

`SlowGame` leaves it to others to say who is out: `StudentGame` by Student's mixture, `WealthGame` by the wealth of bets
that `one_wealth` defines.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import floor, inf, log
from typing import Any

import numpy as np

from bestarm.comparisons import Betting, LeaderBetting, Portfolio, StudentMixture, SymmetricBetting, Wins
from one_wealth import Array, Choice, Leaders, Mask, Pairs, Portfolios, Rivals, Seen, Strategy, Wealth, bets_of

Rule = Betting | Wins | LeaderBetting | Portfolio | SymmetricBetting
TIED = 1e-12  # means closer than this are equal but for rounding


@dataclass(frozen=True)
class Goal:
    """What is to be found, and what it may cost."""

    delta: float
    keep: float = 1.0
    epsilon: float = 0.0
    zone: float = 0.0
    max_rounds: int | None = None
    max_queries: int | None = None


class SlowGame:
    """Played round by round on whole rows, of which only the columns of queried arms are looked at."""

    def __init__(self, rows: Array, goal: Goal, pool: int | None = None, signs: bool = False) -> None:
        self.rows, self.goal, self.K = rows, goal, rows.shape[1]
        self.pool = pool
        self.signs = signs  # whether an arm is better counts, not by how much
        self.candidates = list(range(self.K))
        self.last_round: dict[int, int] = {}  # of those that were told to leave
        self.failing: list[int] = []  # in the round that comes next
        self.eliminations: list[tuple[int, int]] = []  # arm and round, in the order of rounds and arms
        self.contradiction: tuple[int, int] | None = None
        self.t = self.n_queries = 0
        self.ended: str | None = None
        self.tied = False  # some decision was between arms that are equal so far
        self.by_rounding = False  # and rounding may have changed it: the arms are equal, their rewards are not

    # --- what the evidence says -------------------------------------------------------------------------------------

    def absorb(self) -> None:
        """Take in the round ``t``: what was bet on has been chosen before."""
        raise NotImplementedError

    def is_out(self, i: int) -> bool:
        """Whether the evidence against a candidate is enough."""
        raise NotImplementedError

    def is_near(self, leader: int) -> bool:
        """Whether the leader is shown to be within epsilon of all other candidates."""
        raise NotImplementedError

    def prepare(self, t: int) -> None:
        """Choose for a round before which somebody was withdrawn."""

    def learn(self) -> None:
        """Choose what later rounds bet on, when it is known who is out."""

    # --- who is queried ---------------------------------------------------------------------------------------------

    def queried(self, t: int) -> list[int]:
        return [i for i in range(self.K) if t <= self.last_round.get(i, t)]

    def playing(self, t: int) -> list[int]:
        """The candidates that are queried: all but those that were withdrawn."""
        return [i for i in self.queried(t) if i in self.candidates]

    def shared(self, i: int, j: int) -> int:
        """In how many rounds so far both of two arms were queried."""
        return min(self.t, self.last_round.get(i, self.t), self.last_round.get(j, self.t))

    def withdraw(self, arm: int) -> None:
        """Query a candidate no more, from what earlier rounds say."""
        self.last_round[arm] = self.t

    def disqualify(self, arm: int) -> None:
        """An arm fails in the round that comes next, and leaves."""
        self.failing.append(arm)
        self.last_round[arm] = self.t
        self.candidates = [i for i in self.candidates if i != arm]

    # --- the course of the game -------------------------------------------------------------------------------------

    def play(self) -> None:
        while self.goes_on():
            self.next_round()

    def goes_on(self) -> bool:
        undecided = len(self.candidates) > 1 and self.ended is None
        return undecided and self.t < len(self.rows) and not self._over_budget()

    def _over_budget(self) -> bool:
        goal, queries = self.goal, self.n_queries + len(self.queried(self.t + 1))
        too_many_rounds = goal.max_rounds is not None and self.t >= goal.max_rounds
        return too_many_rounds or (goal.max_queries is not None and queries > goal.max_queries)

    @property
    def reason(self) -> str | None:
        if self.ended is None and len(self.candidates) == 1:
            return "decided"
        return self.ended or ("budget" if self._over_budget() else None)

    @property
    def outcome(self) -> dict[str, object]:
        """What a game of the library must have in common with this one, as in `games.outcome`."""
        return {
            "eliminations": self.eliminations,
            "candidates": tuple(self.candidates),
            "reason": self.reason,
            "rounds": self.t,
            "queries": self.n_queries,
            "contradiction": self.contradiction,
        }

    def next_round(self) -> None:
        self.prepare(self.t + 1)
        self.t += 1
        self.n_queries += len(self.queried(self.t))
        self.absorb()
        self._eliminate([i for i in self.playing(self.t) if self.is_out(i)])
        self._end()
        self.learn()
        self.failing = []

    def _eliminate(self, beaten: list[int]) -> None:
        if len(beaten) == len(self.candidates):
            leaders = self.leaders()
            self.by_rounding = self.by_rounding or self._differ(leaders)
            self.contradiction = (leaders[0], self.t)
            beaten.remove(leaders[0])
        for i in beaten:
            self.candidates.remove(i)
            self.last_round[i] = floor(self.goal.keep * self.t)
            self.eliminations.append((i, self.t))
        self.eliminations.sort(key=lambda one: (one[1], one[0]))

    def _end(self) -> None:
        """Whether the leader is near enough, or the pool exhausted: asked only where no candidate was withdrawn."""
        if len(self.candidates) == 1 or self.playing(self.t) != self.candidates:
            return
        if self.goal.epsilon > 0 and self._leader_is_near():
            self.ended = "within epsilon"
        elif self.t == self.pool:
            self._settle()
            self.ended = "all items used"

    def _leader_is_near(self) -> bool:
        leaders = self.leaders()
        near = [self.is_near(leader) for leader in leaders]
        self.by_rounding = self.by_rounding or (any(near) and not all(near) and self._differ(leaders))
        return near[0]

    def _settle(self) -> None:
        """The means over the pool are known, or all wins are counted."""
        best = [i for i in self.candidates if self._behind(i) <= 0] if self.signs else self.leaders()
        self._eliminate([i for i in self.candidates if best and i not in best])

    # --- who leads --------------------------------------------------------------------------------------------------

    def lead(self, j: int, i: int) -> float:
        """By how much arm j is ahead of arm i on the rounds that both shared, summed: of rewards, or of wins."""
        D = self.rows[: self.shared(i, j), j] - self.rows[: self.shared(i, j), i]
        return float(np.sum(np.sign(D) if self.signs else D))

    def leaders(self) -> list[int]:
        """The candidates with the largest mean, which one of them is a matter of rounding."""
        playing = self.playing(self.t)
        if self.signs:  # whole numbers: the first of those whose largest deficit is smallest
            behind = {i: self._behind(i) for i in playing}
            leaders = [i for i in playing if behind[i] == min(behind.values())]
        else:
            means = {i: float(np.mean(self.rows[: self.t, i])) for i in playing}
            leaders = [i for i in playing if means[i] >= max(means.values()) - TIED]
        self.tied = self.tied or len(leaders) > 1
        return leaders[:1] if self.signs else leaders

    def _behind(self, i: int) -> float:
        """By how many wins arm i is behind the candidate that is furthest ahead of it."""
        return max(self.lead(j, i) for j in self.playing(self.t) if j != i)

    def is_ahead(self, j: int, i: int) -> bool:
        """Whether arm j leads arm i on the rounds they shared, ties by number."""
        lead = self.lead(j, i)
        self.tied = self.tied or lead == 0
        return lead > 0 or (lead == 0 and j < i)

    def _differ(self, arms: Iterable[int]) -> bool:
        """Whether these arms of equal means have different rewards."""
        X = self.rows[: self.t, list(arms)]
        return bool(np.any(X[:, :1] != X))


class StudentGame(SlowGame):
    """Who is out by ``log E_n`` of the mean and the standard deviation of the differences with a queried arm."""

    only_ahead = True  # with a zone, only opponents that are ahead count

    def __init__(self, rows: Array, goal: Goal, mixture: StudentMixture) -> None:
        super().__init__(rows, goal)
        self.threshold = log((self.K - 1) / goal.delta)
        self.beats = self._evidence(mixture, goal.zone)
        self.near = self._evidence(mixture, goal.epsilon) if goal.epsilon > 0 else self.beats

    def _evidence(self, mixture: StudentMixture, shift: float) -> Array:
        """Entry (t - 1, i, j): after t rounds, if both are queried in all of them, for arm j being better than i."""
        D = self.rows[:, None, :] - self.rows[:, :, None]
        evidence = student_evidence(D.reshape(len(D), -1), shift, mixture)
        evidence[: mixture.min_rounds - 1] = -inf
        return evidence.reshape(D.shape)

    def absorb(self) -> None:
        """All is known from the start, and looked at in its round."""

    def is_out(self, i: int) -> bool:
        others = [j for j in self.queried(self.t) if j != i]
        if self.goal.zone > 0 and self.only_ahead:
            others = [j for j in others if self.is_ahead(j, i)]
        return bool(np.any(self.beats[self.t - 1, i, others] >= self.threshold))

    def is_near(self, leader: int) -> bool:
        others = [i for i in self.candidates if i != leader]
        return bool(np.all(self.near[self.t - 1, others, leader] >= self.threshold))


def student_evidence(D: Array, shift: float, mixture: StudentMixture) -> Array:
    """``log E_n`` of each column of differences, with a shift: after one round, two, and so on."""
    rounds = range(2, len(D) + 1)
    leads = np.array([np.mean(D[:n], axis=0) + shift for n in rounds]).reshape(-1, D.shape[1])
    sds = np.array([np.std(D[:n], axis=0, ddof=1) for n in rounds]).reshape(-1, D.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = np.where(leads == 0, 0.0, leads / sds)
    none_yet = np.full((1, D.shape[1]), -inf)
    return np.concatenate([none_yet, mixture.log_evalue(np.array(rounds)[:, None], effects)])


class WealthGame(SlowGame):
    """An arm is out when the wealth against it reaches ``1 / delta``.

    With epsilon the game ends when the leader is shown to be near by the bets on single pairs: those on it against an
    arm, had it been worse by epsilon, are enough by themselves.
    """

    only_ahead = True  # with a zone, only bets on pairs with arms that are ahead count
    asks_pairs = True  # with epsilon: whether bets on single pairs say who is near

    def __init__(
        self,
        rows: Array,
        goal: Goal,
        strategies: list[Strategy],
        bounds: tuple[float, float] | None = None,  # without any the worst reward is minus infinity
        pool: int | None = None,
        signs: bool = False,
    ) -> None:
        super().__init__(rows, goal, pool, signs)
        self.strategies = strategies
        low, high = bounds or (0.0, 1.0)
        self.low, self.scale, self.worst = low, 1 / (high - low), -inf if bounds is None else 0.0
        everywhere = np.ones((self.K, self.K))
        self.wealth = Wealth(strategies, -goal.zone * self.scale * everywhere, self.pool)
        on_pairs = [np.full(len(one.prior), isinstance(one, Pairs)) for one in strategies]
        self.near = Wealth(strategies, -goal.epsilon * self.scale * everywhere, self.pool, on_pairs)
        self.X = np.zeros((0, self.K))
        self.record: list[tuple[Array, list[Choice]]] = []  # the differences of each round and what was bet on
        self.closest = inf  # of the logarithms of wealth over threshold that anything was decided by
        self.at_exit: dict[int, list[float]] = {}  # by arm: what each strategy had against it

    # --- a round ----------------------------------------------------------------------------------------------------

    def prepare(self, t: int) -> None:
        """Where somebody was withdrawn it is chosen anew, as if those that fail next did not: bets must not know."""
        if self.t > 0:
            out = [arm for arm, _ in self.eliminations]
            standing = sorted([*self.playing(t), *(arm for arm in self.failing if arm not in out)])
            for strategy in self.strategies:
                strategy.part_with_withdrawn(self.X, standing, self.failing)

    def absorb(self) -> None:
        queried, playing = self._mask(self.queried(self.t)), self._mask(self.playing(self.t))
        choices = [strategy.choose(self.t, playing, queried) for strategy in self.strategies]
        D = self._differences(queried)
        self.record.append((D, choices))
        for wealth in (self.wealth, self.near) if self.goal.epsilon > 0 and self.asks_pairs else (self.wealth,):
            for strategy, W, some in zip(self.strategies, wealth.W, wealth.experts, strict=True):
                for arm in self.failing:
                    W[strategy.lost_with(arm)[some]] = 0.0
            wealth.step(D, choices)
        if self.goal.zone > 0:
            self._protect_leader()

    def _protect_leader(self) -> None:
        for strategy, W in zip(self.strategies, self.wealth.W, strict=True):
            if strategy.protects:
                leader = self.leaders()[0]
                W[:, leader] = strategy.cut(W[:, leader])

    def _differences(self, queried: Mask) -> Array:
        """Of the rewards of the round, and its rewards taken in; an arm that fails in it has the worst."""
        failing = self._mask(self.failing)
        there = queried | failing
        x = np.where(failing, self.worst, (self.rows[self.t - 1] - self.low) * self.scale)
        self.X = np.concatenate([self.X, np.where(there, x, 0.0)[None]])
        with np.errstate(invalid="ignore"):
            D = x[None, :] - x[:, None]
        return np.where(there[:, None] & there, np.sign(D) if self.signs else D, 0.0)

    def _mask(self, arms: list[int]) -> Mask:
        mask = np.zeros(self.K, dtype=bool)
        mask[arms] = True
        return mask

    def learn(self) -> None:
        seen = Seen(self.X, self.queried(self.t), self.failing, self.playing(self.t + 1))
        for strategy in self.strategies:
            strategy.learn(seen)

    # --- what it says -----------------------------------------------------------------------------------------------

    def lead(self, j: int, i: int) -> float:
        return float(self.wealth.S[i, j])

    def is_out(self, i: int) -> bool:
        parts = [
            float(W[self._counts(strategy, i), i].sum()) if strategy.eliminates else 0.0
            for strategy, W in zip(self.strategies, self.wealth.W, strict=True)
        ]
        margin = log(sum(parts) * self.goal.delta) if sum(parts) > 0 else -inf
        self.closest = min(self.closest, abs(margin))
        if margin >= 0:
            self.at_exit[i] = parts
        return margin >= 0

    def _counts(self, strategy: Strategy, i: int) -> Mask:
        """Which experts count against an arm: with a zone, those on pairs only with arms that are ahead of it."""
        if self.goal.zone == 0 or not self.only_ahead or not isinstance(strategy, Pairs):
            return np.ones(len(strategy.prior), dtype=bool)
        ahead = [j != i and self.is_ahead(j, i) for j in range(self.K)]
        return np.array(ahead)[strategy.opponent]

    def is_near(self, leader: int) -> bool:
        (pairs, W), *_ = [both for both in zip(self.strategies, self.near.W, strict=True) if isinstance(both[0], Pairs)]
        wealth = W[pairs.about(leader)].sum(axis=0)
        return bool(np.all(wealth[[i for i in self.candidates if i != leader]] * self.goal.delta >= 1))

    def totals(self, kind: type[Strategy]) -> Array:
        """What a strategy has made against each arm of what it had at first."""
        (total,) = [
            W.sum(axis=0) / strategy.share
            for strategy, W in zip(self.strategies, self.wealth.W, strict=True)
            if isinstance(strategy, kind)
        ]
        return np.asarray(total)

    # --- how much worse the leader can be ---------------------------------------------------------------------------

    def if_worse(self, leader: int, shifts: Array) -> Iterator[list[Array]]:
        """For each round, by strategy, what the same bets have against each arm were the leader worse by each shift."""
        zone, experts = self.goal.zone, [one.about(leader) for one in self.strategies]
        nu = np.full((len(shifts), self.K, self.K), -zone * self.scale)
        nu[:, :, leader] = -np.maximum(shifts, zone)[:, None] * self.scale
        wealth = Wealth(self.strategies, nu, self.pool, experts)
        for D, choices in self.record:
            wealth.step(D, choices)
            yield [W.sum(axis=1) for W in wealth.W]

    def ruled_out(self, leader: int, shifts: Array) -> Mask:
        """Entry (s, i): whether that wealth against arm i was ever enough, with shift s."""
        enough = [np.sum(parts, axis=0) * self.goal.delta >= 1 for parts in self.if_worse(leader, shifts)]
        return np.asarray(np.any(enough, axis=0))


class LeaderGame(WealthGame):
    """With epsilon it is asked, when the leaders are renewed, whether so large a shift is ruled out for all others.

    A twentieth of the wealth is on pairs, or another share; where that is 0 a twentieth is only asked about the leader.
    """

    FEW_ARMS = 100  # up to which there are bets on pairs
    asks_pairs = False

    def __init__(self, rows: Array, goal: Goal, settings: LeaderBetting) -> None:
        (n, K), (low, high) = rows.shape, settings.bounds
        wanted = (0.05 if K <= self.FEW_ARMS else 0.0) if settings.pairs is None else settings.pairs
        share = wanted or 0.05
        leaders = Leaders(K, 1 - share, goal.zone / (high - low), settings.pool)
        pairs = Pairs(K, bets_of(Betting(), n), share, eliminates=wanted > 0)
        super().__init__(rows, goal, [leaders, pairs], settings.bounds, settings.pool)

    def is_near(self, leader: int) -> bool:
        due = any(isinstance(one, Leaders) and one.is_due(self.t, self.playing(self.t + 1)) for one in self.strategies)
        if not due or self.t == self.pool or self.goal.epsilon < self.goal.zone:  # no bound is below the zone
            return False
        others = [i for i in self.candidates if i != leader]
        return bool(self.ruled_out(leader, np.array([self.goal.epsilon]))[0, others].all())


class SymmetricGame(WealthGame):
    """Beside the bets a Student mixture has a share of delta, and says who is near."""

    asks_pairs = False
    KEPT = 500  # rounds whose differences are looked at for distinct values
    DISTINCT = 10
    ROUNDING = 1e-13  # of the rewards: differences that are closer are the same

    def __init__(self, rows: Array, goal: Goal, settings: SymmetricBetting) -> None:
        super().__init__(rows, goal, [Rivals(rows.shape[1], 1 - settings.student, goal.zone)])
        self.student = settings

    def is_out(self, i: int) -> bool:
        others = [j for j in self.queried(self.t) if j != i and (self.goal.zone == 0 or self.is_ahead(j, i))]
        return super().is_out(i) or any(self.shows(j, i, self.goal.zone) for j in others)

    def is_near(self, leader: int) -> bool:
        return all(self.shows(leader, i, self.goal.epsilon) for i in self.candidates if i != leader)

    def shows(self, j: int, i: int, shift: float) -> bool:
        """Whether the Student mixture shows that arm j, with a shift, is better than arm i."""
        if self.student.student == 0 or self.t < self.student.min_rounds:
            return False
        D = self.X[:, j] - self.X[:, i]
        lead, sd = float(np.mean(D)) + shift, float(np.std(D, ddof=1))
        effect = lead / sd if sd > 0 else inf if lead > 0 else 0.0
        needed = log((self.K - 1) / (self.student.student * self.goal.delta))
        evidence = float(StudentMixture(min_rounds=2).log_evalue(self.t, effect))
        return evidence > needed and self._varied(D, float(np.abs(self.X[: self.KEPT, [i, j]]).max()), needed)

    def _varied(self, D: Array, size: float, needed: float) -> bool:
        """Whether differences have taken enough values; or always the same one, for long enough."""
        distinct = 1 + int((np.diff(np.sort(D[: self.KEPT])) > self.ROUNDING * size).sum())
        constant_for_long = np.ptp(D) <= self.ROUNDING * size and self.t - 1 >= needed / log(2)
        return distinct >= min(self.t, self.DISTINCT) or bool(constant_for_long)


# --- games of all rules ----------------------------------------------------------------------------------------------


def slow_game(comparison: Rule | StudentMixture, rows: Array, delta: float, **given: Any) -> SlowGame:
    """The slow version of a game with this comparison; given are the other fields of its goal."""
    if isinstance(comparison, StudentMixture):
        return StudentGame(rows, Goal(delta, **given), comparison)
    return wealth_game(comparison, rows, delta, **given)


def wealth_game(comparison: Rule, rows: Array, delta: float, **given: Any) -> WealthGame:
    """The game of a betting rule: who chooses what is bet on, with which shares of the wealth."""
    goal, K, rows = Goal(delta, **given), rows.shape[1], rows[: comparison.pool]
    if isinstance(comparison, Betting):
        strategies: list[Strategy] = [Pairs(K, bets_of(comparison, len(rows)))]
        return WealthGame(rows, goal, strategies, comparison.bounds, comparison.pool)
    if isinstance(comparison, Wins):
        return WealthGame(rows, goal, [Pairs(K, bets_of(comparison, len(rows)))], None, comparison.pool, signs=True)
    if isinstance(comparison, Portfolio):
        strategies = [Portfolios(K, 0.5), Pairs(K, bets_of(comparison.pairs, len(rows)), 0.5)]
        return WealthGame(rows, goal, strategies, comparison.bounds, comparison.pool)
    if isinstance(comparison, SymmetricBetting):
        return SymmetricGame(rows, goal, comparison)
    return LeaderGame(rows, goal, comparison)
