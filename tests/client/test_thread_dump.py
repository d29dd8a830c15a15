"""The stacks that our own client sends tell what each thread waits in, and no arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from mqctl.client.consumer.thread_dump import thread_dump
from mqctl.model.dump import StackThread, ThreadState
from mqctl.stacks.classify import classify_thread
from mqctl.stacks.parse import read_dumps
from mqctl.stacks.rules import StackClass

LOCK = threading.Lock()


class Answers:
    """A library of somebody's."""

    def __init__(self) -> None:
        self.items: SimpleQueue[str] = SimpleQueue()

    def named(self, secret: str) -> SimpleQueue[str]:
        return self.items


ANSWERS = Answers()


def wait_for_lock() -> None:
    with LOCK:
        pass


def acquire() -> None:
    LOCK.acquire(timeout=60)
    LOCK.release()


def take() -> None:
    ANSWERS.named("pa(ss)word").get(timeout=60)


def dumped(name: str) -> tuple[str, StackThread]:
    text = thread_dump()
    (dump,) = read_dumps(text, source="x")
    (dumped_thread,) = (thread for thread in dump.threads if thread.name == name)
    return text, dumped_thread


@pytest.mark.parametrize(
    ("listener", "code", "cls"),
    [
        (wait_for_lock, "with LOCK", StackClass.LOCK),
        (acquire, "LOCK.acquire()", StackClass.LOCK),
        (take, "ANSWERS.named().get()", StackClass.WAIT),
    ],
)
def test_a_call_into_c_is_told_without_its_arguments(listener: Callable[[], None], code: str, cls: StackClass) -> None:
    name = f"waits in {listener.__name__}"
    LOCK.acquire()
    thread = threading.Thread(target=listener, name=name, daemon=True)
    thread.start()
    try:
        text, dumped_thread = dumped(name)
        while not dumped_thread.frames or dumped_thread.frames[0].code != code:
            assert thread.is_alive()
            text, dumped_thread = dumped(name)
        assert dumped_thread.state is ThreadState.WAITING
        assert classify_thread(dumped_thread).cls == cls
        assert "word" not in text
    finally:
        LOCK.release()
        if listener is take:
            ANSWERS.items.put("")
        thread.join()
