"""Where a saved race came from, and how it is run again: what `bestarm resume` needs."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from bestarm.algorithms import Reason
from bestarm.checks import check_count
from bestarm.experiments import compressors
from bestarm.inputs.descriptions import said
from bestarm.inputs.items import read_items
from bestarm.inputs.options import Options
from bestarm.inputs.programs import TIMEOUT, Measure, Measured
from bestarm.racing.commands import run_command, run_commands
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.execution import Execution, run_race
from bestarm.racing.result import RaceResult
from bestarm.racing.workers import Workers


class Origin(Protocol):
    """What a race was started from on the command line. Its fields, plain values, are kept in the store."""

    kind: ClassVar[str]

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Start the race, or continue the one in ``options.store``."""
        ...


@dataclass(frozen=True)
class FunctionOrigin:
    """A function given by its name, evaluated on the lines of a file."""

    function: str  # module:function
    items: str | None
    folder: str
    jointly: bool = False
    retries: int = 0
    workers: int = 1

    kind: ClassVar[str] = "function"

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Import the function and race it, on processes if there are several workers."""
        evaluation = Evaluation(imported(self.function, self.folder), jointly=self.jointly, retries=self.retries)
        items = None if self.items is None else read_items(Path(self.items))
        check_count("workers", self.workers)
        execution, begun = Execution(evaluation, progress=progress), replace(options, origin=plain(self))
        if self.workers == 1:
            return run_race(execution, arms, items, begun)
        with Workers(self.workers) as pool:
            result = run_race(replace(execution, executor=pool), arms, items, begun)
            if result.reason is Reason.INTERRUPTED:
                pool.kill()
        return result


@dataclass(frozen=True)
class CommandsOrigin:
    """Programs, on the lines of a file; the arms are the commands."""

    items: str | None
    folder: str
    score: Measured = "time"
    timeout: float = TIMEOUT
    retries: int = 0

    kind: ClassVar[str] = "commands"

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Run the programs, without a shell."""
        items = None if self.items is None else read_items(Path(self.items))
        measure = Measure(self.score, self.timeout, self.folder)
        execution = Execution(Evaluation(run_command, retries=self.retries), progress=progress)
        return run_commands(execution, arms, items, measure, replace(options, origin=plain(self)))


@dataclass(frozen=True)
class DemoOrigin:
    """The compressors of the demo."""

    kind: ClassVar[str] = "demo"

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Compress the files of the standard library."""
        execution = Execution(Evaluation(compressors.bytes_saved), progress=progress)
        return run_race(execution, arms, compressors.source_files(), replace(options, origin=plain(self)))


KINDS = (FunctionOrigin, CommandsOrigin, DemoOrigin)


def plain(origin: FunctionOrigin | CommandsOrigin | DemoOrigin) -> dict[str, Any]:
    """An origin as plain values, for a store."""
    return {"kind": origin.kind} | asdict(origin)


def origin_of(stored: Mapping[str, Any] | None) -> Origin | None:
    """The origin in a store; None for a race that was started from Python."""
    values = dict(stored or {})
    kinds = {kind.kind: kind for kind in KINDS}
    kind = kinds.get(values.pop("kind", None))
    return None if kind is None else kind(**values)


def imported(name: str, folder: str) -> Callable[..., Any]:
    """A function by its name as ``module:function``, from a folder or from what is installed."""
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ValueError(f"the function must be given as module:function, got {name!r}")
    if module_name.endswith(".py"):
        raise ValueError(f"the function must be given as module:function without .py, got {name!r}")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ImportError(f"there is no module {error.name!r} in {folder} or among the installed ones") from error
    except SystemExit as error:
        raise ImportError(f"the module {module_name!r} calls sys.exit({error.code!r}) when it is imported") from error
    except Exception as error:  # whatever a module of the user does when it is imported
        raise ImportError(
            f"the module {module_name!r} cannot be imported: {type(error).__name__}: {said(error)}"
        ) from error
    if not hasattr(module, function_name):
        raise ImportError(f"the module {module_name!r} has no function {function_name!r}")
    function: Callable[..., Any] = getattr(module, function_name)
    return function
