"""Byte layouts of a broker's files: magics, sizes, `struct` formats.

Everything on disk is big-endian. Sources: `MessageDecoder`, `CommitLog`, `ConsumeQueue`, `ConsumeQueueExt`,
`IndexHeader`, `IndexFile`, `StoreCheckpoint` of 4.9.8; `BatchConsumeQueue`, `TimerLog`, `TimerWheel` and
`TimerCheckpoint` of 5.3.3. The numpy types of the same layouts are in `dtypes`: a broker starts without numpy.
"""

from __future__ import annotations

import struct
from typing import Final

# Commit log.
MAGIC_V1: Final = -626843481
MAGIC_V2: Final = -626843477
MAGIC_BLANK: Final = -875286124
MAGIC_V1_BYTES: Final = b"\xda\xa3\x20\xa7"
COMMIT_LOG_FILE_BYTES: Final = 1 << 30
BLANK_BYTES: Final = 8
SMALLEST_RECORD_BYTES: Final = 92
HEADER_BYTES: Final = 88
PAGE_BYTES: Final = 4_096
CRC_MASK: Final = 0x7FFFFFFF

SIZE_AND_MAGIC: Final = struct.Struct(">ii")
NAME_VALUE_SEPARATOR: Final = 0x01
PROPERTY_SEPARATOR: Final = 0x02

# Consume queue.
QUEUE_ENTRY_BYTES: Final = 20
QUEUE_ENTRY_STRUCT: Final = struct.Struct(">qiq")
QUEUE_FILE_BYTES: Final = 6_000_000
FILLER_SIZE: Final = 2_147_483_647

BATCH_ENTRY_BYTES: Final = 46
BATCH_FILE_BYTES: Final = 13_800_000

# Consume queue extension.
EXT_UNIT_HEAD: Final = struct.Struct(">hqqh")
EXT_UNIT_BYTES: Final = 20
EXT_FILE_BYTES: Final = 50_331_648
EXT_ADDRESS_LIMIT: Final = -2_147_483_649  # a tags code at or below it is an address
EXT_ADDRESS_BASE: Final = -(1 << 63)
EXT_END_RESERVED_BYTES: Final = 4

# Index file.
INDEX_HEADER: Final = struct.Struct(">qqqqii")
INDEX_HEADER_BYTES: Final = 40
INDEX_SLOTS: Final = 5_000_000
INDEX_ENTRIES: Final = 20_000_000
INDEX_ENTRY_BYTES: Final = 20
INDEX_FILE_BYTES: Final = INDEX_HEADER_BYTES + 4 * INDEX_SLOTS + INDEX_ENTRY_BYTES * INDEX_ENTRIES

# Checkpoint and timer files.
CHECKPOINT: Final = struct.Struct(">qqqqq")
CHECKPOINT_BYTES: Final = 4_096
TIMER_LOG_RECORD_BYTES: Final = 52
TIMER_CHECK: Final = struct.Struct(">qqqqqqq")

FILE_NAME_DIGITS: Final = 20
