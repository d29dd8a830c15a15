"""What mqctl says in a snapshot keeps its key and its values through a file, and is told in Chinese from it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.config_file import ConfigFileState, FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.lang import Lang
from mqctl.model.member import RunningInfo
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.storage_state import StorageState
from mqctl.render.translation import spoken
from mqctl.snapshot.archive import load_snapshot, save_snapshot
from mqctl.snapshot.saved_stacks import saved_stacks
from mqctl.text import Text, key_of, sentence, values_of
from tests.conftest import GOLDEN, Outcome

Run = Callable[..., Outcome]
ORIGIN = Origin(
    kind=OriginKind.LIVE, location="a:9876", observed_at_ms=1_700_000_000_000, observed_from=ObservedFrom.CLOCK
)
STACKS = (GOLDEN / "dumps" / "java17-remote.txt").read_text()
NO_LINE = "x" * 9_000 + "\n"


def with_stacks(*texts: str) -> ClusterSnapshot:
    """A cluster whose members showed these stacks."""
    running = tuple(RunningInfo(group="G", client_id=f"c{number}", stacks=text) for number, text in enumerate(texts))
    return ClusterSnapshot(origin=ORIGIN, running=running)


def with_reasons(*reasons: str) -> ClusterSnapshot:
    """A store of which these are the reasons why a file is of no use."""
    damages = tuple(
        Damage(
            code=DamageCode.INDEX_HEADER, grade=DamageGrade.DAMAGE, file=f"index/{number}", params={"reason": reason}
        )
        for number, reason in enumerate(reasons)
    )
    files = tuple(
        ConfigFileState(name="topics.json", source=FileSource.NONE, main_problem=reason) for reason in reasons
    )
    broker = BrokerSnapshot(name="broker-a", storage=StorageState(has_abort=False, damages=damages, config_files=files))
    return ClusterSnapshot(origin=ORIGIN, brokers=(broker,))


def reasons_of(snapshot: ClusterSnapshot) -> list[str]:
    (broker,) = snapshot.brokers
    assert broker.storage is not None
    reasons = [str(damage.params["reason"]) for damage in broker.storage.damages]
    return [*reasons, *(file.main_problem or "" for file in broker.storage.config_files)]


@settings(max_examples=30, deadline=None)
@given(st.text(), st.integers(0, 2**31), st.text(st.characters(codec="utf-8")))
def test_reasons_of_mqctl_and_of_others_are_the_same_after_a_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, count: int, others: str
) -> None:
    name = name.encode("utf-8", "replace").decode()
    ours = sentence(
        "store-file-reaches-into",
        "{file} has {size:byte}, and reaches into {after}",
        file=name,
        size=count,
        after=others,
    )
    file = tmp_path_factory.mktemp("kept") / "s.snap"
    before = with_reasons(ours, others)
    save_snapshot(before, file)
    again = reasons_of(load_snapshot(file))
    assert again == reasons_of(before) == [ours, others, ours, others]
    assert [key_of(said) for said in again] == [key_of(ours), None, key_of(ours), None]
    assert [values_of(said) for said in again] == [values_of(ours), None, values_of(ours), None]
    assert [spoken(said, Lang.ZH) for said in again] == [spoken(ours, Lang.ZH), others] * 2


def test_notes_of_saved_stacks_are_texts(tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    save_snapshot(with_stacks(STACKS, NO_LINE + STACKS, STACKS + "  x"), file)
    notes = [instance.dumps[0].notes for instance in saved_stacks(load_snapshot(file), None, None).instances]
    assert [[key_of(note) for note in each] for each in notes] == [
        [],
        ["stacks-line-too-long-dump"],
        ["stacks-text-ends-middle-line"],
    ]
    assert all(spoken(note, Lang.ZH) != note for each in notes for note in each)


def test_notes_of_saved_stacks_have_keys_in_json_and_are_told_in_chinese(mqctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    save_snapshot(with_stacks(STACKS + "  x"), file)
    words = ("stacks", "dump", "--snapshot", file)
    (instance,) = mqctl(*words, "-o", "json").json["instances"]
    assert [note["key"] for note in instance["keyed_notes"]] == ["stacks-text-ends-middle-line"]
    assert "不完整：文本在一行中间结束" in mqctl(*words, "--lang", "zh").stderr


def test_a_file_without_keys_is_read_and_shows_its_words(tmp_path: Path) -> None:
    file = tmp_path / "s.snap"
    said = sentence("store-index-negative-counters", "negative counters")
    save_snapshot(with_reasons(said), file)
    document = json.loads(gzip.decompress(file.read_bytes()))
    file.write_bytes(gzip.compress(json.dumps(without_keys(document)).encode()))
    again = reasons_of(load_snapshot(file))
    assert again == [said, said]
    assert not any(isinstance(reason, Text) for reason in again)


def without_keys(node: Any) -> Any:
    """A document as mqctl wrote it before sentences had keys."""
    if isinstance(node, list):
        return [without_keys(item) for item in node]
    if isinstance(node, dict):
        return {name: without_keys(value) for name, value in node.items() if not name.endswith(("_key", "_values"))}
    return node
