"""Resets that members carry out: which instant to send, since a broker searches for it in its own way.

A broker of 4.9 answers a search by time with the message stored at that instant, any of several, or else with the
nearest, which may lie before it, or at the end of a queue is its last message (`ConsumeQueue.getOffsetInQueueByTime`).
One request covers all queues of a topic on a broker. So the broker is asked, with its own search, what several
instants would do, and the one is sent that skips nothing and replays least beyond what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mqctl.errors import RefusedError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.plan import Callback, OffsetChange, QueuePosition
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

LATEST_MS = -1
EARLIEST_MS = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a broker's own search finds for one instant.

    Attributes:
        found: queue offset by queue.
    """

    time_ms: int
    found: Mapping[MessageQueue, int]


def instants(time_ms: int, store_times: Iterable[int]) -> tuple[int, ...]:
    """Returns the instants worth asking about for messages from `time_ms` on.

    Args:
        store_times: those of the first message wanted in each queue.
    """
    first = min(store_times, default=time_ms)
    return tuple(dict.fromkeys((time_ms, time_ms - 1, first, first - 1)))


def callback_changes(
    place: tuple[str, str], positions: Sequence[QueuePosition], exact: Mapping[MessageQueue, int], search: Search
) -> tuple[list[OffsetChange], Callback]:
    """Returns what a search would do to the queues of one topic on one broker, and the request.

    Args:
        place: topic and broker name.
        exact: the offsets that are wanted.
    """
    changes = []
    for position in positions:
        queue = position.queue
        new, wanted = search.found[queue], exact[queue]
        note = (
            None
            if new == wanted
            else sentence(
                "callback-broker-seeks-time-lands",
                "the broker seeks by time: it lands {wanted} before offset {wanted_2}",
                wanted=wanted - new,
                wanted_2=wanted,
            )
        )
        if search.time_ms == LATEST_MS:
            note = sentence("callback-plus-messages-arriving-before", "plus messages arriving before it runs")
        changes.append(position.to(new, note))
    return changes, Callback(topic=place[0], broker_name=place[1], time_ms=search.time_ms)


def best_search(searches: Sequence[Search], exact: Mapping[MessageQueue, int]) -> Search:
    """Returns the search that skips nothing and goes back least.

    Raises:
        RefusedError: each of them would skip messages.
    """
    fitting = [
        item for item in searches if item.found and all(item.found[queue] <= offset for queue, offset in exact.items())
    ]
    if not fitting:
        raise RefusedError(
            sentence(
                "callback-no-timestamp-makes-broker",
                "no timestamp makes the broker seek to these offsets without skipping messages",
            ),
            reason=sentence(
                "callback-members-group-online-brokers",
                "members of the group are online, and its brokers can then only reset to a time",
            ),
            remedy=sentence(
                "callback-stop-all-members-run", "stop all members and run it again: offsets are exact then"
            ),
        )
    return min(fitting, key=lambda item: sum(offset - item.found[queue] for queue, offset in exact.items()))


def check_committed(positions: Iterable[QueuePosition], group: str) -> None:
    """Brokers refuse a callback for a topic on which a single queue has no offset yet.

    Raises:
        RefusedError: there is such a queue.
    """
    for position in positions:
        if position.old is None:
            queue = position.queue
            raise RefusedError(
                sentence(
                    "callback-cannot-change-offsets-group",
                    "cannot change offsets of group {group} on {topic} while it has members",
                    group=group,
                    topic=queue.topic,
                ),
                reason=sentence(
                    "callback-never-committed-offset-queue",
                    "it never committed an offset for queue {queue_id} of {broker_name}, and the broker "
                    "refuses the whole topic then",
                    queue_id=queue.queue_id,
                    broker_name=queue.broker_name,
                ),
                remedy=sentence(
                    "callback-wait-until-members-committed",
                    "wait until its members have committed all queues, or stop them and run it again",
                ),
            )
