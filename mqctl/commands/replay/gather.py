"""What is to be replayed: times, offsets, a file, or what a skip has left behind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from mqctl.changes.engine.records import NOT_MOVED, PLANNED, WENT_BACK
from mqctl.changes.engine.run import journal
from mqctl.changes.engine.same_cluster import refuse_other_cluster
from mqctl.changes.plan.range_file import read_ranges
from mqctl.changes.plan.replay import QueueEnds, plan_ranges
from mqctl.cli.emit import tell
from mqctl.errors import BadInputError, NotFoundError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import Stretch
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import all_bounds, at_time, queue_addresses
from mqctl.store.plain_files import read_named, refused
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What was asked for.

    Attributes:
        since_ms, until_ms: store times, epoch milliseconds.
        given: stretches of queues (queue, begin, end), of a file or of a change.
        store: the directory that the messages lie in; None for those that brokers have.
        identity: master address by broker name that `given` is about.
    """

    words: str
    store: Path | None = None
    topics: tuple[str, ...]
    brokers: frozenset[str] = frozenset()
    queue_ids: frozenset[int] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    from_offset: int | None = None
    to_offset: int | None = None
    given: tuple[tuple[MessageQueue, int, int], ...] | None = None
    identity: Mapping[str, str] | None = None


def source_of(
    *,
    topic: str | None,
    since: str | None,
    until: str | None,
    from_offset: int | None,
    to_offset: int | None,
    skipped: str | None,
    from_file: Path | None,
    brokers: list[str] | None,
    queues: list[int] | None,
    store: Path | None = None,
) -> Source:
    """Reads what is to be replayed.

    Raises:
        UsageError: nothing, or several things at once, are named.
        NotFoundError, BadInputError: the file or the change cannot be read.
    """
    limits = (since, until, from_offset, to_offset)
    if (skipped is not None) + (from_file is not None) + (topic is not None) != 1 or (
        topic is None and (any(item is not None for item in limits) or brokers or queues)
    ):
        raise UsageError(
            sentence("no-messages-replay-given", "no messages to replay given"),
            remedy=sentence(
                "replay-give-topic-limits-skipped",
                "give one of -t TOPIC with its limits, --skipped ID and --from-file FILE",
            ),
        )
    if store is not None:
        return _of_store(store, topic, limits, brokers, queues)
    if skipped is not None:
        return _of_change(skipped)
    if from_file is not None:
        return _of_file(from_file)
    if (since is None) == (from_offset is None) or (until is not None and to_offset is not None):
        remedy = sentence("replay-use-since-offset-until", "use --since or --from-offset, --until or --to-offset")
        raise UsageError(
            sentence("replay-needs-beginning-end", "the replay needs a beginning and an end"), remedy=remedy
        )
    begin, begin_words = _instant(since)
    end, end_words = _instant(until)
    if begin is not None and end is not None and end < begin:
        raise UsageError(
            sentence(
                "replay-lies-before",
                "{end_words} is before {begin_words}",
                end_words=end_words,
                begin_words=begin_words,
            ),
            remedy=sentence("replay-end-must-lie-after", "the end must be after the start"),
        )
    first = begin_words or sentence("replay-offset", "offset {to_offset}", to_offset=from_offset)
    last = end_words or (
        sentence("replay-offset", "offset {to_offset}", to_offset=to_offset)
        if to_offset is not None
        else sentence("replay-end", "the end")
    )
    return Source(
        words=sentence("replay-topic", "{topic} from {first} to {last}", topic=topic, first=first, last=last),
        topics=(str(topic),),
        brokers=frozenset(brokers or ()),
        queue_ids=frozenset(queues or ()),
        since_ms=begin,
        until_ms=end,
        from_offset=from_offset,
        to_offset=to_offset,
    )


def ranges_of(asking: Asking, source: Source, *, every_queue: bool = False) -> tuple[Stretch, ...]:
    """Returns the stretches that are still there.

    Args:
        every_queue: an empty stretch too where a queue of the topics has nothing to be replayed.

    Raises:
        NotFoundError: no such topic, broker or queue.
        BadInputError: the stretches are about another cluster.
        UnreachableError: a broker does not tell its bounds.
        UsageError: nothing lies between.
    """
    if source.store is not None:
        from mqctl.commands.replay.stored import StoredTopic

        stored = StoredTopic(source.store, source.topics[0])
        known = {item.address: item.broker_name for item in asking.cluster.masters(asking.deadline)}
        host = stored.host()
        return stored.stretches(known.get(host, host), source.queue_ids, source.from_offset, source.to_offset)
    if source.identity:
        refuse_other_cluster(asking, source.identity, source.words)
    given = None if source.given is None else {queue for queue, _, _ in source.given}
    queues = {
        queue: address
        for topic in source.topics
        for queue, address in queue_addresses(asking, topic).items()
        if (not source.brokers or queue.broker_name in source.brokers)
        and (not source.queue_ids or queue.queue_id in source.queue_ids)
        and (given is None or every_queue or queue in given)
    }
    if not queues or (given is not None and given - set(queues)):
        raise NotFoundError(
            sentence("replay-queue-not", "a queue of {source} is not there", source=source.words),
            remedy=sentence("replay-topic-route-shows", "mqctl topic route shows what there is"),
        )
    ends = all_bounds(asking, queues, sentence("replay-nothing-published", "nothing was published"))
    if source.given is None:
        limits = _limits(asking, source, queues, ends)
    else:
        limits = [*source.given, *((queue, ends[queue][1], ends[queue][1]) for queue in set(queues) - (given or set()))]
    return plan_ranges(
        (
            QueueEnds(queue=queue, min_offset=ends[queue][0], max_offset=ends[queue][1], begin=begin, end=end)
            for queue, begin, end in limits
        ),
        keep_empty=every_queue,
    )


def _of_store(
    store: Path,
    topic: str | None,
    limits: tuple[str | None, str | None, int | None, int | None],
    brokers: list[str] | None,
    queues: list[int] | None,
) -> Source:
    since, until, first, end = limits
    if topic is None or since is not None or until is not None or brokers:
        raise UsageError(
            sentence("replay-no-messages-store-given", "no messages of the store given"),
            remedy=sentence(
                "replay-use-topic-offset", "use -t TOPIC, and -q, --from-offset or --to-offset to have fewer"
            ),
        )
    return Source(
        words=sentence("replay-store", "{topic} of the store {store}", topic=topic, store=store),
        store=store.resolve(),
        topics=(topic,),
        queue_ids=frozenset(queues or ()),
        from_offset=first,
        to_offset=end,
    )


def _limits(
    asking: Asking,
    source: Source,
    queues: dict[MessageQueue, str],
    ends: Mapping[MessageQueue, tuple[int, int]],
) -> list[tuple[MessageQueue, int, int]]:
    begin = at_time(asking, queues, source.since_ms) if source.since_ms is not None else {}
    end = at_time(asking, queues, source.until_ms) if source.until_ms is not None else {}
    limits = []
    for queue, (low, high) in ends.items():
        first = low if source.from_offset is None else min(source.from_offset, high)
        last = high if source.to_offset is None else min(source.to_offset, high)
        limits.append((queue, begin.get(queue, first), end.get(queue, last)))
    return limits


def _instant(text: str | None) -> tuple[int | None, str | None]:
    if text is None:
        return None, None
    from mqctl.cli.times import parse_instant

    moment = parse_instant(text, datetime.now().astimezone())
    tell(sentence("replay-stands", "mqctl: {text} stands for {moment}", text=text, moment=moment.text))
    return moment.epoch_ms, moment.text


def _of_change(change_id: str) -> Source:
    record = journal().offsets.read(change_id)
    skipped = [
        queue
        for queue in record.parts
        if queue.state not in (PLANNED, NOT_MOVED, WENT_BACK) and (queue.old or 0) < queue.new
    ]
    if not skipped:
        raise UsageError(
            sentence("replay-change-skipped-nothing", "change {change_id} has skipped nothing", change_id=change_id),
            remedy=command_line("mqctl history -g {}", record.subject),
        )
    return Source(
        words=sentence(
            "change-skipped-group",
            "what change {record} skipped for group {group}",
            record=change_id,
            group=record.subject,
        ),
        topics=tuple(sorted({queue.topic for queue in skipped})),
        given=tuple((queue.queue, queue.old or 0, queue.new) for queue in skipped),
        identity={queue.broker_name: record.brokers[queue.broker_name] for queue in skipped},
    )


def _of_file(path: Path) -> Source:
    if not path.is_file():
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=path),
            remedy=sentence("replay-offset-skip-writes", "mqctl offset skip writes one"),
        )
    try:
        plan = read_ranges(read_named(path), is_csv=path.suffix == ".csv")
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=path), error) from error
    except (ValueError, TypeError) as error:
        remedy = sentence(
            "replay-offset-skip-writes-csv",
            "mqctl offset skip writes one; CSV columns: topic, broker_name, queue_id, begin_offset, end_offset",
        )
        raise BadInputError(
            sentence("not-replay-plan", "{path} is not a replay plan", path=path), reason=str(error), remedy=remedy
        ) from error
    return Source(
        words=plan.reason or sentence("replay-queues", "the queues in {path}", path=path.name),
        topics=tuple(sorted({row.topic for row in plan.ranges})),
        given=tuple(
            (MessageQueue(row.topic, row.broker_name, row.queue_id), row.begin_offset, row.end_offset)
            for row in plan.ranges
        ),
        identity={row.broker_name: row.broker_address for row in plan.ranges if row.broker_address},
    )
