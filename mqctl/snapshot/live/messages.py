"""Messages of a live cluster: by id, by key, by queue. Nothing here commits an offset or joins a group."""

from __future__ import annotations

from contextlib import suppress

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import BrokerAddress, readable_address
from mqctl.client.admin.nameserver import route, topic_names
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.names_alike import meant
from mqctl.model.queue import MessageQueue
from mqctl.model.spans import FAR
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking
from mqctl.text import sentence

# Group of mqadmin's own reads: every broker has it, and nobody consumes by it.
READER_GROUP = "TOOLS_CONSUMER"


def stored(message: Message) -> StoredMessage:
    """Joins one message with its offset id and its unpacked body."""
    return Unpacker().stored(message)


def by_offset_id(asking: Asking, text: str, brokers: tuple[BrokerAddress, ...]) -> list[StoredMessage]:
    """Returns the message with an offset id, from the broker that it names.

    A broker asked for a place where no message begins may answer with another one: what comes back is compared.

    Raises:
        MessageIdError: `text` is no such id.
        NotFoundError: no broker of the cluster has that address.
    """
    wanted = OffsetId.parse(text)
    if wanted.host not in {broker.address for broker in brokers}:
        raise NotFoundError(
            sentence(
                "snapshot-no-broker-cluster-address",
                "no broker of this cluster has the address {host}",
                host=wanted.host,
            ),
            reason=sentence("snapshot-id-names-address", "the id {text} names that address", text=text),
            remedy=sentence(
                "snapshot-broker-list-unique-id", "mqctl broker list; a unique id is looked up with -t TOPIC"
            ),
        )
    message = asking.cluster.ask(wanted.host, messages.message_at(wanted.physical_offset), asking.deadline)
    return [stored(message)] if message.physical_offset == wanted.physical_offset else []


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuery:
    """A look-up in the index files of brokers.

    Attributes:
        begin_ms, end_ms: store times between which to look, epoch milliseconds.
    """

    topic: str
    key: str
    begin_ms: int = 0
    end_ms: int = FAR
    count: int = 64


def by_key(asking: Asking, query: KeyQuery) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Returns messages with a key, newest last, and why a broker could not be asked. Hash collisions are left out."""
    messages, errors = indexed(asking, query, unique=False)
    return list(map(Unpacker().stored, messages)), errors


def by_unique_key(asking: Asking, query: KeyQuery) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Returns the messages with a unique id; a retried message keeps its own."""
    messages, errors = indexed(asking, query, unique=True)
    return list(map(Unpacker().stored, messages)), errors


def indexed(
    asking: Asking, query: KeyQuery, *, unique: bool, kept_in: str | None = None
) -> tuple[list[Message], list[MqctlError]]:
    """Asks the masters of a topic for what their index has.

    Args:
        kept_in: the topic in which they keep what is meant for the query's, while it waits.
    """
    where = _route(asking, query.topic)
    question = messages.messages_by_key(
        kept_in or query.topic,
        query.key,
        begin_ms=query.begin_ms,
        end_ms=query.end_ms,
        max_count=query.count,
        unique=unique,
    )
    addresses = [data.broker_addrs[0] for data in where.broker_datas if 0 in data.broker_addrs]
    answers = asking.put((address, address, question) for address in addresses)
    newest_first = sorted((item for items in answers.values.values() for item in items), key=_age)
    same = [item for item in newest_first if (item.unique_key == query.key if unique else query.key in item.keys)]
    return same[: query.count], list(answers.errors.values())


def _age(message: Message) -> tuple[int, str, int]:
    return message.store_time_ms, message.store_host, message.physical_offset


def _route(asking: Asking, topic: str) -> TopicRouteData:
    try:
        return asking.cluster.name_servers.ask(route(topic), asking.deadline)
    except NotFoundError as error:
        reason = sentence("name-servers-know-no", "the name servers know no route of it")
        remedy = meant(topic, _topic_names(asking), "mqctl topic list --all")
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic), reason=reason, remedy=remedy
        ) from error


def _topic_names(asking: Asking) -> list[str]:
    try:
        names = asking.cluster.name_servers.ask(topic_names(), asking.deadline)
    except MqctlError:  # it only helps to find the right name: what is missing is told without
        return []
    return list(names)


def broker_names(asking: Asking) -> dict[str, str]:
    """Returns the name of the broker behind each address; without an answer none: messages are shown without it."""
    with suppress(MqctlError):
        return {item.address: item.broker_name for item in asking.cluster.brokers(asking.deadline)}
    return {}


def queue_addresses(asking: Asking, topic: str, *, slaves: bool = False) -> dict[MessageQueue, str]:
    """Returns every readable queue of a topic with its master's address. Raises NotFoundError for a topic nowhere.

    Args:
        slaves: where a broker has no master, take the slave with the smallest id: enough for reading.
    """
    where = _route(asking, topic)
    masters = {
        data.broker_name: readable_address(data) if slaves else data.broker_addrs.get(0) for data in where.broker_datas
    }
    return {
        MessageQueue(topic, data.broker_name, number): address
        for data in sorted(where.queue_datas, key=lambda item: item.broker_name)
        if (address := masters.get(data.broker_name)) is not None
        for number in range(data.read_queue_nums)
    }


def peek(
    asking: Asking, queues: dict[MessageQueue, str], starts: dict[MessageQueue, int], count: int, expression: str = "*"
) -> tuple[list[StoredMessage], dict[MessageQueue, MqctlError]]:
    """Reads up to `count` messages of each queue from its start on; nothing is committed."""
    peeked: list[Message] = []
    errors: dict[MessageQueue, MqctlError] = {}
    left = dict.fromkeys(starts, count)
    places = dict(starts)
    while places:
        questions = (
            (
                queue,
                queues[queue],
                messages.pull(
                    READER_GROUP,
                    queue.topic,
                    queue.queue_id,
                    offset,
                    max_count=min(32, left[queue]),
                    expression=expression,
                ),
            )
            for queue, offset in places.items()
        )
        answers = asking.put(questions)
        errors |= answers.errors
        going: dict[MessageQueue, int] = {}
        for queue, pulled in answers.values.items():
            taken = pulled.messages[: left[queue]]
            peeked += taken
            left[queue] -= len(taken)
            moved = pulled.status in (messages.PullStatus.FOUND, messages.PullStatus.NO_MATCHED_MESSAGE)
            if left[queue] > 0 and moved and pulled.next_offset > places[queue]:
                going[queue] = pulled.next_offset
        places = going
    return list(map(Unpacker().stored, peeked)), errors


def bounds(asking: Asking, queues: dict[MessageQueue, str]) -> dict[MessageQueue, tuple[int, int]]:
    """Returns the first and the next offset of each queue; those that could not be asked are missing."""
    return ask_bounds(asking, queues)[0]


def all_bounds(asking: Asking, queues: dict[MessageQueue, str], so_far: str) -> dict[MessageQueue, tuple[int, int]]:
    """Returns the first and the next offset of each queue.

    Args:
        so_far: what is said of the change that this is asked for.

    Raises:
        UnreachableError, PermissionDeniedError: a broker does not tell.
    """
    bounds, errors = ask_bounds(asking, queues)
    for queue in sorted(set(queues) - set(bounds)):
        problem = sentence(
            "snapshot-queue-not-reported",
            "broker {broker_name} did not report where queue {queue_id} of {topic} begins and ends",
            broker_name=queue.broker_name,
            queue_id=queue.queue_id,
            topic=queue.topic,
        )
        remedy = sentence(
            "snapshot-check-broker-list", "check it with mqctl broker list, or leave it out with --broker"
        )
        raise Gap.of(Part.QUEUES, errors[queue]).as_error(problem, remedy, so_far=so_far)
    return bounds


def ask_bounds(
    asking: Asking, queues: dict[MessageQueue, str]
) -> tuple[dict[MessageQueue, tuple[int, int]], dict[MessageQueue, MqctlError]]:
    """Returns the first and the next offset of each queue, and why some could not be asked."""
    answers = asking.put(
        ((queue, end), address, question(queue.topic, queue.queue_id))
        for queue, address in queues.items()
        for end, question in (("min", ask.min_offset), ("max", ask.max_offset))
    )
    ends = answers.values
    bounds = {
        queue: (ends[queue, "min"], ends[queue, "max"])
        for queue in queues
        if (queue, "min") in ends and (queue, "max") in ends
    }
    return bounds, {queue: error for (queue, _), error in answers.errors.items()}


def sure_bounds(asking: Asking, queues: dict[MessageQueue, str]) -> dict[MessageQueue, tuple[int, int]]:
    """Returns the first and the next offset of each queue. Raises MqctlError when one could not be asked."""
    bounds, errors = ask_bounds(asking, queues)
    for error in errors.values():
        raise error
    return bounds


def at_time(asking: Asking, queues: dict[MessageQueue, str], time_ms: int) -> dict[MessageQueue, int]:
    """Returns the offset at which each queue's messages of an instant begin, exactly.

    Brokers of 4.9 answer with the nearest message and 5.x with its neighbour, so the offset is found by bisection over
    the store times of messages.
    """
    ends = bounds(asking, queues)
    low = {queue: pair[0] for queue, pair in ends.items()}
    high = {queue: pair[1] for queue, pair in ends.items()}
    while True:
        middles = {queue: (low[queue] + high[queue]) // 2 for queue in low if low[queue] < high[queue]}
        if not middles:
            return low
        times = store_times(asking, queues, middles)
        for queue, middle in middles.items():
            store_ms = times.get(queue)
            # A message that is gone or unreadable is older than what can be read.
            if store_ms is None or store_ms < time_ms:
                low[queue] = middle + 1
            else:
                high[queue] = middle


def searched(asking: Asking, queues: dict[MessageQueue, str], time_ms: int) -> dict[MessageQueue, int]:
    """Returns what each broker's own search by time finds (request 29), which is what it resets members to."""
    answers = asking.put(
        (queue, address, ask.offset_by_time(queue.topic, queue.queue_id, time_ms)) for queue, address in queues.items()
    )
    return {queue: max(0, offset) for queue, offset in answers.values.items()}


def store_times(
    asking: Asking, queues: dict[MessageQueue, str], places: dict[MessageQueue, int]
) -> dict[MessageQueue, int]:
    """Returns the store time of one message of each queue; those without are missing."""
    entries = asking.put(
        (queue, queues[queue], ask.queue_entries(queue.topic, queue.queue_id, offset, 1))
        for queue, offset in places.items()
    )
    physical = {
        queue: entry.queue_data[0].physic_offset
        for queue, entry in entries.values.items()
        if entry is not None and entry.queue_data
    }
    records = asking.put((queue, queues[queue], messages.message_at(offset)) for queue, offset in physical.items())
    return {
        queue: message.store_time_ms
        for queue, message in records.values.items()
        if message.physical_offset == physical[queue]
    }
