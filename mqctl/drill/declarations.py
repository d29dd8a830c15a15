"""The declaring lines of a history: who takes part, and what happened. One JSON object behind a `!`, told by `event`.

Times are microseconds since the drill began.
"""

from __future__ import annotations

import msgspec

from mqctl.errors import BadInputError
from mqctl.model.remark import of_decoder
from mqctl.text import encoded, sentence


class HistoryDeclaration(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """What all declaring lines share.

    Attributes:
        at_us: when, since the drill began.
    """

    at_us: int = 0


class Allowances(msgspec.Struct, frozen=True, kw_only=True):
    """What the protocol allows around an event.

    Attributes:
        repeats_back_us: a message consumed at most so long before the event may be delivered again after it: its offset
            need not have been committed.
        settle_us: how long after the event the same holds for what is consumed then, and delays are no surprise. What
            comes again later than that is explained by nothing.
        again_us: how long after the event a repeat may come, where that is longer: a group that was sent back takes its
            time.
        early_us: how much too soon a delayed message may come: a clock was set forward by so much.
        loses_back_us: an acknowledged message may be lost when it was acknowledged at most so long before the event:
            what `ASYNC_FLUSH` and `ASYNC_MASTER` do not promise. Also what is stored until all has settled: readers may
            be beyond the end of a queue that lost messages.
        moves_route: queues may vanish from the route and come back, so that a key can change its queue.
        skips: messages sent before the event are no longer owed: offsets were moved forward.
    """

    repeats_back_us: int = 0
    settle_us: int = 0
    again_us: int = 0
    early_us: int = 0
    loses_back_us: int = 0
    moves_route: bool = False
    skips: bool = False


class DrillBegan(HistoryDeclaration, tag="began", frozen=True, kw_only=True):
    """The first declaration.

    Attributes:
        began_ms: the moment 0, epoch milliseconds.
        lost_after_us: an acknowledged message that has not come after so long is lost.
        late_after_us: one that comes later than this is late; None judges no lateness.
        early_us: how much too soon a delayed message may come.
        membership: what is allowed when a consumer joins or leaves.
    """

    topic: str
    began_ms: int
    lost_after_us: int
    late_after_us: int | None = None
    early_us: int = 1_000_000
    membership: Allowances = Allowances()
    plan: str = ""


class GroupNamed(HistoryDeclaration, tag="group", frozen=True, kw_only=True):
    """A consumer group.

    Attributes:
        mode: `concurrent`, `orderly`, `key-ordered`, `pop`, `pop-orderly` or `broadcast`: which promises hold.
    """

    group: int
    name: str
    mode: str


class QueueNamed(HistoryDeclaration, tag="queue", frozen=True, kw_only=True):
    """A message queue and its number in the history."""

    queue: int
    topic: str
    broker: str
    queue_id: int


class ProducerNamed(HistoryDeclaration, tag="producer", frozen=True, kw_only=True):
    """A producer and its number in the history."""

    actor: int
    name: str


class ConsumerJoined(HistoryDeclaration, tag="joined", frozen=True, kw_only=True):
    """A consumer takes part from now on."""

    actor: int
    name: str
    group: int


class ConsumerLeft(HistoryDeclaration, tag="left", frozen=True, kw_only=True):
    """A consumer is gone.

    Attributes:
        how: `asked`, `killed` or `crashed`.
    """

    actor: int
    how: str = "asked"


class Happened(HistoryDeclaration, tag="happened", frozen=True, kw_only=True):
    """An event of the schedule.

    Attributes:
        until_us: when it was over (the broker was back); None for an event of one moment, or one that never ended.
    """

    what: str
    until_us: int | None = None
    allows: Allowances = Allowances()


class DrillEnded(HistoryDeclaration, tag="ended", frozen=True, kw_only=True):
    """The drill is over, and the file whole."""


Declaration = (
    DrillBegan | GroupNamed | QueueNamed | ProducerNamed | ConsumerJoined | ConsumerLeft | Happened | DrillEnded
)

_DECODER = msgspec.json.Decoder(Declaration)
MODES = ("concurrent", "orderly", "key-ordered", "pop", "pop-orderly", "broadcast")
"""How a group consumes."""
KEY_ORDERED = frozenset({"orderly", "key-ordered", "pop-orderly"})
"""Modes that promise the order of a key."""
QUEUE_ORDERED = frozenset({"orderly", "pop-orderly"})
"""Modes that promise the order of a queue."""
COMMITS_WHAT_IT_CONSUMED = frozenset({"concurrent", "orderly", "key-ordered"})
"""Modes whose committed offset says that all before it was consumed; that of popped queues moves as they are popped."""


def read_declaration(line: bytes, number: int) -> Declaration:
    """Reads a declaring line without its `!`. Raises BadInputError naming the line."""
    try:
        declaration: Declaration = _DECODER.decode(line)
        return declaration
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(
            sentence("drill-could-not-read-line", "could not read line {number} of the history", number=number),
            reason=of_decoder(error),
        ) from error


def declared_line(declaration: HistoryDeclaration) -> bytes:
    """Returns the line of a declaration, without its end."""
    return b"!" + msgspec.json.encode(declaration, enc_hook=encoded)
