"""What promises are checked on: a seeded game, and words for what was seen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, Game
from bestarm.errors import BestarmError

Rows = NDArray[np.float64]
MakeRows = Callable[[np.random.Generator, int, int], Rows]
Reference = Callable[[Rows], Sequence[tuple[int, int]]]
Relabel = Callable[[Any, Sequence[int]], Algorithm]


class ConformanceError(BestarmError, AssertionError):
    """A promise that an algorithm or a comparison does not keep."""


@dataclass(frozen=True)
class Trial:
    """An algorithm, and the rewards that its games are played on: those of all arms, of which a game asks for some."""

    algorithm: Algorithm
    rows: Rows
    seed: int
    relabel: Relabel
    reference: Reference | None

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.rows.shape[1])

    def start(self) -> Game:
        """A new game."""
        return self.algorithm.start(self.n_arms)

    def played(self, rows: Rows | None = None) -> Game:
        """A game after these rows, or after all."""
        game = self.start()
        game.play(self.rows if rows is None else rows)
        return game

    def midway(self) -> Game:
        """A game shortly before its end, when some arms are out and some are not."""
        return self.played(self.rows[: self.played().n_rounds * 9 // 10])

    def tell(self, game: Game) -> Iterator[NDArray[np.int64]]:
        """Tell a game the rest of the rows, one by one; yields the arms asked, after each round."""
        while not game.finished and game.n_rounds < len(self.rows):
            asked = game.ask()
            game.tell(self.rows[game.n_rounds, asked])
            yield asked

    def finish(self, game: Game) -> Game:
        """The game after it was told the rest of the rows."""
        for _ in self.tell(game):
            pass
        return game


def outcome(game: Game) -> dict[str, Any]:
    """All that a game says of its course."""
    begun = game.n_rounds > 0
    return {
        "reason": game.reason,
        "candidates": game.candidates,
        "eliminations": game.eliminations,
        "contradiction": game.contradiction,
        "n_rounds": game.n_rounds,
        "n_queries": game.n_queries,
        "counts": game.counts.tolist(),
        "means": game.means.tolist(),
        "best": game.best if begun else None,
        "regret_bound": game.regret_bound if begun else None,
    }


def require(kept: object, seen: str) -> None:
    """Say what was seen where a promise is not kept."""
    if not kept:
        raise ConformanceError(seen)


def same(game: Game, expected: dict[str, Any], when: str) -> None:
    """Require this outcome to the last digit: a printed number has all of them, and one NaN is as another."""
    for name, value in outcome(game).items():
        require(repr(value) == repr(expected[name]), f"{when} {name} is {value!r} instead of {expected[name]!r}")


def refused(what: str, call: Callable[[], object], error: type[Exception] = ValueError) -> None:
    """Require that a call raises this error."""
    try:
        call()
    except error:
        return
    raise ConformanceError(f"{what} is not refused")


def in_range(bounds: tuple[float, float] | None, clear: bool) -> MakeRows:
    """Rewards within the bounds, if there are any: one arm far ahead of all others, or arms close to each other."""
    low, high = bounds or (0.0, 1.0)

    def make(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Rows:
        levels = rng.uniform(0.05, 0.1, n_arms) if clear else np.linspace(0.25, 0.75, n_arms)
        levels[-1] = 0.93 if clear else levels[-1]
        own, shared = rng.uniform(-1.0, 1.0, (n_rounds, n_arms)), rng.uniform(-1.0, 1.0, (n_rounds, 1))
        unit = rng.permutation(levels) + (0.02 if clear else 0.1) * (own + shared)
        return low + (high - low) * unit

    return make
