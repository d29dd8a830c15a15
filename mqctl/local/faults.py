"""Faults that a scenario declares, and what ends them again: each kind is one word after `do:`."""

from __future__ import annotations

from typing import Literal

import msgspec

When = Literal["first", "consuming", "last", "back"]
"""Before consumers start; once they hold their queues; the faults; what ends them, where a scenario is a drill."""


class PauseDelay(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="pause-delay"
):
    """The broker takes delayed messages and delivers none."""

    broker: str
    when: When = "first"


class KillBroker(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="kill-broker"
):
    """The broker ends as on kill -9."""

    broker: str
    when: When = "last"


class StopBroker(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="stop-broker"
):
    """The broker ends as on a signal: it flushes, unregisters and leaves no `abort`."""

    broker: str
    when: When = "last"


class StartBroker(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="start-broker"
):
    """A broker that has ended starts on its store."""

    broker: str
    when: When = "back"


class LoseNameServer(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="lose-name-server"
):
    """The name server of a room ends as on kill -9, and the room's address service sends clients `to` another room."""

    room: str
    to: str
    when: When = "last"


class StartNameServer(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="start-name-server"
):
    """The name server of a room is back, and so are its clients: the address service names it again."""

    room: str
    when: When = "back"


class PauseReplication(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="pause-replication"
):
    """A slave takes nothing more from its master, as one that hangs."""

    broker: str
    when: When = "last"


class ResumeReplication(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="resume-replication"
):
    """A slave that was paused follows its master again, as soon as it reaches it."""

    broker: str
    when: When = "last"


class KillConsumer(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="kill-consumer"
):
    """A consumer process ends as on kill -9."""

    consumer: str
    when: When = "last"


class AnswerFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="answer"):
    """The broker answers requests of one code with another code than it would."""

    request_code: int
    answer_code: int
    remark: str | None = None
    broker: str | None = None
    fields: dict[str, str] = {}
    when: When = "last"


class ResizeTopic(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="resize-topic"
):
    """A topic gets other numbers of queues, or other permissions, on some brokers (all, unless it names some)."""

    topic: str
    queues: int
    read_queues: int | None = None
    perm: int = 6
    brokers: tuple[str, ...] = ()
    cluster: int = 0
    when: When = "last"


class Expire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="expire"):
    """The broker deletes every commit log file but the last, as retention does at its hour."""

    broker: str
    when: When = "last"


class RegisterWith(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="register-with"
):
    """A broker registers with the name servers of these clusters from now on."""

    broker: str
    clusters: tuple[int, ...]
    when: When = "last"


class DamageFile(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag="damage-file"
):
    """A file of a stopped broker's store is damaged.

    Attributes:
        file: path below the store directory; `*` may stand for digits.
        how: `zero` or `flip` so many bytes from `offset` on (negative: from its written end), `cut` it there,
            or `remove` it.
    """

    broker: str
    file: str
    how: Literal["zero", "flip", "cut", "remove"]
    offset: int = 0
    size_bytes: int = 1
    when: When = "last"


Fault = (
    PauseDelay
    | KillBroker
    | StopBroker
    | StartBroker
    | LoseNameServer
    | StartNameServer
    | PauseReplication
    | ResumeReplication
    | KillConsumer
    | AnswerFault
    | ResizeTopic
    | Expire
    | RegisterWith
    | DamageFile
)
