"""Dead letters on their way back: where each goes, what travels with it, and what keeps it here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mqctl.model.dead_letter import DeadLetter
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import UNIQ_KEY, Message
from mqctl.model.names import retry_topic
from mqctl.model.plan import ClusterIdentity

RESENT_FROM = "MQCTL_RESENT_FROM"
"""Property of a resent message: the offset id of its dead letter."""
RESENT_BY = "MQCTL_RESENT_BY"
"""Property of a resent message: the id of the change that sent it."""

# What describes a delivery rather than the message: brokers and clients set these anew (`MessageConst` of 5.3.3).
_OF_A_DELIVERY = frozenset(
    {
        *("RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID", "RECONSUME_TIME"),
        *("MAX_RECONSUME_TIMES", "DELAY", "REAL_TOPIC", "REAL_QID", "WAIT", "CLUSTER", "MSG_REGION", "TRACE_ON"),
        *("MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME", "TRAN_MSG", "PGROUP", "TRAN_PREPARED_QUEUE_OFFSET"),
        *("TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "POP_CK", "1ST_POP_TIME", "INNER_NUM"),
        *("INNER_BASE", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", "__CRC32#", "TIMER_DELAY_SEC"),
        *("TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_ROLL_TIMES"),
        *("TIMER_OUT_MS", "TIMER_DEL_UNIQKEY", "TIMER_DEL_FLAG", RESENT_FROM, RESENT_BY),
    }
)


class Fate(StrEnum):
    """What a plan does with a letter.

    SEND: it is sent. RESENT: it was, and is left alone. DOUBTFUL: it may have been, by a resend whose record is
    damaged, and is left alone as well. STUCK: it cannot be sent.
    """

    SEND = "send"
    RESENT = "resent"
    DOUBTFUL = "doubtful"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterKey:
    """What tells a letter from all others, also from those of a cluster that was set up anew at the same addresses.

    Attributes:
        letter_id: its offset id in the dead-letter topic.
        unique_key: the key under which its copies are found.
    """

    letter_id: str
    unique_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendItem:
    """One letter of a plan.

    Attributes:
        topic: where it goes; None when nobody can tell.
        note: by what it was resent, or may have been, or why it is stuck.
    """

    letter: DeadLetter
    topic: str | None
    fate: Fate
    note: str | None = None

    @property
    def key(self) -> LetterKey:
        return letter_key(self.letter)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendPlan:
    """Dead letters of a group to be sent again.

    Attributes:
        to_topic: the topic that was asked for; None for each letter's own.
        rate: messages a second.
        hearers: for each topic sent to, the other groups that get the messages too.
        unheard: topics sent to that no group consumes.
        is_online: whether a member of the group is; None where a broker did not tell.
        resumes: id of the change that is taken up again.
        unreadable: records of earlier resends that may have sent some of the letters: file and reason of each.
    """

    identity: ClusterIdentity
    group: str
    to_topic: str | None
    rate: float
    made_at_ms: int
    items: tuple[ResendItem, ...]
    hearers: Mapping[str, tuple[str, ...]]
    resumes: str | None = None
    unheard: tuple[str, ...] = ()
    is_online: bool | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Tells whether letters are left alone because nobody knows whether they were sent."""
        return any(item.fate is Fate.DOUBTFUL for item in self.items)

    @property
    def sending(self) -> tuple[ResendItem, ...]:
        return tuple(item for item in self.items if item.fate is Fate.SEND)


def letter_key(letter: DeadLetter) -> LetterKey:
    """Returns what tells a letter from all others."""
    identity = letter.stored.message_id
    return LetterKey(letter_id=identity, unique_key=letter.stored.message.unique_key or identity)


def target_of(letter: DeadLetter, to_topic: str | None) -> str | None:
    """Returns the topic that a letter goes to; None when none is given and it does not tell its first one."""
    return to_topic or letter.origin_topic


def travelling_properties(letter: DeadLetter, topic: str, change_id: str) -> dict[str, str]:
    """Returns the properties of a letter's copy: its own, without those of its failed deliveries, and its provenance.

    It keeps its unique key, so that traces and consumers that know processed ids see one message. A copy for the
    group's retry topic also names the first topic, as a retry does, and consumers see that one.
    """
    message: Message = letter.stored.message
    kept = {name: value for name, value in message.properties.items() if name not in _OF_A_DELIVERY}
    key = letter_key(letter)
    kept |= {UNIQ_KEY: key.unique_key, RESENT_FROM: key.letter_id, RESENT_BY: change_id}
    if topic == retry_topic(letter.group) and letter.origin_topic:
        kept["RETRY_TOPIC"] = letter.origin_topic
    return kept
