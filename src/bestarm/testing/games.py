"""Promises about how games are played."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, Game, Reason
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


REASONS = (None, Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED, Reason.BUDGET)
REASON_TEXTS = ", ".join(map(repr, map(str, REASONS[1:])))


def telling_is_playing(trial: Trial) -> None:
    """One `ask` and `tell` per row is the same as to `play` the rows."""
    game = trial.start()
    rounds = sum(1 for _ in trial.tell(game))
    require(rounds == game.n_rounds, f"{rounds} rounds were told, {game.n_rounds} are counted")
    same(game, outcome(trial.played()), "told row by row and not played,")


def blocks_of_any_size_are_the_same(trial: Trial) -> None:
    """It does not matter in which blocks the rows come."""
    expected = outcome(trial.played())
    for size in (1, 7, 64):
        game = trial.start()
        while not game.finished and game.n_rounds < len(trial.rows):
            game.play(trial.rows[game.n_rounds :][:size])
        same(game, expected, f"played in blocks of {size},")


def the_same_rows_are_the_same_game(trial: Trial) -> None:
    """Nothing but the rewards decides: no clock, no dice of its own that are not seeded."""
    same(trial.played(), outcome(trial.played()), "played once more,")


def games_share_nothing(trial: Trial) -> None:
    """Two games with the same settings, played alternately, go as each would alone."""
    tables = (trial.rows, trial.rows[:, ::-1])
    alone = [outcome(trial.played(rows)) for rows in tables]
    games = [trial.start() for _ in tables]
    for start in range(0, len(trial.rows), 5):
        for game, rows in zip(games, tables, strict=True):
            if not game.finished:
                game.play(rows[start : start + 5])
    for game, expected in zip(games, alone, strict=True):
        same(game, expected, "beside another game")


def arms_have_no_order(trial: Trial) -> None:
    """Arms in another order give the same game, with other numbers (rewards without ties; rounding may differ)."""
    K, game = trial.n_arms, trial.played()
    for order in (np.arange(K)[::-1], np.random.default_rng(trial.seed).permutation(K)):
        other = trial.relabel(trial.algorithm, order.tolist()).start(K)
        other.play(trial.rows[:, order])
        seen = {(one.round, int(order[one.arm]), int(order[one.by])): one.margin for one in other.eliminations}
        expected = {(one.round, one.arm, one.by): one.margin for one in game.eliminations}
        where = f"with the arms in the order {order.tolist()}"
        require(sorted(seen) == sorted(expected), f"{where} eliminations are {seen} instead of {expected}")
        close = [math.isclose(seen[one], expected[one], rel_tol=1e-8, abs_tol=1e-12) for one in expected]
        require(all(close), f"{where} margins are {seen} instead of {expected}")
        answer = (sorted(order[list(other.candidates)].tolist()), int(order[other.best]), other.reason, other.n_rounds)
        before = (list(game.candidates), game.best, game.reason, game.n_rounds)
        require(answer == before, f"{where} candidates, best, reason and rounds are {answer} instead of {before}")
        require(np.array_equal(other.counts, game.counts[order]), f"{where} counts are {other.counts.tolist()}")
        means = np.allclose(other.means, game.means[order], rtol=1e-12, atol=1e-12, equal_nan=True)
        require(means, f"{where} means are {other.means} instead of {game.means[order]}")


def columns_not_asked_are_not_read(trial: Trial) -> None:
    """What the columns of arms that were not asked hold does not change the game."""
    expected = outcome(trial.played())
    for value in trial.start().bounds or (-1e100, 1e100):
        game, rows = trial.start(), np.full_like(trial.rows, value)
        for t, asked in enumerate(trial.tell(game)):
            rows[t, asked] = trial.rows[t, asked]
        same(trial.played(rows), expected, f"with {value} in all columns that were not asked")


def rows_after_the_end_are_left(trial: Trial) -> None:
    """`play` says how many rows it used, and uses no others."""
    game = trial.start()
    used = game.play(trial.rows)
    require(used == game.n_rounds, f"play says that it used {used} rows in {game.n_rounds} rounds")
    require(game.finished or used == len(trial.rows), f"play left rows of a game that goes on: it used {used}")
    other_end = np.concatenate([trial.rows[:used], trial.rows[used:, ::-1]])
    for rows in (trial.rows[:used], other_end):
        same(trial.played(rows), outcome(game), "with other rows after the end")


def every_query_counts_once(trial: Trial) -> None:
    """Counts, means and the leader are those of the rewards told, after every round."""
    game, K = trial.start(), trial.n_arms
    counts, sums = np.zeros(K, dtype=np.int64), np.zeros(K)
    require(np.isnan(game.means).all() and not game.counts.any(), "arms have been queried before the first round")
    for t, asked in enumerate(trial.tell(game)):
        counts[asked] += 1
        sums[asked] += trial.rows[t, asked]
        _check_statistics(game, t + 1, counts, sums)


def _check_statistics(game: Game, n_rounds: int, counts: NDArray[np.int64], sums: Rows) -> None:
    """Compare what a game says with what it was told. (Words are made only when they are needed: they take long.)"""
    seen, told = (game.n_rounds, game.n_queries), (n_rounds, int(counts.sum()))
    require(seen == told, f"rounds and queries are {seen}, those told {told}")
    if not np.array_equal(game.counts, counts):
        raise ConformanceError(f"counts are {game.counts}, those told {counts}")
    means, known, best, stay = game.means, counts > 0, game.best, game.candidates
    apart = np.abs(means[known] * counts[known] - sums[known]) > 1e-12 * np.abs(sums[known]) + 1e-14
    if apart.any() or not np.isnan(means[~known]).all():
        raise ConformanceError(f"means are {means} instead of {sums} / {counts}")
    leads = game.guarantee.criterion != "mean" or means[best] >= max(means[arm] for arm in stay if counts[arm])
    if best not in stay or not leads:
        raise ConformanceError(f"best is {best}, of candidates {stay} with the means {means}")


def arms_are_candidates_or_beaten(trial: Trial) -> None:
    """No arm is both; where the game `shrinks`, every arm is one of them. A game that has ended has a reason."""
    game, everybody = trial.start(), set(range(trial.n_arms))
    require(set(game.candidates) == everybody and not game.finished, "a new game is not open to all arms")
    for _ in trial.tell(game):
        stay, out = set(game.candidates), [one.arm for one in game.eliminations]
        require(stay and list(game.candidates) == sorted(stay), f"candidates are {game.candidates}")
        require(len(set(out)) == len(out) and not stay & set(out), f"{out} are out and {stay} are candidates")
        require(
            not game.shrinks or stay | set(out) == everybody,
            f"{out} are out, {stay} are candidates: some arms are neither",
        )
        require(game.finished == (game.reason is not None), f"finished is {game.finished}, reason {game.reason!r}")
        require(game.reason in REASONS, f"reason is {game.reason!r}, not None or one of {REASON_TEXTS}")
        require(game.reason != "decided" or len(stay) == 1, f"decided, with candidates {stay}")


def eliminations_say_when_and_by_whom(trial: Trial) -> None:
    """Eliminations come in order of rounds and arms, each by another arm; none is queried for longer than ``keep``."""
    game = trial.played()
    places = [(one.round, one.arm) for one in game.eliminations]
    require(places == sorted(places), f"rounds and arms of eliminations are {places}")
    keep = getattr(trial.algorithm, "keep", math.inf)
    for one in game.eliminations:
        require(1 <= one.round <= game.n_rounds, f"{one}, in a game of {game.n_rounds} rounds")
        require(one.by in range(trial.n_arms) and one.by != one.arm, f"{one}: by whom?")
        times = int(game.counts[one.arm])
        require(not game.shrinks or times <= keep * one.round + 1e-9, f"{one}, but it was queried {times} times")
    against = game.contradiction
    require(against is None or against.arm == game.best, f"the contradiction, {against}, is not of {game.best}")


def sets_shrink_where_they_should(trial: Trial) -> None:
    """Arms are asked in increasing order; where the game `shrinks`, all candidates are, and nobody comes back."""
    game = trial.start()
    before, standing = set(range(trial.n_arms)), set(range(trial.n_arms))
    for asked in trial.tell(game):
        arms = set(asked.tolist())
        require(arms and asked.tolist() == sorted(arms), f"asked are {asked.tolist()}")
        require(arms <= set(range(trial.n_arms)), f"asked are {asked.tolist()} of {trial.n_arms} arms")
        if game.shrinks:
            require(arms <= before, f"{arms} are asked after {before}")
            require(standing <= arms, f"{arms} are asked, though candidates are {standing}")
            require(set(game.candidates) <= standing, f"candidates are {game.candidates} after {standing}")
            before, standing = arms, set(game.candidates)


def asking_changes_nothing(trial: Trial) -> None:
    """The same arms until they are told; the caller may do with the array what it likes."""
    game, untouched = trial.midway(), trial.midway()
    if game.finished:
        return
    before, asked = outcome(game), game.ask()
    expected = asked.tolist()
    asked[:] = -1
    for again in (game.ask().tolist(), game.next_arms().tolist()):
        require(again == expected, f"asked once more, the arms are {again} instead of {expected}")
    same(game, before, "after a question")
    rest = trial.rows[game.n_rounds :]
    require(game.play(rest) == untouched.play(rest), "a game goes on differently after a question")
    same(game, outcome(untouched), "played on after a question,")


def the_reference_agrees(trial: Trial) -> None:
    """Eliminations, arm and round, are those of the slow and obvious version, if there is one."""
    if trial.reference is not None:
        seen = [(one.arm, one.round) for one in trial.played().eliminations]
        expected = [(int(arm), int(t)) for arm, t in trial.reference(trial.rows)]
        require(seen == expected, f"(arm, round) of eliminations are {seen}, those of the reference {expected}")
