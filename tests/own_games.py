"""Games that users of bestarm might write: sound ones, and for every promise of the kit one that breaks it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import LUCB, Elimination, Game, Guarantee
from bestarm.comparisons import Betting, PairBoundary

Array = NDArray[np.float64]
Arms = NDArray[np.int64]


# --- sound ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopTwo:
    """Query the leader and the arm that is hardest to tell from it: Gaussian rewards of known variance, a heuristic."""

    delta: float = 0.1
    variance: float = 0.01

    def start(self, n_arms: int) -> Game:
        return TopTwoGame(n_arms, self)


TOP_TWO = TopTwo()


class TopTwoGame(Game):
    """Nobody leaves before the end; any arm may be asked again."""

    def __init__(self, n_arms: int, settings: TopTwo = TOP_TWO) -> None:
        super().__init__(n_arms, guarantee=Guarantee(settings.delta, "scores are Gaussian with the variance given"))
        self._settings = settings

    def _costs(self) -> tuple[int, Array]:
        """The leader, and what each other arm costs it in evidence."""
        means, counts, leader = self.means, self.counts, int(np.nanargmax(self.means))
        variances = self._settings.variance * (1.0 / counts + 1.0 / counts[leader])
        costs = (means[leader] - means) ** 2 / (2.0 * variances)
        costs[leader] = np.inf
        return leader, costs

    def next_arms(self) -> Arms:
        if self.n_rounds == 0:
            return np.arange(self.n_arms)
        leader, costs = self._costs()
        return np.sort([leader, int(np.argmin(costs))])

    @property
    def reason(self) -> str | None:
        if self.n_rounds == 0:
            return None
        threshold = np.log((self.n_arms - 1) / self._settings.delta) + 2.0 * np.log1p(np.log(self.n_rounds))
        return "decided" if self._costs()[1].min() > threshold else None

    @property
    def candidates(self) -> tuple[int, ...]:
        return (self._costs()[0],) if self.finished else super().candidates


@dataclass(frozen=True)
class PatientLUCB:
    """LUCB that gives up after some rounds."""

    lucb: LUCB
    patience: int

    def start(self, n_arms: int) -> Game:
        return PatientGame(self.lucb.start(n_arms), self.patience)


class PatientGame(Game):
    """Another game within this one."""

    works_ahead: ClassVar[bool] = False

    def __init__(self, inner: Game, patience: int) -> None:
        super().__init__(inner.n_arms, inner.bounds, inner.guarantee)
        self._inner, self._patience = inner, patience

    def next_arms(self) -> Arms:
        return self._inner.next_arms()

    def learn(self, arms: Arms, rewards: Array) -> None:
        self._inner.ask()
        self._inner.tell(rewards)

    @property
    def reason(self) -> str | None:
        return self._inner.reason or ("budget" if self.n_rounds >= self._patience else None)

    @property
    def candidates(self) -> tuple[int, ...]:
        return self._inner.candidates

    @property
    def eliminations(self) -> list[Elimination[int]]:
        return self._inner.eliminations


class FarBehind(Game):
    """Drops what is far behind the leader from round 10 on: a game that shrinks, without a guarantee."""

    shrinks: ClassVar[bool] = True

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self._out: dict[int, Elimination[int]] = {}
        self._disqualified: set[int] = set()

    def next_arms(self) -> Arms:
        return np.array(self.candidates)

    def learn(self, arms: Arms, rewards: Array) -> None:
        leader, means = self.best, self.means
        for arm in arms.tolist():
            margin = float(means[leader] - means[arm]) - 0.1
            if self.n_rounds >= 10 and margin > 0:
                self._out[arm] = Elimination(arm, self.n_rounds, leader, margin)

    @property
    def reason(self) -> str | None:
        return "decided" if len(self.candidates) == 1 else None

    @property
    def candidates(self) -> tuple[int, ...]:
        return tuple(sorted(set(range(self.n_arms)) - set(self._out) - self._disqualified))

    @property
    def eliminations(self) -> list[Elimination[int]]:
        return sorted(self._out.values(), key=lambda one: (one.round, one.arm))

    @property
    def no_disqualification(self) -> str | None:
        return None

    def take_out(self, arm: int) -> None:
        self._disqualified.add(arm)


@dataclass(frozen=True)
class Playing:
    """An algorithm without settings, from a kind of game."""

    kind: type[Game]

    def start(self, n_arms: int) -> Game:
        return self.kind(n_arms)


@dataclass(frozen=True)
class Wide(PairBoundary):
    """A comparison in a few lines, far wider than it needs to be: Chebyshev would do."""

    factor: float = 3.0

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope = np.where(rounds < 3, np.inf, self.factor * np.sqrt(n_arms * np.log(10.0 / delta) / rounds))
        return slope, np.zeros_like(slope)


# --- broken games -----------------------------------------------------------------------------------------------------


class DropsTheFirstRow(FarBehind):
    def _absorb_block(self, rows: Array) -> int:
        return super()._absorb_block(rows[1:]) + 1 if len(rows) > 1 else super()._absorb_block(rows)


class LooksAtTheEndOfABlock(FarBehind):
    def _absorb_block(self, rows: Array) -> int:
        used = super()._absorb_block(rows)
        if len(rows) == 7 and not self.finished:
            self._out.setdefault(self.candidates[0], Elimination(self.candidates[0], self.n_rounds, self.best, 1.0))
        return used


class ThrowsDice(FarBehind):
    dice = itertools.count()

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self._late = next(self.dice) % 2 == 0

    def learn(self, arms: Arms, rewards: Array) -> None:
        if not (self._late and self.n_rounds < 30):
            super().learn(arms, rewards)


class SharesItsSums(FarBehind):
    sums: ClassVar[dict[int, Array]] = {}

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self._sums = self.sums.setdefault(n_arms, np.zeros(n_arms))


class PrefersTheFirst(TopTwoGame):
    def next_arms(self) -> Arms:
        return np.unique([0, *super().next_arms().tolist()])


class ReadsEverything(TopTwoGame):
    def _absorb_round(self, asked: Arms, row: Array) -> None:
        super()._absorb_round(asked, row)
        self._sums += 1e-3 * row[0]


class ReadsOn(FarBehind):
    def _absorb_block(self, rows: Array) -> int:
        used = super()._absorb_block(rows)
        self._sums += rows[used:].sum(axis=0)
        return used


class CountsTwice(FarBehind):
    def learn(self, arms: Arms, rewards: Array) -> None:
        super().learn(arms, rewards)
        self.n_queries += 1


class OutAndIn(FarBehind):
    @property
    def candidates(self) -> tuple[int, ...]:
        return tuple(range(self.n_arms)) if len(self._out) < self.n_arms - 1 else super().candidates


class BeatenByItself(FarBehind):
    @property
    def eliminations(self) -> list[Elimination[int]]:
        return [Elimination(one.arm, one.round, one.arm, one.margin) for one in super().eliminations]


class ComesBack(FarBehind):
    def next_arms(self) -> Arms:
        return np.arange(self.n_arms) if self.n_rounds % 3 == 2 else super().next_arms()


class AsksAnew(TopTwoGame):
    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self._turn = 0

    def next_arms(self) -> Arms:
        self._turn += 1
        return np.unique([self._turn % self.n_arms, *super().next_arms().tolist()])


class LearnsFromRefusals(FarBehind):
    def tell(self, rewards: Any, arms: Sequence[int] | None = None) -> None:
        self._sums += 1e-3
        super().tell(rewards, arms)
        self._sums -= 1e-3


class LearnsFromRefusedRows(FarBehind):
    def play(self, rows: Any) -> int:
        block = np.asarray(rows, dtype=np.float64)
        good = np.isfinite(block).all(axis=-1)
        if block.ndim == 2 and block.shape[1] == self.n_arms and not good.all():
            super().play(block[: int(np.argmin(good))])
        return super().play(rows)


class AnswersAfterTheEnd(FarBehind):
    def ask(self) -> Arms:
        return self.next_arms() if self.finished else super().ask()


class TakesAnything(TopTwoGame):
    def _may_take(self, asked: Arms) -> bool:
        return True


class ClaimsToWorkAhead(TopTwoGame):
    def learn(self, arms: Arms, rewards: Array) -> None:
        if not np.all(np.diff(arms) > 0):
            self._sums[arms] += 0.1


class GuessesTheNextRound(FarBehind):
    def _may_take(self, asked: Arms) -> bool:
        return bool(
            asked.size and asked.min() >= 0 and asked.max() < self.n_arms and np.unique(asked).size == asked.size
        )


class DisqualifiesInName(FarBehind):
    def take_out(self, arm: int) -> None:
        pass


class KnowsSomeLeads(FarBehind):
    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        return -1.0 if a < b else None


class KnowsTooMuch(FarBehind):
    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        return 0.1


class PromisesNoSentence(FarBehind):
    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.guarantee = Guarantee(0.1, "iid")


@dataclass
class Unhashable:
    delta: float = 0.1

    def start(self, n_arms: int) -> Game:
        return FarBehind(n_arms)


@dataclass(frozen=True)
class NotPlain:
    threshold: float = float("nan")

    def start(self, n_arms: int) -> Game:
        return FarBehind(n_arms)


@dataclass(frozen=True)
class OneArm:
    def start(self, n_arms: int) -> Game:
        return FarBehind(max(int(n_arms), 2))


# --- broken comparisons -----------------------------------------------------------------------------------------------


class Silent(Wide):
    assumption: ClassVar[str] = "iid"


class Stubborn(Wide):
    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Any:
        return Betting(bounds=(7.0, 9.0), pool=pool)


@dataclass(eq=False)
class Nameless(PairBoundary):
    """Every one is another, so nothing that is computed for it can be shared."""

    boundary = Wide.boundary
    factor: float = 3.0


class Undefined(Wide):
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope, offset = super().boundary(rounds, n_arms, delta)
        return np.where(rounds == 100, np.nan, slope), offset


class Growing(Wide):
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope, offset = super().boundary(rounds, n_arms, delta)
        return np.where(rounds == 1000, 1.1 * slope, slope), offset


class Careless(Wide):
    """It asks for the same, whatever delta."""

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        return super().boundary(rounds, n_arms, 0.1)


class Confused(Wide):
    """Its slope is right, and its offset takes delta for the confidence."""

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope, _ = super().boundary(rounds, n_arms, delta)
        return slope, np.sqrt(-np.log1p(-delta) / rounds)


@dataclass(frozen=True)
class Hiding(Wide):
    """Two that differ are equal, so the second gets the thresholds of the first."""

    factor: float = field(default=3.0, compare=False)


class Sociable(Wide):
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope, offset = super().boundary(rounds, n_arms, delta)
        return slope * (1.0 + 1e-9 * rounds.size), offset
