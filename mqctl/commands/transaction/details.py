"""A transaction's records as rows."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.commands.transaction.view import TransactionCopy, TransactionDetail
from mqctl.model.message import KEYS, PRODUCER_GROUP, REAL_TOPIC
from mqctl.model.stored_message import StoredMessage
from mqctl.model.transaction_state import TransactionStory
from mqctl.snapshot.half_messages import check_count


def detail_of(
    unique_key: str, stories: list[TransactionStory], limits: Mapping[str | None, int | None]
) -> TransactionDetail:
    """Returns the machine form of what one or more brokers hold of a transaction; a transaction has one broker.

    Args:
        limits: how often each broker asks about a transaction at most, by its name.
    """
    story = stories[0]
    first = (story.halves or story.discarded)[0].message
    copies = [
        _copy(item, kind, each.broker_name)
        for each in stories
        for kind, items in (
            ("half", each.halves),
            ("committed", each.committed),
            ("discarded", each.discarded),
        )
        for item in items
    ]
    return TransactionDetail(
        unique_key=unique_key,
        state=story.state,
        topic=first.properties.get(REAL_TOPIC),
        producer_group=first.properties.get(PRODUCER_GROUP),
        born_time_ms=first.born_time_ms,
        check_count=max(copy.check_count for copy in copies),
        op_count=sum(each.ended_count for each in stories),
        commit_count=sum(len(each.committed) for each in stories),
        keys=first.properties.get(KEYS),
        check_limit=limits.get(story.broker_name),
        ended_time_ms=story.ended_time_ms,
        ended_by_check=story.ended_by_check,
        copies=sorted(copies, key=lambda copy: (copy.broker_name or "", copy.physical_offset)),
    )


def _copy(item: StoredMessage, kind: str, broker: str | None) -> TransactionCopy:
    message = item.message
    return TransactionCopy(
        broker_name=broker,
        kind=kind,
        topic=message.topic,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        store_time_ms=message.store_time_ms,
        check_count=check_count(message),
        message_id=item.message_id,
    )
