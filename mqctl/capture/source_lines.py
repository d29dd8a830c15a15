"""The source text of Python frames: what a thread calls into C is told by the line that it stands on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mqctl.model.dump import StackDump, StackFrame
from mqctl.store.plain_files import read_whole

_LARGEST_BYTES = 4 << 20
_CLOCK_ERROR_S = 5.0  # the kernel counts starts from the boot, whose time is known to the second only


class SourceLines:
    """Lines of the files that a process runs, as that process sees them (its container's, perhaps).

    Args:
        started_s: when the process began, epoch seconds: a file that changed later is not what it runs.
    """

    def __init__(self, root: Path, started_s: float) -> None:
        self._root = root
        self._started_s = started_s
        self._files: dict[str, list[str]] = {}

    def join(self, dump: StackDump) -> StackDump:
        """Returns `dump` with the source line of each frame whose file can be read."""
        threads = tuple(replace(thread, frames=tuple(map(self._with_code, thread.frames))) for thread in dump.threads)
        return replace(dump, threads=threads)

    def _with_code(self, frame: StackFrame) -> StackFrame:
        if frame.file is None or frame.native or not frame.line or not frame.file.startswith("/"):
            return frame
        lines = self._lines(frame.file)
        if frame.line > len(lines):
            return frame
        return replace(frame, code=lines[frame.line - 1].strip())

    def _lines(self, name: str) -> list[str]:
        known = self._files.get(name)
        if known is None:
            known = self._files[name] = self._read(name)
        return known

    def _read(self, name: str) -> list[str]:
        for file in (self._root / name.lstrip("/"), Path(name)):
            try:
                status = file.stat()
                if status.st_mtime > self._started_s + _CLOCK_ERROR_S or status.st_size > _LARGEST_BYTES:
                    return []
                return read_whole(file).decode(errors="replace").splitlines()
            except OSError:
                continue
        return []
