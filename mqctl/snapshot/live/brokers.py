"""Brokers of a live cluster: settings, runtime information, topics, groups, producers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import field, replace
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.cluster import BrokerAddress
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import Member, ProducerMembership
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.spans import HOUR_MS
from mqctl.protocol.bodies_pop import MessageRequestModes
from mqctl.protocol.codes import V5_0_0, ResponseCode, version_text
from mqctl.snapshot.live.asking import Answers, Asking, Scope, out_of_reach, refused_with
from mqctl.text import sentence

if TYPE_CHECKING:  # values of a snapshot cost a fifth of a live command's start
    from mqctl.model.access import AccessFile, AccessState
    from mqctl.model.config import DataVersion, SubscriptionGroupConfig, TopicConfig
    from mqctl.model.newest import NewestMessage
    from mqctl.model.replication import CopiedTables, HaView, LogLook
    from mqctl.model.route import NameServerView
    from mqctl.model.snapshot import BrokerSnapshot
    from mqctl.protocol.bodies_client import ProducerTable

T = TypeVar("T")
# What a broker answers that does not know a request: 328 before 4.9.4, 402 before 5.0.
_NOT_SUPPORTED = frozenset({int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)})
PULLING = MessageRequestModes()
_NOBODY = frozenset({1})
# Masters look every 100 ms for something to send: a slave that follows gets there within the sum.
_AGAIN_MS = (0, 50, 100, 200)
_pause = Event()


@dataclass(kw_only=True)
class LiveBroker:
    """What one broker process told, piece by piece.

    Attributes:
        groups: settings of those that are looked at.
        told_groups: names of all groups in its table.
        offsets: committed offsets by (group, topic, queue id).
        absent_topics: topics that it was asked about and says it does not have.
        tells_all_producers: whether it knows the request for all of them.
        lost: whether it left a question unanswered.
        loss: how that one failed, where it was a question about the whole broker.
        access: its users, where it has any and tells them (5.x).
        access_files: the files of its access list (4.9).
        reserved: names of clusters and brokers, for each of which brokers keep a topic.
        newest: the newest messages of its busiest queues.
        table_versions: of its tables of topics and of groups, as far as they were asked.
        copied: of a slave: its tables.
        log_again: of a slave that seemed to be behind: its log at a second look.
        second_file_time_ms: of an old log: store time of the first message of its second file.
        request_modes: who pops and who pulls (402), or why that is not known; None before it was asked.
        registered: whether a name server lists it; False for one that was found at an address.
    """

    address: BrokerAddress
    runtime: dict[str, str] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    topics: dict[str, TopicConfig] = field(default_factory=dict)
    groups: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    told_groups: Collection[str] = ()
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    absent_topics: set[str] = field(default_factory=set)
    producers: tuple[ProducerMembership, ...] = ()
    tells_all_producers: bool = True
    gaps: list[Gap] = field(default_factory=list)
    reserved: frozenset[str] = frozenset()
    replication: HaView | None = None
    table_versions: dict[Part, DataVersion] = field(default_factory=dict)
    copied: CopiedTables | None = None
    log_again: LogLook | None = None
    second_file_time_ms: int | None = None
    newest: tuple[NewestMessage, ...] = ()
    lost: bool = False
    loss: MqctlError | None = None
    access: AccessState | None = None
    access_files: tuple[AccessFile, ...] = ()
    request_modes: MessageRequestModes | MqctlError | None = None
    registered: bool = True

    @property
    def name(self) -> str:
        return self.address.broker_name

    @property
    def file_reserved_ms(self) -> int | None:
        """How long files of its log are kept; None where it does not tell."""
        from mqctl.model.numbers import decimal

        hours = decimal(self.config.get("fileReservedTime"))
        return hours * HOUR_MS if hours is not None else None

    def lose(self, error: MqctlError) -> None:
        """Notes how a question about the whole broker failed: one that was not answered is the last."""
        if out_of_reach(error):
            self.lost, self.loss = True, self.loss or error

    def snapshot(self) -> BrokerSnapshot:
        """Returns what it told of itself and of replication."""
        from mqctl.model.snapshot import BrokerSnapshot

        return BrokerSnapshot(
            name=self.name,
            cluster=self.address.cluster,
            address=self.address.address,
            broker_id=self.address.broker_id,
            version=self.runtime.get("brokerVersionDesc"),
            runtime=self.runtime,
            config=self.config,
            file_reserved_ms=self.file_reserved_ms,
            replication=self.replication,
            log_again=self.log_again,
        )

    def miss(self, part: Part, error: MqctlError, subject: GapSubject | None = None) -> None:
        """Notes that it did not tell `part`, or what `subject` says of it."""
        self.gaps.append(Gap.of(part, error, subject))

    def user_topics(self, scope: Scope) -> list[str]:
        """Returns the topics of applications that are asked for, retry and dead-letter topics among them."""
        return [
            name
            for name in self.topics
            if name not in self.reserved and not is_system_topic(name) and _wanted(name, scope)
        ]


def _wanted(topic: str, scope: Scope) -> bool:
    owner = group_of(topic)
    return scope.has_topic(topic) if owner is None else scope.has_group(owner)


def list_brokers(asking: Asking, addresses: tuple[BrokerAddress, ...], scope: Scope) -> list[LiveBroker]:
    """Returns the broker processes in question; nothing is asked of them yet."""
    reserved = frozenset({name for item in addresses for name in (item.cluster, item.broker_name)})
    chosen = [address for address in addresses if scope.has_broker(address.broker_name)]
    return [LiveBroker(address=address, reserved=reserved) for address in chosen]


def masters_of(brokers: list[LiveBroker]) -> list[LiveBroker]:
    """Returns the masters; only they hold the tables that count."""
    return [broker for broker in brokers if broker.address.is_master]


def speakers_of(brokers: list[LiveBroker]) -> list[LiveBroker]:
    """Returns whom consumers talk to: each master, or the first slave of a name whose master is gone or silent. Of a
    name of which nobody answers it is the first."""
    first: dict[str, LiveBroker] = {}
    for broker in sorted(brokers, key=lambda item: (_told_nothing(item), item.address.broker_id)):
        first.setdefault(broker.name, broker)
    return [broker for broker in brokers if first[broker.name] is broker]


_OUT_OF_REACH = frozenset({Cause.SILENT, Cause.TIMED_OUT, Cause.NOT_ASKED})


def _told_nothing(broker: LiveBroker) -> bool:
    """Tells whether a broker is out of reach, as far as it was asked, now or when a snapshot was saved."""
    return broker.lost or any(
        gap.cause in _OUT_OF_REACH and gap.subject is None and gap.part in (Part.MEMBERS, Part.GROUPS, Part.CONFIG)
        for gap in broker.gaps
    )


def ask_runtime(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks for runtime information, of slaves before their masters: one that follows is never ahead then. Slaves that
    seem to be behind are asked for their logs again."""
    slaves = [broker for broker in brokers if not broker.address.is_master]
    for some in (slaves, masters_of(brokers)):
        for broker, table in _each(asking, some, ask.runtime_info(), Part.RUNTIME):
            broker.runtime = dict(table.table)
    _look_again(asking, brokers)


def _look_again(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks slaves that seem to be behind, or not to have read their own logs, for both once more: at once, and while
    that has not changed again and again, as long as one that follows may need."""
    if all(broker.address.is_master for broker in brokers):
        return
    from mqctl.model.numbers import decimal
    from mqctl.model.replicas import replicas
    from mqctl.model.replication import LogLook

    for wait_ms in _AGAIN_MS:
        shown = replicas(broker.snapshot() for broker in brokers)
        wanted = {item.address for item in shown if (item.behind_bytes or 0) > 0 or item.undispatched_bytes > 0}
        some = [broker for broker in brokers if broker.address.address in wanted and not broker.lost]
        if not some or asking.deadline.remaining_ms <= wait_ms:
            return
        _pause.wait(wait_ms / 1_000)
        answers = asking.put((number, item.address.address, ask.runtime_info()) for number, item in enumerate(some))
        for number, table in answers.values.items():
            end = decimal(table.table.get("commitLogMaxOffset"))
            if end is not None:
                undispatched = decimal(table.table.get("dispatchBehindBytes"))
                some[number].log_again = LogLook(end=end, undispatched_bytes=undispatched)


def ask_settings(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks for properties."""
    for broker, settings in _each(asking, brokers, ask.broker_settings(), Part.CONFIG):
        broker.config = settings


def ask_topics(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks for topic tables."""
    for broker, table in _each(asking, brokers, ask.topic_table(), Part.TOPICS):
        broker.topics = dict(table.topic_config_table)
        broker.table_versions[Part.TOPICS] = table.data_version


def ask_again_about_unlisted(asking: Asking, brokers: list[LiveBroker], views: Iterable[NameServerView]) -> None:
    """Asks masters once more for the version of their topic tables where name servers do not list some topics of them:
    one that was deleted between the two questions made the table young."""
    seen = list(views)

    def unlisted(broker: LiveBroker) -> bool:
        sets = (view.unlisted(broker.name, broker.address.address, broker.topics) for view in seen)
        return any(not is_system_topic(topic) for topics in sets for topic in topics)

    for broker, table in _each(asking, list(filter(unlisted, brokers)), ask.topic_table(), Part.TOPICS):
        broker.table_versions[Part.TOPICS] = table.data_version


def ask_groups(asking: Asking, brokers: list[LiveBroker], scope: Scope) -> None:
    """Asks for consumer group tables."""
    for broker, table in _each(asking, brokers, ask.group_table(), Part.GROUPS):
        groups = table.subscription_group_table
        broker.told_groups = groups.keys()
        broker.table_versions[Part.GROUPS] = table.data_version
        broker.groups = {name: config for name, config in groups.items() if scope.has_group(name)}


def ask_offsets(asking: Asking, brokers: list[LiveBroker], scope: Scope) -> None:
    """Asks for committed offsets."""
    for broker, offsets in _each(asking, brokers, ask.all_consumer_offsets(), Part.CONSUMER_OFFSETS):
        broker.offsets = {
            (group, topic, queue_id): offset
            for key, queues in offsets.offset_table.items()
            for topic, group in [split_offset_key(key)]
            if scope.has_group(group) and _wanted(topic, scope)
            for queue_id, offset in queues.items()
        }


def gather_brokers(asking: Asking, addresses: tuple[BrokerAddress, ...], scope: Scope) -> list[LiveBroker]:
    """Asks every broker process for itself, and masters for their tables as well."""
    brokers = list_brokers(asking, addresses, scope)
    masters = masters_of(brokers)
    ask_runtime(asking, brokers)
    ask_settings(asking, brokers)
    ask_topics(asking, masters)
    ask_groups(asking, speakers_of(brokers), scope)  # where a master is gone, its slave knows who is online
    ask_offsets(asking, masters, scope)
    ask_producers(asking, masters)
    return brokers


def split_offset_key(key: str) -> tuple[str, str]:
    """Splits `topic@group`, as offset tables have it."""
    topic, _, group = key.partition("@")
    return topic, group


def _each(asking: Asking, brokers: list[LiveBroker], question: Question[T], part: Part) -> list[tuple[LiveBroker, T]]:
    """Puts one question to each broker; one that does not answer gets a gap."""
    reachable: list[LiveBroker] = []
    lost: list[LiveBroker] = []
    for broker in brokers:
        (lost if _lost(broker) else reachable).append(broker)
    answers = asking.put((number, broker.address.address, question) for number, broker in enumerate(reachable))
    _note(reachable, answers, part)
    for broker in lost:
        broker.gaps.append(replace(broker.gaps[0], part=part))
    return [(broker, answers.values[number]) for number, broker in enumerate(reachable) if number in answers.values]


def _lost(broker: LiveBroker) -> bool:
    """A broker that did not answer a question about the whole of it is not asked again: one time-out is enough."""
    return broker.lost


def _note(brokers: list[LiveBroker], answers: Answers[int, T], part: Part) -> None:
    for number, broker in enumerate(brokers):
        error = answers.errors.get(number)
        if error is not None:
            broker.miss(part, error)
            broker.lose(error)


def ask_producers(asking: Asking, masters: list[LiveBroker], *, system: bool = False) -> None:
    """Asks for producers; a broker before 4.9.4 cannot tell, and that is no gap.

    Args:
        system: include the producer group that every client has for sending messages back.
    """
    reachable = [broker for broker in masters if not _lost(broker)]
    answers = asking.put((number, item.address.address, ask.all_producers()) for number, item in enumerate(reachable))
    for number, broker in enumerate(reachable):
        error = answers.errors.get(number)
        if error is None:
            broker.producers = tuple(_producer_groups(answers.values[number], system=system))
        elif not refused_with(error, _NOT_SUPPORTED):
            broker.miss(Part.PRODUCERS, error)
        else:
            broker.tells_all_producers = False


def ask_producers_of(asking: Asking, masters: list[LiveBroker], groups: Collection[str]) -> None:
    """Asks brokers that cannot tell all producers for those of `groups`; without any, that is a gap.

    Source: request 328 came with 4.9.4, 204 has always been there and answers 1 when nobody of the group is connected.
    """
    mute = [broker for broker in masters if not broker.tells_all_producers]
    if not groups:
        for broker in mute:
            reason = sentence(
                "snapshot-broker-older-lists-producers",
                "the broker is older than 4.9.4 and lists producers of one group only; name it with --group",
            )
            broker.gaps.append(Gap(part=Part.PRODUCERS, cause=Cause.UNSUPPORTED, reason=reason))
        return
    answers = asking.put(
        ((number, group), broker.address.address, ask.producer_connections(group))
        for number, broker in enumerate(mute)
        for group in groups
    )
    for (number, group), connections in sorted(answers.values.items()):
        members = tuple(
            Member(client_id=item.client_id, address=item.client_addr, language=item.language, version=item.version)
            for item in connections.connection_set
        )
        mute[number].producers += (ProducerMembership(group=group, members=members),)
    for (number, group), error in answers.errors.items():
        if not refused_with(error, _NOBODY):
            mute[number].miss(Part.PRODUCERS, error, GapSubject(producer_group=group))


def _producer_groups(table: ProducerTable, *, system: bool) -> list[ProducerMembership]:
    return [
        ProducerMembership(
            group=group,
            members=tuple(
                Member(
                    client_id=item.client_id,
                    address=item.remote_ip.lstrip("/"),
                    language=item.language,
                    version=item.version,
                    last_heartbeat_ms=item.last_update_timestamp or None,
                )
                for item in clients
            ),
        )
        for group, clients in sorted(table.data.items())
        if system or not is_system_group(group)
    ]


def ask_request_modes(asking: Asking, brokers: Iterable[LiveBroker]) -> None:
    """Fills in who pops and who pulls (402), asking each broker once. One before 5.0 only pulls, and is not asked; nor
    is one that left an earlier question unanswered."""
    questions = []
    for number, broker in enumerate(brokers):
        if broker.request_modes is None:
            if broker.loss is not None:
                broker.request_modes = broker.loss
            elif _is_old(asking, broker):
                broker.request_modes = PULLING
            else:
                questions.append((number, broker))
    places = dict(questions)
    answers = asking.put((number, broker.address.address, ask.request_modes()) for number, broker in questions)
    for number, modes in answers.values.items():
        places[number].request_modes = modes
    for number, error in answers.errors.items():
        places[number].request_modes = PULLING if refused_with(error, _NOT_SUPPORTED) else error


def release_heard(asking: Asking, broker: LiveBroker) -> str | None:
    """Returns the release that a broker names, or else the one that its answers bear, in the same form."""
    named = broker.runtime.get("brokerVersionDesc")
    heard = asking.cluster.links.release_heard(broker.address.address)
    return named if named is not None or not heard else "V" + re.sub(r"[.-]", "_", version_text(heard))


def _is_old(asking: Asking, broker: LiveBroker) -> bool:
    version = broker.runtime.get("brokerVersionDesc")
    if version is not None:
        return not version.startswith("V5")
    heard = asking.cluster.links.get(broker.address.address).peer_version
    return 0 < heard < V5_0_0
