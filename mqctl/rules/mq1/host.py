"""MQ109, MQ121, MQ122: a store against the machine that it lies on."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule

# A JVM needs some mappings, and connections need open files, for themselves.
_NEARLY_ALL = 0.9
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_OF_CONTAINERS = frozenset({"overlay", "aufs"})


def _store(case: Case) -> Subject:
    return Subject(kind=SubjectKind.STORE, broker=case.broker.name)


@rule(
    "MQ109",
    Severity.WARNING,
    source="MappedFile.init",
    needs=(Part.STORAGE,),
    playbook="broker-down",
    texts=RuleTexts(
        title="More files than one process may map, or have open",
        speaks="a store has nearly as many files as a process may map",
        silent="a store has three quarters of them",
        what={
            "": "The store has {file_count:file} that a broker maps, and this machine lets a process map {limit_count} (vm.max_map_count).",
            "open": "The store has {file_count:file} that a broker keeps open. Process {pid} has {open_count} open, connections "
            "included; its limit is {limit_count} (RLIMIT_NOFILE).",
        },
        effect="The broker cannot create the next mapped file and refuses sends or new connections, or does not start.",
        advice="Raise vm.max_map_count on the broker's machine, and the limit of open files where the broker is started (ulimit -n, LimitNOFILE); "
        "delete topics and queues that nobody needs: each queue has at least one file.",
        explain="Counts the files of commit log, consume queues, index and timer log, each of which a broker maps and keeps open. "
        "vm.max_map_count is that of the machine where this runs, which is the broker's only if the store lies there. The limit of open files is that of the "
        "process that holds the store's lock; while no broker runs on the store, nothing tells it.",
    ),
)
def many_mapped_files(case: Case) -> Iterator[Verdict]:
    """More files than a process may map, or have open: the broker cannot make the next one, or does not start."""
    storage = case.broker.storage
    if storage is None or storage.mapped_file_count is None:
        return
    count, holder = storage.mapped_file_count, storage.holder
    if storage.map_limit is not None and count > storage.map_limit * _NEARLY_ALL:
        yield Verdict(
            subject=_store(case),
            evidence={"file_count": count, "limit_count": storage.map_limit},
            confidence=Confidence.HIGH if holder else Confidence.MEDIUM,
        )
    if holder is None or holder.open_file_limit is None:
        return
    opened = holder.open_file_count
    if max(count, opened or 0) > holder.open_file_limit * _NEARLY_ALL:
        yield Verdict(
            subject=_store(case),
            variant="open",
            params={"pid": holder.pid},
            evidence={"file_count": count, "open_count": opened, "limit_count": holder.open_file_limit},
        )


@rule(
    "MQ121",
    Severity.WARNING,
    source="MessageStoreConfig.storePathRootDir",
    needs=(Part.STORAGE,),
    playbook="broker-down",
    texts=RuleTexts(
        title="The broker writes its store to a place that does not last",
        speaks="a broker runs on a store in memory",
        silent="a copy of a store lies in memory, and no broker runs on it",
        what={
            "": "Process {pid} writes its store to {file_system}, which is memory.",
            "container": "Process {pid} writes its store to {file_system}, usually the writable layer of a container.",
        },
        effect="When the machine restarts, or the container is made anew, every message, offset and setting of this broker is gone.",
        advice="Move the store to a disk, or mount a volume at storePathRootDir: stop the broker, copy the directory, start it there.",
        explain="The type of file system is that of the mount under the store, told only while a process holds the store's lock: a copy in "
        "memory is nobody's loss. A container's own layer is advice, since a container may be meant to keep nothing.",
    ),
)
def does_not_last(case: Case) -> Iterator[Verdict]:
    """A broker writes its store where a restart of the machine, or a new container, takes it away."""
    storage = case.broker.storage
    if storage is None or storage.holder is None:  # who copied a store to /tmp loses nothing
        return
    of_container = storage.file_system in _OF_CONTAINERS
    if of_container or storage.file_system in _IN_MEMORY:
        yield Verdict(
            subject=_store(case),
            variant="container" if of_container else None,
            params={"file_system": storage.file_system, "pid": storage.holder.pid},
            severity=Severity.INFO if of_container else None,
        )


@rule(
    "MQ122",
    Severity.ERROR,
    source="DefaultMappedFile",
    needs=(Part.STORAGE, Part.PROCESSES),
    playbook="broker-down",
    texts=RuleTexts(
        title="Deleted files of the store are still open",
        speaks="a file of the log was deleted while its broker has it open",
        silent="all files that the broker has open are there",
        what={
            "": "Process {pid} has {file_count:deleted file} of the store open, {file} first.",
        },
        effect="They take {size_bytes} of the disk until the broker stops, so nothing was gained by deleting them; at the next start they are "
        "missing: what they held is lost, and a gap in the commit log keeps a broker from starting.",
        advice="Do not restart the broker before consumers have read what they need, or copy the files out of /proc/{pid}/fd into "
        "their places. Free space by lowering fileReservedTime or deleting topics instead.",
        explain="A broker that deletes an expired file closes it first; a file that is deleted and open was removed by another process. Seen on the "
        "broker's own machine, by its user or root.",
    ),
)
def deleted_and_held(case: Case) -> Iterator[Verdict]:
    """Files of a store that somebody deleted while the broker has them open."""
    storage = case.broker.storage
    deleted = storage.holder.deleted if storage is not None and storage.holder is not None else None
    if storage is not None and storage.holder is not None and deleted:
        yield Verdict(
            subject=_store(case),
            params={"file": min(item.file for item in deleted), "pid": storage.holder.pid},
            evidence={"file_count": len(deleted), "size_bytes": sum(item.size_bytes for item in deleted)},
        )
