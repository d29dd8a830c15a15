"""The playbooks that findings may name, and which of their parameters a finding can fill.

Kept here as plain data: a diagnosis does not read the playbooks themselves. A test holds the two together.
"""

from __future__ import annotations

from mqctl.model.finding import Finding

# Slug -> the parameters it must be told, and those it may be told, as far as findings know such names.
PLAYBOOKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "backlog": (("group",), ("topic",)),
    "broker-down": ((), ("broker",)),
    "cluster-mixup": (("group",), ()),
    "damaged-store": (("store",), ()),
    "dead-letters": (("group",), ()),
    "delay-late": ((), ("broker", "store")),
    "expired-before-consumption": (("group",), ("topic",)),
    "failover-drill": ((), ("broker", "group")),
    "hot-key": (("topic",), ("group",)),
    "master-lost": ((), ("broker", "group", "store")),
    "promise-drill": ((), ()),
    "room-lost": (("group", "topic"), ()),
    "pop-stuck": (("group",), ("store",)),
    "scale-out": (("topic",), ("group",)),
    "skip-and-replay": (("group", "topic"), ()),
    "slave-behind": ((), ("broker", "store")),
    "stuck-consumer": (("group",), ()),
    "subscription-change": (("group",), ("topic",)),
    "tag-loss": (("group",), ("topic",)),
    "transaction-pending": ((), ("group", "store")),
    "unconsumed-queue": (("group",), ("topic",)),
}


def arguments(finding: Finding, store: str | None) -> dict[str, str | None]:
    """Returns the parameters of a finding's playbook: what the finding tells, and None for what must be told besides.

    Args:
        store: the store directory that was judged, if it was one.
    """
    required, optional = PLAYBOOKS[finding.playbook or ""]
    names = {"group": finding.subject.group, "topic": finding.subject.topic, "broker": finding.subject.broker}
    values: dict[str, str | None] = {}
    for name in (*required, *optional):
        value = store if name == "store" else names.get(name) or finding.params.get(name)
        if isinstance(value, str) and value:
            values[name] = value
        elif name in required:
            values[name] = None
    return values
