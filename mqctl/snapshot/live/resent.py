"""Copies of dead letters that were sent again, found by the unique key that letter and copy share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from mqctl.client.admin.broker_messages import message_at, messages_by_key, says_no_message
from mqctl.client.admin.broker_queries import runtime_info
from mqctl.client.admin.nameserver import route
from mqctl.errors import MqctlError, NotFoundError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.numbers import decimal
from mqctl.model.resend import RESENT_FROM, LetterKey
from mqctl.model.spans import FAR
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.protocol.message_id import MessageIdError, OffsetId
from mqctl.snapshot.live.asking import Asking
from mqctl.text import sentence

# Index files keep times in whole seconds.
_SLACK_MS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SentQuery:
    """A letter whose copy is looked for in a topic.

    Attributes:
        since_ms: when the letter was given up, epoch milliseconds: its copy is younger.
    """

    key: LetterKey
    topic: str
    since_ms: int


def target_routes(asking: Asking, topics: Iterable[str]) -> dict[str, TopicRouteData]:
    """Returns the routes of topics; those that live nowhere are missing."""
    routes = {}
    for topic in sorted(set(topics)):
        with suppress(NotFoundError):
            routes[topic] = asking.cluster.name_servers.ask(route(topic), asking.deadline)
    return routes


def find_copies(
    asking: Asking, queries: Iterable[SentQuery], routes: Mapping[str, TopicRouteData]
) -> dict[tuple[LetterKey, str], Message]:
    """Returns the copies that the masters of topics have, by letter and topic.

    Raises:
        UnreachableError: a broker did not tell.
    """
    wanted = [query for query in queries if query.topic in routes]
    answers = asking.put(
        (
            (query, address),
            address,
            messages_by_key(
                query.topic, query.key.unique_key, begin_ms=query.since_ms - _SLACK_MS, end_ms=FAR, unique=True
            ),
        )
        for query in wanted
        for address in masters_in(routes[query.topic])
    )
    if answers.errors:
        (_, address), error = next(iter(answers.errors.items()))
        raise _silent(address, error)
    return {
        (query.key, query.topic): message
        for (query, _), messages in answers.values.items()
        for message in messages
        if _is_copy(message, query.key)
    }


def lost_copies(
    asking: Asking, copies: Mapping[tuple[LetterKey, str], str], routes: Mapping[str, TopicRouteData]
) -> set[tuple[LetterKey, str]]:
    """Returns the copies that their brokers do not have any more, though they are no older than these brokers' logs.

    One that a broker has deleted with its age is not lost, and of one that cannot be asked for nothing is known.

    Args:
        copies: offset ids, by letter and topic.
    """
    masters = {address for where in routes.values() for address in masters_in(where)}
    places = {sent: place for sent, text in copies.items() if (place := _place(text)) and place.host in masters}
    hosts = {place.host for place in places.values()}
    runtimes = asking.put((host, host, runtime_info()) for host in hosts).values
    begins = {
        host: begin
        for host, runtime in runtimes.items()
        if (begin := decimal(runtime.table.get("commitLogMinOffset"))) is not None
    }
    answers = asking.put(
        (sent, place.host, message_at(place.physical_offset))
        for sent, place in places.items()
        if place.host in begins and place.physical_offset >= begins[place.host]
    )
    other = {sent for sent, message in answers.values.items() if not _is_copy(message, sent[0])}
    return other | {sent for sent, error in answers.errors.items() if says_no_message(error)}


def _is_copy(message: Message, letter: LetterKey) -> bool:
    return message.properties.get(RESENT_FROM) == letter.letter_id


def _place(offset_id: str) -> OffsetId | None:
    try:
        return OffsetId.parse(offset_id)
    except MessageIdError:
        return None


def copy_id(message: Message) -> str:
    """Returns the offset id of a copy."""
    return str(OffsetId(message.store_host, message.physical_offset))


def masters_in(where: TopicRouteData) -> list[str]:
    """Returns the addresses of the masters of a route."""
    return [data.broker_addrs[0] for data in where.broker_datas if 0 in data.broker_addrs]


def _silent(address: str, error: MqctlError) -> UnreachableError:
    return UnreachableError(
        sentence(
            "snapshot-broker-did-not-list",
            "broker {address} did not list the letters resent before",
            address=address,
        ),
        reason=str(error),
        remedy=sentence(
            "snapshot-nothing-sent-choose-fewer",
            "nothing was sent; choose fewer letters with --since or --key, raise --timeout, or wait for the broker",
        ),
    )
