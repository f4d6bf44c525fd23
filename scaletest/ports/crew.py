"""Background tasks that cannot die unseen, started and stopped in a fixed order."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["Crew"]


class Crew:
    """The tasks of one component. One that fails fails the loop, so that a run never goes on without a part of it."""

    def __init__(self) -> None:
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def start(self, work: Coroutine[Any, Any, Any], *, name: str) -> None:
        """Start a task."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Cancel what still runs, in the order it was started, and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            task.get_loop().call_exception_handler({"message": f"{task.get_name()} failed", "exception": error})
