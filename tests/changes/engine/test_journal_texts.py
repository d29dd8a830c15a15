"""What went wrong in a change stays a text in the journal: its key and its values come back with it."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mqctl.changes.engine.journal import Journal
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, ChangePart, Doubt
from mqctl.errors import RefusedError
from mqctl.model.command_line import command_line
from mqctl.text import argv_of, key_of, sentence, values_of
from tests.changes.engine.test_history import setting
from tests.changes.engine.test_resend_journal import begun


def refused(said: str) -> RefusedError:
    return RefusedError(
        sentence("broker-refused-it", "broker {broker} refused it", broker="a"),
        reason=said,
        remedy=command_line("mqctl acl explain {}", "it's"),
    )


def known(part: ChangePart) -> tuple[object, ...]:
    said = (key_of(part.reason), values_of(part.reason), argv_of(part.remedy))
    return (part.state, part.reason, part.remedy, *said)


def test_reason_and_remedy_of_a_change_come_back_with_their_values(tmp_path: Path) -> None:
    drawer, record = Journal(tmp_path).settings, setting()
    record.parts[0].fail(NOT_MOVED, refused("No permission {x}"))
    drawer.write(record)
    (part,) = drawer.read(record.id).parts
    assert known(part) == known(record.parts[0])
    assert values_of(part.reason) == {
        "problem": {"text": "broker a refused it", "key": "broker-refused-it", "values": {"broker": "a"}},
        "reason": "No permission {x}",
    }
    assert argv_of(part.remedy) == ["mqctl", "acl", "explain", "it's"]


def test_a_letter_that_failed_keeps_its_values_in_its_line(tmp_path: Path) -> None:
    drawer, record = begun(tmp_path)
    with drawer.appending(record) as save:
        record.parts[1].fail(NOT_MOVED, refused("no"))
        save(1)
        record.parts[2].state = CONFIRMED
        save(2)
    parts = drawer.read(record.id).parts
    assert [key_of(part.reason) for part in parts] == [None, "errors-problem", None]
    assert values_of(parts[1].reason) == values_of(record.parts[1].reason)


def test_a_record_of_before_has_its_sentences_as_they_are(tmp_path: Path) -> None:
    drawer, record = Journal(tmp_path).settings, setting()
    record.parts[0].fail(NOT_MOVED, refused("no"))
    drawer.write(record)
    (file,) = drawer.directory.glob("*.json")
    tree = json.loads(file.read_bytes())
    for name in ("reason_key", "reason_values", "remedy_key", "remedy_values", "remedy_argv"):
        del tree["parts"][0][name]
    file.write_text(json.dumps(tree))
    (part,) = drawer.read(record.id).parts
    assert (part.reason, part.remedy) == (record.parts[0].reason, record.parts[0].remedy)
    assert (key_of(part.reason), argv_of(part.remedy)) == (None, None)


@given(st.text())
def test_a_doubt_keeps_the_words_of_others(said: str) -> None:
    doubt = Doubt(key="k", reason=sentence("replay-could-not-read", "could not be read: {said}", said=said))
    again = Doubt(
        key="k", reason=str.__str__(doubt.reason), reason_key=doubt.reason_key, reason_values=doubt.reason_values
    )
    assert values_of(again.reason) == {"said": said}
