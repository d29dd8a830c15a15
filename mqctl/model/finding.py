"""What a rule says about a snapshot: numbers and names only; sentences stand where the rule is registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from mqctl.model.gap import Gap
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

Value = str | int | float | bool | None


class Severity(StrEnum):
    """How bad it is: fatal means loss or standstill."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"

    @property
    def rank(self) -> int:
        """Position from mild (0) to grave (3)."""
        return _RANKS[self]

    @property
    def exit_code(self) -> int:
        """What a judging command ends with when this is its worst finding: 0, 1 or 2."""
        return _EXIT_CODES[self]


_RANKS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2, Severity.FATAL: 3}
_EXIT_CODES = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2, Severity.FATAL: 2}


class Confidence(StrEnum):
    """How far the evidence carries the verdict."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class SubjectKind(StrEnum):
    """What a finding is about."""

    CLUSTER = "cluster"
    BROKER = "broker"
    STORE = "store"
    FILE = "file"
    TOPIC = "topic"
    QUEUE = "queue"
    GROUP = "group"
    DELAY_LEVEL = "delay-level"
    PRODUCER_GROUP = "producer-group"
    CLIENT = "client"
    NAME_SERVER = "name-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The thing a finding is about; only the names that identify it are set."""

    kind: SubjectKind
    broker: str | None = None
    topic: str | None = None
    queue_id: int | None = None
    group: str | None = None
    level: int | None = None
    file: str | None = None
    client: str | None = None

    def __str__(self) -> str:
        topic = self.topic if self.queue_id is None else f"{self.topic or ''}/{self.queue_id}"
        level = None if self.level is None else sentence("common-level", "level {level}", level=self.level)
        names = [name for name in (self.broker, self.group, self.client, topic, level, self.file) if name]
        return " ".join(names) if names else self.kind.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One number that carries a verdict.

    The name tells the unit: `_time_ms` is an instant (epoch milliseconds), any other `_ms` a duration, `_bytes` a
    size, `_count` a count, `_share` a fraction of 1, `_offset` a queue or physical offset.
    """

    name: str
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One verdict of one rule.

    Attributes:
        variant: names the sentence of the catalogue when a rule has more than one.
        params: names that the sentences need (topic, group, file), beyond those of the subject.
        playbook: slug of the runbook that helps, or None.
    """

    code: str
    severity: Severity
    subject: Subject
    params: Mapping[str, Value] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    confidence: Confidence = Confidence.HIGH
    playbook: str | None = None
    variant: str | None = None


class Reason(StrEnum):
    """Reasons for which something is not judged; `mqctl.rules.engine.why_words` has the sentence of each."""

    GAP = "gap"
    GAP_IN = "gap_in"
    FILES_ONLY = "files_only"
    LIVE_ONLY = "live_only"
    NO_STACKS = "no_stacks"
    NO_PROBE = "no_probe"
    NO_ACCESS_FILES = "no_access_files"
    TWO_LOOKS = "two_looks"
    NO_EARLIER = "no_earlier"
    NO_RECORDING = "no_recording"
    PAST_SHORT = "past_short"
    PAST_HOLES = "past_holes"
    NOBODY_ONLINE = "nobody_online"
    NOBODY_ANYWHERE = "nobody_anywhere"
    NO_BROKERS = "no_brokers"
    NOT_REGISTERED = "not_registered"
    OWN = "own"
    NOTHING_TOLD = "nothing_told"
    STANDING = "standing"
    SHORT_WINDOW = "short_window"
    RESTARTING_ORPHANS = "restarting_orphans"
    RESTARTING_OWNERS = "restarting_owners"
    RESTARTING_SURPLUS = "restarting_surplus"
    RESTARTING_UNEVEN = "restarting_uneven"
    RESTARTING_UNLISTED = "restarting_unlisted"
    RESTARTING_BROKERS = "restarting_brokers"
    RESTARTING_ORDERLY = "restarting_orderly"
    RESTARTING_SLAVE = "restarting_slave"
    RESTARTING_UNLOCKED = "restarting_unlocked"
    RESTARTING_ROOMS = "restarting_rooms"
    RESTARTING_AHEAD = "restarting_ahead"
    RESTARTING_CACHED = "restarting_cached"
    RESTARTING_STANDING = "restarting_standing"
    RESTARTING_BACKLOG = "restarting_backlog"
    UNTRIED = "untried"
    SILENT_MEMBERS = "silent_members"
    SILENT_OWNERS = "silent_owners"
    RETRY_LIMIT = "retry_limit"
    STORE_TIME = "store_time"
    ROOMS = "rooms"
    NOT_SAMPLED = "not_sampled"
    ALL_GROUPS = "all_groups"
    TOO_MANY_OVERDUE = "too_many_overdue"
    FILE = "file"
    NEWER_RELEASE = "newer_release"
    ODD_RELEASE = "odd_release"
    ODD_SETTING = "odd_setting"
    ODD_ATTRIBUTE = "odd_attribute"


@dataclass(frozen=True, slots=True)
class Why:
    """Why something was not judged.

    Attributes:
        values: what the sentence of the reason needs, named by their units as evidence is.
    """

    reason: Reason
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged:
    """A rule that could not decide about a subject, and why. Silence would read as health.

    Attributes:
        gaps: what it needs and could not be asked, the first of which is the reason; empty where the rule itself says
            why.
    """

    code: str
    subject: Subject
    why: Why
    gaps: tuple[Gap, ...] = ()

    @property
    def more_count(self) -> int:
        """How many gaps there are besides the first."""
        return max(0, len(self.gaps) - 1)
