"""Messages that flow through a real cluster: RocketMQ's own producer and consumer, in a process of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.artifacts import jars
from tests.real.cluster import RealCluster
from tests.real.members import Member, end, start, wait

_LINE = re.compile(r"^sent (\d+) consumed ([\d ]+)$", re.MULTILINE)
_STARTS_S = 120.0


@dataclass(frozen=True)
class Traffic:
    """Messages that are sent and consumed.

    Attributes:
        groups: that consume, each all of them.
    """

    member: Member
    groups: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Messages that were sent, as `sent`, and those that each group had, up to the last second."""
        lines = _LINE.findall(self.member.log.read_text(errors="replace"))
        numbers = [int(lines[-1][0]), *map(int, lines[-1][1].split())] if lines else [0] * (1 + len(self.groups))
        return dict(zip(("sent", *self.groups), numbers, strict=True))

    @property
    def consumed_count(self) -> int:
        """Messages that the group had that had fewest, up to the last second."""
        counts = self.counts()
        return min(counts[group] for group in self.groups)

    def wait_for(self, count: int) -> None:
        """Waits until each group consumed so many messages."""
        wait(lambda: self.consumed_count >= count, [self.member], f"{count} messages are consumed", _STARTS_S)


@contextmanager
def flowing(
    cluster: RealCluster, topic: str, *consumers: str, rate: int, body_bytes: int = 200, through: str | None = None
) -> Iterator[Traffic]:
    """Sends `rate` messages a second to a topic and has groups consume them; begins when each consumed some.

    Args:
        through: the address of a proxy, in place of the name server's.
        consumers: of each group the kind of its consumer and its name, such as `push:fast`; the kind is one of push,
            orderly, broadcast, lite and pop.
    """
    source = Path(__file__).parent / "Traffic.java"
    words = (str(source), through or cluster.namesrv, topic, str(rate), str(body_bytes), *consumers)
    member = start(
        "traffic-proxy" if through else "traffic",
        words,
        jars=jars(cluster.release),
        directory=cluster.directory,
        address=cluster.namesrv,
        heap_mb=256,
        direct_mb=64,
    )
    try:
        traffic = Traffic(member, tuple(each.partition(":")[2] for each in consumers))
        traffic.wait_for(rate)
        yield traffic
    finally:
        end([member], tidy=False)
