"""Pairwise-BAI, Algorithm 1 of the paper."""

from dataclasses import dataclass, field

from bestarm.algorithms.elimination import EliminationLearner, check_budget
from bestarm.algorithms.game import Game
from bestarm.board import FOREVER, new_board
from bestarm.checks import check_at_least, check_n_arms, check_open_unit
from bestarm.comparisons import Boundary, GaussianBernstein


@dataclass(frozen=True)
class PairwiseBAI:
    """Pairwise-BAI (Algorithm 1): drop an arm as soon as any queried arm, even one already dropped, beats it.

    All eliminations of a round are decided from the same statistics and applied together. An arm eliminated in round
    ``t`` is still queried up to and including round ``keep * t``, so that it can beat others: 82 in Theorem 4.1, 2 in
    Pairwise-BAI+ of the experiments, 1 drops it at once, which the paper finds best in practice.

    **Guarantee.** Under the assumptions of the comparison, and with one best arm, the best arm stays a candidate
    through the whole game with probability at least ``1 - delta``, whatever ``keep``. So a game that is decided names
    it, and a game that ends by its budget has it among the candidates.

    Parameters
    ----------
    delta : probability of error allowed, in (0, 1)
    comparison : who beats whom
    keep : for how long a dropped arm is still queried, as a multiple of the round in which it was dropped, >= 1
    max_rounds, max_queries : the game ends with all candidates before it would exceed these

    Examples
    --------
    >>> import numpy as np, bestarm
    >>> arms = bestarm.equicorrelated_arms(4, correlation=0.9)
    >>> game = bestarm.PairwiseBAI(delta=0.1, comparison=bestarm.GaussianBernstein()).start(arms.n_arms)
    >>> used = game.play(arms.draw(5000, np.random.default_rng(1)))
    >>> game.best, game.candidates, [elimination.arm for elimination in game.eliminations]
    (3, (3,), [0, 1, 2])

    """

    delta: float = 0.05
    comparison: Boundary = field(default_factory=GaussianBernstein)
    keep: float = 1.0
    max_rounds: int | None = None
    max_queries: int | None = None

    def __post_init__(self) -> None:
        check_open_unit("delta", self.delta)
        check_at_least("keep", self.keep, 1)
        check_budget(self.max_rounds, self.max_queries)

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels import race_pairs

        check_n_arms(n_arms)
        learner = EliminationLearner(
            new_board(n_arms),
            self.comparison,
            self.delta,
            race_pairs,
            (float(self.keep), False, FOREVER),
            self.max_rounds,
            self.max_queries,
        )
        return Game(n_arms, learner, self.comparison.bounds)
