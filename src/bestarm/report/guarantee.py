"""What a result promises, what "the best" means in it, and what all rests on."""

import math
from typing import TYPE_CHECKING, Any

from bestarm.comparisons.evidence import SYMMETRIC

if TYPE_CHECKING:
    from bestarm.racing.result import RaceResult

WITHOUT_DISQUALIFIED = (
    "Arms that could not be evaluated were disqualified, and nothing is known about how good they are. With the "
    "probability stated, whatever makes arms fail, the best of all arms is among those left or among those "
    "disqualified. If it is one of the latter, nothing is promised about the others: it may have beaten them."
)
WINS = (
    "The best is here the arm that is better than every other on more items than worse, however much: nothing is "
    "assumed about the scores. If there is no such arm, nothing is promised. Leads are shares of items, won minus lost."
)


def guarantee(result: "RaceResult[Any]") -> list[str]:
    """What the answer means and assumes, in sentences."""
    promise = result.guarantee
    if math.isnan(promise.delta):
        return ["The algorithm gives no guarantee."]
    sure = f"{1 - promise.delta:.12g}"
    said = [
        f"With probability at least {sure} the best arm is never dropped{conditions(result)}. This holds at all times "
        "at once: watching the race, stopping it early and continuing it do not weaken it.",
        *basis(result),
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


def basis(result: "RaceResult[Any]") -> list[str]:
    """What the answer rests on."""
    assumption = result.guarantee.assumption
    if not assumption:
        return []
    items, beyond = unit_of_rounds(result), result.target == "items" and result.for_population is not None
    sample = f"; for {items} like these, also that these are a random sample of them" if beyond else ""
    if result.settings.items == "drawn":  # by the race itself
        assumption = assumption.replace("the items are independent", "evaluations are independent")
    return [f"This assumes that {assumption.replace('the items', f'the {items}')}{sample}."]


def conditions(result: "RaceResult[Any]") -> str:
    """What a statement needs, where it can easily fail."""
    promise, ifs = result.guarantee, []
    if promise.indifference_zone:
        ifs.append(f"the best leads by at least {promise.indifference_zone * result.unit:g}")
    if result.settings.own_range and result.target == "population" and result.bounds is not None:
        ifs.append("scores stay within [{:g}, {:g}]".format(*result.bounds))
    if promise.criterion == "wins":
        ifs.append("any arm beats all others")
    if promise.nearly_gaussian:
        symmetric = promise.assumption.startswith(SYMMETRIC)
        ifs.append(f"the differences are {'symmetric about their means' if symmetric else 'nearly Gaussian'}")
    return f", if {' and '.join(ifs)}" if ifs else ""


def unit_of_rounds(result: "RaceResult[Any]") -> str:
    """What is drawn: items, or whole groups of them."""
    return "items" if result.settings.group_sizes is None else "groups of items"
