"""Who elects a master, and among how many: broker names without one, of any number of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqctl.rules import diagnose
from tests.rules.live_faults import masterless


@given(
    peers=st.integers(1, 7),
    registered=st.integers(1, 7),
    by=st.sampled_from(["", "enableDLegerCommitLog", "enableControllerMode"]),
    ends_with=st.sampled_from(["", ";"]),
    port=st.integers(1, 65_535),
)
def test_a_name_without_a_master_is_judged_by_who_elects_one(
    peers: int, registered: int, by: str, ends_with: str, port: int
) -> None:
    registered = min(registered, peers)
    nodes = ";".join(f"n{number}-192.0.2.{number + 1}:{port}" for number in range(peers)) + ends_with
    world = masterless(registered, dLegerPeers=nodes, **({by: "true"} if by else {}))
    (finding,) = diagnose(world, only=("MQ609",)).findings
    evidence = {item.name: item.value for item in finding.evidence}
    assert evidence["slave_count"] == registered
    if by == "enableDLegerCommitLog":
        assert finding.variant == ("dledger" if registered > peers / 2 else "minority")
        assert (evidence["peer_count"], evidence["majority_count"]) == (peers, peers // 2 + 1)
    else:
        assert finding.variant == ("controller" if by else None)
