"""The journal of resent letters, wherever a crash cut it off."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.errors import BadInputError, NotFoundError
from mqctl.execute.resend_journal import SENDING, SENT, WAITING, ResendJournal, ResendRecord
from mqctl.model.dead_letter import DeadLetter
from mqctl.model.message import Message
from mqctl.model.plan import ClusterIdentity
from mqctl.model.resend import Fate, ResendItem, ResendPlan, travelling_properties
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
    return DeadLetter(group="G", broker_name="a", stored=StoredMessage(message, f"L{number}", b"x"), retry_limit=16)


def begun(directory: Path) -> tuple[ResendJournal, ResendRecord]:
    letters = [letter(number, {**PROPERTIES, "UNIQ_KEY": f"U{number}"}) for number in range(3)]
    plan = ResendPlan(
        identity=ClusterIdentity(cluster="C", brokers=(("a", "h:1"),)),
        group="G",
        to_topic=None,
        rate=5,
        made_at_ms=1,
        items=tuple(ResendItem(letter=item, topic="Pay", fate=Fate.SEND) for item in letters),
        hearers={},
    )
    journal = ResendJournal(directory)
    return journal, journal.begin(plan)


def test_every_cut_reads_as_a_state_that_was(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    with journal.appending(record) as save:
        for index, item in enumerate(record.letters):
            for item.state in (SENDING, SENT):
                item.copy_id = f"C{index}" if item.state == SENT else None
                save(index)
        save(-1)
    (file,) = tmp_path.glob("*.ndjson")
    whole = file.read_bytes()
    head = whole.index(b"\n") + 1
    order = {WAITING: 0, SENDING: 1, SENT: 2}
    progress = -1
    for end in range(head, len(whole) + 1):
        file.write_bytes(whole[:end])
        states = [item.state for item in journal.read(record.id).letters]
        now = sum(order[state] for state in states)
        assert progress <= now
        progress = now
    assert (progress, journal.read(record.id).state) == (6, "sent")


def test_what_was_torn_off_does_not_swallow_what_follows(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    (file,) = tmp_path.glob("*.ndjson")
    file.write_bytes(file.read_bytes() + b'{"letter":0,"sta')
    with journal.appending(record) as save:
        record.letters[1].state = SENT
        save(1)
    assert [item.state for item in journal.read(record.id).letters] == [WAITING, SENT, WAITING]
    assert journal.read(record.id).state == "interrupted"


def test_a_head_that_is_torn_off_is_told(tmp_path: Path) -> None:
    journal, record = begun(tmp_path)
    (file,) = tmp_path.glob("*.ndjson")
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(BadInputError, match="could not read"):
        journal.read(record.id)
    with pytest.raises(NotFoundError):
        journal.read("20200101-000000-0000")


def test_a_copy_keeps_what_is_the_message_and_tells_where_it_comes_from() -> None:
    found = travelling_properties(letter(1, PROPERTIES), "Pay", "ID")
    expected = {"KEYS": "k1", "TAGS": "A", "UNIQ_KEY": "U", "mine": "x"}
    provenance = {"MQCTL_RESENT_FROM": "L1", "MQCTL_RESENT_BY": "ID"}
    assert found == {**expected, **provenance}
    retried = travelling_properties(letter(1, PROPERTIES), "%RETRY%G", "ID")
    assert retried == {**expected, **provenance, "RETRY_TOPIC": "Pay"}
    unnamed = travelling_properties(letter(1, {}), "Pay", "ID")
    assert unnamed == {"UNIQ_KEY": "L1", **provenance}
