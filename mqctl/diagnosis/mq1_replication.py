"""MQ116, MQ130 to MQ138: logs of slaves, and what is really replicated."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.replicas import Replica, ReplicaState, replicas
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot

_RUNTIME = (Part.RUNTIME,)
_COPYING = (Part.RUNTIME, Part.REPLICATION)
# haSlaveFallbehindMax: beyond it a synchronous master of 4.9 answers that the slave is not available.
_SLAVE_BEHIND_BYTES = 256 << 20
# A slave needs up to 10 s for its first bytes; each file of its master takes a while.
_STARTING_MS = 60_000
# haHousekeepingInterval: a slave reports every 5 s, and is given up after 20 s.
_SILENT_MS = 20_000
_NAMED = 3
_FILE_SIZE = "mappedFileSizeCommitLog"


def of_slave(
    replica: Replica,
    *,
    variant: str | None = None,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.HIGH,
    names: str | None = None,
    **evidence: Value,
) -> Verdict:
    """Returns what is wrong with a slave; `names` is a parameter, as numbers are evidence."""
    return Verdict(
        subject=Subject(kind=SubjectKind.BROKER, broker=replica.name),
        params={
            "broker": replica.name,
            "broker_id": replica.broker_id,
            "address": replica.address,
            **({} if names is None else {"names": names}),
        },
        evidence=evidence,
        variant=variant,
        severity=severity,
        confidence=confidence,
    )


def starting(case: ClusterCase, name: str, broker_id: int) -> bool:
    """Whether a broker was started within the last minute."""
    for broker in case.snapshot.brokers:
        if (broker.name, broker.broker_id) == (name, broker_id):
            booted_ms = decimal(broker.runtime.get("bootTimestamp"))
            return booted_ms is not None and case.now_ms - booted_ms < case.settings.scaled(_STARTING_MS)
    return False


def _before(case: ClusterCase) -> dict[tuple[str, int], Replica]:
    earlier = case.snapshot.earlier
    slaves = replicas(earlier.brokers) if earlier is not None else []
    return {(replica.name, replica.broker_id): replica for replica in slaves}


@cluster_rule("MQ116", Severity.ERROR, source="HAService", needs=_RUNTIME, playbook="slave-behind")
def slave_behind(case: ClusterCase) -> Iterator[Verdict]:
    """A slave so far behind its master that a synchronous master gives it up."""
    for replica in replicas(case.snapshot.brokers):
        behind = replica.behind_bytes
        if behind is not None and behind > _SLAVE_BEHIND_BYTES and replica.end:
            yield of_slave(replica, behind_bytes=behind)


@cluster_rule(
    "MQ130", Severity.ERROR, source="HAConnection.WriteSocketService", needs=_COPYING, playbook="slave-behind"
)
def slave_incomplete(case: ClusterCase) -> Iterator[Verdict]:
    """A slave that has nothing of its master's log, or not its beginning; a new one gets the last file only."""
    copies = {(broker.name, broker.broker_id): broker.copied for broker in case.snapshot.brokers}
    for replica in replicas(case.snapshot.brokers):
        copied = copies[replica.name, replica.broker_id]
        if replica.state is ReplicaState.EMPTY and not starting(case, replica.name, replica.broker_id):
            if copied is not None and copied.is_same:
                continue  # MQ140: the master is within reach, its replication port is not
            yield of_slave(replica, missing_bytes=(replica.master_end or 0) - (replica.master_start or 0))
        elif replica.start is not None and replica.master_start is not None and replica.end:
            missing = replica.start - replica.master_start
            if missing > 0:
                yield of_slave(
                    replica,
                    variant="partial",
                    severity=Severity.WARNING,
                    confidence=Confidence.MEDIUM,
                    missing_bytes=missing,
                )


@cluster_rule("MQ131", Severity.ERROR, source="HAService.HAClient", needs=_RUNTIME, playbook="slave-behind")
def slave_ahead(case: ClusterCase) -> Iterator[Verdict]:
    """A slave whose log ends behind its master's: what it has there, the master has lost or never had."""
    for replica in replicas(case.snapshot.brokers):
        if replica.state is ReplicaState.AHEAD and replica.behind_bytes is not None:
            yield of_slave(replica, ahead_bytes=-replica.behind_bytes)


@cluster_rule(
    "MQ132", Severity.ERROR, source="CommitLog.checkMessageAndReturnSize", needs=_RUNTIME, playbook="slave-behind"
)
def slave_diverged(case: ClusterCase) -> Iterator[Verdict]:
    """A slave that cannot read its own log up to its end: other bytes than its master's were appended to it."""
    before = _before(case)
    for replica in replicas(case.snapshot.brokers):
        if replica.state is not ReplicaState.DIVERGED:
            continue
        earlier = before.get((replica.name, replica.broker_id))
        if earlier is None:
            yield of_slave(
                replica,
                variant="once",
                severity=Severity.WARNING,
                confidence=Confidence.LOW,
                undispatched_bytes=replica.undispatched_bytes,
            )
        elif _reads_nothing(earlier, replica):
            yield of_slave(replica, undispatched_bytes=replica.undispatched_bytes)


def _reads_nothing(earlier: Replica, replica: Replica) -> bool:
    """Whether a slave had something to put into queues in both looks and got no further; one that is at it always has
    something, and more or less of it."""
    if not earlier.undispatched_bytes or earlier.dispatched is None or replica.dispatched is None:
        return False
    return replica.dispatched <= earlier.dispatched


@cluster_rule("MQ133", Severity.ERROR, source="HAService.HAClient", needs=_COPYING, playbook="slave-behind")
def replication_stopped(case: ClusterCase) -> Iterator[Verdict]:
    """A slave that got nothing while its master took messages, or that told its master nothing for 20 s."""
    before = _before(case)
    views = {(broker.name, broker.broker_id): broker.replication for broker in case.snapshot.brokers}
    for replica in replicas(case.snapshot.brokers):
        if replica.state in (ReplicaState.EMPTY, ReplicaState.NO_MASTER):
            continue
        view = views.get((replica.name, replica.broker_id))
        silent_ms = case.now_ms - view.written_ms if view is not None and view.written_ms else 0
        earlier = before.get((replica.name, replica.broker_id))
        overdue = silent_ms > case.settings.scaled(_SILENT_MS)
        if overdue and not starting(case, replica.name, replica.broker_id):
            yield of_slave(replica, variant="silent", silent_ms=silent_ms, behind_bytes=replica.behind_bytes)
        elif earlier is not None and _stood(earlier, replica):
            yield of_slave(replica, behind_bytes=replica.behind_bytes, window_ms=case.window_ms)


def _stood(earlier: Replica, replica: Replica) -> bool:
    """Whether a slave was behind, its master went on, and the slave's log did not grow."""
    if earlier.end is None or earlier.master_end is None or replica.end is None or replica.master_end is None:
        return False
    return earlier.end == replica.end < earlier.master_end <= replica.master_end


@cluster_rule("MQ134", Severity.ERROR, source="DefaultHAConnection", needs=_COPYING, playbook="broker-down")
def strangers(case: ClusterCase) -> Iterator[Verdict]:
    """Connections to the replication port that are no slaves, and count as such (5.x tells its connections)."""
    replicas_seen = replicas(case.snapshot.brokers)
    ahead = {item.name for item in replicas_seen if item.state is ReplicaState.AHEAD}
    for broker in case.snapshot.brokers:
        if broker.replication is None or not broker.replication.is_master:
            continue
        end = broker.replication.log_end
        subject = Subject(kind=SubjectKind.BROKER, broker=broker.name)
        mute = [one.address for one in broker.replication.connections if one.acknowledged_offset < 0]
        if mute:
            slaves = sum(item.name == broker.name for item in replicas_seen)
            yield Verdict(
                subject=subject,
                params={"broker": broker.name, "addresses": ", ".join(mute[:_NAMED])},
                evidence={"mute_count": len(mute), "slave_count": slaves},
                severity=Severity.WARNING,
            )
        for connection in broker.replication.connections:
            position = connection.acknowledged_offset
            if end is not None and position > end and broker.name not in ahead:
                yield Verdict(
                    subject=subject,
                    params={"broker": broker.name, "address": connection.address},
                    evidence={"reported_offset": position},
                    variant="impossible",
                )


@cluster_rule(
    "MQ135", Severity.WARNING, source="CommitLog.handleHA", needs=(Part.RUNTIME, Part.CONFIG), playbook="failover-drill"
)
def sync_without_waiting(case: ClusterCase) -> Iterator[Verdict]:
    """A SYNC_MASTER of 5.x whose sends wait for no slave; 4.9 waits for one."""
    for broker in case.snapshot.brokers:
        config = broker.config
        if config.get("brokerRole") != "SYNC_MASTER" or config.get("enableControllerMode") == "true":
            continue
        wanted = decimal(config.get("inSyncReplicas")) or 1
        if _is_v5(broker) and wanted <= 1:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name},
                evidence={"in_sync_replicas": wanted},
            )


def _is_v5(broker: BrokerSnapshot) -> bool:
    return (broker.version or "").startswith("V5")


@cluster_rule("MQ136", Severity.ERROR, source="BrokerStartup", needs=(Part.CONFIG,), playbook="broker-down")
def role_and_id(case: ClusterCase) -> Iterator[Verdict]:
    """A broker whose role and id contradict each other; nothing checks that they fit."""
    for broker in case.snapshot.brokers:
        role, by_controller = broker.config.get("brokerRole"), broker.config.get("enableControllerMode") == "true"
        if role is None or broker.broker_id is None or by_controller:
            continue
        if (role == "SLAVE") == (broker.broker_id == MASTER_ID):
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name, "role": role, "broker_id": broker.broker_id, "address": broker.address},
                evidence={"broker_id": broker.broker_id},
                variant="slave" if role == "SLAVE" else None,
            )


@cluster_rule("MQ137", Severity.ERROR, source="CommitLog.appendData", needs=(Part.CONFIG,), playbook="slave-behind")
def other_file_sizes(case: ClusterCase) -> Iterator[Verdict]:
    """A slave whose log files have another size than its master's: it stops at the first block that does not fit."""
    sizes = {
        broker.name: decimal(broker.config.get(_FILE_SIZE))
        for broker in case.snapshot.brokers
        if broker.broker_id == MASTER_ID
    }
    for broker in case.snapshot.brokers:
        own, master = decimal(broker.config.get(_FILE_SIZE)), sizes.get(broker.name)
        if broker.broker_id and own is not None and master is not None and own != master:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name, "broker_id": broker.broker_id},
                evidence={"slave_file_bytes": own, "master_file_bytes": master},
            )


@cluster_rule(
    "MQ138", Severity.ERROR, source="RouteInfoManager.registerBroker", needs=(Part.ROUTES,), playbook="cluster-mixup"
)
def two_masters(case: ClusterCase) -> Iterator[Verdict]:
    """Two processes that take turns as master of one broker name: whoever registered last has the route."""
    looks = [case.snapshot, *([case.snapshot.earlier] if case.snapshot.earlier is not None else [])]
    addresses: dict[str, set[str]] = {}
    for look in looks:
        for view in look.name_servers:
            for endpoint in view.endpoints:
                if MASTER_ID in endpoint.addresses:
                    addresses.setdefault(endpoint.name, set()).add(endpoint.addresses[MASTER_ID])
    for name, names in sorted(addresses.items()):
        if len(names) > 1:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=name),
                params={"broker": name, "addresses": ", ".join(sorted(names))},
                evidence={"master_count": len(names)},
                confidence=Confidence.MEDIUM,
            )
