"""From a topic as it is and what is wanted of it to its next settings, in an order that loses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from mqctl.errors import RefusedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.config import PERM_READ, PERM_WRITE, TopicConfig
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.topic_use import TopicUse
from mqctl.text import joined, sentence

_LETTERS = {"R": PERM_READ, "W": PERM_WRITE, "-": 0}
_NUMBERS = ("0", "2", "4", "6")
MAX_QUEUES = 65_536
"""Of a topic on one broker. RocketMQ itself ends at 2^31; every queue costs a directory, a mapped file and a place in
each consumer's allocation, so that a greater number is a slip of the finger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    """What is wanted of a topic; None leaves as it is.

    Attributes:
        queues: queues to read and to write; fewer of them are reached in two steps.
        attributes: of 5.x, by name.
    """

    queues: int | None = None
    read_queues: int | None = None
    write_queues: int | None = None
    perm: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        requested = (self.queues, self.read_queues, self.write_queues, self.perm)
        return all(value is None for value in requested) and not self.attributes


def parse_perm(text: str) -> int:
    """Reads a permission: `RW-`, `RW`, `R`, `W`, or the number of its bits. Raises UsageError."""
    if text in _NUMBERS:
        return 2 * _NUMBERS.index(text)
    letters = text.upper()
    if not letters or any(letter not in _LETTERS for letter in letters):
        raise UsageError(
            sentence("topic-changes-cannot-read-permission", "cannot read the permission {text!r}", text=text),
            remedy=sentence("topic-changes-write-rw", "write RW, R, W or -"),
        )
    return sum(_LETTERS[letter] for letter in set(letters))


def first_config(topic: str, request: TopicRequest) -> TopicConfig:
    """Returns the settings of a topic that is created. Raises UsageError."""
    write = _first(request.write_queues, request.queues, 8)
    read = _first(request.read_queues, request.queues, write)
    config = TopicConfig(
        name=topic, read_queue_count=read, write_queue_count=write, attributes=dict(request.attributes)
    )
    _all_read(config)
    return config if request.perm is None else replace(config, perm=request.perm)


def next_config(
    config: TopicConfig, request: TopicRequest, broker_name: str, use: TopicUse
) -> tuple[TopicConfig, str | None]:
    """Returns the settings that a topic gets on one broker now, and what is left for later.

    Queues are taken away in two steps: producers must have stopped to write to them, and every group must have read
    them, before consumers are told to stop reading.

    Raises:
        UsageError: messages would go to queues that nobody reads.
        RefusedError: messages of queues that are to go are unread, or producers still write there.
    """
    write = _first(request.write_queues, request.queues, config.write_queue_count)
    read = _first(request.read_queues, request.queues, config.read_queue_count)
    note = None
    if read < config.read_queue_count:
        if config.write_queue_count > read and request.read_queues is None:
            read, note = (
                config.read_queue_count,
                sentence(
                    "topic-changes-drain-other-queues-run",
                    "drain the other queues, then run it again to read only {read}",
                    read=read,
                ),
            )
        elif config.write_queue_count > read:
            update = command_line("mqctl topic update -t {} --write-queues {}", config.name, read)
            raise RefusedError(
                sentence(
                    "topic-changes-queues-cannot-removed-yet",
                    "the queues of {config} on {broker_name} cannot be removed yet",
                    config=config.name,
                    broker_name=broker_name,
                ),
                reason=sentence(
                    "topic-changes-producers-write",
                    "producers write to {write_queue_count} of them",
                    write_queue_count=config.write_queue_count,
                ),
                remedy=sentence(
                    "topic-changes-queues-twice", "{update}; or --queues {read}, twice", update=update, read=read
                ),
            )
        else:
            _refuse_unread(config, read, broker_name, use)
    changed = replace(
        config,
        read_queue_count=read,
        write_queue_count=write,
        perm=config.perm if request.perm is None else request.perm,
        attributes={**config.attributes, **request.attributes},
    )
    _all_read(changed)
    return changed, note


def _refuse_unread(config: TopicConfig, read: int, broker_name: str, use: TopicUse) -> None:
    going = [MessageQueue(config.name, broker_name, number) for number in range(read, config.read_queue_count)]
    if left := use.unread(going):
        these = [word for queue in going for word in ("-q", str(queue.queue_id))]
        skip = command_line(
            "mqctl offset reset -g GROUP -t {} --to-latest --broker {} {}", config.name, broker_name, these
        )
        raise RefusedError(
            sentence(
                "topic-changes-queues-cannot-removed-yet-read",
                "queues {read} to {read_queue_count} of {config} on {broker_name} cannot be removed yet",
                read=read,
                read_queue_count=config.read_queue_count - 1,
                config=config.name,
                broker_name=broker_name,
            ),
            reason=joined("; ", left),
            remedy=sentence(
                "topic-changes-let-groups-drain-skip",
                "let the groups drain them, or skip these queues alone: {skip}",
                skip=skip,
            ),
        )


def _all_read(config: TopicConfig) -> None:
    write, read = config.write_queue_count, config.read_queue_count
    if write > read:
        raise UsageError(
            sentence(
                "topic-changes-read",
                "{config} would have {write} and {read} to read",
                config=config.name,
                write=counted(write, "write queue"),
                read=read,
            ),
            reason=sentence(
                "topic-changes-consumers-never-see-queues", "consumers never see queues above the read count"
            ),
            remedy=sentence("topic-changes-raise-read-queues-too", "raise --read-queues too, or use --queues"),
        )


def _first(*requested: int | None) -> int:
    return next(count for count in requested if count is not None)
