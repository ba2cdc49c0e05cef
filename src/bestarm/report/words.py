"""A result in words and as a table of text."""

import io
import math
import textwrap
from typing import TYPE_CHECKING, Any

from bestarm.inputs.texts import counted, name_of, names
from bestarm.report.failing import disqualifications, failures, timeouts, whose_best

if TYPE_CHECKING:
    from rich.table import Table

    from bestarm.racing.outcome import ArmRecord
    from bestarm.racing.result import RaceResult

WIDTH = 100  # of the text form of a result


def sentences(result: "RaceResult[Any]") -> list[str]:
    """The answer and how sure it is; then what it rests on, and what weakens it."""
    if result.leader is None and result.reason == "running":
        return ["No answer yet: the first round is not complete."]
    if result.leader is None:
        return [f"No answer: {ENDED[result.reason]} before the first round was complete."]
    said = _answer(result) if result.answered else _undecided(result)
    return [said, *_basis(result), *_doubts(result)]


def _sure(result: "RaceResult[Any]") -> str:
    """How sure the answer is, as it ends a sentence."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return ", but its algorithm gives no guarantee"
    sure = f"with probability at least {1 - promise.delta:.12g}"
    zone = promise.indifference_zone
    if zone:
        return f", {sure} if the best leads by at least {zone:g}"
    return f", {sure}" if result.disqualified else f" {sure}"


def _answer(result: "RaceResult[Any]") -> str:
    best, sure, promise, those = name_of(result.best), _sure(result), result.guarantee, whose_best(result)
    here = f" on these {promise.pool:,} items" if promise.pool else ""
    if result.reason == "decided":
        return f"{best} is the best{those}{here}{sure}."
    if result.reason == "within epsilon":
        return f"{best} is within {promise.epsilon:g} of the best{those}{here}{sure}."
    everything = f"over all {result.settings.n_items:,} items"
    if len(result.candidates) > 1:
        return f"{names(result.candidates)} tie for the best mean{those} {everything}{sure}."
    return f"{best} has the best mean{those} {everything}{sure}."


ENDED = {
    "budget": "the budget ran out",
    "ran out of items": "the items ran out",
    "interrupted": "the race was interrupted",
    "running": "the race is not finished",
    "decided": "the race ended",  # all others were disqualified
    "within epsilon": "the race ended",
    "all items used": "the race ended",
}


def _undecided(result: "RaceResult[Any]") -> str:
    leader, promise = f'"{name_of(result.leader)}"', result.guarantee
    text = f"No answer: {ENDED[result.reason]}. {leader} leads."
    if math.isnan(promise.delta):
        return f"{text} The algorithm gives no guarantee."
    text += f" With probability at least {1 - promise.delta:.12g} the best{whose_best(result)} is "
    text += names(result.candidates, "or")
    if math.isfinite(result.regret_bound):
        text += f", and it beats {leader} by at most {result.regret_bound:.3g}"
    zone = promise.indifference_zone
    return f"{text}, if it leads by at least {zone:g}." if zone else f"{text}."


def _basis(result: "RaceResult[Any]") -> list[str]:
    """What the answer rests on."""
    assumption = result.guarantee.assumption
    return [f"This assumes that {assumption}."] if assumption else []


def _doubts(result: "RaceResult[Any]") -> list[str]:
    """What weakens the answer."""
    said = [f"Warning: {warning}." for warning in result.warnings]
    said += [*timeouts(result), *disqualifications(result)]
    if (against := result.contradiction) is not None:
        said.append(
            f"The evidence contradicts itself: in round {against.round:,} every candidate was beaten, "
            f"including {name_of(against.arm)} (by {name_of(against.by)})."
        )
    return said


def cost(result: "RaceResult[Any]") -> str:
    """What the answer took."""
    text = f"{counted(result.n_evaluations, 'evaluation')} in {counted(result.n_rounds, 'round')}"
    if result.saved is None:
        return f"{text}."
    everything = (result.settings.n_items or 0) * len(result.arms)
    return f"{text}; evaluating everything would take {everything:,}: {result.saved:.1%} saved."


def ending(record: "ArmRecord[Any]") -> str:
    """How an arm ended."""
    if record.left_in_round is None:
        return record.status
    if record.status == "out":
        return f"out in round {record.left_in_round:,}, beaten by {name_of(record.beaten_by)}"
    return f"disqualified in round {record.left_in_round:,}"


WITHOUT_DISQUALIFIED = (
    "Arms that could not be evaluated were disqualified. Nothing is known about how good they are, and the best arm is "
    "here the best of the others. It may be out where an arm beat it that was disqualified later, and the probability "
    "assumes that which arms fail has nothing to do with their scores."
)


def guarantee(result: "RaceResult[Any]") -> list[str]:
    """What the answer means and assumes, in sentences."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return ["The algorithm gives no guarantee."]
    sure = f"{1 - promise.delta:.12g}"
    said = [
        f"With probability at least {sure} the best arm is never dropped. This holds at all times at once: watching "
        "the race, stopping it early and continuing it do not weaken it.",
        *_basis(result),
    ]
    if promise.pool:
        said.append(
            f"The best is the arm with the best mean over the {promise.pool:,} items of this race, which were "
            "taken in random order; the answer says nothing about other items."
        )
    else:
        said.append("The best is the arm with the best mean over all items that could have come up.")
    if promise.epsilon:
        said.append(
            f"The race also ends once the leader is shown to be at most {promise.epsilon:g} from the best; this "
            f"is then true with probability at least {sure}."
        )
    if promise.indifference_zone:
        said.append(
            f"All this assumes that the best arm leads by at least {promise.indifference_zone:g}; otherwise "
            "nothing is guaranteed."
        )
    if result.settings.on_error == "worst":
        said.append("Evaluations that failed count as the worst score.")
    if result.disqualified:
        said.append(WITHOUT_DISQUALIFIED)
    return said


def settings_in_words(result: "RaceResult[Any]") -> list[tuple[str, str]]:
    """The settings that a reader needs to judge or repeat the race."""
    settings, promise, algorithm = result.settings, result.guarantee, result.settings.algorithm
    pool = f"{settings.n_items:,} in random order" if settings.items == "pool" else settings.items
    comparison = getattr(algorithm, "comparison", None)
    rule = " with ".join(type(part).__name__ for part in (algorithm, comparison) if part is not None)
    said = [("rule", rule), ("delta", f"{promise.delta:.12g}"), ("items", pool)]
    if result.bounds is not None:
        said.append(("scores within", "{:.12g} to {:.12g}".format(*result.bounds)))
    said.append(("better scores are", "lower" if settings.lower_is_better else "higher"))
    numbers = {
        "epsilon": promise.epsilon,
        "indifference zone": promise.indifference_zone,
        "budget (evaluations)": getattr(algorithm, "max_queries", None) or settings.max_evaluations,
    }
    said += [(name, f"{value:,}") for name, value in numbers.items() if value]
    said += [("rounds in flight", str(settings.rounds_in_flight)), ("if an evaluation fails", settings.on_error)]
    return [*said, ("seed", str(settings.seed))]


def rich_table(result: "RaceResult[Any]") -> "Table":
    """One row per arm, the leader first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    for heading in ("mean", "items", "behind"):
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
    return "" if math.isnan(value) else f"{value:.4g}"


def text_table(result: "RaceResult[Any]") -> str:
    """The verdict, what it took, and the table, without colours."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=WIDTH, color_system=None).print(rich_table(result))
    lines = [line.rstrip() for line in page.getvalue().splitlines() if line.strip()]
    wrapped = [textwrap.fill(sentence, WIDTH) for sentence in failures(result)]
    return "\n".join([textwrap.fill(result.verdict, WIDTH), cost(result), *wrapped, *lines])
