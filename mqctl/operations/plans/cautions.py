"""What a plan cannot promise, said and not refused: changes never made on a release, or of such a topic or group."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.client.remoting.links import Unproven
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.release import Release, release_text
from mqctl.rules.engine.unknown import odd_attributes
from mqctl.text import sentence


def of_kinds(entries: Iterable[TopicConfig | SubscriptionGroupConfig]) -> list[str]:
    """Returns a sentence for each topic or group that is changed and has an attribute that is not known."""
    said = (
        sentence(
            "plan-odd-attribute",
            "{name} has the attribute {attribute}={value}, which mqctl does not know: the change may mean more for it "
            "than is shown",
            name=entry.name,
            **why.values,
        )
        for entry in entries
        for why in odd_attributes(entry)
    )
    return list(dict.fromkeys(said))


def cautions(peers: Iterable[Unproven], proven_to: Release) -> list[str]:
    """Returns a sentence for each release that is newer than those on which a kind of change was made.

    Args:
        peers: who answered while the plan was made, and is of such a release.
    """
    by_release: dict[str, list[str]] = {}
    for peer in peers:
        by_release.setdefault(peer.release, []).append(peer.address)
    return [
        sentence(
            "plan-newer-release",
            "release {release} of {addresses} is newer than those on which mqctl made such changes (to {newest}): "
            "try it on a small part first, and read back what it did",
            release=release,
            addresses=sorted(addresses),
            newest=release_text(proven_to),
        )
        for release, addresses in sorted(by_release.items())
    ]
