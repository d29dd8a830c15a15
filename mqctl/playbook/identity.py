"""Which cluster a run is about, and whether it is still the same one."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from mqctl.model.playbook_run import Identity

COMMAND = ("cluster", "list")


class _Cluster(msgspec.Struct):
    cluster: str
    broker_names: str


class _List(msgspec.Struct):
    clusters: list[_Cluster]


def identity_of(document: object) -> Identity | None:
    """Reads the machine form of `cluster list`; None when it is not there, or knows of no cluster."""
    try:
        told = msgspec.convert(document, _List)
    except msgspec.ValidationError:
        return None
    brokers = tuple(
        sorted(f"{item.cluster}/{name}" for item in told.clusters for name in item.broker_names.split(", ") if name)
    )
    if not brokers:
        return None
    clusters = tuple(sorted({item.cluster for item in told.clusters}))
    return Identity(
        clusters=clusters, brokers=brokers, fingerprint=sha256("\n".join(brokers).encode()).hexdigest()[:12]
    )


def unlike(found: Identity, *, cluster: str | None, fingerprint: str | None, first: Identity | None) -> str | None:
    """Returns why `found` is not what is expected, in one sentence; None when it is.

    Args:
        cluster, fingerprint: what the user expects.
        first: what was found when the run began.
    """
    if cluster is not None and cluster not in found.clusters:
        return f"the name servers know {', '.join(found.clusters)}, and {cluster} was expected"
    if fingerprint is not None and fingerprint != found.fingerprint:
        return f"its fingerprint is {found.fingerprint} ({', '.join(found.brokers)}), and {fingerprint} was expected"
    if first is not None and first.fingerprint != found.fingerprint:
        changed = sorted(set(first.brokers) ^ set(found.brokers))
        return f"since the run began, {', '.join(changed)} came or went"
    return None
