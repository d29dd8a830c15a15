"""Whom a rule is for: kinds of consumer groups, each told by its members, and what a rule about groups leaves out."""

from __future__ import annotations

from enum import StrEnum

from mqctl.diagnosis.group_view import GroupView, group_views
from mqctl.model.snapshot import ClusterSnapshot


class GroupKind(StrEnum):
    """How a group consumes; consumers of a proxy (gRPC) consume by POP, and system groups are never judged."""

    CLUSTERING = "clustering"
    ORDERLY = "orderly"
    BROADCASTING = "broadcasting"
    POP = "pop"
    PULL = "pull"
    OFFLINE = "offline"


EVERY = frozenset(GroupKind)
ONLINE = EVERY - {GroupKind.OFFLINE}
# Those of which each queue belongs to one member.
SHARING = frozenset({GroupKind.CLUSTERING, GroupKind.ORDERLY})
# Those whose members are pushed to, and tell when they pulled and consumed last.
PUSHED = SHARING | {GroupKind.BROADCASTING}
# Those whose progress brokers store. What a broker stores of a broadcasting group is left from before it was one.
COMMITTING = EVERY - {GroupKind.BROADCASTING}
JOINED = ONLINE - {GroupKind.BROADCASTING}


def kind_of(view: GroupView) -> GroupKind:
    """Returns the kind of a group with members."""
    if view.broadcasting:
        return GroupKind.BROADCASTING
    if view.pops:
        return GroupKind.POP
    if view.pulls:
        return GroupKind.PULL
    return GroupKind.ORDERLY if view.orderly else GroupKind.CLUSTERING


def kinds(snapshot: ClusterSnapshot) -> dict[str, GroupKind]:
    """Returns the kind of every group with members."""
    return {view.group: kind_of(view) for view in group_views(snapshot)}
