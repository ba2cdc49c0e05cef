"""The first lines of a result: the answer, what one asks next, what to do, and on what it rests."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bestarm.algorithms import Reason
from bestarm.result.explanation import doubts
from bestarm.result.numbers import bound_text, lead_format
from bestarm.result.outcome import ArmRecord
from bestarm.text import join_arm_names, join_words, name_of, short, with_noun

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


NAMED = 3  # arms that a line names; of more it says how many there are
ENDED = {
    Reason.BUDGET: "the budget was spent",
    Reason.RAN_OUT_OF_ITEMS: "the items ran out",
    Reason.INTERRUPTED: "the race was interrupted",
    Reason.RUNNING: "the race goes on",
    Reason.OUTAGE: "the race was stopped by failures",
}

SO_FAR = {
    Reason.BUDGET: "budget spent",
    Reason.RAN_OUT_OF_ITEMS: "no items left",
    Reason.INTERRUPTED: "interrupted",
    Reason.RUNNING: "so far",
    Reason.OUTAGE: "stopped by failures",
}


def headline(result: "RaceResult[Any]") -> str:
    """The answer on one line: who, how sure, of what."""
    if (why := why_none(result)) is not None:
        return f"NO ANSWER: {why}"
    return f"{_claim(result)}   ({', '.join(_surety(result))})"


def second_line(result: "RaceResult[Any]") -> str:
    """What one asks next: how far behind the others are, or how much better another arm can still be."""
    if why_none(result) is not None:
        return ""
    return _closest(result) if result.answered else _open_question(result)


def why_none(result: "RaceResult[Any]") -> str | None:
    """Why nothing can be said about who is the best; None where something can."""
    found = result.breakdown
    if found is not None and found.no_answer:
        failed = f"{found.n_failed:,} of {with_noun(found.n_evaluations, 'evaluation')} failed"
        return f"{failed} (the first: {short(found.failure)})"
    if result.leader is not None:
        return None
    if result.outage is not None:
        failure = short(result.outage.failure)
        return f"every evaluation of round {result.outage.round:,} failed (the first: {failure})"
    if result.reason is Reason.RUNNING:
        return "the first round is not complete yet"
    return f"{ENDED.get(result.reason, 'the race ended')} before the first round was complete"


def _claim(result: "RaceResult[Any]") -> str:
    best, candidates = name_of(result.leader), result.candidates
    if not result.answered and len(candidates) <= NAMED:
        return f"UNDECIDED: {join_arm_names(candidates, 'or')}"
    if not result.answered:
        return f"{len(candidates):,} OF {len(result.arms):,} MAY BE THE BEST: {best} leads"
    if len(candidates) > 1 and result.reason is Reason.ALL_ITEMS_USED:
        return f"{'TIE' if result.guarantee.criterion == 'mean' else 'NO WINNER'}: {join_arm_names(candidates)}"
    return f"{_what_it_is(result)}: {best}"


def _what_it_is(result: "RaceResult[Any]") -> str:
    """What the arm is that answers."""
    if result.reason is Reason.WITHIN_EPSILON:
        return f"BEST OR WITHIN {_epsilon(result)} OF IT"
    if result.exact:
        return "LOWEST MEAN" if result.settings.lower_is_better else "HIGHEST MEAN"
    if result.disqualified:
        return f"BEST OF THE OTHER {len(result.arms) - len(result.disqualified):,}"
    return "BEST"


def _epsilon(result: "RaceResult[Any]") -> str:
    return lead_format(result).exactly(result.guarantee.epsilon * result.unit)


def _surety(result: "RaceResult[Any]") -> list[str]:
    """How sure the answer is, and of which items and arms."""
    delta = result.delta
    sure = f"{100 * (1 - delta):.12g}%" if delta > 1e-9 else "over 99.9999999%"
    sure = "exact" if result.exact else "no guarantee" if math.isnan(delta) else f"{sure} confidence"
    said = [sure, about(result)]
    if result.guarantee.criterion == "wins":
        said.append("by wins")
    if result.settings.lower_is_better:
        said.append("lower is better")
    if gone := [failed.arm for failed in result.disqualified]:
        said.append(f"{name_of(gone[0])} failed" if len(gone) == 1 else f"{len(gone):,} arms failed")
    return [part for part in said if part]


def about(result: "RaceResult[Any]") -> str:
    """Of which items an answer is."""
    settings, groups = result.settings, result.settings.group_sizes is not None
    if result.target == "items":
        return f"these {settings.n_items or 0:,} items" if settings.n_items != 1 else "this item"
    if settings.items == "seeds":
        return "all seeds"
    like_these = "groups of items like these" if groups else "items like these"
    return f"{like_these} {result.n_rounds:,}" if result.complete else like_these


def _closest(result: "RaceResult[Any]") -> str:
    """How far the others are behind the answer."""
    if len(result.candidates) > 1 and result.reason is Reason.ALL_ITEMS_USED:
        if result.guarantee.criterion == "mean":
            return f"They have the same mean over these {result.settings.n_items:,} items."
        return "None of them is better than every other on more items than worse."
    rivals = [
        record
        for record in result.records
        if record.arm != result.leader and record.status != "disqualified" and not math.isnan(record.behind)
    ]
    if not rivals:
        return ""
    rivals.sort(key=lambda rival: rival.behind)
    said = _wins(result, rivals) if result.guarantee.criterion == "wins" else _gaps(result, rivals)
    near = result.reason is Reason.WITHIN_EPSILON
    return f"{', '.join(said)}{f'; none is better by more than {_epsilon(result)}' if near else ''}."


def _gaps(result: "RaceResult[Any]", rivals: Sequence[ArmRecord[Any]]) -> list[str]:
    """How far the closest arms are behind, and the others at least."""
    form, named = lead_format(result), NAMED if len(rivals) <= NAMED else NAMED - 1
    said = []
    for k, rival in enumerate(rivals[:named]):
        amount, name = form.amount(rival.behind), name_of(rival.arm)
        if amount.startswith("-"):
            said.append(f"{name} is {amount[1:]} ahead on the items that both share")
        else:
            said.append(f"{name} {amount}" if k and rivals[0].behind >= 0.0 else f"{name} is {amount} behind")
    if len(rivals) > named:
        said.append(f"the other {len(rivals) - named:,} at least {form.rounded_down(rivals[named].behind)}")
    return said


def _wins(result: "RaceResult[Any]", rivals: Sequence[ArmRecord[Any]]) -> list[str]:
    """On how many more items the leader wins than it loses against the closest arms, and the others at least."""
    form, named = lead_format(result), NAMED if len(rivals) <= NAMED else NAMED - 1
    amounts = [form.amount(rival.behind) for rival in rivals[:named]]
    said = [f"{amount} against {name_of(rival.arm)}" for amount, rival in zip(amounts, rivals, strict=False)]
    if len(rivals) > named:
        said.append(f"at least {form.rounded_down(rivals[named].behind)} against the other {len(rivals) - named:,}")
    return [f"Items won minus lost: {said[0]}", *said[1:]]


def _open_question(result: "RaceResult[Any]") -> str:
    """Who leads by how much, and how much better another candidate can still be."""
    leader, rivals = name_of(result.leader), [record for record in result.records if record.status == "candidate"]
    rivals.sort(key=lambda rival: (math.isnan(rival.behind), rival.behind))
    if not rivals:
        return f"{leader} is the only one left."
    bound = bound_text(result, result.regret_bound)
    most = "much" if bound is None else f"up to {bound}"
    after = _after(result)
    text = f"{after}{_lead(result, rivals[0])}; {'the other' if len(rivals) == 1 else 'another'} may be {most} better."
    return f"{text[0].upper()}{text[1:]}" if after else text


def _lead(result: "RaceResult[Any]", rival: ArmRecord[Any]) -> str:
    """By how much the leader is ahead of its closest rival."""
    leader, form = name_of(result.leader), lead_format(result)
    if math.isnan(rival.behind):
        return f"{leader} leads"
    level = form.number(rival.behind) == form.number(0.0)
    if rival.behind < 0.0 and not level:
        ahead = f"{form.amount(-rival.behind)} ahead on the items that both share"
        return f"{leader} leads, {name_of(rival.arm)} is {ahead}"
    return f"{leader} and {name_of(rival.arm)} are level" if level else f"{leader} leads by {form.amount(rival.behind)}"


def _after(result: "RaceResult[Any]") -> str:
    """After how many items, or by what, an undecided race has ended."""
    n_items = result.settings.n_items
    if result.complete:
        return ""
    if result.reason is Reason.RAN_OUT_OF_ITEMS and n_items is not None:
        return f"after all {n_items:,} items "
    return f"{SO_FAR[result.reason]}: " if result.reason in SO_FAR else ""


def next_step(result: "RaceResult[Any]") -> str | None:
    """What can be done about a race that is undecided; None where there is nothing to be done."""
    if result.answered or why_none(result) is not None:
        return None
    ways = []
    if result.reason is Reason.BUDGET:
        ways.append("a larger budget")
    elif result.reason is Reason.RAN_OUT_OF_ITEMS:
        ways.append("more items")
    elif result.reason in (Reason.INTERRUPTED, Reason.OUTAGE) and result.n_rounds:
        ways.append("continue the race, if it was given a store")
    bound = bound_text(result, result.regret_bound)
    if ways and bound is not None and result.guarantee.criterion == "mean":
        ways.append(f"accept the leader, at most {bound} worse than the best (epsilon {bound})")
    return f"Next: {', or '.join(ways)}." if ways else None


# --- small print ------------------------------------------------------------------------------------------------------


def small_print(result: "RaceResult[Any]") -> list[str]:
    """What it took, and what it rests on."""
    holds = [] if why_none(result) is not None else conditions(result)
    rests = [f"Holds if {join_words(holds)}."] if holds else []
    return [cost(result), *rests]


def cost(result: "RaceResult[Any]") -> str:
    """What the answer took."""
    spent = result.n_evaluations
    if result.complete:  # all is there: how much of it was needed
        share = spent / (result.settings.everything or spent) / len(result.arms)
        asked = "would have needed" if result.answered else "would have used"
        return f"A race {asked} {max(0.01, share):.0%} of these scores (--live)."
    if result.saved is None:
        drawn = result.settings.items == "drawn"
        n_rounds = with_noun(result.n_rounds, "draw" if drawn else "round")
        return f"{with_noun(spent, 'evaluation')} in {n_rounds}{' with replacement' if drawn else ''}."
    everything = (result.settings.everything or 0) * len(result.arms)
    saved = f" ({min(result.saved, 0.99):.0%} saved)" if result.saved >= 0.005 else ""
    return f"{spent:,} of {with_noun(everything, 'evaluation')}{saved}."


def conditions(result: "RaceResult[Any]") -> list[str]:
    """What the answer rests on, each in a few words; `RaceResult.explain` has all of it."""
    promise, settings = result.guarantee, result.settings
    if math.isnan(promise.delta):
        return []
    said: list[str] = []
    if result.exact:
        return said
    if result.bounds is not None and promise.criterion == "mean":
        digits = next((n for n in (6, 12) if len({f"{bound:.{n}g}" for bound in result.bounds}) == 2), 17)
        low, high = (f"{bound:.{digits}g}" for bound in result.bounds)
        beyond = settings.own_range and result.target == "population"  # the range of a table that is known
        said.append(f"{'new items score' if beyond else 'scores lie'} in [{low}, {high}]")
    elif promise.criterion == "wins":
        said.append("some arm beats every other one")
    elif promise.nearly_gaussian:
        said.append(f"differences are {'symmetric' if promise.symmetric else 'nearly Gaussian'}")
    else:
        return [promise.assumption]
    if promise.indifference_zone:
        lead = lead_format(result).exactly(promise.indifference_zone * result.unit)
        said.append(f"the best leads by at least {lead}")
    unit = "items" if settings.group_sizes is None else "groups"
    if promise.pool is not None:
        said.append(f"{unit} come in random order")
    elif settings.items == "pool":
        said.append(f"these {unit} are a random sample")
    elif settings.items == "stream":
        said.append(f"{unit} are independent and alike")
    return said


def warning_lines(result: "RaceResult[Any]") -> list[str]:
    """What weakens the answer, each once, with what to do."""
    return [f"Warning: {text}" for text in doubts(result)]
