"""Commands on files: they share the imports of what reads files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Outcome


@pytest.fixture(scope="session")
def mqctl(file_mqctl: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Commands on files are many, and numpy takes its time to be imported."""
    return file_mqctl
