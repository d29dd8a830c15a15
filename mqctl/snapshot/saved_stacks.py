"""Stacks that were saved with a snapshot, as looks at the instances that showed them."""

from __future__ import annotations

from dataclasses import replace

from mqctl.errors import NotFoundError, RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lag import queue_lags
from mqctl.model.member import RunningInfo
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.stack_look import StackEvidence, StackInstance
from mqctl.stacks.parse import read_dumps
from mqctl.text import joined, sentence


def saved_stacks(snapshot: ClusterSnapshot, group: str | None, client_id: str | None) -> StackEvidence:
    """Returns the stacks in a snapshot.

    Args:
        group, client_id: only these; None for all.

    Raises:
        NotFoundError: nobody in the snapshot is of that group, or bears that id.
        RefusedError: the snapshot was saved without stacks.
    """
    members = [info for info in snapshot.running if group in (None, info.group) and client_id in (None, info.client_id)]
    where = snapshot.origin.archive or snapshot.origin.location
    if not members:
        of_group = sentence("snapshot-wanted-of-group", "of group {group}", group=group) if group else None
        wanted = joined(" ", filter(None, (client_id, of_group))) or sentence("snapshot-wanted-anybody", "anybody")
        raise NotFoundError(
            sentence(
                "snapshot-knows-no-running-instance",
                "{where} knows no running instance {wanted}",
                where=where,
                wanted=wanted,
            ),
            remedy=command_line("mqctl snapshot show {}", where),
        )
    if not any(info.stacks for info in members):
        raise RefusedError(
            sentence("snapshot-no-stacks", "{where} has no stacks", where=where),
            reason=sentence("snapshot-saved-without-them", "it was saved without them"),
            remedy=sentence(
                "snapshot-save-stacks-file",
                "mqctl snapshot save --stacks FILE saves them; mqctl stacks dump -g GROUP takes them now",
            ),
        )
    now_ms = snapshot.origin.observed_at_ms
    before = {(info.group, info.client_id): info for info in (snapshot.earlier.running if snapshot.earlier else ())}
    groups = {info.group for info in members}
    modes = snapshot.consume_modes()
    gaps = [gap for gap in snapshot.unavailable if gap.part in (Part.STACKS, Part.RUNNING_INFO)]
    gaps += [
        Gap(
            part=Part.STACKS,
            cause=Cause.LEFT_OUT,
            reason=sentence("snapshot-saved-without", "saved without them"),
            subject=GapSubject(group=info.group, client=info.client_id),
        )
        for info in members
        if not info.stacks
    ]
    return StackEvidence(
        now_ms=now_ms,
        instances=tuple(
            replace(
                _instance(info, before.get((info.group, info.client_id)), now_ms), consume_mode=modes.get(info.group)
            )
            for info in members
        ),
        lags=tuple(row for broker in snapshot.brokers for row in queue_lags(broker, now_ms) if row.group in groups),
        unavailable=tuple(gap for gap in gaps if group in (None, gap.group)),
    )


def _instance(info: RunningInfo, earlier: RunningInfo | None, now_ms: int) -> StackInstance:
    texts = [(info.stacks or "", now_ms), *((later.text, later.taken_at_ms) for later in info.later_stacks)]
    read = [read_dumps(text, source=info.client_id, taken_at_ms=at_ms) for text, at_ms in texts if text]
    return StackInstance(
        source=info.client_id,
        group=info.group,
        client_id=info.client_id,
        dumps=tuple(dumps[0] for dumps in read if dumps),
        raws=tuple(text for text, _ in texts if text),
        info=replace(info, stacks=None, later_stacks=()),
        earlier=earlier,
    )
