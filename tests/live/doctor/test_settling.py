"""While members come and go nothing is well that would be a fault a moment later: it is said to be looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.finding import Reason
from mqctl.rules import diagnose
from tests.live.conftest import Run
from tests.live.doctor import test_faults_of_groups as of_groups
from tests.live.doctor import test_faults_of_settings as of_settings
from tests.live.doctor.stage import LATER_MS, ONE, TWO, Stage, codes, staged

FAULTS = {**of_groups.FAULTS, **of_settings.FAULTS}
REASONS = {
    "MQ410": Reason.RESTARTING_STANDING,
    "MQ414": Reason.RESTARTING_BACKLOG,
    "MQ419": Reason.RESTARTING_AHEAD,
    "MQ424": Reason.RESTARTING_CACHED,
    "MQ501": Reason.RESTARTING_UNLOCKED,
    "MQ612": Reason.RESTARTING_ROOMS,
    "MQ613": Reason.RESTARTING_ROOMS,
}


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, name_servers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def stage(running: EmbeddedCluster) -> Iterator[Stage]:
    with staged(running) as built:
        yield built


def started_now(stage: Stage) -> None:
    """One of the two has just started."""
    for client in (ONE, TWO):
        said = dict(stage.cast.told(client).properties)
        started = str(stage.now_ms - (5_000 if client == TWO else 3_600_000))
        stage.cast.change(client, properties={**said, "PROP_CONSUMER_START_TIMESTAMP": started})


@pytest.mark.parametrize("code", REASONS)
def test_a_fault_of_a_group_whose_members_have_just_come_is_not_judged(stage: Stage, code: str) -> None:
    fault = FAULTS[code]
    earlier = None
    if fault.before is not None:
        fault.before(stage)
        earlier = stage.look(before_ms=LATER_MS)
    fault.inject(stage)
    started_now(stage)
    diagnosis = diagnose(replace(stage.look(), earlier=earlier), settings=fault.settings)
    assert code not in codes(diagnosis)
    (open_,) = {(gap.why.reason, gap.subject.group) for gap in diagnosis.not_judged if gap.code == code}
    assert open_ == (REASONS[code], "G")


def test_a_name_that_tells_no_room_does_not_pass(stage: Stage) -> None:
    fault = FAULTS["MQ611"]
    fault.inject(stage)
    started_now(stage)
    assert "MQ611" in codes(stage.judge(settings=fault.settings))


def test_doctor_says_so_and_does_not_end_well(mqctl: Run, stage: Stage) -> None:
    stage.now_ms = stage.cluster.now_ms()
    stage.in_order(ONE, TWO)
    stage.holds(TWO, locked=False)
    started_now(stage)
    outcome = mqctl("doctor", "-g", "G", "--only", "MQ501", "--namesrv", stage.cluster.namesrv)
    assert outcome.exit_code == 3
    assert "2 queues are not locked for the owner, but members came or went a moment ago" in outcome.stdout
