"""MQ139, MQ140, MQ145: tables of slaves, slaves without a connection, and processes that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mqctl.model.finding import Reason, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import is_system_group, is_system_topic
from mqctl.model.replicas import Replica, ReplicaState, replicas
from mqctl.model.replication import CopiedTables
from mqctl.model.route import MASTER_ID, SeenBroker, SeenProcess, gone_processes
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule
from mqctl.rules.mq1.replication import of_slave, starting

_STATUS = "mqctl ha status {source} {broker}"

# Two periods of copying, after which a change of the master's has arrived.
_COPIED_MS, _COPIED_V5_MS = 20_000, 120_000
_NAMED = 3
# apache/rocketmq#10284: its slaves cannot read the offsets of their masters once the table has offsets of pulling.
_LOSES_OFFSETS = frozenset({"V5_5_0"})


@rule(
    "MQ139",
    Severity.ERROR,
    source="SlaveSynchronize",
    needs=(Part.RUNTIME, Part.TOPICS, Part.REPLICATION),
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave's tables differ from its master's",
        speaks="a slave lacks a topic and all groups of its master",
        silent="its master made the topic ten seconds ago",
        what={
            "": "Slave {broker_id} of {broker} is missing {topic_count:topic} and {group_count:group} that its "
            "master has: {names}.",
            "none": "Slave {broker_id} of {broker} knows none of its master's {topic_count:topic}.",
            "alone": "Slave {broker_id} of {broker} has a log of {log_bytes} but no topics; its master is gone.",
            "other": "Slave {broker_id} of {broker} has other settings than its master for {names}; the master's tables "
            "last changed {age_ms} ago.",
            "offsets": "Slave {broker_id} of {broker} has no consumer offsets; its master has {offset_count}.",
            "defect": "Slave {broker_id} of {broker} has no consumer offsets; its master has {offset_count}. It is a defect of "
            "RocketMQ 5.5.0, not of this cluster: the slave cannot read the table of offsets (apache/rocketmq#10284).",
        },
        effect="If the master dies, consumers cannot read this slave although its log has the messages (code 17, 22 "
        "or 26), or they start from a wrong offset.",
        advice="Check that the slave reaches both ports of its master: topics come from listenPort - 2, groups and offsets from listenPort. "
        "Topics created on the slave are lost at the next copy. Where RocketMQ 5.5.0 cannot read the offsets, update the "
        "slave to a release with the fix (apache/rocketmq#10287); until then copy the master's config/consumerOffset.json "
        "before a failover.",
        explain="4.9 copies the tables every 10 s; 5.x copies them 60 s after its start and then every 60 s. Until "
        "the first copy a slave has the log but no topics. Contents are compared: slaves of 5.3.3 count versions of their own. "
        "The sign of the defect of 5.5.0 in the slave's broker.log is SyncConsumerOffset Exception with JSONException, "
        "every 10 s.",
        next_command=_STATUS,
    ),
)
def tables_differ(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A slave without the topics, groups or offsets of its master: what it has of the log, nobody can read there."""
    masters = {broker.name: broker for broker in case.snapshot.brokers if broker.broker_id == MASTER_ID}
    copies = {(broker.name, broker.broker_id): broker.copied for broker in case.snapshot.brokers}
    for replica in replicas(case.snapshot.brokers):
        copied = copies.get((replica.name, replica.broker_id))
        if copied is not None:
            yield from _tables(case, replica, masters.get(replica.name), copied)


def _tables(
    case: ClusterCase, replica: Replica, master: BrokerSnapshot | None, copied: CopiedTables
) -> Iterator[Verdict | Unknown]:
    if master is None:
        if replica.end and not _applications(case, copied.topics):
            yield of_slave(replica, variant="alone", log_bytes=replica.end - (replica.start or 0))
        return
    topics = _applications(case, [config.name for config in master.topics])
    missing = sorted(topics - {*copied.topics})
    if topics and len(missing) == len(topics):
        verdict = of_slave(replica, variant="none", topic_count=len(topics))
        just_made = copied.changed_ms is not None and not _is_settled(case, master, copied)
        if just_made or starting(case, replica.name, replica.broker_id):
            yield restarting(verdict.subject, Reason.RESTARTING_SLAVE, len(topics))
        else:
            yield verdict
        return
    if not _is_settled(case, master, copied):
        return
    groups = {config.name for config in master.groups if not is_system_group(config.name)}
    lacking = [*missing, *sorted(groups - {*copied.groups})]
    if lacking:
        yield of_slave(
            replica, names=_named(lacking), topic_count=len(missing), group_count=len(lacking) - len(missing)
        )
    elif copied.differing:
        yield of_slave(
            replica,
            variant="other",
            severity=Severity.WARNING,
            names=_named(copied.differing),
            age_ms=case.now_ms - (copied.changed_ms or 0),
        )
    elif copied.offset_count == 0 and not starting(case, replica.name, replica.broker_id):
        count = _old_offsets(case, master)
        if count:
            defect = master.version in _LOSES_OFFSETS
            yield of_slave(replica, variant="defect" if defect else "offsets", offset_count=count)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")


def _old_offsets(case: ClusterCase, master: BrokerSnapshot) -> int:
    """Returns how many offsets of a master a slave must have copied: those of a group whose members were all started
    since the last copy may be younger than that."""
    period_ms = _copied_ms(master)
    started: dict[str, list[int]] = {}
    for info in case.snapshot.running:
        started.setdefault(info.group, []).append(info.start_time_ms or 0)
    young = {group for group, times in started.items() if case.now_ms - min(times) < period_ms}
    return sum(state.group not in young for state in master.consumer_offsets)


def _applications(case: ClusterCase, topics: Iterable[str]) -> set[str]:
    """Returns the topics of applications; every broker has some of its own, named after it and its cluster."""
    own = {name for broker in case.snapshot.brokers for name in (broker.name, broker.cluster)}
    return {name for name in topics if name not in own and not is_system_topic(name)}


def _is_settled(case: ClusterCase, master: BrokerSnapshot, copied: CopiedTables) -> bool:
    """Whether the master's last change of its tables is so old that the slave must have copied it."""
    if copied.changed_ms is None:
        return False
    return case.now_ms - copied.changed_ms > _copied_ms(master)


def _copied_ms(master: BrokerSnapshot) -> int:
    return _COPIED_V5_MS if (master.version or "").startswith("V5") else _COPIED_MS


@rule(
    "MQ140",
    Severity.ERROR,
    source="BrokerOuterAPI",
    needs=(Part.RUNTIME, Part.TOPICS, Part.REPLICATION),
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave does not reach its master's replication port",
        speaks="a slave has its master's tables and nothing of its log",
        silent="so has one that started five seconds ago",
        what={
            "": "Slave {broker_id} of {broker} has its master's topics and groups, but none of its {missing_bytes} "
            "of log.",
            "connection": "Nobody is connected to the replication port of {broker}, whose slave {broker_id} is registered.",
        },
        effect="Nothing is replicated. A SYNC_MASTER of 4.9 answers sends with SLAVE_NOT_AVAILABLE, one of 5.x with inSyncReplicas=2 with FLUSH_SLAVE_TIMEOUT.",
        advice="Open haListenPort (listenPort + 1 by default), and set brokerIP2 to an address that the slave can "
        "reach; behind NAT or in a container the default is often wrong.",
        explain="The tables are copied through the request port, the log through haServerAddr, which is "
        "brokerIP2:haListenPort. A slave in the first minute after its start or its master's is not judged. "
        "4.9 does not report who is connected; there an empty log is the evidence.",
        next_command="mqctl broker list {source}",
        live_command="mqctl broker reach {source} {broker}",
    ),
)
def log_out_of_reach(case: ClusterCase) -> Iterator[Verdict]:
    """A slave that copies its master's tables and has no connection to its replication port."""
    masters = {broker.name: broker for broker in case.snapshot.brokers if broker.broker_id == MASTER_ID}
    copies = {(broker.name, broker.broker_id): broker.copied for broker in case.snapshot.brokers}
    for replica in replicas(case.snapshot.brokers):
        copied, master = copies.get((replica.name, replica.broker_id)), masters.get(replica.name)
        if (
            master is None
            or copied is None
            or any(starting(case, replica.name, item) for item in (MASTER_ID, replica.broker_id))
        ):
            continue
        if replica.state is ReplicaState.EMPTY and copied.is_same:
            yield of_slave(replica, missing_bytes=replica.master_end)
        elif master.replication is not None and not master.replication.connections:
            yield of_slave(replica, variant="connection", behind_bytes=replica.behind_bytes)


@rule(
    "MQ145",
    Severity.WARNING,
    source="RouteInfoManager.onChannelDestroy",
    needs=(Part.ROUTES,),
    playbook="slave-behind",
    texts=RuleTexts(
        title="A process of a broker is not registered any more",
        speaks="a slave was registered a minute ago and is not now",
        silent="a slave came back at another address, with the same id",
        what={
            "": "Process {broker_id} of {broker} ({address}) was registered at {last_seen_time_ms}, and is not now. "
            "{registered_count:process} of {broker} {registered_count:/is/are} registered.",
        },
        effect="The messages of {broker} exist in one copy less. Where it was the only slave, a master that dies takes them with "
        "it, and nothing reads on in its place; a master that waits for its slaves (SYNC_MASTER) refuses sends or delays them.",
        advice="Start it again, or find out why it ended. If it was taken away on purpose, nothing is left to do: it is forgotten a "
        "day after it was seen last.",
        explain="Name servers forget a process as soon as its connection breaks. mqctl notes on this host, each time, which "
        "processes are registered, by name and id; so only what was seen from here is missed. Where a controller elects masters, "
        "MQ141 tells of members that are out of the set.",
        next_command=_STATUS,
    ),
)
def process_gone(case: ClusterCase) -> Iterator[Verdict]:
    """Processes that were registered within a day and are not, of brokers of which others are."""
    registered: dict[str, dict[int, str]] = {}
    for endpoint in (item for view in case.snapshot.name_servers for item in view.endpoints):
        registered.setdefault(endpoint.name, {}).update(endpoint.addresses)
    for seen in _seen_lately(case):
        there = registered.get(seen.name, {})
        for gone in gone_processes(seen, there, case.now_ms):
            if gone.broker_id == MASTER_ID:
                continue  # MQ609 tells of a master that is gone
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=seen.name),
                params={"broker": seen.name, "broker_id": gone.broker_id, "address": gone.address},
                evidence={"last_seen_time_ms": gone.last_seen_time_ms, "registered_count": len(there)},
            )


def _seen_lately(case: ClusterCase) -> Iterator[SeenBroker]:
    """Yields what was noted before, with what the earlier look of this diagnosis saw."""
    seen = {item.name: item for item in case.snapshot.seen_brokers}
    earlier = case.snapshot.earlier
    for endpoint in (item for view in earlier.name_servers for item in view.endpoints) if earlier else ():
        known = seen.get(endpoint.name) or SeenBroker(cluster=endpoint.cluster, name=endpoint.name, address=None)
        moment_ms = case.now_ms - case.window_ms
        before = {item.broker_id: item for item in known.processes} | {
            number: SeenProcess(broker_id=number, address=address, last_seen_time_ms=moment_ms)
            for number, address in endpoint.addresses.items()
        }
        seen[endpoint.name] = replace(known, processes=tuple(before[number] for number in sorted(before)))
    yield from (seen[name] for name in sorted(seen))
