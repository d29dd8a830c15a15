"""Stored messages for plans, made by hand."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.model.message import Message
from mqctl.model.stored_message import StoredMessage


def message(
    properties: Mapping[str, str] | None = None, *, offset: int = 7, reconsume_times: int = 0, body: bytes = b"x"
) -> Message:
    return Message(
        topic="T",
        queue_id=2,
        queue_offset=offset,
        physical_offset=0,
        size_bytes=0,
        flag=5,
        sys_flag=0,
        born_time_ms=1,
        born_host="1:1",
        store_time_ms=1_234,
        store_host="1:2",
        reconsume_times=reconsume_times,
        prepared_transaction_offset=0,
        body_crc=0,
        body=body,
        properties=dict(properties or {}),
    )


def stored(
    properties: Mapping[str, str] | None = None,
    *,
    reconsume_times: int = 0,
    body: bytes = b"x",
    problem: str | None = None,
) -> StoredMessage:
    made = message(properties, reconsume_times=reconsume_times, body=body)
    return StoredMessage(made, "ID", body, problem)
