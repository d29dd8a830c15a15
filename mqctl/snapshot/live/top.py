"""One look at a whole live cluster for `top`: brokers, topics and groups, as cheap as it can be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import field, replace

from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.model.gap import Gap
from mqctl.model.lag import LagEvidence
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_topic
from mqctl.model.pop_share import summed_shares
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_runtime, ask_topics, list_brokers, masters_of
from mqctl.snapshot.live.lag import gather_live_lag

TOPICS_PERIOD_MS = 30_000
Owners = Mapping[tuple[str, MessageQueue], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds what now.

    Attributes:
        known: the groups whose members all told.
        modes: `POP` or `PULL` by group and topic, where brokers say so or messages are popped.
    """

    owners: Owners
    known: frozenset[str] = frozenset()
    modes: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopLook:
    """What one look found."""

    moment_ms: int
    brokers: tuple[LiveBroker, ...]
    evidence: tuple[LagEvidence, ...]


class TopGatherer:
    """Looks at a cluster again and again; what changes slowly is asked seldom.

    Args:
        scope: groups and topics to look at.

    Attributes:
        cluster: what is looked at.
    """

    def __init__(self, cluster: Cluster, scope: Scope) -> None:
        self.cluster = cluster
        self._scope = scope
        self._topics: dict[str, list[str]] = {}
        self._topic_gaps: dict[BrokerAddress, list[Gap]] = {}
        self._topics_at_ms: int | None = None

    @property
    def groups(self) -> Set[str]:
        """The groups that were named; empty for all."""
        return self._scope.groups

    def look(self, deadline: Deadline, now_ms: int) -> TopLook:
        """Asks brokers for their rates, the ends of queues, and offsets.

        Raises:
            UnreachableError, DeadlineError: no name server answered.
        """
        asking = Asking(self.cluster, deadline)
        brokers = list_brokers(asking, self.cluster.brokers(deadline), self._scope)
        ask_runtime(asking, brokers)
        if self._topics_at_ms is None or now_ms - self._topics_at_ms >= TOPICS_PERIOD_MS:
            self._ask_topics(asking, brokers, now_ms)
        for broker in brokers:
            broker.gaps += self._topic_gaps.get(broker.address, ())
        evidence = gather_live_lag(self.cluster, deadline, now_ms=now_ms, scope=self._scope, more_topics=self._topics)
        return TopLook(now_ms, tuple(brokers), tuple(evidence))

    def _ask_topics(self, asking: Asking, brokers: list[LiveBroker], now_ms: int) -> None:
        masters = masters_of([replace(broker, gaps=[]) for broker in brokers if not broker.gaps])
        ask_topics(asking, masters)
        self._topic_gaps = {broker.address: broker.gaps for broker in masters}
        for broker in masters:
            wanted = [topic for topic in broker.user_topics(self._scope) if not is_system_topic(topic)]
            self._topics[broker.name] = wanted
        self._topics_at_ms = now_ms

    def owners(self, deadline: Deadline, now_ms: int, groups: Collection[str]) -> Holding:
        """Asks the members of some groups which queues they hold, and brokers what they pop."""
        if not groups:
            return Holding({})
        scope = Scope(groups=frozenset(groups), topics=self._scope.topics, brokers=self._scope.brokers)
        try:
            evidence = gather_live_lag(self.cluster, deadline, now_ms=now_ms, scope=scope, with_consumers=True)
        except MqctlError:
            return Holding({})
        held = {
            (group, MessageQueue(topic, item.name or "", queue_id)): held_by
            for item in evidence
            if item.consumption is not None
            for (group, topic, queue_id), held_by in item.consumption.owners.items()
        }
        shares = summed_shares(share for item in evidence for share in item.pop)
        modes = {key: share.shown_mode for key, share in shares.items()}
        return Holding(held, frozenset(group for group, _ in held), modes)
