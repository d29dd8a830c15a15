"""What a drill's verdict says, in English."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "kept": "KEPT: none of the {checked} promises that could be checked was broken.",
    "kept-explained": "KEPT: none of the {checked} promises that could be checked was broken; events of the drill "
    "explain {explained} (the protocol allows them then).",
    "violated": "VIOLATED: {broken}",
    "not-judged": "NOT JUDGED: nothing is broken in what could be checked, but not all could be.",
    "traffic": "topic {topic}: {sent} sent, {acknowledged} acknowledged, {failed} refused, {unknown} without an "
    "answer, {delivered} deliveries in {lasted}",
    "unanswered": "The {unknown} sends without an answer promise nothing: these messages may be there or not.",
    "not-checked": "Not checked, because the drill had nothing of the kind: {promises}.",
    "no-limit": "Not checked: late (the plan sets no late_after).",
    "no-end": "The history has no end: the drill was interrupted, or still runs.",
    "torn": "Its last line is torn; {bytes} bytes of it were left out.",
    "undecided": "{reader} was still owed {count} when the history ended, and had time left for them.",
    "nothing-owed": "No delivery was due: no message was acknowledged, or no group took part.",
    "result": "{broken} of {checked} broken",
    "result-explained": "{broken} of {checked} broken, {explained} more explained by events",
    "explained": " (explained by an event)",
    "message": " message {number}",
    "message-of": " message {number} of {producer}",
}
"""Sentences by name."""
