"""What a visitor does, step by step, and what comes of it."""

import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from websockets.exceptions import WebSocketException

from benchmarks.load.questions import Answer, Question, answer, difference, load, picture, shown
from benchmarks.visitor import Visitor
from laya import checkpoints
from laya.attribution import Settings
from laya.heads import REMOVALS

SMALL = ("fashion-mnist-mlp", "cifar10-cnn")
LARGE = "best-artworks-vit"
MIX = (*SMALL, *SMALL, LARGE)  # a visitor goes round these models
HEAVY = (LARGE, *SMALL)  # whose total effects are measured, in turn
STAY = 5  # pictures before a visitor changes the model
MEASURE = "Measure the total effects"

logger = logging.getLogger(__name__)


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
            logger.info("%d of %d answers are compared", number, len(outcomes))
    return found
