"""How far are the rules from what is possible? Their mean queries beside limits that are computed from the law.

On a score table the limits are an oracle that knows the law and bets on differences, with and without paying for the
union over opponents: yardsticks, not bounds for every rule. On the arms of the paper's Figure 1 the limit is a lower
bound for every rule (docs/theory.md, "What is possible").
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.arms import Arms, TableArms
from bestarm.comparisons import (
    Betting,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
)
from bestarm.limits import gaussian_lower_bound, growth_rates, oracle_queries
from bestarm.simulation import simulate
from bestarm.studies import figure1
from bestarm.studies.output import COLOURS, by_field, draw_bars, empty_panels, empty_table, write_panels
from bestarm.values import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PAPER_RULES = ("EmpiricalBernstein", "GaussianBernstein")
PAPER_SHARE = 10  # the paper's rules take long games that differ little: one of so many repetitions
LONGEST = 1e6  # queries of the oracle in one game: rules need more, some of them a hundred times as many


@dataclass(frozen=True)
class Measured:
    """One rule on one case."""

    rule: str
    mean_queries: float
    standard_error: float
    error_rate: float
    repetitions: int


@dataclass(frozen=True)
class Case:
    """One law, the limits for it by name, and the rules."""

    label: str
    n_arms: int
    limits: Mapping[str, float]
    rules: Sequence[Measured]

    def ratios(self, measured: Measured) -> dict[str, float]:
        """How many times each limit a rule needs."""
        return {name: measured.mean_queries / limit for name, limit in self.limits.items()}


@dataclass(frozen=True)
class Study:
    """How the rules are measured; ``on_step`` is called after each rule and each limit."""

    delta: float
    repetitions: int
    seed: int
    on_step: Callable[[], object] = lambda: None

    def measure(self, rules: Mapping[str, Algorithm], arms: Arms) -> list[Measured]:
        """Play games of these rules on the same arms."""
        measured = []
        for name, algorithm in rules.items():
            n = max(2, self.repetitions // PAPER_SHARE) if name in PAPER_RULES else self.repetitions
            sim = simulate(algorithm, arms, repetitions=n, seed=self.seed, progress=False)
            measured.append(Measured(name, sim.mean_queries, sim.standard_error, sim.error_rate, n))
            self.on_step()
        return measured


def bounded_rules(delta: float) -> dict[str, Algorithm]:
    """The rules for scores in [0, 1] that are measured; another one is one more entry."""
    return {
        "LeaderBetting": PairwiseBAI(delta, comparison=LeaderBetting()),
        "Betting": PairwiseBAI(delta, comparison=Betting()),
        "Portfolio": ConvexBAI(delta, comparison=Portfolio()),
        "EmpiricalBernstein": PairwiseBAI(delta, comparison=EmpiricalBernstein()),
    }


def gaussian_rules(delta: float) -> dict[str, Algorithm]:
    """The rules for Gaussian scores that are measured; another one is one more entry."""
    return {
        "SymmetricBetting": PairwiseBAI(delta, comparison=SymmetricBetting()),
        "StudentMixture": PairwiseBAI(delta, comparison=StudentMixture()),
        "GaussianBernstein": PairwiseBAI(delta, comparison=GaussianBernstein()),
    }


def oracles(scores: Array, delta: float) -> dict[str, float]:
    """The queries of both oracles on a table in [0, 1]; refused where games would not end in a reasonable time."""
    rates = growth_rates(scores)
    limits = {
        "oracle with union": oracle_queries(rates, delta, union=True),
        "oracle without union": oracle_queries(rates, delta, union=False),
    }
    if (queries := max(limits.values())) > LONGEST:
        second, first = np.sort(scores.mean(axis=0))[-2:]
        raise ValueError(
            f"the best arm leads by {first - second:.2g} of the range of the scores only: an oracle needs "
            f"{queries:,.0f} queries a game, and more than {LONGEST:,.0f} would take too long"
        )
    return limits


def table_case(scores: Array, study: Study) -> Case:
    """The rules on a table in [0, 1], its rows drawn with replacement, beside the oracles."""
    limits = oracles(scores, study.delta)
    study.on_step()
    measured = study.measure(bounded_rules(study.delta), TableArms(scores))
    return Case(f"{len(scores):,} rows", scores.shape[1], limits, measured)


def figure1_cases(study: Study) -> list[Case]:
    """The rules in the settings of Figure 1, beside the lower bound for every rule, whichever sets it queries."""
    cases = []
    for scenario in figure1.scenarios():
        limits = {"lower bound": gaussian_lower_bound(scenario.arms, study.delta)}
        study.on_step()
        measured = study.measure(gaussian_rules(study.delta), scenario.arms)
        cases.append(Case(scenario.label, scenario.arms.n_arms, limits, measured))
    return cases


LINES = ("solid", "dotted")  # of the limits, in pictures
NOTES = {
    "oracle with union": (
        "The oracle knows the law of the scores: for each arm the opponent, and the constant bet on their difference, "
        "that grow fastest. Its queries are to first order: log(1/level) over this growth rate, for each arm. With the "
        "union it pays for K - 1 opponents (level delta/(K - 1)), without it does not (level delta). It is a yardstick "
        "and no lower bound for every rule: one that bets on combinations of arms, or does not bet, may need fewer."
    ),
    "lower bound": (
        "Lower bound: the expected queries of any rule that is right with probability at least 1 - delta whatever the "
        "means of Gaussian arms with this covariance, known to it or not, and whichever sets of arms it queries."
    ),
}


def limit_table(cases: Sequence[Case], delta: float) -> Table:
    """A section for each case: its limits, and the rules with how many times each limit they need."""
    names = list(cases[0].limits)
    table = empty_table(f"Mean queries ± standard error at delta {delta:g}")
    table.add_column("", no_wrap=True)
    table.add_column("queries", justify="right", no_wrap=True)
    for heading in (*(f"/ {name}" for name in names), "errors", "games"):
        table.add_column(heading, justify="right")
    for case in cases:
        table.add_section()
        table.add_row(f"{case.label}, K = {case.n_arms}", style="bold")
        for name, limit in case.limits.items():
            table.add_row(name, f"{limit:,.0f}", style="dim")
        for rule in case.rules:
            ratios = [f"{ratio:.2f}" for ratio in case.ratios(rule).values()]
            queries = f"{rule.mean_queries:,.0f} ± {rule.standard_error:,.0f}"
            table.add_row(rule.rule, queries, *ratios, f"{rule.error_rate:.1%}", str(rule.repetitions))
    return table


def _by_rule(cases: Sequence[Case]) -> dict[str, list[Measured]]:
    """What was measured by rule, in the order of the cases; all cases have the same rules."""
    return {rule.rule: [case.rules[k] for case in cases] for k, rule in enumerate(cases[0].rules)}


def headline(cases: Sequence[Case]) -> str:
    """Which rule comes closest, how close, and which others may be as close for all that these games tell."""
    times, logs, noise = {}, {}, {}
    for name, rules in _by_rule(cases).items():
        times[name] = [case.ratios(rule) for case, rule in zip(cases, rules, strict=True)]
        logs[name] = float(np.mean([np.log(ratio) for ratios in times[name] for ratio in ratios.values()]))
        errors = [rule.standard_error / rule.mean_queries for rule in rules]
        noise[name] = float(np.sqrt(np.sum(np.square(errors))) / len(errors))  # of the mean logarithm
    closest = min(logs, key=logs.__getitem__)
    said = [f"{_range([ratios[limit] for ratios in times[closest]])} times the {limit}" for limit in cases[0].limits]
    text = f"{closest} comes closest: it needs {' and '.join(said)}."
    alike = [n for n in logs if n != closest and logs[n] - logs[closest] <= 2.0 * np.hypot(noise[n], noise[closest])]
    return f"{text} So few games do not tell it from {' and '.join(alike)}." if alike else text


def _range(ratios: Sequence[float]) -> str:
    low, high = min(ratios), max(ratios)
    return f"{low:.2f}" if len(ratios) == 1 else f"{low:.2f} to {high:.2f}"


def note(cases: Sequence[Case]) -> str:
    """What the limits are, and what they are not."""
    return NOTES[next(iter(cases[0].limits))]


def limit_json(cases: Sequence[Case], delta: float, seed: int) -> str:
    """Everything in the table, as it was computed."""

    def plain(case: Case) -> dict[str, Any]:
        rules = [asdict(rule) | {"times": case.ratios(rule)} for rule in case.rules]
        return vars(case) | {"limits": dict(case.limits), "rules": rules}

    said = {"headline": headline(cases), "note": note(cases)}
    return json.dumps(said | {"delta": delta, "seed": seed, "cases": list(map(plain, cases))}, indent=2)


def plot_limit(cases: Sequence[Case], path: Path) -> None:
    """Bars for the rules, lines for the limits, and how many times the lowest limit each rule needs."""
    lowest = min(cases[0].limits, key=lambda name: cases[0].limits[name])
    sizes = by_field("n_arms", cases)
    figure, panels = empty_panels(len(sizes), "mean number of queries")
    for panel, (n_arms, mine) in zip(panels, sizes.items(), strict=True):
        _draw_cases(panel, mine, lowest)
        panel.set_xlabel(f"K = {n_arms}")
    title = f"×: in multiples of the {lowest}; whiskers: two standard errors"
    panels[0].set_title(title, fontsize="medium", loc="left")
    n_labels = len(cases[0].rules) + len(cases[0].limits)
    write_panels(figure, panels, path, legend_columns=(n_labels + 1) // 2)


def _draw_cases(panel: "Axes", cases: Sequence[Case], lowest: str) -> None:
    """One group of bars for each case, with multiples of the lowest limit above them."""
    rules = _by_rule(cases)
    series = {name: [(rule.mean_queries, rule.standard_error) for rule in mine] for name, mine in rules.items()}
    styles = zip(cases[0].limits, LINES, strict=False)
    lines = {name: (style, [case.limits[name] for case in cases]) for name, style in styles}
    drawn = draw_bars(panel, [case.label for case in cases], series, lines, COLOURS[1:] + COLOURS[:1])
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}  # limits may cross the labels
    for bars, mine in zip(drawn, rules.values(), strict=True):
        times = [f"×{case.ratios(rule)[lowest]:.3g}" for case, rule in zip(cases, mine, strict=True)]
        panel.bar_label(bars, times, fontsize="x-small", padding=3, bbox=box)
