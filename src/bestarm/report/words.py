"""A result in words and as a table of text."""

import io
import math
from typing import TYPE_CHECKING, Any

from bestarm.inputs.texts import name_of, short

if TYPE_CHECKING:
    from rich.table import Table

    from bestarm.racing.result import RaceResult

FEW = 5  # names that a sentence holds


def names(arms: tuple[Any, ...]) -> str:
    """The first arms, and how many more."""
    shown = ", ".join(map(name_of, arms[:FEW]))
    return shown if len(arms) <= FEW else f"{shown} and {len(arms) - FEW} more"


def _sure(result: "RaceResult") -> str:
    """How sure the answer is."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return "(its algorithm states no guarantee)"
    sure = f"with probability at least {1 - promise.delta:.12g}"
    return f"{sure} if the best leads by {promise.indifference_zone:g} or more" if promise.indifference_zone else sure


def verdict(result: "RaceResult") -> str:
    """The answer, how sure it is, and what it rests on, in a sentence or two."""
    if result.best is None:
        return f"Nothing is known yet: {_ended(result)} before the first round was complete."
    best, sure, promise = name_of(result.best), _sure(result), result.guarantee
    here = f" on these {promise.pool:,} items" if promise.pool else ""
    if result.reason == "decided":
        text = f"{best} is the best{here} {sure}."
    elif result.reason == "within epsilon":
        text = f"{best} is within {promise.epsilon:g} of the best{here} {sure}."
    elif result.reason == "pool exhausted":
        everything = f"over all {result.settings.n_items:,} items"
        text = f"{best} has the best mean {everything} {sure}."
        if len(result.candidates) > 1:
            text = f"{names(result.candidates)} tie {everything}, and {sure} none is better."
    else:
        text = _undecided(result, best, sure)
    return text + _doubts(result)


ENDED = {
    "budget": "the budget was spent",
    "items exhausted": "the items were used up",
    "interrupted": "the race was interrupted",
}


def _ended(result: "RaceResult") -> str:
    """Why there is no answer; own games may have reasons of their own."""
    return ENDED.get(result.reason, f"the race ended ({result.reason})")


def _undecided(result: "RaceResult", best: str, sure: str) -> str:
    text = f"Not decided, {_ended(result)}: {best} leads, and {sure} the best is among {names(result.candidates)}"
    if math.isfinite(result.regret_bound):
        text += f", none of them better than {best} by more than {result.regret_bound:.3g}"
    return text + "."


def _doubts(result: "RaceResult") -> str:
    """What weakens the answer."""
    text = ""
    for failed in result.disqualified:
        text += f" {name_of(failed.arm)} was disqualified in round {failed.round:,} and may be the best"
        text += f"; it had eliminated {names(failed.had_eliminated)}" if failed.had_eliminated else ""
        text += f" ({short(failed.failure)})."
    if result.contradiction is not None:
        text += (
            f" The evidence contradicts itself: in round {result.contradiction.round:,} every candidate was beaten, "
            f"also {name_of(result.contradiction.arm)}, by {name_of(result.contradiction.by)}."
        )
    return text


def cost(result: "RaceResult") -> str:
    """What the answer took."""
    text = f"{result.n_queries:,} evaluations in {result.n_rounds:,} rounds"
    if result.saved is None:
        return f"{text}."
    everything = (result.settings.n_items or 0) * len(result.arms)
    return f"{text}; evaluating everything takes {everything:,}: {result.saved:.1%} saved."


def ending(record: dict[str, Any]) -> str:
    """How an arm ended, from its record."""
    if record["round"] is None:
        return str(record["status"])
    if record["status"] == "out":
        return f"out in round {record['round']:,}, beaten by {name_of(record['beaten_by'])}"
    return f"disqualified in round {record['round']:,}"


def guarantee(result: "RaceResult") -> list[str]:
    """What the answer means and assumes, in sentences."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return [promise.assumption]
    sure = f"{1 - promise.delta:.12g}"
    said = [
        f"With probability at least {sure} the best arm is never dropped. This holds at all times at once: watching "
        "the race, stopping it early and continuing it change nothing.",
        promise.assumption,
    ]
    if promise.pool:
        said.append(
            f"The best is the arm with the best mean over the {promise.pool:,} items of this race, which were "
            "taken in random order; about other items the race says nothing."
        )
    else:
        said.append("The best is the arm with the best mean over the law that the items come from.")
    if promise.epsilon:
        said.append(
            f"The race may also end when the leader is shown to be within {promise.epsilon:g} of the best; that "
            f"is then right with probability at least {sure}."
        )
    if promise.indifference_zone:
        said.append(
            f"All this holds under the promise that the best arm leads by {promise.indifference_zone:g} or more, "
            "and is void without it."
        )
    if result.settings.on_error == "worst":
        said.append("Evaluations that failed count as the worst score.")
    if result.disqualified:
        said.append("Arms that could not be evaluated were disqualified: the best of all may be among these.")
    return said


def settings_in_words(result: "RaceResult") -> list[tuple[str, str]]:
    """The settings that a reader needs to judge or repeat the race."""
    settings, promise, algorithm = result.settings, result.guarantee, result.settings.algorithm
    pool = f"{settings.n_items:,} in random order" if settings.items == "pool" else settings.items
    comparison = getattr(algorithm, "comparison", None)
    rule = " with ".join(type(part).__name__ for part in (algorithm, comparison) if part is not None)
    said = [("rule", rule), ("delta", f"{promise.delta:.12g}"), ("items", pool)]
    if result.bounds is not None:
        said.append(("scores in", "{:.12g} to {:.12g}".format(*result.bounds)))
    said.append(("better is", "lower" if settings.lower_is_better else "higher"))
    numbers = {
        "epsilon": promise.epsilon,
        "indifference zone": promise.indifference_zone,
        "max queries": getattr(algorithm, "max_queries", None) or settings.max_queries,
    }
    said += [(name, f"{value:,}") for name, value in numbers.items() if value]
    said += [("rounds in flight", str(settings.in_flight)), ("failed evaluations", settings.on_error)]
    return [*said, ("seed", str(settings.seed))]


def rich_table(result: "RaceResult") -> "Table":
    """One row per arm, the best first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm", overflow="fold")
    for heading in ("mean", "items", "behind"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for record in result.to_records():
        first = record["status"] in ("best", "leader")
        behind = "" if first else _number(record["behind"])
        table.add_row(
            Text(name_of(record["arm"])),
            _number(record["mean"]),
            f"{record['items']:,}",
            behind,
            Text(ending(record)),
            style="bold" if first else "" if record["status"] == "candidate" else "dim",
        )
    return table


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def text_table(result: "RaceResult") -> str:
    """The verdict, what it took, and the table, without colours."""
    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=100, color_system=None).print(rich_table(result))
    lines = [line.rstrip() for line in page.getvalue().splitlines() if line.strip()]
    return "\n".join([result.verdict, cost(result), *lines])
