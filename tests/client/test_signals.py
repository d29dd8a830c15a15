"""A signal that breaks off no system call of the main thread, as one that comes just before a wait begins: another
thread raises it here, which Python's main thread hears of only between two steps of its own."""

from __future__ import annotations

from collections.abc import Callable
from signal import SIGINT, raise_signal
from threading import Timer
from time import monotonic

import pytest

from mqctl.cli.terminal.interrupts import end_asked
from mqctl.client.admin.broker_queries import runtime_info
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion, fan_out
from mqctl.client.remoting.links import Links
from tests.client.wire_server import WireServer, silent

LONG = 60_000


def interrupted_within_s(wait: Callable[[], object], *, limit_s: float = 20.0) -> None:
    timer = Timer(0.1, raise_signal, [SIGINT])
    begun = monotonic()
    timer.start()
    try:
        wait()
    finally:
        timer.join()
        assert monotonic() - begun < limit_s


def test_ctrl_c_is_heard_while_a_silent_broker_is_asked() -> None:
    with WireServer(silent) as server, Links() as links, pytest.raises(KeyboardInterrupt):
        interrupted_within_s(lambda: links.ask(server.address, runtime_info(), Deadline(LONG)))


def test_ctrl_c_is_heard_while_many_questions_are_open() -> None:
    with WireServer(silent) as server, Links() as links, pytest.raises(KeyboardInterrupt):
        questions = [AddressedQuestion(server.address, runtime_info())]
        interrupted_within_s(lambda: list(fan_out(links, questions, Deadline(LONG), call_timeout_ms=LONG)))


def test_what_runs_until_it_is_ended_hears_of_its_end() -> None:
    with end_asked() as ended:
        interrupted_within_s(lambda: ended.wait(60))
        assert ended.is_set()
