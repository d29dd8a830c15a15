"""What a scan of commit logs is to be counted by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from mqctl.errors import UsageError
from mqctl.text import sentence


class Dim(StrEnum):
    """What messages can be told apart by; each is the column of that name in the table `counts`."""

    TOPIC = "topic"
    QUEUE = "queue_id"
    TAG = "tag"
    KEY = "key"
    HOST = "born_host"
    SIZE = "size_class"
    TIME = "time_ms"
    NEW_QUEUE = "new_queue"
    TIMES = "reconsume_times"
    VALUE = "value"


class Selector(StrEnum):
    """How a producer's queue selector makes a queue index of a key."""

    HASH = "hash"  # SelectMessageQueueByHash (4.9.8): the absolute value of `hashCode() % n`
    NUMBER = "number"  # the key read as a whole number, modulo n: what the samples of orders do


class Kernels(StrEnum):
    """Which functions read a store; their figures are the same."""

    AUTO = "auto"  # compiled ones where numba is installed and there is much to read
    NUMPY = "numpy"
    COMPILED = "compiled"  # wherever numba is installed


@dataclass(frozen=True, slots=True)
class Cut:
    """One way of counting: by `dims`; where one of them is the key, only the heaviest keys of each group are kept.

    Attributes:
        kept: keys of a split that survive in each group of the other dims, by messages and as many by bytes.
    """

    name: str
    dims: tuple[Dim, ...]
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """How to count.

    Attributes:
        bucket_ms: width of the buckets of `Dim.TIME`.
        key_property: property that is the key; empty for `__SHARDINGKEY` and, where there is none, the first of KEYS.
        value_property: property behind `Dim.VALUE`.
        at_ms: the moment as of which something is late; 0 where a table does not query.
        quick: backlogs from the consume queues alone, where they can be believed.
        levels: the broker's messageDelayLevel; empty for the default.
        kernels: which functions read.
        new_queues: number of queues of `Dim.NEW_QUEUE`, into which `selector` puts the key.
        unique_keys: tracks by the client's unique key, too.
        queues: tracks by business keys tell the queue, when the message was sent and the hash of its key.
        top: keys of a topic that are shown of order and duplicates.
        heavy_messages: messages of a key from which on it is cut (`aggregates.heavy`); 0 for the usual number.
    """

    cuts: tuple[Cut, ...]
    bucket_ms: int = 60_000
    key_property: str = ""
    value_property: str = ""
    new_queues: int = 0
    selector: Selector = Selector.HASH
    at_ms: int = 0
    levels: str = ""
    quick: bool = False
    kernels: Kernels = Kernels.AUTO
    unique_keys: bool = False
    queues: bool = True
    top: int = 20
    heavy_messages: int = 0

    @property
    def dims(self) -> frozenset[Dim]:
        """Every dim of any cut."""
        return frozenset(dim for cut in self.cuts for dim in cut.dims)

    def text(self) -> str:
        """Writes this as the option `ask` of the data source."""
        return json.dumps(
            {
                "cuts": [[cut.name, list(cut.dims), cut.kept] for cut in self.cuts],
                "bucket_ms": self.bucket_ms,
                "key_property": self.key_property,
                "value_property": self.value_property,
                "new_queues": self.new_queues,
                "selector": self.selector,
                "at_ms": self.at_ms,
                "levels": self.levels,
                "quick": self.quick,
                "kernels": self.kernels,
                "unique_keys": self.unique_keys,
                "queues": self.queues,
                "top": self.top,
                "heavy_messages": self.heavy_messages,
            }
        )

    @classmethod
    def parse(cls, text: str) -> Query:
        """Reads the option `ask`.

        Raises:
            UsageError: it is none.
        """
        try:
            value = json.loads(text)
            cuts = tuple(Cut(name, tuple(map(Dim, dims)), kept) for name, dims, kept in value.pop("cuts"))
            names = {
                "selector": Selector(value.get("selector", Selector.HASH)),
                "kernels": Kernels(value.get("kernels", Kernels.AUTO)),
            }
            return cls(cuts, **{**value, **names})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UsageError(
                sentence("spark-read-option-query", "read option query={text}", text=text),
                reason=sentence("spark-not-json-cuts", "it is not a JSON of cuts: {error}", error=error),
            ) from error
