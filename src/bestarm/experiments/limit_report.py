"""The table, the picture and the JSON of the distance to the limit."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bestarm.experiments.figure1_report import COLOURS
from bestarm.experiments.limit import Case
from bestarm.experiments.records import write_picture
from bestarm.experiments.tables import unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

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
