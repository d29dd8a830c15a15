"""Fixtures of the tests of documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from docs import built


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gives the directory of the references that git does not carry, built once for all workers."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "references"
    with FileLock(f"{place}.lock"):
        if not place.exists():
            unfinished = place.with_suffix(".new")
            for name, text in built.files().items():
                file = unfinished / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            unfinished.rename(place)
    return place
