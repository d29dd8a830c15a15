"""What a broker's dispatcher makes of a record: its tags code in the consume queue, its keys in the index.

Source: `CommitLog.checkMessageAndReturnSize`, `DefaultMessageStore.doDispatch`, `IndexService.buildIndex` of 4.9.8.
"""

from __future__ import annotations

from functools import lru_cache

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import (
    DELAY,
    KEYS,
    SYSFLAG_PREPARED,
    SYSFLAG_ROLLBACK,
    SYSFLAG_TRANSACTION_MASK,
    TAGS,
    UNIQ_KEY,
)
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR, property_of

_UNKNOWN_LEVEL_MS = 1_000
_TAGS = TAGS + NAME_VALUE_SEPARATOR
_KEYS = KEYS + NAME_VALUE_SEPARATOR


def is_consumable(sys_flag: int) -> bool:
    """Whether a record enters its consume queue: prepared and rolled-back ones do not."""
    return sys_flag & SYSFLAG_TRANSACTION_MASK not in (SYSFLAG_PREPARED, SYSFLAG_ROLLBACK)


def tags_code(topic: str, properties: str, store_ms: int, levels: DelayLevelTable) -> int:
    """Returns the tags code of a record: the hash of its tag, or the due time of a message that waits for delivery."""
    if topic == SCHEDULE_TOPIC:
        level = decimal(property_of(properties, DELAY)) or 0
        if level > 0:
            delay_ms = levels.delay_ms(min(level, levels.max_level))
            return store_ms + (_UNKNOWN_LEVEL_MS if delay_ms is None else delay_ms)
    return _hash_of(property_of(properties, TAGS)) if _TAGS in properties else 0


@lru_cache(maxsize=4_096)
def _hash_of(tags: str | None) -> int:
    return java_string_hash(tags) if tags else 0


def index_keys(properties: str) -> list[str]:
    """Returns the keys under which a record is indexed, UNIQ_KEY first."""
    unique = property_of(properties, UNIQ_KEY)
    keys = property_of(properties, KEYS) if _KEYS in properties else None
    words = [key for key in keys.split(" ") if key] if keys else []
    return [unique, *words] if unique else words
