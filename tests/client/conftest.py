"""Fixtures of the client's tests: no test may leave a thread behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.protocol.conftest import recorded_frames

__all__ = ["recorded_frames"]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails a test that leaves a thread running."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert not left
