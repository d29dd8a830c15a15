"""Fixtures of the client's tests: no test may leave a thread behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.client.consuming import wait_until
from tests.protocol.conftest import recorded_frames

__all__ = ["recorded_frames"]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Fails a test that leaves a thread running."""
    before = set(threading.enumerate())
    yield
    # Threads that are just starting are among them, and cannot be joined yet.
    wait_until(lambda: set(threading.enumerate()) <= before, "threads to end")
