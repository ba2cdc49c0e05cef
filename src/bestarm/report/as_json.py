"""A result as JSON."""

import json
from typing import TYPE_CHECKING, Any

from bestarm.inputs.plain import FORMAT, jsonable
from bestarm.shown import shown

if TYPE_CHECKING:
    from bestarm.racing.result import RaceResult


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
    return shown(json.dumps(jsonable(plain), indent=2, ensure_ascii=False), "json")
