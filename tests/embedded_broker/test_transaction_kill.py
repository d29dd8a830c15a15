"""kill -9 under transactions: what was committed stays, what was rolled back never comes, the files agree."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import time_ns

import pytest

from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import EndTransaction, PullMessageReply
from tests.conftest import Outcome
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.slow

_COMMIT, _ROLLBACK = 8, 12
_ROUNDS = 3


@dataclass
class Ends:
    """Keys by what was asked for them and acknowledged; an end that was not acknowledged may have happened or not."""

    committed: set[str] = field(default_factory=set)
    rolled_back: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)

    def run_until_killed(self, address: str, pid: int, prefix: str, kill_after: int) -> None:
        """Sends half messages and ends two of three, until the broker is killed on the way."""
        with Peer(address) as peer:
            try:
                for number in range(1 << 30):
                    self._one(peer, f"{prefix}-{number}", (_COMMIT, _ROLLBACK, None)[number % 3])
                    if number == kill_after:
                        os.kill(pid, signal.SIGKILL)
            except OSError:
                return

    def _one(self, peer: Peer, key: str, how: int | None) -> None:
        properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP"}
        born_ms = time_ns() // 1_000_000
        sent = peer.call(send("T", properties=properties, sys_flag=4, born_ms=born_ms), key.encode())
        assert sent.code == 0, sent.remark
        if how is None:
            self.open.add(key)
            return
        end = EndTransaction(
            producer_group="GP",
            tran_state_table_offset=int(sent.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
            commit_or_rollback=how,
            msg_id=key,
        )
        assert peer.call(end).code == 0
        (self.committed if how == _COMMIT else self.rolled_back).add(key)


def delivered(address: str) -> list[str]:
    keys: list[str] = []
    offset = 0
    with Peer(address) as peer:
        while messages := decode_messages((answer := peer.call(pull("T", offset))).body):
            keys += [message.body.decode() for message in messages]
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
    return keys


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_ends_of_transactions_survive_a_kill(version: str, mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    random = Random(11)
    ends = Ends()
    words = ("--data-dir", str(tmp_path), "--as-version", version, "--set", "mappedFileSizeCommitLog=65536")
    for number in range(_ROUNDS):
        with process(*words) as (running, ready):
            ends.run_until_killed(ready["brokers"][0]["address"], running.pid, str(number), random.randrange(60, 200))
    with process(*words) as (_, ready):
        keys = delivered(ready["brokers"][0]["address"])
    assert set(keys) >= ends.committed
    assert not set(keys) & (ends.rolled_back | ends.open)
    assert len(keys) == len(set(keys)), "nothing was committed twice"
    assert len(ends.committed) > 50
    store = tmp_path / "broker-a"
    assert mqctl("store", "verify", "--store", store).exit_code == 0
