"""Many games, in parallel, reproducible from one seed whatever the number of workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, Game
from bestarm.algorithms.game import require_algorithm
from bestarm.arms import Arms, check_law
from bestarm.checks import check_count, check_open_unit, check_seed
from bestarm.comparisons.boundaries import CHUNK
from bestarm.values import Indices, equal_values

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    import pandas


__all__ = ["Simulation", "simulate"]
FIRST_BLOCK = 64  # rounds drawn at once in the beginning: short games should not pay for long ones
MOST_BATCHES = 64


def play_game(algorithm: Algorithm, arms: Arms, rng: np.random.Generator, stop: Event | None = None) -> Game:
    """One whole game on arms drawn from a generator; one pass over a pool (cut short only if ``stop`` is set)."""
    game = algorithm.start(arms.n_arms)
    pool = getattr(arms, "pool", None)
    if pool is not None:
        game.play(arms.draw(pool, rng))
        return game
    block = FIRST_BLOCK
    while not game.finished and not (stop is not None and stop.is_set()):
        game.play(arms.draw(min(block, CHUNK - game.n_rounds % CHUNK), rng))
        block *= 2
    return game


def repetition_rng(seed: int, repetition: int) -> np.random.Generator:
    """The generator of one repetition: child number ``repetition`` of the seed, whoever plays it."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repetition,)))


def clopper_pearson(errors: int, games: int, confidence: float) -> tuple[float, float]:
    """The exact two-sided interval for the probability of an error, of which so many were counted."""
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = 0.0 if errors == 0 else float(betaincinv(errors, games - errors + 1, tail))
    high = 1.0 if errors == games else float(betaincinv(errors + 1, games - errors, 1.0 - tail))
    return low, high


# What is kept of one game: queries, rounds, winner, candidates, contradiction and reason.
_Outcome = tuple[int, int, int, NDArray[np.bool_], bool, str]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """The outcome of many games, one entry per game.

    Attributes
    ----------
    queries, rounds : number of queries and of rounds
    winners : the arm returned (for a game that ran out of budget: the candidate with the largest mean)
    candidates : which arms were still candidates at the end, shape (games, K)
    contradictions : whether every remaining candidate was beaten in the same round
    reasons : why the game ended (empty where the rewards of a pool ran out before)

    """

    algorithm: Algorithm
    arms: Arms
    queries: Indices
    rounds: Indices
    winners: Indices
    candidates: NDArray[np.bool_]
    contradictions: NDArray[np.bool_]
    reasons: NDArray[np.str_]

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Simulation of {self.algorithm!r} on {self.arms.n_arms} arms: {self}>"

    @property
    def repetitions(self) -> int:
        """Number of games."""
        return self.queries.size

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether one candidate was left."""
        alone: NDArray[np.bool_] = self.candidates.sum(axis=1) == 1
        return alone

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Whether the game ended with an answer, not because its budget or its rewards ran out."""
        answered: NDArray[np.bool_] = ~np.isin(self.reasons, ("", "budget"))
        return answered

    @property
    def errors(self) -> NDArray[np.bool_]:
        """Whether the guarantee was broken.

        For a game that gave an answer: the arm returned is worse than the best (by more than epsilon, if there is one).
        For one that ran out of budget: no best arm is among its candidates.
        """
        means, epsilon = self.arms.means, self.algorithm.start(self.arms.n_arms).guarantee.epsilon
        lost = ~np.any(self.candidates[:, means == means.max()], axis=1)
        too_bad = means[self.winners] < means.max() - epsilon
        wrong: NDArray[np.bool_] = np.where(self.answered, too_bad, lost)
        return wrong

    @property
    def error_rate(self) -> float:
        """Share of games that lost the best arm."""
        return float(self.errors.mean())

    def error_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Exact two-sided interval (Clopper and Pearson 1934) for the probability of an error."""
        check_open_unit("confidence", confidence)
        return clopper_pearson(int(self.errors.sum()), self.repetitions, confidence)

    @property
    def mean_queries(self) -> float:
        """Mean number of queries of a game."""
        return float(self.queries.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of `mean_queries`; NaN with one game."""
        if self.repetitions == 1:
            return float("nan")
        return float(self.queries.std(ddof=1) / np.sqrt(self.repetitions))

    def to_frame(self) -> pandas.DataFrame:
        """One row per game, as a pandas data frame (``pip install 'bestarm[frames]'``)."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'bestarm[frames]'") from error
        return pandas.DataFrame(
            {
                "queries": self.queries,
                "rounds": self.rounds,
                "winner": self.winners,
                "reason": self.reasons,
                "n_candidates": self.candidates.sum(axis=1),
                "error": self.errors,
                "contradiction": self.contradictions,
            }
        )

    def __str__(self) -> str:
        low, high = self.error_interval()
        games = "1 game" if self.repetitions == 1 else f"{self.repetitions:,} games"
        spread = "" if self.repetitions == 1 else f" ± {self.standard_error:,.0f}"
        return (
            f"{games}: {self.mean_queries:,.0f}{spread} queries, "
            f"error rate {self.error_rate:.3g} (95% interval {low:.3g} to {high:.3g})"
        )


def simulate(
    algorithm: Algorithm,
    arms: Arms,
    *,
    repetitions: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> Simulation:
    """Play many independent games.

    Repetition ``r`` draws from child ``r`` of the seed, so the result does not depend on the executor or the number of
    its workers.

    Parameters
    ----------
    algorithm : settings of the algorithm to play
    arms : what the rewards are drawn from
    repetitions : number of games
    seed : a whole number, at least 0
    executor : any `concurrent.futures.Executor`; by default threads, one per core (the compiled loops release the GIL)
    progress : whether to show a progress bar on the standard error stream; by default only on a terminal

    Examples
    --------
    >>> import bestarm
    >>> from bestarm.algorithms import PairwiseBAI
    >>> from bestarm.arms import equicorrelated_arms
    >>> arms = equicorrelated_arms(3, correlation=0.9)
    >>> sim = bestarm.simulate(PairwiseBAI(0.1), arms, repetitions=20)
    >>> sim.error_rate, sim.winners.tolist() == [2] * 20
    (0.0, True)

    """
    require_algorithm(algorithm)
    check_law(arms, "draw")
    check_count("repetitions", repetitions)
    check_seed(seed)
    batches = np.array_split(np.arange(repetitions), min(repetitions, MOST_BATCHES))
    from concurrent.futures import ThreadPoolExecutor

    workers: AbstractContextManager[Executor] = (
        ThreadPoolExecutor(os.cpu_count()) if executor is None else nullcontext(executor)
    )
    stop = Event() if executor is None else None  # an interrupt stops games on threads of our own at their next block
    with workers as pool:
        try:
            futures = [pool.submit(_play_batch, algorithm, arms, seed, batch, stop) for batch in batches]
            parts = _gather(futures, progress)
        finally:
            if stop is not None:
                stop.set()
    return Simulation(algorithm, arms, *(np.array(column) for column in zip(*chain(*parts), strict=True)))


def _play_batch(
    algorithm: Algorithm, arms: Arms, seed: int, repetitions: Indices, stop: Event | None = None
) -> list[_Outcome]:
    """Play these repetitions one after the other."""
    outcomes = []
    for repetition in repetitions.tolist():
        game = play_game(algorithm, arms, repetition_rng(seed, repetition), stop)
        if stop is not None and stop.is_set():
            break
        candidates = np.zeros(arms.n_arms, dtype=np.bool_)
        candidates[list(game.candidates)] = True
        counted = (game.n_queries, game.n_rounds, game.best)
        outcomes.append((*counted, candidates, game.contradiction is not None, game.reason or ""))
    return outcomes


def _gather(futures: list[Future[list[_Outcome]]], progress: bool | None) -> list[list[_Outcome]]:
    """The results in the order of submission; what has not started is cancelled if one fails."""
    from concurrent.futures import as_completed

    finished: Iterable[Future[list[_Outcome]]] = as_completed(futures)
    if sys.stderr.isatty() if progress is None else progress:
        from rich.console import Console
        from rich.progress import track

        finished = track(finished, "games", total=len(futures), console=Console(stderr=True), transient=True)
    try:
        for future in finished:
            future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]
