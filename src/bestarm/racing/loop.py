"""An executor for functions that are awaited."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Thread
from typing import Any

GRACE = 0.5  # seconds that coroutines have to end when nobody waits for them


class LoopExecutor(Executor):
    """Coroutines on an event loop in a thread of its own, so that it works in notebooks too."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended: KeyboardInterrupt | SystemExit | None = None
        self._over = False
        self._thread = Thread(target=self._run, name="bestarm-evaluations", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop. A task that a coroutine has started may ask for the end of the program: all are cancelled."""
        while not self._over:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as end:
                self._ended = end
                for task in asyncio.all_tasks(self._loop):
                    task.cancel()

    def check(self) -> None:
        """Raise the wish to end of a task that was started by a coroutine."""
        if self._ended is not None:
            raise self._ended

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a coroutine function; its future can be cancelled."""
        self.check()
        return asyncio.run_coroutine_threadsafe(fn(*args, **kwargs), self._loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what still runs and end the loop.

        Without ``wait``, what does not let itself be cancelled within a moment is left to run, and the loop with it:
        its thread does not keep the program from ending.
        """
        if self._over:
            return
        cancelled = asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
        try:
            cancelled.result(None if wait else GRACE)
        except TimeoutError:
            return
        self._over = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
