"""Sends dead letters again: one at a time, at a bounded rate, each looked up right before and read back right after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, SENT, UNKNOWN, LetterPart, ResendRecord
from mqctl.changes.messages.read_back import Found, ReadBack
from mqctl.client.message.outgoing import OutgoingMessage, SendResult
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SHARDING_KEY
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import LetterKey, travelling_properties
from mqctl.text import sentence

_LIMIT_MS = 5_000
_FAILURES_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlet:
    """What sending needs.

    Attributes:
        queues: returns the queues of a topic. Raises NotFoundError: a topic that is gone must not be created anew.
        find_copy: returns the offset id of a letter's copy, None when there is none. Raises MqctlError.
        read_back: looks for the copy that a broker answered it stored.
        settled: letters that must not be sent, with state and reason: sent by another resend, or perhaps.
        pace: waits until the next message may go.
        save: writes the state of the letter at an index down, and the end for -1. Raises StorageError.
        report: told how many letters are done.
    """

    producer: Producer
    queues: Callable[[str], Sequence[MessageQueue]]
    find_copy: Callable[[LetterPart], str | None]
    read_back: Callable[[SendResult], ReadBack]
    settled: Mapping[LetterKey, tuple[str, str]]
    pace: Callable[[], None]
    save: Callable[[int], None]
    report: Callable[[int], None]


def carry_out(record: ResendRecord, letters: Mapping[LetterKey, DeadLetter], outlet: Outlet) -> bool:
    """Sends every letter that is not yet sent; returns whether it came to its end.

    A copy that is found is never sent twice. After three failures in a row the rest stays for another time.

    Args:
        letters: by key; one that is missing is no longer stored.
    """
    turns: dict[str, int] = {}
    failures = 0
    for index, state in enumerate(record.parts):
        if state.state == CONFIRMED:
            continue
        letter = letters.get(state.key)
        if letter is None:
            state.state, state.reason = (
                NOT_MOVED,
                sentence("resend-dead-letter-no-longer", "the dead letter is no longer stored"),
            )
        else:
            _resend(record, index, letter, outlet, turns)
            failed = state.state in (NOT_MOVED, UNKNOWN) and state.key not in outlet.settled
            failures = failures + 1 if failed else 0
        outlet.save(index)
        outlet.report(index + 1)
        if failures >= _FAILURES_IN_A_ROW and index + 1 < len(record.parts):
            return False
    outlet.save(-1)
    return True


def _resend(record: ResendRecord, index: int, letter: DeadLetter, outlet: Outlet, turns: dict[str, int]) -> None:
    state = record.parts[index]
    try:
        copy = outlet.find_copy(state)
        if copy is not None:
            state.state, state.found, state.reason = (
                CONFIRMED,
                copy,
                sentence("resend-copy-already-sent", "a copy had already been sent"),
            )
            return
        if state.key in outlet.settled:
            state.state, state.reason = outlet.settled[state.key]
            return
        queue = _queue(outlet.queues(state.topic), letter, turns)
    except MqctlError as error:
        # Unsent as far as this run knows; one in flight from an earlier run keeps its doubt.
        state.fail(UNKNOWN if state.state in (SENT, UNKNOWN) else NOT_MOVED, error)
        return
    outlet.pace()
    state.state, state.reason = SENT, None
    outlet.save(index)
    try:
        result = outlet.producer.send(_copy(record, letter, state.topic), queue=queue, timeout_ms=_LIMIT_MS)
    except (UnreachableError, DeadlineError) as error:
        _settle(state, outlet, error)
    except MqctlError as error:
        state.fail(NOT_MOVED, error)
    else:
        back = outlet.read_back(result)
        if back.found is Found.STORED:
            state.state, state.found, state.reason = CONFIRMED, result.offset_id, _remark(result)
        else:
            state.state, state.reason = NOT_MOVED if back.found is Found.GONE else UNKNOWN, back.reason


def _settle(state: LetterPart, outlet: Outlet, error: MqctlError) -> None:
    """Looks for the copy of a letter whose send had no answer."""
    try:
        copy = outlet.find_copy(state)
    except MqctlError:
        copy = None
    if copy is not None:
        state.state, state.found, state.reason = (
            CONFIRMED,
            copy,
            sentence("resend-no-reply-but-copy", "no reply, but the copy was stored"),
        )
    else:
        state.fail(UNKNOWN, error, sentence("resend-doubt", "in doubt: {error}", error=error))


def _remark(result: SendResult) -> str | None:
    return (
        None
        if result.status == 0
        else sentence(
            "resend-stored-but-broker-says", "stored, but the broker says {status}", status=result.status.name
        )
    )


def _queue(queues: Sequence[MessageQueue], letter: DeadLetter, turns: dict[str, int]) -> MessageQueue:
    """Chooses as producers do: by sharding key where the message has one, else in turns."""
    topic = queues[0].topic
    sharding_key = letter.stored.message.properties.get(SHARDING_KEY)
    if sharding_key is not None:
        return by_key(sharding_key)(queues, OutgoingMessage(topic=topic, body=b""))
    turns[topic] = turns.get(topic, -1) + 1
    return queues[turns[topic] % len(queues)]


def _copy(record: ResendRecord, letter: DeadLetter, topic: str) -> OutgoingMessage:
    return OutgoingMessage(
        topic=topic,
        body=letter.stored.body,
        flag=letter.stored.message.flag,
        properties=travelling_properties(letter, topic, record.id),
    )
