"""Which of several saved dumps are looks at one process."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.model.dump import DumpTool, StackDump
from mqctl.stacks.motion import key_of

_SAME_SHARE = 0.8


def by_process(dumps: Iterable[StackDump]) -> list[list[StackDump]]:
    """Returns the dumps of each process, in the order in which they come, oldest first where they tell their time."""
    processes: list[list[StackDump]] = []
    for dump in dumps:
        home = next((looks for looks in processes if _same(looks[-1], dump)), None)
        if home is None:
            processes.append([dump])
        else:
            home.append(dump)
    for looks in processes:
        if all(look.taken_at_ms is not None for look in looks):
            looks.sort(key=lambda look: look.taken_at_ms or 0)
    return processes


def _same(one: StackDump, other: StackDump) -> bool:
    """Tells whether two dumps are of one process.

    By the process id where both tell it. Else most threads bear the same names and numbers and used no less processor
    time; the numbers of a remote dump begin anew in each JVM, so these must come from one text as well.
    """
    if one.tool is not other.tool:
        return False
    if one.pid is not None and other.pid is not None:
        return one.pid == other.pid
    if one.tool is DumpTool.REMOTE and one.source != other.source:
        return False
    before = {key_of(thread): thread.cpu_ms for thread in one.threads}
    after = {key_of(thread): thread.cpu_ms for thread in other.threads}
    common = before.keys() & after.keys()
    if len(common) < _SAME_SHARE * min(len(before), len(after)):
        return False
    late = one.taken_at_ms is not None and other.taken_at_ms is not None and other.taken_at_ms < one.taken_at_ms
    old, new = (after, before) if late else (before, after)
    return all((old[key] or 0.0) <= (new[key] or float("inf")) for key in common)
