"""A race of programs: on the same items, in a random order inside each round."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from bestarm.checks import check_path
from bestarm.inputs.options import CommandOptions, Options, known_options
from bestarm.inputs.programs import TIMEOUT, Command, Commands, Measure, Measured
from bestarm.inputs.stops import STOPS
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.execution import Execution, run_race
from bestarm.racing.result import RaceResult


def race_commands(
    commands: Commands,
    *,
    items: Iterable[Any] | None = None,
    score: Measured = "time",
    timeout: float = TIMEOUT,
    folder: str | Path | None = None,
    lower_is_better: bool | None = None,
    retries: int = 0,
    progress: bool = True,
    **options: Unpack[CommandOptions],
) -> RaceResult[str]:
    """Which program is best? Runs them on the same items, one after the other, in a random order inside each round.

    What disturbs a machine for a while disturbs all programs of a round, and cancels in their differences. The
    guarantee is that of `bestarm.race`. Times are compared by wins: the best program is faster than every other on more
    runs than slower, whatever the outliers of the machine. ``criterion="mean"`` asks for the smallest mean time (times
    above the time-out count as that), and assumes nearly Gaussian differences. Programs that are equally fast are never
    told apart: give ``epsilon`` or ``max_evaluations``.

    Parameters
    ----------
    commands : such as ``"prog --fast {item}"``, split into words and run without a shell; or a mapping of names to
        commands, as text or as lists of words
    items : each takes the place of ``{item}``. Times differ whenever a run is repeated, so for them a sequence is drawn
        from with replacement, as long as the race lasts; otherwise as in `bestarm.race`
    score : ``"time"``, the wall time in seconds, less is better; or ``"stdout"``, the last number printed, with a
        decimal point: ``1,5`` and ``1,234`` are refused. Only the last 64 kB of an output are kept
    timeout : seconds after which a program is killed. With ``score="time"`` the run then counts as this time, else as
        failed. A run lasts until the program has exited and nothing holds its output open. Whatever it started that is
        still in its group of processes is killed then, and also when the race is interrupted or killed. A run during
        which the race itself was stopped (Ctrl-Z, then ``fg``) has no time, and is made again
    folder : where the programs run; by default the current folder
    lower_is_better : by default True for times, False otherwise
    retries, progress : as in `bestarm.race`
    options : ``criterion``, ``delta``, ``bounds``, ``epsilon``, ``indifference_zone``, ``target``, ``replace``,
        ``max_evaluations``, ``on_error``, ``store``, ``seed``, ``comparison``, ``algorithm``, ``min_rounds``: as in
        `bestarm.race`

    """
    if folder is not None:
        check_path("folder", folder)
    measure = Measure(score, timeout, None if folder is None else str(folder))
    less = score == "time" if lower_is_better is None else lower_is_better
    chosen = known_options("race_commands", options, CommandOptions)
    execution = Execution(Evaluation(run_command, retries=retries), progress=progress)
    origin = {"score": score, "timeout": float(timeout)}
    return run_commands(execution, commands, items, measure, replace(chosen, lower_is_better=less, origin=origin))


def run_commands(
    execution: Execution, commands: Commands, items: Iterable[Any] | None, measure: Measure, options: Options
) -> RaceResult[str]:
    """Race programs in a random order inside each round, times on items drawn with replacement."""
    parsed = measure.of(commands, items is not None)
    timed = measure.score == "time"
    if timed and options.criterion is None and options.comparison is None and options.algorithm is None:
        options = replace(options, criterion="wins")
    if options.replace is None:
        options = replace(options, replace=timed and hasattr(items, "__len__"))
    shuffled = replace(execution, evaluation=replace(execution.evaluation, shuffled=True))
    with STOPS.counted():
        return run_race(shuffled, parsed, items, options)


def run_command(command: Command, item: Any) -> float:
    """One evaluation."""
    return command(item)
