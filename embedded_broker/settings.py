"""Properties of a broker: typed here, under RocketMQ's names on the wire (`BrokerConfig` and friends of 4.9.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from embedded_broker.log.settings import ASYNC_FLUSH, StoreSettings
from embedded_broker.release import Release
from embedded_broker.told_properties import told_properties
from mqctl.model.delay_level import DEFAULT_LEVELS
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.model.spans import DAY_MS
from mqctl.protocol.declared import camel_case

ASYNC_MASTER, SYNC_MASTER, SLAVE = "ASYNC_MASTER", "SYNC_MASTER", "SLAVE"
_STORE = StoreSettings()
_WIRE_NAMES = {"broker_ip1": "brokerIP1", "broker_ip2": "brokerIP2"}


_POSITIVE = frozenset(
    {
        "max_transfer_count_on_message_in_memory",
        "max_transfer_count_on_message_in_disk",
        "timer_precision_ms",
        "timer_roll_window_slot",
        "transaction_check_interval",
        "default_topic_queue_nums",
        "ha_time_scale",
        "default_invisible_time_mills",
        "renew_schedule_period_millis",
        "broker_heartbeat_interval",
        "sync_broker_member_group_period",
    }
)
"""Settings of which nothing works at 0."""
V5_DEFAULTS = {
    "autoDeleteUnusedStats": "true",
    "registerBrokerTimeoutMills": "24000",
    "transactionCheckInterval": "30000",
}
"""What 5.3.3 has otherwise than 4.9.8, of what is heeded here."""


@dataclass(slots=True, kw_only=True)
class BrokerSettings:
    """Settings of one broker; the wire name of each is its name in camel case.

    Attributes:
        broker_permission: bits 4 (read) and 2 (write).
        start_accept_send_request_time_stamp: epoch milliseconds before which sends are refused.
        acl_enable: requests are checked against `plain_acl.yml` (4.9); read at the start.
        authentication_enabled, authorization_enabled: requests must be signed by a user, and allowed by the ACLs (5.x).
        authentication_metadata_provider: any, and users are kept though nothing is checked (5.x).
        authentication_whitelist, authorization_whitelist: request codes, with commas, that are not checked (5.x).
        init_authentication_user, inner_client_authentication_credentials: JSON with `username` and `password`, or
            `accessKey` and `secretKey`: Super users that are made where they are not there; read at the start (5.x).
        reject_transaction_message: half messages are refused with code 16.
        reject_internal_topic_message: sends to topics that only the broker fills (timers, revive records, checkpoints)
            are refused with code 16; a real 5.3.3 takes them, and one such message can end its timer wheel.
        enable_property_filter: SQL92 subscriptions are served; as in a real broker, they are not by default.
        filter_data_clean_time_span: milliseconds after which a dead subscription is forgotten.
        expect_consumer_num_use_filter, max_error_rate_of_bloom_filter: number of groups and percent of false hits that
            the bit maps in `consumerFilter.json` are laid out for; read at the start.
        enable_calc_filter_bit_map: which SQL92 subscriptions match a message is noted beside its queue entry, where
            `enable_consume_queue_ext` gives it room; read at the start.
        timer_wheel_enable: 5.x takes messages with a time of their own; 4.9 knows none.
        timer_roll_window_slot: units of `timer_precision_ms` after which a waiting message is hung in anew.
        auto_delete_unused_stats: counters of deleted topics and groups go with them; otherwise they are kept for good.
        transaction_time_out: milliseconds that a half message is left alone before its producer is asked.
        transaction_check_interval: milliseconds between rounds of checks.
        transaction_op_msg_max_size, transaction_op_batch_interval: characters, and milliseconds, after which gathered
            op messages are written (5.x).
        enable_pop_buffer_merge: what is popped and acknowledged soon after is never written down (5.x): checkpoints
            stay in memory for `pop_ck_stay_buffer_time` milliseconds, and until `pop_ck_stay_buffer_time_out` before
            they fall due.
        enable_retry_topic_v2: what is popped and not acknowledged goes to the retry topic of the second name (5.x).
        pop_from_retry_probability: percent of pops that begin with the retry topic (5.x).
        init_pop_offset_by_check_msg_in_mem: a first pop of the newest begins at 0 while that is in memory (5.x).
        pop_polling_size, max_pop_polling_size: pops that may wait under one key, and in all (5.x).
        default_invisible_time_mills, renew_ahead_time_millis, renew_schedule_period_millis: of the gRPC endpoint, as
            in a proxy's configuration; that of the first broker counts. For how long a message is invisible that a
            client receives with auto_renew, how long before the end that is lengthened, and how often it is looked at.
        broker_role: ASYNC_MASTER, SYNC_MASTER (sends wait for slaves) or SLAVE; nothing checks that it fits the id.
        ha_listen_port: where slaves connect; one above the port of requests, unless set.
        ha_master_address: where a slave connects instead of asking name servers.
        ha_slave_fallbehind_max: bytes behind which a slave counts as none (4.9).
        slave_timeout: milliseconds that a send waits for slaves.
        offset_check_in_slave: a slave corrects the offset of a pull beyond a queue's ends, too.
        in_sync_replicas: brokers that must have a message before its send is answered, the master included (5.x).
        enable_slave_acting_master: the slave with the lowest id stands in for a lost master (5.x); read at the start.
        enable_remote_escape: what falls due there goes to another broker of its topic; else it waits for the master.
        compatible_with_old_name_srv: heartbeats and members in requests that name servers of 4.x know as well.
        total_replicas: with more than 1, master and slaves go online only when they know of each other (5.x).
        broker_heartbeat_interval, sync_broker_member_group_period: milliseconds between heartbeats, and questions for
            the members of the broker name, where masters are acting.
        broker_not_active_timeout_millis: silence after which name servers then forget the broker.
        as_real: sends are answered before their messages can be read, and requests of one connection out of order, as a
            pool of threads does; ours, read at the start.
        ha_time_scale: by what the periods of replication are divided that no property has: a slave connects again after
            5 s, and copies tables every 10 s (4.9) or 60 s (5.x); ours, for scenarios.
        unused: values of properties that are not heeded, as they were given; request 26 tells those that a release has.
        default_message_request_mode, default_pop_share_queue_num: what 400 answers where 401 set nothing (5.x).
    """

    broker_cluster_name: str = "DefaultCluster"
    broker_name: str = "broker-a"
    broker_id: int = 0
    broker_ip1: str = "127.0.0.1"
    broker_ip2: str = "127.0.0.1"
    listen_port: int = 0
    namesrv_addr: str = ""
    broker_permission: int = 6
    region_id: str = "DefaultRegion"
    trace_on: bool = True

    auto_create_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    default_topic_queue_nums: int = 8
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    trace_topic_enable: bool = False
    msg_trace_topic_name: str = "RMQ_SYS_TRACE_TOPIC"

    default_invisible_time_mills: int = 60_000
    renew_ahead_time_millis: int = 10_000
    renew_schedule_period_millis: int = 5_000

    max_message_size: int = 4 * 1024 * 1024
    message_delay_level: str = DEFAULT_LEVELS
    start_accept_send_request_time_stamp: int = 0
    reject_transaction_message: bool = False
    reject_internal_topic_message: bool = True
    acl_enable: bool = False
    authentication_enabled: bool = False
    authentication_provider: str = ""
    authentication_metadata_provider: str = ""
    authentication_strategy: str = ""
    authentication_whitelist: str = ""
    init_authentication_user: str = ""
    inner_client_authentication_credentials: str = ""
    authorization_enabled: bool = False
    authorization_provider: str = ""
    authorization_metadata_provider: str = ""
    authorization_strategy: str = ""
    authorization_whitelist: str = ""
    timer_wheel_enable: bool = True
    recall_message_enable: bool = False
    allow_recall_when_broker_not_writeable: bool = True
    timer_precision_ms: int = 1_000
    timer_max_delay_sec: int = 3 * 86_400
    timer_roll_window_slot: int = 2 * 86_400
    mapped_file_size_timer_log: int = 100 * 1024 * 1024
    transaction_time_out: int = 6_000
    transaction_check_max: int = 15
    transaction_check_interval: int = 60_000
    transaction_op_msg_max_size: int = 4_096
    transaction_op_batch_interval: int = 3_000
    enable_lmq: bool = False
    enable_multi_dispatch: bool = False
    enable_property_filter: bool = False
    filter_support_retry: bool = False
    filter_data_clean_time_span: int = DAY_MS
    expect_consumer_num_use_filter: int = 32
    max_error_rate_of_bloom_filter: int = 20
    enable_calc_filter_bit_map: bool = False
    store_reply_message_enable: bool = True
    auto_delete_unused_stats: bool = False

    use_server_side_reset_offset: bool = False

    enable_pop_buffer_merge: bool = False
    pop_ck_stay_buffer_time: int = 10_000
    pop_ck_stay_buffer_time_out: int = 3_000
    pop_ck_max_buffer_size: int = 200_000
    enable_retry_topic_v2: bool = False
    retrieve_message_from_pop_retry_topic_v1: bool = True
    pop_from_retry_probability: int = 20
    pop_response_return_actual_retry_topic: bool = False
    init_pop_offset_by_check_msg_in_mem: bool = True
    pop_polling_size: int = 1_024
    max_pop_polling_size: int = 100_000
    revive_queue_num: int = 8
    revive_interval: int = 1_000
    default_message_request_mode: str = "PULL"
    default_pop_share_queue_num: int = -1
    server_load_balancer_enable: bool = True

    broker_role: str = ASYNC_MASTER
    ha_listen_port: int = 0
    ha_master_address: str = ""
    ha_send_heartbeat_interval: int = 5_000
    ha_housekeeping_interval: int = 20_000
    ha_transfer_batch_size: int = 32 * 1024
    ha_slave_fallbehind_max: int = 256 * 1024 * 1024
    slave_timeout: int = 3_000
    offset_check_in_slave: bool = False
    in_sync_replicas: int = 1
    ha_time_scale: int = 1
    enable_slave_acting_master: bool = False
    enable_remote_escape: bool = False
    compatible_with_old_name_srv: bool = True
    total_replicas: int = 1
    broker_heartbeat_interval: int = 1_000
    sync_broker_member_group_period: int = 1_000
    broker_not_active_timeout_millis: int = 10_000

    long_polling_enable: bool = True
    short_polling_time_mills: int = 1_000
    slave_read_enable: bool = False
    notify_consumer_ids_changed_enable: bool = True

    register_name_server_period: int = 30_000
    register_broker_timeout_mills: int = 6_000
    flush_consumer_offset_interval: int = 5_000

    flush_disk_type: str = ASYNC_FLUSH
    mapped_file_size_commit_log: int = _STORE.mapped_file_size_commit_log
    mapped_file_size_consume_queue: int = _STORE.mapped_file_size_consume_queue
    enable_consume_queue_ext: bool = False
    mapped_file_size_consume_queue_ext: int = _STORE.mapped_file_size_consume_queue_ext
    flush_interval_commit_log: int = _STORE.flush_interval_commit_log
    flush_consume_queue_thorough_interval: int = _STORE.flush_consume_queue_thorough_interval
    message_index_enable: bool = True
    max_hash_slot_num: int = _STORE.max_hash_slot_num
    max_index_num: int = _STORE.max_index_num
    file_reserved_time: int = _STORE.file_reserved_time
    delete_when: str = _STORE.delete_when
    clean_resource_interval: int = _STORE.clean_resource_interval
    disk_max_used_space_ratio: int = _STORE.disk_max_used_space_ratio
    disk_space_clean_forcibly_ratio: int = _STORE.disk_space_clean_forcibly_ratio
    disk_space_warning_level_ratio: int = _STORE.disk_space_warning_level_ratio

    @property
    def is_slave(self) -> bool:
        """Whether the log follows that of a master."""
        return self.broker_role == SLAVE

    @property
    def member(self) -> str:
        """What tells this broker from the others of its cluster; a slave has the broker name of its master."""
        return slave_member(self.broker_name, self.broker_id) if self.broker_id else self.broker_name

    max_transfer_count_on_message_in_memory: int = _STORE.max_transfer_count_on_message_in_memory
    max_transfer_bytes_on_message_in_memory: int = _STORE.max_transfer_bytes_on_message_in_memory
    max_transfer_count_on_message_in_disk: int = _STORE.max_transfer_count_on_message_in_disk
    max_transfer_bytes_on_message_in_disk: int = _STORE.max_transfer_bytes_on_message_in_disk
    as_real: bool = False
    unused: dict[str, str] = field(default_factory=dict)

    def turns_a_wheel(self, release: Release) -> bool:
        """Whether timer messages are served: by masters of 5.x, unless `timerWheelEnable` is off."""
        return release.is_v5 and self.timer_wheel_enable and not self.is_slave

    def store_settings(self, *, is_v5: bool) -> StoreSettings:
        """Returns the part that the store needs."""
        own = {item.name for item in fields(self)}
        shared = {item.name: getattr(self, item.name) for item in fields(StoreSettings) if item.name in own}
        return StoreSettings(**shared, is_v5=is_v5)

    def properties(self) -> dict[str, str]:
        """Returns all settings as text by wire name."""
        return {_wire_name(name): _text(getattr(self, name)) for name in _own_names()}

    def configuration(self, *, is_v5: bool) -> dict[str, str]:
        """Returns what request 26 tells: all that the release has, heeded or not, and what else was set here."""
        own, plain = self.properties(), BrokerSettings().properties()
        known = told_properties(is_v5=is_v5)
        values = {name: own[name] if value is None else self.unused.get(name, value) for name, value in known.items()}
        return values | {name: value for name, value in own.items() if name not in known and value != plain[name]}

    def update(self, changes: Mapping[str, str]) -> set[str]:
        """Takes changes by wire name; unknown names and values of the wrong type are ignored, as in Java.

        Returns:
            the wire names that were taken.
        """
        taken = set()
        wires = {_wire_name(name): name for name in _own_names()}
        for wire, text in changes.items():
            name = wires.get(wire)
            if name is None:
                self.unused[wire] = text
                continue
            value = _read(text, type(getattr(self, name)))
            if value is not None and not (name in _POSITIVE and isinstance(value, int) and value < 1):
                setattr(self, name, value)
                taken.add(wire)
        return taken


def _own_names() -> list[str]:
    return [item.name for item in fields(BrokerSettings) if item.name != "unused"]


def slave_member(name: str, broker_id: int) -> str:
    """Returns what a slave is called in its cluster, as in RocketMQ's own sample configurations."""
    return f"{name}-s" if broker_id == 1 else f"{name}-s{broker_id}"


def _wire_name(name: str) -> str:
    return _WIRE_NAMES.get(name) or camel_case(name)


def _text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _read(text: str, kind: type) -> object:
    if kind is bool:
        return text.strip().lower() == "true"
    if kind is int:
        return decimal(text.strip(), -MOST_INT64)
    return text
