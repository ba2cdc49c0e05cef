"""Do the answers hold? ``python benchmarks/validity.py [PART ...] [--races 200]``

Races and games on laws whose best arm is known, delta 0.05; `bestarm validate` measures error rates of all comparisons
on some seven hundred cases more. The parts:

- ``skewed``: how often the best of equally good, skewed arms is out, by `StudentMixture` and by `SymmetricBetting`,
  which is why the latter is not what races use by themselves (docs/theory.md);
- ``populations``: lists that are samples of known laws, raced for the law, the default: how often its best arm is lost;
- ``evidence``: whether those who crossed the line in `Game.evidence` are out, in that round, and nobody else, by rule
  (`result.plot` draws it; with ``--races 1000`` it takes some ten minutes);
- ``plans``: how often the median that `bestarm.plan` predicts from a pilot is within a factor of 1.5 of that of races
  on the law that the pilot is drawn from, and how many of these races lie in its range.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import Algorithm, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import Arms, BernoulliArms, GaussianArms, TableArms, bernoulli_variances, equicorrelated_arms
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
    Wins,
)
from bestarm.planning import LONGEST
from laws import CONSOLE, Matrix, headed

DELTA = 0.05
EVIDENCE_ROUNDS = 300
SLOW = ("EmpiricalBernstein", "ConvexBernstein", "VarianceRace")  # rules with the paper's constants
SKEWED_ITEMS = 20_000  # of a table that stands for a law
UNIT = (0.0, 1.0)
Row = tuple[str, str, str]  # case, share, note
Evaluations = NDArray[np.int64]


def share(found: list[bool]) -> str:
    """How many of how many."""
    return f"{np.mean(found):.1%} ({sum(found)} of {len(found)})"


def skewed(races: int) -> Iterator[Row]:
    """Arms that are equally good and not equally variable, 800 rounds: the first is the steadiest, or the least."""
    rivals: tuple[Comparison, ...] = (StudentMixture(), SymmetricBetting())
    for K in (3, 10):
        for kind in ("Gaussian", "run times, one difficulty for all", "waiting times", "squared errors", "gains"):
            rows = skewed_rewards(kind, K)
            for comparison in rivals:
                out = []
                for seed in range(races):
                    game = PairwiseBAI(DELTA, comparison=comparison).start(K)
                    game.play(rows[np.random.default_rng(seed).integers(len(rows), size=800)])
                    out.append(0 not in game.candidates)
                yield f"{kind}, K = {K}, {type(comparison).__name__}: the first arm is out", share(out), ""


def skewed_rewards(kind: str, K: int) -> Matrix:
    """Many rewards of one kind, all arms with the same mean."""
    rng = np.random.default_rng(0)
    noise, steadier = rng.standard_normal((SKEWED_ITEMS, K)), np.linspace(1.0, 2.0, K)
    if kind == "Gaussian":
        rewards = noise * steadier
    elif kind.startswith("run times"):
        rewards = -np.exp(rng.standard_normal((SKEWED_ITEMS, 1)) + 0.3 * steadier * noise)
    elif kind == "waiting times":
        rewards = -rng.exponential(1.0, (SKEWED_ITEMS, K)) * steadier
    elif kind == "squared errors":
        rewards = -(((0.8 + 0.4 * (steadier - 1.0)) * noise) ** 2)
    else:  # gains, of which the first arm has the rarest and largest
        rewards = rng.exponential(1.0, (SKEWED_ITEMS, K)) * steadier[::-1]
    return np.asarray(rewards - rewards.mean(axis=0))


def populations(races: int) -> Iterator[Row]:
    """The best of the law is not a candidate: near ties, where it is easily lost, and ties, where the first counts."""
    rng = np.random.default_rng(7)
    luck = rng.normal(size=(SKEWED_ITEMS, 1)) + 0.7 * rng.normal(size=(SKEWED_ITEMS, 10))
    places = luck.argsort(axis=0).argsort(axis=0) / SKEWED_ITEMS  # uniform in each column: equal shares are equal means
    laws_known = {
        "ten coins that tie": (places < 0.6) * 1.0,
        "ten coins, one better by 0.02": (places < np.where(np.arange(10) == 0, 0.62, 0.6)) * 1.0,
        "ten graded arms that tie": places,
    }
    for name, law in laws_known.items():
        for n_items in (50, 200, 500, 2000):
            lost = []
            for seed in range(races):
                rows = law[np.random.default_rng([seed, n_items]).integers(SKEWED_ITEMS, size=n_items)]
                lost.append("0" not in bestarm.race_table(rows, bounds=UNIT, live=True).candidates)
            yield f"{name}, lists of {n_items:,}: the best is lost", share(lost), ""


@dataclass(frozen=True)
class Planned:
    """Arms that a pilot and the races are drawn from; ``n_items`` is the length of their list, None for a stream."""

    name: str
    arms: Arms
    bounds: tuple[float, float] | None = None
    n_items: int | None = None

    def evaluations(self, races: int) -> Evaluations:
        """The evaluations of races on fresh items, or on fresh lists."""
        comparison = StudentMixture() if self.bounds is None else LeaderBetting()
        rounds = 1_000_000 if self.n_items is None else self.n_items
        algorithm = PairwiseBAI(DELTA, comparison=comparison, max_rounds=rounds)
        return bestarm.simulate(algorithm, self.arms, repetitions=races, seed=1, progress=False).queries

    def planned(self, size: int, seed: int) -> bestarm.Plan:
        """What a pilot says."""
        pilot = self.arms.draw(size, np.random.default_rng([seed, size]))
        return bestarm.plan(pilot, delta=DELTA, bounds=self.bounds, n_items=self.n_items, seed=100 * seed)


def spread(gap: float, own: float, n_arms: int) -> GaussianArms:
    """Gaussian arms a gap apart with shared noise 1 and own noise as given."""
    return GaussianArms(-gap * np.arange(n_arms), np.full((n_arms, n_arms), 1.0) + own**2 * np.eye(n_arms))


def alike(means: list[float]) -> BernoulliArms:
    """Bernoulli arms that are nearly as much alike as they can be."""
    return BernoulliArms(means, 1.2 * bernoulli_variances(means).smallest)


def graded(gap: float, own: float, n_arms: int) -> TableArms:
    """Scores in [0, 1] that share most of their noise, from a law of 50,000 rows."""
    rng = np.random.default_rng(2024)
    shared, noise = rng.normal(size=(50_000, 1)), rng.normal(size=(50_000, n_arms))
    return TableArms(np.clip(0.6 - gap * np.arange(n_arms) + 0.15 * shared + own * noise, 0.0, 1.0))


def instances() -> list[Planned]:
    """From easy to hopeless for 50 items; several where only a lucky pilot looks easy."""
    of_two, of_more = [(0.2, 0.094, 2), (0.2, 0.177, 2)], [(0.2, 0.14, 5), (0.2, 0.2, 5), (0.2, 0.2, 10)]
    leads = [*of_two, *of_more, (0.2, 0.14, 20), (0.2, 0.35, 3), (0.02, 0.14, 5)]
    four = [0.7, 0.6, 0.5, 0.4]
    return [
        *(Planned(f"Gaussian, {n} arms by {gap}, own noise {own}", spread(gap, own, n)) for gap, own, n in leads),
        Planned("Figure 1, correlation 0.9", equicorrelated_arms(5, 0.9)),
        Planned("Bernoulli, far apart", alike([0.9, 0.5, 0.4, 0.3]), UNIT),
        Planned("Bernoulli, close", alike(four), UNIT),
        Planned("Bernoulli, 2 arms, 0.95 and 0.6", alike([0.95, 0.6]), UNIT),
        Planned("graded, 5 arms by 0.1", graded(0.1, 0.1, 5), UNIT),
        Planned("graded, 10 arms by 0.06", graded(0.06, 0.04, 10), UNIT),
        Planned("graded, 5 arms by 0.05, list of 500", graded(0.05, 0.1, 5), UNIT, 500),
        Planned("Bernoulli, close, list of 200", alike(four), UNIT, 200),
        Planned("Bernoulli, 6 arms by 0.02, list of 2,000", alike([0.8 - 0.02 * k for k in range(6)]), UNIT, 2000),
        Planned("Bernoulli, 20 arms by 0.01, list of 164", alike([0.8 - 0.01 * k for k in range(20)]), UNIT, 164),
        Planned("graded, 10 arms by 0.02, list of 300", graded(0.02, 0.1, 10), UNIT, 300),
        Planned("graded, 2 arms alike, list of 300", graded(0.0, 0.1, 2), UNIT, 300),
    ]


PILOTS = {20: 10, 50: 10, 200: 4}  # items, and how many pilots


def plans(races: int) -> Iterator[Row]:
    """Pilots of three sizes; in the end how much a larger pilot was to narrow the range, and how much it did."""
    for size, pilots in PILOTS.items():
        near: list[bool] = []
        inside: list[float] = []
        made: list[bestarm.Plan] = []
        for one in instances():
            truth = one.evaluations(races)
            planned = [one.planned(size, seed) for seed in range(pilots)]
            right = [abs(np.log(plan.median / np.median(truth))) < np.log(1.5) for plan in planned]
            shares = [float(np.mean((truth >= plan.range[0]) & (truth <= plan.range[1]))) for plan in planned]
            needed = f"needed {np.median(truth):,.0f}; {np.mean(shares):.0%} of races in the range"
            yield f"{size} items, {one.name}: within 1.5", share(right), needed
            near, inside, made = near + right, inside + shares, made + planned
        unsure = sum(not plan.large_enough for plan in made)
        everything = f"{np.mean(inside):.1%} of races in the range; {unsure} pilots not large enough"
        yield f"{size} items, all instances: within 1.5", share(near), everything
        before, after = np.mean([(width(plan.range), narrowed(plan)) for plan in made], axis=0)
        note = f"with {4 * size} items at best {after:.2f}"
        yield f"{size} items, all instances: logarithmic width of the range", f"{before:.2f}", note


def width(ends: tuple[float, float]) -> float:
    """Of a range, on a logarithmic scale; no end counts as the longest that is simulated."""
    low, high = np.minimum(ends, LONGEST)
    return float(np.log(high / low))


def narrowed(plan: bestarm.Plan) -> float:
    """The width that a larger pilot was said to give."""
    return width(plan.range if plan.larger_pilot is None else plan.larger_pilot.range)


def rules() -> dict[str, tuple[Algorithm, bool]]:
    """Every rule of ours that says its evidence, and whether it needs rewards in [0, 1]."""
    gaussian: dict[str, Comparison] = {
        "StudentMixture": StudentMixture(),
        "SymmetricBetting": SymmetricBetting(),
        "SymmetricBetting, no Student": SymmetricBetting(student=0),
        "GaussianBernstein": GaussianBernstein(),
    }
    bounded: dict[str, Comparison] = {
        "EmpiricalBernstein": EmpiricalBernstein(),
        "Betting": Betting(),
        "Betting, pool": Betting(pool=EVIDENCE_ROUNDS),
        "LeaderBetting": LeaderBetting(),
        "LeaderBetting, pool": LeaderBetting(pool=EVIDENCE_ROUNDS),
        "LeaderBetting, no pairs": LeaderBetting(pairs=0),
        "Wins": Wins(),
        "Wins, pool": Wins(pool=EVIDENCE_ROUNDS),
    }
    return {
        **{name: (PairwiseBAI(DELTA, comparison=one), False) for name, one in gaussian.items()},
        "StudentMixture, kept, zone": (PairwiseBAI(DELTA, keep=3.0, indifference_zone=0.2), False),
        **{name: (PairwiseBAI(DELTA, comparison=one), True) for name, one in bounded.items()},
        "Betting, kept, zone, epsilon": (
            PairwiseBAI(DELTA, comparison=Betting(), keep=2.0, indifference_zone=0.02, epsilon=0.01),
            True,
        ),
        "LeaderBetting, zone": (PairwiseBAI(DELTA, comparison=LeaderBetting(), indifference_zone=0.02), True),
        "Portfolio": (ConvexBAI(DELTA, comparison=Portfolio()), True),
        "ConvexBernstein": (ConvexBAI(DELTA, comparison=ConvexBernstein()), True),
        "HoeffdingRace": (HoeffdingRace(DELTA, variances=1.4), False),
        "VarianceRace": (VarianceRace(DELTA), False),
        "VarianceRace, bounded": (VarianceRace(DELTA, rewards="bounded"), True),
        "KimNelson": (KimNelson(DELTA, indifference_zone=0.2), False),
    }


def evidence(races: int) -> Iterator[Row]:
    """Random games of 2 to 8 arms: the line is crossed by those who are out, in that round."""
    for name, (algorithm, bounded) in rules().items():
        wrong, n_out = [], 0
        for seed in range(races):
            rng = np.random.default_rng([seed, 23])
            game = algorithm.start(K := int(rng.integers(2, 9)))
            agrees = True
            for row in evidence_rewards(K, bounded, any(word in name for word in SLOW), rng):
                if game.finished:
                    break
                game.tell(row[game.ask()])
                shares = game.evidence()
                crossed = set() if shares is None else set(np.flatnonzero(shares >= 1.0).tolist())
                agrees &= shares is not None and crossed == set(range(K)) - set(game.candidates)
            wrong.append(not agrees)
            n_out += len(game.eliminations)
        yield f"{name}: picture and decision disagree", share(wrong), f"{n_out:,} arms left"


def evidence_rewards(K: int, bounded: bool, slow: bool, rng: np.random.Generator) -> Matrix:
    """Leads of many sizes, and for slow rules larger ones in more rounds; bounded rewards often tie."""
    n_rounds, levels = EVIDENCE_ROUNDS, rng.permutation(np.linspace(0.0, 1.0, K) ** 2) * rng.choice([0.3, 1.0])
    n_rounds, levels = (5 * n_rounds, 4 * levels) if slow else (n_rounds, levels)
    rewards = levels + rng.standard_normal((n_rounds, 1)) + 0.6 * rng.standard_normal((n_rounds, K))
    if not bounded:
        return np.asarray(rewards)
    unit = 0.5 + 0.15 * (rewards - 0.5)
    return np.asarray(np.clip(np.round(unit * 64) / 64 if rng.random() < 0.5 else unit, 0.0, 1.0))


PARTS = {part.__name__: part for part in (skewed, populations, evidence, plans)}


def main() -> None:
    """Run the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--races", type=int, default=200)
    given = parser.parse_args()
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # that is what is looked at
    table = headed(f"delta {DELTA}", "case", "share", "note")
    for name in given.parts or PARTS:
        for row in PARTS[name](given.races):
            table.add_row(*row)
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
