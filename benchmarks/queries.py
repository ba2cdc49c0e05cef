"""How many queries do the rules need? ``python benchmarks/queries.py PART [FOLDER] [--games 400] [--delta 0.05]``

The parts, each with ratios in one run; FOLDER holds score tables (``.npz`` files with an array ``scores``, items x
arms, in [0, 1]), without which tables are left out:

- ``paper``: the sharp rules over the paper's, on its Figure 1, on coins and on the tables: the range that the README
  states;
- ``leaders``: `LeaderBetting` over `Betting` and over an oracle that knows the law of the scores, on the tables, with
  replacement and as pools;
- ``portfolio``: `Portfolio` over `Betting` on the tables;
- ``symmetric``: `SymmetricBetting` over `StudentMixture` on Figure 1, at 0.05 and 0.001, looking from round 2 and 10;
- ``zones``: both of them and Kim and Nelson's procedure with indifference zones and epsilon;
- ``targets``: races on the tables about items like these, the default, over races about the items themselves: their
  evaluations where both decide, and how many candidates each leaves for items like these;
- ``power``: a tiny lead between antithetic coins, which the bets that wait find.

The oracle makes the best constant bet against each arm; with the union it pays for K - 1 opponents (`bestarm.limits`).
It is about independent rounds: there is none for pools.
"""

import argparse
from pathlib import Path

import numpy as np

import bestarm
import laws
from bestarm.algorithms import ConvexBAI, KimNelson, PairwiseBAI
from bestarm.arms import Arms, PoolArms, TableArms
from bestarm.comparisons import (
    Betting,
    Comparison,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
)
from bestarm.limits import growth_rates, oracle_queries
from bestarm.simulation import Simulation
from laws import CONSOLE, Matrix, headed

GAMES_OF_THE_PAPER = 50  # its rules are slow to end, and their ratios need no more
ORDERS = 20  # of the items of a table
HORIZON = 20_000_000  # the most rounds that are played for a tiny lead

Given = argparse.Namespace


def played(arms: Arms, games: int, delta: float, comparison: Comparison, **options: float) -> Simulation:
    """Many games of `PairwiseBAI`, the same rows for all comparisons."""
    algorithm = PairwiseBAI(delta, comparison=comparison, **options)  # type: ignore[arg-type]
    return bestarm.simulate(algorithm, arms, repetitions=games, seed=1, progress=False)


def shown(sim: Simulation) -> str:
    """Mean queries and their standard error."""
    return f"{sim.mean_queries:,.0f} ± {sim.standard_error:,.0f}"


def geometric_mean(ratios: list[float]) -> float:
    """The usual average of ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


# The parts.


def paper(given: Given) -> None:
    """One row per setting and table, and the range of the ratios for each kind of scores."""
    table = headed(f"Mean queries at delta {given.delta:g}", "", "paper", "sharp", "ratio", "errors")
    kinds: dict[str, tuple[dict[str, Arms], Comparison, Comparison]] = {
        "Figure 1": (laws.figure1(), GaussianBernstein(), StudentMixture()),
        "coins": (laws.coin_arms(), EmpiricalBernstein(), LeaderBetting()),
        "score tables": ({**laws.drawn(laws.score_tables(given.folder))}, EmpiricalBernstein(), LeaderBetting()),
    }
    ranges = []
    for kind, (sources, theirs, ours) in kinds.items():
        ratios = []
        for name, arms in sources.items():
            before = played(arms, min(given.games, GAMES_OF_THE_PAPER), given.delta, theirs)
            sharp = played(arms, given.games, given.delta, ours)
            ratios.append(before.mean_queries / sharp.mean_queries)
            table.add_row(name, shown(before), shown(sharp), f"1/{ratios[-1]:.1f}", f"{sharp.error_rate:.2%}")
        if ratios:
            ranges.append(f"{kind}: 1/{max(ratios):.1f} to 1/{min(ratios):.1f} of the paper's queries")
    CONSOLE.print(table, *ranges, sep="\n")


def leaders(given: Given) -> None:
    """Tables with replacement, and as pools."""
    tables = laws.score_tables(given.folder)
    over_betting("Score tables with replacement", laws.drawn(tables), given)
    over_betting("Score tables as pools", laws.drawn(tables, pools=True), given)


def over_betting(title: str, sources: dict[str, TableArms], given: Given) -> None:
    """Queries of `LeaderBetting`, with and without bets on pairs, over those of `Betting` and of the oracle."""
    yardsticks = ("Betting", "Betting, medians", "oracle with union", "oracle without union")
    table = headed(f"{title}, delta {given.delta:g}", "", "Betting", *(f"/ {name}" for name in yardsticks), "errors")
    every = []
    for name, arms in sources.items():
        pool = len(arms.scores) if isinstance(arms, PoolArms) else None
        rules = (Betting(pool=pool), LeaderBetting(pool=pool), LeaderBetting(pool=pool, pairs=0))
        sims = [played(arms, given.games, given.delta, rule) for rule in rules]
        queries = np.array([sim.mean_queries for sim in sims])
        # Where the best of many arms is lost, those left may be so close that one game takes most of all queries.
        medians = np.array([np.median(sim.queries) for sim in sims])
        times = [queries[1:] / queries[0], medians[1:] / medians[0]]
        if pool is None:
            rates = growth_rates(arms.scores)
            times += [queries[1:] / oracle_queries(rates, given.delta, union=union) for union in (True, False)]
        every.append(times)
        errors = " ".join(f"{sim.error_rate:.3f}" for sim in sims)
        table.add_row(name, f"{queries[0]:,.0f}", *cells(times, len(yardsticks)), errors)
    if every:
        table.add_section()
        table.add_row("geometric mean", "", *cells(np.exp(np.log(every).mean(axis=0)), len(yardsticks)))
        table.add_row("worst", "", *cells(np.max(every, axis=0), len(yardsticks)))
        table.caption = "in each cell LeaderBetting and LeaderBetting(pairs=0)"
        CONSOLE.print(table)


def cells(times: list[Matrix] | Matrix, width: int) -> list[str]:
    """Ratios as they are shown, and nothing for yardsticks that there are not."""
    found = [" ".join(f"{ratio:.3f}" for ratio in row) for row in times]
    return found + [""] * (width - len(found))


def portfolio(given: Given) -> None:
    """`Portfolio`, which compares with averages, over `Betting` and `LeaderBetting`."""
    table = headed(f"Tables, delta {given.delta:g}", "", "Betting", "Portfolio", "ratio", "/ LeaderBetting", "errors")
    for name, arms in laws.drawn(laws.score_tables(given.folder)).items():
        pairs, leading = (played(arms, given.games, given.delta, rule) for rule in (Betting(), LeaderBetting()))
        convex = ConvexBAI(given.delta, comparison=Portfolio())
        averages = bestarm.simulate(convex, arms, repetitions=given.games, seed=1, progress=False)
        ratios = (averages.mean_queries / other.mean_queries for other in (pairs, leading))
        shares = (f"{ratio:.2f}" for ratio in ratios)
        table.add_row(name, shown(pairs), shown(averages), *shares, f"{averages.error_rate:.2%}")
    CONSOLE.print(table)


def symmetric(given: Given) -> None:
    """The settings of Figure 1, where the Student parts of both look from round 2 on and as in races (10)."""
    for min_rounds in (2, 10):
        for delta in (0.05, 0.001):
            title = f"Figure 1, delta {delta:g}, looking from round {min_rounds}"
            table, ratios = headed(title, "", "StudentMixture", "SymmetricBetting", "ratio", "errors"), []
            for name, arms in laws.figure1().items():
                student, ours = (
                    played(arms, given.games, delta, rule(min_rounds=min_rounds))
                    for rule in (StudentMixture, SymmetricBetting)
                )
                ratios.append(ours.mean_queries / student.mean_queries)
                errors = f"{student.error_rate:.2%} / {ours.error_rate:.2%}"
                table.add_row(name, shown(student), shown(ours), f"{ratios[-1]:.3f}", errors)
            table.caption = f"geometric mean {geometric_mean(ratios):.3f}, worst {max(ratios):.3f}"
            CONSOLE.print(table)


def zones(given: Given) -> None:
    """Ten Gaussian arms with common random numbers: Kim and Nelson's own ground."""
    arms, rules = laws.crowd(), (StudentMixture(precisions=[1.0]), StudentMixture(), SymmetricBetting())
    names = ("KN, n0 = 5", "n0 = 10", "n0 = 20", "Student, precisions=[1]", "StudentMixture", "SymmetricBetting")
    table = headed(f"Mean queries (errors) at delta {given.delta:g}", "", *names)
    for zone in (0.02, 0.01, 0.005, 0.0):
        theirs = [KimNelson(given.delta, indifference_zone=zone, min_rounds=n0) for n0 in (5, 10, 20) if zone]
        sims = [bestarm.simulate(kn, arms, repetitions=given.games, seed=1, progress=False) for kn in theirs]
        sims += [played(arms, given.games, given.delta, rule, indifference_zone=zone) for rule in rules]
        found = [f"{sim.mean_queries:,.0f} ({sim.error_rate:.1%})" for sim in sims]
        table.add_row(f"zone {zone:g}", *[""] * (len(names) - len(found)), *found)
    for epsilon in (0.02, 0.01, 0.005):  # games also end within epsilon: only a tenth of delta speaks about leads
        sims = [played(arms, given.games, given.delta, rule, epsilon=epsilon) for rule in rules]
        found = [f"{sim.mean_queries:,.0f} ({sim.error_rate:.1%})" for sim in sims]
        table.add_row(f"epsilon {epsilon:g}", *[""] * (len(names) - len(found)), *found)
    CONSOLE.print(table)


def targets(given: Given) -> None:
    """Lists in random order, as races take them: what the population as target costs, and what it leaves open."""
    headings = ("evaluations, items", "population", "ratio where both decide", "candidates, items", "population")
    table = headed(f"Race tables, delta {given.delta:g}, {ORDERS} orders", "", *headings, "decided")
    for name, scores in laws.score_tables(given.folder).items():
        spent, left, both = [], [], []
        for seed in range(ORDERS):
            kinds = {"delta": given.delta, "bounds": (0.0, 1.0), "seed": seed, "live": True}
            pair = [bestarm.race_table(scores, target=target, **kinds) for target in ("items", "population")]
            spent.append([result.n_evaluations for result in pair])
            left.append([len(result.for_population.candidates) for result in pair])  # type: ignore[union-attr]
            both.append(all(result.reason == "decided" for result in pair))
        ratio = np.prod(np.divide(*np.array(spent)[both].T[::-1])) ** (1 / sum(both)) if any(both) else np.nan
        (items, population), (open_items, open_population) = np.mean(spent, axis=0), np.mean(left, axis=0)
        cells = (f"{items:,.0f}", f"{population:,.0f}", f"{ratio:.2f}", f"{open_items:.1f}", f"{open_population:.1f}")
        table.add_row(name, *cells, f"{sum(both)} of {ORDERS}")
    CONSOLE.print(table)


def power(given: Given) -> None:
    """Rounds until a tiny lead is found."""
    games = min(given.games, 100)
    title = f"Rounds until one of two antithetic coins with a lead of 0.003 is out, {games} games"
    table, first = headed(title, "", "rounds", "/ Portfolio", "decided", "errors"), 0.0
    rules: tuple[Comparison, ...] = (Portfolio(), Portfolio(reserve=0.0), Betting(), LeaderBetting())
    for rule in (*rules, LeaderBetting(pairs=0)):
        kind = ConvexBAI if isinstance(rule, Portfolio) else PairwiseBAI
        algorithm = kind(given.delta, comparison=rule, max_rounds=HORIZON)
        sim = bestarm.simulate(algorithm, laws.antithetic_coins(), repetitions=games, seed=2, progress=False)
        rounds, error = sim.rounds.mean(), sim.rounds.std(ddof=1) / np.sqrt(games)
        first = first or rounds
        shares = (f"{rounds / first:.3f}", f"{sim.answered.mean():.0%}", f"{sim.error_rate:.1%}")
        table.add_row(repr(rule), f"{rounds:,.0f} ± {error:,.0f}", *shares)
    CONSOLE.print(table)


PARTS = {part.__name__: part for part in (paper, leaders, portfolio, symmetric, zones, targets, power)}


def main() -> None:
    """Run one part, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("folder", nargs="?", type=Path, help="with score tables")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--delta", type=float, default=0.05)
    given = parser.parse_args()
    for name in PARTS if given.part == "all" else [given.part]:
        PARTS[name](given)


if __name__ == "__main__":
    main()
