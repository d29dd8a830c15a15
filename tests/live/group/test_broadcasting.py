"""A group that broadcasts now and has offsets of an earlier life at brokers: every command about lag says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.live.cast import Cast, Scripted
from tests.live.conftest import Run


@pytest.mark.parametrize(
    "models", [("BROADCASTING",), ("BROADCASTING", "BROADCASTING"), ("BROADCASTING", "CLUSTERING")]
)
def test_old_offsets_of_a_group_that_broadcasts_are_no_lag(
    live: Run, cluster: EmbeddedCluster, models: tuple[str, ...], tmp_path: Path
) -> None:
    """The mode of the last member that came is the group's, as brokers keep it."""
    file = tmp_path / "x.snap"
    with Cast(cluster) as cast:
        for number, model in enumerate(models):
            cast.join(Scripted(client_id=f"192.0.2.{number}@m", message_model=model))
        named = live("group", "lag", "-g", "G", "-o", "json")
        listed = live("group", "lag", "-o", "json")
        shown = live("group", "lag", "-g", "G").stdout
        advised = live("group", "lag", "-g", "G", "--advise", "--window", "100ms", "-o", "json")
        assert live("snapshot", "save", file).exit_code == 0
        saved = live("group", "lag", "--snapshot", file, "-o", "json")
    local = models[-1] == "BROADCASTING"
    for outcome in (named, listed, saved):
        groups = {row["group"] for row in outcome.json["groups"]}
        assert (outcome.exit_code, "G" in groups) == (0, not local), outcome.stderr
        assert ("G" in outcome.json["broadcasting"]) == local
    assert ("as their members broadcast" in shown) == local
    assert (advised.exit_code, bool(advised.json["groups"])) == (0, not local), advised.stdout
    assert ("its members broadcast" in advised.stderr) == local
