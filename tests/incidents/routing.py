"""Incidents of routes and addresses: who is registered where, and what clients find."""

from __future__ import annotations

from tests.incidents.incident import Incident, named
from tests.rules.live_faults import _with_slave
from tests.rules.live_snapshots import LIVE
from tests.rules.setting_faults import SCENES as SETTINGS

# Without symptoms: a group that nobody sees has none.
_UNSEEN = next(scene for code, _, scene, _ in SETTINGS if code == "MQ418")

INCIDENTS: tuple[Incident, ...] = (
    named(5, "apache/rocketmq-operator#227", "name servers list different brokers", "MQ635"),
    named(6, "apache/rocketmq#2744", "a topic on one broker only: its first message created it", "MQ614", healthy=LIVE),
    named(
        7,
        "apache/rocketmq#7600",
        "after restarts topics are closed for writing on a name server",
        "MQ605",
        healthy=LIVE,
    ),
    named(
        24,
        "apache/rocketmq-spring#268",
        "consumers of two clusters all go to one: they share a client instance",
        "MQ625",
    ),
    named(
        25,
        "apache/rocketmq-dashboard#233",
        "the cluster list is empty after controller mode went on: no master yet",
        "MQ609",
        healthy=_with_slave(),
    ),
    named(26, "apache/rocketmq#1989", "brokerName was changed: two names, one address", "MQ619"),
    named(39, "apache/rocketmq#8607", "in Kubernetes a broker registers as 127.0.0.1", "MQ621", variant="loopback"),
    named(42, "apache/rocketmq-dashboard#2504", "clients behind a Proxy: not online, no lag", "MQ418", _UNSEEN, LIVE),
    named(
        46,
        "apache/rocketmq#2090",
        "nothing can be sent or consumed after a change of name servers: clients stay on the old one",
        "MQ624",
    ),
    named(
        47,
        "apache/rocketmq#1450",
        "two clusters have one brokerName on the same name servers: they overwrite each other",
        "MQ622",
    ),
    named(49, "apache/rocketmq#3513", "endless reconnects and rebalances", "MQ219"),
    named(
        53,
        "apache/rocketmq#568",
        "sendDefaultImpl call timeout: the port listenPort-2 is closed",
        "MQ628",
        variant="old",
    ),
)
