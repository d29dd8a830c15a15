"""Expectations of slaves: that each broker has some, and that they follow it."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.expectation import CheckResult, CheckState, Limit
from mqctl.model.gap import Part
from mqctl.model.replicas import Replica, ReplicaState, replicas
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.expecting import Checked, amount, result, unknown
from mqctl.text import sentence

# States in which the distance of both ends says nothing: whatever the limit is, the slave does not have what it should.
_ILL = {
    ReplicaState.EMPTY: sentence("check-slave-empty", "it has nothing of its master's log"),
    ReplicaState.CUT_OFF: sentence("check-slave-cut-off", "its log ends before its master's begins"),
    ReplicaState.AHEAD: sentence("check-slave-ahead", "its log ends after its master's"),
    ReplicaState.DIVERGED: sentence("check-slave-diverged", "it cannot read its own log up to the end"),
    ReplicaState.NO_MASTER: sentence("check-slave-no-master", "its master is not registered"),
}


def hold_slaves(snapshot: ClusterSnapshot, count: int | None, behind_bytes: Limit | None) -> Iterator[CheckResult]:
    """Returns how many slaves each broker has that follow it, and how far each is behind."""
    slaves = replicas(snapshot.brokers)
    if count is not None:
        for name in sorted({broker.name or "" for broker in snapshot.brokers}):
            yield _count([item for item in slaves if item.name == name], name, count)
    if behind_bytes is not None:
        for item in slaves:
            yield _behind(snapshot, item, behind_bytes)


def _count(slaves: list[Replica], name: str, count: int) -> CheckResult:
    subject = Checked("broker", name)
    following = sum(item.state not in _ILL and item.state is not ReplicaState.UNKNOWN for item in slaves)
    silent = sum(item.state is ReplicaState.UNKNOWN for item in slaves)
    said = sentence(
        "check-slaves",
        "{following} of {registered} registered slaves follow, declared {count}",
        following=following,
        registered=len(slaves),
        count=count,
    )
    if following < count <= following + silent:
        return unknown("slaves", subject, said)
    state = CheckState.OK if following >= count else CheckState.ERROR
    return result("slaves", subject, state, said, value=following)


def _behind(snapshot: ClusterSnapshot, replica: Replica, limit: Limit) -> CheckResult:
    subject = Checked("broker", replica.name, replica.broker_id)
    if replica.state in _ILL:
        return result(
            "slave_behind",
            subject,
            CheckState.ERROR,
            _ILL[replica.state],
            value=replica.behind_bytes,
            unit="bytes",
            limit=limit,
        )
    if replica.behind_bytes is None:
        gaps = (broker.lacks(Part.RUNTIME) for broker in snapshot.brokers if broker.name == replica.name)
        why = sentence("check-not-reported", "it does not report this")
        return unknown("slave_behind", subject, next((gap for gap in gaps if gap), None) or why)
    said = sentence("check-slave-behind", "its log ends {behind:byte} before its master's", behind=replica.behind_bytes)
    return amount("slave_behind", subject, replica.behind_bytes, limit, said, unit="bytes")
