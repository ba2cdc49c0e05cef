"""A result as pictures: the evidence against each arm as it grew, and how far each arm is behind the leader.

Imported only where a picture is wanted: Matplotlib takes a while to load.
"""

import io
import math
import re
import warnings
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bestarm.result.history import EvidenceHistory, pictures_of
from bestarm.result.numbers import lead_format
from bestarm.result.outcome import ArmRecord
from bestarm.text import distinct_names, with_noun

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult

INK, SOFT, GREY, PAPER = "#1d2530", "#5c6670", "#b9c0c8", "#ffffff"
# Okabe and Ito's colours, which colour-blind readers tell apart; the leader has the first.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
LOWEST = 0.1  # evidence below it is drawn there: it says that an arm is good
EARLY = 0.15  # of all rounds: if the first arm left sooner, rounds are on a logarithmic axis
MOST_CURVES = 200  # arms in the picture of the evidence
MOST_DOTS = 30  # arms in the picture of differences
LETTERS_PER_INCH, MOST_LETTERS = 3.2, 26  # of a name beside a picture
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
APART = 15.0  # points between slanted names, so that they can be read


class Picture(Figure):
    """A figure that shows itself in a notebook, whatever backend is active there."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def race_figure(result: "RaceResult[Any]", width: float = 9.0) -> Picture:
    """The evidence against each arm; where the race is undecided or the table complete, also the differences."""
    evidence, dots = pictures_of(result)
    n_dots = min(len(result.arms), MOST_DOTS)
    heights = [4.4] * evidence + [0.9 + 0.24 * n_dots] * dots
    figure = Picture(figsize=(width, sum(heights) or 1.0), layout="constrained", facecolor=PAPER)
    if not heights:
        return figure
    panels = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    if evidence and (history := result.evidence_history) is not None:
        draw_evidence(panels[0], result, history, width)
    if dots:
        draw_differences(panels[-1], result, width)
    return figure


def draw_evidence(panel: Axes, result: "RaceResult[Any]", history: EvidenceHistory, width: float) -> None:
    """One curve for each arm, up to the line at which it is out; the last ones in colour, with their names."""
    delta, last = result.delta, int(history.rounds[-1])
    out_at = 1.0 / delta
    coloured = dict(zip(_first_arms(result), COLOURS, strict=False))
    evidence = np.clip(history.shares / delta, LOWEST, out_at)
    drawn = _first_arms(result)[:MOST_CURVES]
    for arm in reversed(drawn):
        curve = evidence[:, arm]
        known = np.isfinite(curve)
        if not known.any():
            continue
        first = arm == result.outcome.leader
        other = SOFT if arm in result.outcome.candidates else GREY
        colour, wide = coloured.get(arm, other), 2.4 if first else 1.5 if arm in coloured else 0.8
        panel.plot(history.rounds[known], curve[known], color=colour, linewidth=wide, zorder=2 + wide)
        if history.shares[known, arm][-1] >= 1.0:
            panel.plot(history.rounds[known][-1], out_at, "o", markersize=4, color=colour, zorder=5)
    panel.axhline(out_at, color=INK, linewidth=0.9)
    early = min((out.round for out in result.outcome.eliminations), default=last) < EARLY * last
    panel.set_xscale("log" if early and last > 20 else "linear")
    panel.set_xlim(1 if early and last > 20 else 0, last)
    panel.set_yscale("log")
    panel.set_ylim(LOWEST, out_at)
    _name_curves(panel, result, history, evidence, coloured, width)
    _label_axes(panel, result, out_at, len(result.arms) - len(drawn))


def _first_arms(result: "RaceResult[Any]") -> list[int]:
    """The leader, the other candidates, those that left from the last on, and who was disqualified."""
    left = sorted(result.outcome.eliminations, key=lambda out: -out.round)
    leader = [] if result.outcome.leader is None else [result.outcome.leader]
    order = [*leader, *result.outcome.candidates, *(out.arm for out in left), *result.order]
    return list(dict.fromkeys(order))


def _name_curves(
    panel: Axes,
    result: "RaceResult[Any]",
    history: EvidenceHistory,
    evidence: "np.ndarray[Any, Any]",
    coloured: dict[int, str],
    width: float,
) -> None:
    """Names of the coloured curves: above the line where an arm left, at the right end where it stayed."""
    names = dict(zip(coloured, distinct_names([result.arms[arm] for arm in coloured], _letters(width)), strict=True))
    left: list[tuple[float, float, int]] = []
    right: list[tuple[float, float, int]] = []
    for arm in coloured:
        known = np.flatnonzero(np.isfinite(evidence[:, arm]))
        if known.size:
            place = float(history.rounds[known[-1]]), float(evidence[known[-1], arm])
            (left if history.shares[known[-1], arm] >= 1.0 else right).append((*place, arm))
    room, point = -math.inf, panel.figure.dpi / 72.0
    for x, y, arm in sorted(left):
        at = float(panel.transData.transform((x, y))[0]) / point
        room = max(at, room + APART)
        panel.annotate(
            names[arm], (x, y), xytext=(room - at, 5), textcoords="offset points", rotation=35, ha="left", va="bottom",
            fontsize=8, color=coloured[arm], parse_math=False, annotation_clip=False,
        )  # fmt: skip
    lowest = math.inf
    for _, y, arm in sorted(right, key=lambda end: -end[1]):
        height = min(math.log10(y / LOWEST) / math.log10(1.0 / result.delta / LOWEST), lowest - 0.055)
        panel.annotate(
            names[arm], (1.0, height), xycoords="axes fraction", xytext=(5, 0), textcoords="offset points",
            va="center", fontsize=8.5, color=coloured[arm], parse_math=False, annotation_clip=False,
            weight="bold" if arm == result.outcome.leader else "normal",
        )  # fmt: skip
        lowest = height


def _label_axes(panel: Axes, result: "RaceResult[Any]", out_at: float, n_more: int) -> None:
    unit = "items" if result.settings.group_sizes is None else "groups"
    unit = "rounds" if result.settings.items == "drawn" else unit
    scale = " (logarithmic)" if panel.get_xscale() == "log" else ""
    panel.set_xlabel(f"{unit}{scale}{_not_shown(n_more)}", color=SOFT)
    panel.set_ylabel("evidence against being the best", color=SOFT)
    panel.yaxis.set_major_locator(LogLocator(numticks=8))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(_evidence_label))
    panel.xaxis.set_minor_locator(NullLocator())
    if panel.get_xscale() == "linear":
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    note = f"out: {out_at:,.4g} to 1 against"
    panel.annotate(
        note, (0, 1), xycoords="axes fraction", xytext=(3, -4), textcoords="offset points", va="top", fontsize=8,
        color=INK,
    )  # fmt: skip
    _soften(panel)


def _evidence_label(value: float, _: int | None) -> str:
    """A tick of the evidence; what is lower than the last one is drawn there."""
    return f"{'≤ ' if value <= LOWEST else ''}{value:,.4g}"


def draw_differences(panel: Axes, result: "RaceResult[Any]", width: float) -> None:
    """One dot for each arm: how far it is behind the leader on shared items; those in blue may be the best."""
    records, form = result.records[:MOST_DOTS], lead_format(result)
    for k, record in enumerate(records):
        colour = _status_colour(record)
        panel.hlines(k, 0.0, record.behind / form.size, color=colour, linewidth=1.0)
        panel.plot(record.behind / form.size, k, "o", markersize=5, color=colour)
    panel.axvline(0.0, color=COLOURS[0], linewidth=0.8)
    names = distinct_names([record.arm for record in records], _letters(width))
    panel.set_yticks(range(len(records)), names, parse_math=False)
    panel.set_ylim(len(records) - 0.4, -0.6)
    panel.invert_xaxis()
    unit = f", {form.heading}" if form.heading else ""
    more = f"\n{with_noun(len(result.arms) - len(records), 'more arm')} not shown" * (len(result.arms) > len(records))
    panel.set_xlabel(f"behind the leader{unit}; in blue: may be the best{more}", color=SOFT, parse_math=False)
    _soften(panel)
    panel.spines["left"].set_visible(False)
    panel.tick_params(left=False)


def _not_shown(n_arms: int) -> str:
    return f"; {with_noun(n_arms, 'more arm')} not shown" if n_arms else ""


def _letters(width: float) -> int:
    return min(MOST_LETTERS, round(LETTERS_PER_INCH * width))


def _status_colour(record: ArmRecord[Any]) -> str:
    if record.status in ("out", "disqualified"):
        return GREY
    return COLOURS[0]


def _soften(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color(GREY)
    panel.tick_params(colors=SOFT, labelsize=8, labelcolor=SOFT)
    panel.set_facecolor("none")


def svg(result: "RaceResult[Any]", width: float) -> str:
    """The picture for a page: an SVG element whose ink follows the colours of the page."""
    buffer = io.StringIO()
    fonts: Any = {"svg.fonttype": "none", "svg.hashsalt": f"bestarm {width}"}
    with mpl.rc_context(fonts), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the page's own fonts are used
        race_figure(result, width).savefig(buffer, format="svg", transparent=True, metadata=NO_METADATA)
    text = buffer.getvalue()
    drawing = re.sub(r"<defs>\s*<style.*?</defs>", "", text[text.index("<svg") :], count=1, flags=re.DOTALL)
    return re.sub("<[^<>]*>", _of_page, drawing.replace("<svg ", '<svg style="stroke-linejoin: round" ', 1))


def _of_page(tag: re.Match[str]) -> str:
    """A tag of a picture as a page wants it; texts in between stay as they are."""
    said = "<g>" if tag[0].startswith("<g id=") else tag[0]  # of two pictures on a page these would be the same
    for colour, name in ((INK, "ink"), (SOFT, "soft"), (GREY, "out")):
        said = said.replace(colour, f"var(--{name})")
    return said
