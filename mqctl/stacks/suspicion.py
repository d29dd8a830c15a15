"""Deadlocks that can only be suspected: py-spy and remote dumps do not tell who holds a lock."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.dump import StackFrame, StackThread
from mqctl.stacks.classify import Classified
from mqctl.stacks.motion import Motion
from mqctl.stacks.rules import StackClass

_Looked = tuple[StackThread, Classified, Motion]


def suspected_circle(threads: Sequence[_Looked]) -> tuple[str, ...]:
    """Returns the threads that may wait for each other: at least two, all waiting for locks without ever moving.

    Whoever holds a lock stands, as a rule, in the file in which it was taken. So where any thread that does not wait
    for a lock has a call in one of these files, that thread may be the owner, and there is no circle to suspect. One
    dump alone shows no standstill and raises no suspicion.
    """
    waiting = [
        (thread, what.line)
        for thread, what, motion in threads
        if what.cls == StackClass.LOCK and motion is Motion.STUCK and what.line is not None
    ]
    if len(waiting) < 2:
        return ()
    names = {thread.name for thread, _ in waiting}
    files = {_place(line) for _, line in waiting}
    others = (thread for thread, what, _ in threads if thread.name not in names and what.cls != StackClass.IDLE)
    free = {_place(frame) for thread in others for frame in thread.frames} & files
    circle = tuple(thread.name for thread, line in waiting if _place(line) not in free)
    return circle if len(circle) >= 2 else ()


def _place(frame: StackFrame) -> str:
    """Returns the file that a call stands in, or its class where the tool tells no file."""
    return frame.file or (frame.module or "").partition("$")[0]
