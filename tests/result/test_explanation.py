"""What `explain` says: what is the best, of what, how sure, on what it rests, and what weakens it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bestarm.algorithms import LUCB, ConvexBAI, PairwiseBAI
from bestarm.comparisons import GaussianBernstein, StudentMixture, SymmetricBetting

SURE = "with probability at least 0.95"
HERE = "on these 1,000 items as scored here"
BEST = f"high is the best {HERE} {SURE}."
TOO = f"On items like these it is the best too, {SURE}."
THESE = "On items like these"
OPEN = f"{THESE} the race is not decided:"
GOES_ON = "with the population as target, a race goes on until it is decided or the items run out."
MORE = f"Arms that left were not tested further for this: {GOES_ON}"
LEADS = '"high" leads. With probability at least 0.95 the best'
BEATS = 'and it beats "high" by at most'
WITHIN = "This assumes that all scores lie in [0, 1] and the items"
ORDER = f"{WITHIN} come in random order; for items like these, also that these are a random sample of them."
INDEPENDENT = f"{WITHIN} are independent of each other."
THOSE = "of those that could be evaluated"
GAUSSIAN = ", if the differences are nearly Gaussian"
NORMAL = (
    "This assumes that the items are independent of each other and the differences between scores are nearly Gaussian "
    "(strongly skewed or discrete scores weaken the guarantee)."
)
NOT_COVERED = "the guarantee does not cover them; give the bounds that scores lie in"
FAILED = "(evaluate('{}', {}) failed: OSError: disk full): nothing is known about how good it is."
NOTHING = "No answer: the {} before the first round was complete."
OR_HIGH = f"{THOSE}{{}}, or the best of all is high, which could not be evaluated, {SURE}"


def one_value(arm: Any, against: Any, items: int) -> str:
    """The warning of differences that are all the same."""
    pair = f"between {arm} and {against} take only 1 distinct value (up to round {items})"
    return f"the differences {pair}: {NOT_COVERED}."


def left(arm: str, n_items: int) -> str:
    """Who is ahead over all items of a list that ran out."""
    return f'Over these {n_items} items "{arm}" has the best mean of those left.'


def turning(arm: int, item: int) -> float:
    return 0.0 if arm != 1 else -1.0 if item < 3 else 4.0


KEPT = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82)
LOST: dict[str, Any] = {"fails": {"high": 1}, "on_error": "disqualify"}
ZONE = {"indifference_zone": 0.1}
VERDICTS: dict[str, tuple[dict[str, Any], str]] = {
    "decided": ({}, f"{BEST} {TOO}"),
    "decided: stream": ({"items": None}, f"high is the best {SURE}."),
    "decided: population": (
        {"target": "population"},
        f"high is the best on items like these {SURE}.",
    ),
    "decided: drawn": (
        {"replace": True},
        f"high has the best expected score on these 1,000 items {SURE}.",
    ),
    "decided: zone": (
        ZONE,
        f"{BEST[:-1]}, if the best leads by at least 0.1. {OPEN} 2 of 3 arms may be the best, none better than high by "
        f"more than 0.11, {SURE}, if the best leads by at least 0.1. {MORE}",
    ),
    "decided: small delta": (
        {"delta": 1e-6},
        f"{BEST} {OPEN} 3 of 3 arms may be the best, none better than high by more than 0.022, {SURE}. {MORE}".replace(
            "0.95", "0.999999"
        ),
    ),
    "decided: groups": (
        {"groups": [item // 2 for item in range(1000)]},
        f"{BEST} {TOO}".replace("On items", "On groups of items")
        .replace("the items", "the groups of items")
        # what is drawn is a group, what is averaged is an item
        .replace("for items", "for groups of items"),
    ),
    "within epsilon": (
        {"epsilon": 0.5},
        f"high is within 0.5 of the best {HERE} {SURE}. {OPEN} 3 of 3 arms may be the best, none better than high by "
        f"more than 0.43, {SURE}. For this, {GOES_ON}",
    ),
    "all items used": (
        {"items": range(3)},
        f"high has the best mean over all 3 items as scored here {SURE}. {OPEN} 3 of 3 arms may be the best, {SURE}.",
    ),
    "all items used: tie": (
        {"evaluate": lambda arm, item: 0.5, "items": range(7)},
        f"low, mid and high tie for the best mean over all 7 items as scored here. {OPEN} 3 of 3 arms may be "
        f"the best, {SURE}.",
    ),
    "ran out of items: sample": (
        {"evaluate": lambda arm, item: 0.1 * item + (arm == 9), "arms": range(10), "items": range(7), "bounds": None},
        'No answer: the items ran out. "9" leads. With probability at least 0.95 the best on items like these is '
        f"9, 0, 1, 2, 3 or 5 more{GAUSSIAN}. {left('9', 7)} {one_value(0, 9, 7)}",
    ),
    "ran out of items: tie of a sample": (
        {"evaluate": lambda arm, item: 0.1 * item, "arms": range(7), "items": range(7), "bounds": None},
        'No answer: the items ran out. "0" leads. With probability at least 0.95 the best on items like these is '
        f"0, 1, 2, 3, 4 or 2 more{GAUSSIAN}. Over these 7 items 0, 1, 2, 3, 4 and 2 more tie for the best mean of "
        f"those left. {one_value(1, 0, 7)}",
    ),
    "ran out of items: population": (
        {"items": range(3), "target": "population"},
        f"No answer: the items ran out. {LEADS} on items like these is high, mid or low. {left('high', 3)}",
    ),
    "ran out of items: stream": (
        {"items": list("abc").__iter__, "bounds": None},
        f"No answer: the items ran out. {LEADS} is high, mid or low{GAUSSIAN}. {one_value('mid', 'high', 3)}",
    ),
    "ran out of items: at once": ({"items": ().__iter__}, NOTHING.format("items ran out")),
    "budget": (
        {"max_evaluations": 11},
        f"No answer: the budget ran out. {LEADS} {HERE} is high, mid or low. {THESE} 3 of 3 arms may be "
        f"the best, {SURE}.",
    ),
    "interrupted": (
        {"fails": {"high": 13}, "error": KeyboardInterrupt()},
        f"No answer: the race was interrupted. {LEADS} {HERE} is high or mid, {BEATS} 0.057. {THESE} 2 of 3 arms may "
        f"be the best, none better than high by more than 0.062, {SURE}.",
    ),
    "interrupted: at once": (
        {"fails": {"mid": 1}, "error": KeyboardInterrupt()},
        NOTHING.format("race was interrupted"),
    ),
    "decided: disqualified": (
        {"fails": {"high": 12}, "on_error": "disqualify", "items": range(100).__iter__},
        f"mid is the best {OR_HIGH.format('')}. high was disqualified in round 12 "
        f"{FAILED.format('high', 11)[:-1]}. It had eliminated low, which may be better than mid.",
    ),
    "decided: all but one disqualified": (
        {"fails": {"high": 1, "low": 1}, "on_error": "disqualify", "items": list("ab").__iter__},
        f"mid is the best {OR_HIGH.format('').replace('is high', 'is low or high')}. "
        f"low was disqualified in round 1 {FAILED.format('low', repr('a'))} "
        f"high was disqualified in round 1 {FAILED.format('high', repr('a'))}",
    ),
    "decided: contradiction": (
        {"evaluate": turning, "arms": range(3), "items": range(500).__iter__, "bounds": None, "algorithm": KEPT},
        f"0 is the best with probability at least 0.9{GAUSSIAN}. 1 left after 3 items: what happens on "
        "fewer than one item in 2 may not have come up by then. the differences between 1 and 0 take only 1 "
        "distinct value (up to round 3), those between 2 and 1 take only 2 distinct values (up to round 41): "
        f"{NOT_COVERED}. the evidence contradicts itself: in round 41 every candidate was beaten, including 0 (by 1).",
    ),
}
# The first sentences where high was disqualified in the first round, by the way the race ended.
CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "decided": ({}, f"mid is the best {OR_HIGH.format(f' {HERE}')}."),
    "decided: zone": (ZONE, f"mid is the best {OR_HIGH.format(f' {HERE}')}, if the best leads by at least 0.1."),
    "within epsilon": ({"epsilon": 0.6}, f"mid is within 0.6 of the best {OR_HIGH.format(f' {HERE}')}."),
    "all items used": (
        {"items": range(3)},
        f"mid has the best mean {OR_HIGH.format(' over all 3 items as scored here')}.",
    ),
    "all items used: tie": (
        {"items": range(3), "evaluate": lambda arm, item: 0.5 if arm != "high" else 1 / 0},
        f"low and mid tie for the best mean {OR_HIGH.format(' over all 3 items as scored here')}.",
    ),
    "budget": (
        {"max_evaluations": 7},
        f'No answer: the budget ran out. "mid" leads. With probability at least 0.95 the best {HERE} is mid or low',
    ),
}


def raced(race: Callable[..., Any], options: dict[str, Any], about_items: bool = False) -> Any:
    """A race; streams are given as functions that begin them, so that a case can be run twice."""
    begun = {name: value() if name == "items" and callable(value) else value for name, value in options.items()}
    return race(**({"target": "items"} if about_items else {}) | begun)


def section(result: Any, heading: str) -> str:
    """The answer in full under a heading of the explanation, in one line."""
    parts = {part.split("\n")[0]: part.split("\n")[1:] for part in result.explain().split("\n\n")}
    return " ".join(parts.get(heading, []))


@pytest.mark.parametrize("case", VERDICTS)
def test_the_explanation_says_what_is_known_why_and_what_weakens_it(race: Callable[..., Any], case: str) -> None:
    options, sentences = VERDICTS[case]
    result = raced(race, options, about_items="as scored here" in sentences)
    assert result.reason == case.partition(":")[0]
    assert f"{section(result, 'THE ANSWER IN FULL')} {section(result, 'WHAT WEAKENS IT')}".strip() == sentences


@pytest.mark.parametrize("case", CLAIMS)
def test_where_arms_were_disqualified_the_best_is_the_best_of_the_others(race: Callable[..., Any], case: str) -> None:
    options, claim = CLAIMS[case]
    result = race(**LOST | {"target": "items"} | options)
    assert result.reason == case.partition(":")[0]
    assert section(result, "THE ANSWER IN FULL").startswith(claim)
    assert "or the best of all is high, which could not be evaluated" in section(result, "THE ANSWER IN FULL")
    assert "high was disqualified in round 1 (" in section(result, "WHAT WEAKENS IT")
    promised = "the best of all arms is among those left or among those disqualified."
    assert promised in section(result, "WHAT IT MEANS AND ASSUMES")


FIRST = "With probability at least {} the best arm is never dropped{}. This holds at all times at once: watching"
POOL = "the best mean over the 1,000 items of this race, which were taken in random order, as scored here: where an"
BOTH = "both statements together hold with probability at least 0.9."
LAW = "The best is the arm with the best mean over all items that could have come up."
LIKE_THESE = "The best is the arm with the best mean over all items that the items of this race are a random sample of."
SYMMETRIC = "the differences between scores are symmetric about their means: good luck and bad luck of the same size"
GUARANTEES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "pool": ({}, [FIRST.format(0.95, ""), ORDER, POOL, BOTH]),
    "stream": ({"items": range(400).__iter__}, [FIRST.format(0.95, ""), INDEPENDENT, LAW]),
    "Gaussian": (
        {"bounds": None, "comparison": StudentMixture(), "delta": 0.01},
        [FIRST.format(0.99, GAUSSIAN), NORMAL, LIKE_THESE],
    ),
    "symmetric": (
        {"bounds": None, "comparison": SymmetricBetting()},
        [FIRST.format(0.95, ", if the differences are symmetric about their means"), SYMMETRIC, LIKE_THESE],
    ),
    "wins": (
        {"bounds": None, "criterion": "wins", "items": range(400).__iter__},
        [FIRST.format(0.95, ", if any arm beats all others"), "the items are independent", "on more items than worse"],
    ),
    "zone": (
        ZONE,
        [
            FIRST.format(0.95, ", if the best leads by at least 0.1"),
            ORDER,
            POOL,
            BOTH,
            "All this assumes that the best arm leads by at least 0.1; otherwise nothing is guaranteed about the",
        ],
    ),
    "epsilon": (
        {"epsilon": 0.2},
        [
            FIRST.format(0.95, ""),
            ORDER,
            POOL,
            BOTH,
            "to be at most 0.2 from the best; this is then true with probability at least 0.95.",
        ],
    ),
    "disqualified": (
        LOST,
        [
            FIRST.format(0.95, ""),
            ORDER,
            POOL,
            BOTH,
            "the best of all arms is among those left or among those disqualified.",
        ],
    ),
    "worst": (
        {"on_error": "worst"},
        [FIRST.format(0.95, ""), ORDER, POOL, BOTH, "Evaluations that failed count as the worst score."],
    ),
    "known variances": (
        {"items": None, "bounds": None, "algorithm": LUCB(0.1, variances=0.03)},
        [
            FIRST.format(0.9, ""),
            "This assumes that the items are independent of each other and the scores of each arm are Gaussian or",
            LAW,
        ],
    ),
    "combinations": ({"algorithm": ConvexBAI(0.1)}, [FIRST.format(0.9, ""), INDEPENDENT, LIKE_THESE]),
}


@pytest.mark.parametrize("case", GUARANTEES)
def test_the_explanation_says_what_is_guaranteed_and_assumed(race: Callable[..., Any], case: str) -> None:
    options, parts = GUARANTEES[case]
    explained = raced(race, options, about_items=POOL in parts).explain()
    said = explained.split("WHAT IT MEANS AND ASSUMES\n")[1].split("\n\n")[0].splitlines()
    for part, sentence in zip(parts, said, strict=True):
        assert part in sentence


def test_what_may_not_have_come_up_is_said_where_an_arm_left_early(race: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    luck = rng.standard_normal((2000, 1)) + 0.7 * rng.standard_normal((2000, 3))
    levels = {"low": 0.0, "mid": 0.3, "high": 4.6}

    def scores(arm: str, item: int) -> float:
        return float(levels[arm] + luck[item, list(levels).index(arm)])

    early = race(scores, items=range(2000), bounds=None)
    first = min(early.eliminations, key=lambda out: out.round)
    assert first.round < 100
    said = f"{first.arm} left after {first.round} items: what happens on fewer than one item in "
    assert f"{said}{max(2, first.round // 3)} may not have come up by then." in early.explain()
    late = race(scores, arms=["low", "mid"], items=range(2000), bounds=None, delta=1e-12)
    assert min(out.round for out in late.eliminations) >= 100
    assert "may not have come up" not in late.explain()
