"""Faults of addresses and names (MQ62x), injected into the healthy live cluster, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import Subscription
from mqctl.model.route import BrokerEndpoint
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import Scene, each_broker
from tests.rules.live_snapshots import BROKERS, LIVE, saying, with_members

NAMESRV = "192.0.2.7:9876"


def unreached(cause: Cause, broker_id: int = 0, part: Part = Part.RUNTIME) -> ClusterSnapshot:
    """A process of the first broker that told nothing of itself, or left another part open."""
    gap = Gap(part=part, cause=cause, reason="Connection refused")
    if broker_id == 0:
        return each_broker(lambda broker: replace(broker, unavailable=(gap,)), BROKERS[0])
    slave = replace(LIVE.brokers[0], broker_id=broker_id, address="192.0.2.8:10999", memberships=(), unavailable=(gap,))
    return replace(LIVE, brokers=(*LIVE.brokers, slave))


def registered(address: str, *, servers: str = NAMESRV, also_in: tuple[str, ...] = ()) -> ClusterSnapshot:
    """The second broker has this address, and the name server is asked at `servers`."""
    (view,) = LIVE.name_servers
    first, second = view.endpoints
    moved: BrokerEndpoint = replace(second, addresses={0: address}, also_in=also_in)
    return replace(LIVE, name_servers=(replace(view, address=servers, endpoints=(first, moved)),))


def telling_settings(**config: str) -> ClusterSnapshot:
    """The first broker tells these settings of its own."""
    return each_broker(lambda broker: replace(broker, config=config), BROKERS[0])


def with_slave(**config: str) -> ClusterSnapshot:
    """The first broker and its slave tell these settings of their own."""
    base = telling_settings(**config)
    first = base.brokers[0]
    slave = replace(first, broker_id=1, address="192.0.2.8:10999", memberships=())
    (view,) = base.name_servers
    endpoint = replace(view.endpoints[0], addresses={**view.endpoints[0].addresses, 1: "192.0.2.8:10999"})
    servers = (replace(view, endpoints=(endpoint, *view.endpoints[1:])),)
    return replace(base, brokers=(*base.brokers, slave), name_servers=servers)


def asking(servers: str) -> ClusterSnapshot:
    """All members ask these name servers; brokers register with the one that was asked."""
    base = each_broker(lambda broker: replace(broker, config={"namesrvAddr": NAMESRV}))
    return replace(base, running=tuple(saying(PROP_NAMESERVER_ADDR=servers)(info) for info in LIVE.running))


def wanting(topic: str) -> ClusterSnapshot:
    """Both members subscribe one topic more."""
    more = Subscription(topic=topic)
    wanted = (*LIVE.running[0].subscriptions, more)
    base = with_members(subscriptions=wanted)
    return replace(base, running=tuple(replace(info, subscriptions=wanted) for info in LIVE.running))


def half_asked(subject: GapSubject, cause: Cause = Cause.SILENT) -> ClusterSnapshot:
    """A second name server told nothing, or less."""
    gap = Gap(part=Part.ROUTES, cause=cause, reason="Connection refused", subject=subject)
    return replace(LIVE, unavailable=(gap,))


def deleted_on_second() -> ClusterSnapshot:
    """The second broker does not have Pay, and the name server has its old route."""
    return each_broker(
        lambda broker: replace(
            broker,
            topics=tuple(item for item in broker.topics if item.name != "Pay"),
            queues=(),
            consumer_offsets=(),
        ),
        BROKERS[1],
    )


OTHER = "192.0.2.8:10921"
SCENES: list[Scene] = [
    ("MQ620", None, unreached(Cause.SILENT), {"broker_id": 0}),
    ("MQ620", "silent", unreached(Cause.TIMED_OUT), {"broker_id": 0}),
    ("MQ621", "malformed", registered("192.0.2.8:10921 # of the second"), {"broker_id": 0}),
    ("MQ621", "wildcard", registered("0.0.0.0:10921"), {"broker_id": 0}),
    ("MQ621", "loopback", registered("127.0.0.1:10921"), {"broker_id": 0}),
    ("MQ622", None, registered(OTHER, also_in=("D",)), {"cluster_count": 2}),
    ("MQ622", "other", telling_settings(brokerName="broker-q", brokerClusterName="C"), {"broker_id": 0}),
    ("MQ623", None, telling_settings(brokerIP1="192.0.2.88", listenPort="10911"), {"broker_id": 0}),
    ("MQ624", None, asking("192.0.2.77:9876"), {"lost_count": 2, "member_count": 2}),
    ("MQ625", None, wanting("Payments"), {"member_count": 2}),
    ("MQ626", None, half_asked(GapSubject(address="192.0.2.17:9876")), {"answering_count": 1}),
    ("MQ627", None, deleted_on_second(), {"missing_count": 1, "broker_count": 2}),
]
STATES: dict[str, ClusterSnapshot] = {
    "MQ620": unreached(Cause.TIMED_OUT, part=Part.TOPICS),
    "MQ621": registered("127.0.0.1:10921", servers="127.0.0.1:9876"),
    "MQ622": with_slave(brokerName=BROKERS[0], brokerClusterName="C"),
    "MQ623": telling_settings(
        brokerIP1="192.0.2.8", listenPort="10911", brokerIP2="198.51.100.8", haListenPort="10912"
    ),
    "MQ624": asking("192.0.2.17:9876;192.0.2.7:9876"),
    "MQ625": wanting("Refund"),
    "MQ626": half_asked(GapSubject(address="192.0.2.17:9876"), Cause.REFUSED),
    "MQ627": each_broker(
        lambda broker: replace(broker, topics=tuple(replace(item, perm=4) for item in broker.topics)), BROKERS[1]
    ),
}
