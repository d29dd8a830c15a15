"""Faults of replication (MQ116, MQ130 to MQ144), injected into the healthy live cluster, and what looks like them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.origin import Origin
from mqctl.model.replication import CopiedTables, HaConnection, HaView, SeenController, SyncState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from tests.rules.live_faults import Scene
from tests.rules.live_snapshots import BROKERS, HOUR, LIVE, MINUTE, NOW

MIB = 1 << 20
END = 1_000 * MIB
FILE = "mappedFileSizeCommitLog"
SLAVE_ADDRESS = "192.0.2.8:10950"


def told(end: int, *, start: int = 0, undispatched: int = 0, up_ms: int = HOUR) -> dict[str, str]:
    return {
        "commitLogMinOffset": str(start),
        "commitLogMaxOffset": str(end),
        "dispatchBehindBytes": str(undispatched),
        "bootTimestamp": str(NOW - up_ms),
    }


def pair(
    slave: dict[str, str],
    *,
    master: dict[str, str] | None = None,
    config: tuple[dict[str, str], dict[str, str]] = ({}, {}),
    view: HaView | None = None,
    slave_view: HaView | None = None,
    copied: CopiedTables | None = None,
    version: str = "V5_3_3",
) -> ClusterSnapshot:
    """The first broker with a slave; both tell what is given, and the settings of each."""
    first = replace(LIVE.brokers[0], runtime=master or told(END), config=config[0], replication=view, version=version)
    second = BrokerSnapshot(
        name=BROKERS[0],
        cluster=first.cluster,
        broker_id=1,
        address=SLAVE_ADDRESS,
        runtime=slave,
        config=config[1],
        replication=slave_view,
        copied=copied,
        version=version,
    )
    return replace(LIVE, brokers=(first, second, *LIVE.brokers[1:]))


def after(earlier: ClusterSnapshot, later: ClusterSnapshot) -> ClusterSnapshot:
    """Two looks, ten seconds apart."""
    origin: Origin = replace(earlier.origin, observed_at_ms=NOW - 10_000)
    return replace(later, earlier=replace(earlier, origin=origin))


def alone(
    config: dict[str, str], *, broker_id: int = 0, version: str = "V4_9_8", view: HaView | None = None
) -> ClusterSnapshot:
    """The first broker with these settings, without a slave."""
    first = replace(
        LIVE.brokers[0], config=config, runtime=told(END), broker_id=broker_id, version=version, replication=view
    )
    return replace(LIVE, brokers=(first, *LIVE.brokers[1:]))


def registered(*ids: dict[int, str]) -> ClusterSnapshot:
    """Name servers, each of which tells these addresses of the first broker."""
    (view,) = LIVE.name_servers
    first, *others = view.endpoints
    views = tuple(
        replace(view, address=f"192.0.2.7:{9876 + number}", endpoints=(replace(first, addresses=known), *others))
        for number, known in enumerate(ids)
    )
    return replace(LIVE, name_servers=views)


def connected(*positions: int) -> HaView:
    return HaView(
        is_master=True,
        log_end=END,
        connections=tuple(
            HaConnection(address=f"192.0.2.99:{5_000 + number}", acknowledged_offset=position, is_in_sync=True)
            for number, position in enumerate(positions)
        ),
    )


def controlled(*controllers: SeenController, state: SyncState | None = None) -> ClusterSnapshot:
    """The first broker with a slave, under these controllers, of which the leader tells this set."""
    view = replace(connected(END), controllers=controllers, sync_state=state)
    return pair(IDLE, view=view, config=CONTROLLED)


def without_master(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The same after the first broker is gone: its slave is there, and routes name its topics."""
    return replace(snapshot, brokers=snapshot.brokers[1:])


TOPICS = tuple(sorted(config.name for config in LIVE.brokers[0].topics))
GROUPS = tuple(sorted(config.name for config in LIVE.brokers[0].groups))
WHOLE = CopiedTables(topics=TOPICS, groups=GROUPS, offset_count=7, is_same=True, changed_ms=NOW - HOUR)
CONTROLLED = ({"enableControllerMode": "true"}, {"enableControllerMode": "true"})
MASTER_ADDRESS = LIVE.name_servers[0].endpoints[0].addresses[0]
IDLE = told(END)
BEHIND = told(END - 5 * MIB)
LEADER = SeenController(address="192.0.2.6:9890", leader="192.0.2.6:9890", answered=True)
LEADERLESS = SeenController(address="192.0.2.6:9890", leader=None, answered=True)
SILENT = SeenController(address="192.0.2.6:9892", leader=None, answered=False)
BOTH = SyncState(in_sync=("192.0.2.8:10911", SLAVE_ADDRESS), out_of_sync=(), master_epoch=3, master="192.0.2.8:10911")
SYNC = {"brokerRole": "SYNC_MASTER"}
SCENES: list[Scene] = [
    ("MQ116", None, pair(told(END - 300 * MIB)), {"behind_bytes": 300 * MIB}),
    ("MQ144", None, pair(told(END - 5 * MIB), master=told(END, start=END - 3 * MIB)), {"deleted_bytes": 2 * MIB}),
    ("MQ130", None, pair(told(0)), {"missing_bytes": END}),
    ("MQ130", "partial", pair(told(END, start=600 * MIB)), {"missing_bytes": 600 * MIB}),
    ("MQ131", None, pair(told(END + 300)), {"ahead_bytes": 300}),
    (
        "MQ132",
        None,
        after(pair(told(END - 165, undispatched=9_000), master=told(END - 165)), pair(told(END, undispatched=9_165))),
        {"undispatched_bytes": 9_165},
    ),
    ("MQ132", "once", pair(told(END, undispatched=9_165)), {"undispatched_bytes": 9_165}),
    (
        "MQ133",
        None,
        after(pair(BEHIND, master=told(END - MIB)), pair(BEHIND)),
        {"behind_bytes": 5 * MIB, "window_ms": 10_000},
    ),
    (
        "MQ133",
        "silent",
        pair(IDLE, slave_view=HaView(is_master=False, written_ms=NOW - MINUTE)),
        {"silent_ms": MINUTE, "behind_bytes": 0},
    ),
    ("MQ134", None, pair(IDLE, view=connected(END, -1)), {"mute_count": 1, "slave_count": 1}),
    ("MQ134", "impossible", pair(IDLE, view=connected(END, 6_075_407_785_597_603_082)), {}),
    ("MQ135", None, pair(IDLE, config=({**SYNC, "inSyncReplicas": "1"}, {})), {"in_sync_replicas": 1}),
    ("MQ136", None, alone({"brokerRole": "ASYNC_MASTER"}, broker_id=1), {"broker_id": 1}),
    ("MQ136", "slave", alone({"brokerRole": "SLAVE"}), {"broker_id": 0}),
    ("MQ137", None, pair(IDLE, config=({FILE: "1073741824"}, {FILE: "98304"})), {"slave_file_bytes": 98_304}),
    (
        "MQ139",
        None,
        pair(IDLE, copied=replace(WHOLE, topics=TOPICS[1:], groups=(), is_same=False)),
        {"topic_count": 1, "group_count": len(GROUPS)},
    ),
    ("MQ139", "none", pair(IDLE, copied=replace(WHOLE, topics=(), is_same=False)), {"topic_count": len(TOPICS)}),
    (
        "MQ139",
        "alone",
        without_master(pair(IDLE, copied=replace(WHOLE, topics=("TBW102",), is_same=None))),
        {"log_bytes": END},
    ),
    ("MQ139", "other", pair(IDLE, copied=replace(WHOLE, is_same=False, differing=TOPICS[:1])), {"age_ms": HOUR}),
    ("MQ139", "offsets", pair(IDLE, copied=replace(WHOLE, offset_count=0)), {}),
    ("MQ139", "defect", pair(IDLE, copied=replace(WHOLE, offset_count=0), version="V5_5_0"), {}),
    ("MQ140", None, pair(told(0), copied=WHOLE, version="V4_9_8"), {"missing_bytes": END}),
    ("MQ140", "connection", pair(IDLE, copied=WHOLE, view=connected()), {"behind_bytes": 0}),
    ("MQ141", None, pair(IDLE, view=connected(), config=CONTROLLED), {"slave_count": 1, "connection_count": 0}),
    ("MQ142", None, controlled(SILENT), {"silent_count": 1, "controller_count": 1, "broker_count": 1}),
    ("MQ142", "leaderless", controlled(LEADERLESS, SILENT), {"silent_count": 1, "controller_count": 2}),
    ("MQ142", "some", controlled(LEADER, SILENT, state=BOTH), {"silent_count": 1, "controller_count": 2}),
    (
        "MQ142",
        "no-master",
        controlled(LEADER, state=replace(BOTH, master=None, dead=BOTH.in_sync)),
        {"candidate_count": 2, "dead_count": 2},
    ),
    ("MQ138", None, registered({0: MASTER_ADDRESS}, {0: "192.0.2.8:10999"}), {"master_count": 2}),
]
STATES: dict[str, ClusterSnapshot] = {
    "MQ116": pair(told(END - 100 * MIB)),
    "MQ130": pair(told(0, up_ms=5_000)),
    "MQ144": pair(told(0), master=told(END, start=END - 3 * MIB)),
    "MQ131": pair(told(END - 32_768)),
    "MQ132": after(pair(told(END, undispatched=9_165)), pair(told(END, undispatched=300))),
    "MQ133": after(pair(IDLE), pair(IDLE)),
    "MQ134": pair(told(0, up_ms=5_000), view=connected(0)),
    "MQ135": pair(IDLE, config=({**SYNC, "inSyncReplicas": "2"}, {"brokerRole": "SLAVE"})),
    "MQ136": alone({"brokerRole": "SLAVE", "enableControllerMode": "true"}, version="V5_3_3"),
    "MQ137": pair(
        IDLE,
        config=(
            {FILE: "1073741824", "mappedFileSizeConsumeQueue": "6000000"},
            {FILE: "1073741824", "mappedFileSizeConsumeQueue": "6000"},
        ),
    ),
    "MQ139": pair(IDLE, copied=replace(WHOLE, topics=TOPICS[1:], is_same=False, changed_ms=NOW - 10_000)),
    "MQ140": pair(told(0, up_ms=5_000), copied=WHOLE, view=connected()),
    "MQ141": alone({**CONTROLLED[0], "brokerRole": "ASYNC_MASTER"}, version="V5_3_3", view=connected()),
    "MQ142": controlled(LEADER, replace(LEADER, address="192.0.2.6:9891"), state=BOTH),
    "MQ138": after(
        registered({0: MASTER_ADDRESS, 1: SLAVE_ADDRESS}), registered({0: MASTER_ADDRESS, 1: "192.0.2.8:10951"})
    ),
}
