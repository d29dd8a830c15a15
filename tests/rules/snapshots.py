"""Hand-made snapshots: a healthy broker, and one fault at a time injected into it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mqctl.model.access import AccessState, AccessUser
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.delay_level import DEFAULT_TABLE
from mqctl.model.delay_state import (
    DelayLevelState,
    DelayQueueState,
    DelayRun,
    DelayState,
    HeadProblem,
    LevelTableSource,
)
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, HotKey, OffsetJump, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import (
    CheckpointState,
    CheckpointStatus,
    ClockState,
    CommitLogState,
    CutTail,
    DeletedFile,
    LockHolder,
    QueueBehind,
    SetAside,
    StorageState,
    UnconfirmedTail,
)
from mqctl.model.transaction_state import (
    CommittedTransaction,
    DiscardedTransaction,
    PendingTransaction,
    TransactionState,
)
from mqctl.rules import Settings
from tests.rules.access_faults import SCENES as ACCESS_SCENES
from tests.rules.address_faults import SCENES as ADDRESS_SCENES
from tests.rules.gone_faults import SCENES as GONE_SCENES
from tests.rules.group_faults import SCENES, VARIANTS
from tests.rules.live_faults import DOUBLE_SCENES
from tests.rules.live_faults import SCENES as LIVE_SCENES
from tests.rules.observed_faults import SCENES as OBSERVED_SCENES
from tests.rules.past_faults import SCENES as PAST_SCENES
from tests.rules.replication_faults import SCENES as REPLICATION_SCENES
from tests.rules.room_faults import BY_PREFIX
from tests.rules.room_faults import SCENES as ROOM_SCENES
from tests.rules.setting_faults import DOUBLE_SCENES as SETTING_DOUBLE_SCENES
from tests.rules.setting_faults import SCENES as SETTING_SCENES
from tests.rules.stack_faults import DOUBLE_SCENES as STACK_DOUBLE_SCENES
from tests.rules.stack_faults import SCENES as STACK_SCENES
from tests.rules.window_faults import SCENES as WINDOW_SCENES

NOW = 1_795_218_000_000
MINUTE, HOUR = 60_000, 3_600_000
FILES = ("topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json", "consumerFilter.json")


def cluster(broker: BrokerSnapshot | ClusterSnapshot) -> ClusterSnapshot:
    """Wraps one broker of a store directory, observed at `NOW`; a cluster is what it is."""
    if isinstance(broker, ClusterSnapshot):
        return broker
    origin = Origin(kind=OriginKind.STORE, location="/store", observed_at_ms=NOW, observed_from=ObservedFrom.STORE_TIME)
    return ClusterSnapshot(origin=origin, brokers=(broker,))


def queue(topic: str, queue_id: int, low: int, high: int, hot_key: HotKey | None = None) -> QueueState:
    return QueueState(
        topic=topic,
        queue_id=queue_id,
        min_offset=low,
        max_offset=high,
        first_store_time_ms=NOW - HOUR,
        last_store_time_ms=NOW - 1_000,
        hot_key=hot_key,
    )


def offset(group: str, topic: str, queue_id: int, value: int, age_ms: int | None = None) -> ConsumerOffsetState:
    """A committed offset; `age_ms` is the age of the next message to consume."""
    return ConsumerOffsetState(
        group=group,
        topic=topic,
        queue_id=queue_id,
        offset=value,
        next_store_time_ms=None if age_ms is None else NOW - age_ms,
    )


def level(number: int, recorded: int | None = None, state: DelayQueueState | None = None) -> DelayLevelState:
    return DelayLevelState(
        level=number,
        delay_ms=DEFAULT_TABLE.delay_ms(number),
        recorded_offset=recorded,
        queue=state or DelayQueueState(min_offset=0, max_offset=0),
    )


# Ten messages of 5 s, of which seven were delivered and three are not due yet.
FIVE_SECONDS = DelayQueueState(
    min_offset=0,
    max_offset=10,
    waiting_count=3,
    not_due_count=3,
    redelivered_count=0,
    head_due_time_ms=NOW + 2_000,
    first_undelivered_offset=7,
    head_physical_offset=4_000,
    runs=(DelayRun(first_offset=0, message_count=10, delay_ms=5_000),),
    run_count=1,
)


def delay_with(state: DelayQueueState = FIVE_SECONDS, recorded: int | None = 7, *more: DelayLevelState) -> DelayState:
    """Level 2 as given, the other levels empty."""
    known = [level(2, recorded, state) if number == 2 else level(number) for number in range(1, 19)]
    return DelayState(
        levels=(*known, *more),
        table_source=LevelTableSource.GIVEN,
        file=ConfigFileState(name="delayOffset.json", source=FileSource.MAIN, mtime_ms=NOW),
        last_delivery_time_ms=NOW - 5_000,
    )


def pending(checks: int, age_ms: int) -> PendingTransaction:
    return PendingTransaction(
        unique_key="K1",
        topic="Pay",
        producer_group="PG",
        half_offset=19,
        physical_offset=900,
        born_time_ms=NOW - age_ms,
        store_time_ms=NOW - age_ms,
        check_count=checks,
    )


def ended(commits: int) -> CommittedTransaction:
    return CommittedTransaction(unique_key="K2", topic="Pay", producer_group="PG", half_offset=5, commit_count=commits)


DISCARDED = DiscardedTransaction(unique_key="K3", topic="Pay", producer_group="PG", discarded_time_ms=NOW - HOUR)
TRANSACTIONS = TransactionState(
    half_min_offset=0, half_max_offset=20, op_min_offset=0, op_max_offset=20, half_progress=20, op_progress=20
)
HOLDER = LockHolder(pid=7, since_ms=NOW, open_file_count=1_010, deleted=())
DELETED = tuple(DeletedFile(file=f"commitlog/{n:020}", size_bytes=2_500) for n in (0, 2_500))
ASIDE = SetAside(place="commitlog.set-aside/00000000000000000000", reason="gap")
STORAGE = StorageState(
    has_abort=False,
    commit_log=CommitLogState(min_offset=0, max_offset=90_000, file_count=1, newest_store_time_ms=NOW - 1_000),
    checkpoint=CheckpointState(status=CheckpointStatus.OK, physic_time_ms=NOW, logics_time_ms=NOW, index_time_ms=0),
    clocks=ClockState(sampled_count=300, max_born_ahead_ms=-1),
    config_files=tuple(ConfigFileState(name=name, source=FileSource.MAIN, mtime_ms=NOW) for name in FILES),
    verified=True,
    dispatched_offset=90_000,
    disk_used_share=0.4,
)
HEALTHY = BrokerSnapshot(
    name="broker-a",
    topics=(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2), TopicConfig(name="%DLQ%G", perm=6)),
    groups=(SubscriptionGroupConfig(name="G"),),
    queues=(queue("Pay", 0, 100, 1_000), queue("Pay", 1, 100, 1_000), queue("%RETRY%G", 0, 0, 5)),
    consumer_offsets=(offset("G", "Pay", 0, 1_000), offset("G", "Pay", 1, 990, 2_000), offset("G", "%RETRY%G", 0, 5)),
    delay=delay_with(),
    transactions=TRANSACTIONS,
    storage=STORAGE,
    access=AccessState(users=(AccessUser("admin", "Super"),)),
    file_reserved_ms=72 * HOUR,
)


@dataclass(frozen=True)
class Fault:
    """One injected fault and the rule (and sentence) that must name it, alone."""

    code: str
    broker: BrokerSnapshot | ClusterSnapshot
    variant: str | None = None
    settings: Settings | None = None

    @property
    def label(self) -> str:
        return self.code if self.variant is None else f"{self.code}-{self.variant}"


def _storage(code: str, storage: StorageState, variant: str | None = None) -> Fault:
    return Fault(code, replace(HEALTHY, storage=storage), variant)


def _config(name: str, source: FileSource, problem: str) -> StorageState:
    files = tuple(
        ConfigFileState(name=name, source=source, main_problem=problem, mtime_ms=NOW - HOUR)
        if file.name == name
        else file
        for file in STORAGE.config_files
    )
    return replace(STORAGE, config_files=files)


def _checkpoint(status: CheckpointStatus) -> StorageState:
    return replace(STORAGE, checkpoint=CheckpointState(status=status))


def _damaged(code: DamageCode) -> Damage:
    file = "commitlog/00000000000000000000"
    return Damage(code=code, grade=DamageGrade.DAMAGE, file=file, offset=77, physical_offset=77, params={"found": 3})


_LOST_QUEUE = Damage(code=DamageCode.QUEUE_GONE, grade=DamageGrade.DAMAGE, file="f", topic="Pay", queue_id=1, count=2)
_LENGTH = replace(_damaged(DamageCode.WRONG_FILE_SIZE), offset=None)
_MISSHAPEN = {
    "size": replace(_LENGTH, params={"found": 900_000, "expected": 1_048_576}),
    "cut": _LENGTH,
    "odd": replace(_LENGTH, grade=DamageGrade.ODD, params={"found": 7 << 20}),
    "no-log": Damage(code=DamageCode.MISSING_PART, grade=DamageGrade.DAMAGE, file="commitlog", count=9),
    "gone": _LOST_QUEUE,
    "gone-or-anew": replace(_LOST_QUEUE, grade=DamageGrade.ODD),
}


def _storage_faults() -> list[Fault]:
    return [
        _storage("MQ101", replace(STORAGE, has_abort=True)),
        _storage("MQ101", replace(STORAGE, has_abort=True, holder=LockHolder(pid=7, since_ms=NOW)), "runs"),
        _storage("MQ109", replace(STORAGE, mapped_file_count=65_000, map_limit=65_530)),
        _storage(
            "MQ109",
            replace(STORAGE, mapped_file_count=980, map_limit=65_530, holder=replace(HOLDER, open_file_limit=1_024)),
            "open",
        ),
        _storage("MQ143", replace(STORAGE, cut=CutTail(physical_offset=12_800, size_bytes=12_800))),
        _storage("MQ121", replace(STORAGE, file_system="tmpfs", holder=HOLDER)),
        _storage("MQ121", replace(STORAGE, file_system="overlay", holder=HOLDER), "container"),
        _storage("MQ122", replace(STORAGE, holder=replace(HOLDER, deleted=DELETED))),
        _storage("MQ108", replace(STORAGE, set_aside=(ASIDE,))),
        _storage("MQ108", replace(STORAGE, set_aside=(replace(ASIDE, reason="cut", sound_record_count=7),)), "cut"),
        _storage("MQ108", replace(STORAGE, set_aside=(replace(ASIDE, reason="cut", sound_record_count=0),)), "torn"),
        *(_storage("MQ102", _checkpoint(status), status.value) for status in CheckpointStatus if status != "ok"),
        _storage(
            "MQ103",
            replace(STORAGE, behind=(QueueBehind(topic="Pay", queue_id=1, max_offset=294, log_max_offset=295),)),
        ),
        _storage("MQ104", replace(STORAGE, damages=(_damaged(DamageCode.BAD_CRC),))),
        *(_storage("MQ104", replace(STORAGE, damages=(item,)), variant) for variant, item in _MISSHAPEN.items()),
        _storage("MQ105", replace(STORAGE, tail=UnconfirmedTail(physical_offset=89_900, size_bytes=100))),
        _storage("MQ106", _config("topics.json", FileSource.BACKUP, "unparsable"), "backup"),
        _storage("MQ106", _config("consumerOffset.json", FileSource.NONE, "missing"), "none"),
        _storage(
            "MQ107",
            replace(STORAGE, clocks=ClockState(sampled_count=9, born_ahead_count=2, max_born_ahead_ms=20_000)),
            "producer",
        ),
        _storage(
            "MQ107",
            replace(
                STORAGE,
                clocks=ClockState(
                    sampled_count=9, step_back_count=1, max_step_back_ms=4_000, first_step_back_offset=99
                ),
            ),
            "broker",
        ),
    ]


def _offsets(*states: ConsumerOffsetState) -> BrokerSnapshot:
    return replace(HEALTHY, consumer_offsets=states)


def _topic_faults() -> list[Fault]:
    hot = (queue("Pay", 0, 0, 9_000), *(queue("Pay", number, 0, 900) for number in range(1, 4)))
    spread = tuple(replace(item, hot_key=HotKey(key="k", sampled_count=400, key_count=9)) for item in hot)
    one_key = tuple(replace(item, hot_key=HotKey(key="seller-7", sampled_count=400, key_count=390)) for item in hot)
    wide = (TopicConfig(name="Pay", read_queue_count=4, write_queue_count=4),)
    dead = replace(HEALTHY, queues=(*HEALTHY.queues, queue("%DLQ%G", 0, 0, 3)))
    jump = OffsetJump(
        group="G",
        topic="Pay",
        queue_id=0,
        broker_name="broker-a",
        requested_offset=3,
        corrected_offset=100,
        store_time_ms=NOW - HOUR,
    )
    closed = [("read", 2), ("write", 4), ("both", 0)]
    return [
        Fault("MQ201", replace(HEALTHY, groups=())),
        Fault("MQ301", replace(HEALTHY, topics=wide, queues=one_key, consumer_offsets=()), "key"),
        Fault("MQ301", replace(HEALTHY, topics=wide, queues=spread, consumer_offsets=()), "queue"),
        Fault("MQ401", _offsets(offset("G", "Pay", 0, 500, 10 * MINUTE))),
        Fault("MQ402", _offsets(offset("G", "Pay", 0, 40, MINUTE))),
        Fault("MQ404", _offsets(offset("G", "Pay", 0, 1_200))),
        Fault("MQ405", _offsets(offset("G", "%RETRY%G", 0, 2, MINUTE))),
        Fault("MQ406", dead),
        Fault("MQ408", replace(HEALTHY, groups=(SubscriptionGroupConfig(name="G", consume_enable=False),))),
        Fault(
            "MQ408",
            replace(HEALTHY, groups=(SubscriptionGroupConfig(name="G", consume_enable=False),), consumer_offsets=()),
            variant="unused",
        ),
        Fault("MQ409", replace(HEALTHY, offset_jumps=(jump,))),
        Fault("MQ601", replace(HEALTHY, topics=(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=2),))),
        Fault(
            "MQ601",
            replace(HEALTHY, topics=(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=4),)),
            variant="empty",
        ),
        Fault("MQ602", replace(HEALTHY, topics=(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=1),))),
        Fault("MQ604", _offsets(offset("G", "Gone", 0, 12))),
        *(
            Fault(
                "MQ603",
                replace(HEALTHY, topics=(TopicConfig(name="Pay", read_queue_count=2, write_queue_count=2, perm=perm),)),
                variant,
            )
            for variant, perm in closed
        ),
    ]


def _level_two(code: str, variant: str | None = None, recorded: int | None = 7, **changes: object) -> Fault:
    state = replace(FIVE_SECONDS, **changes)  # type: ignore[arg-type]
    return Fault(code, replace(HEALTHY, delay=delay_with(state, recorded)), variant)


def _delay_faults() -> list[Fault]:
    late = replace(FIVE_SECONDS, overdue_count=2, oldest_overdue_time_ms=NOW - MINUTE, head_due_time_ms=NOW - MINUTE)
    other = (DelayRun(first_offset=0, message_count=10, delay_ms=30_000),)
    faster = (DelayRun(first_offset=0, message_count=10, delay_ms=1_000),)
    mixed = (
        DelayRun(first_offset=0, message_count=6, delay_ms=5_000),
        DelayRun(first_offset=6, message_count=4, delay_ms=9_000),
    )
    stranded = DelayLevelState(
        level=25, recorded_offset=0, queue=replace(FIVE_SECONDS, waiting_count=4, first_undelivered_offset=0)
    )
    emptied = DelayLevelState(level=25, recorded_offset=3, queue=DelayQueueState(min_offset=3, max_offset=3))
    lost = replace(
        delay_with(replace(FIVE_SECONDS, overdue_count=6, redelivered_count=6), None),
        file=ConfigFileState(name="delayOffset.json", source=FileSource.NONE, main_problem="missing"),
    )
    four_days = replace(
        delay_with(),
        levels=tuple(replace(item, delay_ms=96 * HOUR) if item.level == 18 else item for item in delay_with().levels),
    )
    return [
        _level_two("MQ701", recorded=14, waiting_count=0),
        _level_two("MQ702", recorded=3, min_offset=7),
        _level_two("MQ703", recorded=None, overdue_count=7, redelivered_count=7),
        Fault("MQ704", replace(HEALTHY, delay=lost)),
        Fault("MQ705", replace(HEALTHY, delay=delay_with(FIVE_SECONDS, 7, stranded)), "waiting"),
        Fault("MQ705", replace(HEALTHY, delay=delay_with(FIVE_SECONDS, 7, emptied)), "empty"),
        Fault("MQ705", replace(HEALTHY, delay=replace(delay_with(), rejected_keys=("two",))), "key"),
        _level_two("MQ706", recorded=5, overdue_count=2, redelivered_count=2, waiting_count=5),
        Fault("MQ707", replace(HEALTHY, delay=delay_with(late))),
        *(_level_two("MQ708", problem.value, head_problem=problem) for problem in HeadProblem),
        _level_two("MQ709", missing_record_count=1, first_missing_offset=8),
        _level_two("MQ710", "early", changed_waiting_count=3, runs=other),
        _level_two("MQ710", "late", changed_waiting_count=3, runs=faster),
        _level_two("MQ711", runs=mixed, run_count=2),
        Fault("MQ712", replace(HEALTHY, delay=four_days)),
        _level_two("MQ713", descending_count=1, first_descending_offset=9),
        _level_two("MQ717", passed_over_count=3, first_passed_over_offset=2),
        _level_two("MQ717", "partly", passed_over_count=3, first_passed_over_offset=2, passed_over_from=2),
    ]


def _transaction_faults() -> list[Fault]:
    def having(code: str, state: TransactionState) -> Fault:
        return Fault(code, replace(HEALTHY, transactions=state))

    return [
        having("MQ720", replace(TRANSACTIONS, pending=(pending(3, 5 * MINUTE),))),
        having("MQ721", replace(TRANSACTIONS, pending=(pending(12, HOUR),))),
        having("MQ725", replace(TRANSACTIONS, pending=(pending(3, 5 * MINUTE),), online={"PG": 0})),
        having("MQ722", replace(TRANSACTIONS, discarded=(DISCARDED,))),
        having("MQ723", replace(TRANSACTIONS, lost_ops=(ended(1),))),
        having("MQ724", replace(TRANSACTIONS, double_commits=(ended(2),))),
    ]


FAULTS = [
    *(Fault(code, scene) for code, scene in SCENES.items()),
    *(Fault(code, scene, variant) for (code, variant), scene in VARIANTS.items()),
    *(
        Fault(code, scene, variant)
        for code, variant, scene, _ in [
            *LIVE_SCENES,
            *ADDRESS_SCENES,
            *ACCESS_SCENES,
            *GONE_SCENES,
            *OBSERVED_SCENES,
            *WINDOW_SCENES,
            *PAST_SCENES,
            *REPLICATION_SCENES,
            *SETTING_SCENES,
            *STACK_SCENES,
        ]
    ),
    *(Fault(code, scene, None, BY_PREFIX) for code, scene, _ in ROOM_SCENES),
    *_storage_faults(),
    *_topic_faults(),
    *_delay_faults(),
    *_transaction_faults(),
]

# Faults that another rule rightly names as well: its code is the second part.
DOUBLE_FAULTS = [
    *(
        (Fault(code, scene, variant), other)
        for (code, variant, scene, _), other in [*DOUBLE_SCENES, *SETTING_DOUBLE_SCENES, *STACK_DOUBLE_SCENES]
    ),
    (Fault("MQ403", _offsets(offset("G", "Pay", 0, 500, 71 * HOUR))), "MQ401"),
    (
        Fault(
            "MQ407",
            replace(
                HEALTHY,
                topics=(HEALTHY.topics[0], TopicConfig(name="%DLQ%G", perm=2)),
                queues=(*HEALTHY.queues, queue("%DLQ%G", 0, 0, 3)),
            ),
        ),
        "MQ406",
    ),
    (
        Fault(
            "MQ714",
            replace(
                HEALTHY,
                storage=replace(STORAGE, disk_used_share=0.97),
                delay=delay_with(replace(FIVE_SECONDS, overdue_count=2, oldest_overdue_time_ms=NOW - MINUTE)),
            ),
        ),
        "MQ707",
    ),
]
