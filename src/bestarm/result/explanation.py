"""A result explained in full: what is said, what it means and assumes, what weakens it, and how the race went."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bestarm.algorithms import Reason
from bestarm.comparisons.evidence import items_assumption
from bestarm.result.numbers import bound_text, lead_format
from bestarm.result.outcome import Breakdown, FailureCount
from bestarm.text import join_arm_names, join_words, name_of, short, with_noun

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


UNSEEN = 3.0  # an event on a share p of the items is not seen among 3 / p of them with probability exp(-3), or 5%
SHORT = 100  # a warning about such rare events is given for races of fewer items
ENDED = {
    Reason.BUDGET: "the budget ran out",
    Reason.RAN_OUT_OF_ITEMS: "the items ran out",
    Reason.INTERRUPTED: "the race was interrupted",
    Reason.RUNNING: "the race is not finished",
    Reason.DECIDED: "the race ended",  # all others were disqualified
    Reason.WITHIN_EPSILON: "the race ended",
    Reason.ALL_ITEMS_USED: "the race ended",
}
COULD_BE_EVALUATED = " of those that could be evaluated"
WITHOUT_DISQUALIFIED = (
    "Arms that could not be evaluated were disqualified, and nothing is known about how good they are. With the "
    "probability stated, whatever makes arms fail, the best of all arms is among those left or among those "
    "disqualified. If it is one of the latter, nothing is promised about the others: it may have beaten them."
)
WINS = (
    "The best is here the arm that is better than every other on more items than worse, however much: nothing is "
    "assumed about the scores. If there is no such arm, nothing is promised. Leads are shares of items, won minus lost."
)


def explanation(result: "RaceResult[Any]") -> str:
    """Everything that can be said about a result, in paragraphs under headings."""
    return "\n\n".join("\n".join([heading.upper(), *said]) for heading, said in explained(result).items())


def explained(result: "RaceResult[Any]") -> dict[str, list[str]]:
    """Everything that can be said about a result: sentences, by the question that they answer."""
    parts = {
        "The answer in full": [*said_in_full(result), *_like_these(result)],
        "What weakens it": [*_unseen(result), *doubts(result)],
        "What it means and assumes": guarantee(result),
        "How the race went": course(result),
    }
    return {heading: said for heading, said in parts.items() if said}


def said_in_full(result: "RaceResult[Any]") -> list[str]:
    """The answer in a sentence, with its probability and its conditions."""
    if result.leader is None and result.reason is Reason.RUNNING:
        return ["No answer yet: the first round is not complete."]
    if result.leader is None:
        return [f"No answer: {_why_none(result)} before the first round was complete."]
    if result.breakdown is not None and result.breakdown.no_answer:  # what the tests say is about failures alone
        return [f"No answer: {_why_none(result)}."]
    return [_answer(result) if result.answered else _undecided(result)]


def course(result: "RaceResult[Any]") -> list[str]:
    """What the race took, who left when and was beaten by whom, and what failed."""
    everything = (result.settings.everything or 0) * len(result.arms)
    text = f"{with_noun(result.n_evaluations, 'evaluation')} in {with_noun(result.n_rounds, 'round')}"
    if result.complete:
        text = f"All {everything:,} scores are there; a race would have asked for {result.n_evaluations:,} of them"
    elif result.saved is not None:
        text += f"; evaluating everything would take {everything:,}: {result.saved:.1%} saved"
    if result.settings.own_range and result.bounds is not None:
        text += " (a live race must know the bounds, here [{:g}, {:g}])".format(*result.bounds)
    left = [
        f"{name_of(out.arm)} left in round {out.round:,}, beaten by {name_of(out.by)}." for out in result.eliminations
    ]
    return [f"{text}.", *left, *failure_sentences(result), *_timeouts(result)]


def _why_none(result: "RaceResult[Any]") -> str:
    """Why there is no answer."""
    if result.outage is not None:
        return f"no candidate could be evaluated in round {result.outage.round:,} ({short(result.outage.failure)})"
    if result.breakdown is not None and result.breakdown.no_answer:
        return f"{_too_many(result.breakdown)}, and all that is known is about failures"
    return ENDED[result.reason]


def _answer(result: "RaceResult[Any]") -> str:
    if result.reason is Reason.ALL_ITEMS_USED:
        return _over_all_items(result)
    if result.reason is Reason.WITHIN_EPSILON:
        return _within_epsilon(result)
    best, sure, where = name_of(result.best), _sure(result), whose_best(result) + _where(result)
    if result.guarantee.criterion == "wins":
        return f"{best} is better than every other arm more often than worse{where}{sure}."
    if result.settings.items == "drawn":
        return f"{best} has the best expected score{where}{sure}."
    return f"{best} is the best{where}{sure}."


def _within_epsilon(result: "RaceResult[Any]") -> str:
    best, epsilon = name_of(result.best), lead_format(result).exactly(result.guarantee.epsilon * result.unit)
    where, sure = whose_best(result) + _where(result), _sure(result)
    if result.guarantee.criterion == "mean":
        return f"{best} is within {epsilon} of the best{where}{sure}."
    return f"{best} is the best{where} or loses to it by at most {epsilon}{sure}."


def _over_all_items(result: "RaceResult[Any]") -> str:
    """The answer where every item was used: there may be several."""
    several, best, one = join_arm_names(result.candidates), name_of(result.best), len(result.candidates) == 1
    everything = f"{whose_best(result)} over all {_counted_items(result)} as scored here"
    if result.guarantee.criterion == "mean":
        said = f"{best} has the best mean" if one else f"{several} tie for the best mean"
        return f"{said}{everything}{_sure(result)}."
    if one:
        return f"{best} is better than every other arm at least as often as worse{everything}{_sure(result)}."
    return f"No arm is better than every other more often than worse{everything}: {several} are left."


def _counted_items(result: "RaceResult[Any]") -> str:
    """The items of a list; for wins of groups, these."""
    sizes = result.settings.group_sizes
    if sizes is not None and result.guarantee.criterion == "wins":
        return f"{len(sizes):,} groups of items"
    return with_noun(result.settings.n_items or 0, "item")


def _where(result: "RaceResult[Any]") -> str:
    """What an answer is about, as it goes on after "the best"."""
    if result.target == "items":
        noisy, alone = result.settings.items == "drawn", result.settings.n_items == 1
        return f" on {'this' if alone else 'these'} {_counted_items(result)}{'' if noisy else ' as scored here'}"
    return f" on {unit_of_rounds(result)} like these" if result.settings.items == "pool" else ""


def _sure(result: "RaceResult[Any]") -> str:
    """How sure the answer is, and on which condition, as it ends a sentence."""
    if result.exact:
        return ""
    if math.isnan(result.delta):
        return ", but its algorithm gives no guarantee"
    gone = _or_disqualified([failed.arm for failed in result.disqualified])
    return f"{gone}{',' if gone else ''} {_probability(result)}{_conditions(result)}"


def _probability(result: "RaceResult[Any]") -> str:
    return f"with probability at least {1 - result.delta:.12g}"


def _undecided(result: "RaceResult[Any]") -> str:
    leader = f'"{name_of(result.leader)}"'
    text = f"No answer: {_why_none(result)}. {leader} leads."
    if math.isnan(result.delta):
        return f"{text} The algorithm gives no guarantee."
    gone = _or_disqualified([failed.arm for failed in result.disqualified])
    text += (
        f" {_probability(result).capitalize()} the best{_where(result)} is {join_arm_names(result.candidates, 'or')}"
    )
    if (bound := bound_text(result, result.regret_bound)) is not None:
        text += f", and it beats {leader} by at most {bound}"
    return f"{text}{gone}{_conditions(result)}.{_over_the_list(result)}"


def _over_the_list(result: "RaceResult[Any]") -> str:
    """Who is ahead over all items of a list that ran out, though its mean was not the target."""
    settings = result.settings
    used_up = result.reason is Reason.RAN_OUT_OF_ITEMS and settings.items == "pool" and settings.group_sizes is None
    if not used_up or result.guarantee.criterion != "mean":
        return ""
    if any(result.counts[arm] < result.n_rounds for arm in result.outcome.candidates):
        return ""
    standing = [one for one in result.records if one.status in ("leader", "candidate")]
    tied = tuple(one.arm for one in standing if abs(one.behind) < 1e-12)
    best = f"{join_arm_names(tied)} tie for" if len(tied) > 1 else f'"{name_of(result.leader)}" has'
    return f" Over these {settings.n_items:,} items {best} the best mean of those left."


def _like_these(result: "RaceResult[Any]") -> list[str]:
    """What the race says about items like these, where its answer is about the items themselves."""
    beyond = result.for_population if result.target == "items" else None
    if beyond is None or math.isnan(result.delta):
        return []
    here = f"On {unit_of_rounds(result)} like these"
    if result.settings.own_range and result.bounds is not None:
        here += " (if their scores stay within [{:g}, {:g}])".format(*result.bounds)
    sure, leader = f"{_probability(result)}{_conditions(result)}", name_of(result.leader)
    gone = _or_disqualified(beyond.disqualified)
    if beyond.decided:
        same, those = beyond.candidates == (result.best,), COULD_BE_EVALUATED if gone else ""
        who = f"it is the best{those} too" if same else f"{join_arm_names(beyond.candidates)} is the best{those}"
        return [f"{here} {who}{gone}, {sure}."]
    if not beyond.candidates:
        return [f"{here} nothing is known: all arms that may be the best could not be evaluated."]
    some = f"{len(beyond.candidates):,} of {len(result.arms):,} arms may be the best"
    if (bound := bound_text(result, beyond.regret_bound)) is not None:
        by_mean = result.guarantee.criterion == "mean"
        some += (
            f", none better than {leader} by more than " if by_mean else f", and that one beats {leader} by at most "
        )
        some += bound
    if not result.answered:
        return [f"{here} {some}{gone}, {sure}."]
    return [f"{here} the race is not decided: {some}{gone}, {sure}.{_what_decides(result)}"]


def _what_decides(result: "RaceResult[Any]") -> str:
    """Why arms that left may be the best on items like these, and what can be done; nothing if no items are left."""
    if result.n_rounds == result.settings.pool:
        return ""
    left = " Arms that left were not tested further for this:" if result.eliminations else " For this,"
    return f"{left} with the population as target, a race goes on until it is decided or the items run out."


def _unseen(result: "RaceResult[Any]") -> list[str]:
    """What cannot have been seen when the first arm left, where the test rests on the shape of the differences."""
    first = min(result.outcome.eliminations, key=lambda out: out.round, default=None)
    if not result.guarantee.nearly_gaussian or first is None or first.round >= SHORT:
        return []
    rare = max(2, math.floor(first.round / UNSEEN))
    one = "item" if result.settings.group_sizes is None else "group"
    who = f"{name_of(result.arms[first.arm])} left after {with_noun(first.round, one)}"
    return [f"{who}: what happens on fewer than one {one} in {rare} may not have come up by then."]


def doubts(result: "RaceResult[Any]") -> list[str]:
    """What weakens the answer, each in a sentence."""
    said = [*_breakdown(result), *(f"{warning}." for warning in result.warnings)]
    said += [*_outage(result), *_disqualified(result), *_circle(result)]
    if (against := result.contradiction) is not None:
        said.append(
            f"the evidence contradicts itself: in round {against.round:,} every candidate was beaten, "
            f"including {name_of(against.arm)} (by {name_of(against.by)})."
        )
    return said


def _circle(result: "RaceResult[Any]") -> list[str]:
    """Arms that are out by wins, and yet ahead of the leader on the items that both share."""
    if result.guarantee.criterion == "mean":
        return []
    ahead = tuple(record.arm for record in result.records if record.status == "out" and record.behind < 0)
    if not ahead:
        return []
    who = f"{join_arm_names(ahead)} {'is' if len(ahead) == 1 else 'are'} out, but ahead of {name_of(result.leader)}"
    return [f"{who} on the items that they share: perhaps no arm beats all others."]


def guarantee(result: "RaceResult[Any]") -> list[str]:
    """What the answer means and assumes, in sentences."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return ["The algorithm gives no guarantee."]
    if result.exact:
        return ["The answer is exact: all scores that it is about are there.", *_meaning(result)]
    sure = f"{1 - promise.delta:.12g}"
    said = [
        f"With probability at least {sure} the best arm is never dropped{_conditions(result)}. This holds at all times "
        "at once: watching the race, stopping it early and continuing it do not weaken it.",
        *_basis(result),
        *_meaning(result),
    ]
    if promise.epsilon:
        said.append(
            f"The race also ends once the leader is shown to be at most {promise.epsilon * result.unit:g} from the "
            f"best; this is then true with probability at least {sure}."
        )
    if promise.indifference_zone:
        said.append(
            f"All this assumes that the best arm leads by at least {promise.indifference_zone * result.unit:g}; "
            "otherwise nothing is guaranteed about the answer."
        )
    if result.settings.on_error == "worst":
        said.append("Evaluations that failed count as the worst score.")
    if result.disqualified:
        said.append(WITHOUT_DISQUALIFIED)
    return said


def _meaning(result: "RaceResult[Any]") -> list[str]:
    """What "the best" is, and of which items."""
    n_items, promise = result.settings.n_items, result.guarantee
    both = []
    if result.target == "items" and result.for_population is not None:
        both.append(
            f"What is said about {unit_of_rounds(result)} like these holds with the same probability, by a test of its "
            "own on the same scores; both statements together hold with probability at least "
            f"{max(0.0, 1 - 2 * promise.delta):.12g}."
        )
    if promise.criterion == "wins":
        return [WINS, *both]
    if result.settings.items == "drawn":
        return [
            f"The best is the arm with the best expected score over the {n_items:,} items of this race, which were "
            "drawn with replacement and evaluated anew each time; the answer says nothing about other items."
        ]
    items = unit_of_rounds(result)
    if result.target == "population":
        beyond = f"that the {items} of this race are a random sample of" if n_items else "that could have come up"
        return [f"The best is the arm with the best mean over all {items} {beyond}."]
    said = [
        f"The best is the arm with the best mean over the {n_items:,} items of this race, which were taken in random "
        "order, as scored here: where an evaluation would give another score if it were repeated, the score that it "
        "gave is the one that counts (replace=True is about expected scores)."
    ]
    return [*said, *both]


def _basis(result: "RaceResult[Any]") -> list[str]:
    """What the answer rests on."""
    promise, items = result.guarantee, unit_of_rounds(result)
    if not promise.assumption:
        return []
    beyond = result.target == "items" and result.for_population is not None
    sample = f"; for {items} like these, also that these are a random sample of them" if beyond else ""
    rounds = "evaluations" if result.settings.items == "drawn" else f"the {items}"  # the race itself draws the items
    about_rounds = items_assumption(promise.pool, rounds)
    return [f"This assumes that {promise.assumption.replace(items_assumption(promise.pool), about_rounds)}{sample}."]


def _conditions(result: "RaceResult[Any]") -> str:
    """What a statement needs, where it can easily fail."""
    promise, ifs = result.guarantee, []
    if promise.indifference_zone:
        ifs.append(f"the best leads by at least {promise.indifference_zone * result.unit:g}")
    if result.settings.own_range and result.target == "population" and result.bounds is not None:
        ifs.append("scores stay within [{:g}, {:g}]".format(*result.bounds))
    if promise.criterion == "wins":
        ifs.append("any arm beats all others")
    if promise.nearly_gaussian:
        shape = "symmetric about their means" if promise.symmetric else "nearly Gaussian"
        ifs.append(f"the differences are {shape}")
    return f", if {' and '.join(ifs)}" if ifs else ""


def unit_of_rounds(result: "RaceResult[Any]") -> str:
    """What is drawn: items, or whole groups of them."""
    return "items" if result.settings.group_sizes is None else "groups of items"


def whose_best(result: "RaceResult[Any]") -> str:
    """Of which arms the answer is the best, as it follows "the best": nothing where it is the best of all."""
    return COULD_BE_EVALUATED if result.disqualified else ""


def _or_disqualified(gone: Sequence[Any]) -> str:
    """What else may be true where arms were disqualified, as it goes on after an answer."""
    return f", or the best of all is {join_arm_names(gone, 'or')}, which could not be evaluated" if gone else ""


def _disqualified(result: "RaceResult[Any]") -> list[str]:
    """Who could not be evaluated, why, and what that leaves open."""
    said = []
    for failed in result.disqualified:
        why = short(" ".join(failed.failure.split()))
        text = f"{name_of(failed.arm)} was disqualified in round {failed.round:,} ({why})"
        text += ": nothing is known about how good it is"
        if failed.had_eliminated:
            eliminated = join_arm_names(failed.had_eliminated)
            text += f". It had eliminated {eliminated}, which may be better than {name_of(result.leader)}"
        said.append(f"{text}.")
    return said


def _breakdown(result: "RaceResult[Any]") -> list[str]:
    """Failures that come first because they are so many, where there may be an answer all the same."""
    found = result.breakdown
    if found is None or found.no_answer:
        return []
    said = _too_many(found)
    return [f"{said[0].upper()}{said[1:]}."]


def _too_many(found: Breakdown) -> str:
    first = f"failed (the first: {short(found.failure)})"
    if 2 * found.n_failed > found.n_evaluations:
        return f"{found.n_failed:,} of {with_noun(found.n_evaluations, 'evaluation')} {first}"
    return f"all evaluations of {with_noun(found.n_rounds, 'round')} {first}"


def _outage(result: "RaceResult[Any]") -> list[str]:
    """What follows from a round in which no candidate could be evaluated."""
    if result.outage is None:
        return []
    failed = f"no candidate could be evaluated in round {result.outage.round:,} ({short(result.outage.failure)})"
    return [
        f"{failed}. Nobody was disqualified for that: the round is evaluated again when the race is continued. If no "
        "arm can ever be evaluated on its item, begin another race with on_error='worst', or without the item."
    ]


def _timeouts(result: "RaceResult[Any]") -> list[str]:
    """Whose runs reached the time-out."""
    slow = [count for count in result.failures if count.timed_out]
    if not slow:
        return []
    runs = join_words([f"{with_noun(count.timed_out, 'run')} of {name_of(count.arm)}" for count in slow])
    alone = sum(count.timed_out for count in slow) == 1
    limit = f"the time-out of {slow[0].timeout:g} seconds"
    return [f"{runs} reached {limit} and {'counts' if alone else 'count'} as that."]


def failure_sentences(result: "RaceResult[Any]") -> list[str]:
    """How many evaluations failed and were tried again or count as the worst score; who was disqualified is a doubt."""
    failed = [count for count in result.failures if count.retried or count.worst]
    total = sum(count.retried + count.worst for count in failed)
    said = [f"{name_of(count.arm)} ({_what_followed(count)})" for count in failed]
    return [f"{with_noun(total, 'evaluation')} failed: {join_words(said)}."] if failed else []


def _what_followed(count: FailureCount[Any]) -> str:
    said = [f"{count.retried:,} retried"] if count.retried else []
    return ", ".join([*said, *([f"{count.worst:,} counted as worst"] if count.worst else [])])
