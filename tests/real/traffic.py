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

_LINE = re.compile(r"^sent (\d+) consumed (\d+)$", re.MULTILINE)
_STARTS_S = 120.0


@dataclass(frozen=True)
class Traffic:
    """Messages that are sent and consumed."""

    member: Member

    @property
    def consumed_count(self) -> int:
        """Messages that the consumer had up to the last second."""
        lines = _LINE.findall(self.member.log.read_text(errors="replace"))
        return int(lines[-1][1]) if lines else 0

    def wait_for(self, count: int) -> None:
        """Waits until so many messages were consumed."""
        wait(lambda: self.consumed_count >= count, [self.member], f"{count} messages are consumed", _STARTS_S)


@contextmanager
def flowing(cluster: RealCluster, topic: str, group: str, *, rate: int, body_bytes: int = 200) -> Iterator[Traffic]:
    """Sends `rate` messages a second to a topic and has a group consume them; begins when some were consumed."""
    source = Path(__file__).parent / "Traffic.java"
    words = (str(source), cluster.namesrv, topic, group, str(rate), str(body_bytes))
    member = start(
        f"traffic-{group}",
        words,
        jars=jars(cluster.release),
        directory=cluster.directory,
        address=cluster.namesrv,
        heap_mb=192,
        direct_mb=64,
    )
    try:
        traffic = Traffic(member)
        traffic.wait_for(rate)
        yield traffic
    finally:
        end([member], tidy=False)
