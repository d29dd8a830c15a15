"""What a plan cannot promise: changes that were never made on a release, said and not refused."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.client.remoting.links import Unproven
from mqctl.model.release import Release, release_text
from mqctl.text import sentence


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
