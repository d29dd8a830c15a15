"""The record of a change: what was to be done part by part, and what became of each part.

Every change has one, of whatever kind: it is written before the first request and after every answer, and says enough
to finish the change or to take it back. Times are epoch milliseconds.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from mqctl.errors import ExitCode, MqctlError
from mqctl.model.command_line import command_line
from mqctl.model.forms import JOURNAL
from mqctl.model.gap import Cause, cause_of
from mqctl.model.plan import Callback
from mqctl.model.queue import MessageQueue
from mqctl.model.resend import LetterKey
from mqctl.model.stretch import ReplayFilter
from mqctl.text import CommandLine, Text, Word, argv_of, keep_texts, key_of, restored, sentence, values_of

PLANNED, SENT, CONFIRMED, NOT_MOVED, UNKNOWN = "planned", "sent", "confirmed", "not-moved", "unknown"
"""The states of a part: `sent` holds from right before its request until it is known what came of it."""
CONSUMED_ON, WENT_BACK = "consumed-on", "went-back"
"""Two more of a queue with members: they went on from the new offset, or brought the queue back to where it was."""
DONE = frozenset({CONFIRMED, CONSUMED_ON})
_WORST_FIRST = (UNKNOWN, SENT, WENT_BACK, NOT_MOVED, PLANNED)
INTERRUPTED = Word("interrupted")
"""The state of a change that did not come to its end."""


class ChangePart(msgspec.Struct, kw_only=True):
    """One queue, setting, message or stretch of a change.

    Attributes:
        reason: why it is not confirmed.
        cause, remedy: of the error that is the reason, and what to do about it.
        reason_key, reason_values, remedy_key, remedy_values, remedy_argv: of both, where mqctl said them: see
            `keep_texts`.
    """

    state: str = PLANNED
    reason: str | None = None
    cause: Cause | None = None
    remedy: str | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None
    remedy_key: str | None = None
    remedy_values: dict[str, Any] | None = None
    remedy_argv: list[str] | None = None

    def __post_init__(self) -> None:
        if self.reason is not None and not isinstance(self.reason, Text):
            self.reason = restored(self.reason, self.reason_key, self.reason_values)
        if self.remedy is not None and not isinstance(self.remedy, Text | CommandLine):
            self.remedy = restored(self.remedy, self.remedy_key, self.remedy_values, self.remedy_argv)

    def keep_texts(self) -> None:
        """Sets beside reason and remedy what a file has to keep so that both are texts when they are read again."""
        self.reason_key, self.reason_values = key_of(self.reason), values_of(self.reason)
        self.remedy_key, self.remedy_values = key_of(self.remedy), values_of(self.remedy)
        self.remedy_argv = argv_of(self.remedy)

    def fail(self, state: str, error: MqctlError, reason: str = "") -> None:
        """Notes that it is not confirmed because of `error`.

        Args:
            reason: what is said instead of the error.
        """
        self.state, self.reason = state, reason or str(error)
        self.cause, self.remedy = cause_of(error), error.remedy


class QueuePart(ChangePart, kw_only=True):
    """One queue of a change, and its state.

    `confirmed`, `consumed-on` (members went on from there), `went-back` (members brought it back), `not-moved`,
    `unknown`, or where it was interrupted `planned` or `sent`.

    Attributes:
        old: committed offset before; None when there was none.
        found: committed offset read back.
        reason: why it is not confirmed.
    """

    topic: str
    broker_name: str
    queue_id: int
    old: int | None
    new: int
    found: int | None

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class SettingPart(ChangePart, kw_only=True):
    """One setting at one place.

    Attributes:
        old, new: settings before and as requested; None where there is none.
        found: what was read back.
    """

    kind: str
    place: str
    address: str
    subject: str
    old: dict[str, str] | None
    new: dict[str, str] | None
    stage: int = 0
    found: dict[str, str] | None = None


class StepPart(ChangePart, kw_only=True):
    """One thing that goes from one state to another, in words.

    Attributes:
        found: how it stood when it was read back.
    """

    subject: str
    old: str | None
    new: str | None
    found: str | None = None


class LetterPart(ChangePart, kw_only=True):
    """One dead letter that is sent again.

    Attributes:
        letter_id, unique_key: which letter.
        found: offset id of its copy.
    """

    letter_id: str
    unique_key: str
    topic: str
    found: str | None = None

    @property
    def key(self) -> LetterKey:
        return LetterKey(letter_id=self.letter_id, unique_key=self.unique_key)


class StretchPart(ChangePart, kw_only=True):
    """One stretch of a queue whose messages are published again.

    Attributes:
        next: queue offset to go on with.
        published: messages of it that are stored in the target, each counted once.
        filtered: messages that the filter left out.
        gone: messages that were deleted before they could be read.
    """

    topic: str
    broker_name: str
    queue_id: int
    begin: int
    end: int
    next: int
    published: int = 0
    filtered: int = 0
    gone: int = 0

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class Doubt(msgspec.Struct, kw_only=True):
    """A message that may be in the target twice.

    Attributes:
        key: its provenance key.
        reason_key, reason_values: of the reason, where mqctl said it.
    """

    key: str
    reason: str
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


class WatchedCopy(msgspec.Struct, kw_only=True, frozen=True):
    """A copy that a follower may have sent twice, to be looked up when one ends.

    Attributes:
        key: its provenance key.
        since_ms: when its original was stored, epoch milliseconds.
    """

    key: str
    topic: str
    broker_name: str
    queue_id: int
    since_ms: int


P = TypeVar("P", QueuePart, SettingPart, StepPart, LetterPart, StretchPart)


class ChangeRecord(msgspec.Struct, Generic[P], kw_only=True, tag_field="performer"):
    """One change.

    Attributes:
        kind: the command, for instance `offset-reset`.
        subject: what is changed, and what is typed to confirm it in most cases: a group, a topic, a store.
        who: user and machine.
        cluster, brokers: which cluster it was, with the master address by broker name; empty for files.
        ended: False while it runs, and for ever when it was killed or stopped.
        undoes: id of the change that this one takes back.
        form: see mqctl.model.forms.
    """

    id: str
    kind: str
    subject: str
    who: str
    made_at_ms: int
    cluster: str
    brokers: dict[str, str]
    parts: list[P]
    ended: bool = False
    undoes: str | None = None
    form: int = JOURNAL

    @property
    def unfinished(self) -> set[str]:
        """The states of the parts that are not done."""
        return {part.state for part in self.parts} - DONE

    @property
    def state(self) -> str:
        """`confirmed`, or what keeps it from being so."""
        if not self.ended:
            return INTERRUPTED
        return next(
            (state for state in (UNKNOWN, SENT, WENT_BACK, NOT_MOVED, PLANNED) if state in self.unfinished), CONFIRMED
        )

    @property
    def is_nothing_done(self) -> bool:
        """Tells whether it is known that nothing was changed."""
        return all(part.state == NOT_MOVED for part in self.parts)


class OffsetRecord(ChangeRecord[QueuePart], kw_only=True, tag="offsets"):
    """A change of the offsets of the group that is its subject.

    Attributes:
        callbacks: the requests of a change that the members carry out.
    """

    target: str
    method: str
    callbacks: list[Callback] = []
    target_key: str | None = None
    target_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "target")


class SettingRecord(ChangeRecord[SettingPart], kw_only=True, tag="settings"):
    """A change of settings.

    Attributes:
        noun: what the subject is: `topic`, `group`, `broker`.
    """

    noun: str


class StepRecord(ChangeRecord[StepPart], kw_only=True, tag="steps"):
    """A change of files or messages in steps.

    Attributes:
        confirm: what is typed to confirm it.
        before: contents of the files that the change replaces, by name; None for one that was not there.
        after: what the change wrote, by name.
    """

    confirm: str
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}


class ResendRecord(ChangeRecord[LetterPart], kw_only=True, tag="resend"):
    """A resend of dead letters of the group that is its subject.

    Attributes:
        to_topic: the topic asked for; None for each letter's own.
        rate: messages a second.
    """

    to_topic: str | None
    rate: float


class ReplayRecord(ChangeRecord[StretchPart], kw_only=True, tag="replay"):
    """Messages of the past once more, or a topic that is followed into another one.

    Attributes:
        source: in words.
        group: that carries it out by itself, from the beginning of the stretches on; None for one that publishes.
        target: the topic it publishes to.
        in_flight: provenance keys of the messages that are being sent.
        store: the directory that the messages lie in; None for those that brokers have.
        found: messages that a look-up by key found stored although their answer was lost.
        selector: of a follower, how it chooses a queue by key; None for a replay, which has an end.
        resumed_at_ms: when a follower was taken up again.
        watched: what a follower may have sent twice, and has not looked up yet.
    """

    source: str
    group: str | None = None
    target: str | None = None
    filter: ReplayFilter = ReplayFilter()
    rate_per_s: float = 0
    in_flight: list[str] = []
    found: int = 0
    in_doubt: list[Doubt] = []
    store: str | None = None
    selector: str | None = None
    resumed_at_ms: list[int] = []
    watched: list[WatchedCopy] = []
    source_key: str | None = None
    source_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "source")

    @property
    def is_follower(self) -> bool:
        return self.selector is not None

    @property
    def unfinished(self) -> set[str]:
        """The states of the stretches that are not confirmed; `unknown` while messages are in doubt."""
        return {part.state for part in self.parts} - {CONFIRMED} | ({UNKNOWN} if self.in_doubt else set())

    @property
    def published(self) -> int:
        return sum(part.published for part in self.parts)


AnyRecord = OffsetRecord | SettingRecord | StepRecord | ResendRecord | ReplayRecord


def exit_code(record: AnyRecord) -> ExitCode:
    """Exit code of a change that came to its end: 0 all confirmed, 1 some part was not done, 3 unconfirmed."""
    if not record.unfinished:
        return ExitCode.OK
    return ExitCode.UNKNOWN if record.unfinished & {UNKNOWN, SENT} else ExitCode.WARNING


STEP_WORDS = {NOT_MOVED: "not-done"}
LETTER_WORDS = {PLANNED: "waiting", SENT: "sending", CONFIRMED: "sent", NOT_MOVED: "failed"}
REPLAY_WORDS = {CONFIRMED: "complete", UNKNOWN: "in-doubt"}
_WORDS: dict[type, dict[str, str]] = {StepRecord: STEP_WORDS, ResendRecord: LETTER_WORDS, ReplayRecord: REPLAY_WORDS}


def way_back(change_id: str, command: str = "mqctl undo") -> str:
    """Says how a change is undone: in the same words wherever that is said."""
    line = command_line(f"{command} {{}}", change_id)
    return sentence(
        "change-words-undo-shows-plan-execute", "undo: {line} (shows its plan; --execute does it)", line=line
    )


def face_state(record: AnyRecord) -> str:
    """Returns the state of a change in the words of its own command."""
    return _WORDS.get(type(record), {}).get(record.state, record.state)
