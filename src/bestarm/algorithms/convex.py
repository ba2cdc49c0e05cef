"""Convex-BAI, Algorithm 2 of the paper."""

from dataclasses import KW_ONLY, dataclass, field

from bestarm.algorithms.elimination import check_budget, comparison_game
from bestarm.algorithms.game import Game
from bestarm.checks import check_at_least, check_delta, check_n_arms
from bestarm.comparisons import Comparison, Goal, Portfolio
from bestarm.comparisons.checks import check_epsilon, check_role
from bestarm.values import shortest_call


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
        return comparison_game(self.comparison, goal, n_arms, self.max_rounds, self.max_queries)
