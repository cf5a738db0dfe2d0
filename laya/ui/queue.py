"""The queue of computations: all sessions share one processor, in order of arrival."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

THREADS = 4  # of one computation at most; with more, a small network gets slower
LOOK = 0.3  # seconds between two looks at who is ahead

_at_work: ContextVar[bool] = ContextVar("at_work", default=False)


class Queue:
    """A queue with some places at its head; who stands on one of them works.

    Parameters
    ----------
    places : how many work at the same time, at least 1.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._tickets: list[object] = []  # in order of arrival; the first ones are at work
        self._moved = threading.Condition()

    @contextmanager
    def slot(self, on_wait: Callable[[int], None]) -> Iterator[None]:
        """Wait for a place and hold it. Inside of another slot of this thread there is nothing to wait for.

        Parameters
        ----------
        on_wait : called again and again while waiting, with the number of those who come first, at least 1; an
            exception that it raises ends the waiting.
        """
        if _at_work.get():
            yield
            return
        ticket = object()
        with self._moved:
            self._tickets.append(ticket)
        try:
            while ahead := self._ahead(ticket):
                on_wait(ahead)
            mark = _at_work.set(True)
            try:
                yield
            finally:
                _at_work.reset(mark)
        finally:
            with self._moved:
                self._tickets.remove(ticket)
                self._moved.notify_all()

    def _ahead(self, ticket: object) -> int:
        """How many must leave before this ticket has a place, after at most :data:`LOOK` seconds."""
        with self._moved:
            self._moved.wait_for(lambda: self._tickets.index(ticket) < self.places, LOOK)
            return max(0, self._tickets.index(ticket) - self.places + 1)


def cores() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_threads() -> None:
    """Leave cores to the others in line: no computation takes more than :data:`THREADS`, or OMP_NUM_THREADS."""
    torch.set_num_threads(min(THREADS, cores(), torch.get_num_threads()))


QUICK = Queue(max(1, cores() // THREADS))  # what is answered at once: predictions and direct effects
SLOW = Queue(1)  # what takes seconds: total effects, profiles
