"""A race as a picture: who left when, beaten by whom, and the leader's lead over the rounds."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game
from bestarm.text import name_of, shortened, with_noun

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bestarm.result.result import RaceResult


POINTS = 60  # rounds at which the lead is worked out
MOST_ARMS = 40  # lines that a picture holds
BEST, OUT, FAILED = "#1f5fa8", "#9aa3ad", "#b3402f"


@dataclass(frozen=True)
class LeadHistory:
    """The lead of the final leader over its closest rival then in the race, with its interval, in some rounds.

    Each side of an interval has the level of one elimination (`Game.lead`); NaN where the algorithm cannot say.
    """

    rounds: NDArray[np.int64]
    lead: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def lead_history(result: "RaceResult[Any]") -> LeadHistory:
    """Play the race again from its scores and look at the lead on the way."""
    game, best = result.new_game(), result.order[0]
    points = []
    gone = {failure.arm: failure.round for failure in result.outcome.failures}
    for t in sorted({int(t) for t in np.geomspace(1, max(1, result.n_rounds), POINTS)}):
        result.play(game, t - 1)
        rivals = [arm for arm in game.candidates if arm != best and gone.get(arm, t + 1) > t]
        if game.finished or not rivals:
            break
        result.play(game, t)
        rival = min(rivals, key=lambda arm: game.lead_seen(best, arm))
        points.append((game.n_rounds, game.lead_seen(best, rival), *_interval(game, best, rival)))
    columns = np.array(points, dtype=np.float64).reshape(-1, 4).T
    columns[1:] *= result.unit
    return LeadHistory(columns[0].astype(np.int64), *columns[1:])


def _interval(game: Game, best: int, rival: int) -> tuple[float, float]:
    lead = game.lead(best, rival)
    return (math.nan, math.nan) if lead is None else (lead.low, lead.high)


def race_figure(result: "RaceResult[Any]") -> "Figure":
    """Two panels: a line for each arm up to the round in which it left, and the lead."""
    from matplotlib.figure import Figure

    shown = min(len(result.arms), MOST_ARMS)
    figure = Figure(figsize=(9.0, 2.9 + 0.3 * shown), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[0.6 + 0.3 * shown, 2.3])
    draw_departures(above, result)
    draw_lead(below, result)
    below.set_xlabel("round")
    return figure


def draw_departures(panel: "Axes", result: "RaceResult[Any]") -> None:
    """One line per arm, the leader on top, with who beat it at its end."""
    records = result.records[:MOST_ARMS]
    end = max(1, result.n_rounds)
    for k, record in enumerate(records):
        gone, first = record.left_in_round is not None, k == 0
        colour = BEST if first else FAILED if record.failure else OUT if gone else "#4d5661"
        last = end if record.left_in_round is None else record.left_in_round
        panel.hlines(k, 0, last, colors=colour, linewidth=4 if first else 2.5)
        if gone:
            panel.plot(last, k, marker="x" if record.failure else "|", color=colour, markersize=9)
            note = "failed" if record.failure else f"beaten by {shortened(name_of(record.beaten_by))}"
            early = last < 0.6 * end
            panel.annotate(
                note,
                (last, k),
                xytext=(7, 0) if early else (-7, 6),
                textcoords="offset points",
                ha="left" if early else "right",
                va="center",
                fontsize=7.5,
                color="#4d5661",
                parse_math=False,
            )
    panel.set_yticks(range(len(records)), [shortened(name_of(record.arm)) for record in records], parse_math=False)
    panel.set_ylim(len(records) - 0.4, -0.6)
    panel.set_xlim(0, end * 1.02)
    left_out = len(result.arms) - len(records)
    panel.set_title(
        "who left when" + (f" ({with_noun(left_out, 'more arm')} not shown)" if left_out else ""),
        loc="left",
        fontsize=10,
    )
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(left=False)


def draw_lead(panel: "Axes", result: "RaceResult[Any]") -> None:
    """The lead of the leader over its closest rival, with its interval."""
    history = result.lead_history if result.n_rounds and result.leader is not None else None
    panel.axhline(0.0, color="#4d5661", linewidth=0.8)
    if history is not None and history.rounds.size:
        panel.plot(history.rounds, history.lead, color=BEST, marker="." if history.rounds.size < 10 else None)
        low, high = history.low, history.high
        known = np.isfinite(low) & np.isfinite(high)
        panel.fill_between(history.rounds[known], low[known], high[known], color=BEST, alpha=0.18, linewidth=0)
        panel.set_ylim(*lead_limits(history))
        name = shortened(name_of(result.leader))
        panel.set_title(f"lead of {name} over its closest rival", loc="left", fontsize=10, parse_math=False)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", linewidth=0.4, alpha=0.6)


def lead_limits(history: LeadHistory) -> tuple[float, float]:
    """Limits that show the later part: the first intervals are as wide as anything can be."""
    late = history.rounds >= history.rounds[-1] / 10
    values = np.concatenate([history.lead[late], history.low[late], history.high[late], [0.0]])
    values = values[np.isfinite(values)]
    margin = 0.08 * (np.ptp(values) or 1.0)
    return float(values.min() - margin), float(values.max() + margin)
