"""Pairwise-BAI, Algorithm 1 of the paper."""

from dataclasses import KW_ONLY, dataclass, field

from bestarm.algorithms.elimination import check_budget, comparison_game
from bestarm.algorithms.game import Game
from bestarm.checks import check_at_least, check_delta, check_lead, check_n_arms
from bestarm.comparisons import Comparison, Goal, StudentMixture
from bestarm.comparisons.checks import check_epsilon, check_role
from bestarm.values import shortest_call


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
        check_lead("indifference_zone", self.indifference_zone)
        check_budget(self.max_rounds, self.max_queries)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        check_n_arms(n_arms)
        goal = Goal(self.delta, self.keep, self.epsilon, self.indifference_zone)
        return comparison_game(self.comparison, goal, n_arms, self.max_rounds, self.max_queries)
