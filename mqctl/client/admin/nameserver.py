"""Name servers: their questions, fail over between several, and what they disagree about."""

from __future__ import annotations

from typing import Generic, TypeVar

from mqctl.client.remoting.addresses import TopAddressing
from mqctl.client.remoting.answers import not_asked
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import CALL_TIMEOUT_MS, AddressedQuestion, Outcome, fan_out
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question, body_of, header_of, nothing
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.secret_names import without_secrets
from mqctl.protocol import requests_namesrv as ns
from mqctl.protocol.bodies_cluster import ClusterInfo, KVTable, TopicList, TopicRouteData
from mqctl.protocol.declared import replaced
from mqctl.protocol.properties import parse_settings
from mqctl.text import joined, sentence

T = TypeVar("T")
ORDER_NAMESPACE = "ORDER_TOPIC_CONFIG"


def route(topic: str) -> Question[TopicRouteData]:
    """Where a topic lives."""
    return Question(ns.GetRouteInfo(topic=topic, accept_standard_json_only=True), body_of(TopicRouteData))


def cluster_info() -> Question[ClusterInfo]:
    """All brokers, and the clusters they belong to."""
    return Question(ns.GetBrokerClusterInfo(), body_of(ClusterInfo))


def topic_names() -> Question[tuple[str, ...]]:
    """All topics."""
    return Question(ns.GetAllTopicList(), lambda answer: TopicList.from_bytes(answer.body).topic_list)


def topics_of_cluster(cluster: str) -> Question[tuple[str, ...]]:
    """The topics of one cluster."""
    request = ns.GetTopicsByCluster(cluster=cluster)
    return Question(request, lambda answer: TopicList.from_bytes(answer.body).topic_list)


def system_topics() -> Question[TopicList]:
    """Names of clusters and brokers, with the address of some broker."""
    return Question(ns.GetSystemTopicListFromNs(), body_of(TopicList))


def kv_value(namespace: str, key: str) -> Question[str | None]:
    """One value of a namespace."""
    request = ns.GetKVConfig(namespace=namespace, key=key)
    return Question(request, lambda answer: ns.GetKVConfigReply.from_ext(answer.ext_fields).value)


def kv_table(namespace: str) -> Question[KVTable]:
    """All of a namespace."""
    return Question(ns.GetKVListByNamespace(namespace=namespace), body_of(KVTable))


def put_kv(namespace: str, key: str, value: str) -> Question[None]:
    """Set one value of a namespace."""
    return Question(ns.PutKVConfig(namespace=namespace, key=key, value=value), nothing)


def delete_kv(namespace: str, key: str) -> Question[None]:
    """Delete one key of a namespace."""
    return Question(ns.DeleteKVConfig(namespace=namespace, key=key), nothing)


def name_server_settings() -> Question[dict[str, str]]:
    """The properties of the name server."""
    return Question(ns.GetNamesrvConfig(), lambda answer: without_secrets(parse_settings(answer.body)))


def wipe_write_permission(broker_name: str) -> Question[ns.WipeWritePermReply]:
    """Clear the write permission of a broker's topics, until its next changed registration."""
    return Question(ns.WipeWritePermOfBroker(broker_name=broker_name), header_of(ns.WipeWritePermReply))


def add_write_permission(broker_name: str) -> Question[ns.AddWritePermReply]:
    """Give a broker's topics their write permission back."""
    return Question(ns.AddWritePermOfBroker(broker_name=broker_name), header_of(ns.AddWritePermReply))


def delete_route(topic: str, cluster: str | None = None) -> Question[None]:
    """Drop a topic's route."""
    return Question(ns.DeleteTopicFromNamesrv(topic=topic, cluster_name=cluster), nothing)


@dataclass(frozen=True, slots=True)
class Views(Generic[T]):
    """What each name server answered to one question, in the order of the addresses."""

    outcomes: tuple[Outcome[T], ...]

    @property
    def differing(self) -> tuple[str, ...]:
        """Addresses whose answer differs from the one that most give (the first of equals)."""
        answers = [(_comparable(outcome.answer), outcome) for outcome in self.outcomes if outcome.error is None]
        if not answers:
            return ()
        keys = [key for key, _ in answers]
        usual = max(keys, key=keys.count)
        return tuple(outcome.ask.address for key, outcome in answers if key != usual)

    @property
    def silent(self) -> tuple[Outcome[T], ...]:
        """Those that gave no answer."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)


def _comparable(value: object) -> object:
    """Returns `value` with lists that have no order of their own sorted."""
    if isinstance(value, TopicRouteData):
        value = replaced(
            value,
            queue_datas=tuple(sorted(value.queue_datas, key=lambda item: item.broker_name)),
            broker_datas=tuple(sorted(value.broker_datas, key=lambda item: item.broker_name)),
        )
        return repr(value.to_json())
    if isinstance(value, ClusterInfo):
        brokers = sorted(
            (name, repr(sorted(data.broker_addrs.items()))) for name, data in value.broker_addr_table.items()
        )
        clusters = sorted((name, tuple(sorted(names))) for name, names in value.cluster_addr_table.items())
        return repr((brokers, clusters))
    if isinstance(value, tuple):
        return repr(sorted(map(repr, value)))
    return repr(value)


class NameServers:
    """The name servers of a cluster: one is asked at a time, the next when it fails.

    Args:
        source: addresses, or the service that names them (asked at the first use and by `refresh`).
        first: index of the address to begin with; Java begins with a random one.
        call_timeout_ms: limit of one question without a deadline of its own.
    """

    def __init__(
        self,
        links: Links,
        source: tuple[str, ...] | TopAddressing,
        *,
        first: int = 0,
        call_timeout_ms: int = CALL_TIMEOUT_MS,
    ) -> None:
        self.links = links
        self.source = source
        self._addresses = source if isinstance(source, tuple) else ()
        self._index = first
        self._timeout_ms = call_timeout_ms

    def addresses(self, deadline: Deadline | None = None) -> tuple[str, ...]:
        """Returns the addresses; asks the address service when none are known yet.

        Raises:
            UnreachableError: the address service did not answer.
        """
        if not self._addresses:
            self.refresh(deadline)
        return self._addresses

    def refresh(self, deadline: Deadline | None = None) -> bool:
        """Asks the address service again and says whether the addresses changed; connections to others are closed.

        Raises:
            UnreachableError: the address service did not answer; the known addresses stay.
        """
        if isinstance(self.source, tuple):
            return False
        fetched = self.source.fetch(deadline)
        before, self._addresses = self._addresses, fetched
        for address in set(before) - set(fetched):
            self.links.drop(address)
        return set(before) != set(fetched)

    def ask(self, question: Question[T], deadline: Deadline | None = None) -> T:
        """Asks the current name server, then the others in turn until one answers.

        Each gets its share of the time that remains, so that one that hangs leaves time for the next.

        Raises:
            UnreachableError, DeadlineError: none answered; the reason names each.
            AnswerError, UnreadableAnswerError: one answered, but not with success.
        """
        limit = deadline or Deadline(self._timeout_ms)
        addresses = self.addresses(limit)
        if not limit.remaining_ms:
            raise not_asked(question.request.code, addresses[self._index % len(addresses)], limit)
        failures: list[MqctlError] = []
        first = self._index
        for step in range(len(addresses)):
            address = addresses[(first + step) % len(addresses)]
            share = limit.within(max(1, limit.remaining_ms // (len(addresses) - step)))
            try:
                value = self.links.ask(address, question, share)
            except (UnreachableError, DeadlineError) as error:
                failures.append(error)
                continue
            if step:
                self._index = first + step
            return value
        if len(failures) == 1:
            raise failures[0]
        kind = DeadlineError if all(isinstance(error, DeadlineError) for error in failures) else UnreachableError
        raise kind(
            sentence("no-name-server-answered", "No name server of {count} answered", count=len(addresses)),
            reason=joined("; ", map(str, failures)),
            remedy=failures[0].remedy,
        )

    def ask_all(self, question: Question[T], deadline: Deadline | None = None) -> Views[T]:
        """Asks every name server; compare what they say with `Views.differing`."""
        limit = deadline or Deadline(self._timeout_ms)
        addresses = self.addresses(limit)
        asks = [AddressedQuestion(address, question) for address in addresses]
        outcomes = {outcome.ask.address: outcome for outcome in fan_out(self.links, asks, limit)}
        return Views(tuple(outcomes[address] for address in addresses))

    def route(self, topic: str, deadline: Deadline | None = None) -> TopicRouteData:
        """Returns where a topic lives. Raises NotFoundAnswerError when it lives nowhere."""
        return self.ask(route(topic), deadline)

    def cluster_info(self, deadline: Deadline | None = None) -> ClusterInfo:
        """Returns all brokers."""
        return self.ask(cluster_info(), deadline)
