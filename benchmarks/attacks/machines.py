"""Many courses of the state machine of the suite: races in any order of events."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path

from hypothesis import seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from attacks.judging import Fault
from attacks.pool import Case
from test_machines import SMALL, RaceMachine

PATIENCE = 300.0
CHUNK = 1
PER_CASE = 10  # courses


def prepare(folder: Path) -> Case:
    """Cases of some courses each."""
    warnings.simplefilter("ignore")

    def case(luck: random.Random, note: Callable[[str], None]) -> str:
        several = settings(SMALL, max_examples=PER_CASE, stateful_step_count=40, derandomize=False)
        run: type[RuleBasedStateMachine] = seed(luck.getrandbits(60))(type("Course", (RaceMachine,), {}))
        try:
            run_state_machine_as_test(run, settings=several)
        except Exception as error:
            note("\n".join(getattr(error, "__notes__", ())))
            raise Fault(f"{type(error).__name__}: {str(error)[:300]}") from error
        return "courses"

    return case
