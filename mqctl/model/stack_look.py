"""Looks at the stacks of consumers: what several instances showed at one moment, and the moments put together.

Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.dump import StackDump
from mqctl.model.gap import Gap
from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import RunningInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One instance at one moment.

    Attributes:
        source: what names it to people: `pid 4711`, a client id, a file.
        group, client_id: of the consumer; None where nobody tells them.
        raw: the dump as its tool wrote it.
        dump: the same, read; None where that is still to be done.
        info: what the instance says of itself.
        took_ms: how long the tool, or the broker, took.
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
    """

    source: str
    group: str | None = None
    client_id: str | None = None
    raw: str = ""
    dump: StackDump | None = None
    info: RunningInfo | None = None
    took_ms: float | None = None
    consume_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackLook:
    """Several instances at one moment.

    Attributes:
        lags: of their groups' queues.
        unavailable: what could not be seen.
        notes: what whoever reads should know, and what is nobody's failure.
    """

    at_ms: int
    sights: tuple[Sight, ...] = ()
    lags: tuple[QueueLag, ...] = ()
    unavailable: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackInstance:
    """One instance in all looks at it, oldest first.

    Attributes:
        dumps, raws: one for each look that saw its stacks.
        info, earlier: its running information, the newest and the oldest; `earlier` is None when there is one only.
        took_ms: the longest that a dump took.
        consume_mode: of the group, as last told.
    """

    source: str
    group: str | None = None
    client_id: str | None = None
    dumps: tuple[StackDump, ...] = ()
    raws: tuple[str, ...] = ()
    info: RunningInfo | None = None
    earlier: RunningInfo | None = None
    took_ms: float | None = None
    consume_mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackEvidence:
    """All that stacks are judged by.

    Attributes:
        lags, earlier_lags: of the groups' queues at the last and the first look.
    """

    now_ms: int
    instances: tuple[StackInstance, ...] = ()
    lags: tuple[QueueLag, ...] = ()
    earlier_lags: tuple[QueueLag, ...] = ()
    unavailable: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


def put_together(looks: Sequence[StackLook]) -> StackEvidence:
    """Joins looks, oldest first, by instance. What could not be seen is said once, as last said.

    Raises:
        ValueError: there is no look.
    """
    if not looks:
        raise ValueError("nobody looked")
    seen: dict[str, list[Sight]] = {}
    for look in looks:
        for sight in look.sights:
            seen.setdefault(sight.source, []).append(sight)
    gaps = {(gap.part, gap.scope): gap for look in looks for gap in look.unavailable}
    with_lags = [look for look in looks if look.lags]
    return StackEvidence(
        now_ms=looks[-1].at_ms,
        instances=tuple(_instance(source, sights) for source, sights in seen.items()),
        lags=with_lags[-1].lags if with_lags else (),
        earlier_lags=with_lags[0].lags if len(with_lags) > 1 else (),
        unavailable=tuple(gaps.values()),
        notes=tuple(dict.fromkeys(note for look in looks for note in look.notes)),
    )


def _instance(source: str, sights: list[Sight]) -> StackInstance:
    infos = [sight.info for sight in sights if sight.info is not None]
    return StackInstance(
        source=source,
        group=next((sight.group for sight in reversed(sights) if sight.group), None),
        client_id=next((sight.client_id for sight in reversed(sights) if sight.client_id), None),
        dumps=tuple(sight.dump for sight in sights if sight.dump is not None),
        raws=tuple(sight.raw for sight in sights if sight.raw),
        info=infos[-1] if infos else None,
        earlier=infos[0] if len(infos) > 1 else None,
        consume_mode=next((sight.consume_mode for sight in reversed(sights) if sight.consume_mode), None),
        took_ms=max((sight.took_ms for sight in sights if sight.took_ms is not None), default=None),
    )
