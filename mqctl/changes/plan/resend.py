"""From dead letters and what is known of earlier resends to one decision a letter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqctl.model.dead_letter import DeadLetter
from mqctl.model.resend import Fate, LetterKey, ResendItem, letter_key, target_of
from mqctl.text import sentence


def decide(
    letters: Iterable[DeadLetter],
    to_topic: str | None,
    *,
    resent: Mapping[tuple[LetterKey, str], str],
    doubtful: Mapping[LetterKey, str],
    closed: Mapping[str, str],
) -> tuple[ResendItem, ...]:
    """Decides about each letter.

    Args:
        resent: by letter and topic, the words by what it was sent there before.
        doubtful: the words by what a letter may have been sent before.
        closed: topics that cannot be sent to, with the reason.
    """
    items = []
    for letter in letters:
        topic = target_of(letter, to_topic)
        fate, note = Fate.SEND, None
        if topic is not None and (letter_key(letter), topic) in resent:
            fate, note = Fate.RESENT, resent[letter_key(letter), topic]
        elif letter_key(letter) in doubtful:
            fate, note = Fate.DOUBTFUL, doubtful[letter_key(letter)]
        elif topic is None:
            fate, note = (
                Fate.STUCK,
                sentence("resend-not-name-original-topic", "it does not name its original topic: choose one with --to"),
            )
        elif topic in closed:
            fate, note = Fate.STUCK, closed[topic]
        elif letter.stored.problem is not None:
            fate, note = (
                Fate.STUCK,
                sentence(
                    "resend-body-cannot-decompressed",
                    "its body cannot be decompressed: {problem}",
                    problem=letter.stored.problem,
                ),
            )
        elif not letter.stored.body:
            fate, note = (
                Fate.STUCK,
                sentence("resend-no-body-brokers-reject", "it has no body, and brokers reject empty messages"),
            )
        items.append(ResendItem(letter=letter, topic=topic, fate=fate, note=note))
    return tuple(items)
