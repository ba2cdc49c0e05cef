"""The text form of a result: verdict, cost and table."""

import textwrap
from collections.abc import Callable
from typing import Any

DECIDED = """\
37 evaluations in 14 rounds; evaluating everything would take 3,000: 98.8% saved.
 arm    mean   items   behind
 ──────────────────────────────────────────────────────────────
 high    0.9      14            best
 mid     0.5      14      0.4   out in round 14, beaten by high
 low     0.2       9      0.7   out in round 9, beaten by high"""
UNDECIDED = """\
25 evaluations in 9 rounds.
1 evaluation failed: high (disqualified).
 arm    mean   items   behind
 ──────────────────────────────────────────────────────
 low     0.2       9            leader
 mid     0.5       9      0.3   candidate
 high    0.9       6      0.7   disqualified in round 7"""


def test_the_text_form_is_verdict_cost_and_table(race: Callable[..., Any]) -> None:
    lower = {"bounds": None, "on_error": "disqualify", "lower_is_better": True, "max_evaluations": 26}
    undecided = race(items=iter(range(99)), fails={"high": 7}, **lower)
    for result, rest in ((race(), DECIDED), (undecided, UNDECIDED)):
        verdict = str(result).removesuffix(f"\n{rest}")
        assert verdict != str(result)
        assert " ".join(verdict.split()) == result.verdict
        assert all(line == textwrap.fill(line, 100) for line in verdict.splitlines())
