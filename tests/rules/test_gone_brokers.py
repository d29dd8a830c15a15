"""A broker that no name server lists and that answers, or not, where it was: what is said is what was asked."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.model.finding import Finding
from mqctl.model.route import AddressAnswer, SeenBroker
from mqctl.render.finding_texts import sentences
from mqctl.rules import diagnose
from tests.rules.gone_faults import SLAVE, with_slave_seen
from tests.rules.live_snapshots import BROKERS, DAY, LIVE, MINUTE, NOW

_LETTERS = st.text(alphabet=st.characters(categories=("L", "N"), include_characters="-_"), min_size=1, max_size=20)
NAMES = _LETTERS.filter(lambda name: name not in BROKERS)
PORTS = st.integers(1, 65_535)
ADDRESSES = st.builds("192.0.2.{}:{}".format, st.integers(1, 254), PORTS)
SEEN = st.builds(
    SeenBroker,
    cluster=_LETTERS,
    name=NAMES,
    address=ADDRESSES,
    last_seen_time_ms=st.integers(NOW - 3_600_000, NOW),
    expected_by=st.none() | st.just("profile p"),
    queue_count=st.none() | st.integers(0, 1_000),
    group_count=st.none() | st.integers(0, 1_000),
)
IDS = st.none() | st.integers(0, 9)
NAMESRVS = st.none() | ADDRESSES


def judged(seen: SeenBroker) -> Finding:
    (finding,) = diagnose(replace(LIVE, seen_brokers=(seen,)), only=("MQ617",)).findings
    return finding


def evidence(finding: Finding) -> dict[str, object]:
    return {item.name: item.value for item in finding.evidence}


@given(seen=SEEN, broker_id=IDS, namesrv=NAMESRVS)
def test_one_that_answers_by_its_name_runs(seen: SeenBroker, broker_id: int | None, namesrv: str | None) -> None:
    finding = judged(replace(seen, answer=AddressAnswer(name=seen.name, broker_id=broker_id, namesrv=namesrv)))
    said = sentences(finding)
    assert f"it answers at {seen.address} as {seen.name}: it runs and its registrations do not count." in said.what
    assert ("Out of reach with it" in said.what) == bool(seen.queue_count)
    assert ("namesrvAddr" in said.advice, "are alive" in said.advice) == (True, False)
    shown = evidence(finding)
    assert (shown["answered_name"], shown["answered_id"], shown["answered_namesrv"]) == (seen.name, broker_id, namesrv)


@given(seen=SEEN, other=NAMES)
def test_another_one_at_its_address_is_named(seen: SeenBroker, other: str) -> None:
    name = other if other != seen.name else f"{other}-2"
    finding = judged(replace(seen, answer=AddressAnswer(name=name, broker_id=0)))
    said = sentences(finding)
    assert f"at {seen.address}, where it was, {name} answers now." in said.what
    assert ("it runs" in said.what, "are alive" in said.advice) == (False, True)


@given(seen=SEEN, problem=st.none() | st.text(min_size=1, max_size=40))
def test_one_that_does_not_tell_its_name_is_spoken_of_as_one_that_was_not_asked(
    seen: SeenBroker, problem: str | None
) -> None:
    unasked, finding = judged(seen), judged(replace(seen, answer=AddressAnswer(problem=problem)))
    assert (finding.variant, finding.severity, finding.confidence) == (
        unasked.variant,
        unasked.severity,
        unasked.confidence,
    )
    assert sentences(finding) == sentences(unasked)
    assert not [name for name in evidence(unasked) if name.startswith("answer")]
    assert evidence(finding).get("answer_problem") == problem


@given(
    age_ms=st.integers(0, 3 * DAY),
    back=st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([SLAVE.address, "192.0.2.77:1"])), max_size=2, unique=True
    ),
)
@example(age_ms=MINUTE, back=[])
@example(age_ms=MINUTE, back=[(2, SLAVE.address)])
@example(age_ms=MINUTE, back=[(2, "192.0.2.77:1")])
@example(age_ms=DAY, back=[])
def test_a_slave_is_missed_for_a_day_unless_its_id_its_address_or_another_process_is_there(
    age_ms: int, back: list[tuple[int, str]]
) -> None:
    world = with_slave_seen(*back, age_ms=age_ms)
    assert bool(diagnose(world, only=("MQ145",)).findings) == (age_ms < DAY and not back)


def test_a_slave_that_vanishes_between_two_looks_is_missed_without_notes() -> None:
    with_it = with_slave_seen((1, SLAVE.address))
    earlier = replace(with_it, seen_brokers=(), origin=replace(LIVE.origin, observed_at_ms=NOW - MINUTE))
    (finding,) = diagnose(replace(LIVE, earlier=earlier), only=("MQ145",)).findings
    assert (finding.subject.broker, finding.params["broker_id"]) == (BROKERS[0], 1)
    assert diagnose(replace(with_it, seen_brokers=(), earlier=earlier), only=("MQ145",)).findings == ()
