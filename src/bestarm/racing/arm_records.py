"""What a race knows about each arm, from its result."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.algorithms.statements import Arm
from bestarm.inputs.arms import RaceArms
from bestarm.inputs.texts import label_text
from bestarm.racing.outcome import ArmRecord

if TYPE_CHECKING:
    import pandas as pd

    from bestarm.racing.result import RaceResult


def order(result: "RaceResult[Any]") -> tuple[int, ...]:
    """The numbers of the arms: candidates by their means, then those that left last."""
    sign = 1.0 if result.settings.lower_is_better else -1.0
    leader, standing = result.outcome.leader, result.outcome.candidates
    first = sorted(standing, key=lambda arm: (arm != leader, sign * result.means[arm], arm))  # ties up to rounding
    left = [arm for arm in range(len(result.arms)) if arm not in standing]
    return (*first, *sorted(left, key=lambda arm: (-result.counts[arm], sign * result.means[arm])))


def number_of(arms: tuple[Any, ...], arm: Any) -> int:
    """The number of an arm, by its label or its name."""
    return RaceArms(arms, tuple(map(label_text, arms)), arms).find(arm)


def ahead(result: "RaceResult[Any]", a: int, b: int) -> float:
    """By how much arm number a is ahead of arm number b on the items that both were evaluated on."""
    rounds, scores_a, scores_b = result.by_arm.shared(a, b)
    if not rounds.size:
        return math.nan
    leads = scores_a - scores_b
    leads = np.sign(leads) if result.guarantee.criterion == "wins" else leads
    lead = float(leads.mean())
    if result.unit != 1.0:  # groups of several sizes
        lead = float(np.average(leads, weights=np.array(result.settings.group_sizes)[rounds]))
    return -lead if result.settings.lower_is_better else lead


def arm_record(result: "RaceResult[Arm]", arm: int) -> ArmRecord[Arm]:
    """What the race knows about an arm."""
    out, failed = result.outcome.elimination(arm), result.outcome.failure(arm)
    gone = out or failed
    return ArmRecord(
        arm=result.arms[arm],
        status=result.outcome.status(arm, result.reason, result.answered),
        mean=float(result.means[arm]),
        n_items=_n_items(result, arm),
        behind=ahead(result, result.order[0], arm),
        left_in_round=gone.round if gone else None,
        beaten_by=result.arms[out.by] if out else None,
        margin=out.margin if out else None,
        failure=failed.text if failed else None,
    )


def _n_items(result: "RaceResult[Any]", arm: int) -> int:
    """The number of items that an arm was evaluated on."""
    sizes = result.settings.group_sizes
    if sizes is None:
        return int(result.counts[arm])
    rounds, _ = result.by_arm.of(arm)
    return sum(sizes[t] for t in rounds[: result.counts[arm]].tolist())  # rounds in flight when it left do not count


def as_frame(records: list[dict[str, Any]]) -> "pd.DataFrame":
    """Records of arms as a data frame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install 'bestarm[frames]'") from error
    return pd.DataFrame(records).set_index("arm")
