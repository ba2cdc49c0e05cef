"""What do bets on the leaders save? Queries over those of `Betting` and of an oracle, and what else they promise.

    python benchmarks/leader_queries.py [PART ...] [--tables FOLDER] [--games 600] [--delta 0.05]

The parts: ``tables`` (``.npz`` files with an array ``scores``, items x arms, in [0, 1]; with replacement and as pools),
``laws`` (coins, few values, beta, skewed; correlations, clusters, near-copies; K = 2 to 200), ``ties`` (how much of
delta is used), ``power`` (antithetic coins with a tiny lead, beside `Portfolio`), ``cost`` (time and memory a round, up
to 10,000 arms), ``bounds`` (how the time of a regret bound grows), ``regret`` (how wide it is beside that of `Betting`)
and ``first`` (the first race of an installation).

The oracle knows the law of the scores and makes the best constant bet against each arm; with the union it pays for
K - 1 opponents (`bestarm.limits`). It is about independent rounds: there is none for pools.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import betaincinv

import bestarm
from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import PoolArms, TableArms
from bestarm.comparisons import Betting, Comparison, LeaderBetting, Portfolio
from bestarm.limits import growth_rates, oracle_queries
from power_one import AntitheticCoins

Matrix = NDArray[np.float64]
CONSOLE = Console(width=180)
ITEMS = 3000  # of a table that stands for a law
MANY, FEW_GAMES = 200, 100  # bets on all pairs of so many arms are slow: at most so many games
RULES = ("Betting", "LeaderBetting", "leaders alone")
YARDSTICKS = ("Betting", "Betting, medians", "oracle with union", "oracle without union")


def headed(title: str, *headings: str) -> Table:
    """An empty table."""
    table = Table(title=title)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    return table


@dataclass(frozen=True)
class Law:
    """What rows of scores are drawn from."""

    name: str
    arms: TableArms

    def rules(self) -> list[Comparison]:
        """One for each of `RULES`."""
        pool = len(self.arms.scores) if isinstance(self.arms, PoolArms) else None
        return [Betting(pool=pool), LeaderBetting(pool=pool), LeaderBetting(pool=pool, pairs=0)]

    def oracles(self, delta: float) -> list[float]:
        """The queries of the oracle with the union over opponents and without; none for pools."""
        if isinstance(self.arms, PoolArms):
            return []
        rates = growth_rates(self.arms.scores)
        return [oracle_queries(rates, delta, union=union) for union in (True, False)]


@dataclass(frozen=True)
class Measured:
    """The mean queries of `RULES` on one law, their errors, and how many times those of `YARDSTICKS` they need.

    Medians too: where the best of many arms is lost, those left may be so close that this game takes most of all
    queries.
    """

    law: Law
    games: int
    queries: Matrix
    errors: Sequence[float]
    times: Matrix  # one row for each yardstick there is
    seconds: float


def measured(law: Law, given: argparse.Namespace) -> Measured:
    """Many games of each rule, the same rows for all."""
    begun = time.perf_counter()
    games = min(given.games, FEW_GAMES) if law.arms.n_arms >= MANY else given.games
    played = [
        bestarm.simulate(PairwiseBAI(given.delta, comparison=rule), law.arms, repetitions=games, seed=1)
        for rule in law.rules()
    ]
    queries = np.array([sim.mean_queries for sim in played])
    medians = np.array([np.median(sim.queries) for sim in played])
    times = [queries / queries[0], medians / medians[0], *(queries / oracle for oracle in law.oracles(given.delta))]
    errors = [sim.error_rate for sim in played]
    return Measured(law, games, queries, errors, np.array(times), time.perf_counter() - begun)


def compared(title: str, laws: Iterable[Law], given: argparse.Namespace) -> None:
    """One row per law; then the geometric means over all laws, the worst, and which law is the worst of each kind."""
    found = [measured(law, given) for law in laws]
    times = np.array([one.times for one in found])  # by law, yardstick and rule
    yardsticks = YARDSTICKS[: times.shape[1]]
    table = headed(title, "", "queries", *(f"/ {name}" for name in yardsticks), "errors", "games", "seconds")
    for one in found:
        errors = " ".join(f"{rate:.3f}" for rate in one.errors)
        table.add_row(
            one.law.name, f"{one.queries[0]:,.0f}", *_cells(one.times), errors, f"{one.games}", f"{one.seconds:.0f}"
        )
    table.add_section()
    table.add_row("geometric mean", "", *_cells(np.exp(np.log(times).mean(axis=0))))
    table.add_row("worst", "", *_cells(times.max(axis=0)))
    CONSOLE.print(table)
    CONSOLE.print(f"Queries are those of {RULES[0]}; in each cell: {', '.join(RULES)}.")
    for y, name in enumerate(yardsticks):
        _say_worst(name, [one.law.name for one in found], times[:, y, RULES.index("LeaderBetting")])


def _cells(times: Matrix) -> list[str]:
    """How many times the queries of each yardstick the rules need; nobody asks how many times its own Betting does."""
    rows = [row[1:] if name.startswith("Betting") else row for name, row in zip(YARDSTICKS, times, strict=False)]
    return [" ".join(f"{ratio:.3f}" for ratio in row) for row in rows]


def _say_worst(yardstick: str, names: Sequence[str], ratios: Matrix) -> None:
    worst = int(np.argmax(ratios))
    CONSOLE.print(
        f"LeaderBetting over {yardstick}: worst on {names[worst]} ({ratios[worst]:.3f}, "
        f"the median law {np.median(ratios):.3f})."
    )


def tables(given: argparse.Namespace) -> None:
    """Real score tables, drawn with replacement and as pools."""
    paths = sorted(given.tables.glob("*.npz")) if given.tables else []
    if not paths:
        CONSOLE.print("tables: none, give --tables FOLDER")
        return
    scores = {path.stem: np.load(path)["scores"] for path in paths}
    drawn = (Law(name, TableArms(one)) for name, one in scores.items())
    compared(f"Score tables with replacement, delta {given.delta:g}", drawn, given)
    pools = (Law(name, PoolArms(one)) for name, one in scores.items())
    compared(f"Score tables as pools, delta {given.delta:g}", pools, given)


def copula(means: Matrix, correlation: Matrix, kind: str, rng: np.random.Generator) -> Matrix:
    """Scores in [0, 1] with these means, up to one item in `ITEMS`, whose normal scores are correlated like this.

    Each arm takes evenly spread quantiles: with sample means the best of many arms might be tied, or another one.
    """
    root = np.linalg.cholesky(correlation + 1e-9 * np.eye(means.size))
    normal = rng.standard_normal((ITEMS, means.size)) @ root.T
    u = (normal.argsort(axis=0).argsort(axis=0) + 0.5) / ITEMS
    if kind == "coins":
        return np.asarray(u < means, dtype=np.float64)
    if kind == "five values":
        return np.asarray(np.clip(np.floor(5 * (u + means - 0.5)), 0, 4) / 4)
    if kind == "beta":
        return np.asarray(betaincinv(8 * means, 8 * (1 - means), u))
    return np.asarray(u ** (1 / means - 1))  # skewed: its mean is the one given


def equal(K: int, correlation: float) -> Matrix:
    """All pairs have the same correlation."""
    return np.full((K, K), correlation) + (1 - correlation) * np.eye(K)


def clusters(K: int, n: int, within: float = 0.95) -> Matrix:
    """Consecutive arms are in a cluster, and those of different clusters independent."""
    number = np.arange(K) * n // K
    return np.where(number[:, None] == number, within, 0.0) + (1 - within) * np.eye(K)


def spread_means(K: int) -> Matrix:
    """From .6 down to .4, and the best leads by a ninth of that: with equal steps games of 200 arms take days."""
    return np.concatenate([[0.6], np.linspace(0.6 - 0.2 / 9, 0.4, K - 1)])


def laws(given: argparse.Namespace) -> None:
    """Synthetic laws: a large sample of each stands for it."""

    def drawn() -> Iterator[tuple[str, Matrix]]:
        rng = np.random.default_rng(7)
        for kind in ("coins", "five values", "beta", "skewed"):
            for K in (2, 10, 50, MANY):
                for correlation in (0.0, 0.5, 0.9, 0.99) if K == 10 else (0.5,):
                    name = f"{kind}, K = {K}, correlation {correlation:g}"
                    yield name, copula(spread_means(K), equal(K, correlation), kind, rng)
        for n in (8, 4):
            yield f"coins, 16 arms in {n} clusters", copula(np.linspace(0.7, 0.4, 16), clusters(16, n), "coins", rng)
        for kind in ("coins", "beta"):
            yield f"{kind}, 30 near-copies of a rival", near_copies(kind, rng)

    title = f"Synthetic laws, delta {given.delta:g}"
    compared(title, (Law(name, TableArms(scores)) for name, scores in drawn()), given)


def near_copies(kind: str, rng: np.random.Generator) -> Matrix:
    """The best arm, a rival that is independent of it, and 30 that follow the rival closely and are a little worse."""
    means = np.concatenate([[0.6, 0.57], np.full(30, 0.53)])
    correlation = np.full((32, 32), 0.98)
    correlation[0, :] = correlation[:, 0] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return copula(means, correlation, kind, rng)


def ties(given: argparse.Namespace) -> None:
    """All arms are equally good: how often the first of them is out, that is how much of delta is used."""
    table = headed(f"Ties: how often the first arm is out at delta {given.delta:g}", "", "independent", "pool")
    for K in (2, 10, 50):
        for kind, mean in (("coins", 0.5), ("rare wins", 0.03), ("rare losses", 0.97), ("a constant arm", 0.5)):
            found = [_used(K, mean, kind, pool, given) for pool in (None, 200)]
            table.add_row(f"K = {K}, {kind}", *(f"{share:.3f}" for share in found))
    CONSOLE.print(table)


def _used(K: int, mean: float, kind: str, pool: int | None, given: argparse.Namespace) -> float:
    out, n_rounds = 0, pool or 1000
    algorithm = PairwiseBAI(given.delta, comparison=LeaderBetting(pool=pool, pairs=None))
    for game_number in range(given.games):
        rng = np.random.default_rng([3, K, game_number])
        rows = (rng.random((n_rounds, K)) < mean).astype(np.float64)
        if pool is not None:  # the same number of successes for all arms
            rows = rng.permuted(np.tile((np.arange(pool) < round(mean * pool))[:, None], K), axis=0).astype(np.float64)
        if kind == "a constant arm":
            rows[:, 0] = mean
        game = algorithm.start(K)
        game.play(rows[: n_rounds - 1])
        out += 0 not in game.candidates
    return out / int(given.games)


def power(given: argparse.Namespace) -> None:
    """Two antithetic coins with a lead of .003: every lead is found, and not much later than by `Portfolio`."""
    coins, games = AntitheticCoins(0.003), min(given.games, 100)
    title = f"Rounds until one of two antithetic coins with a lead of .003 is out, {games} games"
    table, first = headed(title, "", "rounds", "/ Portfolio", "errors"), 0.0
    for algorithm in (
        ConvexBAI(given.delta, comparison=Portfolio()),
        PairwiseBAI(given.delta, comparison=Betting()),
        PairwiseBAI(given.delta, comparison=LeaderBetting()),
        PairwiseBAI(given.delta, comparison=LeaderBetting(pairs=0)),
    ):
        sim = bestarm.simulate(algorithm, coins, repetitions=games, seed=2)
        rounds, error = sim.rounds.mean(), sim.rounds.std(ddof=1) / np.sqrt(games)
        first = first or rounds
        shown = f"{rounds:,.0f} ± {error:,.0f}"
        table.add_row(repr(algorithm.comparison), shown, f"{rounds / first:.3f}", f"{sim.error_rate:.3f}")
    CONSOLE.print(table)


def cost(given: argparse.Namespace) -> None:
    """Time and memory a round of bets on leaders alone: they grow like the number of arms."""
    table = headed("LeaderBetting(pairs=0)", "arms", "ns per arm and round", "over drawing", "bytes per arm")
    for K in (10, 100, 1000, 10_000):
        rng, n_rounds = np.random.default_rng(0), 1000
        game = PairwiseBAI(1e-300, comparison=LeaderBetting(pairs=0)).start(K)
        begun = time.thread_time()
        rows = (rng.random((n_rounds, K)) < 0.5).astype(np.float64)
        drawn = time.thread_time() - begun
        game.play(rows[: n_rounds // 2])
        begun = time.thread_time()
        game.play(rows[n_rounds // 2 :])
        played = time.thread_time() - begun
        each = 2e9 * played / (n_rounds * K)
        evidence = game.evidence  # type: ignore[attr-defined]
        kept = sum(part.nbytes for part in (*evidence.board, *evidence.leaders))
        table.add_row(f"{K:,}", f"{each:.1f}", f"{2 * played / drawn:.1f}", f"{kept / K:,.0f}")
    CONSOLE.print(table)


def bounds(given: argparse.Namespace) -> None:
    """How long a regret bound takes after each further round of a long game."""
    table = headed(
        "Milliseconds for a regret bound after one more round, 10 arms",
        "rounds",
        "Betting",
        "LeaderBetting",
        "on a pool",
    )
    rows = np.random.default_rng(0).random((100_001, 10))
    for n_rounds in (1000, 10_000, 100_000):
        found = []
        for comparison in (Betting(), LeaderBetting(), LeaderBetting(pool=10**6)):
            game = PairwiseBAI(1e-12, comparison=comparison).start(10)
            game.play(rows[:n_rounds])
            _ = game.regret_bound
            game.play(rows[n_rounds : n_rounds + 1])
            begun = time.perf_counter()
            _ = game.regret_bound
            found.append(1e3 * (time.perf_counter() - begun))
        table.add_row(f"{n_rounds:,}", *(f"{one:.1f}" for one in found))
    CONSOLE.print(table)


def regret(given: argparse.Namespace) -> None:
    """How wide regret bounds are: those of `LeaderBetting` over those of `Betting`, in games that neither has ended."""
    laws = {
        "coins, K = 3": (3, 0.03),
        "coins, K = 10": (10, 0.01),
        "ties, K = 10": (10, 0.0),
        "coins, K = 150": (150, 0.001),
    }
    sources: dict[str, tuple[Matrix, int | None]] = {
        name: (
            copula(0.6 - gap * np.arange(K, dtype=np.float64), equal(K, 0.5), "coins", np.random.default_rng(7)),
            None,
        )
        for name, (K, gap) in laws.items()
    }
    for path in sorted(given.tables.glob("*.npz")) if given.tables else []:
        scores = np.asarray(np.load(path)["scores"], dtype=np.float64)
        sources |= {path.stem: (scores, None), f"{path.stem}, pool": (scores, len(scores))}
    looks = (12, 25, 50, 100, 200, 400)
    table = headed(f"Regret bounds over those of Betting, delta {given.delta:g}, after rounds", "", *map(str, looks))
    for name, (scores, pool) in sources.items():
        found = np.array(
            [_two_regrets(scores, pool, looks, number, given.delta) for number in range(min(given.games, 20))]
        )
        open_in_both = np.isfinite(found).all(axis=1, keepdims=True)
        sums = np.where(open_in_both, found, 0.0).sum(axis=0)
        table.add_row(name, *(f"{one / other:.2f}" if other else "–" for other, one in sums.T))
    CONSOLE.print(table)


def _two_regrets(scores: Matrix, pool: int | None, looks: tuple[int, ...], seed: int, delta: float) -> Matrix:
    """The bounds of `Betting` and of `LeaderBetting` after some rounds of the same rows; NaN once a game has ended."""
    rng = np.random.default_rng([11, seed])
    rows = scores[rng.permutation(len(scores)) if pool else rng.integers(len(scores), size=max(looks))]
    found = np.full((2, len(looks)), np.nan)
    rivals: tuple[Comparison, ...] = (Betting(pool=pool), LeaderBetting(pool=pool))
    for which, comparison in enumerate(rivals):
        game = PairwiseBAI(delta, comparison=comparison).start(scores.shape[1])
        for k, look in enumerate(looks):
            game.play(rows[game.n_rounds : look])
            if game.finished or game.regret_bound is None:
                break
            found[which, k] = game.regret_bound
    return found


FIRST_RACE = """
import sys, time, random
begun = time.process_time()
import bestarm, bestarm.comparisons
imported = time.process_time()
comparison = getattr(bestarm.comparisons, sys.argv[1])()
def score(arm, item):
    return random.Random(f"{arm} {item}").random()
bestarm.race(score, arms=["a", "b", "c"], items=range(50), bounds=(0, 1), comparison=comparison)
print(imported - begun, time.process_time() - imported)
"""


def first(given: argparse.Namespace) -> None:
    """Processor seconds of the first race of an installation, which compiles, and of the second."""
    table = headed("Processor seconds with an empty cache of kernels", "", "import", "first race", "second race")
    for comparison in ("LeaderBetting", "Betting"):
        with tempfile.TemporaryDirectory() as cache:
            (imported, raced), (_, raced_again) = (_seconds(comparison, cache) for _ in range(2))
        table.add_row(comparison, *(f"{seconds:.1f}" for seconds in (imported, raced, raced_again)))
    CONSOLE.print(table)


def _seconds(comparison: str, cache: str) -> list[float]:
    """How long an interpreter of its own takes to import the package, and for a race."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_RACE, comparison],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(seconds) for seconds in done.stdout.split()]


PARTS = {part.__name__: part for part in (tables, laws, ties, power, cost, bounds, regret, first)}


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--games", type=int, default=600)
    parser.add_argument("--delta", type=float, default=0.05)
    given = parser.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given)


if __name__ == "__main__":
    main()
