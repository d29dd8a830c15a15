"""MQ109, MQ121, MQ122: a store against the machine that it lies on."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.rule import Case, Verdict, rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part

# A JVM needs some mappings, and connections need open files, for themselves.
_NEARLY_ALL = 0.9
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_OF_CONTAINERS = frozenset({"overlay", "aufs"})


def _store(case: Case) -> Subject:
    return Subject(kind=SubjectKind.STORE, broker=case.broker.name)


@rule("MQ109", Severity.WARNING, source="MappedFile.init", needs=(Part.STORAGE,), playbook="broker-down")
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


@rule("MQ122", Severity.ERROR, source="DefaultMappedFile", needs=(Part.STORAGE, Part.PROCESSES), playbook="broker-down")
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
