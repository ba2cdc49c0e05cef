"""Speed of the foundation, as ratios within one run: ``make bench``.

Every ratio compares two things measured in turns in this process (or, for imports, in fresh interpreters); each is the
median of several turns, because machines are noisy.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import ConvexBAI, Game, PairwiseBAI
from bestarm.arms import BernoulliArms, GaussianArms, TableArms, bernoulli_variances, equicorrelated_arms
from bestarm.comparisons import Betting, ConvexBernstein, GaussianBernstein, StudentMixture
from bestarm.simulation import play_game, repetition_rng

DELTA = 0.1
TURNS = 7
GAMES = 60
ALGORITHM = PairwiseBAI(DELTA, comparison=GaussianBernstein())


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(*works: Callable[[], object]) -> list[float]:
    """The median time of each piece of work, measured in turns."""
    times = [[seconds(work) for work in works] for _ in range(TURNS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def draw_only(arms: GaussianArms, n_rounds: int) -> None:
    """What no simulation can avoid: standard normals into a buffer and a matrix product."""
    rng = np.random.default_rng(0)
    noise, rows = np.empty((2048, arms.n_arms)), np.empty((2048, arms.n_arms))
    factor = np.linalg.cholesky(arms.covariance).T.copy()
    for _ in range(n_rounds // 2048):
        rng.standard_normal(out=noise)
        np.matmul(noise, factor, out=rows)


def plain_numpy_rounds(arms: GaussianArms, n_rounds: int) -> None:
    """The same game written round by round in plain NumPy: draw, update the covariance, test all pairs."""
    rng = np.random.default_rng(0)
    factor = np.linalg.cholesky(arms.covariance)
    K = arms.n_arms
    mean, cross, alive = np.zeros(K), np.zeros((K, K)), np.ones(K, dtype=bool)
    for t in range(1, n_rounds + 1):
        x = arms.means + factor @ rng.standard_normal(K)
        step = x - mean
        mean += step / t
        cross += np.outer(step, x - mean)
        if t < 3:
            continue
        own = np.diag(cross)
        V = np.maximum(own[:, None] + own[None, :] - 2 * cross, 0.0) / (t - 1)
        alpha = np.sqrt(np.log(2 * K**2 * t * (t + 1) / DELTA) / (t - 1))
        f = np.exp(2 * alpha**2 + 1) if alpha >= 1 / 3 else 1 / (1 - 2 * alpha)
        lead = mean[None, :] - mean[:, None] - 1.5 * alpha * np.sqrt(2 * f * V)
        beaten = (lead[:, alive] > 0).any(axis=1)
        alive &= ~beaten


def games(arms: GaussianArms, n_games: int) -> int:
    """Play games one after the other; the rounds they took."""
    return sum(play_game(ALGORITHM, arms, repetition_rng(0, k)).n_rounds for k in range(n_games))


def simulated(arms: GaussianArms, workers: int) -> None:
    """The same games through `simulate` on this many threads."""
    with ThreadPoolExecutor(workers) as pool:
        bestarm.simulate(ALGORITHM, arms, repetitions=4 * GAMES, executor=pool, progress=False)


def interpreter(code: str, **environment: str) -> float:
    """Wall time of a fresh interpreter that runs a line of code."""
    command = [sys.executable, "-c", code]
    return seconds(lambda: subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True))


FIRST_GAME = """
import bestarm
arms = bestarm.arms.equicorrelated_arms(10, 0.5)
rule = bestarm.algorithms.PairwiseBAI(0.1, comparison=bestarm.comparisons.GaussianBernstein())
bestarm.simulate(rule, arms, repetitions=1)
"""


def endless_game(n_arms: int) -> Game:
    """A game on equal arms that has passed its first rounds and eliminates nobody for long."""
    return PairwiseBAI(1e-12, comparison=GaussianBernstein()).start(n_arms)


def cost_per_round(n_arms: int) -> tuple[float, float]:
    """Microseconds per round of drawing and of the game, nobody eliminated."""
    arms = GaussianArms(np.zeros(n_arms), 0.5 + 0.5 * np.eye(n_arms))
    rng = np.random.default_rng(0)
    game = endless_game(n_arms)
    n_rounds = 2048
    rows = arms.draw(n_rounds, rng)
    game.play(rows)
    drawing, playing = in_turns(lambda: arms.draw(n_rounds, rng), lambda: game.play(rows))
    return 1e6 * drawing / n_rounds, 1e6 * playing / n_rounds


def sharp() -> Table:
    """Time a round of the sharp comparisons over that of the paper's, drawing included."""
    equal = GaussianArms(np.zeros(10), 0.5 + 0.5 * np.eye(10))
    coins = TableArms(np.random.default_rng(0).integers(0, 2, (5000, 10)).astype(float))
    means = [0.7, *np.linspace(0.6, 0.3, 9)]
    bernoulli = BernoulliArms(means, bernoulli_variances(means).independent)
    n_rounds = 20 * 2048

    def long_game(comparison: StudentMixture | GaussianBernstein | Betting) -> None:
        arms = coins if isinstance(comparison, Betting) else equal
        play_game(PairwiseBAI(1e-12, comparison=comparison, max_rounds=n_rounds), arms, repetition_rng(0, 0))

    def betting_games() -> int:
        algorithm = PairwiseBAI(DELTA, comparison=Betting())
        return sum(play_game(algorithm, bernoulli, repetition_rng(0, k)).n_rounds for k in range(GAMES))

    for comparison in (GaussianBernstein(), StudentMixture(), Betting()):
        long_game(comparison)  # compiled, and its slopes known
    paper, student, betting = in_turns(
        lambda: long_game(GaussianBernstein()),
        lambda: long_game(StudentMixture()),
        lambda: long_game(Betting()),
    )
    arms = equicorrelated_arms(10, 0.5)
    paper_rounds, betting_rounds = games(arms, GAMES), betting_games()
    paper_games, real_games = in_turns(lambda: games(arms, GAMES), betting_games)
    table = Table(title="Time a round, drawing included, over that of GaussianBernstein, K = 10")
    for heading in ("what", "measured", "asked"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_row("StudentMixture, same rounds, nobody eliminated", f"{student / paper:.2f}", "≤ 1.2")
    table.add_row("Betting, same rounds, nobody eliminated", f"{betting / paper:.1f}", "≤ 15")
    ratio = (real_games / betting_rounds) / (paper_games / paper_rounds)
    table.add_row("Betting, whole games on Bernoulli arms against Figure 1's", f"{ratio:.1f}", "≤ 15")
    return table


def ratios() -> Table:
    """Measured ratios beside what is asked of them."""
    arms = equicorrelated_arms(10, 0.5)
    rounds = games(arms, GAMES)
    few = 4000
    playing, drawing, plain = in_turns(
        lambda: games(arms, GAMES), lambda: draw_only(arms, rounds), lambda: plain_numpy_rounds(arms, few)
    )
    simulated(arms, 2)
    one, two = in_turns(lambda: simulated(arms, 1), lambda: simulated(arms, 2))
    numpy_import, own_import = in_turns(lambda: interpreter("import numpy"), lambda: interpreter("import bestarm"))
    with tempfile.TemporaryDirectory() as empty:
        fresh = interpreter(FIRST_GAME, NUMBA_CACHE_DIR=empty)
        cached = interpreter(FIRST_GAME, NUMBA_CACHE_DIR=empty)

    table = Table(
        title=f"Figure 1, K = 10, correlation 0.5, the Gaussian rule ({1e9 * playing / rounds:.0f} ns per round)"
    )
    for heading in ("what", "measured", "asked"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_row("round of a game / drawing its row alone", f"{playing / drawing:.2f}", "≤ 2")
    table.add_row("plain NumPy round / round of a game", f"{(plain / few) / (playing / rounds):.0f}", "≥ 100")
    table.add_row("one thread / two threads", f"{one / two:.2f}", "≥ 1.7")
    table.add_row("import bestarm / import numpy", f"{own_import / numpy_import:.2f}", "≤ 2")
    table.add_row("first game of a fresh install, seconds", f"{fresh:.1f}", "≤ 15")
    table.add_row("first game with compiled kernels cached, seconds", f"{cached:.1f}", "")
    return table


def convex() -> Table:
    """Convex-BAI games of 100,000 rounds on one core, and how often the solver ran."""
    table = Table(title="Convex-BAI, 100,000 rounds, one core")
    for heading in ("K", "look", "seconds", "asked", "rounds looked at", "arms solved", "not certified"):
        table.add_column(heading, justify="right")
    ConvexBAI(0.05, comparison=ConvexBernstein()).start(2).play(np.zeros((1, 2)))  # compiled
    for n_arms, largest_lead, asked in ((5, 0.06, "≤ 60"), (20, 0.25, "≤ 300")):
        means = np.linspace(0.5, 0.5 - largest_lead, n_arms)
        arms = BernoulliArms(means, bernoulli_variances(means).independent)
        for growth, name in ((1.0, "every round"), (1.005, "default")):
            algorithm = ConvexBAI(0.05, comparison=ConvexBernstein(), keep=98, max_rounds=100_000, check_growth=growth)
            game = algorithm.start(n_arms)
            rows = arms.draw(100_000, repetition_rng(0, 0))
            taken = seconds(lambda game=game, rows=rows: game.play(rows))  # type: ignore[misc]
            looked, solved, unknown = game.diagnostics.values()
            table.add_row(
                *(
                    str(n_arms),
                    name,
                    f"{taken:.2f}",
                    asked,
                    f"{looked / game.n_rounds:.1%}",
                    f"{solved:,}",
                    f"{unknown:,}",
                )
            )
    return table


def costs() -> Table:
    """Cost of a round against the number of arms."""
    table = Table(title="Cost of a round against K, nobody eliminated, µs")
    for heading in ("K", "drawing", "game", "game / drawing", "game, ns per pair"):
        table.add_column(heading, justify="right")
    for n_arms in (10, 30, 100, 300):
        drawing, playing = cost_per_round(n_arms)
        pairs = n_arms * (n_arms - 1) / 2
        table.add_row(
            str(n_arms), f"{drawing:.2f}", f"{playing:.2f}", f"{playing / drawing:.2f}", f"{1e3 * playing / pairs:.2f}"
        )
    return table


if __name__ == "__main__":
    console = Console()
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # coins are coins
    console.print(ratios())
    console.print(sharp())
    console.print(convex())
    console.print(costs())
