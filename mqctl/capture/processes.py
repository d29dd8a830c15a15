"""Processes of this machine that consume: what they run, how busy they are, which groups they consume for.

A process says nowhere that it is a consumer. It is taken for one when brokers name a connection of it as a member of a
group, when its threads are named as RocketMQ names them, when its command line speaks of RocketMQ, or when it is
connected to a broker or a name server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import TypeVar

import psutil

from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.member import Member
from mqctl.model.numbers import decimal
from mqctl.text import sentence

T = TypeVar("T")
PROC = Path("/proc")
# What the kernel keeps of `ConsumeMessageThread_...` and `ConsumeMessageScheduledThread_`: 15 characters.
_CONSUME_THREAD = "ConsumeMessageT"
_DEFAULT_PORTS = frozenset({9876, 10909, 10911})
_SERVERS = re.compile(
    r"BrokerStartup|NamesrvStartup|BrokerContainerStartup|ControllerStartup|ProxyStartup|embedded_broker|tools\.admin\."
    r"|tools\.command\.MQAdminStartup"
)
_SPEAKS_OF = re.compile(r"rocketmq", re.IGNORECASE)
_GROUP_SETTING = re.compile(r"(?:^|\s|-D|--)rocketmq\.(?:push-?|pull-?)?consumer\.group=(\S+)")
_INSTANCE_SETTING = re.compile(r"-Drocketmq\.client\.name=(\S+)")
_CLIENT_PID = re.compile(r"@(\d+)#")
_LONGEST_COMMAND = 200


class Runtime(StrEnum):
    """What executes a process's code, and so which tool can show its threads."""

    PYTHON = "python"
    JVM = "jvm"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerIdentity:
    """A member of a group that a process is.

    Attributes:
        known_by: what tells it: `connection` (a broker names this very connection), `client id` (it carries the process
            id) or `command line` (the group only).
    """

    group: str
    client_id: str | None
    known_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProcess:
    """A process that consumes, or seems to.

    Attributes:
        command: its command line, shortened.
        cpu_share: processor time by time; 1.0 is one core. None when it was not looked at twice.
        consume_thread_count: threads that carry RocketMQ's name; None where the system keeps no names (Python before
            3.14 gives it none).
        identities: groups that it consumes for, as far as they can be told.
        connected_to: brokers and name servers, `host:port`.
    """

    pid: int
    runtime: Runtime
    command: str
    user: str | None = None
    thread_count: int | None = None
    rss_bytes: int | None = None
    cpu_share: float | None = None
    started_time_ms: int | None = None
    consume_thread_count: int | None = None
    identities: tuple[ConsumerIdentity, ...] = ()
    connected_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a cluster tells about its clients.

    Attributes:
        members: by group.
        addresses: of brokers and name servers, `host:port`; empty when no cluster was asked.
        consume_modes: `POP` or `PULL` by group, both where it differs by topic.
    """

    members: Mapping[str, tuple[Member, ...]] = field(default_factory=dict)
    addresses: Set[str] = frozenset()
    consume_modes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sockets:
    """Addresses of one process's TCP connections, both ends, and those it listens on."""

    local: set[str] = field(default_factory=set)
    remote: set[str] = field(default_factory=set)
    listens: set[str] = field(default_factory=set)

    def serves(self, addresses: Set[str]) -> bool:
        """Tells whether it listens on one of `addresses`, or on its port at every address of the machine."""
        ports = {address.rpartition(":")[2] for address in addresses}
        return any(
            own in addresses or (own.startswith(("0.0.0.0:", ":::")) and own.rpartition(":")[2] in ports)
            for own in self.listens
        )


def find_consumers(
    around: Surroundings, *, own_pid: int, look_s: float, wait: Callable[[float], None]
) -> tuple[list[LocalProcess], list[Gap]]:
    """Finds the processes of this machine that consume, by process id.

    Args:
        around: the cluster's members, by which connections become groups and client ids.
        own_pid: this process, which is none.
        look_s: how long to look at processor time.
        wait: sleeps for so many seconds.
    """
    sockets, gaps = _sockets()
    consumers: dict[int, tuple[psutil.Process, LocalProcess]] = {}
    for process in psutil.process_iter():
        if process.pid == own_pid:
            continue
        try:
            seen = describe(process, sockets.get(process.pid), around)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        if seen is not None:
            consumers[process.pid] = (process, seen)
    before = {pid: _cpu_s(process) for pid, (process, _) in consumers.items()}
    started = monotonic()
    if consumers:
        wait(look_s)
    looked_s = monotonic() - started
    rows = []
    for pid, (process, seen) in sorted(consumers.items()):
        first, last = before[pid], _cpu_s(process)
        share = (last - first) / looked_s if first is not None and last is not None and looked_s > 0 else None
        rows.append(replace(seen, cpu_share=share))
    return rows, gaps


def describe(process: psutil.Process, sockets: Sockets | None, around: Surroundings) -> LocalProcess | None:
    """Returns what a process is, or None when it does not consume.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    words = _or_none(process.cmdline) or []
    line = " ".join(words)
    consume_threads = _consume_threads(process.pid)
    identities = tuple(_identities(process.pid, line, sockets, around))
    connected = tuple(sorted(_brokers_of(sockets, around)))
    serves = _SERVERS.search(line) is not None or (sockets is not None and sockets.serves(around.addresses))
    runtime = runtime_of(process)
    speaks = _SPEAKS_OF.search(line) is not None and runtime is not Runtime.OTHER
    if not words or not (identities or (not serves and (connected or consume_threads or speaks))):
        return None
    memory = _or_none(process.memory_info)
    started_s = _or_none(process.create_time)
    return LocalProcess(
        pid=process.pid,
        runtime=runtime,
        command=line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]}...",
        user=_or_none(process.username),
        thread_count=_or_none(process.num_threads),
        rss_bytes=memory.rss if memory else None,
        started_time_ms=round(started_s * 1000) if started_s else None,
        consume_thread_count=consume_threads,
        identities=identities,
        connected_to=connected,
    )


def identities_of(pid: int, around: Surroundings) -> tuple[ConsumerIdentity, ...]:
    """Returns the groups that one process consumes for, as far as they can be told."""
    sockets, _ = _sockets()
    try:
        line = " ".join(_or_none(psutil.Process(pid).cmdline) or [])
    except psutil.NoSuchProcess:
        return ()
    return tuple(_identities(pid, line, sockets.get(pid), around))


def runtime_of(process: psutil.Process) -> Runtime:
    """Tells what executes a process, by the name of its executable or by the library it has loaded.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    named = {Path(name).name for name in (_or_none(process.exe), _or_none(process.name)) if name}
    if any(re.fullmatch(r"javaw?", name) for name in named):
        return Runtime.JVM
    if any(re.fullmatch(r"(python|pypy)[\d.]*[a-z]?", name) for name in named):
        return Runtime.PYTHON
    libraries = loaded(process.pid)
    if re.search(r"/libjvm\.(so|dylib)", libraries):
        return Runtime.JVM
    return Runtime.PYTHON if re.search(r"/libpython\d", libraries) else Runtime.OTHER


def loaded(pid: int, proc: Path = PROC) -> str:
    """Returns the files that a process has mapped, as the kernel lists them; empty where they cannot be read."""
    try:
        return (proc / str(pid) / "maps").read_text(errors="replace")
    except OSError:
        return ""


def _identities(pid: int, line: str, sockets: Sockets | None, around: Surroundings) -> Iterator[ConsumerIdentity]:
    seen_clients = set()
    for group, members in sorted(around.members.items()):
        for member in members:
            known_by = _known_by(pid, member, sockets)
            if known_by and (group, member.client_id) not in seen_clients:
                seen_clients.add((group, member.client_id))
                yield ConsumerIdentity(group=group, client_id=member.client_id, known_by=known_by)
    named = _GROUP_SETTING.search(line)
    if named and named[1] not in {group for group, _ in seen_clients}:
        instance = _INSTANCE_SETTING.search(line)
        at = f"@{instance[1]}" if instance else None
        yield ConsumerIdentity(group=named[1], client_id=at, known_by="command line")


def _known_by(pid: int, member: Member, sockets: Sockets | None) -> str | None:
    if sockets is None:
        return None
    if _plain(member.address) in sockets.local:
        return "connection"
    # A client id that carries a process id is proof only together with the address: pids repeat on other machines.
    carried = _CLIENT_PID.search(member.client_id)
    own_hosts = {address.rpartition(":")[0] for address in sockets.local}
    same_host = _plain(member.address).rpartition(":")[0] in own_hosts
    return "client id" if carried and decimal(carried[1]) == pid and same_host else None


def _brokers_of(sockets: Sockets | None, around: Surroundings) -> Iterator[str]:
    for remote in sockets.remote if sockets else ():
        port = remote.rpartition(":")[2]
        if remote in around.addresses or (not around.addresses and decimal(port) in _DEFAULT_PORTS):
            yield remote


def _sockets() -> tuple[dict[int, Sockets], list[Gap]]:
    """Returns the sockets of every process that may be looked at, and what was hidden."""
    try:
        listed = psutil.net_connections("tcp")
    except psutil.AccessDenied as error:
        reason = str(error) or sentence(
            "capture-system-shows-connections-root", "the system shows connections to root only"
        )
        return {}, [_hidden(reason)]
    sockets: dict[int, Sockets] = {}
    hidden = 0
    for item in listed:
        if not item.laddr:
            continue
        if item.pid is None:
            hidden += item.status == psutil.CONN_ESTABLISHED
            continue
        entry = sockets.setdefault(item.pid, Sockets())
        local = f"{_plain(item.laddr.ip)}:{item.laddr.port}"
        if item.status == psutil.CONN_LISTEN:
            entry.listens.add(local)
        elif item.raddr:
            entry.local.add(local)
            entry.remote.add(f"{_plain(item.raddr.ip)}:{item.raddr.port}")
    if not hidden:
        return sockets, []
    reason = sentence(
        "capture-some-of-others",
        "{hidden} of them belong to processes of other users; run as root to see whose they are",
        hidden=hidden,
    )
    return sockets, [_hidden(reason)]


def _hidden(reason: str) -> Gap:
    return Gap(
        part=Part.PROCESSES,
        cause=Cause.DENIED,
        reason=reason,
        subject=GapSubject(place=sentence("gap-connections", "connections")),
    )


def _plain(address: str) -> str:
    """Writes an IPv4 address that a dual-stack socket shows in IPv6 form as IPv4; Java's sockets are of that kind."""
    return address.removeprefix("::ffff:")


def _consume_threads(pid: int) -> int | None:
    """Counts the threads that carry a consume thread's name; None where the system tells no names."""
    try:
        tasks = list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return None
    count = 0
    for task in tasks:
        try:
            count += (task / "comm").read_text(errors="replace").startswith(_CONSUME_THREAD)
        except OSError:
            continue
    return count or None


def _cpu_s(process: psutil.Process) -> float | None:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return None
    return times.user + times.system


def _or_none(ask: Callable[[], T]) -> T | None:
    """Returns what a process lets us see of it, or None.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    try:
        return ask()
    except (psutil.AccessDenied, OSError):
        return None
