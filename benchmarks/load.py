"""``python -m benchmarks.load``: many people at once on the real app. Is every answer right, how fast, how much memory?

Visitors upload pictures, change settings and read the numbers in the charts that they are sent. These are compared with
what the library says about the same picture in this process, alone.
"""

import asyncio
import base64
import io
import json
import math
import os
import random
import sys
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import torch
import typer
from PIL import Image, ImageEnhance
from rich.console import Console
from rich.table import Table
from websockets.exceptions import WebSocketException

from benchmarks.visitor import Server, Visitor, serving, visiting
from laya import checkpoints
from laya.attribution import Settings
from laya.attribution.total import total_effects
from laya.device import machine
from laya.explanation import Explanation, explain_trace, prepare_image, trace_image
from laya.files import write_json
from laya.heads import REMOVALS
from laya.inputs import images
from laya.model import Trace

SMALL = ("fashion-mnist-mlp", "cifar10-cnn")
LARGE = "best-artworks-vit"
MIX = (*SMALL, *SMALL, LARGE)  # a visitor goes round these models
HEAVY = (LARGE, *SMALL)  # whose total effects are measured, in turn
STAY = 5  # pictures before a visitor changes the model
STEPS = 20  # of Integrated Gradients in a total-effect run of the page Compare
TOLERANCE = 1e-5  # relative and absolute
MEASURE = "Measure the total effects"
CLOSERS = 4  # sessions that are open at the same time where they come and go

Answer = dict[str, tuple[float, ...]]
"""The numbers of a page, under the names that its charts give them."""


# --- what is asked, and the right answer -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What a page is to show.

    Attributes
    ----------
    model : the checkpoint's name.
    picture : the model whose samples it comes from, and its number; see :func:`picture`.
    target : the explained class; None is the one that the model predicts.
    settings : temperature, meaning of "removed" and steps.
    total : ask for the total effects, too.
    """

    model: str
    picture: tuple[str, int]
    target: str | None = None
    settings: Settings = field(default_factory=Settings)
    total: bool = False


@cache
def picture(family: str, number: int) -> bytes:
    """An image file: the samples of a model first, then turned, cropped, brighter or darker copies, all different."""
    files = sorted(checkpoints.samples(family).values())
    file = files[number % len(files)]
    if number < len(files):
        return file.read_bytes()
    rng = random.Random(number)  # noqa: S311
    with Image.open(file) as opened:
        image = opened.convert("RGB")
    image = image.rotate(rng.uniform(-30, 30), Image.Resampling.BICUBIC)
    width, height = (round(side * rng.uniform(0.6, 0.95)) for side in image.size)
    left, top = rng.randint(0, image.width - width), rng.randint(0, image.height - height)
    image = ImageEnhance.Brightness(image.crop((left, top, left + width, top + height))).enhance(rng.uniform(0.6, 1.4))
    stream = io.BytesIO()
    image.save(stream, "PNG" if max(image.size) < 200 else "JPEG")
    return stream.getvalue()


load = cache(checkpoints.load)


@lru_cache(4)
def traced(model: str, source: tuple[str, int]) -> tuple[torch.Tensor, Trace]:
    """The model's input for a picture, and the trace of its forward pass."""
    prepared = prepare_image(load(model), picture(*source))
    return images.to_tensor([prepared], load(model).preprocessing), trace_image(load(model), prepared)


@cache
def answer(question: Question) -> Answer:
    """What the library says, in this process."""
    x, trace = traced(question.model, question.picture)
    checkpoint = load(question.model)
    target = question.target or checkpoint.classes[int(trace.logits[0].argmax())]
    result = explain_trace(checkpoint, trace, target=target, settings=question.settings)
    found = _columns(result)
    if question.total:
        total = total_effects(checkpoint.model, x, result.target, steps=STEPS)
        found |= {"LayerIntegratedGradients": total.integrated_gradients, "LayerGradCam": total.grad_cam}
    else:
        likely = dict(result.predictions[:10])
        if target not in likely:
            likely.popitem()
            likely[target] = dict(result.predictions)[target]
        found |= {f"p({name})": (value,) for name, value in likely.items()}
    return found


def _columns(result: Explanation) -> Answer:
    return {scores.label: scores.values for scores in (*result.scores, result.measured)}


def shown(specs: Sequence[str]) -> Answer:
    """The numbers in Plotly charts: the raw values of layer scores, and the probabilities of classes."""
    found: Answer = {}
    for trace in (trace for spec in specs for trace in json.loads(spec)["data"]):
        if trace.get("orientation") == "h":
            values = dict(zip(_array(trace["y"]), _array(trace["x"]), strict=True))
            found |= {f"p({name})": (float(value),) for name, value in values.items()}
        elif "customdata" in trace:
            found[trace["name"]] = tuple(float(value) for _, value in _array(trace["customdata"]))
    return found


def _array(value: Any) -> list[Any]:
    """A list as it is, or as Plotly packs it."""
    if not isinstance(value, dict):
        return list(value)
    packed = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = [int(side) for side in str(value["shape"]).split(",")] if "shape" in value else [-1]
    return list(packed.reshape(shape).tolist())


def difference(got: Answer, right: Answer) -> str | None:
    """How an answer differs from the right one, in words; None where it does not."""
    if got.keys() != right.keys():
        return f"shows {sorted(got)} instead of {sorted(right)}"
    for name, values in right.items():
        pairs = list(zip(got[name], values, strict=False))
        if len(got[name]) != len(values):
            return f"{name}: {len(got[name])} values instead of {len(values)}"
        if not all(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in pairs):
            return f"{name}: off by {max(abs(a - b) for a, b in pairs):.2g}"
    return None


# --- what the visitors do --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One thing that a visitor does, and what he must see then.

    Attributes
    ----------
    kind : ``picture`` (a new one is uploaded), ``model``, ``setting`` or ``total``.
    question : what the page then shows.
    widgets : what is set: the widgets' keys with their values.
    """

    kind: str
    question: Question
    widgets: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of a step; ``wrong`` says how the numbers differ from the right ones, once they are judged."""

    step: Step | None  # None: the page did not even open
    begin: float
    end: float
    got: Answer | None = None
    fault: str | None = None  # an error message, an exception, a closed connection
    wrong: str | None = None

    @property
    def kind(self) -> str:
        """The step's, or ``opening``."""
        return self.step.kind if self.step else "opening"

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.step.question.model if self.step else ""

    @property
    def bad(self) -> str | None:
        """What is wrong with it, in words."""
        return f"{self.kind} {self.model}: {self.fault or self.wrong}" if self.fault or self.wrong else None

    @property
    def seconds(self) -> float:
        """From sending to the end of the script."""
        return self.end - self.begin


def plan(visitor: int, pictures: int, models: Sequence[str] = MIX) -> list[Step]:
    """What a visitor does: upload pictures, one model after the other, and now and then change a setting."""
    rng = random.Random(visitor)  # noqa: S311
    names = [entry.name for entry in checkpoints.available() if entry.problem is None]
    model, settings = models[visitor % len(models)], Settings()
    steps: list[Step] = []
    for number in range(pictures):
        following = models[(visitor + number // STAY) % len(models)]
        if following != model:
            model = following
            settings = Settings(steps=settings.steps)  # the others belong to the model
            question = Question(model, steps[-1].question.picture, None, settings)
            steps.append(Step("model", question, (("Model", names.index(model)),)))
        question = Question(model, (model, visitor * pictures + number), None, settings)
        steps.append(Step("picture", question))
        if rng.random() < 0.25:
            steps.append(_setting(question, rng))
            settings = steps[-1].question.settings
    return steps


def _setting(question: Question, rng: random.Random) -> Step:
    settings = question.settings
    what = rng.choice(("target", "tau", "steps", "removal"))
    if what == "target":
        name = rng.choice(load(question.model).classes)
        return Step("setting", replace(question, target=name), (("Explained class", name),))
    choices: Sequence[Any] = {"tau": (0.3, 1.5, 3.0), "steps": (20, 80), "removal": REMOVALS}[what]
    value = rng.choice([choice for choice in choices if choice != getattr(settings, what)])
    label = {"tau": "Temperature", "steps": "Steps of", "removal": "Removing a layer"}[what]
    return Step("setting", replace(question, settings=replace(settings, **{what: value})), ((label, value),))


def heavy(number: int, models: Sequence[str] = HEAVY) -> Step:
    """A total-effect run; the first one is on the first model."""
    model = models[number % len(models)]
    return Step("total", Question(model, (model, 100_000 + number), total=True))


async def act(visitor: Visitor, step: Step) -> Outcome:
    """Do a step and read what is shown then."""
    data = picture(*step.question.picture)
    begin, got, fault = time.monotonic(), None, None
    try:
        if step.kind == "picture":
            await visitor.upload("picture", data)
        elif step.kind == "total":
            visitor.click(MEASURE)
        for label, value in step.widgets:
            visitor.choose(label, value)
        await visitor.rerun()
        fault = "; ".join(visitor.faults) or None
        got = shown(visitor.charts(*(("compare-depth", "total") if step.kind == "total" else ("depth", "predictions"))))
    except (OSError, WebSocketException, LookupError, ValueError, RuntimeError) as error:
        fault = f"{type(error).__name__}: {error}"
    return Outcome(step, begin, time.monotonic(), got, fault)


def judged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Compare what was shown with the right answers, when nobody waits; no two pictures may have the same answer."""
    found = []
    seen: dict[str, tuple[str, int]] = {}  # answer to picture
    for number, outcome in enumerate(outcomes, start=1):
        if outcome.step and outcome.got is not None and outcome.fault is None:
            question = outcome.step.question
            right = answer(question)
            if outcome.kind == "picture" and seen.setdefault(repr(right), question.picture) != question.picture:
                raise RuntimeError(f"{question.picture} and {seen[repr(right)]} have the same answer")
            outcome = replace(outcome, wrong=difference(outcome.got, right))
        found.append(outcome)
        if number % 100 == 0:
            say(f"{number} of {len(outcomes)} answers are compared")
    return found


# --- a crowd ---------------------------------------------------------------------------------------------------------


async def crowd(
    server: Server, plans: Sequence[Sequence[Step]], runs: Sequence[Step], limit: float
) -> tuple[list[Outcome], list[float]]:
    """Let everybody do his plan; when half of it is done, the total-effect runs begin, prepared before.

    Returns
    -------
    What came of each step that was done within ``limit`` seconds of being ready, and the app's memory in MB every
    half second.
    """
    outcomes: list[Outcome] = []
    memory = [server.memory()]
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

    async def watch() -> None:
        while True:
            memory.append(server.memory())
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    everybody = asyncio.gather(*map(guarded, (*map(visit, plans), *map(measure, runs))))
    await ready.wait()
    with suppress(TimeoutError):
        await asyncio.wait_for(everybody, limit)
    watching.cancel()
    return outcomes, memory


def figures(outcomes: Sequence[Outcome], memory: Sequence[float]) -> dict[str, Any]:
    """A crowd's figures; "quick" is everything but the total-effect runs."""
    runs = [each for each in outcomes if each.kind == "total"]
    quick = [each for each in outcomes if each.kind in ("picture", "model", "setting")]
    begin = min((each.begin for each in quick), default=0.0)
    heavy_from = min((each.begin for each in runs), default=math.inf)
    heavy_to = max((each.end for each in runs), default=math.inf)
    alone = [each for each in quick if each.end <= heavy_from]
    beside = [each for each in quick if each.end > heavy_from and each.begin < heavy_to]
    last = max((each.end for each in quick), default=0.0)
    return {
        "explanations": sum(each.kind == "picture" for each in quick),
        "answers": len(quick),
        "alone": _speed(alone, min(heavy_from, last) - begin),
        "beside_total_effects": _speed(beside, min(heavy_to, last) - heavy_from) if runs else None,
        "total_effects": [
            {"model": each.model, "seconds": round(each.seconds, 2), "finished": each.got is not None} for each in runs
        ],
        "errors": sum(each.fault is not None for each in outcomes),
        "wrong": sum(each.wrong is not None for each in outcomes),
        "bad": [each.bad for each in outcomes if each.bad][:20],
        "memory_mb": {"before": memory[0], "peak": max(memory), "after": memory[-1]},
    }


def _speed(outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any] | None:
    """Answers a second, and how long a new picture takes: all, and model by model."""
    taken: dict[str, list[float]] = {}
    for each in outcomes:
        if each.kind == "picture":
            taken.setdefault("all", []).append(each.seconds)
            taken.setdefault(each.model, []).append(each.seconds)
    if not taken or seconds <= 0:
        return None
    spread = {
        name: {"median": round(median(values), 3), "p95": round(_p95(values), 3)} for name, values in taken.items()
    }
    return {"answers_a_second": round(len(outcomes) / seconds, 3), "seconds": spread}


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def level(
    server: Server, users: int, explanations: int, total_effects: int, limit: float, model: str | None = None
) -> dict[str, Any]:
    """So many users at once, and beside them people who measure total effects; all on one model, or on all models."""
    plans = [plan(user, explanations, [model] if model else MIX) for user in range(users)]
    runs = [heavy(number, [model] if model else HEAVY) for number in range(total_effects)]
    cpu, loads, busy = server.cpu(), server.loads(), os.getloadavg()[0]
    say(f"{users} users begin")
    outcomes, memory = asyncio.run(crowd(server, plans, runs, limit))
    memory.append(server.memory())
    cpu = server.cpu() - cpu
    found = figures(judged(outcomes), memory)
    found["faults_in_log"] = server.faults()
    found |= {"users": users, "planned": users * explanations, "planned_total_effects": total_effects}
    found |= {"cpu_seconds": round(cpu, 1), "loads": server.loads() - loads, "load_average_before": busy}
    return found


# --- other measurements ----------------------------------------------------------------------------------------------


def cold(log: Path, visitors: int, threads: int | None) -> dict[str, Any]:
    """Many sessions at the same moment on a fresh process: how often is the model loaded, what does it take?"""
    found: dict[str, Any] = {"sessions": visitors}
    for count in (1, visitors):
        with serving(log, threads) as server:
            begin = time.monotonic()

            async def arrive(server: Server = server) -> None:
                sample = next(iter(checkpoints.samples(LARGE)))
                async with visiting(server, model=LARGE, sample=sample) as visitor:
                    if len(visitor.charts("depth", "predictions")) != 2 or visitor.faults:
                        raise RuntimeError(f"no answer: {visitor.faults}")

            async def together(count: int = count) -> None:
                await asyncio.gather(*(arrive() for _ in range(count)))

            asyncio.run(together())
            found[f"with_{count}"] = {
                "seconds": round(time.monotonic() - begin, 2),
                "loads": server.loads(),
                "memory_mb": round(server.memory()),
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
    begin, before = time.monotonic(), server.cpu()
    quiet = 0.0
    while time.monotonic() - begin < limit:
        time.sleep(0.5)
        now = server.cpu()
        if now - before < 0.05:
            quiet = quiet or time.monotonic() - begin - 0.5
            if time.monotonic() - begin - quiet > 3:
                return {"stopped": True, "seconds": round(quiet, 1)}
        else:
            quiet = 0.0
        before = now
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
                    samples.append((done, round(server.memory(), 1)))
                    say(f"{done} explanations, {samples[-1][1]:.0f} MB")

    async def all_of_them() -> None:
        place = asyncio.Semaphore(CLOSERS)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await asyncio.gather(*(visit(steps, place) for steps in plans))

    asyncio.run(all_of_them())
    outcomes = judged(outcomes)
    half = [mb for done, mb in samples if done >= explanations / 2]
    grown = half[-1] / half[0] - 1 if len(half) > 1 else None
    return {
        "explanations": sum(outcome.kind == "picture" for outcome in outcomes),
        "sessions": sessions,
        "errors": sum(outcome.fault is not None for outcome in outcomes),
        "wrong": sum(outcome.wrong is not None for outcome in outcomes),
        "bad": [outcome.bad for outcome in outcomes if outcome.bad][:20],
        "samples": samples,
        "grown_in_second_half": grown,
        "levels_off": grown is not None and grown < 0.03,
    }


# --- the command -----------------------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


def main(
    users: Annotated[str, typer.Option(help="How many at once, one level after the other.")] = "1,2,4,8,16,32",
    explanations: Annotated[int, typer.Option(help="New pictures for each user.")] = 20,
    total_effects: Annotated[int, typer.Option(help="Total-effect runs beside them at each level.")] = 2,
    limit: Annotated[float, typer.Option(help="Most seconds of a level.")] = 180,
    memory: Annotated[int, typer.Option(help="Instead: memory over so many explanations in 50 sessions.")] = 0,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="Instead: many arrive at once; one leaves early.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="Everybody uses this model; without, all models.")] = None,
    threads: Annotated[int | None, typer.Option(help="The app's OMP_NUM_THREADS; torch's own choice without.")] = None,
    out: Annotated[Path | None, typer.Option("--json", help="Write or complete a file of results.")] = None,
) -> None:
    """Many users at once on the real app: right answers, speed, memory."""
    torch.set_num_threads(1)
    console = Console(width=160)
    found: dict[str, Any] = json.loads(out.read_text()) if out is not None and out.exists() else {}

    def keep(**results: Any) -> None:
        found.update(results)
        if out is not None:
            write_json(out, found)

    keep(machine=f"{machine()}; {os.cpu_count()} processors, the app with {threads or 'default'} threads")
    with TemporaryDirectory() as place:
        log = Path(place) / "log"
        if sessions:
            keep(cold=cold(log, 8, threads))
            console.print(found["cold"])
        with serving(log, threads) as server:
            if memory:
                keep(memory=growth(server, memory, 50, limit * 10))
                console.print(found["memory"])
            elif sessions:
                keep(leaving=leaving(server))
                console.print(found["leaving"])
            else:
                rows = []
                level(server, len(MIX), 1, 0, 600, model)  # the first visitors wait for imports and models
                for count in map(int, users.split(",")):
                    rows.append(level(server, count, explanations, total_effects, limit, model))
                    keep(levels=rows)
                console.print(table(rows))


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The levels as a table."""
    found = Table("users", "explained", "answers/s", "median s", "p95 s", title=machine())
    for name in ("beside: answers/s", "median s", "p95 s", "total effects, s", "errors", "wrong", "CPU s/answer", "MB"):
        found.add_column(name)
    for row in rows:
        cells = [str(row["users"]), f"{row['explanations']} of {row['planned']}"]
        for speed in (row["alone"], row["beside_total_effects"]):
            every = speed and speed["seconds"]["all"]
            cells += [f"{v:.2f}" for v in (speed["answers_a_second"], *every.values())] if speed else ["-"] * 3
        runs = [f"{'' if each['finished'] else 'over '}{each['seconds']:.0f}" for each in row["total_effects"]]
        cells.append(", ".join(runs) or "-")
        cells += [str(row["errors"]), str(row["wrong"]), f"{row['cpu_seconds'] / max(1, row['answers']):.2f}"]
        found.add_row(*cells, " to ".join(f"{mb:.0f}" for mb in row["memory_mb"].values()))
    return found


if __name__ == "__main__":
    typer.run(main)
