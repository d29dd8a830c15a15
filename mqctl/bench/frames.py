"""Frames of a bench: headers encoded once for each broker, bodies made once, and only what differs filled in.

The wire is that of `mqctl.protocol`; what must be signed is encoded anew for each send.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from mqctl.bench.task import BenchTask
from mqctl.client.identity import MessageClientIds
from mqctl.client.message.outgoing import WAIT
from mqctl.client.producer.packing import TRANSACTION_PREPARED
from mqctl.client.remoting.clock import ClientClock
from mqctl.client.remoting.link import signed
from mqctl.errors import ConfigurationError
from mqctl.model.bench import CompressionName, MessageType, SendMode, Workload
from mqctl.model.message import DELAY, KEYS, PRODUCER_GROUP, SHARDING_KEY, SYSFLAG_PREPARED, TAGS, UNIQ_KEY
from mqctl.model.names import AUTO_CREATE_TOPIC
from mqctl.model.own_messages import BENCH
from mqctl.protocol.compression import Compression, compress
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.frame_template import MARK, FrameTemplate
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_client import SendBatchMessage, SendMessageV2
from mqctl.text import sentence

_POOL = 64
_COMPRESSIONS = {
    CompressionName.ZLIB: Compression.ZLIB,
    CompressionName.LZ4: Compression.LZ4,
    CompressionName.ZSTD: Compression.ZSTD,
}


class Bodies:
    """Bodies of the wanted sizes, made and compressed once: hexadecimal text, which compresses to about half."""

    def __init__(self, workload: Workload, *, number: int) -> None:
        random = Random(f"{workload.seed}/{number}")
        self.sys_flag = 0
        self._bodies: list[tuple[bytes, int]] = []
        for _ in range(_POOL):
            size = random.randint(workload.min_bytes, workload.max_bytes)
            body = random.randbytes((size + 1) // 2).hex()[:size].encode()
            if workload.compression is not CompressionName.NONE:
                body, self.sys_flag = compress(body, _COMPRESSIONS[workload.compression])
            self._bodies.append((body, size))
        self._turn = 0

    def next(self) -> tuple[bytes, int]:
        """Returns a body and its size before compression."""
        self._turn = (self._turn + 1) % len(self._bodies)
        return self._bodies[self._turn]


class SendFrames:
    """Makes the frames of one process."""

    def __init__(self, task: BenchTask) -> None:
        workload = task.workload
        self._task = task
        self._workload = workload
        self._bodies = Bodies(workload, number=task.number)
        self._ids = MessageClientIds(ClientClock(), loader=task.number + 1)
        self._random = Random(f"{workload.seed}/keys/{task.number}")
        self._oneway = workload.mode is SendMode.ONEWAY
        names = self._marked()
        self._properties = format_properties(names)
        self._element = self._properties.replace("%", "%%").replace(MARK, "%s")
        self._commands = {name: self._command(name) for name in task.addresses}
        self._templates = {name: FrameTemplate(command) for name, command in self._commands.items()}

    def _marked(self) -> dict[str, str]:
        """Returns the properties of every message, with marks where they differ: id, due moment, key, sharding key."""
        workload = self._workload
        properties = {UNIQ_KEY: MARK, BENCH: MARK}
        if workload.key_count:
            properties[KEYS] = MARK
            if workload.message_type is MessageType.FIFO:
                properties[SHARDING_KEY] = MARK
        if workload.tag:
            properties[TAGS] = workload.tag
        if workload.message_type is MessageType.DELAY:
            properties[DELAY] = str(workload.delay_level)
        if workload.message_type is MessageType.TRANSACTION:
            properties |= {TRANSACTION_PREPARED: "true", PRODUCER_GROUP: self._task.producer_group}
        properties[WAIT] = "true"
        return properties

    def _command(self, broker_name: str) -> RemotingCommand:
        task, workload = self._task, self._workload
        is_batch = workload.batch_count > 1
        prepared = SYSFLAG_PREPARED if workload.message_type is MessageType.TRANSACTION else 0
        kind = SendBatchMessage if is_batch else SendMessageV2
        request = kind(
            producer_group=task.producer_group,
            topic=task.topic,
            default_topic=AUTO_CREATE_TOPIC,
            default_topic_queue_nums=4,
            queue_id=0,
            sys_flag=self._bodies.sys_flag | prepared,
            born_timestamp=0,
            flag=0,
            properties=format_properties({WAIT: "true"}) if is_batch else self._properties,
            reconsume_times=0,
            unit_mode=False,
            max_reconsume_times=None,
            batch=is_batch,
            bname=broker_name,
        )
        command = request.command(opaque=0, oneway=self._oneway)
        return replace(command, ext_fields={**(command.ext_fields or {}), "e": MARK, "g": MARK})

    def make(self, opaque: int, queue: tuple[str, int], due_us: int, key: int | None) -> tuple[bytes, str, int]:
        """Returns a frame, the unique id of its (first) message, and the size of its bodies before compression."""
        broker_name, queue_id = queue
        now_ms = time.time_ns() // 1_000_000
        if self._workload.batch_count > 1:
            ids = self._ids.take(self._workload.batch_count)
            unique_id = ids[0]
            body, size = self._batch(ids, due_us)
            values: tuple[object, ...] = (queue_id, now_ms)
        else:
            unique_id = self._ids.next()
            body, size = self._bodies.next()
            values = (queue_id, now_ms, unique_id, due_us, *self._keys(key))
        if self._task.credentials is None:
            return self._templates[broker_name].fill(opaque, *values, body=body), unique_id, size
        return self._signed(opaque, broker_name, values, body), unique_id, size

    def _keys(self, key: int | None) -> tuple[str, ...]:
        if not self._workload.key_count:
            return ()
        text = f"k{self._random.randrange(self._workload.key_count) if key is None else key}"
        return (text, text) if self._workload.message_type is MessageType.FIFO else (text,)

    def _batch(self, ids: Sequence[str], due_us: int) -> tuple[bytes, int]:
        bodies = [self._bodies.next() for _ in ids]
        text = self._element
        if self._workload.key_count:
            texts = [text % (unique_id, due_us, *self._keys(None)) for unique_id in ids]
        else:
            texts = [text % (unique_id, due_us) for unique_id in ids]
        return encode_batch(list(map(BatchElement, [body for body, _ in bodies], texts))), sum(
            [size for _, size in bodies]
        )

    def _signed(self, opaque: int, broker_name: str, values: tuple[object, ...], body: bytes) -> bytes:
        command = self._commands[broker_name]
        remaining = iter(values)
        ext = {
            name: "".join([str(next(remaining)) if part == MARK else part for part in _split(text)])
            for name, text in (command.ext_fields or {}).items()
        }
        credentials = self._task.credentials
        if credentials is None:
            raise ConfigurationError(sentence("bench-send-signed-without-keys", "a send was to be signed without keys"))
        return encode(signed(replace(command, opaque=opaque, ext_fields=ext, body=body), credentials))


def _split(text: str) -> list[str]:
    """Returns the parts of a text, marks being parts of their own."""
    return text.replace(MARK, f"\0{MARK}\0").split("\0")
