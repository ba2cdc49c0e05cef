"""A result as a table of text and as JSON, and its settings in words."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size

from bestarm.record.settings import FORMAT, jsonable
from bestarm.result.explanation import failure_sentences
from bestarm.result.numbers import lead_format, score_format
from bestarm.result.outcome import ArmRecord
from bestarm.result.verdict import headline, next_step, second_line, small_print, warning_lines, why_none
from bestarm.text import name_of, sanitize, shortened

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


WIDTH = 80  # of the text form of a result, wherever it is shown
SHOWN = 12  # lines of the table, of which the last one stands for all other arms where there are more
SHORTEST_NAME = 16
GAP = "   "  # between columns
STATUS = {"best": "", "within epsilon": "", "leader": "leads", "candidate": "may be the best", "tied": "ties"}


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, its cells, and whether these stand on the right."""

    heading: str
    cells: Sequence[str]
    right: bool = True

    @property
    def width(self) -> int:
        """That of its longest cell."""
        return max(map(cell_len, [self.heading, *self.cells]))

    def lines(self) -> list[str]:
        """The heading and the cells, all of one width."""
        cells, width = [self.heading, *self.cells], self.width
        return [" " * (width - cell_len(cell)) + cell if self.right else set_cell_size(cell, width) for cell in cells]


def table_columns(result: "RaceResult[Any]", first: int, last: int) -> list[Column]:
    """The columns for some of the arms in their order; a complete table has ranks and duels, others items and leads."""
    scores, leads, records = score_format(result), lead_format(result), result.records[first:last]
    means = Column(_with_unit("mean", scores.heading), [scores.number(record.mean) for record in records])
    names = Column("arm", [name_of(record.arm) for record in records], right=False)
    known = result.exact and len(result.candidates) == 1  # the ranks say it all
    status = Column("", ["" if known else STATUS.get(record.status, record.status) for record in records], right=False)
    if result.complete:
        ranks = Column("#", [f"{k:,}" for k in range(first + 1, first + len(records) + 1)])
        against = f"won–lost against #{result.order.index(result.outcome.leader or 0) + 1}"
        duels = ["" if record.arm == result.leader else f"{record.won:,}–{record.lost:,}" for record in records]
        return [ranks, names, means, Column(against, duels), status]
    drawn = "draws" if result.settings.items == "drawn" else "items"
    items = Column(drawn, [f"{record.n_items:,}" for record in records])
    unknown = (result.arms[result.outcome.leader or 0], *(failed.arm for failed in result.disqualified))
    behind = ["" if record.arm in unknown else leads.number(record.behind) for record in records]
    return [names, means, items, Column(_with_unit(_behind_heading(result), leads.heading), behind), status]


def _with_unit(heading: str, unit: str) -> str:
    return f"{heading}, {unit}" if unit else heading


def table_lines(result: "RaceResult[Any]", every: bool = False) -> list[str]:
    """The table, of all arms or of the first ones, in at most 80 columns unless names cannot be shortened so far."""
    records = result.records
    shown = records if every or len(records) <= SHOWN else records[: SHOWN - 1]
    columns = table_columns(result, 0, len(shown))
    room = WIDTH - 1 - sum(column.width + len(GAP) for column in columns if column.heading != "arm")
    columns = [_narrowed(column, max(room, SHORTEST_NAME)) if column.heading == "arm" else column for column in columns]
    lines = [f" {GAP.join(cells)}".rstrip() for cells in zip(*(column.lines() for column in columns), strict=True)]
    if len(shown) < len(records):
        lines.append(_rest(records[len(shown) :]))
    if note := note_on_shared_items(result, shown):
        lines.append(f" ({note})")
    return lines


def note_on_shared_items(result: "RaceResult[Any]", shown: Sequence[ArmRecord[Any]]) -> str:
    """That means over different items are not compared; nothing where all arms have the same items."""
    if result.complete or len({record.n_items for record in shown}) == 1:
        return ""
    note = f"{_behind_heading(result)}: on the items that an arm shares with {{}}"
    return note.format(_fitted(name_of(result.leader), max(WIDTH - cell_len(note) - 3, SHORTEST_NAME)))


def _behind_heading(result: "RaceResult[Any]") -> str:
    return "behind" if result.guarantee.criterion == "mean" else "lost − won"


def _narrowed(column: Column, width: int) -> Column:
    return Column(column.heading, [_fitted(cell, width) for cell in column.cells], column.right)


def _fitted(name: str, width: int) -> str:
    """A name in at most so many columns of a terminal, of which some letters take two."""
    return next((said for longest in range(width, 1, -1) if cell_len(said := shortened(name, longest)) <= width), "…")


def wrapped(line: str, indent: str = "") -> str:
    """A line broken between words so that no part is wider than the text form, the later ones indented."""
    lines: list[str] = []
    for word in re.findall(r"\s*\S+", line):
        if lines and cell_len(lines[-1] + word) <= WIDTH:
            lines[-1] += word
            continue
        first, *rest = chop_cells(word.strip(), WIDTH - cell_len(indent))
        lines += [f"{indent if lines else ''}{first}", *(f"{indent}{part}" for part in rest)]
    return "\n".join(lines)


def _rest(records: Sequence[ArmRecord[Any]]) -> str:
    """What is said in place of the arms that a short table leaves out."""
    standing = sum(record.status in ("candidate", "tied") for record in records)
    said = [f"{standing:,} more {'tie' if records[0].status == 'tied' else 'may be the best'}"] if standing else []
    if len(records) > standing:
        said.append(f"{len(records) - standing:,} {'' if standing else 'more '}out")
    return f" … {', '.join(said)} (all: --all or result.table())"


def text_form(result: "RaceResult[Any]", every: bool = False) -> str:
    """The verdict, the table, what weakens or follows from it, and the small print; no colours, at most 80 columns."""
    first = "\n".join(wrapped(line, "  ") for line in verdict_lines(result))
    table = "\n".join(table_lines(result, every)) if why_none(result) is None else ""
    spent, *rests = small_print(result)
    more = f"{spent} More: explain(), --explain."
    last = [*warning_lines(result), *failure_sentences(result), next_step(result), more, *rests]
    said = "\n".join(wrapped(line) for line in last if line)
    return "\n\n".join(part for part in (first, table, said) if part)


def verdict_lines(result: "RaceResult[Any]") -> list[str]:
    """The answer, and what one asks next."""
    return [line for line in (headline(result), second_line(result)) if line]


def settings_in_words(result: "RaceResult[Any]") -> list[tuple[str, str]]:
    """The settings that a reader needs to judge or repeat the race."""
    settings, promise, algorithm = result.settings, result.guarantee, result.settings.algorithm
    how = {"pool": "in random order", "drawn": "drawn with replacement"}.get(settings.items)
    pool = settings.items if how is None else f"{settings.n_items:,} {how}"
    comparison = getattr(algorithm, "comparison", None)
    rule = " with ".join(type(part).__name__ for part in (algorithm, comparison) if part is not None)
    said = [("rule", rule), ("delta", f"{promise.delta:.12g}"), ("items", pool), ("target", result.target)]
    if result.bounds is not None:
        said.append(("scores within", "{:.12g} to {:.12g}".format(*result.bounds)))
    said.append(("better scores are", "lower" if settings.lower_is_better else "higher"))
    numbers = {
        "epsilon": promise.epsilon * result.unit,
        "indifference zone": promise.indifference_zone * result.unit,
        "budget (evaluations)": getattr(algorithm, "max_queries", None) or settings.max_evaluations,
    }
    if settings.group_sizes is not None:
        said.append(("groups", f"{len(settings.group_sizes):,}, a whole one in each round"))
    said += [(name, f"{value:,.12g}") for name, value in numbers.items() if value]
    said += [("rounds in flight", str(settings.rounds_in_flight)), ("if an evaluation fails", settings.on_error)]
    return [*said, ("seed", str(settings.seed))]


def result_json(result: "RaceResult[Any]") -> str:
    """Everything but the individual scores; NaN becomes null."""
    beyond, failed = result.for_population, result.breakdown
    plain = {
        "format": FORMAT,
        "verdict": result.verdict,
        "answered": result.answered,
        "best": result.best,
        "leader": result.leader,
        "candidates": result.candidates,
        "target": result.target,
        "for_population": None if beyond is None else vars(beyond) | {"decided": beyond.decided},
        "reason": result.reason,
        "n_evaluations": result.n_evaluations,
        "n_rounds": result.n_rounds,
        "saved": result.saved,
        "regret_bound": result.regret_bound,
        "warnings": result.warnings,
        "shapes": [vars(shape) | {"problem": shape.problem} for shape in result.shapes],
        "arms": result.to_records(),
        "eliminations": [vars(out) for out in result.eliminations],
        "disqualified": [vars(out) for out in result.disqualified],
        "failures": [vars(count) for count in result.failures],
        "breakdown": None if failed is None else vars(failed) | {"no_answer": failed.no_answer},
        "outage": None if result.outage is None else vars(result.outage),
        "settings": result.settings.to_plain(),
    }
    return sanitize(json.dumps(jsonable(plain), indent=2, ensure_ascii=False), "json")
