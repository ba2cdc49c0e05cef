"""One game: ask which arms to query, tell their rewards, until it is finished."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bestarm.algorithms.assumptions import LOOK, AssumptionCheck, warn_of_assumption
from bestarm.checks import LARGEST, check_arm, check_arms, check_count, check_n_arms, floats, whole_numbers
from bestarm.comparisons.evidence import Criterion
from bestarm.text import short_repr
from bestarm.values import Array, Indices, equal_values, hash_of_values

Arm = TypeVar("Arm")


class Reason(StrEnum):
    """Why a game or a race has ended, or that it has not. The first three are answers."""

    DECIDED = "decided"  # one candidate is left
    WITHIN_EPSILON = "within epsilon"  # the leader is shown to be within epsilon of the best
    ALL_ITEMS_USED = "all items used"  # every item of the pool was used: the means over it are known
    BUDGET = "budget"  # the next round would exceed the budget
    RAN_OUT_OF_ITEMS = "ran out of items"  # the stream of items ended
    INTERRUPTED = "interrupted"  # by Ctrl-C, or by a signal that is taken for it
    OUTAGE = "outage"  # no candidate could be evaluated in a round
    RUNNING = "running"  # not ended yet

    @property
    def answers(self) -> bool:
        """Whether a race that ended for this reason has its answer."""
        return self in (Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED)


class Lead(NamedTuple):
    """By how much one arm is ahead of another: as seen on the items that both share, and a confidence interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Elimination(Generic[Arm]):
    """An arm that was beaten: in which round, by whom, and by how much its boundary was exceeded.

    Arms are numbers in a game and labels in the result of a race. Where a convex combination of arms beat it,
    ``weights`` holds those above zero by arm, and ``by`` is the heaviest.

    With bets (`Betting`, `LeaderBetting`, `Portfolio`, `Wins`) an arm is out when the wealth of all bets against it
    reaches a threshold. Then ``margin`` is ``log(wealth / threshold)``, and ``by`` only names the opponent whose bet on
    the pair has made the most: other bets, for instance on averages of leaders, may have contributed more.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    round: int
    by: Arm
    margin: float
    weights: dict[Arm, float] | None = None


@dataclass(frozen=True, eq=False)
class Intervals:
    """Simultaneous confidence intervals: entry ``[a, b]`` is for ``mu_a - mu_b``, the lead of arm a over arm b."""

    low: Array
    high: Array

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]


class Guarantee(NamedTuple):
    """What a game promises: with probability at least ``1 - delta`` the best arm stays, if the assumption holds.

    ``assumption`` completes the sentence "This assumes that ..."; ``delta`` is NaN where nothing is promised.
    ``epsilon`` is how far behind the best the answer may be; with an ``indifference_zone`` all holds only if the best
    leads by that much; with a ``pool`` the best is the arm with the largest mean over its items. With the ``criterion``
    "wins" the best is the arm that beats every other more often than it loses to it, and leads, epsilon and zone are
    shares of items: on which an arm is better minus on which it is worse. ``nearly_gaussian`` says that the assumption
    is about the shape of the differences, which can be looked at; with ``symmetric`` it is symmetry about their means.
    """

    delta: float
    assumption: str
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    pool: int | None = None
    criterion: Criterion = "mean"
    nearly_gaussian: bool = False
    symmetric: bool = False


NO_GUARANTEE = Guarantee(math.nan, "")


class Algorithm(Protocol):
    """Frozen settings of an algorithm."""

    def start(self, n_arms: int) -> "Game":
        """A new game with this many arms."""


def require_algorithm(algorithm: Any) -> None:
    """Refuse what is not an algorithm, or is the class of one."""
    if isinstance(algorithm, type) or not hasattr(algorithm, "start"):
        raise TypeError(
            f"algorithm must be an algorithm such as bestarm.algorithms.PairwiseBAI(0.05), got {short_repr(algorithm)}"
        )


def check_rewards(rows: Array, bounds: tuple[float, float] | None, n_rounds: int) -> None:
    """Refuse rewards that are not finite or out of bounds; ``n_rounds`` rounds came before them."""
    from bestarm.kernels.rounds import all_within

    low, high = bounds or (-LARGEST, LARGEST)
    if all_within(rows, low, high):
        return
    bad = ~((rows >= low) & (rows <= high))
    r, arm = (int(index) for index in np.argwhere(bad)[0])
    rule = "be finite" if bounds is None else f"be finite and lie in [{low:g}, {high:g}]"
    if bounds is None and np.isfinite(rows[r, arm]):
        rule = f"lie within ±{LARGEST:g}"
    raise ValueError(f"rewards must {rule}, got {float(rows[r, arm])!r} for arm {arm} in round {n_rounds + r + 1}")


class Game:
    """The state of one game. As it is, it queries all arms in every round and never ends.

    A subclass defines what it wants and knows: `next_arms`, `learn`, `reason`, `candidates`, `eliminations`, and what
    it can do: `shrinks`, `works_ahead`, `no_disqualification` with `take_out`, `lead_bound`. Everything else follows.

    Rewards must lie in the ``bounds``, if there are any; a ``check`` warns where the first rounds look wrong.

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
    withdraws: ClassVar[bool] = False  # whether arms can be queried no more and stay candidates (`keep_only`)

    def __init__(
        self,
        n_arms: int,
        bounds: tuple[float, float] | None = None,
        guarantee: Guarantee = NO_GUARANTEE,
        check: AssumptionCheck | None = None,
    ) -> None:
        check_n_arms(n_arms)
        self.n_arms = n_arms
        self.bounds = bounds
        self.guarantee = guarantee
        self.n_rounds = 0
        self.n_queries = 0
        self._sums = np.zeros(n_arms)
        self._counts = np.zeros(n_arms, dtype=np.int64)
        self._check = check
        self._asked: Indices | None = None
        self.warnings: list[str] = []  # about rewards that do not look the way the comparison assumes

    def __repr__(self) -> str:
        where = f"round {self.n_rounds:,}, {self.n_queries:,} queries, {self.reason or 'running'}"
        return f"<{type(self).__name__} of {self.n_arms} arms: {where}>"

    def next_arms(self) -> Indices:
        """The arms of the next round, in increasing order."""
        return np.arange(self.n_arms)

    def learn(self, arms: Indices, rewards: Array) -> None:
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

    def evidence(self) -> Array | None:
        """By arm: the evidence that it is not the best, as a share of what puts an arm out; None if it is not known.

        It is 1 for arms that were beaten and less than 1 for candidates; NaN for arms that were disqualified. With bets
        it is wealth over threshold, which begins at delta. Rules on moments have no wealth: an arm whose deficit is a
        share ``r`` of the boundary has ``delta ** (1 - r**2)``, as likelihood ratios grow with the square of a deficit.
        """
        return None

    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b``, or None where no statistics of differences are kept.

        At the level of one test of an elimination, or ``simultaneous`` with the bounds of all pairs and both sides.
        """
        return None

    @property
    def finished(self) -> bool:
        """Whether the game has ended; `reason` says why."""
        return self.reason is not None

    @property
    def counts(self) -> Indices:
        """The number of rounds in which each arm was queried."""
        return self._counts.copy()

    @property
    def means(self) -> Array:
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
        smallest = self.smallest_lead_bound(best, [arm for arm in self.candidates if arm != best])
        return None if smallest is None else float(max(0.0, -smallest))

    def smallest_lead_bound(self, a: int, others: Sequence[int]) -> float | None:
        """A lower bound for the lead of arm a over the best arm, if that is one of the others; None if not known."""
        bounds = [self.lead_bound(a, b) for b in others]
        known = [bound for bound in bounds if bound is not None]
        return min(known, default=math.inf) if len(known) == len(bounds) else None

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

    def ask(self) -> Indices:
        """The arms to query in this round, in increasing order: the same until rounds are told or an arm leaves."""
        if self.reason is not None:
            raise self._ended("nothing to ask")
        self._asked = self._due()
        return self._asked.copy()

    def _due(self) -> Indices:
        """The arms of this round, whether they were asked or not."""
        return check_arms(type(self).__name__, self.next_arms(), self.n_arms) if self._asked is None else self._asked

    def tell(self, rewards: ArrayLike, arms: Sequence[int] | None = None) -> None:
        """Take the rewards of the arms asked, in the order asked. A refused call changes nothing.

        With ``arms`` they are of a round that was asked before others were told, and are taken as such, where the game
        `works_ahead`. (A game that only `shrinks` wants some of the arms of such a round: tell it those it asks for.)
        """
        if self.reason is not None:
            raise self._ended("nothing to tell")
        asked = self._asked if arms is None else whole_numbers("arms", arms)
        if asked is None:
            raise RuntimeError("tell() needs the arms of this round: call ask() first")
        values = floats("rewards", rewards, copy=False)
        if values.shape != asked.shape:
            raise ValueError(
                f"rewards must hold one number for each of the {asked.size} arms asked "
                f"{short_repr(tuple(asked.tolist()))}, got shape {values.shape}"
            )
        if arms is not None and not self._may_take(asked):
            raise ValueError(f"the arms of this round are {short_repr(self._due().tolist())}, got {short_repr(arms)}")
        row = np.empty((1, self.n_arms))
        row.fill(values[0])  # columns not asked get a valid value so that the check passes; they are never read
        row[0, asked] = values
        check_rewards(row, self.bounds, self.n_rounds)
        self._asked = None
        self._absorb_round(asked, row)
        self._look(row, asked)

    def _may_take(self, asked: Indices) -> bool:
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
        if self._check is not None:
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
            raise ValueError(f"only an arm that is asked can be disqualified, got {short_repr(arm)}")
        if self.candidates == (arm,):
            raise ValueError(f"arm {arm} is the last candidate: it cannot be disqualified")
        if self.no_disqualification is not None:
            raise TypeError(self.no_disqualification)
        self.take_out(arm)
        self._asked = None

    def _absorb_round(self, asked: Indices, row: Array) -> None:
        """Count a round, of which ``row`` holds all columns, and learn from it."""
        rewards = row[0, asked]
        self._sums[asked] += rewards
        self._counts[asked] += 1
        self.n_rounds += 1
        self.n_queries += asked.size
        self.learn(asked, rewards)

    def _absorb_block(self, rows: Array) -> int:
        """Absorb rows until the end; the number of rows used."""
        for used in range(len(rows)):
            if self.finished:
                return used
            self._absorb_round(self._due(), rows[used : used + 1])
        return len(rows)

    def take_out(self, arm: int) -> None:
        """Query an arm no more; a game that can do without one, and says so, must do it here."""

    def keep_only(self, arms: Sequence[int]) -> None:
        """Query no other arms from here on, though others may be the best; a game that `withdraws` does it here."""
        raise TypeError(f"{type(self).__name__} cannot do without arms that it has asked for")

    def rest(self) -> None:
        """Give back what only further rounds would need: none is played from here on."""

    def _ended(self, what: str) -> RuntimeError:
        return RuntimeError(f"the game has ended ({self.reason}) after round {self.n_rounds}: {what}")

    def _look(self, rows: Array, arms: Indices) -> None:
        """Show the first rounds to the check, until it has seen enough; a warning may be an error."""
        check, self._check = self._check, None
        if check is None:
            return
        if check.look(rows, arms):
            self._check = check
        elif check.judgement is not None:
            self.warnings.append(check.judgement)
            warn_of_assumption(check.judgement)
