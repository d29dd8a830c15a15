"""The way back from a change of any kind, by its id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mqctl.changes.engine.history import ACKNOWLEDGE, UnreadRecords, newest_undoable
from mqctl.changes.engine.journal import Journal
from mqctl.changes.engine.run import journal
from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import note
from mqctl.cli.sources.brokers import asking_of
from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.command_line import command_line
from mqctl.model.counts import counted
from mqctl.render.document import Document
from mqctl.text import printable, sentence

if TYPE_CHECKING:
    from mqctl.changes.offsets.change import OffsetConsent


def newest_change() -> str:
    """Returns the id of the newest change that can be undone, and names the change on stderr.

    Raises:
        NotFoundError: there is none.
        RefusedError: a record cannot be read, and may be the newest.
    """
    unread = UnreadRecords()
    newest = newest_undoable(unread)
    if unread.reasons:
        raise RefusedError(
            sentence("plan-cannot-determine-change-newest", "cannot determine which change is the newest"),
            reason=sentence("plan-not-every-record-read", "not every record can be read"),
            remedy=command_line("mqctl undo ID"),
        )
    if newest is None:
        raise NotFoundError(
            sentence("plan-no-change-undone", "no change can be undone"),
            remedy=sentence("plan-history-lists-changed-here", "mqctl history lists what was changed from here"),
        )
    place = sentence("common-broker", " on {broker}", broker=newest.cluster) if newest.cluster else ""
    subject = printable(newest.subject)
    note(
        sentence(
            "plan-newest-change",
            "the newest change is {newest}, {kind} of {subject}{place}, {made_at_ms}",
            newest=newest.id,
            kind=newest.kind,
            subject=subject,
            place=place,
            made_at_ms=newest.made_at_ms,
        )
    )
    return newest.id


_FINAL = {
    "message-recall": sentence(
        "plan-messages-recalled-not-delivered",
        "messages that were recalled are not delivered; send those again that are to come after all",
    ),
    "transaction-resume": sentence(
        "plan-brokers-ask-producers-transactions",
        "brokers ask the producers of transactions that were resumed, whose answers end them",
    ),
}
"""Kinds of changes in steps that nothing takes back, and why."""


def take_back(change_id: str, connection: Callable[[], ClusterTarget], consent: OffsetConsent) -> tuple[Document, int]:
    """Plans the way back from a change, and goes it when asked to; returns what to show and the exit code.

    Raises:
        UsageError: it is no change of offsets, and a time to settle was given.
        NotFoundError, BadInputError: there is no such change, or its record cannot be read.
        RefusedError: it sent messages, which cannot be taken back.
        MqctlError: as each kind of change.
    """
    book = journal()
    if consent.settle_ms is not None and not book.offsets.has(change_id):
        raise UsageError(
            sentence(
                "plan-settle-offsets-only",
                "--settle is for a change of offsets: {change_id} is none",
                change_id=change_id,
            )
        )
    if book.settings.has(change_id):
        from mqctl.changes.settings.change import run_setting_change as change_settings
        from mqctl.changes.settings.undo import plan_undo

        past = book.settings.read(change_id)
        return change_settings(
            connection(),
            lambda asking: plan_undo(asking, past),
            execute=consent.execute,
            confirmed=consent.confirmed,
        )
    if book.steps(ACKNOWLEDGE).has(change_id):
        from mqctl.changes.steps.acknowledge import take_back_acknowledgement

        return take_back_acknowledgement(change_id, consent)
    for kind, reason in _FINAL.items():
        if book.steps(kind).has(change_id):
            raise RefusedError(
                sentence("plan-cannot-undone", "{change_id} cannot be undone", change_id=change_id),
                reason=reason,
                remedy=sentence("plan-history-json-shows", "mqctl history -o json shows it"),
            )
    if any(book.steps(kind).has(change_id) for kind in book.step_kinds()):
        from mqctl.changes.steps.delay_repair import undo

        return undo(change_id, execute=consent.execute, confirmed=consent.confirmed)
    if not book.offsets.has(change_id):
        _refuse_what_was_sent(book, change_id)
    from mqctl.changes.offsets.change import run_offset_change
    from mqctl.changes.offsets.requests import undo_request

    request = undo_request(book.offsets.read(change_id))
    target = connection()
    with target.open() as cluster:
        done = run_offset_change(asking_of(cluster, target), request, consent)
    return done.document, done.code


def _refuse_what_was_sent(book: Journal, change_id: str) -> None:
    """Says of a replay, a follower or a resend that messages stay sent. Raises RefusedError."""
    if book.replays.has(change_id):
        replay = book.replays.read(change_id)
        raise RefusedError(
            sentence("plan-cannot-undone", "{change_id} cannot be undone", change_id=change_id),
            reason=sentence(
                "plan-copied-sent-stays",
                "it copied {published} to {target}, and what was sent stays sent",
                published=counted(replay.published, "message"),
                target=replay.target,
            ),
            remedy=sentence(
                "plan-shows", "{value} shows which", value=command_line("mqctl replay status {}", change_id)
            ),
        )
    if book.resends.has(change_id):
        resend = book.resends.read(change_id)
        raise RefusedError(
            sentence("plan-cannot-undone", "{change_id} cannot be undone", change_id=change_id),
            reason=sentence(
                "plan-sent-dead-letters-again",
                "it sent dead letters of {subject} again, and what was sent stays sent",
                subject=resend.subject,
            ),
            remedy=command_line("mqctl dlq list -g {}", resend.subject),
        )
