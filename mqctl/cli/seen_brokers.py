"""Brokers that were there when a cluster was last looked at: name servers forget one as soon as it dies.

What is kept is no more than a help: where it cannot be read or written, a look goes on without it.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import msgspec

from mqctl.cli.places import state_dir
from mqctl.errors import MqctlError
from mqctl.model.seen_broker import SeenBroker
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.store.whole_file import write_whole

_KEPT_MS = 7 * 86_400_000


def with_seen_brokers(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Adds the brokers that were seen within seven days to a look at a whole live cluster, and notes those of now.

    A cluster is told by the addresses of its name servers. A look at which not every name server answered, or none
    knew a broker, notes nothing.
    """
    if not any(view.endpoints for view in snapshot.name_servers):
        return snapshot
    now_ms = snapshot.origin.observed_at_ms
    try:
        place = state_dir() / "seen" / f"{sha256(snapshot.origin.location.encode()).hexdigest()[:24]}.json"
        data = place.read_bytes() if place.exists() else b"[]"
        known = {item.name: item for item in msgspec.json.decode(data, type=list[SeenBroker])}
        fresh = {item.name: item for item in known.values() if now_ms - item.last_seen_time_ms < _KEPT_MS}
        for view in snapshot.name_servers:
            for item in view.endpoints:
                fresh[item.name] = SeenBroker(
                    cluster=item.cluster, name=item.name, address=item.any_address(), last_seen_time_ms=now_ms
                )
        write_whole(place, msgspec.json.encode([fresh[name] for name in sorted(fresh)]))
    except (OSError, MqctlError, msgspec.MsgspecError):
        return snapshot
    return replace(snapshot, seen_brokers=tuple(fresh[name] for name in sorted(fresh)))
