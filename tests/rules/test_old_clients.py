"""4.x clients that start on empty queues: 5.x brokers answer no offset there, 4.x brokers answer 0."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.rules import diagnose
from tests.rules.live_faults import starting_empty
from tests.rules.live_snapshots import ONE, member


@pytest.mark.parametrize(
    ("broker", "client", "queues"), [("V5_3_3", 399, 1), ("V4_9_8", 399, None), ("V5_3_3", 479, None)]
)
def test_only_old_clients_on_new_brokers_may_skip_messages(broker: str, client: int, queues: int | None) -> None:
    snapshot = starting_empty(broker)
    members = (replace(member(ONE, 5_001), version=client),)
    brokers = tuple(
        replace(item, memberships=tuple(replace(held, members=members) for held in item.memberships))
        for item in snapshot.brokers
    )
    findings = [item for item in diagnose(replace(snapshot, brokers=brokers)).findings if item.code == "MQ415"]
    assert [(item.variant, item.evidence[0].value) for item in findings] == ([("old", queues)] if queues else [])
