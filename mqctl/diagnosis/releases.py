"""Which releases of brokers the rules are known to hold for, and what is not judged on others.

What members, queues and offsets are, a release does not change. How brokers count, what their settings default to, how
they keep transactions, popped messages, access and files does change: a rule that looks at those is judged only on
releases whose brokers it was tried on.
"""

from __future__ import annotations

import re

from mqctl.diagnosis.rule import Rule
from mqctl.model.finding import Reason, Why
from mqctl.model.gap import Part
from mqctl.model.snapshot import BrokerSnapshot

NEWEST = (5, 5, 0)
"""The newest release whose brokers the rules were tried on."""

_CHANGES_WITH_RELEASES = frozenset(
    {Part.RUNTIME, Part.CONFIG, Part.REPLICATION, Part.CONTROLLERS, Part.POP, Part.TRANSACTIONS, Part.ACCESS}
    | {Part.DELAY_TIMERS, Part.NEWEST, Part.PROBE, Part.STORAGE, Part.VERIFICATION, Part.CLOCKS, Part.OFFSET_JUMPS}
)
# As brokers name theirs (MQVersion.getVersionDesc, 4.9.8 and 5.5.0): V5_1_4, V4_0_0_SNAPSHOT, V3_1_8_1.
_RELEASE = re.compile(r"V(\d{1,4})_(\d{1,4})_(\d{1,4})(?:_\w{1,32})?", re.ASCII)


def release_of(version: str) -> tuple[int, int, int] | None:
    """Returns the release that a broker names; None where no release of RocketMQ is named so."""
    matched = _RELEASE.fullmatch(version)
    return (int(matched[1]), int(matched[2]), int(matched[3])) if matched else None


def changes_with_releases(rule: Rule) -> bool:
    """Tells whether a rule looks at anything that another release may mean otherwise."""
    return not _CHANGES_WITH_RELEASES.isdisjoint(rule.needs)


def not_known(broker: BrokerSnapshot) -> Why | None:
    """Returns why nothing that changes with releases is judged of a broker; None for a release that is known, and
    where none was named: files do not name theirs."""
    if broker.version is None:
        return None
    release = release_of(broker.version)
    newest = ".".join(map(str, NEWEST))
    if release is None:
        return Why(Reason.ODD_RELEASE, {"release": broker.version, "newest": newest})
    if release <= NEWEST:
        return None
    return Why(Reason.NEWER_RELEASE, {"release": ".".join(map(str, release)), "newest": newest})
