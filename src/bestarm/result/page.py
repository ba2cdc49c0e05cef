"""A result as one self-contained HTML page: no script, readable on a phone and in print."""

import math
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.result.explanation import explained, failure_sentences
from bestarm.result.history import pictures_of
from bestarm.result.outcome import ArmRecord
from bestarm.result.table import SHOWN, note_on_shared_items, settings_in_words, table_columns, verdict_lines
from bestarm.result.verdict import next_step, small_print, warning_lines, why_none
from bestarm.text import distinct_names, name_of, sanitize
from bestarm.version import __version__

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


FEWEST = 3  # shared items that a correlation needs
MOST_CORRELATED = 12  # arms whose correlations are looked at
ALIKE = 0.1  # a picture of correlations that differ by less says nothing
PICTURES = {"wide": 9.0, "narrow": 4.4}  # inches: one for each size of screen


def page(result: "RaceResult[Any]") -> str:
    """The page as text. Names are data: the template escapes all that it is given."""
    text: str = _template("page.html").render(
        title=verdict_lines(result)[0],
        parts=explained(result),
        settings=settings_in_words(result),
        correlation=_correlation(result),
        version=__version__,
        made=date.today().isoformat(),
        **_first_look(result, list(PICTURES)),
    )
    return text


def fragment(result: "RaceResult[Any]") -> str:
    """Verdict, table and picture for a notebook."""
    text: str = _template("fragment.html").render(**_first_look(result, ["wide"]))
    return text


def _template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bestarm.result", "templates"),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _harmless(value: Any) -> Any:
    """What the template shows: texts without anything that steers a page; it escapes markup itself."""
    return sanitize(value, "page") if type(value) is str else value


def _first_look(result: "RaceResult[Any]", kinds: Sequence[str]) -> dict[str, Any]:
    """What a page and a notebook begin with, and the picture for these kinds of screens."""
    records = result.records if why_none(result) is None else ()
    return {
        "verdict": verdict_lines(result),
        "tables": _tables(result, records),
        "note": note_on_shared_items(result, records[:SHOWN]) if records else "",
        "remarks": [*warning_lines(result), *failure_sentences(result), *filter(None, [next_step(result)])],
        "small": small_print(result),
        "pictures": _pictures(result, kinds) if records else {},
        "caption": _caption(result),
    }


def _caption(result: "RaceResult[Any]") -> str:
    """What the picture shows."""
    unit, (evidence, dots) = "item" if result.settings.group_sizes is None else "group", pictures_of(result)
    curves = f"Evidence that an arm is not the best, {unit} by {unit}: an arm is out where its curve reaches the line."
    leads = "How far arms are behind the leader on the items that both share; the tests decide who is out, not this."
    return " ".join([*[curves] * evidence, *[leads] * dots])


def _tables(result: "RaceResult[Any]", records: Sequence[ArmRecord[Any]]) -> list[dict[str, Any]]:
    """Headings, rows of cells, and whether they stand on the right: of the first arms, and of all others."""
    if not records:
        return []
    columns = table_columns(result, 0, len(records))
    short_names = distinct_names([record.arm for record in records])
    rows = [
        {"cells": cells, "out": record.status in ("out", "disqualified"), "name": name_of(record.arm), "short": name}
        for record, name, *cells in zip(records, short_names, *(column.cells for column in columns), strict=True)
    ]
    heads = {
        "headings": [column.heading for column in columns],
        "right": [column.right for column in columns],
        "names": [column.heading == "arm" for column in columns],
    }
    return [heads | {"rows": part} for part in (rows[:SHOWN], rows[SHOWN:]) if part]


def _pictures(result: "RaceResult[Any]", kinds: Sequence[str]) -> dict[str, Any]:
    """The picture of the race as SVG, by the kind of screen that it is for."""
    from markupsafe import Markup

    from bestarm.result.figure import svg

    return {kind: Markup(svg(result, PICTURES[kind])) for kind in kinds}  # noqa: S704 - Matplotlib escapes names


# --- how scores move together ----------------------------------------------------------------------------------------


def correlations(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """Correlations of the first arms over the items that two share; NaN where these are few or an arm never varies."""
    arms = result.order[:MOST_CORRELATED]
    found = np.full((len(arms), len(arms)), np.nan)
    np.fill_diagonal(found, 1.0)
    for a, first in enumerate(arms):
        for b, second in enumerate(arms[:a]):
            _, x, y = result.by_arm.shared(first, second)
            if x.size >= FEWEST and np.ptp(x) > 0.0 and np.ptp(y) > 0.0:
                found[a, b] = found[b, a] = float(np.clip(np.corrcoef(x, y)[0, 1], -1.0, 1.0))
    return found


def _correlation(result: "RaceResult[Any]") -> dict[str, Any] | None:
    """The median correlation of the first arms, and all of them as coloured cells where they differ."""
    if not result.n_rounds or result.leader is None or result.settings.group_sizes is not None:
        return None
    matrix = correlations(result)
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    known = pairs[np.isfinite(pairs)]
    if known.size == 0:
        return None
    names = [name_of(result.arms[arm]) for arm in result.order[: len(matrix)]]
    few = len(result.arms) <= MOST_CORRELATED and np.ptp(known) > ALIKE
    cells = [
        {"x": j, "y": i, "colour": _colour(value), "text": f"{names[i]}, {names[j]}: {_two_digits(value)}"}
        for i, row in enumerate(matrix.tolist())
        for j, value in enumerate(row)
    ]
    return {"median": _two_digits(float(np.median(known))), "n": len(names), "cells": cells if few else []}


def _two_digits(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.2f}"


def _colour(correlation: float) -> str:
    """White at 0, blue at 1, red at -1, grey where it is unknown."""
    if math.isnan(correlation):
        return "#e4e7ea"
    far = (0, 114, 178) if correlation >= 0 else (213, 94, 0)
    weight = min(1.0, abs(correlation))
    return "#" + "".join(f"{round(255 + (part - 255) * weight):02x}" for part in far)
