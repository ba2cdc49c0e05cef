"""One game: ask which arms to query, tell their rewards, until it is finished."""

from collections.abc import Sequence
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.algorithms.data_kind import LOOK, DataWatch, check_rewards, warn_of_assumption
from bestarm.algorithms.statements import NO_GUARANTEE, Elimination, Guarantee, Intervals, Lead
from bestarm.checks import check_arm, check_arms, check_count, check_n_arms, floats, whole_numbers
from bestarm.shown import described

Arms = NDArray[np.int64]
Rewards = NDArray[np.float64]


class Game:
    """The state of one game. As it is, it queries all arms in every round and never ends.

    A subclass defines what it wants and knows: `next_arms`, `learn`, `reason`, `candidates`, `eliminations`, and what
    it can do: `shrinks`, `works_ahead`, `no_disqualification` with `take_out`, `lead_bound`. Everything else follows.

    Rewards must lie in the ``bounds``, if there are any; a ``watch`` warns where the first rounds look wrong.

    Examples
    --------
    >>> from bestarm.algorithms import PairwiseBAI
    >>> from bestarm.arms import equicorrelated_arms
    >>> arms, rng = equicorrelated_arms(3, correlation=0.9), np.random.default_rng(0)
    >>> game = PairwiseBAI(delta=0.1).start(n_arms=3)
    >>> while not game.finished:
    ...     asked = game.ask()
    ...     game.tell(arms.draw(1, rng)[0, asked])
    >>> game.best, game.reason
    (2, <Reason.DECIDED: 'decided'>)

    """

    shrinks: ClassVar[bool] = False  # whether the sets of arms queried only shrink
    works_ahead: ClassVar[bool] = True  # whether rounds may be asked before earlier ones are told

    def __init__(
        self,
        n_arms: int,
        bounds: tuple[float, float] | None = None,
        guarantee: Guarantee = NO_GUARANTEE,
        watch: DataWatch | None = None,
    ) -> None:
        check_n_arms(n_arms)
        self.n_arms = n_arms
        self.bounds = bounds
        self.guarantee = guarantee
        self.n_rounds = 0
        self.n_queries = 0
        self._sums = np.zeros(n_arms)
        self._counts = np.zeros(n_arms, dtype=np.int64)
        self._watch = watch
        self._asked: Arms | None = None
        self.warnings: list[str] = []  # about rewards that do not look the way the comparison assumes

    def __repr__(self) -> str:
        where = f"round {self.n_rounds:,}, {self.n_queries:,} queries, {self.reason or 'running'}"
        return f"<{type(self).__name__} of {self.n_arms} arms: {where}>"

    def next_arms(self) -> Arms:
        """The arms of the next round, in increasing order."""
        return np.arange(self.n_arms)

    def learn(self, arms: Arms, rewards: Rewards) -> None:
        """Take the rewards of a round; `means` and `counts` have them already."""

    @property
    def reason(self) -> str | None:
        """Why the game has ended, one of the first four kinds of `Reason`; None while it goes on."""
        return None

    @property
    def candidates(self) -> tuple[int, ...]:
        """The arms that may still be the best, in increasing order."""
        return tuple(range(self.n_arms))

    @property
    def eliminations(self) -> list[Elimination[int]]:
        """Who was beaten so far, in the order of rounds and arms."""
        return []

    @property
    def contradiction(self) -> Elimination[int] | None:
        """None, or the evidence against `best`, if every remaining candidate was beaten in the same round.

        The candidate with the largest mean then stays. Under the assumptions this happens only on the event of
        probability delta on which the guarantee may fail, unless the best arm was disqualified: read it as a warning.
        """
        return None

    @property
    def diagnostics(self) -> dict[str, int]:
        """Counts of the work behind the game."""
        return {}

    @property
    def no_disqualification(self) -> str | None:
        """Why an arm cannot be taken out of the game; None where it can."""
        return "this game cannot do without an arm that it has asked for: use an elimination algorithm"

    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b``, or None where no statistics of differences are kept.

        At the level of one test of an elimination, or ``simultaneous`` with the bounds of all pairs and both sides.
        """
        return None

    def rounds_apart(self, ahead: Rewards, behind: Rewards, shift: float = 0.0) -> float | None:
        """In which round an arm would be out if the two had these rewards on items of their own; None if unknown."""
        return None

    @property
    def finished(self) -> bool:
        """Whether the game has ended; `reason` says why."""
        return self.reason is not None

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of rounds in which each arm was queried."""
        return self._counts.copy()

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean reward of each arm over the rounds in which it was queried; NaN before the first."""
        counts = self.counts
        return np.where(counts > 0, self._sums / np.maximum(counts, 1), np.nan)

    @property
    def best(self) -> int:
        """The candidate with the largest mean so far: the answer, once the game is decided."""
        if self.n_rounds == 0:
            raise RuntimeError("no arm leads before the first round: call ask() and tell() first")
        candidates = np.array(self.candidates)
        means = self.means[candidates]
        return int(candidates[np.argmax(np.where(np.isnan(means), -np.inf, means))])

    @property
    def regret_bound(self) -> float | None:
        """How much better than `best` any arm can still be, with probability at least ``1 - delta``, at all times.

        With probability at least ``1 - delta``, in all rounds at once, the best arm is a candidate and no arm is better
        than the leader by more than this (Hsu's comparison with the best), with an indifference zone only if the best
        leads by it, and until the best is disqualified. Infinite before the first look, None if it is not known.
        """
        best = self.best
        bounds = [self.lead_bound(best, arm) for arm in self.candidates if arm != best]
        known = [bound for bound in bounds if bound is not None]
        return max([0.0, *(-bound for bound in known)]) if len(known) == len(bounds) else None

    def lead(self, a: int, b: int, simultaneous: bool = False) -> Lead | None:
        """By how much arm a is ahead of arm b: the estimate, and a lower and an upper bound that hold at all times.

        Each side has the level of one pair, ``delta / (K - 1)``; or ``simultaneous`` with all pairs, as `intervals`.
        None where no statistics of differences are kept.
        """
        a, b = check_arm(a, self.n_arms), check_arm(b, self.n_arms)
        low, below = self.lead_bound(a, b, simultaneous), self.lead_bound(b, a, simultaneous)
        return None if low is None or below is None else Lead(self.lead_seen(a, b), low, -below)

    def lead_seen(self, a: int, b: int) -> float:
        """By how much arm a is ahead of arm b, as far as it was seen: in means, or in wins if these are compared."""
        means = self.means
        return float(means[check_arm(a, self.n_arms)] - means[check_arm(b, self.n_arms)])

    def intervals(self) -> Intervals | None:
        """Simultaneous intervals for all leads, ``[a, b]`` of arm a over arm b, at all times together, at level delta.

        They rest on the rounds that both arms shared, at ``delta / (K (K - 1))`` a side: wider than the tests of the
        eliminations, which protect the best arm alone. None where no statistics of differences are kept.
        """
        low = np.zeros((self.n_arms, self.n_arms))
        for a, b in permutations(range(self.n_arms), 2):
            if (bound := self.lead_bound(a, b, simultaneous=True)) is None:
                return None
            low[a, b] = bound
        return Intervals(low, -low.T)

    def ask(self) -> Arms:
        """The arms to query in this round, in increasing order; the same until `tell` is called."""
        if self.finished:
            raise self._ended("nothing to ask")
        self._asked = self._due()
        return self._asked.copy()

    def _due(self) -> Arms:
        """The arms of this round, whether they were asked or not."""
        return check_arms(type(self).__name__, self.next_arms(), self.n_arms) if self._asked is None else self._asked

    def tell(self, rewards: ArrayLike, arms: Sequence[int] | None = None) -> None:
        """Take the rewards of the arms asked, in the order asked. A refused call changes nothing.

        With ``arms`` they are of a round that was asked before others were told, and are taken as such, where the game
        `works_ahead`. (A game that only `shrinks` wants some of the arms of such a round: tell it those it asks for.)
        """
        if self.finished:
            raise self._ended("nothing to tell")
        asked = self._asked if arms is None else whole_numbers("arms", arms)
        if asked is None:
            raise RuntimeError("tell() needs the arms of this round: call ask() first")
        values = floats("rewards", rewards, copy=False)
        if values.shape != asked.shape:
            raise ValueError(
                f"rewards must hold one number for each of the {asked.size} arms asked "
                f"{described(tuple(asked.tolist()))}, got shape {values.shape}"
            )
        if arms is not None and not self._may_take(asked):
            raise ValueError(f"the arms of this round are {described(self._due().tolist())}, got {described(arms)}")
        row = np.empty((1, self.n_arms))
        row.fill(values[0])  # columns not asked hold nothing that could be refused
        row[0, asked] = values
        check_rewards(row, self.bounds, self.n_rounds)
        self._asked = None
        self._absorb_round(asked, row)
        self._look(row, asked)

    def _may_take(self, asked: Arms) -> bool:
        """Whether the rewards of just these arms can be a round."""
        if self.shrinks or not self.works_ahead:
            return np.array_equal(asked, self._due())
        return asked.size > 0 and asked.min() >= 0 and asked.max() < self.n_arms and np.unique(asked).size == asked.size

    def play(self, rows: ArrayLike) -> int:
        """Play many rounds at once from whole rows, one column per arm; returns the number of rows used.

        The same as one `ask` and `tell` per row: only the columns that would have been asked are counted and used, and
        no row after the end. All numbers must be finite and within the bounds.
        """
        if self.finished:
            raise self._ended("nothing to play")
        block = np.ascontiguousarray(floats("rows", rows, copy=False))
        if block.ndim != 2 or block.shape[1] != self.n_arms:
            raise ValueError(f"rows must have shape (n_rounds, {self.n_arms}), got {block.shape}")
        if len(block) == 0:
            return 0
        check_rewards(block, self.bounds, self.n_rounds)
        self._asked = None
        used = self._absorb_block(block)
        if self._watch is not None:
            queried_all_along = np.flatnonzero(self.counts >= min(self.n_rounds, LOOK))
            self._look(block[:used], queried_all_along)
        return used

    def disqualify(self, arm: int) -> None:
        """Take out an arm that cannot be evaluated: from the current round on it is neither queried nor compared.

        With probability at least ``1 - delta`` the best of all arms is a candidate or was disqualified. Arms that it
        eliminated stay out. (The decision may rest on the round now asked: `docs/theory.md`.)
        """
        if self.finished:
            raise self._ended("nobody to disqualify")
        if check_count("arm", arm, least=0) not in self._due():
            raise ValueError(f"only an arm that is asked can be disqualified, got {described(arm)}")
        if self.candidates == (arm,):
            raise ValueError(f"arm {arm} is the last candidate: it cannot be disqualified")
        if self.no_disqualification is not None:
            raise TypeError(self.no_disqualification)
        self.take_out(arm)
        self._asked = None

    def _absorb_round(self, asked: Arms, row: Rewards) -> None:
        """Count a round, of which ``row`` holds all columns, and learn from it."""
        rewards = row[0, asked]
        self._sums[asked] += rewards
        self._counts[asked] += 1
        self.n_rounds += 1
        self.n_queries += asked.size
        self.learn(asked, rewards)

    def _absorb_block(self, rows: Rewards) -> int:
        """Absorb rows until the end; the number of rows used."""
        for used in range(len(rows)):
            if self.finished:
                return used
            self._absorb_round(self._due(), rows[used : used + 1])
        return len(rows)

    def take_out(self, arm: int) -> None:
        """Query an arm no more; a game that can do without one, and says so, must do it here."""

    def _ended(self, what: str) -> RuntimeError:
        return RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: {what}")

    def _look(self, rows: Rewards, arms: Arms) -> None:
        """Show the first rounds to the watch, until it has seen enough; a warning may be an error."""
        watch, self._watch = self._watch, None
        if watch is None:
            return
        if watch.look(rows, arms):
            self._watch = watch
        elif watch.judgement is not None:
            self.warnings.append(watch.judgement)
            warn_of_assumption(watch.judgement)
