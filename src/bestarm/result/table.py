"""A result as a table of text, as JSON, and its settings in words."""

import io
import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

from bestarm.record.settings import FORMAT, jsonable
from bestarm.result.outcome import ArmRecord
from bestarm.result.verdict import failure_sentences, sentences
from bestarm.text import name_of, sanitize, with_noun

if TYPE_CHECKING:
    from rich.table import Table

    from bestarm.result.result import RaceResult


WIDTH = 100  # of the text form of a result


def cost(result: "RaceResult[Any]") -> str:
    """What the answer took."""
    text = f"{with_noun(result.n_evaluations, 'evaluation')} in {with_noun(result.n_rounds, 'round')}"
    if result.saved is None:
        return f"{text}."
    everything = (result.settings.everything or 0) * len(result.arms)
    known = ""
    if result.settings.own_range and result.bounds is not None:
        known = " (a live race must know the bounds, here [{:g}, {:g}])".format(*result.bounds)
    return f"{text}; evaluating everything would take {everything:,}: {result.saved:.1%} saved{known}."


def ending(record: ArmRecord[Any]) -> str:
    """How an arm ended."""
    if record.left_in_round is None:
        return record.status
    if record.status == "out":
        return f"out in round {record.left_in_round:,}, beaten by {name_of(record.beaten_by)}"
    return f"disqualified in round {record.left_in_round:,}"


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


def rich_table(result: "RaceResult[Any]") -> "Table":
    """One row per arm, the leader first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    behind = "behind" if result.guarantee.criterion == "mean" else "behind (won - lost)"
    for heading in ("mean", "items", behind):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for k, record in enumerate(result.records):
        left = record.left_in_round is not None
        table.add_row(
            Text(name_of(record.arm)),
            _number(record.mean),
            f"{record.n_items:,}",
            "" if k == 0 else _number(record.behind),
            Text(ending(record)),
            style="bold" if k == 0 else "dim" if left else "",
        )
    return table


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value + 0.0:.4g}"  # no -0


def text_table(result: "RaceResult[Any]") -> str:
    """The verdict, what it took, and the table, without colours."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=WIDTH, color_system=None).print(rich_table(result))
    lines = [line.rstrip() for line in page.getvalue().splitlines() if line.strip()]
    said = [
        textwrap.fill(sentence, WIDTH) for sentence in [*sentences(result), cost(result), *failure_sentences(result)]
    ]
    return "\n".join([*said, *lines])


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
