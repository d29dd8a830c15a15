"""Guards and windows against the time that a state lasts: a guard as long as its state makes a rule mute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import product

from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import RULES, Settings, diagnose
from tests.each import each
from tests.rules import live_faults as live
from tests.rules.group_faults import popping
from tests.rules.live_snapshots import DAY, NOW, with_second
from tests.rules.snapshots import HEALTHY, HOUR, TRANSACTIONS, cluster, offset, pending

# What ends a state by itself: RebalanceLockManager, ProcessQueue, RebalanceService, PullMessageProcessor and
# PopReviveService of 4.9.8 and 5.3.3.
LOCK_LIVES, PULL_EXPIRES, REBALANCE, LISTENER_TIMEOUT, FOR_EVER = 60_000, 120_000, 20_000, 15 * 60_000, 24 * 3_600_000


@dataclass(frozen=True, kw_only=True)
class Passing:
    """A state by its age, and how long it lasts before something ends it.

    Attributes:
        guard: the setting that it is weighed by; None where the rule's own source gives the period.
        usual_ms: so old it becomes while everything is as it should be: the rule has to be silent.
        scaled: whether it passes faster where time is scaled; what brokers keep for hours does not.
    """

    code: str
    guard: str | None
    world: Callable[[int], ClusterSnapshot]
    lasts_ms: int
    usual_ms: int
    scaled: bool = True


def kept_for(kept_ms: int) -> Callable[[int], ClusterSnapshot]:
    """Group G is behind, on a broker with this retention."""

    def world(age_ms: int) -> ClusterSnapshot:
        behind = (offset("G", "Pay", 0, 500, age_ms),)
        return cluster(replace(HEALTHY, file_reserved_ms=kept_ms, consumer_offsets=behind))

    return world


STATES = [
    # A pull waits for 15 s at the broker; the next follows at once.
    Passing(
        code="MQ308",
        guard="pull_stopped_ms",
        world=lambda age: with_second(live.holding(last_pull_time_ms=NOW - age)),
        lasts_ms=PULL_EXPIRES,
        usual_ms=30_000,
    ),
    # Locks are renewed every 20 s.
    Passing(
        code="MQ504",
        guard="lock_expired_ms",
        world=lambda age: live.orderly(last_lock_time_ms=NOW - age),
        lasts_ms=LOCK_LIVES,
        usual_ms=REBALANCE,
    ),
    Passing(
        code="MQ307",
        guard="blocked_ms",
        world=lambda age: with_second(live.holding(cached_count=7, last_consume_time_ms=NOW - age)),
        lasts_ms=LISTENER_TIMEOUT,
        usual_ms=30_000,
    ),
    Passing(
        code="MQ502",
        guard="blocked_ms",
        world=lambda age: live.orderly(transaction_count=1, last_consume_time_ms=NOW - age),
        lasts_ms=LISTENER_TIMEOUT,
        usual_ms=30_000,
    ),
    Passing(
        code="MQ416",
        guard="revive_late_ms",
        world=lambda age: popping(due_count=3, oldest_due_ms=NOW - age),
        lasts_ms=FOR_EVER,
        usual_ms=10_000,
    ),
    Passing(
        code="MQ425",
        guard="popped_held_ms",
        world=lambda age: popping(renewed_count=2, held_since_ms=NOW - age),
        lasts_ms=FOR_EVER,
        usual_ms=4 * 60_000,
    ),
    Passing(
        code="MQ420",
        guard="revive_late_ms",
        world=lambda age: popping(blocked_queue_count=1, blocked_since_ms=NOW - age),
        lasts_ms=FOR_EVER,
        usual_ms=50_000,
    ),
    # A consumer commits every 5 s.
    Passing(
        code="MQ419",
        guard=None,
        world=live.not_stored,
        lasts_ms=LISTENER_TIMEOUT,
        usual_ms=20_000,
    ),
    Passing(
        code="MQ401",
        guard="lag_warning_ms",
        world=lambda age: cluster(replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500, age),))),
        lasts_ms=FOR_EVER,
        usual_ms=4 * 60_000,
    ),
    Passing(
        code="MQ405",
        guard="retry_waiting_ms",
        world=lambda age: cluster(replace(HEALTHY, consumer_offsets=(offset("G", "%RETRY%G", 0, 2, age),))),
        lasts_ms=FOR_EVER,
        usual_ms=20_000,
    ),
    *(
        Passing(
            code="MQ403",
            guard="expiry_margin_ms",
            world=kept_for(kept),
            lasts_ms=kept * 3 // 2,
            usual_ms=kept // 2,
            scaled=False,
        )
        for kept in (HOUR, 72 * HOUR)
    ),
    # Files are deleted once a day.
    Passing(
        code="MQ123",
        guard="outlived_ms",
        world=lambda age: live.aged(100 * DAY, second_file_time_ms=NOW - DAY - age),
        lasts_ms=60 * DAY,
        usual_ms=DAY,
        scaled=False,
    ),
]
# Settings in milliseconds that weigh no state of their own, and why.
NO_STATE = {
    "lag_error_ms": "how grave a lag is that MQ401 tells",
    "clock_step_ms": "a step of a clock, told once",
    "trusted_mtime_ms": "how far ages are trusted",
    "settle_ms": "leaves open what a second look tells",
    "drain_window_ms": "the least window of a rate",
    "drain_target_ms": "a wish, for advice",
    "slow_listener_ms": "a span of work and no age",
    "file_reserved_ms": "the retention itself",
}


def test_every_guard_is_compared_with_what_it_guards() -> None:
    guards = {state.guard for state in STATES if state.guard}
    assert guards | NO_STATE.keys() == {item.name for item in fields(Settings) if item.name.endswith("_ms")}
    assert not guards & NO_STATE.keys()


@each("code", [code for code, entry in RULES.items() if entry.least_window is not None])
def test_two_looks_that_a_command_offers_are_enough(code: str) -> None:
    """What a rule needs is never more than `--window 2m`, the window that a reason names."""
    least = RULES[code].least_window
    assert least is not None
    assert least(Settings()) <= 2 * 60_000


@each("state, scale", product(STATES, [1, 20]))
def test_a_rule_speaks_before_its_state_is_over_and_not_while_it_is_usual(state: Passing, scale: int) -> None:
    settings = Settings(time_scale=scale)

    def spoke(age_ms: int) -> bool:
        world = state.world(age_ms // scale if state.scaled else age_ms)
        return state.code in {item.code for item in diagnose(world, only=(state.code,), settings=settings).findings}

    assert not spoke(state.usual_ms)
    # The last third of its life at least: whoever looks twice a minute sees it.
    assert spoke(state.lasts_ms * 2 // 3)
    assert spoke(state.lasts_ms - 1)


@each("scale", [1, 20])
def test_queues_of_a_killed_orderly_member_are_told_as_long_as_its_lock_lives(scale: int) -> None:
    (world,) = (world for code, variant, world, _ in live.SCENES if (code, variant) == ("MQ309", "locked"))
    (finding,) = diagnose(world, settings=Settings(time_scale=scale)).findings
    over = next(item.value for item in finding.evidence if item.name == "over_time_ms")
    assert over == NOW + (LOCK_LIVES + REBALANCE) // scale


@each("scale", [1, 20])
def test_a_transaction_is_judged_from_its_first_check_to_its_last(scale: int) -> None:
    """The first check comes within 66 s, the fifteenth and last one 14 minutes later."""
    for age_ms, severe in ((60_000, False), (70_000, True), (15 * 60_000, True)):
        broker = replace(HEALTHY, transactions=replace(TRANSACTIONS, pending=(pending(1, age_ms // scale),)))
        (finding,) = diagnose(cluster(broker), only=("MQ720",), settings=Settings(time_scale=scale)).findings
        assert (finding.severity != "info") == severe
