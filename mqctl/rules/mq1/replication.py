"""MQ116, MQ130 to MQ138, MQ144: logs of slaves, and what is really replicated."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.replicas import Replica, ReplicaState, replicas
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_STATUS = "mqctl ha status {source} {broker}"
_CONFIG = "mqctl broker config {source} {broker}"

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
_CUT_OFF = ReplicaState.CUT_OFF


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


@rule(
    "MQ116",
    Severity.ERROR,
    source="HAService",
    needs=_RUNTIME,
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave is far behind its master",
        speaks="a slave is 300 MiB behind its master",
        silent="a slave is 100 MiB behind, within what it may be",
        what={"": "Slave {broker_id} of {broker} is {behind_bytes} behind its master."},
        effect="A SYNC_MASTER of 4.9 answers sends with SLAVE_NOT_AVAILABLE (11); what the slave has not copied is "
        "lost if the master dies.",
        advice="Check the network between the two and the slave's disk.",
        explain="Compares the ends of both commit logs; beyond 256 MiB a SYNC_MASTER no longer waits for its slave.",
        next_command=_STATUS,
    ),
)
def slave_behind(case: ClusterCase) -> Iterator[Verdict]:
    """A slave so far behind its master that a synchronous master gives it up."""
    for replica in replicas(case.snapshot.brokers):
        behind = replica.behind_bytes
        if behind is not None and behind > _SLAVE_BEHIND_BYTES and replica.end and replica.state is not _CUT_OFF:
            yield of_slave(replica, behind_bytes=behind)


@rule(
    "MQ144",
    Severity.ERROR,
    source="HAConnection.WriteSocketService",
    needs=_RUNTIME,
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave that can never catch up",
        speaks="a slave's log ends 2 MiB before its master's begins",
        silent="an empty slave, which begins with its master's newest file",
        what={
            "": "The log of slave {broker_id} of {broker} ends {deleted_bytes} before its master's log begins: what it "
            "needs next is deleted."
        },
        effect="The slave gets nothing more, however long it runs. If the master dies, all that is newer is lost.",
        advice="Stop the slave and empty its store, or copy the master's store to it, then start it again. See why it was away "
        "for so long: its process, its disk, the network.",
        explain="A slave asks for its log from where it ends, and a master sends what it has from there on. Retention deleted "
        "that part while the slave was away. An empty slave begins with the newest file.",
        next_command=_STATUS,
    ),
)
def slave_out_of_reach(case: ClusterCase) -> Iterator[Verdict]:
    """A slave whose log ends before the master's begins."""
    for replica in replicas(case.snapshot.brokers):
        if replica.state is _CUT_OFF and replica.end is not None and replica.master_start is not None:
            yield of_slave(replica, deleted_bytes=replica.master_start - replica.end)


@rule(
    "MQ130",
    Severity.ERROR,
    source="HAConnection.WriteSocketService",
    needs=_COPYING,
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave does not have its master's whole log",
        speaks="a slave has nothing of its master's log",
        silent="a slave that started a few seconds ago has nothing yet",
        what={
            "": "Slave {broker_id} of {broker} is empty; its master has {missing_bytes}.",
            "partial": "The log of slave {broker_id} of {broker} begins {missing_bytes} after its master's.",
        },
        effect="What is missing cannot be read from it and is lost if the master dies; broker lists show it as "
        "healthy.",
        advice="Empty: check that the slave reaches haServerAddr (brokerIP2:haListenPort) of its master. Begins later: a new slave only "
        "gets the master's last file, or its retention is shorter; copy the master's store if you need all of it.",
        explain="Topics and offsets come through another port, so an empty slave may look complete. A slave that "
        "started in the last 60 s is not judged.",
        next_command=_STATUS,
    ),
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


@rule(
    "MQ131",
    Severity.ERROR,
    source="HAService.HAClient",
    needs=_RUNTIME,
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave is ahead of its master",
        speaks="a slave's log ends after its master's",
        silent="a slave's log ends a block before its master's",
        what={"": "The log of slave {broker_id} of {broker} ends {ahead_bytes} after its master's."},
        effect="The master lost these messages (power failure, an older disk), and consumers may have read them. As soon as the master "
        "has written as much, replication continues in the middle of a record: the logs differ from there on.",
        advice="Stop the slave before the master catches up with it. Compare both stores (`mqctl ha compare`), save "
        "what only the slave has, then rebuild the slave.",
        explain="Neither release truncates a slave in plain mode. 4.9 closes the connection every 10 s; 5.x keeps it and says that it is in sync.",
        next_command=_STATUS,
    ),
)
def slave_ahead(case: ClusterCase) -> Iterator[Verdict]:
    """A slave whose log ends behind its master's: what it has there, the master has lost or never had."""
    for replica in replicas(case.snapshot.brokers):
        if replica.state is ReplicaState.AHEAD and replica.behind_bytes is not None:
            yield of_slave(replica, ahead_bytes=-replica.behind_bytes)


@rule(
    "MQ132",
    Severity.ERROR,
    source="CommitLog.checkMessageAndReturnSize",
    needs=_RUNTIME,
    playbook="slave-behind",
    texts=RuleTexts(
        title="A slave's log differs from its master's",
        speaks="a slave cannot dispatch the end of its log, look after look",
        silent="from look to look it has less to dispatch",
        what={
            "": "Slave {broker_id} of {broker} cannot read the last {undispatched_bytes} of its own log, and this is "
            "not shrinking.",
            "once": "Slave {broker_id} of {broker} has not dispatched the last {undispatched_bytes} of its log, though it has as much as its master.",
        },
        effect="New messages do not appear in the slave's queues. If the master dies, they are lost, although both logs end at the same offset.",
        advice="Seen once, look again with --window 10s: a busy slave catches up. Otherwise compare both stores and rebuild the slave.",
        explain="A slave that was ahead of its master keeps its own tail when the master overtakes it; the next "
        "block is appended in the middle of a record. Both logs end at the same offset and haStatus says in "
        "sync; only the slave's dispatchBehindBytes grows.",
        next_command=_STATUS,
    ),
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


@rule(
    "MQ133",
    Severity.ERROR,
    source="HAService.HAClient",
    needs=_COPYING,
    playbook="slave-behind",
    texts=RuleTexts(
        title="Replication is stuck",
        speaks="a slave got nothing while its master took messages",
        silent="a slave got nothing, and its master neither",
        what={
            "": "Slave {broker_id} of {broker} got nothing for {window_ms}, and is {behind_bytes} behind.",
            "silent": "Slave {broker_id} of {broker} has not reported to its master for {silent_ms}.",
        },
        effect="Messages that the master takes from now on have no second copy.",
        advice="Check the connection to the master's haServerAddr, the slave's disk, and its log for `master pushed offset` or `appendToPhyQueue`.",
        explain="A slave reports at least every 5 s. The master's address in the slave's runtime information proves "
        "nothing: it stays there when the connection is gone.",
        next_command=_STATUS,
    ),
)
def replication_stopped(case: ClusterCase) -> Iterator[Verdict]:
    """A slave that got nothing while its master took messages, or that told its master nothing for 20 s."""
    before = _before(case)
    views = {(broker.name, broker.broker_id): broker.replication for broker in case.snapshot.brokers}
    for replica in replicas(case.snapshot.brokers):
        if replica.state in (ReplicaState.EMPTY, ReplicaState.NO_MASTER, _CUT_OFF):
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


@rule(
    "MQ134",
    Severity.ERROR,
    source="DefaultHAConnection",
    needs=_COPYING,
    playbook="broker-down",
    texts=RuleTexts(
        title="Connections to the replication port that are not slaves",
        speaks="a connection to the replication port never reported",
        silent="a slave that was just started reported position 0",
        what={
            "": "{mute_count:connection} to the replication port of {broker} never reported anything ({addresses}); {slave_count:slave is/are} registered.",
            "impossible": "{address} reported offset {reported_offset} to the replication port of {broker}, which is beyond the end of its log.",
        },
        effect="Each counts as a slave: synchronous sends wait for it, or are confirmed although no slave has the message. Connections of health "
        "checks that are not closed pile up and fill the heap.",
        advice="Find out who connects (a port scan, a health check of a load balancer or of Kubernetes) and keep it "
        "away from haListenPort. A slave that has just connected reports within 5 s. On 4.9, restart a "
        "master that received data from such a probe.",
        explain="There is no handshake: whoever connects is a slave, and the last eight bytes that it sent are an offset. An HTTP request "
        "reads as 6075407785597603082.",
        next_command=_STATUS,
    ),
)
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


@rule(
    "MQ135",
    Severity.WARNING,
    source="CommitLog.handleHA",
    needs=(Part.RUNTIME, Part.CONFIG),
    playbook="failover-drill",
    texts=RuleTexts(
        title="A SYNC_MASTER that waits for no slave",
        speaks="a SYNC_MASTER of 5.x wants one replica, itself",
        silent="it wants two, and its slave is there",
        what={"": "{broker} is a SYNC_MASTER with inSyncReplicas={in_sync_replicas}: its sends wait for no slave."},
        effect="A send that succeeded may be lost with the master.",
        advice="Set inSyncReplicas=2 if a second copy is wanted before a send succeeds; otherwise say so with "
        "brokerRole=ASYNC_MASTER.",
        explain="4.9 waits for one slave; 5.x counts the master itself, so that its default of 1 waits for nobody.",
        next_command=_CONFIG,
    ),
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


@rule(
    "MQ136",
    Severity.ERROR,
    source="BrokerStartup",
    needs=(Part.CONFIG,),
    playbook="broker-down",
    texts=RuleTexts(
        title="Role and id of a broker contradict each other",
        speaks="a broker with role SLAVE is registered with id 0",
        silent="so is one under a controller, whatever its settings say",
        what={
            "": "{address} is set to {role} and registered as {broker} with id {broker_id}, the id of a slave.",
            "slave": "{address} is set to SLAVE and registered as {broker} with id 0, the id of the master.",
        },
        effect="A slave with id 0 receives all sends and refuses them. A master with another id gets no traffic: no "
        "route leads to it.",
        advice="Set brokerId=0 for the master and above 0 for slaves, with brokerRole to match, and restart the broker.",
        explain="Neither brokers nor name servers check that brokerRole and brokerId match.",
        next_command=_CONFIG,
    ),
)
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


@rule(
    "MQ137",
    Severity.ERROR,
    source="CommitLog.appendData",
    needs=(Part.CONFIG,),
    playbook="slave-behind",
    texts=RuleTexts(
        title="Log files of master and slave differ in size",
        speaks="master and slave have log files of different sizes",
        silent="their queue files have different sizes, which is no matter",
        what={
            "": "Slave {broker_id} of {broker} has mappedFileSizeCommitLog {slave_file_bytes}, its master has {master_file_bytes}.",
        },
        effect="The slave stops at the first block that does not fit its file, reconnects, and stops again.",
        advice="Give the slave its master's mappedFileSizeCommitLog and an empty store.",
        explain="Blocks end where the master's files end, and must lie in one file of the slave's.",
        next_command=_CONFIG,
    ),
)
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


@rule(
    "MQ138",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker",
    needs=(Part.ROUTES,),
    playbook="cluster-mixup",
    texts=RuleTexts(
        title="Two masters under one broker name",
        speaks="two name servers list different masters",
        silent="the master is the same in both looks, the slave has changed",
        what={"": "{broker} has {master_count:master}: {addresses}."},
        effect="Clients reach one or the other by turns: messages seem to vanish, and offsets go back.",
        advice="If both run, stop one of them, or give it a name of its own. If the master moved on purpose, name "
        "servers that still have the old address drop it within 120 s.",
        explain="Name servers keep one address for an id, that of the last registration; brokers register every 30 "
        "s, so two masters take turns. Several name servers, or two samples with --window, show both.",
        next_command="mqctl broker list {source}",
    ),
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
