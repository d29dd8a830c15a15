"""`message tail`: what is there, then what comes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from time import monotonic, sleep

from mqctl.cli.connection.target import DEFAULT_TIMEOUT_MS, ClusterTarget
from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.gaps import answer, tell_gaps
from mqctl.cli.sources.brokers import queue_gaps
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import ExitCode, MqctlError
from mqctl.model.body_form import BodyForm
from mqctl.model.gap import exit_code_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.render.messages_view import tail_document
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import ask_bounds, queue_addresses
from mqctl.snapshot.live.tail import TailedMessage, TailRequest, TopicTail
from mqctl.text import sentence

_ROUTE_PERIOD_S = 30.0
_LEAST_EVERY_MS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """How to tail.

    Attributes:
        lines: how many of the newest messages to begin with.
        count: end after so many in all; None for no end.
        limited: the connection's time ends the command even when it follows.
    """

    lines: int
    follow: bool
    count: int | None
    every_ms: int
    limited: bool
    body: BodyForm
    output: Output


def tail_topic(target: ClusterTarget, request: TailRequest, following: Following) -> int:
    """Runs the command; returns its exit code.

    Raises:
        NotFoundError: there is no such topic.
        MqctlError: no queue of it could be read at first.
    """
    with target.open() as cluster:
        asking = Asking(cluster, target.deadline())
        addresses = queue_addresses(asking, request.topic, slaves=True)
        ends, lost = ask_bounds(asking, addresses)
        places = {queue: max(low, high - following.lines) for queue, (low, high) in ends.items()}
        tail = TopicTail(cluster, request, addresses, places)
        newest, errors = _newest(tail, {queue: high for queue, (_, high) in ends.items()}, asking.deadline)
        errors |= lost
        if errors and len(errors) == len(addresses):
            raise next(iter(errors.values()))
        begun = newest[-following.lines :] if following.lines else []
        if not following.follow:
            return answer(tail_document(begun, following.body), queue_gaps(errors), following.output)
        tell_gaps(queue_gaps(errors))
        shown = _Shown(following)
        if not shown.more(begun):
            return ExitCode.OK
        limit = target.timeout_ms if following.limited else None
        return _follow(cluster, tail, shown, errors, limit)


def _newest(
    tail: TopicTail, ends: dict[MessageQueue, int], deadline: Deadline
) -> tuple[list[TailedMessage], dict[MessageQueue, MqctlError]]:
    """Reads up to where the queues ended a moment ago."""
    messages: list[TailedMessage] = []
    errors: dict[MessageQueue, MqctlError] = {}
    while True:
        before = dict(tail.places)
        some, failed = tail.step(deadline)
        errors |= failed
        messages += some
        moved = [queue for queue, place in tail.places.items() if place > before[queue] and place < ends[queue]]
        if not moved:
            break
    messages.sort(key=lambda item: (item.found.message.store_time_ms, item.found.message.physical_offset))
    return messages, errors


class _Shown:
    """Counts what was shown."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._left = following.count

    def more(self, messages: Sequence[TailedMessage]) -> bool:
        """Shows messages; tells whether more are wanted."""
        some = messages if self._left is None else messages[: self._left]
        if some:
            emit(tail_document(some, self._following.body), self._following.output)
            sys.stdout.flush()
        if self._left is not None:
            self._left -= len(some)
        return self._left is None or self._left > 0

    @property
    def pause_s(self) -> float:
        return max(self._following.every_ms, _LEAST_EVERY_MS) / 1000


def _follow(
    cluster: Cluster, tail: TopicTail, shown: _Shown, silent: Mapping[MessageQueue, MqctlError], limit_ms: int | None
) -> int:
    ends_at = None if limit_ms is None else monotonic() + limit_ms / 1000
    looked_at = monotonic()
    while ends_at is None or monotonic() < ends_at:
        messages, errors = tail.step(Deadline(DEFAULT_TIMEOUT_MS))
        tell_gaps(queue_gaps({queue: error for queue, error in errors.items() if queue not in silent}))
        silent = errors
        if not shown.more(messages):
            return ExitCode.OK
        if monotonic() - looked_at > _ROUTE_PERIOD_S:
            looked_at = monotonic()
            try:
                tail.take_new_queues(Deadline(DEFAULT_TIMEOUT_MS))
            except MqctlError as error:
                tell(
                    sentence(
                        "message-new-queues-could-not", "mqctl: new queues could not be asked: {error}", error=error
                    )
                )
        if not messages:
            sleep(shown.pause_s)
    return exit_code_of(queue_gaps(silent))
