"""How often each tag occurs in the queues of a topic, counted from all entries of a store's consume queues."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mqctl.errors import BadInputError, NotFoundError
from mqctl.filter.tags import tag_code
from mqctl.model.command_line import command_line
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import TagSample
from mqctl.snapshot.store.reading import Reading
from mqctl.store.consumequeue_ext import is_address
from mqctl.store.directory import StoreDirectory
from mqctl.text import sentence


def count_tags(path: Path, broker_name: str, topics: Iterable[str], names: Iterable[str]) -> list[TagSample]:
    """Counts the entries of every queue of `topics`.

    Args:
        broker_name: whose store it is; a store does not tell.
        names: tags to call by name; queue entries hold hashes only.

    Raises:
        NotFoundError: there is no such directory, or it has none of the topics.
        BadInputError: it is no store, or keeps its queues where they cannot be read.
    """
    store = StoreDirectory.open(path).with_logged_entries()
    reading = Reading(store)
    wanted = set(topics)
    known = {tag_code(name): name for name in names} | {0: ""}
    samples = []
    for (topic, queue_id), bounds in sorted(reading.bounds.items()):
        if topic not in wanted:
            continue
        offsets, entries = reading.entries(bounds)
        codes = entries["tags_code"].astype(np.int64)
        elsewhere = is_address(codes)
        if elsewhere.any():
            codes[elsewhere] = reading.ext_tags(topic, queue_id, codes[elsewhere])
        values, counts = np.unique(codes, return_counts=True)
        samples.append(
            TagSample(
                queue=MessageQueue(topic, broker_name, queue_id),
                first_offset=int(offsets[0]) if len(offsets) else bounds.min_offset,
                counts={
                    known.get(code, f"#{code}"): number
                    for code, number in zip(values.tolist(), counts.tolist(), strict=True)
                },
                complete=True,
            )
        )
    if not samples:
        if store.unreadable:
            raise BadInputError(
                sentence("snapshot-cannot-count-tags", "cannot count tags in {path}", path=path),
                reason=store.unreadable[0].reason,
            )
        raise NotFoundError(
            sentence("snapshot-no-queue", "{path} has no queue of {wanted}", path=path, wanted=sorted(wanted)),
            remedy=command_line("mqctl store describe --store {}", path),
        )
    return samples
