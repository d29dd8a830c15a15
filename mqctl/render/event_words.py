"""What happened between two looks, in words: a sentence for each kind of event."""

from __future__ import annotations

from mqctl.text import Sentence, printable, sentence

EVENTS = {
    "member-joined": Sentence("event-member-joined", "{group}: {client} joined, members now: {after}"),
    "member-joined_many": Sentence("event-member-joined-many", "{group}: {times} members joined"),
    "member-left": Sentence("event-member-left", "{group}: {client} left, members now: {after}"),
    "member-left_many": Sentence("event-member-left-many", "{group}: {times} members left"),
    "member-flapped": Sentence(
        "event-member-flapped", "{group}: {client} left and came back {times} times within {span_ms}"
    ),
    "queues-shared": Sentence(
        "event-queues-shared",
        "{place}: {queues:queue} held by {after} in one sample: until one lets go, messages may be "
        "repeated or out of order",
    ),
    "queues-moved": Sentence("event-queues-moved", "{place}: {queues:queue} moved from {before} to {after}"),
    "subscription-changed": Sentence(
        "event-subscription-changed", "{place}: subscription changed from {before} to {after}"
    ),
    "offset-stopped": Sentence(
        "event-offset-stopped",
        "{place}: offsets stopped for {span_ms} on {queues:queue} with {messages:message} behind them",
    ),
    "offset-stopped_still": Sentence(
        "event-offset-stopped-still",
        "{place}: offsets stopped on {queues:queue} with {messages:message} behind them, and still stand",
    ),
    "offset-stopped_old": Sentence(
        "event-offset-stopped-old",
        "{place}: offsets already stood still when the recording begins, {messages:message} behind",
    ),
    "offset-resumed": Sentence("event-offset-resumed", "{place}: offsets move again on {queues:queue}"),
    "offset-skipped": Sentence(
        "event-offset-skipped", "{place}: offsets jumped forwards over {messages:message}, more than the group consumes"
    ),
    "offset-went-back": Sentence(
        "event-offset-went-back",
        "{place}: offsets went back by {messages:message} on {queues:queue}; these are redelivered",
    ),
    "backlog-began": Sentence("event-backlog-began", "{place}: backlog began, in {in_per_s:/s}, out {out_per_s:/s}"),
    "backlog-began_old": Sentence(
        "event-backlog-began-old", "{place}: backlog of {count} existed when the recording starts"
    ),
    "backlog-peaked": Sentence(
        "event-backlog-peaked", "{place}: backlog peaked at {count}, in {in_per_s:/s}, out {out_per_s:/s} until then"
    ),
    "backlog-drained": Sentence(
        "event-backlog-drained", "{place}: backlog drained, out {out_per_s:/s} while {in_per_s:/s} came in"
    ),
    "broker-lost": Sentence("event-broker-lost", "broker {broker} lost"),
    "broker-back": Sentence("event-broker-back", "broker {broker} is back"),
    "role-changed": Sentence("event-role-changed", "broker {broker}: role changed from {before} to {after}"),
    "disk-filled": Sentence("event-disk-filled", "broker {broker}: disk filled to {after}"),
    "disk-freed": Sentence("event-disk-freed", "broker {broker}: disk down to {after}"),
    "setting-changed": Sentence("event-setting-changed", "{subject}: setting changed from {before} to {after}"),
    "setting-changed_made": Sentence("event-setting-changed-made", "{subject}: {after} created"),
    "setting-changed_gone": Sentence("event-setting-changed-gone", "{subject}: {before} deleted"),
    "change-made": Sentence("event-change-made", "mqctl {before} of {reason} ({after}); by {who} ({id})"),
    "not-recorded": Sentence("event-not-recorded", "not recorded for {span_ms}: {why}"),
    "not-recorded_still": Sentence("event-not-recorded-still", "not recorded from here on: {why}"),
    "clock-jumped": Sentence("event-clock-jumped", "the recorder's clock jumped by {span_ms}"),
}
"""By the kind of an event, and what is special about it."""
GAPS = {
    "unanswered": sentence("not-recorded-unanswered", "the recorder got no answer"),
    "stopped": sentence("not-recorded-stopped", "the recorder was stopped"),
    "silent": sentence("not-recorded-silent", "the recorder did not run"),
}
"""Why nothing was recorded, by the kind of a gap."""


def not_recorded(kind: str, reason: str | None) -> str:
    """Says why nothing was recorded."""
    if not reason:
        return GAPS[kind]
    return sentence("not-recorded-why", "{why} ({reason})", why=GAPS[kind], reason=printable(reason))
