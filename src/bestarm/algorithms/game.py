"""One game: ask which arms to query, tell their rewards, until it is finished."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.algorithms.data_kind import LOOK, DataWatch
from bestarm.checks import check_n_arms

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Elimination:
    """An arm that was beaten: in which round, by whom, and by how much its boundary was exceeded.

    Where a convex combination of arms beat it, ``weights`` holds those above zero by arm, and ``by`` is the heaviest.
    """

    arm: int
    round: int
    by: int
    margin: float
    weights: dict[int, float] | None = None


class Learner(Protocol):
    """What an algorithm knows and decides during one game; `Game` checks what reaches it."""

    @property
    def n_rounds(self) -> int:
        """Rounds played."""
        ...

    @property
    def n_queries(self) -> int:
        """Queries made."""
        ...

    def queried(self) -> NDArray[np.int64]:
        """The arms of the next round, in increasing order."""
        ...

    def absorb(self, rows: NDArray[np.float64]) -> int:
        """Play rounds from whole rows (columns not queried are not read) until the end; the number of rows used."""
        ...

    @property
    def reason(self) -> str | None:
        """Why the game ended, or None while it goes on."""
        ...

    def means(self) -> NDArray[np.float64]:
        """The mean of each arm over the rounds in which it was queried."""
        ...

    def counts(self) -> NDArray[np.int64]:
        """The number of rounds in which each arm was queried."""
        ...

    def candidates(self) -> tuple[int, ...]:
        """The arms that may still be the best, in increasing order."""
        ...

    def eliminations(self) -> list[Elimination]:
        """Who was beaten so far, in the order of rounds and arms."""
        ...

    def contradiction(self) -> Elimination | None:
        """The evidence against the last candidate, where every candidate was beaten in one round."""
        ...

    def diagnostics(self) -> dict[str, int]:
        """What the learner counts besides queries."""
        ...

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        """A lower confidence bound for ``mu_j - mu_i``; TypeError where no statistics of differences are kept."""
        ...

    def disqualify(self, arm: int) -> None:
        """Query this arm no more, and let it beat nobody; TypeError where the guarantee would not survive that."""
        ...


@dataclass(frozen=True)
class Intervals:
    """Simultaneous confidence intervals: entry ``[i, j]`` is for ``mu_j - mu_i``."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Algorithm(Protocol):
    """Frozen settings of an algorithm."""

    def start(self, n_arms: int) -> "Game":
        """A new game with this many arms."""
        ...


class Game:
    """The state of one game, whatever the algorithm.

    Examples
    --------
    >>> import bestarm
    >>> arms = bestarm.equicorrelated_arms(3, correlation=0.9)
    >>> rng = np.random.default_rng(0)
    >>> game = bestarm.PairwiseBAI(delta=0.1, comparison=bestarm.GaussianBernstein()).start(n_arms=3)
    >>> while not game.finished:
    ...     asked = game.ask()
    ...     game.tell(arms.draw(1, rng)[0, asked])
    >>> game.best, game.reason
    (2, 'decided')

    """

    def __init__(
        self,
        n_arms: int,
        learner: Learner,
        bounds: tuple[float, float] | None = None,
        watch: DataWatch | None = None,
    ) -> None:
        check_n_arms(n_arms)
        self.n_arms = n_arms
        self.bounds = bounds
        self._learner = learner
        self._watch = watch
        self._asked: NDArray[np.int64] | None = None

    @property
    def finished(self) -> bool:
        """Whether the game has ended; `reason` says why."""
        return self._learner.reason is not None

    @property
    def reason(self) -> str | None:
        """Why the game has ended, or None while it goes on.

        ``"decided"``: one candidate is left. ``"within epsilon"``: `best` is shown to be within epsilon of every
        candidate. ``"pool exhausted"``: the means over the pool are known. ``"budget"``: the limit is reached.
        """
        return self._learner.reason

    @property
    def n_rounds(self) -> int:
        """Rounds played."""
        return self._learner.n_rounds

    @property
    def n_queries(self) -> int:
        """Queries made: one arm in one round is one query."""
        return self._learner.n_queries

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean reward of each arm over the rounds in which it was queried; NaN before the first."""
        return np.where(self.counts > 0, self._learner.means(), np.nan)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of rounds in which each arm was queried."""
        return self._learner.counts()

    @property
    def candidates(self) -> tuple[int, ...]:
        """The arms that may still be the best, in increasing order."""
        return self._learner.candidates()

    @property
    def best(self) -> int:
        """The candidate with the largest mean so far: the answer, once the game is decided."""
        if self.n_rounds == 0:
            raise RuntimeError("no arm leads before the first round: call ask() and tell() first")
        candidates = np.array(self.candidates)
        return int(candidates[np.argmax(self._learner.means()[candidates])])

    @property
    def eliminations(self) -> list[Elimination]:
        """Who was beaten so far, in the order of rounds and arms."""
        return self._learner.eliminations()

    @property
    def contradiction(self) -> Elimination | None:
        """None, or the evidence against `best`, if a round beat every candidate that was left.

        The candidate with the largest mean then stays. Under the assumptions of the comparison this happens only on
        the event of probability delta on which the guarantee may fail: read it as a warning.
        """
        return self._learner.contradiction()

    @property
    def diagnostics(self) -> dict[str, int]:
        """Counts of the work behind the game: of Convex-BAI, how often its solver ran and could not certify a sign."""
        return self._learner.diagnostics()

    @property
    def regret_bound(self) -> float:
        """How much better than `best` any arm can still be, at level delta, at any time and for free.

        With probability at least ``1 - delta``, in all rounds at once, the best arm is a candidate and no arm is better
        than the leader by more than this (Hsu's comparison with the best). It uses the same tests as the eliminations
        and agrees with them. With an indifference zone it holds under its promise only. Infinite before the first
        look of the comparison.
        """
        best = self.best
        return max([0.0] + [-self._learner.lead_bound(arm, best, False) for arm in self.candidates if arm != best])

    def lead(self, i: int, j: int) -> tuple[float, float]:
        """By how much arm ``j`` is better than arm ``i``: a lower and an upper bound, at all times, for this pair.

        Each side has the level of one test of an elimination, ``delta / (K - 1)``, so a lower bound above 0 is what
        drops ``i`` where pairs are compared one by one.
        """
        return self._learner.lead_bound(i, j, False), -self._learner.lead_bound(j, i, False)

    def intervals(self) -> Intervals:
        """Simultaneous intervals for all differences of means, at all times together, at level delta.

        A statement of another kind than the eliminations: these protect the best arm alone, at ``delta / (K - 1)`` a
        test; intervals for all pairs and both sides need ``delta / (K (K - 1))``. So they are wider, and an arm can be
        out although no interval of it excludes 0. For a pair of which one arm has left, they rest on the rounds that
        both shared.
        """
        low = np.zeros((self.n_arms, self.n_arms))
        for i in range(self.n_arms):
            for j in range(self.n_arms):
                if i != j:
                    low[i, j] = self._learner.lead_bound(i, j, True)
        return Intervals(low, -low.T)

    def ask(self) -> NDArray[np.int64]:
        """The arms to query in this round, in increasing order; the same until `tell` is called."""
        if self.finished:
            raise RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: nothing to ask")
        if self._asked is None:
            self._asked = self._learner.queried()
        return self._asked.copy()

    def tell(self, rewards: ArrayLike) -> None:
        """Take the rewards of the arms asked, in the order asked. A refused call changes nothing."""
        if self.finished:
            raise RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: nothing to tell")
        if self._asked is None:
            raise RuntimeError("tell() needs the arms of this round: call ask() first")
        values = np.asarray(rewards, dtype=np.float64)
        if values.shape != self._asked.shape:
            raise ValueError(
                f"rewards must hold one number for each of the {self._asked.size} arms asked "
                f"({', '.join(map(str, self._asked))}), got shape {values.shape}"
            )
        row = np.full((1, self.n_arms), values[0])  # columns not asked hold nothing that could be refused
        row[0, self._asked] = values
        self._check(row)
        asked, self._asked = self._asked, None
        self._learner.absorb(row)
        self._look(row, asked)

    def disqualify(self, arm: int) -> None:
        """Take an arm out that cannot be evaluated: from the round now asked on it is neither queried nor compared.

        With probability at least ``1 - delta`` the best of all arms is a candidate or was disqualified. What the arm
        has eliminated before stays eliminated. (The decision may rest on the round now asked: `docs/theory.md`.)
        """
        if self.finished:
            raise RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: nobody to disqualify")
        if arm not in self.ask():
            raise ValueError(f"only an arm that is asked can be disqualified, got {arm!r}")
        if self.candidates == (arm,):
            raise ValueError(f"arm {arm} is the last candidate: it cannot be disqualified")
        self._learner.disqualify(arm)
        self._asked = None

    def play(self, rows: ArrayLike) -> int:
        """Play many rounds at once from whole rows, one column an arm; returns the number of rows used.

        The same as one `ask` and `tell` a row: only the columns that would have been asked are counted and used. Rows
        after the end of the game are left. All numbers must be finite and within the bounds.
        """
        if self.finished:
            raise RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: nothing to play")
        block = np.ascontiguousarray(rows, dtype=np.float64)
        if block.ndim != 2 or block.shape[1] != self.n_arms:
            raise ValueError(f"rows must have shape (n_rounds, {self.n_arms}), got {block.shape}")
        if block.shape[0] == 0:
            return 0
        self._check(block)
        self._asked = None
        used = self._learner.absorb(block)
        if self._watch is not None:
            queried_all_along = np.flatnonzero(self.counts >= min(self.n_rounds, LOOK))
            self._look(block[:used], queried_all_along)
        return used

    def _look(self, rows: NDArray[np.float64], arms: NDArray[np.int64]) -> None:
        """Show the first rounds to the watch, until it has seen enough; it may warn, and warnings may be errors."""
        watch, self._watch = self._watch, None
        if watch is not None and watch.look(rows, arms):
            self._watch = watch

    def _check(self, rows: NDArray[np.float64]) -> None:
        """Refuse rewards that are not finite or out of bounds."""
        from bestarm.kernels import all_within

        low, high = self.bounds or (-LARGEST, LARGEST)
        if all_within(rows, low, high):
            return
        bad = ~((rows >= low) & (rows <= high))
        r, arm = (int(index) for index in np.argwhere(bad)[0])
        rule = "be finite" if self.bounds is None else f"be finite and lie in [{low:g}, {high:g}]"
        raise ValueError(
            f"rewards must {rule}, got {float(rows[r, arm])!r} for arm {arm} in round {self.n_rounds + r + 1}"
        )
