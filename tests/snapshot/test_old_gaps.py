"""Snapshots that were saved before gaps had a cause are read with one, and answer as they did."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mqctl.model.gap import Cause, GapSubject, Part
from mqctl.snapshot.archive import load_snapshot, save_snapshot
from tests.live.conftest import Run

OLD = Path(__file__).parent / "old" / "snapshot-1.snap"
"""Saved by the last mqctl without causes, of two embedded brokers that refused, denied and closed connections."""


def test_an_old_file_gets_causes_and_subjects() -> None:
    snapshot = load_snapshot(OLD)
    assert [(gap.part, gap.cause, gap.topic or gap.group) for gap in snapshot.unavailable] == [
        (Part.ROUTES, Cause.REFUSED, "Pay"),
        (Part.RUNNING_INFO, Cause.UNSUPPORTED, "G"),
        (Part.RUNNING_INFO, Cause.UNSUPPORTED, "G"),
    ]
    (members,) = (item for broker in snapshot.brokers for item in broker.memberships)
    assert [gap.client for gap in snapshot.unavailable[1:]] == sorted(members.client_ids)
    one, two = (
        [(gap.part, gap.cause, str(gap.subject or "")) for gap in item.unavailable] for item in snapshot.brokers
    )
    assert one == [
        (Part.CONSUMER_OFFSETS, Cause.REFUSED, ""),
        (Part.QUEUES, Cause.REFUSED, "Pay"),
        (Part.MEMBERS, Cause.DENIED, "G"),
    ]
    assert two == [
        (Part.MEMBERS, Cause.REFUSED, "producers"),
        (Part.DELAY, Cause.SILENT, ""),
        (Part.DELAY_QUEUES, Cause.SILENT, ""),
    ]


def test_commands_answer_from_an_old_file_and_from_one_that_it_was_saved_to_alike(mqctl: Run, tmp_path: Path) -> None:
    new = tmp_path / "new.snap"
    save_snapshot(load_snapshot(OLD), new)
    for words, code in (
        (("topic", "route", "-t", "Pay"), 76),
        (("group", "lag"), 76),
        (("group", "members", "-g", "G"), 77),
        (("broker", "list"), 0),
        (("doctor",), 1),
    ):
        answer, again = (mqctl(*words, "--snapshot", file) for file in (OLD, new))
        assert (answer.exit_code, again.exit_code) == (code, code), (words, answer)
        assert answer.stderr == again.stderr


@pytest.mark.parametrize(
    ("part", "reason", "scope", "cause", "subject"),
    [
        ("delay", "X was not answered by h:1: no answer within 3000 ms", None, Cause.TIMED_OUT, None),
        ("config", "X was not asked of h:1: the 3 s of --timeout are over", None, Cause.NOT_ASKED, None),
        ("topics", "X was refused by h:1: NO_PERMISSION (16): no", None, Cause.DENIED, None),
        ("verification", "the commit log was not read through (--quick)", None, Cause.LEFT_OUT, None),
        ("offset-jumps", "the event cannot be read", "physical offset 77", Cause.DAMAGED, GapSubject(offset=77)),
        ("queues", "short", "Pay queue 3", Cause.DAMAGED, GapSubject(topic="Pay", queue_id=3)),
        (
            "store-times",
            "X was refused by h:1: SYSTEM_ERROR (1)",
            "G on Pay",
            Cause.REFUSED,
            GapSubject(group="G", topic="Pay"),
        ),
        (
            "tags",
            "its bounds could not be asked",
            "Pay broker-a/2",
            Cause.SILENT,
            GapSubject(topic="Pay", queue_id=2),
        ),
    ],
)
def test_each_old_sentence_has_its_cause(
    tmp_path: Path, part: str, reason: str, scope: str | None, cause: Cause, subject: GapSubject | None
) -> None:
    document = json.loads(gzip.decompress(OLD.read_bytes()))
    document["snapshot"]["unavailable"] = [{"part": part, "reason": reason, "scope": scope}]
    document["snapshot"]["earlier"] = {
        "origin": document["snapshot"]["origin"],
        "unavailable": [{**document["snapshot"]["unavailable"][0]}],
    }
    file = tmp_path / "old.snap"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))
    snapshot = load_snapshot(file)
    assert snapshot.earlier is not None
    for (gap,) in (snapshot.unavailable, snapshot.earlier.unavailable):
        assert (gap.part, gap.cause, gap.reason, gap.subject) == (part, cause, reason, subject)
        assert gap.broker == ("broker-a" if part == "tags" else None)
