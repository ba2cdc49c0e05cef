"""Pairwise-BAI and Convex-BAI, Algorithms 1 and 2 of the paper, and the game of all algorithms that eliminate arms."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar

import numpy as np

from bestarm.algorithms.assumptions import AssumptionCheck
from bestarm.algorithms.game import Elimination, Game, Guarantee, Reason
from bestarm.checks import check_arm, check_at_least, check_count, check_delta, check_n_arms
from bestarm.comparisons import Portfolio, StudentMixture
from bestarm.comparisons.evidence import Comparison, Evidence, Goal, check_epsilon, check_role, check_zone
from bestarm.kernels.state import POOL_EXHAUSTED, WITHIN_EPSILON, Progress
from bestarm.values import Array, Indices, shortest_call


def check_budget(max_rounds: int | None, max_queries: int | None) -> None:
    """Refuse limits that are not whole numbers of at least 1."""
    if max_rounds is not None:
        check_count("max_rounds", max_rounds)
    if max_queries is not None:
        check_count("max_queries", max_queries)


class EliminationGame(Game):
    """A board with the evidence on it: who is queried shrinks to those that are not beaten."""

    shrinks: ClassVar[bool] = True
    withdraws: ClassVar[bool] = True

    def __init__(
        self,
        evidence: Evidence,
        bounds: tuple[float, float] | None,
        guarantee: Guarantee,
        check: AssumptionCheck | None = None,
        max_rounds: int | None = None,
        max_queries: int | None = None,
    ) -> None:
        n_arms = evidence.board.arms.size
        super().__init__(n_arms, bounds, guarantee, check)
        if max_queries is not None and max_queries < n_arms:
            raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {max_queries}")
        self._evidence = evidence
        self._board = evidence.board
        for name, limit in (("max_rounds", max_rounds), ("max_queries", max_queries)):
            if limit is not None:
                self._board.progress[name] = limit
        self._read_progress()

    def _read_progress(self) -> None:
        now = self._board.now
        self.n_rounds, self.n_queries, self._n_queried = now.n_rounds, now.n_queries, now.n_queried
        self._reason = self._why_ended(now)

    def _why_ended(self, now: Progress) -> Reason | None:
        if now.ended == POOL_EXHAUSTED:
            return Reason.ALL_ITEMS_USED
        if now.n_candidates == 1:
            return Reason.DECIDED
        if now.ended == WITHIN_EPSILON:
            return Reason.WITHIN_EPSILON
        if now.n_rounds >= now.max_rounds or now.n_queries + now.n_queried > now.max_queries:
            return Reason.BUDGET
        return None

    def next_arms(self) -> Indices:
        """The arms that are still queried, in increasing order."""
        return self._board.arms[: self._n_queried].copy()

    def _due(self) -> Indices:
        return self.next_arms() if self._asked is None else self._asked  # the board's own: nothing to check

    @property
    def reason(self) -> Reason | None:
        """Why the game has ended, or None while it goes on."""
        return self._reason

    @property
    def means(self) -> Array:
        """The mean reward of each arm over the rounds in which it was queried; NaN before the first."""
        means = np.empty_like(self._board.means)
        means[self._board.arms] = self._board.means
        return np.where(self.counts > 0, means, np.nan)

    @property
    def counts(self) -> Indices:
        """The number of rounds in which each arm was queried."""
        counts: Indices = np.minimum(self._board.last_round, self.n_rounds)
        return counts

    @property
    def candidates(self) -> tuple[int, ...]:
        """The arms that may still be the best, in increasing order."""
        return tuple(sorted(self._board.arms[~self._board.is_out].tolist()))

    @property
    def best(self) -> int:
        """The candidate that leads so far, by its mean or as the evidence has it: the answer, once it is decided."""
        leader = self._evidence.leader(self.candidates) if self.n_rounds else None
        return super().best if leader is None else leader

    @property
    def eliminations(self) -> list[Elimination[int]]:
        """Who was beaten so far, in the order of rounds and arms."""
        standing = self.candidates
        out = [self._elimination(int(arm)) for arm in np.flatnonzero(self._board.beaten_round) if arm not in standing]
        return sorted(out, key=lambda elimination: (elimination.round, elimination.arm))

    @property
    def contradiction(self) -> Elimination[int] | None:
        """None, or the evidence against `best`, if every remaining candidate was beaten in the same round."""
        standing = self.candidates
        return self._elimination(standing[0]) if self._board.beaten_round[standing[0]] else None

    def _elimination(self, arm: int) -> Elimination[int]:
        board = self._board
        return Elimination(
            arm=arm,
            round=int(board.beaten_round[arm]),
            by=int(board.beaten_by[arm]),
            margin=float(board.margin[arm]),
            weights=self._evidence.weights(arm),
        )

    @property
    def diagnostics(self) -> dict[str, int]:
        """Counts of the work behind the game."""
        return self._evidence.diagnostics()

    def evidence(self) -> Array:
        """By arm: the evidence that it is not the best, as a share of what puts an arm out: `Game.evidence`."""
        shares = np.where(self._board.beaten_round > 0, 1.0, np.nan)
        standing = list(self.candidates)
        shares[standing] = np.minimum(self._evidence.shares()[standing], np.nextafter(1.0, 0.0))
        return shares

    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b``, or None where no statistics of differences are kept."""
        return self._evidence.lead_bound(check_arm(a, self.n_arms), check_arm(b, self.n_arms), simultaneous)

    def smallest_lead_bound(self, a: int, others: Sequence[int]) -> float | None:
        """A lower bound for the lead of arm a over the best arm, if that is one of the others; None if not known."""
        return self._evidence.smallest_lead_bound(a, others)

    def rest(self) -> None:
        """Give back what only further rounds would need: none is played from here on."""
        self._evidence.rest()

    def lead_seen(self, a: int, b: int) -> float:
        """By how much arm a is ahead of arm b on the rounds that both shared."""
        seen = self._evidence.lead(check_arm(a, self.n_arms), check_arm(b, self.n_arms))
        return super().lead_seen(a, b) if seen is None else seen

    @property
    def no_disqualification(self) -> str | None:
        """Why an arm cannot be taken out of the game; None where it can."""
        return self._evidence.no_disqualification

    def withdraw(self, arm: int) -> None:
        """Query an arm no more, though it may still be the best: what is known about it is kept.

        For rounds whose arms somebody else has chosen, from the past alone: a record that is played again. While a
        candidate is withdrawn the game does not end within epsilon or with its pool: nobody was compared with it.
        """
        if check_count("arm", arm, least=0) not in self._due():
            raise ValueError(f"only an arm that is queried can be withdrawn, got {arm}")
        self._leave([arm])

    def keep_only(self, arms: Sequence[int]) -> None:
        """Withdraw all arms but these."""
        self._leave(np.setdiff1d(self._due(), arms).tolist())

    def _leave(self, arms: list[int]) -> None:
        from bestarm.kernels.rounds import withdraw_arms

        self._board.last_round[arms] = self.n_rounds
        withdraw_arms(self._board, self.n_rounds)
        self._evidence.note_withdrawn()
        self._read_progress()
        self._asked = None

    def _absorb_round(self, asked: Indices, row: Array) -> None:
        self._absorb_block(row)

    def _absorb_block(self, rows: Array) -> int:
        if self._n_queried == 0:
            return 0  # all candidates were withdrawn: there is nothing to be learned
        try:
            return self._evidence.play(rows)
        finally:  # a boundary may raise on the way
            self._read_progress()

    def take_out(self, arm: int) -> None:
        """Query an arm no more, and let nobody be beaten by it."""
        self._evidence.discard_evidence(arm)
        board = self._board
        place = int(np.flatnonzero(board.arms == arm)[0])
        if not board.is_out[place]:
            board.is_out[place] = True
            board.progress["n_candidates"] -= 1
        self._leave([arm])


def new_elimination_game(
    comparison: Comparison, goal: Goal, n_arms: int, max_rounds: int | None, max_queries: int | None
) -> EliminationGame:
    """A game played with this comparison for this goal."""
    evidence = comparison.evidence(n_arms, goal)
    about = evidence.criterion
    gaussian = about == "mean" and getattr(comparison, "nearly_gaussian", comparison.bounds is None)
    guarantee = Guarantee(
        goal.delta,
        comparison.assumption,
        goal.epsilon,
        goal.indifference_zone,
        comparison.pool,
        about,
        nearly_gaussian=gaussian,
        symmetric=getattr(comparison, "symmetric", False),
    )
    judged = gaussian or (about == "mean" and comparison.bounds is not None)  # else nothing could look wrong
    check = AssumptionCheck(comparison.bounds) if judged else None
    return EliminationGame(evidence, comparison.bounds, guarantee, check, max_rounds, max_queries)


@dataclass(frozen=True, repr=False)
class PairwiseBAI:
    """Pairwise-BAI (Algorithm 1): drop an arm as soon as any queried arm, even one already dropped, beats it.

    All eliminations of a round are decided from the same statistics and applied together. An arm eliminated in round
    ``t`` is still queried up to and including round ``keep * t``, so that it can beat others: 82 in Theorem 4.1, 2 in
    Pairwise-BAI+ of the experiments, 1 drops it at once, which the paper finds best in practice.

    **Guarantee.** Under the assumptions of the comparison, and with one best arm, the best arm stays a candidate
    through the whole game with probability at least ``1 - delta``, whatever ``keep``. So a game that is decided names
    it, and a game that ends by its budget has it among the candidates. With ``epsilon`` the arm returned is
    epsilon-optimal with probability at least ``1 - delta``. With ``indifference_zone`` all this holds if the best
    arm leads by at least the zone. Otherwise nothing is guaranteed about the answer, only that with probability at
    least ``1 - delta`` no arm that is behind by the zone or more ever beats the best one (boundaries), or puts it out
    without wealth of arms within the zone (`Betting`; nothing at all with `LeaderBetting`). Proofs: ``docs/theory.md``.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    comparison : who beats whom: `StudentMixture` (default) for Gaussian rewards, `LeaderBetting` or `Betting` for
        bounded ones, or the paper's own `GaussianBernstein` and `EmpiricalBernstein`
    keep : for how long a dropped arm is still queried, as a multiple of the round in which it was dropped, >= 1
    epsilon : the game also ends once the leader is shown to be within epsilon of every candidate, in units of rewards
    indifference_zone : assume that the best arm leads by at least this much, in units of rewards; if it does not,
        the answer is not guaranteed. Smaller leads are not told apart, so games between equal arms end
    max_rounds, max_queries : the game stops, undecided, before it would exceed these

    Examples
    --------
    >>> import numpy as np
    >>> from bestarm.algorithms import PairwiseBAI
    >>> from bestarm.arms import equicorrelated_arms
    >>> arms = equicorrelated_arms(4, correlation=0.9)
    >>> game = PairwiseBAI(delta=0.1).start(arms.n_arms)
    >>> used = game.play(arms.draw(5000, np.random.default_rng(1)))
    >>> game.best, game.candidates, sorted(elimination.arm for elimination in game.eliminations)
    (3, (3,), [0, 1, 2])

    """

    delta: float = 0.05
    _: KW_ONLY
    comparison: Comparison = field(default_factory=StudentMixture)
    keep: float = 1.0
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    max_rounds: int | None = None
    max_queries: int | None = None

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_role("PairwiseBAI", "pairs", self.comparison)
        check_at_least("keep", self.keep, 1)
        check_epsilon(self.epsilon, self.comparison)
        check_zone(self.indifference_zone, self.comparison)
        check_budget(self.max_rounds, self.max_queries)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        check_n_arms(n_arms)
        goal = Goal(self.delta, self.keep, self.epsilon, self.indifference_zone)
        return new_elimination_game(self.comparison, goal, n_arms, self.max_rounds, self.max_queries)


@dataclass(frozen=True, repr=False)
class ConvexBAI:
    """Convex-BAI (Algorithm 2): drop an arm as soon as a convex combination of the queried arms beats it.

    An arm that is close to an average of others can be shown to be worse than that average long before it is shown to
    be worse than any one of them, and what is worse than an average is not the best. An arm dropped in round ``t`` is
    queried up to and including round ``keep * t``: 98 in Theorem B.1.

    **Guarantee.** Under the assumptions of the comparison, and with one best arm, the best arm stays a candidate
    through the whole game with probability at least ``1 - delta``. With ``epsilon`` (`Portfolio` only) the arm returned
    is epsilon-optimal with probability at least ``1 - delta``. With `ConvexBernstein` an arm is dropped only on a
    certificate, the weights of a combination that beats it: what the solver cannot certify counts as not beaten.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    comparison : `Portfolio` (default, sharp), or `ConvexBernstein`, the paper's
    keep : for how long a dropped arm is still queried, as a multiple of the round in which it was dropped, >= 1
    epsilon : the game also ends once the leader is shown to be within epsilon of every candidate (`Portfolio` only)
    max_rounds, max_queries : the game stops, undecided, before it would exceed these
    check_growth : `ConvexBernstein` looks again when the rounds have grown by this factor. Looking less often is sound:
        it can only delay an elimination, by about this factor of its round, or longer where a crossing does not last.
        The default costs well under 1% of the queries; 1 looks in every round

    """

    delta: float = 0.05
    _: KW_ONLY
    comparison: Comparison = field(default_factory=Portfolio)
    keep: float = 1.0
    epsilon: float = 0.0
    max_rounds: int | None = None
    max_queries: int | None = None
    check_growth: float = 1.005

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_role("ConvexBAI", "combinations", self.comparison)
        check_at_least("keep", self.keep, 1)
        check_epsilon(self.epsilon, self.comparison)
        check_at_least("check_growth", self.check_growth, 1)
        check_budget(self.max_rounds, self.max_queries)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        check_n_arms(n_arms)
        goal = Goal(self.delta, self.keep, self.epsilon, check_growth=self.check_growth)
        return new_elimination_game(self.comparison, goal, n_arms, self.max_rounds, self.max_queries)
