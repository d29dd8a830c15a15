"""Where stacks come from: a process of this machine, instances through their broker, files; several looks at each.

Beside the stacks comes what they are judged with: what the instance holds, and how far its group is behind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep, time
from typing import Protocol

from mqctl.capture.processes import ConsumerIdentity, identities_of
from mqctl.cli.connection.target import DEFAULT_TIMEOUT_MS, ClusterTarget, cluster_target
from mqctl.cli.sources.brokers import open_brokers
from mqctl.cli.sources.groups import group_holders
from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.cli.terminal.progress import Report, step_progress
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.commands.stacks.gather_processes import members_of
from mqctl.errors import (
    BadInputError,
    ConfigurationError,
    DeadlineError,
    MqctlError,
    NotFoundError,
    UnreachableError,
    UsageError,
)
from mqctl.model.dump import DumpTool, StackDump
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lag import QueueLag
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.stack_look import Sight, StackEvidence, StackInstance, StackLook, put_together
from mqctl.snapshot.live.asking import Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, masters_of
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.stacks import GroupLooks, Memberships, lags_of, mode_of, read_sights, running_of
from mqctl.stacks.names import understand
from mqctl.text import joined, sentence

DEFAULT_DUMPS = 3
DEFAULT_EVERY_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StackRequest:
    """Whose stacks, taken how.

    Attributes:
        dump_count, every_ms: how many looks, and how far apart.
        native, nonblocking: as py-spy has it.
        long_pause_ms: a pause of the process from which on the way without one is offered.
    """

    pid: int | None = None
    client_id: str | None = None
    group: str | None = None
    files: tuple[Path, ...] = ()
    snapshot: Path | None = None
    dump_count: int = DEFAULT_DUMPS
    every_ms: int = DEFAULT_EVERY_MS
    native: bool = False
    nonblocking: bool = False
    long_pause_ms: float = 50.0
    namesrv: str | None = None
    profile: str | None = None
    timeout: str | None = None
    proxies: tuple[str, ...] = ()

    def check(self) -> None:
        """Checks that one source is named. Raises UsageError."""
        sources = (("--pid", self.pid), ("--file", self.files or None), ("--snapshot", self.snapshot))
        named = [name for name, given in sources if given is not None]
        if self.client_id is not None and self.group is None:
            raise UsageError(
                sentence("stacks-client-needs-group", "--client needs its group"),
                remedy=sentence("stacks-add-group-members", "add -g GROUP; mqctl group members -g GROUP shows ids"),
            )
        whose = "--client" if self.client_id is not None else "--group" if self.group is not None else None
        if whose and (not named or (whose == "--client" and self.snapshot is None)):
            named.append(whose)
        if len(named) > 1:
            raise UsageError(
                sentence("stacks-cannot-combined", "{named:and} cannot be combined", named=named),
                remedy=sentence("name-source-stacks", "name one source of stacks"),
            )
        if not named:
            remedy = sentence(
                "stacks-add-source",
                "add --pid PID, -g GROUP (all its instances), --client ID -g GROUP, or --file DUMP",
            )
            raise UsageError(
                sentence("no-source-stacks-given", "no source of stacks given"),
                remedy=sentence(
                    "stacks-find-lists-processes",
                    "{remedy}; mqctl stacks find lists processes of this machine",
                    remedy=remedy,
                ),
            )


class StackSource(Protocol):
    """What can be looked at again and again."""

    def look(self, deadline: Deadline) -> StackLook:
        """Looks once.

        Raises:
            MqctlError: there was nothing to see.
        """
        ...

    def refresh(self, deadline: Deadline) -> None:
        """Finds out anew who is there, for looks that go on for long."""
        ...


def now_ms() -> int:
    """Returns epoch milliseconds."""
    return round(time() * 1000)


@contextmanager
def open_source(request: StackRequest) -> Iterator[tuple[StackSource, int]]:
    """Yields the live source that is wished for, and the milliseconds that one look at it may take.

    Raises:
        NotFoundError: there is no such process, group or instance.
        PermissionDeniedError, RefusedError, ConfigurationError: something is in the way of a dump.
        UnreachableError, DeadlineError: no name server answered.
    """
    if request.pid is not None:
        process = _Process(request.pid, request)  # before anybody else is asked: what is in the way of it is the answer
        target = _cluster_if_any(request)
        if target is None:
            yield process, connection_timeout_ms(request)
            return
        with target.open() as cluster:
            process.join(cluster, target)
            yield process, target.timeout_ms
        return
    target = cluster_target(request.namesrv, request.profile, request.timeout, proxies=request.proxies)
    with target.open() as cluster:
        yield GroupSource(cluster, target.deadline(), request.group or "", request.client_id), target.timeout_ms


def connection_timeout_ms(request: StackRequest) -> int:
    """Returns the limit of one look where no cluster is named."""
    from mqctl.cli.times import parse_span_ms

    return parse_span_ms(request.timeout) if request.timeout else DEFAULT_TIMEOUT_MS


def _cluster_if_any(request: StackRequest) -> ClusterTarget | None:
    try:
        return cluster_target(request.namesrv, request.profile, request.timeout, proxies=request.proxies)
    except ConfigurationError:
        if request.profile:
            raise
        return None


class GroupSource:
    """Instances of a group through their brokers.

    Raises:
        NotFoundError: no broker knows the group, or the instance.
        RefusedError: none of its instances is online.
    """

    def __init__(self, cluster: Cluster, deadline: Deadline, group: str, client_id: str | None) -> None:
        self._cluster = cluster
        self._group = group
        self._client_id = client_id
        self._opening: Deadline | None = deadline
        self.refresh(deadline)

    def refresh(self, deadline: Deadline) -> None:
        """Asks the brokers for the members, whoever was silent among them."""
        asking = Asking(self._cluster, deadline)
        brokers = masters_of(open_brokers(asking))
        memberships = gather_memberships(asking, brokers, Scope(groups=frozenset({self._group})))
        if not memberships and not any(broker.gaps for broker in brokers):
            # Nobody online is one thing, a name that no broker knows is another.
            group_holders(LiveOrSaved(asking, None), self._group)
        self._gaps = tuple(replace(gap, subject=None, broker=item.name) for item in brokers for gap in item.gaps[:1])
        if self._gaps and not any(item.client_ids for items in memberships.values() for item in items):
            # Who is online is not known as long as a broker did not tell: nobody is no answer then.
            problem = sentence(
                "stacks-online-not-listed",
                "broker {broker} did not list who is online in group {group}",
                broker=self._gaps[0].broker,
                group=self._group,
            )
            raise self._gaps[0].as_error(
                problem,
                sentence("broker-list-shows-answering", "mqctl broker list shows which brokers answer"),
                so_far="",
            )
        self._looks = GroupLooks(
            cluster=self._cluster,
            group=self._group,
            brokers=brokers,
            memberships=memberships,
            client_id=self._client_id,
        )

    def look(self, deadline: Deadline) -> StackLook:
        """Looks at all of them at once; the first time in what is left of the command's time."""
        deadline, self._opening = self._opening or deadline, None
        seen = self._looks.look(deadline, now_ms())
        return StackLook(
            at_ms=seen.at_ms, sights=seen.sights, lags=seen.lags, unavailable=(*self._gaps, *seen.unavailable)
        )


@dataclass(kw_only=True)
class _Joined:
    """The cluster that a process consumes from, and who it is there."""

    cluster: Cluster
    brokers: list[LiveBroker]
    memberships: Memberships
    identity: ConsumerIdentity | None
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


class _Process:
    """A process of this machine, joined with what its cluster says of it."""

    def __init__(self, pid: int, request: StackRequest) -> None:
        from mqctl.capture.local import LocalProcessDumps, Manner
        from mqctl.capture.tools import SearchPath

        search = SearchPath(path=os.environ.get("PATH", ""), java_home=os.environ.get("JAVA_HOME"))
        manner = Manner(native=request.native, nonblocking=request.nonblocking, search=search)
        self._dumps = LocalProcessDumps(pid, manner, now_ms=now_ms)
        self._pid = pid
        self._group = request.group
        self._nonblocking = request.nonblocking
        self._long_pause_ms = request.long_pause_ms
        self._told_cost = False
        self._cluster: tuple[Cluster, ClusterTarget] | None = None
        self._joined: _Joined | None = None

    def join(self, cluster: Cluster, target: ClusterTarget) -> None:
        """Has the cluster asked, once the process has shown its threads, for which group it consumes."""
        self._cluster = (cluster, target)

    def _join(self, cluster: Cluster, target: ClusterTarget, dump: StackDump) -> _Joined:
        """Finds out who the process is; a cluster that does not answer is a gap, not an end.

        Names of consume threads tell the group as a rule, so that not every group of the cluster is asked about.
        """
        named = {understand(thread.name).group for thread in dump.threads} - {None}
        scopes: list[set[str | None]] = [{self._group}] if self._group else [named, set()] if named else [set()]
        identities: list[ConsumerIdentity] = []
        try:
            for groups in scopes:
                scope = Scope(groups=frozenset(name for name in groups if name))
                known = members_of(Asking(cluster, target.deadline()), scope)
                identities = [item for item in identities_of(self._pid, known.around) if item.client_id is not None]
                if identities:
                    break
        except (UnreachableError, DeadlineError) as error:
            gap = Gap.of(Part.MEMBERS, error)
            return _Joined(cluster=cluster, brokers=[], memberships={}, identity=None, gaps=(gap,))
        gaps, notes = tuple(known.gaps), self._notes_on(identities, target)
        if not identities and self._group:
            subject = GapSubject(place=sentence("gap-process", "process {pid}", pid=self._pid))
            gaps += (Gap(part=Part.MEMBERS, cause=Cause.LEFT_OUT, reason=joined("; ", notes), subject=subject),)
            notes = ()
        return _Joined(
            cluster=cluster,
            brokers=known.brokers,
            memberships=known.memberships,
            identity=identities[0] if identities else None,
            gaps=gaps,
            notes=notes,
        )

    def _notes_on(self, identities: list[ConsumerIdentity], target: ClusterTarget) -> tuple[str, ...]:
        if len(identities) > 1:
            names = ", ".join(item.group for item in identities)
            return (
                sentence(
                    "stacks-process-several-groups",
                    "process {pid} consumes for {groups}: judged as {group}, -g chooses another",
                    pid=self._pid,
                    groups=names,
                    group=identities[0].group,
                ),
            )
        if identities:
            return ()
        whose = (
            sentence("common-group", " of {group}", group=self._group)
            if self._group
            else sentence("stacks-judged-alone", ": it is judged by its stacks alone")
        )
        return (
            sentence(
                "stacks-process-no-member",
                "no broker of {source} names a connection of process {pid} as a member{whose}",
                source=target.source,
                pid=self._pid,
                whose=whose,
            ),
        )

    def refresh(self, deadline: Deadline) -> None:
        """A process stays who it is."""

    def look(self, deadline: Deadline) -> StackLook:
        """Takes one dump, and asks the cluster what the instance holds and how far its group is behind."""
        shot = self._dumps.take(deadline)
        at_ms = shot.dump.taken_at_ms or now_ms()
        if self._joined is None and self._cluster is not None:
            self._joined = self._join(*self._cluster, shot.dump)
        joined = self._joined
        identity = joined.identity if joined else None
        info, gaps = None, list(joined.gaps if joined else ())
        lags: tuple[QueueLag, ...] = ()
        if joined is not None and identity is not None and identity.client_id is not None:
            asking = Asking(joined.cluster, deadline)
            who = (identity.group, identity.client_id)
            info = running_of(asking, joined.brokers, joined.memberships, *who)
            lags, more = lags_of(joined.cluster, deadline, identity.group, at_ms)
            gaps += more
        sight = Sight(
            source=f"pid {self._pid}",
            group=identity.group if identity else self._group,
            client_id=identity.client_id if identity else None,
            raw=shot.raw,
            dump=shot.dump,
            info=info,
            took_ms=shot.took_ms,
            consume_mode=mode_of(joined.memberships, identity.group) if joined and identity else None,
        )
        notes = [*(joined.notes if joined else ()), *self._cost(shot.dump)]
        return StackLook(at_ms=at_ms, sights=(sight,), lags=lags, unavailable=tuple(gaps), notes=tuple(notes))

    def _cost(self, dump: StackDump) -> list[str]:
        """Offers the way without a pause to whom the pause may hurt; said once."""
        if self._told_cost or self._nonblocking or dump.tool is not DumpTool.PY_SPY:
            return []
        if dump.pause_ms is None or dump.pause_ms < self._long_pause_ms:
            return []
        self._told_cost = True
        return [
            sentence(
                "stacks-process-stood-still",
                "process {pid} stood still for {pause_ms}: --nonblocking does without, less exactly",
                pid=self._pid,
                pause_ms=dump.pause_ms,
            )
        ]


def take_looks(
    source: StackSource, look_ms: int, request: StackRequest, progress: Report | None = None
) -> StackEvidence:
    """Looks as often as wished, and puts the looks together.

    A source that is lost after the first look ends the looking: what was seen stays, and the loss is named.

    Raises:
        MqctlError: the first look showed nothing.
    """
    looks: list[StackLook] = []
    started = monotonic()
    for number in range(request.dump_count):
        if progress is not None:
            progress("looks at the stacks", number, request.dump_count)
        pause_s = started + number * request.every_ms / 1000 - monotonic()
        if pause_s > 0:
            sleep(pause_s)
        try:
            looks.append(source.look(Deadline(look_ms)))
        except MqctlError as error:
            if not looks:
                raise
            gap = Gap.of(Part.STACKS, error, _look(number + 1, request.dump_count))
            if isinstance(error, NotFoundError):  # the process has ended
                gap = replace(gap, cause=Cause.SILENT)
            looks.append(StackLook(at_ms=now_ms(), unavailable=(gap,)))
            break
    return put_together([read_sights(look) for look in looks])


def gather_stacks(request: StackRequest) -> StackEvidence:
    """Gathers from whatever source is wished for.

    Raises:
        UsageError: none is named, or two.
    """
    request.check()
    if request.files:
        return from_files(request.files)
    if request.snapshot is not None:
        from mqctl.snapshot.archive import load_snapshot
        from mqctl.snapshot.saved_stacks import saved_stacks

        return saved_stacks(load_snapshot(request.snapshot), request.group, request.client_id)
    with open_source(request) as (source, look_ms), step_progress() as progress:
        return take_looks(source, look_ms, request, progress)


def from_files(files: tuple[Path, ...]) -> StackEvidence:
    """Reads saved dumps; `-` is stdin. Those of one process are looks at one instance, whatever file they are in.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: a file holds no dump at all.
    """
    from mqctl.stacks.processes import by_process

    looks = by_process(dump for file in files for dump in _read_file(file))
    instances = tuple(
        StackInstance(source=dumps[0].source if dumps[0].pid is None else f"pid {dumps[0].pid}", dumps=tuple(dumps))
        for dumps in looks
    )
    newest = max((dump.taken_at_ms for item in instances for dump in item.dumps if dump.taken_at_ms), default=now_ms())
    return StackEvidence(now_ms=newest, instances=instances)


def _read_file(file: Path) -> list[StackDump]:
    from mqctl.stacks.parse import read_stream

    zone = datetime.now().astimezone().tzinfo or UTC
    if str(file) == "-":
        dumps = read_stream(sys.stdin.buffer, source="stdin", zone=zone)
    elif file.exists() and not file.is_dir():
        with file.open("rb") as stream:
            dumps = read_stream(stream, source=str(file), zone=zone)
    else:
        raise NotFoundError(
            sentence("no-file", "there is no file {file}", file=file),
            remedy=sentence("stacks-name-saved-dump-stdin", "name a saved dump, or - for stdin"),
        )
    if not dumps:
        raise BadInputError(
            sentence("holds-no-stacks", "{file} holds no stacks", file=file),
            reason=sentence(
                "stacks-not-output-jstack-jcmd",
                "it is not the output of jstack, jcmd, py-spy or a consumer's running information",
            ),
            remedy=sentence(
                "stacks-jstack-pid-dump-py", "jstack -l PID > DUMP, or py-spy dump --json --pid PID > DUMP"
            ),
        )
    return dumps


def _look(number: int, count: int) -> GapSubject:
    return GapSubject(place=sentence("gap-look", "look {number} of {looks}", number=number, looks=count))
