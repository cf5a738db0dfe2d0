"""What is measured on the running app: levels of a crowd, a cold start, who leaves early, memory over many sessions."""

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil  # pip install -e '.[bench]'

from benchmarks.load.crowd import crowd
from benchmarks.load.figures import figures, tally
from benchmarks.load.questions import picture
from benchmarks.load.steps import HEAVY, LARGE, MEASURE, MIX, Outcome, Step, act, heavy, judged, plan
from benchmarks.visitor import visiting
from laya import checkpoints
from tests.server import Server, serving

CLOSERS = 4  # sessions that are open at the same time where they come and go

logger = logging.getLogger(__name__)


def level(
    server: Server, users: int, explanations: int, total_effects: int, limit: float, model: str | None = None
) -> dict[str, Any]:
    """So many users at once, and beside them people who measure total effects; all on one model, or on all models."""
    plans = [plan(user, explanations, [model] if model else MIX) for user in range(users)]
    runs = [heavy(number, [model] if model else HEAVY) for number in range(total_effects)]
    cpu, loads, busy = _cpu(server), server.loads(), os.getloadavg()[0]
    memory = [_memory(server)]

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.5)
            memory.append(_memory(server))

    async def watched() -> list[Outcome]:
        watching = asyncio.create_task(watch())
        outcomes = await crowd(server, plans, runs, limit)
        watching.cancel()
        return outcomes

    logger.info("%d users begin", users)
    outcomes = asyncio.run(watched())
    memory.append(_memory(server))
    cpu = _cpu(server) - cpu
    found = figures(judged(outcomes)) | {"faults_in_log": server.faults()}
    found |= {"memory_mb": {"before": memory[0], "peak": max(memory), "after": memory[-1]}}
    found |= {"users": users, "planned": users * explanations, "planned_total_effects": total_effects}
    found |= {"cpu_seconds": round(cpu, 1), "loads": server.loads() - loads, "load_average_before": busy}
    return found


def cold(log: Path, visitors: int, threads: int | None) -> dict[str, Any]:
    """Many sessions at the same moment on a fresh process: how often is the model loaded, what does it take?"""

    async def arrive(server: Server) -> None:
        sample = next(iter(checkpoints.samples(LARGE)))
        async with visiting(server, model=LARGE, sample=sample) as visitor:
            if len(visitor.charts("depth", "predictions")) != 2 or visitor.faults:
                raise RuntimeError(f"no answer: {visitor.faults}")

    async def together(server: Server, count: int) -> None:
        await asyncio.gather(*(arrive(server) for _ in range(count)))

    found: dict[str, Any] = {"sessions": visitors}
    for count in (1, visitors):
        with serving(log, threads=threads) as server:
            begin = time.monotonic()
            asyncio.run(together(server, count))
            found[f"with_{count}"] = {
                "seconds": round(time.monotonic() - begin, 2),
                "loads": server.loads(),
                "memory_mb": round(_memory(server)),
            }
    return found


def leaving(server: Server, limit: float = 60) -> dict[str, Any]:
    """Close the connection in the middle of a total-effect run: seconds until the app's processor time stands still."""

    async def leave() -> None:
        async with visiting(server, "compare", model=LARGE) as visitor:
            await visitor.upload("picture", picture(LARGE, 200_000))
            await visitor.rerun()
            visitor.click(MEASURE)
            await visitor.send()
            while not any(each.progress.value >= 10 for each in visitor.elements.values()):
                await visitor.until("delta")

    asyncio.run(leave())
    begin = busy = time.monotonic()
    app = psutil.Process(server.pid)
    while time.monotonic() - begin < limit:
        if app.cpu_percent(interval=0.5) >= 10:
            busy = time.monotonic()
        elif time.monotonic() - busy > 3:
            return {"stopped": True, "seconds": round(busy - begin, 1)}
    return {"stopped": False, "seconds": limit}


def growth(server: Server, explanations: int, sessions: int, limit: float) -> dict[str, Any]:
    """Sessions that come and go, a few at a time; the app's memory every 50 explanations."""
    each = explanations // sessions
    plans = [plan(1000 + session, each) for session in range(sessions)]
    outcomes: list[Outcome] = []
    samples: list[tuple[int, float]] = []

    async def visit(steps: Sequence[Step], place: asyncio.Semaphore) -> None:
        async with place, visiting(server, model=steps[0].question.model) as visitor:
            for step in steps:
                outcomes.append(await act(visitor, step))
                done = sum(outcome.kind == "picture" for outcome in outcomes)
                if step.kind == "picture" and done % 50 == 0:
                    samples.append((done, round(_memory(server), 1)))
                    logger.info("%d explanations, %.0f MB", *samples[-1])

    async def all_of_them() -> None:
        place = asyncio.Semaphore(CLOSERS)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(visit(steps, place) for steps in plans)), limit)

    asyncio.run(all_of_them())
    outcomes = judged(outcomes)
    half = [mb for done, mb in samples if done >= explanations / 2]
    grown = half[-1] / half[0] - 1 if len(half) > 1 else None
    return tally(outcomes) | {
        "sessions": sessions,
        "samples": samples,
        "grown_in_second_half": grown,
        "levels_off": grown is not None and grown < 0.03,
    }


def _memory(server: Server) -> float:
    """Resident MB."""
    return float(psutil.Process(server.pid).memory_info().rss / 2**20)


def _cpu(server: Server) -> float:
    """Seconds of processor time so far: user and system."""
    return float(sum(psutil.Process(server.pid).cpu_times()[:2]))
