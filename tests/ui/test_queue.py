"""The queue of those who compute."""

import threading
import time

import pytest

from laya.ui.queue import Queue


def silent(ahead: int) -> None:
    pass


def until(true) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("did not happen within five seconds")


class Worker(threading.Thread):
    """Takes a turn and holds it until it is let go."""

    def __init__(self, line: Queue) -> None:
        super().__init__(daemon=True)
        self.line = line
        self.works, self.done = threading.Event(), threading.Event()
        self.told: list[int] = []
        self.start()

    def run(self) -> None:
        with self.line.slot(self.told.append):
            self.works.set()
            self.done.wait(10)


def test_those_who_came_first_work_first_and_the_others_see_how_many_come_before_them():
    line = Queue(2)
    workers = []
    for number in range(5):
        workers.append(Worker(line))
        if number < 2:
            until(workers[number].works.is_set)
        else:
            until(lambda: workers[-1].told)
    assert [worker.told[:1] for worker in workers] == [[], [], [1], [2], [3]]
    for number, worker in enumerate(workers):
        until(lambda: all(each.works.is_set() for each in workers[number : number + 2]))  # noqa: B023  # at once
        worker.done.set()
        worker.join(5)
        assert not any(each.works.is_set() for each in workers[number + 3 :])
    assert workers[4].told == sorted(workers[4].told, reverse=True)


def test_who_leaves_while_waiting_or_fails_at_work_holds_nobody_up():
    line = Queue(1)
    first = Worker(line)
    until(first.works.is_set)

    def leave(ahead: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), line.slot(leave):
        pytest.fail("there was no place")
    third = Worker(line)
    first.done.set()
    until(third.works.is_set)
    third.done.set()
    third.join(5)
    with pytest.raises(ZeroDivisionError), line.slot(silent):
        1 / 0  # noqa: B018
    with line.slot(lambda ahead: pytest.fail("the place is free")):
        pass


def test_a_turn_inside_of_a_turn_has_its_place_already():
    quick, slow = Queue(1), Queue(1)
    other = Worker(quick)
    until(other.works.is_set)
    with slow.slot(silent), quick.slot(lambda ahead: pytest.fail("it is at work already")):
        pass
    other.done.set()
    with quick.slot(silent), quick.slot(lambda ahead: pytest.fail("it is at work already")):
        pass


def test_a_slow_line_does_not_hold_up_a_quick_one():
    quick, slow = Queue(1), Queue(1)
    long_run = Worker(slow)
    until(long_run.works.is_set)
    with quick.slot(lambda ahead: pytest.fail("the quick line is free")):
        pass
    long_run.done.set()
