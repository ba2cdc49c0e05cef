"""A result as one self-contained HTML page: no script, readable on a phone and in print."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.files import write_text
from bestarm.result.failures import failures, whose_best
from bestarm.result.figure import LeadHistory, lead_history, lead_limits
from bestarm.result.table import cost, ending, settings_in_words
from bestarm.result.verdict import guarantee, sentences
from bestarm.text import counted, name_of, shown
from bestarm.version import __version__

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


FEWEST = 3  # shared items that a correlation needs, or a variance
NEVER = 1e-14  # variance, of scores up to 1, that is only rounding
LONGEST = 10**7  # rounds that an arm is imagined to need, at most


@dataclass(frozen=True)
class Pairing:
    """Correlations over the items that two arms share, and evaluations with and without comparing on the same items.

    ``without`` is an estimate: for each arm that left, the round in which the test would have crossed with the lead
    seen and the variance of scores on different items, ``V_i + V_j`` in place of ``V_ij``; against the arm for which
    this is soonest. The rounds that the race took do not enter, so it does not matter if the arm left late because the
    test had not looked before. Arms that the leader was shown to be near to are counted in the same way, with epsilon
    added to the lead; no arm needs more than all items of a pool, and the leader stays as long as any other.

    It is a lower bound, ``at_least``, where the race has no answer (candidates then count with the rounds they had, or
    those of the last to leave), an arm has too few scores, or the test would take longer than any race. It is NaN where
    nothing can be said: nobody has left, or the rule of the race does not gain from scores on the same items.
    """

    correlation: NDArray[np.float64]
    with_pairing: int
    without: float
    at_least: bool

    @property
    def median_correlation(self) -> float:
        """The median over all pairs that have one."""
        pairs = self.correlation[np.triu_indices(len(self.correlation), 1)]
        known = pairs[np.isfinite(pairs)]
        return float(np.median(known)) if known.size else np.nan


def pairing(result: "RaceResult[Any]") -> Pairing:
    """What the scores of a race say about pairing."""
    rounds, at_least = _capped(result, _rounds_apart(result))
    return Pairing(_correlation(result), int(result.counts.sum()), float(rounds.sum()), at_least)


def _rounds_apart(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """The rounds that each arm would have needed on items of its own; NaN where they are not known."""
    game, leader, promise = result.new_game(), result.order[0], result.guarantee
    sign = -1.0 if result.settings.lower_is_better else 1.0
    rivals, rounds = _rivals(result, sign), np.full(len(result.arms), np.nan)
    for arm in range(len(result.arms)):
        status = result.outcome.status(arm, result.reason, result.answered)
        ahead, shift = (rivals[arm], promise.indifference_zone) if status == "out" else (leader, promise.epsilon)
        _, better, worse = result.by_arm.shared(ahead, arm)
        if status == "disqualified":
            rounds[arm] = result.counts[arm]
        elif arm != leader and (status == "out" or result.answered) and len(better) >= FEWEST:
            found = game.rounds_apart(sign * better, sign * worse, shift)
            rounds[arm] = np.nan if found is None else found
    return rounds


def _capped(result: "RaceResult[Any]", rounds: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Rounds that are possible, for all arms, and whether they are a lower bound; all NaN if no arm's are known."""
    settings, leader = result.settings, result.order[0]
    pool = settings.n_items if settings.items == "pool" else None
    others = np.delete(rounds, leader)
    if np.isnan(others).all():
        return np.full_like(rounds, np.nan), False
    at_least = not result.answered or bool(np.isnan(others).any() or (pool is None and np.isinf(others).any()))
    rounds = np.minimum(rounds, pool or LONGEST)
    left = [arm for arm in range(len(rounds)) if arm not in result.outcome.candidates]
    rounds[left] = np.where(np.isnan(rounds[left]), result.counts[left], rounds[left])
    longest = np.nanmax(rounds)
    stay = np.maximum(longest, result.counts if not result.answered else 0.0)
    return np.where(np.isnan(rounds), stay, rounds), at_least


def _rivals(result: "RaceResult[Any]", sign: float) -> NDArray[np.intp]:
    """For each arm the one on all of its items that is ahead by most in units of ``sqrt(V_i + V_j)``.

    The rewards are scores times the sign.
    """
    K = len(result.arms)
    n, totals, squares = (np.zeros((K, K)) for _ in range(3))
    centre = sign * _mean_of_all(result)
    for arms, scores in result.record.blocks(result.n_rounds):
        there, pairs = ~np.isnan(scores), np.ix_(arms, arms)
        M = there.astype(np.float64)
        Z = np.where(there, sign * scores - centre, 0.0)
        n[pairs] += M.T @ M
        totals[pairs] += Z.T @ M
        squares[pairs] += (Z**2).T @ M
    n = np.maximum(n, 1.0)
    means = totals / n  # [i, j]: of arm i over the items that it shares with j
    variances = np.maximum(squares / n - means**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = (means.T - means) / np.sqrt(variances + variances.T)
    ahead = np.where(np.isnan(ahead) | (n < np.diag(n)[:, None]), -np.inf, ahead)
    np.fill_diagonal(ahead, -np.inf)
    best: NDArray[np.intp] = np.argmax(ahead, axis=1)
    return best


def _mean_of_all(result: "RaceResult[Any]") -> float:
    """The mean of all scores."""
    total, count = 0.0, 0
    for _, scores in result.record.blocks(result.n_rounds):
        known = scores[~np.isnan(scores)]
        total, count = total + float(known.sum()), count + known.size
    return total / count


def _correlation(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """Correlations over shared items; NaN where there are too few, or an arm never varies on them.

    All pairs at once, by products of matrices: columns are standardised first, so that little is lost in the sums.
    """
    K = len(result.arms)
    count, total, largest = np.zeros(K), np.zeros(K), np.zeros(K)
    for arms, scores in result.record.blocks(result.n_rounds):
        there = ~np.isnan(scores)
        count[arms] += there.astype(np.float64).sum(axis=0)
        total[arms] += np.where(there, scores, 0.0).sum(axis=0)
    means = total / np.maximum(count, 1.0)
    for arms, scores in result.record.blocks(result.n_rounds):
        centred = np.where(np.isnan(scores), 0.0, scores - means[arms])
        largest[arms] = np.maximum(largest[arms], np.abs(centred).max(axis=0, initial=0.0))
    scale = np.where(largest > 0, largest, 1.0)
    n, sums, squares, products = (np.zeros((K, K)) for _ in range(4))
    for arms, scores in result.record.blocks(result.n_rounds):
        there, pairs = ~np.isnan(scores), np.ix_(arms, arms)
        M = there.astype(np.float64)
        Z = np.where(there, scores - means[arms], 0.0) / scale[arms]
        n[pairs] += M.T @ M
        sums[pairs] += Z.T @ M  # [i, j]: of arm i over the items that it shares with j
        squares[pairs] += (Z**2).T @ M
        products[pairs] += Z.T @ Z
    with np.errstate(divide="ignore", invalid="ignore"):
        squares -= sums**2 / n
        products -= sums * sums.T / n
        varies = squares > NEVER * n
        known = (n >= FEWEST) & varies & varies.T
        correlation = np.where(known, products / np.sqrt(squares * squares.T), np.nan)
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0)


MOST_CORRELATED = 24  # arms in the picture of correlations
WIDTH, HEIGHT = 480, 200  # of the picture of the lead, inside its margins
LEFT, TOP, RIGHT, BOTTOM = 72, 10, 28, 28


def write_page(result: "RaceResult[Any]", path: str | Path) -> None:
    """Write the page of a result."""
    write_text(path, page(result))


def page(result: "RaceResult[Any]") -> str:
    """The page as text. Names are data: the template escapes all that it is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bestarm.result", "templates"),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    known = result.n_rounds > 0 and result.leader is not None
    together = pairing(result) if known and result.settings.group_sizes is None else None  # rounds are no evaluations
    return environment.get_template("page.html").render(
        result=result,
        name=name_of,
        sentences=sentences(result),
        beyond=result.for_population if result.target == "items" else None,
        cost=cost(result),
        failures=failures(result),
        those=whose_best(result),
        rounds=counted(result.n_rounds, "round"),
        rows=_rows(result),
        lead=_lead(lead_history(result)) if known else None,
        pairing=together,
        grid=_grid(result, together) if together else None,
        settings=settings_in_words(result),
        guarantee=guarantee(result),
        version=__version__,
    )


def _harmless(value: Any) -> Any:
    """What the template shows: texts without anything that steers a page; it escapes markup itself."""
    return shown(value, "page") if isinstance(value, str) else value


def _rows(result: "RaceResult[Any]") -> list[dict[str, Any]]:
    """One row per arm: its record, its name, how it ended, the rank of who beat it, its bar as share of the rounds."""
    rank = {arm: place for place, arm in enumerate(result.order, start=1)}
    beaten_by = {out.arm: rank[out.by] for out in result.outcome.eliminations}
    rows = []
    for arm, record in zip(result.order, result.records, strict=True):
        last = result.n_rounds if record.left_in_round is None else record.left_in_round
        row = {
            "record": record,
            "name": name_of(record.arm),
            "ending": ending(record),
            "failure": shown(record.failure or "", "failure"),
            "by": beaten_by.get(arm),
            "bar": 100.0 * min(1.0, last / max(1, result.n_rounds)),
        }
        rows.append(row)
    return rows


@dataclass(frozen=True)
class _Lead:
    """The picture of the lead, in the coordinates of its drawing."""

    line: str
    band: str
    zero: float
    ticks_x: list[tuple[float, str]]
    ticks_y: list[tuple[float, str]]
    width: int = LEFT + WIDTH + RIGHT
    height: int = TOP + HEIGHT + BOTTOM
    left: int = LEFT
    right: int = LEFT + WIDTH
    bottom: int = TOP + HEIGHT


def _lead(history: LeadHistory) -> _Lead | None:
    if history.rounds.size == 0:
        return None
    low, high = lead_limits(history)
    last = float(max(2, history.rounds[-1]))

    def x(t: float) -> float:
        return round(LEFT + WIDTH * t / last, 1)

    def y(value: float) -> float:
        return round(TOP + HEIGHT * (high - min(max(value, low), high)) / (high - low), 1)

    def points(values: "np.ndarray[Any, np.dtype[np.float64]]") -> list[str]:
        known = np.isfinite(history.low) & np.isfinite(history.high) if values is not history.lead else slice(None)
        return [f"{x(t)},{y(v)}" for t, v in zip(history.rounds[known], values[known], strict=True)]

    highs = points(history.high)
    return _Lead(
        line=" ".join(points(history.lead)),
        band=" ".join([*highs, *reversed(points(history.low))]) if len(highs) > 1 else "",
        zero=y(0.0),
        ticks_x=[(x(t), f"{t:,.0f}") for t in _ticks(0.0, last) if t == int(t)],
        ticks_y=[(y(v), f"{v:g}") for v in _ticks(low, high)],
    )


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers between two."""
    rough = (high - low) / 5.0
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough * 0.66)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{k * step:.10g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _grid(result: "RaceResult[Any]", together: Pairing) -> dict[str, Any] | None:
    """The correlations of the first arms as coloured cells."""
    order = list(result.order[:MOST_CORRELATED])
    matrix = together.correlation[np.ix_(order, order)]
    if not np.isfinite(matrix[np.triu_indices(len(order), 1)]).any():
        return None
    cells = [
        {"x": j, "y": i, "colour": _colour(float(matrix[i, j])), "value": _number(float(matrix[i, j]), 2)}
        for i in range(len(order))
        for j in range(len(order))
    ]
    return {"n": len(order), "cells": cells, "names": [name_of(result.arms[arm]) for arm in order]}


def _colour(correlation: float) -> str:
    """White at 0, blue at 1, red at -1, grey where it is unknown."""
    if math.isnan(correlation):
        return "#e4e7ea"
    far = (31, 95, 168) if correlation >= 0 else (179, 64, 47)
    weight = min(1.0, abs(correlation))
    return "#" + "".join(f"{round(255 + (part - 255) * weight):02x}" for part in far)


def _number(value: float | None, digits: int = 4) -> str:
    """A number as people read it; nothing where there is none."""
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "unlimited"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if 10**digits - 0.5 <= abs(value) < 1e12 else f"{value:.{digits}g}"
