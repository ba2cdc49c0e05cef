"""A result as one self-contained HTML page: no script, readable on a phone and in print."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.result.figure import LeadHistory, lead_limits
from bestarm.result.explanation import failure_sentences, guarantee, whose_best
from bestarm.result.table import settings_in_words, verdict_lines
from bestarm.result.verdict import cost
from bestarm.text import name_of, sanitize, with_noun
from bestarm.version import __version__

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


FEWEST = 3  # shared items that a correlation needs
NEVER = 1e-14  # variance, of scores up to 1, that is only rounding
MOST_CORRELATED = 24  # arms in the picture of correlations
WIDTH, HEIGHT = 480, 200  # of the picture of the lead, inside its margins
LEFT, TOP, RIGHT, BOTTOM = 72, 10, 28, 28


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
    single_items = known and result.settings.group_sizes is None
    correlation = correlations(result) if single_items else None
    return environment.get_template("page.html").render(
        result=result,
        name=name_of,
        sentences=verdict_lines(result),
        beyond=result.for_population if result.target == "items" else None,
        cost=cost(result),
        failures=failure_sentences(result),
        those=whose_best(result),
        rounds=with_noun(result.n_rounds, "round"),
        rows=_rows(result),
        lead=_lead_picture(result.lead_history) if known else None,
        correlation=None if correlation is None else median_correlation(correlation),
        grid=None if correlation is None else _grid(result, correlation),
        settings=settings_in_words(result),
        guarantee=guarantee(result),
        version=__version__,
    )


def _harmless(value: Any) -> Any:
    """What the template shows: texts without anything that steers a page; it escapes markup itself."""
    return sanitize(value, "page") if isinstance(value, str) else value


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
            "failure": sanitize(record.failure or "", "failure"),
            "by": beaten_by.get(arm),
            "bar": 100.0 * min(1.0, last / max(1, result.n_rounds)),
        }
        rows.append(row)
    return rows


class _LeadPicture(NamedTuple):
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


def _lead_picture(history: LeadHistory) -> _LeadPicture | None:
    if history.rounds.size == 0:
        return None
    low, high = lead_limits(history)
    last = float(max(2, history.rounds[-1]))

    def x(t: float) -> float:
        return round(LEFT + WIDTH * t / last, 1)

    def y(value: float) -> float:
        return round(TOP + HEIGHT * (high - min(max(value, low), high)) / (high - low), 1)

    def points(rounds: NDArray[np.int64], values: NDArray[np.float64]) -> list[str]:
        return [f"{x(t)},{y(value)}" for t, value in zip(rounds, values, strict=True)]

    known = np.isfinite(history.low) & np.isfinite(history.high)
    above, below = (points(history.rounds[known], side[known]) for side in (history.high, history.low))
    return _LeadPicture(
        line=" ".join(points(history.rounds, history.lead)),
        band=" ".join([*above, *reversed(below)]) if len(above) > 1 else "",
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


def correlations(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """Correlations over the items that two arms share; NaN where there are too few, or an arm never varies on them.

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


def median_correlation(correlation: NDArray[np.float64]) -> float:
    """The median over all pairs that have a correlation; NaN if none has."""
    pairs = correlation[np.triu_indices(len(correlation), 1)]
    known = pairs[np.isfinite(pairs)]
    return float(np.median(known)) if known.size else math.nan


def _grid(result: "RaceResult[Any]", correlation: NDArray[np.float64]) -> dict[str, Any] | None:
    """The correlations of the first arms as coloured cells."""
    order = list(result.order[:MOST_CORRELATED])
    matrix = correlation[np.ix_(order, order)]
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


def ending(record):
    return record.status
