"""How far are the rules from what is possible? Their mean queries beside limits that are computed from the law.

On a score table the limits are an oracle that knows the law and bets on differences, with and without paying for the
union over opponents: yardsticks, not bounds for every rule. On the arms of the paper's Figure 1 the limit is a lower
bound for every rule (docs/theory.md, "What is possible").
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

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
from bestarm.studies.figure1 import COLOURS, Scenario
from bestarm.studies.output import unique, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table


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
class Games:
    """How many games every rule plays, and from which seed; ``on_step`` is told of each rule and limit that is done."""

    repetitions: int
    seed: int
    on_step: Callable[[], None] = lambda: None


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


def oracles(scores: NDArray[np.float64], delta: float) -> dict[str, float]:
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


def table_case(scores: NDArray[np.float64], delta: float, games: Games) -> Case:
    """The rules on a table in [0, 1], its rows drawn with replacement, beside the oracles."""
    limits = oracles(scores, delta)
    games.on_step()
    measured = _measure(bounded_rules(delta), TableArms(scores), games)
    return Case(f"{len(scores):,} rows", scores.shape[1], limits, measured)


def figure1_cases(where: Sequence[Scenario], delta: float, games: Games) -> list[Case]:
    """The rules on settings of Figure 1, beside the lower bound for every rule that queries whichever sets it likes."""
    cases = []
    for scenario in where:
        limits = {"lower bound": gaussian_lower_bound(scenario.arms, delta)}
        games.on_step()
        measured = _measure(gaussian_rules(delta), scenario.arms, games)
        cases.append(Case(scenario.label, scenario.arms.n_arms, limits, measured))
    return cases


def _measure(rules: Mapping[str, Algorithm], arms: Arms, games: Games) -> list[Measured]:
    measured = []
    for name, algorithm in rules.items():
        repetitions = max(2, games.repetitions // PAPER_SHARE) if name in PAPER_RULES else games.repetitions
        sim = simulate(algorithm, arms, repetitions=repetitions, seed=games.seed, progress=False)
        measured.append(Measured(name, sim.mean_queries, sim.standard_error, sim.error_rate, repetitions))
        games.on_step()
    return measured


LINES: tuple[Literal["solid", "dotted"], ...] = ("solid", "dotted")
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


def limit_table(cases: Sequence[Case], delta: float) -> "Table":
    """A section for each case: its limits, and the rules with how many times each limit they need."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    names = list(cases[0].limits)
    table = Table(title=f"Mean queries ± standard error at delta {delta:g}", box=SIMPLE_HEAD, pad_edge=False)
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


def headline(cases: Sequence[Case]) -> str:
    """Which rule comes closest, how close, and which others may be as close for all that these games tell."""
    rules = unique(rule.rule for case in cases for rule in case.rules)
    times = {name: [case.ratios(rule) for case in cases for rule in case.rules if rule.rule == name] for name in rules}
    logs = {name: float(np.mean([np.log(ratio) for case in times[name] for ratio in case.values()])) for name in rules}
    closest, noise = min(rules, key=logs.__getitem__), {name: _noise(cases, name) for name in rules}
    said = [f"{_range([case[limit] for case in times[closest]])} times the {limit}" for limit in cases[0].limits]
    text = f"{closest} comes closest: it needs {' and '.join(said)}."
    alike = [n for n in rules if n != closest and logs[n] - logs[closest] <= 2.0 * np.hypot(noise[n], noise[closest])]
    return f"{text} So few games do not tell it from {' and '.join(alike)}." if alike else text


def _noise(cases: Sequence[Case], name: str) -> float:
    """The standard error of the mean logarithm of the queries of a rule."""
    errors = [rule.standard_error / rule.mean_queries for case in cases for rule in case.rules if rule.rule == name]
    return float(np.sqrt(np.sum(np.square(errors))) / len(errors))


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
    from matplotlib.figure import Figure

    panels = unique(case.n_arms for case in cases)
    figure = Figure(figsize=(5.6 * len(panels) + 0.4, 4.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, n_arms in zip(axes, panels, strict=True):
        _draw_panel(axis, [case for case in cases if case.n_arms == n_arms])
        axis.set_xlabel(f"K = {n_arms}")
    axes[0].set_ylabel("mean number of queries")
    title = f"×: in multiples of the {_lowest(cases[0])}; whiskers: two standard errors"
    axes[0].set_title(title, fontsize="medium", loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=(len(labels) + 1) // 2, frameon=False)
    write_picture(figure, path, dpi=160)


def _lowest(case: Case) -> str:
    return min(case.limits, key=lambda name: case.limits[name])


def _draw_panel(axis: "Axes", cases: Sequence[Case]) -> None:
    rules = unique(rule.rule for case in cases for rule in case.rules)
    width, places = 0.84 / len(rules), np.arange(len(cases))
    for k, name in enumerate(rules):
        mine = [next(rule for rule in case.rules if rule.rule == name) for case in cases]
        bars = axis.bar(
            places + (k - (len(rules) - 1) / 2) * width,
            [rule.mean_queries for rule in mine],
            width,
            yerr=[2 * rule.standard_error for rule in mine],
            error_kw={"linewidth": 0.8},
            color=COLOURS[(k + 1) % len(COLOURS)],
            label=name,
        )
        times = [case.ratios(rule)[_lowest(case)] for case, rule in zip(cases, mine, strict=True)]
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}  # limits may cross the labels
        axis.bar_label(bars, [f"×{ratio:.3g}" for ratio in times], fontsize="x-small", padding=3, bbox=box)
    for style, name in zip(LINES, cases[0].limits, strict=False):
        limits = [case.limits[name] for case in cases]
        axis.hlines(limits, places - 0.46, places + 0.46, colors="black", linestyles=style, label=name)
    axis.set_yscale("log")
    axis.set_xticks(places, [case.label for case in cases])
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", linewidth=0.4, alpha=0.6)
    axis.set_axisbelow(True)
