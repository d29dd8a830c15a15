"""Which cluster a run is about, and whether it is still the same one."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from mqctl.model.playbook_run import Identity
from mqctl.text import sentence

COMMAND = ("cluster", "list")


class _Cluster(msgspec.Struct):
    cluster: str
    broker_names: str


class _List(msgspec.Struct):
    clusters: list[_Cluster]


def identity_of(document: object) -> Identity | None:
    """Reads the machine form of `cluster list`; None when it is not there, or knows of no cluster."""
    try:
        listed = msgspec.convert(document, _List)
    except msgspec.ValidationError:
        return None
    brokers = tuple(
        sorted(f"{item.cluster}/{name}" for item in listed.clusters for name in item.broker_names.split(", ") if name)
    )
    if not brokers:
        return None
    clusters = tuple(sorted({item.cluster for item in listed.clusters}))
    return Identity(
        clusters=clusters, brokers=brokers, fingerprint=sha256("\n".join(brokers).encode()).hexdigest()[:12]
    )


def unlike(other: Identity, *, cluster: str | None, fingerprint: str | None, first: Identity | None) -> str | None:
    """Returns why `found` is not what is expected, in one sentence; None when it is.

    Args:
        cluster, fingerprint: what the user expects.
        first: what was found when the run began.
    """
    if cluster is not None and cluster not in other.clusters:
        return sentence(
            "playbook-other-cluster",
            "the name servers know {clusters}, and {expected} was expected",
            clusters=other.clusters,
            expected=cluster,
        )
    if fingerprint is not None and fingerprint != other.fingerprint:
        return sentence(
            "playbook-other-fingerprint",
            "its fingerprint is {fingerprint} ({brokers}), and {expected} was expected",
            fingerprint=other.fingerprint,
            brokers=other.brokers,
            expected=fingerprint,
        )
    if first is not None and first.fingerprint != other.fingerprint:
        changed = sorted(set(first.brokers) ^ set(other.brokers))
        return sentence("playbook-came-or-went", "since the run began, {changed} came or went", changed=changed)
    return None
