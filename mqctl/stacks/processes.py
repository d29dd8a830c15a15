"""Which dumps are of one process: looks of several moments, or what several members in it show at one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mqctl.model.dump import DumpTool, StackDump
from mqctl.model.stack_look import StackInstance
from mqctl.stacks.motion import key_of
from mqctl.stacks.names import Role, understand
from mqctl.stacks.verdict import StackVerdict

_SAME_SHARE = 0.8
_SHARED = 2
_SAME_MOMENT_SHARE = 0.9
"""Threads that two members of one process both show: some come and go between the two questions."""


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


def members_of_one_process(instances: Sequence[StackInstance]) -> list[list[int]]:
    """Returns the positions of instances, those of one process together: each shows all threads of the process.

    Equal names and numbers alone prove nothing, as two processes of one program begin alike: on one host the client ids
    must name one process id, or the process have more consume threads of the group than one member starts.
    """
    processes: list[list[int]] = []
    for number, instance in enumerate(instances):
        home = next((known for known in processes if _share_process(instances[known[0]], instance)), None)
        if home is None:
            processes.append([number])
        else:
            home.append(number)
    return processes


_OF_POOLS = frozenset({"MQ320", "MQ321", "MQ322", "MQ323", "MQ324", "MQ325", "MQ326"})
"""What is said of the consume threads of a whole process."""


def told_once(
    instances: Sequence[StackInstance], verdicts: Sequence[Sequence[StackVerdict]]
) -> list[list[StackVerdict]]:
    """Returns the verdicts of each instance, those about threads that several members of a process share only at the
    first of them, with the names of all (`process`): each member shows all threads of its process."""
    by_instance = [list(items) for items in verdicts]
    for places in members_of_one_process(instances):
        seen: set[object] = set()
        for place in places:
            kept = []
            for item in by_instance[place]:
                names = _members(instances, places, item.group)
                key = (item.code, item.variant, item.group)
                if item.code not in _OF_POOLS or len(names) < _SHARED:
                    kept.append(item)
                elif key not in seen:
                    kept.append(replace(item, params={**item.params, "process": ", ".join(names)}))
                seen.add(key)
            by_instance[place] = kept
    return by_instance


def _members(instances: Sequence[StackInstance], places: Sequence[int], group: str | None) -> list[str]:
    return [instances[place].client_id or "" for place in places if instances[place].group == group]


def _share_process(one: StackInstance, other: StackInstance) -> bool:
    if not (one.client_id and other.client_id and one.dumps and other.dumps):
        return False
    (host, _, name), (other_host, _, other_name) = one.client_id.partition("@"), other.client_id.partition("@")
    if host != other_host:
        return False
    mine, theirs = ({key_of(thread) for thread in item.dumps[-1].threads} for item in (one, other))
    if len(mine & theirs) < _SAME_MOMENT_SHARE * max(len(mine), len(theirs)):
        return False
    pid = name.partition("#")[0]
    return (pid.isdecimal() and pid == other_name.partition("#")[0]) or (_is_shared(one) and _is_shared(other))


def _is_shared(instance: StackInstance) -> bool:
    """Tells whether the process has more consume threads of the group than this member started."""
    started = instance.info.thread_count if instance.info is not None else None
    names = (understand(thread.name) for thread in instance.dumps[-1].threads)
    count = sum(name.role is Role.CONSUME and name.group == instance.group for name in names)
    return started is not None and count > started
