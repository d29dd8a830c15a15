"""Which file of a configuration counts."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts


class FileSource(StrEnum):
    """Which file a configuration was read from, as the broker itself would choose."""

    MAIN = "main"
    BACKUP = "backup"
    NONE = "none"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFileState:
    """One configuration file.

    Attributes:
        name: file name, `topics.json` for instance.
        source: which of `<name>` and `<name>.bak` counts; NONE means that the broker would start empty,
            UNREAD that it is not known because one of them could not be read here.
        main_problem: why the main file was not used, or what could not be read; None when it was. The key and the
            values are of a sentence of mqctl's.
        mtime_ms: modification time of the file that counts.
    """

    name: str
    source: FileSource
    main_problem: str | None = None
    mtime_ms: int | None = None
    main_problem_key: str | None = None
    main_problem_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "main_problem")
