"""What holds for the recorded dumps holds for dumps of today, by the tools of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mqctl.model.dump import StackDump
from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import report_threads
from mqctl.stacks.names import Role, understand
from mqctl.stacks.parse import read_dumps
from tests.stacks.record import java_program, jdk_tool, jstack
from tests.stacks.samples import DUMPS

LABELS: dict[str, list[str]] = json.loads((DUMPS / "labels.json").read_text(encoding="utf-8"))


_SAMPLES = 5
_MOVING = {"ConsumeMessageThread_serialisation_1"}
"""Threads that a sample may find between two of their calls; no other does anything but wait or count."""


def only_dump(text: str) -> StackDump:
    (dump,) = read_dumps(text, source="jstack")
    return dump


def wrong(dump: StackDump) -> dict[str, str]:
    """Returns the consume threads that are called by something else than what they do."""
    classifier = Classifier()
    classes = {thread.name: classifier.classify(thread).cls for thread in dump.threads}
    named = {name: understand(name) for name in classes}
    return {
        name: cls
        for name, cls in classes.items()
        if named[name].role is Role.CONSUME and cls not in LABELS[named[name].group or ""]
    }


@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(jdk_tool, ("javac", "java", "jstack"))), reason="no JDK here: javac, java and jstack are needed"
)
def test_a_java_process_is_read_right_from_jstack_and_through_the_broker(tmp_path: Path) -> None:
    with java_program(tmp_path) as (pid, remote):
        dumps = [only_dump(jstack(pid))]
        while (in_all := set.intersection(*(set(wrong(each)) for each in dumps))) and len(dumps) < _SAMPLES:
            dumps.append(only_dump(jstack(pid)))
        (other,) = read_dumps(remote, source="remote")
    dump = dumps[0]
    assert len(dump.threads) > 34
    assert not dump.truncated
    assert in_all == set()
    assert wrong(other).keys() <= _MOVING
    report = report_threads([dump])
    assert [sorted(circle) for circle in report.deadlocks] == [
        ["ConsumeMessageThread_deadlock_1", "ConsumeMessageThread_deadlock_2"]
    ]
    roots = {item.group: item.root for item in report.consuming() if item.root}
    assert roots["monitor"] == "ConsumeMessageThread_owner_1"
    assert roots["lock"] == "ConsumeMessageThread_lockowner_1"
