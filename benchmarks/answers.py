"""Does the sentence that people read hold? ``python benchmarks/answers.py``

Races on laws whose best arm is known: how often the answer is wrong, or the best arm not among the candidates, and
what the verdict said. The figures of version a48fb31 stand beside the new ones where that version was measured.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import LUCB, PairwiseBAI
from bestarm.arms import Arms
from bestarm.comparisons import Betting, StudentMixture

DELTA = 0.05
Matrix = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Matrix]  # rounds of a law, one row per item


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    case: str
    before: str
    now: str
    note: str = ""


def share(wrong: Iterable[bool]) -> str:
    """How many of how many."""
    answers = list(wrong)
    if not answers:
        return "none"
    return f"{sum(answers) / len(answers):.1%} ({sum(answers)} of {len(answers)})"


# --- items that run out ---------------------------------------------------------------------------------------------


def gaussian(rng: np.random.Generator, n: int, n_arms: int, lead: float = 0.1) -> Matrix:
    """Gaussian scores with shared noise; arm 0 is the best by a small lead."""
    means = np.concatenate([[lead], np.zeros(n_arms - 1)])
    return means + rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, n_arms))


def items_run_out(races: int) -> list[Row]:
    """Without bounds, a list that is too short: the best arm of the law must stay a candidate."""
    rows = []
    for n_arms, n_items in [(2, 30), (2, 200), (5, 100), (10, 30), (10, 200)]:
        lost = []
        for seed in range(races):
            scores = gaussian(np.random.default_rng([1, n_arms, n_items, seed]), n_items, n_arms)
            result = bestarm.race_table(scores, comparison=StudentMixture(), seed=seed)
            lost.append("0" not in result.candidates)
        rows.append(
            Row(f"no bounds, {n_items} items run out, K = {n_arms}: best arm of the law dropped", "39-83%", share(lost))
        )
    return rows


def lucb_on_a_pool(races: int) -> list[Row]:
    """LUCB scores arms on different items: nobody may be settled by such means."""
    lost = []
    for seed in range(races):
        scores = gaussian(np.random.default_rng([2, seed]), 300, 5, 0.05)
        result = bestarm.race_table(scores, algorithm=LUCB(DELTA, variances=1.49), seed=seed)
        lost.append(str(int(scores.mean(axis=0).argmax())) not in result.candidates)
    return [Row("LUCB on a pool of 300: best of the pool out", "33.6%", share(lost))]


# --- noisy scores ---------------------------------------------------------------------------------------------------


class NoisyItems:
    """Answers that are right with a probability of the item and the arm; items drawn with replacement."""

    def __init__(self, rng: np.random.Generator, lead: float, n_items: int = 300, n_arms: int = 5) -> None:
        hard = rng.beta(2.0, 2.0, size=(n_items, 1))
        own = 0.1 * rng.standard_normal((n_items, n_arms))
        own -= own.mean(axis=0)
        self.right = np.clip(0.1 + 0.75 * hard + own, 0.0, 1.0 - lead)
        self.right += self.right.mean() - self.right.mean(axis=0)  # equal but for the lead, as far as bounds allow
        self.right[:, 0] += lead
        self.right = np.clip(self.right, 0.0, 1.0)
        self.means = self.right.mean(axis=0)
        self.n_arms, self.best = n_arms, int(self.means.argmax())
        self.covariance = np.cov(self.right, rowvar=False)

    def realised(self, rng: np.random.Generator) -> Matrix:
        """One answer of each arm to each item."""
        return (rng.random(self.right.shape) < self.right).astype(float)

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Matrix:
        """Rounds as ``replace=True`` plays them: an item at random, evaluated anew."""
        chosen = self.right[rng.integers(len(self.right), size=n_rounds)]
        return (rng.random(chosen.shape) < chosen).astype(float)


def noisy(races: int) -> list[Row]:
    """The best of the realised scores against the best expected score, and races with ``replace=True``."""
    rows = []
    for lead, before in [(0.02, "48%"), (0.05, "18%")]:
        wrong, says, expected, decided = [], [], [], 0
        for seed in range(races):
            rng = np.random.default_rng([3, round(100 * lead), seed])
            law: Arms = NoisyItems(rng, lead)
            result = bestarm.race_table(law.realised(rng), bounds=(0, 1), seed=seed)  # type: ignore[attr-defined]
            wrong.append(result.best != str(law.best))
            says.append("as scored here" in result.verdict)
            game = bestarm.simulate(
                PairwiseBAI(DELTA, comparison=Betting(), max_rounds=60_000),
                law,
                repetitions=1,
                seed=seed,
                progress=False,
            )
            expected.append(bool(game.errors[0]))
            decided += bool(game.decided[0])
        case = f"sampled answers, 300 items, lead {lead}: not the best expected score"
        rows.append(Row(case, before, share(wrong), f"the sentence says «as scored here» in {share(says)}"))
        rows.append(
            Row(f"the same with replace=True (the game that it plays; {decided} decided)", "-", share(expected))
        )
    return rows


# --- without bounds, shapes that are not Gaussian -------------------------------------------------------------------


def steady(rng: np.random.Generator, n: int) -> Matrix:
    """A time about 1 that never surprises."""
    return 1.0 + 0.05 * rng.standard_normal(n)


def outliers(probability: float) -> Draw:
    """Arm 1 is usually 10% quicker, and sometimes takes 10 more: arm 0 is the best in the mean (less is better)."""

    def draw(rng: np.random.Generator, n: int) -> Matrix:
        usual = 0.9 + 0.05 * rng.standard_normal(n)
        return np.column_stack([steady(rng, n), usual + 10.0 * (rng.random(n) < probability)])

    return draw


def lognormal(rng: np.random.Generator, n: int) -> Matrix:
    """Arm 0 has the lower median and the larger mean (more is better, hence the sign)."""
    return -np.column_stack([0.75 * np.exp(1.5 * rng.standard_normal(n)), 1.8 * np.exp(0.5 * rng.standard_normal(n))])


def rare_wins(rng: np.random.Generator, n: int) -> Matrix:
    """Arm 0 wins 10 on one item in ten, and nothing on the others; arm 1 always some 0.8."""
    return -np.column_stack([10.0 * (rng.random(n) < 0.1), 0.8 + 0.1 * rng.random(n)])


SHAPES: list[tuple[str, Draw, str]] = [
    ("times, 2% outliers", outliers(0.02), "61%"),
    ("times, 10% outliers", outliers(0.1), "12%"),
    ("lognormal", lognormal, "25%"),
    ("rare large wins", rare_wins, "39 of 40"),
]
RARE = "may not have come up"


def shapes(races: int) -> list[Row]:
    """Races without bounds where the assumption does not hold: what do the verdicts of the wrong answers say?"""
    rows = []
    for name, draw, before in SHAPES:
        wrong, warned, rare = [], [], []
        for seed in range(races):
            scores = draw(np.random.default_rng([4, len(name), seed]), 3000)
            result = bestarm.race_table(scores, comparison=StudentMixture(), lower_is_better=True, seed=seed)
            wrong.append(result.best == "1")
            if wrong[-1]:
                warned.append(bool(result.warnings))
                rare.append(RARE in result.verdict or bool(result.warnings))
        note = (
            f"wrong answers that warn of the shape: {share(warned)}; or of what is too rare to be seen: {share(rare)}"
        )
        rows.append(Row(f"no bounds, {name}: wrong answer", before, share(wrong), note))
    return rows


def wins(races: int) -> list[Row]:
    """The same laws by wins: the arm that is better more often must stay, whatever the shape."""
    rows = []
    for name, draw, _ in SHAPES:
        often = draw(np.random.default_rng(0), 200_000)
        best = str(int((often[:, 1] < often[:, 0]).mean() > 0.5))
        lost, needed = [], []
        for seed in range(races):
            scores = draw(np.random.default_rng([4, len(name), seed]), 3000)
            result = bestarm.race_table(
                scores, criterion="wins", target="population", lower_is_better=True, seed=seed, delta=DELTA
            )
            lost.append(best not in result.candidates)
            needed.append(result.n_evaluations)
        case = f"{name}, by wins: the arm that is better more often dropped"
        rows.append(Row(case, "-", share(lost), f"evaluations: {np.mean(needed):,.0f}"))
    return rows


def false_alarms(races: int) -> list[Row]:
    """How often Gaussian differences are warned of."""
    rows = []
    for n_arms in (2, 10, 50):
        alarms = []
        for seed in range(races):
            rng = np.random.default_rng([5, n_arms, seed])
            scores = (
                np.linspace(1.0, 0.0, n_arms)
                + rng.standard_normal((2000, 1))
                + 0.5 * rng.standard_normal((2000, n_arms))
            )
            result = bestarm.race_table(scores, comparison=StudentMixture(), seed=seed)
            alarms.append(bool(result.warnings))
        rows.append(Row(f"Gaussian differences, K = {n_arms}: warned of their shape", "-", share(alarms)))
    return rows


# --- two targets ----------------------------------------------------------------------------------------------------


def coins(rng: np.random.Generator, n: int, means: Matrix) -> Matrix:
    """Answers of models to questions of random difficulty: correlated coins with these means."""
    level = rng.random((n, 1))
    own = rng.random((n, means.size))
    mixed = np.where(rng.random((n, means.size)) < 0.7, level, own)
    return (mixed < means).astype(float)


def population(races: int) -> list[Row]:
    """Both statements on samples of a known law, whichever target ends the race."""
    rows, means = [], np.array([0.62, 0.6, 0.55, 0.5, 0.4])
    for target in ("items", "population"):
        for name, levels in [("lead .02", means), ("all equal", np.full(5, 0.5))]:
            of_law, of_items, many = [], [], 0
            for seed in range(races):
                scores = coins(np.random.default_rng([6, seed]), 300, levels)
                result: Any = bestarm.race_table(scores, bounds=(0, 1), target=target, seed=seed)
                of_law.append("0" not in result.for_population.candidates)
                many += result.for_population.decided
                if target == "items":
                    best = scores.mean(axis=0)
                    of_items.append(not any(best[int(arm)] == best.max() for arm in result.candidates))
            case = f"target {target} ends the race, {name}: best of the law not a candidate"
            rows.append(Row(case, "-", share(of_law), f"decided for the law: {many} of {races}"))
            if of_items:
                rows.append(Row(f"target {target}, {name}: best of the items not a candidate", "-", share(of_items)))
    return rows


def two_questions(races: int) -> list[Row]:
    """164 questions, 49 models, the best ahead by two questions: said of these items, and of items like these."""
    left, decided = [], 0
    for seed in range(min(races, 50)):
        rng = np.random.default_rng([7, seed])
        scores = coins(rng, 164, np.linspace(0.7, 0.3, 49))
        order = np.argsort(-scores.sum(axis=0))
        leader, second = order[0], order[1]
        wanted = int(scores[:, second].sum()) + 2 - int(scores[:, leader].sum())
        wrong = np.flatnonzero(scores[:, leader] == (0.0 if wanted > 0 else 1.0))
        scores[rng.choice(wrong, abs(wanted), replace=False), leader] = float(wanted > 0)
        result: Any = bestarm.race_table(scores, bounds=(0, 1), seed=seed)
        left.append(len(result.for_population.candidates))
        decided += result.answered
    note = f"answered for these items: {decided} of {len(left)}"
    return [
        Row(
            "164 items, 49 models, lead of 2 questions: candidates on items like these (median)",
            "not said",
            f"{np.median(left):.0f} of 49",
            note,
        )
    ]


# --- groups ---------------------------------------------------------------------------------------------------------


def clustered(rng: np.random.Generator, n_groups: int, n_arms: int = 5) -> tuple[Matrix, list[int]]:
    """Equal arms on groups of 1 to 15 items that are nearly copies of each other: one template, many variants."""
    sizes = 1 + rng.poisson(7.0, size=n_groups)
    labels = np.repeat(np.arange(n_groups), sizes)
    group = rng.random((n_groups, n_arms)) < 0.5
    noise = rng.random((labels.size, n_arms)) < 0.1
    return np.where(noise, rng.random(noise.shape) < 0.5, group[labels]).astype(float), labels.tolist()


def groups(races: int) -> list[Row]:
    """Items of one group are not independent: the population statement with and without saying so."""
    without, with_groups = [], []
    for seed in range(races):
        scores, labels = clustered(np.random.default_rng([8, seed]), 60)
        plain: Any = bestarm.race_table(scores, bounds=(0, 1), target="population", seed=seed)
        grouped: Any = bestarm.race_table(scores, bounds=(0, 1), target="population", groups=labels, seed=seed)
        without.append("0" not in plain.candidates)
        with_groups.append("0" not in grouped.candidates)
    return [
        Row("equal arms on 60 groups of items, groups ignored: arm 0 dropped for the population", "-", share(without)),
        Row("the same with groups=", "-", share(with_groups)),
    ]


# --- advice and seeds -----------------------------------------------------------------------------------------------


def coins_and_bounds(races: int) -> list[Row]:
    """0/1 scores: what is advised, and what it costs to follow it."""
    advice, needed = [], {True: [], False: []}  # type: ignore[var-annotated]
    for seed in range(min(races, 200)):
        scores = coins(np.random.default_rng([9, seed]), 20_000, np.array([0.62, 0.6, 0.55, 0.5, 0.4]))
        for bounded in (True, False):
            options: dict[str, Any] = (
                {"bounds": (0, 1), "target": "population"} if bounded else {"comparison": StudentMixture()}
            )
            result = bestarm.race_table(scores, seed=seed, **options)
            needed[bounded].append(result.n_evaluations)
            if bounded:
                advice.append("leave them out" in " ".join(result.warnings))
    queries = f"{np.mean(needed[True]):,.0f} with bounds, {np.mean(needed[False]):,.0f} without"
    return [
        Row("0/1 scores with bounds: advised to drop the bounds", "always", share(advice), f"evaluations: {queries}")
    ]


STUDIES: dict[str, Callable[[int], list[Row]]] = {
    "run-out": items_run_out,
    "lucb": lucb_on_a_pool,
    "noisy": noisy,
    "shapes": shapes,
    "wins": wins,
    "alarms": false_alarms,
    "population": population,
    "questions": two_questions,
    "groups": groups,
    "coins": coins_and_bounds,
}
MANY = ("population",)  # studies with ten times the races


def main() -> None:
    """Run the studies and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(STUDIES)}; all unless given")
    parser.add_argument("--races", type=int, default=200)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)
    console = Console(width=190)
    table = Table("case", "a48fb31", "now", "note", title=f"delta {DELTA}")
    for name in chosen.studies or STUDIES:
        for row in STUDIES[name](chosen.races * (10 if name in MANY else 1)):
            table.add_row(row.case, row.before, row.now, row.note)
    console.print(table)


if __name__ == "__main__":
    main()
