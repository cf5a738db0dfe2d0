"""Visitors at the same time on one app.

locust counts requests of clients that know no state; here each visitor keeps a websocket and what is on its page.
"""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from websockets.exceptions import WebSocketException

from benchmarks.load.questions import picture
from benchmarks.load.steps import Outcome, Step, act
from benchmarks.visitor import visiting
from tests.server import Server


async def crowd(server: Server, plans: Sequence[Sequence[Step]], runs: Sequence[Step], limit: float) -> list[Outcome]:
    """Let everybody do his plan; when half of it is done, the total-effect runs begin, prepared before.

    Returns
    -------
    What came of each step that was done within ``limit`` seconds of being ready.
    """
    outcomes: list[Outcome] = []
    ready, half = asyncio.Event(), asyncio.Event()
    waiting = [*runs]
    if not waiting:
        ready.set()
    wanted = sum(map(len, plans)) / 2

    async def visit(steps: Sequence[Step]) -> None:
        async with visiting(server, model=steps[0].question.model) as visitor:
            await ready.wait()
            for step in steps:
                outcomes.append(await act(visitor, step))
                if len(outcomes) >= wanted:
                    half.set()

    async def measure(step: Step) -> None:
        async with visiting(server, "compare", model=step.question.model) as visitor:
            await visitor.upload("picture", picture(*step.question.picture))
            await visitor.rerun()
            waiting.remove(step)
            if not waiting:
                ready.set()
            await half.wait()
            begin = time.monotonic()
            try:
                outcomes.append(await act(visitor, step))
            except asyncio.CancelledError:  # the time is over; others have run beside it all the same
                outcomes.append(Outcome(step, begin, time.monotonic()))
                raise

    async def guarded(work: Coroutine[Any, Any, None]) -> None:
        begin = time.monotonic()
        try:
            await work
        except (OSError, WebSocketException, RuntimeError) as error:  # he did not even come in
            fault = f"{type(error).__name__}: {error}"
            outcomes.append(Outcome(None, begin, time.monotonic(), fault=fault))
            ready.set()
            half.set()

    everybody = asyncio.gather(*map(guarded, (*map(visit, plans), *map(measure, runs))))
    await ready.wait()
    with suppress(TimeoutError):
        await asyncio.wait_for(everybody, limit)
    return outcomes
