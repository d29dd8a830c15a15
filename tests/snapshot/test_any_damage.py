"""Whatever happens to one file of a store, gathering and judging ends with findings or a named error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqctl.errors import MqctlError
from mqctl.render.finding_texts import sentences
from mqctl.rules import diagnose
from mqctl.snapshot.archive import load_snapshot, save_snapshot
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.snapshot.store.lag import gather_lag
from tests.store.builder import StoreBuilder, message

HALF, OP, SCHEDULE = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX"
START = 1_795_218_000_000
CONFIG = {
    "consumerOffset.json": '{"offsetTable":{"Pay@G":{0:2,1:0},"%RETRY%G@G":{0:1},"a@b@c":{0:1}}}',
    "topics.json": '{"topicConfigTable":{"Pay":{"topicName":"Pay","readQueueNums":2,"writeQueueNums":2,"perm":6}}}',
    "subscriptionGroup.json": '{"subscriptionGroupTable":{"G":{"groupName":"G","consumeEnable":true}}}',
    "delayOffset.json": '{"offsetTable":{2:1}}',
    "consumerFilter.json": '{"filterDataByTopic":{}}',
}


def small_store(root: Path) -> Path:
    """A store of three kilobytes with a bit of everything."""
    builder = StoreBuilder(commit_log_file_bytes=4_096, queue_file_entries=20)
    real = {"REAL_TOPIC": "Pay", "REAL_QID": "0"}
    for number in range(4):
        builder.append(message("Pay", number % 2, properties={"TAGS": "a", "KEYS": f"k{number}"}, store_time_ms=START))
    for number in range(3):
        stored = builder.append(
            message(SCHEDULE, 1, properties={**real, "DELAY": "2", "UNIQ_KEY": f"D{number}"}, store_time_ms=START)
        )
        builder.entries[(SCHEDULE, 1)][-1] = (stored.physical_offset, stored.size_bytes, START + 5_000)
    builder.append(message("Pay", 0, properties={"UNIQ_KEY": "D0"}, store_time_ms=START + 5_001))
    builder.append(message(HALF, properties={**real, "PGROUP": "PG", "UNIQ_KEY": "T0"}, store_time_ms=START + 5_500))
    builder.append(message(OP, body=b"0,", properties={"TAGS": "d"}, store_time_ms=START + 5_500))
    event = b'{"consumerGroup":"G","messageQueue":{"topic":"Pay","queueId":0},"offsetRequest":9,"offsetNew":2}'
    builder.append(message("OFFSET_MOVED_EVENT", body=event, store_time_ms=START + 6_000))
    builder.write(root)
    for name, text in CONFIG.items():
        (root / "config" / name).write_text(text)
        (root / "config" / f"{name}.bak").write_text(text)
    return root


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_store(tmp_path_factory.mktemp("intact"))


def judge(root: Path, scratch: Path) -> None:
    """Gathers both ways, judges, writes every sentence and archives."""
    try:
        snapshot = gather_store(root, at_ms=START + 60_000)
        gather_lag(root)
    except MqctlError as error:
        assert error.problem
        return
    diagnosis = diagnose(snapshot)
    for finding in diagnosis.findings:
        assert sentences(finding).what
    save_snapshot(snapshot, scratch, force=True)
    assert diagnose(load_snapshot(scratch)) == diagnosis


def test_the_intact_store_is_read_in_full(intact: Path) -> None:
    diagnosis = diagnose(gather_store(intact, at_ms=START + 60_000))
    assert diagnosis.not_judged == ()
    assert {item.code for item in diagnosis.findings} == {"MQ409", "MQ707"}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_to_one_file_breaks_the_gatherer(data: st.DataObject, intact: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(intact, root)
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    file = root / data.draw(st.sampled_from(names))
    content = bytearray(file.read_bytes())
    how = data.draw(st.sampled_from(["flip", "cut", "zero tail", "delete", "foreign", "grow"]))
    at = data.draw(st.integers(0, max(0, len(bytes(content).rstrip(b"\0")) - 1)))
    if how == "flip" and content:
        content[at] ^= data.draw(st.integers(1, 255))
    elif how == "cut":
        del content[at:]
    elif how == "zero tail":
        content[at:] = bytes(len(content) - at)
    elif how == "foreign":
        content[at : at + 16] = data.draw(st.binary(min_size=16, max_size=16))
    elif how == "grow":
        content += data.draw(st.binary(max_size=64))
    file.write_bytes(content)
    if how == "delete":
        file.unlink()
    judge(root, tmp_path / "s.snap")


@pytest.mark.parametrize("name", sorted(CONFIG))
def test_a_configuration_cut_anywhere_is_never_a_crash(name: str, intact: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(intact, root)
    text = CONFIG[name]
    for length in range(len(text)):
        (root / "config" / name).write_text(text[:length])
        (root / "config" / f"{name}.bak").write_text(text[: length // 2])
        snapshot = gather_store(root, at_ms=START + 60_000, deep=False)
        assert diagnose(snapshot).findings


def test_a_table_with_values_of_the_wrong_kind(intact: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(intact, root)
    odd = ("null", "3", '"x"', "[1,2]", '{"Pay@G":7,"b@c":{"x":"y",0:null,1:-4,2:99999999999999999999}}')
    tables = ("offsetTable", "topicConfigTable", "subscriptionGroupTable")
    for value in odd:
        for name in CONFIG:
            body = ",".join(f'"{table}":{value}' for table in tables)
            for file in (root / "config" / name, root / "config" / f"{name}.bak"):
                file.write_text(f"{{{body}}}")
        judge(root, tmp_path / "s.snap")
