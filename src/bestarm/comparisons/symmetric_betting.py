"""The sharper comparison for rewards without bounds: bets on the leader so far, if differences are symmetric."""

from dataclasses import KW_ONLY, dataclass
from math import ceil, log2
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_count, check_share
from bestarm.comparisons.boundaries import MIN_ROUNDS, PairBoundaryEvidence, StudentMixture
from bestarm.comparisons.evidence import SYMMETRIC, Evidence, Goal, Role, shared_rounds
from bestarm.kernels.state import RivalRule, new_rivals
from bestarm.values import Array, shortest_call

EFFECTS: Array = 1.5 * 0.4 ** np.arange(6.0)  # bets, in standard deviations of the difference
STUDENT = 0.1  # the share of delta on the Student mixture


class SymmetricEvidence(PairBoundaryEvidence):
    """The wealth of bets on the leader so far, and moments of all differences, judged by a share of delta."""

    def __init__(self, n_arms: int, settings: "SymmetricBetting", goal: Goal) -> None:
        from bestarm.kernels.symmetric import race_symmetric

        super().__init__(n_arms, settings.mixture, goal._replace(delta=settings.student * goal.delta))
        self._goal = goal
        self.rule = RivalRule(
            keep=float(goal.keep),
            zone=float(goal.indifference_zone),
            epsilon=float(goal.epsilon),
            threshold=1.0 / ((1.0 - settings.student) * goal.delta),
            constant_from=self._constant_from(self._delta),
        )
        self.rivals = new_rivals(n_arms, EFFECTS)
        self._arms_withdrawn = False  # since the last round
        self._kernel, self._own = race_symmetric, (self.rivals, self.rule)

    def _constant_from(self, delta: float) -> int:
        """After how many rounds differences that are all the same are their mean, at the level of one pair.

        A symmetric difference that is not constant takes any one value with probability at most a half, unless that is
        its mean.
        """
        return 1 + ceil(log2((self.board.arms.size - 1) / delta)) if delta > 0.0 else 0

    def _state(self) -> tuple[NDArray[Any], ...]:
        return (*self.board, *self.rivals)

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        if self._arms_withdrawn:
            self._replace_withdrawn()
        if self._delta > 0.0:
            return super().play(rows)
        nobody = np.full(len(rows), np.inf)
        return int(self._kernel(rows, nobody, nobody, self.board, *self._own))

    def note_withdrawn(self) -> None:
        """Before the next round, look whether rivals must be chosen anew."""
        self._arms_withdrawn = True

    def _replace_withdrawn(self) -> None:
        """Choose rivals anew where one was withdrawn, which is decided before the round."""
        from bestarm.kernels.symmetric import renew_rivals

        board, rivals = self.board, self.rivals
        self._arms_withdrawn = False
        queried = board.arms[: board.n_queried]
        bet_on = rivals.rival[queried[~board.is_out[: queried.size]]]
        bet_on = bet_on[bet_on >= 0]
        if not np.isin(bet_on[~rivals.failing[bet_on]], queried).all():
            schedule = rivals.progress[0]
            planned = schedule.next_renewal
            renew_rivals(board.n_rounds, board, rivals, self.rule.zone)
            schedule.next_renewal = min(planned, schedule.next_renewal)

    def shares(self) -> Array:
        """By arm: the evidence that it is not the best, by the bets or by the boundary, whichever says more."""
        by_bets = self.rivals.total / self.rule.threshold
        return by_bets if self._delta == 0.0 else np.maximum(by_bets, super().shares())

    def lead_bound(self, a: int, b: int, simultaneous: bool) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b`` by the boundary of the Student mixture; None without it.

        At level ``student delta / (K - 1)``, which leaves the bets theirs; ``simultaneous`` as a statement of its own,
        at ``delta / (K (K - 1))``. Nothing is known about a pair whose differences have taken too few values.
        """
        from bestarm.kernels.boundaries import may_be_judged

        if self._delta == 0.0:
            return None
        delta = self._goal.delta / self.board.arms.size if simultaneous else self._delta
        n, (_, square) = shared_rounds(self.board, a, b), self._lead_and_square(a, b)
        enough = may_be_judged(self.rivals.first, a, b, n, square, self._constant_from(delta))
        return self._lower_bound(a, b, delta) if enough else -np.inf

    def discard_evidence(self, arm: int) -> None:
        """What was bet on an arm that fails in the round now asked loses as much as it can in that round.

        Who fails may depend on the rewards of the round, so it must not change what was bet on before.
        """
        place = int(np.flatnonzero(self.board.arms == arm)[0])
        self.rivals.failing[arm] = not self.board.is_out[place]
        self.rivals.progress[0].any_failing = True


@dataclass(frozen=True, repr=False)
class SymmetricBetting:
    """Bets that each arm is worse than the leader so far: one wealth against each arm, no union over opponents.

    For rewards without bounds whose differences are symmetric. In each round the wealth against arm ``i`` grows by
    ``1 + 0.9 tanh(lambda Y / 0.9)``, where ``Y`` is the reward of the arm with the largest mean before the round minus
    that of arm ``i`` (against the leader itself, that of the second). There are six bets,
    ``lambda = min(g, 4 / sqrt(t)) / sd`` with ``g`` from 1.5 down to 0.015 and ``sd`` the standard deviation of this
    difference in earlier rounds, and a small share of the wealth is spread over them again in each round. Arm ``i`` is
    out when the wealth against it reaches ``1 / ((1 - student) delta)``, or when `StudentMixture` says so at
    ``student delta``. That part finds an opponent that is closely correlated with an arm and not the leader, and what
    is said about leads rests on it (regret bounds, intervals, epsilon). It says nothing about a pair whose differences
    have taken fewer than ten distinct values (among the first 500; in the first rounds, fewer than there were rounds),
    unless they were all the same for so long that no other symmetric difference would have been.

    Margins of arms that the bets put out are logarithms of wealth over threshold, and ``by`` is whom it was bet on;
    margins of arms that the Student mixture put out are leads beyond its boundary. With two arms there is no union to
    be saved, and `StudentMixture` alone needs nearly as few rounds; where games end by epsilon it needs fewer, since
    here only the share speaks about leads.

    **Guarantee.** Rounds independent and identically distributed, the difference of every arm and the best one
    symmetric about its mean (the median, where there is no mean): with probability at least ``1 - (1 - student) delta``
    the bets never put out the best arm. (``tanh`` is odd and increasing, so against the best arm its mean is at most 0
    whoever leads, and the wealth is a nonnegative supermartingale of the common filtration: Ville's inequality. See
    ``docs/theory.md``.) Jointly Gaussian rewards are symmetric in this sense, and so are arms whose noise has the same
    law and may be exchanged, however skewed or heavy-tailed that law is. The rest of delta needs differences that are
    Gaussian: with them the best arm is never out with probability at least ``1 - delta``. Discrete differences are
    not, and a Student test that looks at few values of them errs; this is why it waits for ten. With ``student=0`` the
    assumption is symmetry alone; then nothing is said about leads, and there is no epsilon. Skewed differences void the
    guarantee.

    Parameters
    ----------
    student : the share of delta on the Student mixture, in [0, 1)
    min_rounds : the Student mixture does not look before this round, as in `StudentMixture`

    References
    ----------
    Efron (1969), Student's t-test under symmetry conditions; Ramdas, Ruf, Larsson, Koolen (2020), Admissible anytime-
    valid sequential inference must rely on nonnegative martingales, arXiv 2009.03167 (odd functions of symmetric
    variables); Herbster, Warmuth (1998), Tracking the best expert (fixed share).

    """

    _: KW_ONLY
    student: float = STUDENT
    min_rounds: int = MIN_ROUNDS

    role: ClassVar[Role] = "pairs"
    bounds: ClassVar[tuple[float, float] | None] = None
    pool: ClassVar[int | None] = None
    symmetric: ClassVar[bool] = True  # what is assumed of the differences
    supports_zone: ClassVar[bool] = True  # also without epsilon: a symmetric difference is symmetric when shifted

    def __post_init__(self) -> None:
        check_share("student", self.student)
        check_count("min_rounds", self.min_rounds, least=2)

    __repr__ = shortest_call

    @property
    def mixture(self) -> StudentMixture:
        """The Student mixture beside the bets."""
        return StudentMixture(min_rounds=self.min_rounds)

    @property
    def supports_epsilon(self) -> bool:
        """Whether leads are bounded: by the Student mixture."""
        return self.student > 0.0

    @property
    def assumption(self) -> str:
        """What the guarantee rests on."""
        share = f"; a share of {self.student:g} of the error rate needs differences that are nearly Gaussian"
        return SYMMETRIC + (share if self.student > 0.0 else "")

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """Unchanged: it has no use for bounds, and its target is no pool."""
        return self

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the bets in a new game, and the moments of all differences."""
        return SymmetricEvidence(n_arms, self, goal)
