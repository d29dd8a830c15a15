"""A sample of the newest tags of each queue: entries of the consume queue, and one record for each tag's name."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_messages import message_at
from mqctl.errors import MqctlError
from mqctl.filter.tags import tag_code
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.protocol.bodies_stats import ConsumeQueueData, ConsumeQueueEntry
from mqctl.protocol.fastjson import FastjsonError, loads
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import ask_bounds

SAMPLE = 400


def sample_tags(
    asking: Asking, queues: Mapping[MessageQueue, str], *, count: int = SAMPLE
) -> tuple[list[TagSample], dict[MessageQueue, MqctlError]]:
    """Samples the newest messages of each queue.

    Returns:
        the samples, and why a queue could not be sampled.
    """
    table = dict(queues)
    ends, failed = ask_bounds(asking, table)
    starts = {queue: max(low, high - count) for queue, (low, high) in ends.items() if high > low}
    codes: dict[MessageQueue, list[tuple[int, int]]] = {}
    places = dict(starts)
    while places:
        answers = asking.put(
            (
                queue,
                table[queue],
                ask.queue_entries(queue.topic, queue.queue_id, offset, ends[queue][1] - offset),
            )
            for queue, offset in places.items()
        )
        failed |= answers.errors
        places = {
            queue: place
            for queue, answer in answers.values.items()
            if (place := _collect(codes, queue, places[queue], answer)) is not None and place < ends[queue][1]
        }
    names = _names(asking, table, codes)
    samples = []
    for queue, entries in sorted(codes.items()):
        counts: dict[str, int] = {}
        for code, _ in entries:
            name = names.get((queue.topic, code), f"#{code}")
            counts[name] = counts.get(name, 0) + 1
        complete = starts[queue] == ends[queue][0] and len(entries) == ends[queue][1] - ends[queue][0]
        samples.append(TagSample(queue=queue, first_offset=starts[queue], counts=counts, complete=complete))
    return samples, failed


def _collect(
    codes: dict[MessageQueue, list[tuple[int, int]]],
    queue: MessageQueue,
    offset: int,
    answer: ConsumeQueueData | None,
) -> int | None:
    """Adds the entries of one answer; returns where to go on, None when there is no more."""
    if answer is None or not answer.queue_data:
        return None
    entries = [(_code(item), item.physic_offset) for item in answer.queue_data]
    codes.setdefault(queue, []).extend(entries)
    return offset + len(entries)


def _code(entry: ConsumeQueueEntry) -> int:
    """Returns the tag code of an entry, from its extension where the broker keeps one."""
    if entry.extend_data_json:
        try:
            extension = loads(entry.extend_data_json)
        except FastjsonError:
            return entry.tags_code
        code = extension.get("tagsCode") if isinstance(extension, dict) else None
        return code if type(code) is int else entry.tags_code
    return entry.tags_code


def _names(
    asking: Asking, addresses: Mapping[MessageQueue, str], codes: Mapping[MessageQueue, list[tuple[int, int]]]
) -> dict[tuple[str, int], str]:
    """Reads one record for each tag code of each topic; a name whose hash is another one's is not taken."""
    wanted: dict[tuple[str, int], tuple[str, int]] = {}
    for queue, entries in codes.items():
        for code, physical in reversed(entries):
            wanted.setdefault((queue.topic, code), (addresses[queue], physical))
    answers = asking.put(
        (key, address, message_at(physical)) for key, (address, physical) in wanted.items() if key[1] != 0
    )
    names = {key: "" for key in wanted if key[1] == 0}
    for key, message in answers.values.items():
        if tag_code(message.tags) == key[1]:
            names[key] = message.tags or ""
    return names
