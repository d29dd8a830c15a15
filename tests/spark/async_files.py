"""A file system of asyncio for fsspec that keeps a directory behind a URL, and counts what is under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.asyn import AsyncFileSystem, sync_wrapper


class Line:
    """The way to the files: how many requests are under way, and how long each takes.

    Attributes:
        delay_s: of each request.
        together: the first requests are answered when so many are under way, and fail after a minute without that.
        requests, most: how many there were, and how many at once.
    """

    def __init__(self, *, delay_s: float = 0, together: int = 1) -> None:
        self.delay_s = delay_s
        self.together = together
        self.requests = self.now = self.most = 0
        self._met: asyncio.Event | None = None

    async def take(self) -> None:
        self._met = self._met or asyncio.Event()
        self.requests += 1
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now >= self.together:
            self._met.set()
        try:
            await asyncio.wait_for(self._met.wait(), 60)
            await asyncio.sleep(self.delay_s)
        finally:
            self.now -= 1


@contextmanager
def behind_url(directory: Path, line: Line, *, is_async: bool = True) -> Iterator[str]:
    """Yields the URL under which fsspec finds a directory, over `line`; without `is_async` it does not say that it
    takes several requests at once."""

    class Files(AsyncFileSystem):  # type: ignore[misc]  # fsspec is not typed
        protocol = "line"
        cachable = False
        async_impl = is_async

        async def _find(self, path: str, **_: Any) -> dict[str, dict[str, Any]]:
            files = [each for each in directory.rglob("*") if each.is_file()]
            return {
                f"{path}/{each.relative_to(directory)}": {"size": each.stat().st_size, "mtime": each.stat().st_mtime}
                for each in files
            }

        async def _cat_file(self, path: str, start: int = 0, end: int | None = None, **_: Any) -> bytes:
            await line.take()
            return (directory / path.split("/", 1)[1]).read_bytes()[start:end]

        find = sync_wrapper(_find)
        cat_file = sync_wrapper(_cat_file)

    fsspec.register_implementation("line", Files, clobber=True)
    yield "line://store"
