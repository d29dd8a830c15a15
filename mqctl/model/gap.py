"""What could not be learnt, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from mqctl.errors import (
    BadInputError,
    DeadlineError,
    ExitCode,
    MqctlError,
    NotAskedError,
    NotFoundError,
    PermissionDeniedError,
    RefusedError,
    StorageError,
    UnreachableError,
    UnsupportedError,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.remark import on_one_line
from mqctl.text import joined, keep_text, keep_texts, sentence


class Part(StrEnum):
    """Parts of a snapshot that rules ask for."""

    TOPICS = "topics"
    GROUPS = "subscription-groups"
    CONSUMER_OFFSETS = "consumer-offsets"
    QUEUES = "queues"
    MESSAGES = "messages"
    STORE_TIMES = "store-times"
    OFFSET_JUMPS = "offset-jumps"
    DELAY = "delay"
    DELAY_QUEUES = "delay-queues"
    DELAY_TIMERS = "delay-timers"
    TRANSACTIONS = "transactions"
    STORAGE = "storage"
    VERIFICATION = "verification"
    CLOCKS = "clocks"
    ROUTES = "routes"
    MEMBERS = "members"
    PRODUCERS = "producers"
    RUNNING_INFO = "running-info"
    CONSUMPTION = "consumption"
    POP = "pop"
    RUNTIME = "runtime"
    TAGS = "tags"
    CONFIG = "config"
    PROCESSES = "processes"
    STACKS = "stacks"
    RECORDS = "records"
    ACCESS = "access"
    PROBE = "probe"
    NEWEST = "newest-messages"
    REPLICATION = "replication"
    CONTROLLERS = "controllers"
    PAST = "past"


class Cause(StrEnum):
    """Why there is a gap.

    Attributes:
        SILENT: nobody was there, or the connection was lost.
        TIMED_OUT: asked, and not answered in time.
        NOT_ASKED: the command's time was over before its turn came.
        DENIED: access control or a permission is in the way.
        REFUSED: somebody answered, and said no.
        UNSUPPORTED: the other side, or its version, does not support it.
        DAMAGED: an answer or a file that cannot be understood.
        UNREADABLE: the operating system does not hand it out, or its format is not read offline.
        LEFT_OUT: whoever looked did not look at it: a limit, a quick look, a snapshot saved without it.
        UNREGISTERED: a broker that belongs there is not registered: nobody knows whom to ask.
        UNPROVEN: answered by a release, or an engine, that is not known: it may mean something else there.
    """

    SILENT = "silent"
    TIMED_OUT = "timed-out"
    NOT_ASKED = "not-asked"
    DENIED = "denied"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    LEFT_OUT = "left-out"
    UNREGISTERED = "unregistered"
    UNPROVEN = "unproven"


# The error that each cause stands for, the narrower kind first: what an error is decides its cause, and what a gap's
# cause is decides the exit code.
_ERRORS: dict[Cause, type[MqctlError]] = {
    Cause.NOT_ASKED: NotAskedError,
    Cause.TIMED_OUT: DeadlineError,
    Cause.SILENT: UnreachableError,
    Cause.DENIED: PermissionDeniedError,
    Cause.UNSUPPORTED: UnsupportedError,
    Cause.REFUSED: RefusedError,
    Cause.UNREADABLE: StorageError,
    Cause.DAMAGED: BadInputError,
    Cause.LEFT_OUT: UnreachableError,
    Cause.UNREGISTERED: UnreachableError,
    Cause.UNPROVEN: UnsupportedError,
}
_SAID_NO = frozenset({Cause.DENIED, Cause.REFUSED, Cause.UNSUPPORTED})
_WITH_REMEDY = frozenset({Cause.DENIED, Cause.NOT_ASKED})


def cause_of(error: MqctlError) -> Cause:
    """Returns what an error that came instead of an answer says about the cause."""
    causes = (cause for cause, kind in _ERRORS.items() if isinstance(error, kind))
    return next(causes, Cause.REFUSED if isinstance(error, NotFoundError) else Cause.LEFT_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSubject:
    """What a gap is limited to; only the names that tell it are set.

    Attributes:
        address: of a name server.
        offset: queue offset with a topic, physical offset without one.
        place: anything else, in words: a file, a process, `producers`.
        place_key, place_values: of the place, where mqctl said it.
    """

    topic: str | None = None
    queue_id: int | None = None
    group: str | None = None
    client: str | None = None
    producer_group: str | None = None
    address: str | None = None
    offset: int | None = None
    place: str | None = None
    place_key: str | None = field(default=None, compare=False)
    place_values: dict[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        keep_texts(self, "place")

    def __str__(self) -> str:
        """In words, on one line whatever a server calls what it has."""
        group, topic, client, address, producer_group = (
            None if name is None else on_one_line(name)
            for name in (self.group, self.topic, self.client, self.address, self.producer_group)
        )
        if client is not None:
            return (
                sentence("gap-client-of-group", "{client} of {group}", client=client, group=group) if group else client
            )
        if address is not None and topic:
            return sentence("gap-topic-at", "{topic} at {address}", topic=topic, address=address)
        if address is not None:
            return sentence("gap-name-server", "name server {address}", address=address)
        if producer_group is not None:
            return sentence("gap-producer-group", "producer group {group}", group=producer_group)
        return _together(self._names(group, topic), self._offset(), self.place)

    def _names(self, group: str | None, topic: str | None) -> str | None:
        queue = topic if self.queue_id is None else f"{topic}/{self.queue_id}"
        if group and queue:
            return sentence("gap-group-on", "{group} on {queue}", group=group, queue=queue)
        return group or queue

    def _offset(self) -> str | None:
        if self.offset is None:
            return None
        if self.topic:
            return sentence("gap-at-offset", "offset {offset}", offset=self.offset)
        return sentence("gap-at-physical-offset", "physical offset {offset}", offset=self.offset)


def _together(*parts: str | None) -> str:
    """Returns texts with blanks between them."""
    there = [part for part in parts if part]
    return there[0] if len(there) == 1 else joined(" ", there)


TEXT_FIELDS = ("key", "values", "remedy_key", "remedy_values", "remedy_argv")
"""What a gap knows of its sentences beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A part that could not be read or asked: never a zero, never silence.

    Attributes:
        part: what is not known.
        cause: why, for programs.
        reason: why, in one sentence without a final full stop.
        subject: what of the part it is limited to; None when the whole part is not known.
        broker: name of the broker that was asked; None for a gap that stands with its broker already.
        remedy: what to do about it, where that is known.
        key, values: of the reason, for programs; None where it was not said by mqctl, or an older one saved it.
        remedy_key, remedy_values: in the same way, of the remedy; `remedy_argv` are its words where it is a command.
        scope: broker and subject in words; None for the whole of the part.
    """

    part: Part
    cause: Cause
    reason: str
    subject: GapSubject | None = None
    broker: str | None = None
    remedy: str = ""
    key: str | None = field(default=None, compare=False)
    values: dict[str, Any] | None = field(default=None, compare=False)
    remedy_key: str | None = field(default=None, compare=False)
    remedy_values: dict[str, Any] | None = field(default=None, compare=False)
    remedy_argv: list[str] | None = field(default=None, compare=False)
    scope: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        broker = on_one_line(self.broker) if self.broker else None
        words = _together(broker, str(self.subject) if self.subject else None)
        object.__setattr__(self, "scope", words or None)
        keep_text(self, "reason", "key", "values", "argv")
        keep_texts(self, "remedy")

    @classmethod
    def of(cls, part: Part, error: MqctlError, subject: GapSubject | None = None, *, broker: str | None = None) -> Gap:
        """Returns the gap that `error` leaves."""
        return cls(
            part=part, cause=cause_of(error), reason=str(error), subject=subject, broker=broker, remedy=error.remedy
        )

    @classmethod
    def of_unregistered(cls, broker: str, part: Part) -> Gap:
        """Returns the gap that a broker leaves which belongs to the cluster and is not registered."""
        name = on_one_line(broker)
        return Gap(
            part=part,
            cause=Cause.UNREGISTERED,
            reason=sentence(
                "gap-broker-not-registered-waits",
                "broker {name} is not registered: the backlog of its queues is not known",
                name=name,
            )
            if part in (Part.CONSUMER_OFFSETS, Part.QUEUES)
            else sentence("gap-broker-not-registered", "broker {name} is not registered", name=name),
            broker=broker,
        )

    @property
    def group(self) -> str | None:
        """The consumer group it is about."""
        return self.subject.group if self.subject else None

    @property
    def client(self) -> str | None:
        """The instance it is about."""
        return self.subject.client if self.subject else None

    @property
    def address(self) -> str | None:
        """The name server it is about."""
        return self.subject.address if self.subject else None

    @property
    def topic(self) -> str | None:
        """The topic it is about."""
        return self.subject.topic if self.subject else None

    def covers_queue(self, topic: str, queue_id: int) -> bool:
        """Tells whether it is about a queue: by its number, as one of a topic's, or as one of all."""
        if self.subject is None or self.subject.topic is None:
            return True
        return self.subject.topic == topic and self.subject.queue_id in (None, queue_id)

    @property
    def said_no(self) -> bool:
        """Whether somebody answered, and said no: it is there, and does not tell us."""
        return self.cause in _SAID_NO

    @property
    def is_denied(self) -> bool:
        """Whether other keys would help."""
        return self.cause is Cause.DENIED

    def as_error(
        self, problem: str, remedy: str, *, so_far: str = sentence("nothing-changed", "nothing was changed")
    ) -> MqctlError:
        """Makes the error for something that must not rest on half a picture.

        Args:
            remedy: what to do, unless the gap itself tells: who lacks a permission waits in vain.
            so_far: what is said before the remedy.
        """
        helps = self.remedy if self.remedy and self.cause in _WITH_REMEDY else remedy
        return _ERRORS[self.cause](problem, reason=self.reason, remedy=joined("; ", filter(None, (so_far, helps))))

    def at(self, broker: str | None) -> Gap:
        """Returns the gap with the name of its broker."""
        return self if not broker or broker == self.broker else replace(self, broker=broker)


def exit_code_of(gaps: Iterable[Gap]) -> ExitCode:
    """Returns what a read command ends with that could be answered in part: 0 without a gap.

    Each cause has the code of its error. Of several the highest counts: what somebody denied does not come back by
    itself, what was silent may.
    """
    return max((exit_code_of_cause(gap.cause) for gap in gaps), default=ExitCode.OK)


def exit_code_of_cause(cause: Cause) -> ExitCode:
    """Returns what a read command ends with that has a gap of this cause."""
    # 65 says that nothing at all could be answered, 69 that somebody was asked and did not answer.
    special = {Cause.DAMAGED: ExitCode.IO, Cause.UNREGISTERED: ExitCode.UNKNOWN, Cause.UNPROVEN: ExitCode.UNKNOWN}
    return special.get(cause, _ERRORS[cause].exit_code)


def remedies_of(gaps: Iterable[Gap]) -> list[str]:
    """Returns what helps, once each, where waiting does not: other keys, more time."""
    return list(dict.fromkeys(gap.remedy for gap in gaps if gap.remedy and gap.cause in _WITH_REMEDY))
