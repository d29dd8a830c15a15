"""Gaps of snapshots that were written before a gap had a cause: the one place where words are read for one.

Such a gap has a part, a reason and a scope. Its reason begins with what was tried, in one of a few fixed sentences, and
its scope has one of a few forms; mqctl wrote both.
"""

from __future__ import annotations

import re

import msgspec

from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.numbers import decimal
from mqctl.text import encoded

_CAUSES = (
    (re.compile(r" was refused by .*(AclException|\(16\))", re.DOTALL), Cause.DENIED),
    (re.compile(r" was refused by .* \(3\)", re.DOTALL), Cause.UNSUPPORTED),
    (re.compile(r" was refused by "), Cause.REFUSED),
    (re.compile(r" was not answered by "), Cause.TIMED_OUT),
    (re.compile(r" was not asked of "), Cause.NOT_ASKED),
    (re.compile(r" could not be asked of |its bounds could not be asked"), Cause.SILENT),
    (re.compile(r"does not support them|older than 4\.9\.4"), Cause.UNSUPPORTED),
    (re.compile(r"RocksDB"), Cause.UNREADABLE),
    (re.compile(r"saved without|--quick|by itself, without|the first [\d,]+ were read"), Cause.LEFT_OUT),
)
_SUBJECTS = (
    re.compile(r"physical offset (?P<offset>\d+)"),
    re.compile(r"(?P<topic>\S+) at (?P<address>\S+)"),
    re.compile(r"name server (?P<address>\S+)"),
    re.compile(r"producer group (?P<producer_group>\S+)"),
    re.compile(r"(?P<client>\S+) of (?P<group>\S+)"),
    re.compile(r"(?P<group>\S+) on (?P<topic>\S+)"),
    re.compile(r"(?P<topic>\S+) queue (?P<queue_id>\d+)"),
    re.compile(r"(?P<topic>\S+) offset (?P<offset>\d+)"),
)
_QUEUE = re.compile(r"(?P<topic>\S+) (?P<broker>[^\s/]+)/(?P<queue_id>\d+)")


class _OldGap(msgspec.Struct):
    part: Part
    reason: str
    scope: str | None = None


_Tree = dict[str, msgspec.Raw]


def with_causes(snapshot: msgspec.Raw) -> bytes:
    """Returns the JSON of an old snapshot with a cause and a subject in each gap.

    Raises:
        msgspec.DecodeError: it is no snapshot.
    """
    tree = _upgraded(snapshot)
    brokers = msgspec.json.decode(tree.get("brokers", msgspec.Raw(b"[]")), type=list[msgspec.Raw])
    tree["brokers"] = msgspec.Raw(msgspec.json.encode([_upgraded(broker) for broker in brokers], enc_hook=encoded))
    earlier = tree.get("earlier")
    if earlier is not None and bytes(earlier) != b"null":
        tree["earlier"] = msgspec.Raw(with_causes(earlier))
    return msgspec.json.encode(tree, enc_hook=encoded)


def _upgraded(text: msgspec.Raw) -> _Tree:
    tree = msgspec.json.decode(text, type=_Tree)
    gaps = msgspec.json.decode(tree.get("unavailable", msgspec.Raw(b"[]")), type=list[_OldGap])
    tree["unavailable"] = msgspec.Raw(msgspec.json.encode([_gap(gap) for gap in gaps], enc_hook=encoded))
    return tree


def _gap(old: _OldGap) -> Gap:
    # What stores could not read has as many reasons as files have ways to be damaged.
    cause = next((cause for words, cause in _CAUSES if words.search(old.reason)), Cause.DAMAGED)
    queue = _QUEUE.fullmatch(old.scope or "") if old.part is Part.TAGS else None
    subject = GapSubject(topic=queue["topic"], queue_id=decimal(queue["queue_id"])) if queue else _subject(old)
    broker = queue["broker"] if queue else None
    return Gap(part=old.part, cause=cause, reason=old.reason, subject=subject, broker=broker)


def _subject(old: _OldGap) -> GapSubject | None:
    if not old.scope:
        return None
    for form in _SUBJECTS:
        if match := form.fullmatch(old.scope):
            return msgspec.convert(match.groupdict(), GapSubject, strict=False)
    if old.part is Part.MEMBERS and old.scope != "producers":
        return GapSubject(group=old.scope)
    if old.part in (Part.QUEUES, Part.TRANSACTIONS):
        return GapSubject(topic=old.scope)
    return GapSubject(place=old.scope)
