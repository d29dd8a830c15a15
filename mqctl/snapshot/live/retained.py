"""When the first file of an old log ended: what tells whether it should have been deleted."""

from __future__ import annotations

from mqctl.client.admin.broker_messages import message_at
from mqctl.model.retained import RetainedLog, retained_log
from mqctl.model.thresholds import Settings
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker


def ask_second_files(asking: Asking, brokers: list[LiveBroker], now_ms: int) -> None:
    """Asks brokers whose oldest message is older than retention allows for the first message of their second file.

    One that does not tell it is judged by the mean growth of its log; so nothing is missing where it fails.
    """
    old = {number: log for number, broker in enumerate(brokers) if (log := _old(broker, now_ms)) is not None}
    answers = asking.put(
        (number, brokers[number].address.address, message_at(log.second_file_offset)) for number, log in old.items()
    )
    for number, message in answers.values.items():
        if message.physical_offset == old[number].second_file_offset:
            brokers[number].second_file_time_ms = message.store_time_ms


def _old(broker: LiveBroker, now_ms: int) -> RetainedLog | None:
    log = None if broker.lost else retained_log(broker.snapshot())
    outlived_ms = Settings().outlived_ms
    return log if log is not None and now_ms > log.first_time_ms + log.reserved_ms + outlived_ms else None
