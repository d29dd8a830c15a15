"""The threads of this process as the text that a consumer's running information carries.

The layout is that of Java's `UtilAll.jstack`: each line begins with the thread's name, padded to 40 characters; the
first says id and state, one line for each frame follows, and an empty line ends a thread. Frames are Python's.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType

_WIDTH = 40
_WAITING = {"acquire", "wait", "get", "select", "poll", "recv", "recv_into", "accept", "sleep", "join", "read"}
_WAITING_FILES = ("threading.py", "queue.py", "selectors.py", "socket.py")


def thread_dump() -> str:
    """Returns all threads of this process."""
    frames = sys._current_frames()
    parts: list[str] = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is None:
            continue
        prefix = thread.name.ljust(_WIDTH)
        lines = [f"{prefix}TID: {thread.native_id or thread.ident} STATE: {_state(frame)}"]
        lines += [f"{prefix}{line}" for line in _stack(frame)]
        parts.append("\n".join(lines) + "\n\n")
    return "".join(parts)


def _state(frame: FrameType) -> str:
    code = frame.f_code
    waits = code.co_filename.endswith(_WAITING_FILES) and code.co_name in _WAITING
    return "WAITING" if waits else "RUNNABLE"


def _stack(frame: FrameType | None) -> list[str]:
    lines: list[str] = []
    while frame is not None:
        code = frame.f_code
        module = frame.f_globals.get("__name__", "?")
        name = code.co_filename.rsplit("/", 1)[-1]
        lines.append(f"{module}.{code.co_qualname}({name}:{frame.f_lineno})")
        frame = frame.f_back
    return lines
