"""What is found, and which one is named as the worst, does not hang on the order in which brokers answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose
from tests.each import each
from tests.rules.live_faults import after, telling
from tests.rules.live_snapshots import BROKERS
from tests.rules.snapshots import FAULTS, MINUTE, Fault, cluster

# By time, by offset, as they are set (the first name server is the one the others are held against), as they are told.
ORDERED = {"between", "runs", "name_servers", "params"}


def turned(value: Any) -> Any:
    """Returns a value with every list and table of things in it turned round; texts, numbers and what has an order of
    its own stay."""
    if isinstance(value, tuple):
        parts = [turned(part) for part in value]
        return tuple(reversed(parts)) if all(map(is_dataclass, value)) else tuple(parts)
    if isinstance(value, Mapping):
        return {key: turned(part) for key, part in reversed(list(value.items()))}
    if is_dataclass(value) and not isinstance(value, type):
        now = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
        return replace(value, **{name: part if name in ORDERED else turned(part) for name, part in now.items()})
    return value


@each("fault", FAULTS)
def test_findings_are_those_of_the_world_turned_round(fault: Fault) -> None:
    world = cluster(fault.broker)
    assert diagnose(turned(world), settings=fault.settings).findings == (
        diagnose(world, settings=fault.settings).findings
    )


FAST = ("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms")
SLOW = ("500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~")


@given(counts=st.dictionaries(st.sampled_from(FAST + SLOW), st.integers(0, 9)), order=st.randoms(use_true_random=False))
def test_the_slowest_of_the_slow_writes_is_named_and_all_are_counted(counts: dict[str, int], order: Any) -> None:
    buckets = list(counts.items())
    order.shuffle(buckets)
    state = telling(putMessageDistributeTime=" ".join(f"[{name}]:{count}" for name, count in buckets))
    findings = diagnose(state, only=("MQ117",)).findings
    assert {item.subject.broker for item in findings} <= {BROKERS[0]}
    slow = [name for name in SLOW if counts.get(name)]
    assert [item.params["worst"] for item in findings] == slow[-1:]
    for finding in findings:
        assert {item.name: item.value for item in finding.evidence} == {
            "slow_count": sum(counts[name] for name in slow),
            "write_count": sum(counts.values()),
        }


COUNTS = st.sampled_from([None, "", "x", "0", "1", "2", "9", "10"])


@given(then=COUNTS, now=COUNTS)
def test_failed_writes_are_those_that_came_in_between(then: str | None, now: str | None) -> None:
    def look(text: str | None) -> ClusterSnapshot:
        return telling(**({} if text is None else {"putMessageFailedTimes": text}))

    findings = diagnose(after(look(now), look(then)), only=("MQ118",)).findings
    known = all(text is not None and text.isdigit() for text in (then, now))
    more = int(now or 0) - int(then or 0) if known else 0
    evidence = [{item.name: item.value for item in finding.evidence} for finding in findings]
    assert evidence == ([{"failed_count": more, "window_ms": 2 * MINUTE}] if more > 0 else [])
    assert diagnose(look(now), only=("MQ118",)).findings == ()
