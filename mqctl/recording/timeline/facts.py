"""What was changed: subscriptions, topics, groups and brokers' settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from mqctl.model.finding import Severity
from mqctl.model.member import GroupMembership
from mqctl.model.timeline import EventKind, TimelineEvent
from mqctl.recording.kinds import Aspect, Key, RowKind, Values
from mqctl.recording.reader import Recording
from mqctl.recording.timeline.presence import moments_of
from mqctl.recording.timeline.question import LookSpan, TimelineQuestion

_ASPECTS = (Aspect.MEMBERSHIP, Aspect.TOPIC, Aspect.GROUP, Aspect.SETTING)
_CONFIGURED = {Aspect.TOPIC: "topic", Aspect.GROUP: "group"}
_ROLE = "brokerRole"
# A broker counts these by itself.
_VERSIONS = frozenset({"data_version", "dataVersion"})


@dataclass(frozen=True, slots=True)
class _Change:
    """A difference that several brokers may show at one look."""

    kind: EventKind
    severity: Severity
    group: str | None = None
    topic: str | None = None
    before: str | None = None
    after: str | None = None


def fact_events(recording: Recording, question: TimelineQuestion, stretch: LookSpan) -> Iterator[TimelineEvent]:
    """Yields changed subscriptions and settings; brokers that changed alike at one look share an event."""
    subscribed: dict[tuple[str, str], str] = {}
    for moment_ms, changed in moments_of(recording, RowKind.FACTS, stretch, _ASPECTS):
        alike: dict[_Change, set[str]] = defaultdict(set)
        came_or_went = _whole_brokers(changed)
        for key, (before, after) in sorted(changed.items(), key=lambda item: str(item[0])):
            aspect = Aspect(str(key[2]))
            if not question.wants(broker=str(key[0])):
                continue
            if aspect is Aspect.MEMBERSHIP:
                differences = _subscriptions(after, subscribed)
            elif key[:2] in came_or_went:
                continue
            else:
                differences = _configured(aspect, str(key[3]), before, after)
            for change in differences:
                if question.wants(group=change.group, topic=change.topic):
                    alike[change].add(str(key[0]))
        if moment_ms > stretch.answered[0]:
            yield from (_event(change, moment_ms, stretch, brokers) for change, brokers in alike.items())


def _event(change: _Change, moment_ms: int, stretch: LookSpan, brokers: set[str]) -> TimelineEvent:
    return TimelineEvent(
        moment_ms=moment_ms,
        after_ms=stretch.before(moment_ms),
        kind=change.kind,
        severity=change.severity,
        broker=None if change.kind is EventKind.SUBSCRIPTION_CHANGED else ", ".join(sorted(brokers)),
        group=change.group,
        topic=change.topic,
        before=change.before,
        after=change.after,
    )


def _whole_brokers(changed: Mapping[Key, tuple[Values | None, Values | None]]) -> set[Key]:
    """Returns the brokers whose settings all came or went: the broker itself did, nobody changed them."""
    changes: dict[Key, list[bool]] = defaultdict(list)
    for key, (before, after) in changed.items():
        if key[2] == Aspect.SETTING:
            changes[key[:2]].append(before is None or after is None)
    return {broker for broker, lone in changes.items() if all(lone)}


def _subscriptions(after: Values | None, subscribed: dict[tuple[str, str], str]) -> Iterator[_Change]:
    """Yields what a group wants otherwise than when it was seen last, be it before a restart."""
    if after is None:
        return
    membership = msgspec.json.decode(str(after[0]), type=GroupMembership)
    for wanted in membership.subscriptions:
        place = membership.group, wanted.topic
        expression = wanted.expression if wanted.expression_type != "TAG" else " || ".join(wanted.tags) or "*"
        before = subscribed.get(place)
        subscribed[place] = expression
        if before is not None and before != expression:
            yield _Change(EventKind.SUBSCRIPTION_CHANGED, Severity.WARNING, *place, before, expression)


def _configured(aspect: Aspect, name: str, before: Values | None, after: Values | None) -> Iterator[_Change]:
    old, new = (None if values is None else str(values[0]) for values in (before, after))
    if aspect is Aspect.SETTING:
        kind = EventKind.ROLE_CHANGED if name == _ROLE else EventKind.SETTING_CHANGED
        was, becomes = (None if text is None else f"{name}={text}" for text in (old, new))
        yield _Change(kind, Severity.WARNING, before=was, after=becomes)
        return
    fields_before, fields_after = _fields(old), _fields(new)
    shown = _Change(EventKind.SETTING_CHANGED, Severity.INFO)
    place = replace(shown, topic=name) if aspect is Aspect.TOPIC else replace(shown, group=name)
    names = sorted(
        field for field in {*fields_before, *fields_after} if fields_before.get(field) != fields_after.get(field)
    )
    if old is None or new is None:
        yield replace(
            place,
            before=None if old is None else _CONFIGURED[aspect],
            after=None if new is None else _CONFIGURED[aspect],
        )
    elif names:
        yield replace(
            place, severity=Severity.WARNING, before=_words(fields_before, names), after=_words(fields_after, names)
        )


def _fields(text: str | None) -> dict[str, str]:
    fields = {} if text is None else msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return {name: bytes(value).decode().strip('"') for name, value in fields.items() if name not in _VERSIONS}


def _words(fields: Mapping[str, str], names: list[str]) -> str:
    return ", ".join(f"{name}={fields.get(name, '-')}" for name in names)
