"""What waits and what is filtered in the embedded broker: delays, timers, half messages, SQL92 beside tags.

`python -m benchmarks.deep_broker [--messages N]` prints CPU seconds of the whole process. Delayed messages and timers
are all due in the same second; N half messages are pending, or all ended, when the check loop comes round; the pulls
deliver every second of N messages, by tags and by an SQL92 expression, to the same client, decoding included.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.log.intake import Incoming
from mqctl.model.names import HALF_TOPIC
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import EndTransaction, PullMessage, PullMessageReply
from tests.embedded_broker.wire import Peer

TOPIC, GROUP = "TopicTest", "GC"
BODY = bytes(200)
CHECK_MS = 60_000
ROLLBACK = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=50_000)
    count: int = parser.parse_args().messages
    logging.getLogger("embedded_broker").setLevel(logging.ERROR)
    print(f"{2 * count} messages of a delay level, due at once: {_waiting(2 * count, '4.9.8'):.2f} s")
    print(f"{2 * count} timer messages, due at once: {_waiting(2 * count, '5.3.3'):.2f} s")
    pending, ended = _halves(count, ended=False), _halves(count, ended=True)
    print(f"a round over {count} half messages: {pending:.2f} s, all pending and put back; {ended:.2f} s, all ended")
    tags, sql = _filtered(count)
    print(
        f"{count // 2} of {count} messages pulled: {tags:.2f} s by tags, {sql:.2f} s by SQL92, {sql / tags:.2f} times"
    )


def _cpu_s(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _message(broker: Broker, properties: str) -> Incoming:
    return Incoming(
        topic=TOPIC,
        queue_id=0,
        body=BODY,
        properties=properties,
        born_ms=broker.clock.now_ms(),
        born_host="192.0.2.2:40001",
    )


def _waiting(count: int, version: str) -> float:
    def fill(broker: Broker) -> None:
        wish = f"TIMER_DELIVER_MS\x01{broker.clock.now_ms() + 5_000}" if broker.release.is_v5 else "DELAY\x012"
        for _ in range(count):
            broker.intake.put(_message(broker, wish))

    with EmbeddedCluster(virtual_time=True, version=version) as cluster:
        cluster.broker().on_loop(fill)
        taken_s = _cpu_s(lambda: cluster.advance(8_000))
        delivered = cluster.broker().on_loop(lambda broker: broker.storage.max_offset(TOPIC, 0))
    if delivered != count:
        raise SystemExit(f"{delivered} of {count} messages were delivered")
    return taken_s


def _halves(count: int, *, ended: bool) -> float:
    def fill(broker: Broker) -> None:
        for number in range(count):
            key = f"K{number}"
            half = _message(broker, f"PGROUP\x01GP\x02TRAN_MSG\x01true\x02UNIQ_KEY\x01{key}")
            stored = broker.transactions.prepare(half, key)
            if ended:
                broker.transactions.end(
                    EndTransaction(
                        producer_group="GP",
                        tran_state_table_offset=stored.queue_offset,
                        commit_log_offset=stored.physical_offset,
                        commit_or_rollback=ROLLBACK,
                        msg_id=key,
                    )
                )

    with EmbeddedCluster(virtual_time=True) as cluster:
        cluster.broker().on_loop(fill)
        taken_s = _cpu_s(lambda: cluster.advance(CHECK_MS))
        halves = cluster.broker().on_loop(lambda broker: broker.storage.max_offset(HALF_TOPIC, 0))
    if halves != (count if ended else 2 * count):
        raise SystemExit(f"{halves} half messages after a round over {count}")
    return taken_s


def _filtered(count: int) -> tuple[float, float]:
    def fill(broker: Broker) -> None:
        broker.topics.find_or_create(TOPIC, 1)
        broker.groups.find_or_create(GROUP)
        for number in range(count):
            kind = number % 10
            broker.intake.put(_message(broker, f"a\x01{kind}\x02TAGS\x01T{kind}\x02UNIQ_KEY\x01K{number}"))

    with EmbeddedCluster(settings={"enablePropertyFilter": "true"}) as cluster:
        cluster.broker().on_loop(fill)
        with Peer(cluster.broker().address) as peer:
            by_tags = _cpu_s(lambda: _drain(peer, count, "TAG", "T1||T2||T3||T4||T5"))
            by_sql = _cpu_s(lambda: _drain(peer, count, "SQL92", "a BETWEEN 1 AND 5"))
    return by_tags, by_sql


def _drain(peer: Peer, count: int, kind: str, expression: str) -> None:
    offset = got = 0
    while offset < count:
        answer = peer.call(
            PullMessage(
                consumer_group=GROUP,
                topic=TOPIC,
                queue_id=0,
                queue_offset=offset,
                max_msg_nums=32,
                sys_flag=4,
                commit_offset=0,
                suspend_timeout_millis=0,
                subscription=expression,
                sub_version=0,
                expression_type=kind,
            )
        )
        got += len(decode_messages(answer.body))
        offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
    if got != count // 2:
        raise SystemExit(f"{got} messages by {kind} {expression}, {count // 2} were to come")


if __name__ == "__main__":
    main()
