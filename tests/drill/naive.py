"""The definitions of docs/drill.md in loops over lists: slow, short, and shared with the checker by nothing."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple


class Event(NamedTuple):
    """One line of an event."""

    kind: str
    at: int
    actor: int
    producer: int
    number: int
    key: int
    queue: int
    offset: int
    extra: int


def naive_counts(path: Path) -> dict[str, int]:
    """Returns how often each promise is broken; for histories of one group, without events that allow anything."""
    declared, events = [], []
    for line in path.read_text().splitlines()[1:]:
        if line.startswith("!"):
            declared.append(json.loads(line[1:]))
        else:
            kind, *numbers = line.split()
            events.append(Event(kind, *map(int, numbers)))
    began = next(each for each in declared if each["event"] == "began")
    mode = next(each for each in declared if each["event"] == "group")["mode"]
    end = max([each.at for each in events] + [each["at_us"] for each in declared])
    own = {each["queue"] for each in declared if each["event"] == "queue" and each["topic"] == began["topic"]}
    stories: dict[tuple[int, int], dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for each in events:
        if each.kind != "o":
            stories[each.producer, each.number][each.kind].append(each)
    counts = {
        "lost": 0, "repeated": 0, "late": 0, "early": 0, "delivered-though-rolled-back": 0,
        "delivered-though-refused": 0, "delivered-though-unsent": 0,
    }  # fmt: skip
    for story in stories.values():
        _message(story, began, end, counts)
    counts["key-order"] = _keys(stories) if mode != "concurrent" else 0
    reads: dict[tuple[int, int], int] = {}
    for each in events:
        if each.kind == "d" and each.queue in own:
            reads[each.queue, each.offset] = min(each.at, reads.get((each.queue, each.offset), each.at))
    counts["queue-order"] = (
        sum(any(q == r and p < o and u > t for (r, p), u in reads.items()) for (q, o), t in reads.items())
        if mode == "orderly"
        else 0
    )
    stored = [each for each in events if each.kind == "a" and each.queue in own]
    counts["stored-order"] = sum(
        any(m.queue == n.queue and n.offset <= m.offset and n.at - n.extra > m.at for n in stored) for m in stored
    )
    offsets = [each for each in events if each.kind == "o"]
    counts["committed-ahead"] = sum(
        any(o.queue == q and o.offset > p and o.at < t for o in offsets) for (q, p), t in reads.items()
    )
    last: dict[int, int] = {}
    counts["offset-back"] = 0
    for each in offsets:
        counts["offset-back"] += each.offset < last.get(each.queue, -1)
        last[each.queue] = each.offset
    return {name: count for name, count in counts.items() if count}


def _message(story: dict[str, list[Event]], began: dict[str, int], end: int, found: dict[str, int]) -> None:
    sent = story["s"][0] if story["s"] else None
    came = sorted(story["d"], key=lambda each: each.at)
    taken = [each for each in came if each.extra == 0]
    found["delivered-though-unsent"] += bool(came) and sent is None
    found["delivered-though-rolled-back"] += bool(came and story["r"] and not story["t"])
    found["delivered-though-refused"] += bool(came and story["f"] and not story["a"] and not story["u"])
    found["repeated"] += sum(
        one.extra == 0 and not (story["u"] and (one.queue, one.offset) != (two.queue, two.offset))
        for one, two in itertools.pairwise(came)
    )
    if sent is None:
        return
    if came and sent.offset > 0:
        found["early"] += came[0].at < sent.at + sent.offset - began["early_us"]
    if not story["a"] or (sent.extra == 1 and (story["r"] or not story["t"])):
        return
    due = max(story["a"][0].at, sent.at + sent.offset, *(each.at for each in story["t"][:1]), 0)
    if not taken:
        found["lost"] += due + began["lost_after_us"] <= end
    elif began["late_after_us"]:
        found["late"] += taken[0].at - due > began["late_after_us"]


def _keys(stories: dict[tuple[int, int], dict[str, list[Event]]]) -> int:
    firsts: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (producer, number), story in stories.items():
        if story["s"] and story["a"] and story["d"] and not story["s"][0].extra and story["s"][0].offset <= 0:
            at = min(each.at for each in story["d"])
            firsts[producer, story["s"][0].key].append((number, at))
    return sum(
        any(m < n and u > t for m, u in members) for (_, key), members in firsts.items() if key >= 0 for n, t in members
    )
