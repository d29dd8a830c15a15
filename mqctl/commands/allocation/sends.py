"""How producers of a simulated topic choose queues, and by which keys: options, a file, or a sample of the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.allocation.sending import (
    Choosing,
    ProducerChoice,
    QueueShare,
    counted_keys,
    numbered_keys,
    queue_shares,
    selector_named,
)
from mqctl.allocation.simulation import Layout
from mqctl.commands.allocation.what_if import Beginning
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.model.room_rule import RoomRule
from mqctl.store.plain_files import read_named
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.cli.connection.target import ClusterTarget

SAMPLED = 500
"""Messages of each queue whose keys are read."""
MOST_KEYS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sends:
    """What producers do; nothing is simulated of it without a selector.

    Attributes:
        keys: the share of each key among all messages.
    """

    selector: ProducerChoice | None = None
    keys: Mapping[str, float] = field(default_factory=dict)

    def shares(self, start: Beginning, layout: Layout, rule: RoomRule | None) -> list[QueueShare]:
        """Returns what each queue gets that producers send to. Raises UsageError."""
        if self.selector is None:
            return []
        if len(layout.topics) > 1:
            raise UsageError(
                sentence(
                    "allocation-selector-simulates-producers-topic", "--selector simulates producers of one topic"
                ),
                remedy=sentence("allocation-simulate-each-topic-itself", "simulate each topic by itself"),
            )
        return queue_shares(self.selector, start.open_for_sends(layout), self.keys, rule)

    def arriving(self, start: Beginning, layout: Layout, rule: RoomRule | None) -> Beginning:
        """Returns the beginning with what arrives shared out to a layout's queues by the selector."""
        total = start.total_tps
        shares = self.shares(start, layout, rule)
        if not shares or total is None:
            return start
        return replace(
            start,
            arriving=dict.fromkeys(layout.queues, 0.0) | {item.queue: total * item.share for item in shares},
            keys={item.queue: {key: total * share for key, share in item.by_key.items()} for item in shares},
        )


def sends_of(selector: str | None, keys: str | None, hot_share: float, start: Beginning) -> Sends:
    """Reads what was said about producers; with keys alone they choose by hash.

    Args:
        keys: a number of keys, or a file of them.
        hot_share: the share of the first of numbered keys.
        start: reads the shares of keys from the topic itself, where it is live.

    Raises:
        UsageError: the selector does not exist or lacks its keys, a file has none, a hot key is a share of nothing.
    """
    chosen = selector_named(selector or "hash") if selector or keys else None
    if keys is not None:
        count = decimal(keys, low=1, high=MOST_KEYS)
        if count is not None:
            return Sends(selector=chosen, keys=numbered_keys(count, hot_share))
        if hot_share:
            raise UsageError(
                sentence("allocation-hot-key-makes-keys", "--hot-key makes one of --keys COUNT hot"),
                remedy=sentence("allocation-count-key-file-instead", "count the key in the file instead"),
            )
        return Sends(selector=chosen, keys=_in_file(Path(keys)))
    if hot_share and not start.keys:
        raise UsageError(
            sentence("allocation-hot-key-share-rate", "--hot-key is a share of --rate or --keys"),
            remedy=sentence("allocation-add-rate-keys", "add --rate N or --keys N"),
        )
    if chosen is None or chosen.choosing is not Choosing.HASH:
        return Sends(selector=chosen)
    if start.sample is None:
        raise UsageError(
            sentence("allocation-queue-hash-chooses-depends", "which queue a hash chooses depends on the keys"),
            remedy=sentence(
                "allocation-add-keys-count-file",
                "add --keys COUNT or --keys FILE, or begin with a live topic (-g GROUP -t TOPIC)",
            ),
        )
    return Sends(selector=chosen, keys=start.sample())


def sampled_keys(target: ClusterTarget, topic: str) -> dict[str, float]:
    """Reads the shares of keys from the newest messages of each queue, which stand for what producers send now.

    Raises:
        UsageError: no message of the topic has a key.
        NotFoundError: there is no such topic.
    """
    from mqctl.cli.gaps import tell_gaps
    from mqctl.cli.sources.brokers import asking_of
    from mqctl.cli.sources.key_samples import live_sample

    with target.open() as cluster:
        sample = live_sample(asking_of(cluster, target), topic, key=None, count=SAMPLED)
    tell_gaps(sample.gaps)
    messages = sorted(sample.messages, key=lambda item: item.store_time_ms)
    by_queue = Counter(item.queue for item in messages)
    # Of queues with more than was read only the newest are known: what is older in the others would count too much.
    full = {queue for queue, count in by_queue.items() if count >= SAMPLED}
    since = max((next(m.store_time_ms for m in messages if m.queue == queue) for queue in full), default=0)
    shares = counted_keys(Counter(item.key for item in messages if item.store_time_ms >= since))
    if not shares:
        raise UsageError(
            sentence("allocation-no-sampled-message-key", "no sampled message of {topic} has a key", topic=topic),
            remedy=sentence("allocation-add-keys-count", "add --keys COUNT or --keys FILE, or use --selector turn"),
        )
    return shares


def _in_file(file: Path) -> dict[str, float]:
    """Reads `KEY` or `KEY,COUNT` of each line; a key that comes again counts again."""
    counts: Counter[str | None] = Counter()
    try:
        lines = read_named(file).decode().splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(
            sentence("allocation-cannot-read-keys", "cannot read keys from {file}", file=file),
            reason=str(error),
            remedy=sentence(
                "allocation-keys-takes-number-up",
                "--keys takes a number up to {most_keys}, or a file",
                most_keys=MOST_KEYS,
            ),
        ) from error
    for line in filter(None, map(str.strip, lines)):
        key, comma, text = line.rpartition(",")
        count = decimal(text, low=1, high=MOST_INT64) if comma and key else None
        counts[line if count is None else key] += count or 1
    shares = counted_keys(counts)
    if not shares:
        raise UsageError(
            sentence("allocation-no-keys", "there are no keys in {file}", file=file),
            remedy=sentence("allocation-write-key-line", "write a key a line, or KEY,COUNT"),
        )
    return shares
