"""The judge of false alarms: a healthy cluster in motion, at which mqctl looks again and again.

Nothing is wrong with the cluster, so that whatever is said of it above an information is a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from mqctl.protocol.bodies_pop import MessageRequestMode
from mqctl.protocol.requests_pop import SetMessageRequestMode
from tests.conftest import Outcome
from tests.embedded_broker.wire import Peer
from tests.real.artifacts import is_v5
from tests.real.cluster import RealCluster
from tests.real.members import wait
from tests.real.traffic import Traffic, flowing

Run = Callable[..., Outcome]
TOPIC = "flow"
CONSUMERS = ("push:fast", "orderly:ordered", "broadcast:wide", "lite:lite")
POPPING, PROXIED = "pop:popping", "push:proxied"
DEFECTS = {"5.5.0": {"MQ139"}}
"""Rules that speak of a release, and rightly: slaves of 5.5.0 cannot read their master's offsets of pulling."""
LIMIT = "snapshot-newest-records-read"
"""Above some 150 messages a second that are popped, more records wait in the timers of a broker than are read: the
rules about them say so, and do not judge."""
_TRIES = 4
_ASK_PROXIES = ("doctor", "stacks")
# A slave asks an empty master for its first bytes every few seconds, and copies its tables first after a minute; a
# consumer is known to each broker after half a minute.
_SETTLED_S = 240.0
# Who pulls for himself commits what he was given 5 s before, and sends it another 5 s later.
_LAG_MS = 15_000


@dataclass(frozen=True)
class Looker:
    """Asks a cluster by the command line. On a busy machine a broker may not answer within its three seconds; the
    command says so, and is run again."""

    cluster: RealCluster
    run: Run

    def __call__(self, *words: str) -> Any:
        """Runs a command and returns its answer."""
        for _ in range(_TRIES):
            options = [] if words[0] == "playbook" else ["--timeout", "60s"]
            if self.cluster.proxy_remoting and words[0] in _ASK_PROXIES:
                options += ["--proxy", self.cluster.proxy_remoting]
            outcome = self.run(*words, "-n", self.cluster.namesrv, *options, "-o", "json")
            if "no answer within" not in outcome.stdout + outcome.stderr:
                break
        assert outcome.stdout, f"{words}: {outcome.stderr}"
        return outcome.json

    def slaves(self) -> list[Any]:
        """Returns the rows of slaves of `ha status`."""
        return [row for row in self("ha", "status")["replicas"] if row["broker_id"]]

    def has_settled(self, *groups: str) -> bool:
        """Whether slaves follow and have copied the tables, and the groups keep up."""
        if any(row["state"] != "in-sync" for row in self.slaves()):
            return False
        if self("doctor", "--only", "MQ139")["verdict"] == "unknown":
            return False
        return all(self._keeps_up(group) for group in groups)

    def _keeps_up(self, group: str) -> bool:
        outcome = self.run("group", "lag", "-g", group, "-n", self.cluster.namesrv, "--timeout", "60s", "-o", "json")
        rows = outcome.json["groups"] if outcome.stdout else []  # without one it has committed nothing yet
        return bool(rows) and all((row["lag_ms"] or 0) < _LAG_MS for row in rows)


@dataclass
class Report:
    """What the judge saw.

    Attributes:
        looks: how often each command was asked.
        alarms: what was said, with the second of the look and the command.
        sent, consumed: messages in that time, the latter of each group.
    """

    looks: dict[str, int] = field(default_factory=dict)
    alarms: list[tuple[int, str, str]] = field(default_factory=list)
    seconds: float = 0.0
    sent: int = 0
    consumed: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        counted = ", ".join(f"{count} of {command}" for command, count in self.looks.items())
        moved = ", ".join(f"{group} {count:,}" for group, count in self.consumed.items())
        return (
            f"{len(self.alarms)} false alarms at {sum(self.looks.values())} looks in {self.seconds:.0f} s ({counted}); "
            f"sent {self.sent:,} ({self.sent / self.seconds:,.0f}/s), consumed: {moved}"
        )


@contextmanager
def in_motion(looker: Looker, rate: int) -> Iterator[list[Traffic]]:
    """Has a producer at work, and consumers of all kinds that the release knows; begins when they keep up."""
    cluster = looker.cluster
    assert looker.run("topic", "create", "-t", TOPIC, "--execute", "-n", cluster.namesrv).exit_code == 0
    kinds = [*CONSUMERS, *([POPPING] if is_v5(cluster.release) else [])]
    if POPPING in kinds:
        _set_pop(cluster, POPPING.partition(":")[2])
    with ExitStack() as stack:
        traffics = [stack.enter_context(flowing(cluster, TOPIC, *kinds, rate=rate))]
        if cluster.proxy_remoting:
            through = cluster.proxy_remoting
            traffics.append(stack.enter_context(flowing(cluster, TOPIC, PROXIED, rate=rate // 10, through=through)))
        groups = [group for traffic in traffics for group in traffic.groups if group != "wide"]
        wait(lambda: looker.has_settled(*groups), cluster.members, "slaves and consumers have settled", _SETTLED_S)
        yield traffics


def _set_pop(cluster: RealCluster, group: str) -> None:
    mode = MessageRequestMode(topic=TOPIC, consumer_group=group, mode="POP", pop_share_queue_num=0)
    for member in cluster.members:
        if member.name.startswith("broker") and not member.name.endswith("-s"):
            with Peer(member.address, version=479) as peer:
                assert peer.call(SetMessageRequestMode(), mode.to_bytes()).code == 0


def judge(
    looker: Looker, traffics: list[Traffic], seconds: float, note: Callable[[str], None] = lambda _line: None
) -> Report:
    """Looks over and over for that long, at least once with each command, and returns what was said.

    Args:
        note: is given each alarm when it is seen.
    """
    report, begun = Report(), monotonic()
    before = [traffic.counts() for traffic in traffics]
    stacked = [group for traffic in traffics for group in traffic.groups if group not in ("lite", "proxied")]
    commands: list[tuple[str, ...]] = [
        ("doctor",),
        ("ha", "status"),
        ("doctor", "--window", "3s"),
        ("check", "--group", "*", "--except", "wide", "--max-lag-time", "30s", "--require-members"),
        *(("stacks", "dump", "-g", group) for group in stacked),
    ]
    number = 0
    while number < len(commands) or monotonic() - begun < seconds:
        words = commands[number % len(commands)]
        number += 1
        name = " ".join(words[:2])
        report.looks[name] = report.looks.get(name, 0) + 1
        for alarm in _alarms(looker, words):
            report.alarms.append((round(monotonic() - begun), name, alarm))
            note(f"{report.alarms[-1]}")
    report.seconds = monotonic() - begun
    for traffic, counts in zip(traffics, before, strict=True):
        moved = {name: count - counts[name] for name, count in traffic.counts().items()}
        report.sent += moved.pop("sent")
        report.consumed |= moved
    return report


def _alarms(looker: Looker, words: tuple[str, ...]) -> list[str]:
    answer = looker(*words)
    if words[0] == "ha":
        slaves = [row for row in answer["replicas"] if row["broker_id"]]
        return [f"{row['broker']}: {row['state']}" for row in slaves if row["state"] != "in-sync"]
    if words[0] == "check":
        failed = [row for row in answer["results"] if row["state"] != "ok" and LIMIT not in str(row["gap"])]
        return [f"{row['state']}: {row['subject']}: {row['message']}" for row in failed]
    known = DEFECTS.get(looker.cluster.release, set())
    said = [item for item in answer["findings"] if item["severity"] != "info" and item["code"] not in known]
    alarms = [f"{item['code']} {item['severity']}: {item['what']}" for item in said]
    left = [item for item in answer.get("not_judged", ()) if LIMIT not in str(item["values"])]
    return [*alarms, *(f"not judged: {item['code']} {item['subject']}: {item['reason']}" for item in left)]
