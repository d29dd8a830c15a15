"""Which dead letters were sent again: the journal knows, and the brokers that have the copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from mqctl.changes.engine.records import CONFIRMED, LetterPart
from mqctl.changes.engine.run import journal
from mqctl.errors import MqctlError
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import retry_topic
from mqctl.model.resend import RESENT_BY, LetterKey, letter_key, target_of
from mqctl.protocol.bodies_cluster import TopicRouteData
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.resent import SentQuery, find_copies, lost_copies, target_routes
from mqctl.text import sentence

_Sent = tuple[LetterKey, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResentLetters:
    """What is known of earlier resends of letters.

    Attributes:
        by: by what each was sent that was: the id of a change.
        unknown: of which nobody can tell.
        error: why not, where a broker did not say.
    """

    by: Mapping[LetterKey, str]
    unknown: Collection[LetterKey] = field(default_factory=frozenset)
    error: MqctlError | None = None

    def was_resent(self, key: LetterKey) -> tuple[bool | None, str | None]:
        """Returns whether a letter was sent again, None where nobody can tell, and by what."""
        if key in self.by:
            return True, self.by[key]
        return (None if key in self.unknown else False), None


def resent_before(
    asking: Asking, targets: Sequence[tuple[DeadLetter, str]], routes: Mapping[str, TopicRouteData]
) -> dict[_Sent, str]:
    """Asks the journal, and then the brokers: somebody may have resent letters from another machine.

    A copy of which the journal says that it was stored is looked at, too: a broker may have lost it since.

    Raises:
        UnreachableError: a broker did not tell.
    """
    known = _by_journal()
    asked_for = {(letter_key(letter), topic) for letter, topic in targets}
    copies = {sent: letter.found for sent, (_, letter) in known.items() if sent in asked_for and letter.found}
    lost = lost_copies(asking, copies, routes)
    resent = {
        sent: sentence("dlq-change", "by {change}", change=by) for sent, (by, _) in known.items() if sent not in lost
    }
    wanted = [(letter, topic) for letter, topic in targets if (letter_key(letter), topic) not in resent]
    return resent | {
        sent: sentence("dlq-change", "by {change}", change=change)
        for sent, change in _by_brokers(asking, wanted, routes).items()
    }


def resent_letters(asking: Asking, group: str, letters: Sequence[DeadLetter]) -> ResentLetters:
    """Tells of each letter whether it was sent again: anywhere from here, to its topic or to the group's retries from
    elsewhere."""
    keys = {letter_key(letter) for letter in letters}
    by = {key: change for (key, _), (change, _) in _by_journal().items() if key in keys}
    doubtful = set(in_doubt(group, letters)[0]) - by.keys()
    targets = [
        (letter, topic)
        for letter in letters
        if letter_key(letter) not in by
        for topic in {target_of(letter, None), retry_topic(group)}
        if topic is not None
    ]
    try:
        routes = target_routes(asking, {topic for _, topic in targets})
        by |= {key: change for (key, _), change in _by_brokers(asking, targets, routes).items()}
    except MqctlError as error:
        return ResentLetters(by=by, unknown=keys - by.keys(), error=error)
    return ResentLetters(by=by, unknown=doubtful - by.keys())


def in_doubt(group: str, letters: Sequence[DeadLetter]) -> tuple[dict[LetterKey, str], tuple[str, ...]]:
    """Returns the letters that resends may have sent whose records are damaged, and why these cannot be read.

    What brokers hold no copy of was not sent, or its copy is older than what they keep: only the record could tell.
    """
    doubtful: dict[LetterKey, str] = {}
    unreadable = []
    for record in journal().damaged_resends():
        mine = [item for item in letters if record.may_have_sent(group, item.stored.message.store_time_ms)]
        if mine:
            unreadable.append(str(record.error))
        doubtful |= {
            letter_key(letter): sentence(
                "dlq-perhaps-whose-record-damaged", "perhaps by {record}, whose record is damaged", record=record.id
            )
            for letter in mine
        }
    return doubtful, tuple(unreadable)


def _by_journal() -> dict[_Sent, tuple[str, LetterPart]]:
    return {
        (letter.key, letter.topic): (record.id, letter)
        for record in journal().resends.all(unreadable=lambda _: None)  # `in_doubt` tells of these
        for letter in record.parts
        if letter.state == CONFIRMED
    }


def _by_brokers(
    asking: Asking, targets: Iterable[tuple[DeadLetter, str]], routes: Mapping[str, TopicRouteData]
) -> dict[_Sent, str]:
    queries = [
        SentQuery(key=letter_key(letter), topic=topic, since_ms=letter.stored.message.store_time_ms)
        for letter, topic in targets
    ]
    copies = find_copies(asking, queries, routes)
    return {sent: message.properties.get(RESENT_BY, "somebody") for sent, message in copies.items()}
