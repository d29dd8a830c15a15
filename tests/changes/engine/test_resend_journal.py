"""The journal of resent letters, wherever a crash cut it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.changes.engine.journal import Drawer, Journal
from mqctl.changes.engine.records import CONFIRMED, PLANNED, SENT, LetterPart, ResendRecord
from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.message import Message
from mqctl.model.resend import travelling_properties
from mqctl.model.stored_message import StoredMessage

PROPERTIES = {
    "KEYS": "k1",
    "TAGS": "A",
    "UNIQ_KEY": "U",
    "mine": "x",
    "RETRY_TOPIC": "Pay",
    "ORIGIN_MESSAGE_ID": "O",
    "DELAY": "0",
    "WAIT": "false",
    "CLUSTER": "C",
    "MQCTL_RESENT_FROM": "an earlier letter",
}


def letter(number: int, properties: dict[str, str]) -> DeadLetter:
    message = Message(
        topic="%DLQ%G",
        queue_id=0,
        queue_offset=number,
        physical_offset=number,
        size_bytes=1,
        flag=0,
        sys_flag=0,
        born_time_ms=0,
        born_host="",
        store_time_ms=number,
        store_host="",
        reconsume_times=17,
        prepared_transaction_offset=0,
        body_crc=0,
        body=b"x",
        properties=properties,
    )
    return DeadLetter(group="G", broker_name="a", stored=StoredMessage(message, f"L{number}", b"x"))


def begun(directory: Path) -> tuple[Drawer[ResendRecord], ResendRecord]:
    record = ResendRecord(
        id="20261101-000000-0001", kind="dlq-resend", subject="G", to_topic=None, rate=5, who="w", made_at_ms=1,
        cluster="C", brokers={"a": "h:1"},
        parts=[LetterPart(letter_id=f"L{number}", unique_key=f"U{number}", topic="Pay") for number in range(3)],
    )  # fmt: skip
    drawer = Journal(directory).resends
    drawer.write(record)
    return drawer, record


def test_every_cut_reads_as_a_state_that_was(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    with journal.appending(record) as save:
        for index, item in enumerate(record.parts):
            for item.state in (SENT, CONFIRMED):
                item.found = f"C{index}" if item.state == CONFIRMED else None
                save(index)
        save(-1)
    (file,) = tmp_path.glob("journal/resends/*.ndjson")
    whole = file.read_bytes()
    head = whole.index(b"\n") + 1
    order = {PLANNED: 0, SENT: 1, CONFIRMED: 2}
    progress = -1
    for end in range(head, len(whole) + 1):
        file.write_bytes(whole[:end])
        states = [item.state for item in journal.read(record.id).parts]
        now = sum(order[state] for state in states)
        assert progress <= now
        progress = now
    assert (progress, journal.read(record.id).state) == (6, "confirmed")


def test_what_was_torn_off_does_not_swallow_what_follows(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    (file,) = tmp_path.glob("journal/resends/*.ndjson")
    file.write_bytes(file.read_bytes() + b'{"letter":0,"sta')
    with journal.appending(record) as save:
        record.parts[1].state = CONFIRMED
        save(1)
    assert [item.state for item in journal.read(record.id).parts] == [PLANNED, CONFIRMED, PLANNED]
    assert journal.read(record.id).state == "interrupted"


def test_a_head_that_is_torn_off_is_told(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    (file,) = tmp_path.glob("journal/resends/*.ndjson")
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(BadInputError, match="could not read"):
        journal.read(record.id)
    with pytest.raises(NotFoundError):
        journal.read("20200101-000000-0000")


def test_a_copy_keeps_what_is_the_message_and_tells_where_it_comes_from() -> None:
    properties = travelling_properties(letter(1, PROPERTIES), "Pay", "ID")
    expected = {"KEYS": "k1", "TAGS": "A", "UNIQ_KEY": "U", "mine": "x"}
    provenance = {"MQCTL_RESENT_FROM": "L1", "MQCTL_RESENT_BY": "ID"}
    assert properties == {**expected, **provenance}
    retried = travelling_properties(letter(1, PROPERTIES), "%RETRY%G", "ID")
    assert retried == {**expected, **provenance, "RETRY_TOPIC": "Pay"}
    unnamed = travelling_properties(letter(1, {}), "Pay", "ID")
    assert unnamed == {"UNIQ_KEY": "L1", **provenance}
