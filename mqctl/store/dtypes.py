"""The layouts of a broker's files as numpy types, big-endian as on disk; sources as in `layouts`."""

from __future__ import annotations

from typing import Final

import numpy as np

RECORD_HEADER: Final = np.dtype(
    [
        ("total_size", ">i4"),
        ("magic", ">i4"),
        ("body_crc", ">i4"),
        ("queue_id", ">i4"),
        ("flag", ">i4"),
        ("queue_offset", ">i8"),
        ("physical_offset", ">i8"),
        ("sys_flag", ">i4"),
        ("born_time_ms", ">i8"),
        ("born_host", "V8"),
        ("store_time_ms", ">i8"),
        ("store_host", "V8"),
        ("reconsume_times", ">i4"),
        ("prepared_offset", ">i8"),
        ("body_size", ">i4"),
    ]
)
"""The fixed part of a record whose two hosts are IPv4."""

QUEUE_ENTRY: Final = np.dtype([("physical_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])

QUEUE_ENTRY_NATIVE: Final = np.dtype([("physical_offset", "=i8"), ("size", "=i4"), ("tags_code", "=i8")])

BATCH_ENTRY: Final = np.dtype(
    [
        ("physical_offset", ">i8"),
        ("size", ">i4"),
        ("tags_code", ">i8"),
        ("store_time_ms", ">i8"),
        ("base_offset", ">i8"),
        ("batch_size", ">i2"),
        ("compacted_offset", ">i4"),
        ("reserved", ">i4"),
    ]
)

INDEX_ENTRY: Final = np.dtype(
    [("key_hash", ">i4"), ("physical_offset", ">i8"), ("time_diff_s", ">i4"), ("previous", ">i4")]
)

TIMER_SLOT: Final = np.dtype(
    [("time_units", ">i8"), ("first_pos", ">i8"), ("last_pos", ">i8"), ("num", ">i4"), ("magic", ">i4")]
)

TIMER_LOG_RECORD: Final = np.dtype(
    [
        ("size", ">i4"),
        ("previous_pos", ">i8"),
        ("magic", ">i4"),
        ("write_time_ms", ">i8"),
        ("delayed_ms", ">i4"),
        ("physical_offset", ">i8"),
        ("record_size", ">i4"),
        ("topic_hash", ">i4"),
        ("reserved", ">i8"),
    ]
)
