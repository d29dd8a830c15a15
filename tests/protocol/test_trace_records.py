"""Trace records as recorded Java clients of both lines wrote them, and lines that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.protocol.frame import decode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.trace_records import TraceKind, TraceRecord, decode_traces

FOUR = "rocketmq-4.9.8/frames/a/a_012_QUERY_MESSAGE_json_09.resp.bin"
FIVE = "rocketmq-5.3.3/frames/frames/01675_broker_s2c_resp12.bin"


def recorded(full_golden: Path, name: str) -> list[TraceRecord]:
    frame = decode((full_golden / name).read_bytes())
    trace_records: list[TraceRecord] = []
    for message in decode_messages(frame.body):
        records, unreadable = decode_traces(message.body)
        assert unreadable == 0
        trace_records += records
    return trace_records


@pytest.mark.golden_full
def test_a_java_producer_of_4_9(full_golden: Path) -> None:
    assert recorded(full_golden, FOUR)[0] == TraceRecord(
        kind=TraceKind.SENT,
        time_ms=1795217291744,
        region="DefaultRegion",
        group="GP_keys",
        topic="TopicTest",
        message_id="C000020212EF5FFD2B2766E211DF0000",
        tags="TagK",
        keys="KEY0 ORDER-0",
        store_host="127.0.0.1:10911",
        body_bytes=7,
        cost_ms=16,
        message_type="normal",
        offset_id="7F00000100002A9F00000000000072A4",
        succeeded=True,
    )


@pytest.mark.golden_full
def test_a_java_consumer_of_5_3(full_golden: Path) -> None:
    records = recorded(full_golden, FIVE)
    assert [record.kind for record in records[:5]] == ["Pub", "Pub", "Pub", "SubBefore", "SubAfter"]
    before, after = records[3:5]
    assert (before.group, before.retries, before.message_id) == ("CG_trace", 0, "C00002027F344E0E2F2A66F376670002")
    assert (after.request_id, after.outcome, after.cost_ms) == (before.request_id, "success", 1)
    assert (after.group, after.time_ms) == ("CG_trace", 1795218433136)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (
            "Pub,5,R,PG,T,ID,,,h:1,3,4,1,true",
            TraceRecord(
                kind=TraceKind.SENT, message_id="ID", time_ms=5, region="R", group="PG", topic="T", store_host="h:1",
                body_bytes=3, cost_ms=4, message_type="transaction half", succeeded=True,
            ),
        ),
        (
            "Pub,5,R,PG,T,ID,,,h:1,3,4,0,OFF,false,c:2",
            TraceRecord(
                kind=TraceKind.SENT, message_id="ID", time_ms=5, region="R", group="PG", topic="T", store_host="h:1",
                body_bytes=3, cost_ms=4, message_type="normal", offset_id="OFF", succeeded=False, client_host="c:2",
            ),
        ),
        (
            "SubAfter,RID,ID,7,false,k,4",
            TraceRecord(
                kind=TraceKind.AFTER_CONSUMING, message_id="ID", request_id="RID", cost_ms=7, succeeded=False, keys="k",
                outcome="failed",
            ),
        ),
        (
            "EndTransaction,5,R,PG,T,ID,A,k,h:1,2,TX,COMMIT_MESSAGE,true",
            TraceRecord(
                kind=TraceKind.TRANSACTION_ENDED, message_id="ID", time_ms=5, region="R", group="PG", topic="T",
                tags="A", keys="k", store_host="h:1", message_type="transaction commit", transaction_id="TX",
                state="COMMIT_MESSAGE", from_check=True,
            ),
        ),
        (
            "Recall,5,R,PG,T,ID,true",
            TraceRecord(
                kind=TraceKind.RECALLED, message_id="ID", time_ms=5, region="R", group="PG", topic="T", succeeded=True
            ),
        ),
    ],
)  # fmt: skip
def test_lines_of_other_releases(line: str, record: TraceRecord) -> None:
    assert decode_traces(line.replace(",", "\x01").encode() + b"\x02") == ([record], 0)


def test_lines_that_are_none_are_counted_and_cost_no_other() -> None:
    good = "Recall\x015\x01R\x01PG\x01T\x01ID\x01true"
    for bad in ("Other\x01x", "Pub\x01soon", "SubBefore\x015", "Recall\x015\x01R\x01PG\x01T\x01\x01true"):
        records, unreadable = decode_traces(f"{bad}\x02{good}\x02".encode())
        assert ([record.message_id for record in records], unreadable) == (["ID"], 1), bad


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_counted(body: bytes) -> None:
    records, unreadable = decode_traces(body)
    assert len(records) + unreadable == len([line for line in body.decode("utf-8", "replace").split("\x02") if line])
