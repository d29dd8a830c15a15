"""Snapshots as files: one gzip-compressed JSON document with a schema id, typed on the way back in."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from dataclasses import replace
from glob import escape
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError, RefusedError, StorageError
from mqctl.model import forms
from mqctl.model.config import MOST_QUEUES
from mqctl.model.counts import counted
from mqctl.model.numbers import decimal
from mqctl.model.remark import of_decoder, on_one_line
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.store.own_files import write_whole
from mqctl.text import encoded, sentence

SCHEMA = f"snapshot/{forms.SNAPSHOT}"
_BEFORE_CAUSES = "snapshot/1"
_LIMIT_BYTES = 1 << 30
"""Unpacked size of a snapshot: one of 100,000 queues has about 60 MB, and a file of a megabyte can claim a thousand."""
_PIECE_BYTES = 1 << 20
_MOST_OF_ALL = 2 * MOST_QUEUES
"""Queues of one topic, over all its brokers."""


class _Head(msgspec.Struct):
    schema: str


class _Archive(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    snapshot: msgspec.Raw


def refuse_existing(file: Path) -> None:
    """Passes when nothing would be written over. Raises RefusedError."""
    if file.exists():
        raise RefusedError(
            sentence("could-not-write-snapshot", "could not write the snapshot {file}", file=file),
            reason=sentence("snapshot-file-exists", "the file exists"),
            remedy=sentence("snapshot-name-another-file-add", "name another file or add --force"),
        )


def save_snapshot(snapshot: ClusterSnapshot, file: Path, *, force: bool = False) -> None:
    """Writes `snapshot` to `file`, whole or not at all.

    Args:
        force: replace an existing file.

    Raises:
        RefusedError: the file exists and `force` is not set.
        StorageError: the operating system refuses.
    """
    problem = sentence("could-not-write-snapshot", "could not write the snapshot {file}", file=file)
    if not force:
        refuse_existing(file)
    document = {"schema": SCHEMA, "snapshot": msgspec.to_builtins(snapshot, enc_hook=encoded)}
    packed = gzip.compress(msgspec.json.encode(document, enc_hook=encoded), compresslevel=6, mtime=0)
    try:
        if not file.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file.parent))
        write_whole(file, packed, mode=0o600, sweep=escape(file.name))
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = (
            sentence("snapshot-free-space-name-another", "free space or name another place")
            if full
            else sentence("name-writable-place", "name a writable place")
        )
        raise StorageError(problem, reason=error.strerror or str(error), remedy=remedy) from error


def _unpacked(file: Path, problem: str) -> bytes:
    """Unpacks piece by piece. Raises BadInputError beyond the limit, and what `gzip` raises."""
    pieces: list[bytes] = []
    left = _LIMIT_BYTES
    with gzip.open(file) as stream:
        while piece := stream.read(_PIECE_BYTES):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                reason = sentence(
                    "snapshot-unpacks-to-more",
                    "it unpacks to more than {limit_bytes}",
                    limit_bytes=_LIMIT_BYTES,
                )
                raise BadInputError(
                    problem, reason=reason, remedy=sentence("save-snapshot-again", "save the snapshot again")
                )
    return b"".join(pieces)


def _refuse_other(schema: str, problem: str) -> None:
    """Passes when snapshots of this schema are read here. Raises BadInputError."""
    kind, _, number = schema.partition("/")
    form = decimal(number)
    if kind != "snapshot" or form is None:
        remedy = sentence("snapshot-save-gathers-one", "mqctl snapshot save FILE gathers one")
        raise BadInputError(
            problem,
            reason=sentence("schema-not", "its schema is {schema}, not {schema_2}", schema=schema, schema_2=SCHEMA),
            remedy=remedy,
        )
    reason = forms.newer_than_known(form, forms.SNAPSHOT)
    if reason is not None:
        raise BadInputError(problem, reason=reason, remedy=forms.UPGRADE)


def load_snapshot(file: Path) -> ClusterSnapshot:
    """Reads a snapshot written by `save_snapshot`; its origin says which file it came from.

    Raises:
        NotFoundError: there is no such file.
        BadInputError: the file is cut, damaged, of another kind or of a newer schema.
    """
    problem = sentence("snapshot-could-not-read", "could not read the snapshot {file}", file=file)
    try:
        text = _unpacked(file, problem)
    except FileNotFoundError:
        raise NotFoundError(
            sentence("no-snapshot", "there is no snapshot {file}", file=file),
            remedy=sentence("name-right-snapshot-save", "is the name right? mqctl snapshot save FILE gathers one"),
        ) from None
    except IsADirectoryError:
        raise BadInputError(
            problem,
            reason=sentence("common-directory", "it is a directory"),
            remedy=sentence("snapshot-store-directory-goes", "a store directory goes with --store"),
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = (
            sentence("snapshot-file-cut-damaged", "the file is cut or damaged")
            if not isinstance(error, gzip.BadGzipFile)
            else sentence("snapshot-file-no-snapshot", "it is not a snapshot file")
        )
        raise BadInputError(
            problem, reason=reason, remedy=sentence("save-snapshot-again", "save the snapshot again")
        ) from error
    try:
        _refuse_other(msgspec.json.decode(text, type=_Head).schema, problem)
        archive = msgspec.json.decode(text, type=_Archive)
        text = bytes(archive.snapshot)
        if archive.schema == _BEFORE_CAUSES:
            from mqctl.snapshot.old_gaps import with_causes

            text = with_causes(archive.snapshot)
        snapshot = msgspec.json.decode(text, type=ClusterSnapshot)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(
            problem, reason=of_decoder(error), remedy=sentence("save-snapshot-again", "save the snapshot again")
        ) from error
    _refuse_endless(snapshot, problem)
    return replace(snapshot, origin=replace(snapshot.origin, archive=str(file)))


def _refuse_endless(snapshot: ClusterSnapshot, problem: str) -> None:
    """Passes when no topic has more queues than brokers make: they are listed one by one."""
    counts = [
        (config.name, max(config.read_queue_count, config.write_queue_count), MOST_QUEUES)
        for broker in snapshot.brokers
        for config in broker.topics
    ]
    counts += [
        (route.topic, sum(max(0, item.read_queue_count, item.write_queue_count) for item in route.queues), _MOST_OF_ALL)
        for view in snapshot.name_servers
        for route in view.routes
    ]
    for topic, count, most in counts:
        if count > most:
            reason = sentence(
                "snapshot-topic-of-too-many-queues",
                "topic {topic} has {count}, and mqctl reads at most {most:,}",
                topic=on_one_line(topic),
                count=counted(count, "queue"),
                most=most,
            )
            raise BadInputError(
                problem, reason=reason, remedy=sentence("save-snapshot-again", "save the snapshot again")
            )
