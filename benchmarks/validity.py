"""Do the answers hold? ``python benchmarks/validity.py [PART ...] [--races 200]``

Races and games on laws whose best arm is known, delta 0.05; `bestarm validate` measures error rates of all comparisons
on some seven hundred cases more. The parts:

- ``skewed``: how often the best of equally good, skewed arms is out, by `StudentMixture` and by `SymmetricBetting`,
  which is why the latter is not what races use by themselves (docs/theory.md);
- ``evidence``: whether those who crossed the line in `Game.evidence` are out, in that round, and nobody else, by rule
  (`result.plot` draws it; with ``--races 1000`` it takes some ten minutes);
- ``plans``: the median that `bestarm.plan` predicts from a pilot of 50 items over the one that races need.
"""

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
from laws import CONSOLE, Matrix, headed

DELTA = 0.05
EVIDENCE_ROUNDS = 300
SLOW = ("EmpiricalBernstein", "ConvexBernstein", "VarianceRace")  # rules with the paper's constants
SKEWED_ITEMS = 20_000  # of a table that stands for a law
UNIT = (0.0, 1.0)
Row = tuple[str, str, str]  # case, share of wrong answers, note


def share(wrong: list[bool]) -> str:
    """How many of how many."""
    return f"{np.mean(wrong):.1%} ({sum(wrong)} of {len(wrong)})" if wrong else "none"


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


@dataclass(frozen=True)
class Planned:
    """Arms that a pilot and the races are drawn from; ``n_items`` is the length of their list, None for a stream."""

    name: str
    arms: Arms
    bounds: tuple[float, float] | None = None
    n_items: int | None = None

    def needed(self, races: int) -> float:
        """The median evaluations of races on fresh items, or on fresh lists."""
        if self.n_items is None:
            comparison = StudentMixture() if self.bounds is None else LeaderBetting()
            algorithm = PairwiseBAI(DELTA, comparison=comparison, max_rounds=1_000_000)
            sim = bestarm.simulate(algorithm, self.arms, repetitions=races, seed=1, progress=False)
            return float(np.median(sim.queries))
        lists = (self.arms.draw(self.n_items, np.random.default_rng([1, seed])) for seed in range(races))
        return float(np.median([bestarm.race_table(rows, bounds=self.bounds).n_evaluations for rows in lists]))


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


def plans(races: int) -> Iterator[Row]:
    """Ten pilots each; a prediction holds within a factor of 1.5, or the plan says that the pilot is too small."""
    every: list[bool] = []
    for one in instances():
        truth, wrong, too_small = one.needed(races), [], 0
        for seed in range(10):
            pilot = one.arms.draw(50, np.random.default_rng([seed, 50]))
            plan = bestarm.plan(pilot, delta=DELTA, bounds=one.bounds, n_items=one.n_items, seed=100 * seed)
            too_small += not plan.large_enough
            wrong += [abs(np.log(plan.median / truth)) > np.log(1.5)] if plan.large_enough else []
        every += wrong
        yield f"{one.name}: plan off by more than 1.5", share(wrong), f"needed {truth:,.0f}; {too_small} too small"
    yield "all instances", share(every), ""


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


PARTS = {part.__name__: part for part in (skewed, evidence, plans)}


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
