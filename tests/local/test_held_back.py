"""Interruptions while a process is being started: they come, but after its starter knows it."""

from __future__ import annotations

from signal import SIGINT, SIGTERM, Signals, default_int_handler, getsignal, raise_signal, signal
from threading import Thread

import pytest

from mqctl.local.processes import held_back


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_an_interruption_waits_for_the_end_of_the_block(number: Signals) -> None:
    before = {each: signal(each, default_int_handler) for each in (SIGINT, SIGTERM)}
    started: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt), held_back():
            raise_signal(number)
            started.append("known")
        assert started == ["known"]
        assert [getsignal(each) for each in before] == [default_int_handler] * 2
        with held_back():
            started.append("undisturbed")
    finally:
        for each, handler in before.items():
            signal(each, handler)
    assert started == ["known", "undisturbed"]


def test_other_threads_have_nothing_to_hold_back() -> None:
    done: list[bool] = []

    def work() -> None:
        with held_back():
            done.append(True)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
