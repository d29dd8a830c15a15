"""The kinds of messages in a soak, the groups that consume them, and who is to get what."""

from __future__ import annotations

from dataclasses import dataclass

PLAIN, LATER, TIMED, COMMITTED, ROLLED_BACK, ASKED = "plain", "later", "timed", "committed", "rolledback", "asked"
BATCHED, LARGE, RETRIED, DEAD, RAW = "batched", "large", "retried", "dead", "raw"
TOPICS = {
    PLAIN: "SoakPlain", LATER: "SoakLater", TIMED: "SoakTimed", COMMITTED: "SoakPaid", ROLLED_BACK: "SoakPaid",
    ASKED: "SoakPaid", BATCHED: "SoakBatch", LARGE: "SoakLarge", RETRIED: "SoakRetry", DEAD: "SoakRetry",
    RAW: "SoakRaw",
}  # fmt: skip
QUEUES = 4
"""Of each topic; that for bare sockets has one."""
IDLE_TOPIC, IDLE_QUEUE = "SoakIdle", QUEUES
"""A topic that nobody reads, and its queue that cannot be written."""
AT_ONCE = frozenset({PLAIN, BATCHED, LARGE, RAW})
"""Kinds whose time from send to delivery nobody lengthens on purpose."""
TURNS = (
    PLAIN, BATCHED, PLAIN, LATER, PLAIN, COMMITTED, PLAIN, RAW, PLAIN, LARGE,
    PLAIN, TIMED, PLAIN, ROLLED_BACK, PLAIN, RETRIED, PLAIN, ASKED, PLAIN, DEAD,
)  # fmt: skip
"""What is sent, turn by turn."""
BATCH_COUNT = 3
CHANGING, FILTERED, STEADY, ORDERED, RETRYING = "GChanging", "GFiltered", "GSteady", "GOrdered", "GRetrying"
LITE, RESET, SOCKET = "GLite", "GReset", "GSocket"
MAY_REPEAT = frozenset({CHANGING, RESET})
"""Groups whose queues change hands, or whose offsets are set back: at least once. All others: once."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a group subscribes: kinds, and an expression over their topics."""

    kinds: frozenset[str]
    expression: str = "*"
    sql: bool = False


SUBSCRIPTIONS = {
    CHANGING: Subscription(frozenset({PLAIN}), "A || B"),
    FILTERED: Subscription(frozenset({PLAIN}), "n BETWEEN 3 AND 7", sql=True),
    STEADY: Subscription(frozenset({LATER, TIMED, COMMITTED, ASKED, LARGE})),
    ORDERED: Subscription(frozenset({BATCHED})),
    RETRYING: Subscription(frozenset({RETRIED, DEAD})),
    LITE: Subscription(frozenset({PLAIN, BATCHED})),
    RESET: Subscription(frozenset({PLAIN})),
    SOCKET: Subscription(frozenset({RAW})),
}


def topics_of(group: str) -> list[str]:
    """Returns the topics that a group subscribes."""
    return sorted({TOPICS[kind] for kind in SUBSCRIPTIONS[group].kinds})


def tag_of(number: int) -> str:
    """Returns the tag of a message."""
    return "ABCD"[number % 4]


def properties_of(number: int) -> dict[str, str]:
    """Returns the user properties of a message, of which filters ask."""
    return {"n": str(number % 11)}


def wants(group: str, kind: str, number: int) -> bool:
    """Tells whether a group is to get a message, by its own reading of the filters."""
    if kind not in SUBSCRIPTIONS[group].kinds:
        return False
    if group == CHANGING:
        return number % 4 < 2
    return group != FILTERED or 3 <= number % 11 <= 7


def readers_of(kind: str, number: int) -> list[str]:
    """Returns the groups that are to get a message once; a dead letter's is not: it goes to the dead-letter topic."""
    return [] if kind == DEAD else [group for group in SUBSCRIPTIONS if wants(group, kind, number)]


def body_of(kind: str, number: int) -> bytes:
    """Returns a body that names its message; a large one is long enough to be compressed."""
    text = f"{kind}:{number}:"
    return (text * 400 if kind == LARGE else text + "x" * 60).encode()


def read_body(body: bytes) -> tuple[str, int]:
    """Returns kind and number."""
    kind, number, _ = body.decode().split(":", 2)
    return kind, int(number)
