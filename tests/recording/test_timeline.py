"""`mqctl timeline` over recordings that were never there: each event in the world that has it, none in the calm one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mqctl.errors import UnreachableError
from mqctl.model.member import HeldQueue, MessageModel, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState
from mqctl.model.timeline import EventKind
from mqctl.recording.writer import LookTime, RecordingWriter
from tests.browser import DESK, page_of
from tests.conftest import Outcome
from tests.recording.worlds import at, broker, cluster, look, writer

ONE, TWO = {"one@1": "10.0.0.1:1"}, {"two@1": "10.0.0.2:1"}
KEPT, SHORTER = {"fileReservedTime": "72"}, {"fileReservedTime": "48"}
Run = Callable[..., Outcome]


def owned(
    into: RecordingWriter, minute: int, *clients: str, end: int, model: MessageModel = MessageModel.CLUSTERING
) -> None:
    """A look at which consumers were asked, and these own the queue."""
    queue = HeldQueue(queue=MessageQueue(topic="Pay", broker_name="broker-a", queue_id=0), commit_offset=0)
    own = broker(
        end=end,
        offset=end,
        members={**ONE, **TWO},
        runtime={"commitLogDiskRatio": "0.5"},
        config=KEPT,
        tags=("A",),
    )
    own = replace(own, memberships=tuple(replace(item, message_model=model) for item in own.memberships))
    state = cluster(own, broker("broker-b"), moment_ms=at(minute))
    running = tuple(RunningInfo(group="G", client_id=client, queues=(queue,)) for client in clients)
    state = replace(state, running=running)
    into.look(state, LookTime(wall_ms=at(minute), steady_ms=at(minute)), consumers_asked=True)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By minute: 5 the queue changes owner, 10 two@1 goes, 20 one@1 goes and consumption stops, 40 both are back,
    50 to 56 two@1 flaps, 60 the disk fills, 62 a setting changes, 64 other tags, 70 broker-b is lost, 75 it is back,
    80 a reset to the past, 90 a skip over what is left; from 95 the recorder is away, 150 it is back; the clock jumps
    at 152, nobody answers at 155."""
    place = tmp_path_factory.mktemp("night")
    recorder = writer(place)
    offset = 0
    for minute in range(96):
        end = minute * 300
        gone = TWO if 10 <= minute < 40 or minute in (50, 53, 55) else {}
        if not 20 <= minute < 40:
            offset = min(end, offset + 900)
        members = {} if 20 <= minute < 40 else {**ONE, **({} if gone else TWO)}
        offset = 3_000 if minute == 80 else 90 * 300 if minute == 90 else offset
        if minute in (0, 5):
            owned(recorder, minute, "two@1" if minute else "one@1", end=end)
            offset = end
            continue
        own = broker(
            end=end,
            offset=offset,
            members=members,
            runtime={"commitLogDiskRatio": "0.8" if minute >= 60 else "0.5"},
            config=SHORTER if minute >= 62 else KEPT,
            tags=("A", "B") if minute >= 64 else ("A",),
        )
        look(recorder, minute, own, *([] if 70 <= minute < 75 else [broker("broker-b")]))
    recorder = writer(place)
    for minute in range(150, 155):
        jump_ms = 3_600_000 if minute >= 152 else 0
        state = cluster(
            broker(
                end=28_500,
                offset=28_500,
                members={**ONE, **TWO},
                runtime={"commitLogDiskRatio": "0.8"},
                config=SHORTER,
                tags=("A", "B"),
            ),
            broker("broker-b"),
        )
        recorder.look(state, LookTime(wall_ms=at(minute) + jump_ms, steady_ms=at(minute)))
    error = UnreachableError("could not ask any name server", reason="refused")
    recorder.failed(error, LookTime(wall_ms=at(155) + 3_600_000, steady_ms=at(155)))
    return place


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The likeliest false alarms: bursts that are worked off, small steps of one queue, a disk at 74 %, a keyframe an
    hour, a topic that nobody sends to with messages left for a minute, a recorder that is restarted at once."""
    place = tmp_path_factory.mktemp("calm")
    for part in range(2):
        recorder = writer(place)
        for minute in range(part * 35, part * 35 + 35):
            sent = minute * 600 + (900 if minute % 7 == 3 else 0)
            state = broker(
                end=sent,
                offset=minute * 600,
                members={**ONE, **TWO},
                runtime={"commitLogDiskRatio": f"0.{740 + minute % 3}"},
                config=KEPT,
                tags=("A",),
            )
            look(recorder, minute, state, broker("broker-b"))
    return place


def events(mqctl: Run, place: Path, *more: object) -> list[dict[str, Any]]:
    outcome = mqctl("timeline", "--recording", place, "-o", "json", *more)
    assert outcome.exit_code == 0, outcome.stderr
    listed: list[dict[str, Any]] = outcome.json["events"]
    return listed


def test_what_happened_is_told_in_order_with_its_figures(mqctl: Run, night: Path) -> None:
    listed = events(mqctl, night, "--causes", 9)
    assert [item["moment_ms"] for item in listed] == sorted(item["moment_ms"] for item in listed)
    seen = {(item["kind"], round((int(str(item["moment_ms"])) - at(0)) / 60_000)): item for item in listed}
    wanted: dict[tuple[str, int], dict[str, Any]] = {
        ("queues-moved", 5): {"before": "one@1", "after": "two@1", "queue_count": 1},
        ("member-left", 10): {"client": "two@1", "after": "1", "severity": "info", "after_ms": at(9)},
        ("member-left", 20): {"client": "one@1", "after": "0", "severity": "error"},
        ("offset-stopped", 19): {"until_ms": at(40), "message_count": 6_000, "queue_count": 1},
        ("offset-resumed", 40): {"group": "G", "topic": "Pay"},
        ("backlog-began", 20): {"in_per_s": 5.0, "out_per_s": 0.0, "until_ms": at(49)},
        ("backlog-peaked", 39): {"message_count": 6_000},
        ("backlog-drained", 49): {"out_per_s": 15.0, "in_per_s": 5.0},
        ("member-flapped", 50): {"client": "two@1", "times": 3},
        ("disk-filled", 60): {"broker": "broker-a", "after": "80%"},
        ("setting-changed", 62): {"before": "fileReservedTime=72", "after": "fileReservedTime=48"},
        ("subscription-changed", 64): {"before": "A", "after": "A || B"},
        ("broker-lost", 70): {"broker": "broker-b", "severity": "fatal"},
        ("broker-back", 75): {"broker": "broker-b"},
        ("offset-went-back", 80): {"message_count": 20_700, "after_ms": at(79)},
        ("offset-skipped", 90): {"group": "G"},
        ("not-recorded", 95): {"gap": "silent", "until_ms": at(150)},
        ("clock-jumped", 212): {"jump_ms": 3_600_000},
        ("not-recorded", 214): {"gap": "unanswered", "until_ms": None},
    }
    for place, figures in wanted.items():
        assert place in seen, (place, sorted(seen, key=lambda pair: pair[1]))
        assert {name: seen[place][name] for name in figures} == figures, place
    assert "refused" in str(seen["not-recorded", 214]["reason"])
    silent = [item["moment_ms"] for item in listed if item["kind"] == "not-recorded"]
    assert silent == [at(95), seen["not-recorded", 214]["moment_ms"]], "a clock that leaps is no gap"
    cause = seen["backlog-peaked", 39]["cause"]
    assert isinstance(cause, dict) and cause["code"].startswith("MQ")
    missing = set(EventKind) - {EventKind(str(item["kind"])) for item in listed}
    assert missing == {EventKind.CHANGE_MADE, EventKind.DISK_FREED, EventKind.ROLE_CHANGED, EventKind.QUEUES_SHARED}
    assert not [item for item in listed if item["kind"] == "subscription-changed" and item["moment_ms"] != at(64)]


def test_a_calm_time_has_no_event(mqctl: Run, calm: Path) -> None:
    assert events(mqctl, calm) == []
    outcome = mqctl("timeline", "--recording", calm)
    assert (outcome.exit_code, "nothing unusual happened; mqctl doctor judges" in outcome.stdout) == (0, True)


@pytest.mark.parametrize("model", list(MessageModel))
def test_a_queue_that_an_old_owner_still_holds_when_the_new_one_has_it_is_told(
    mqctl: Run, tmp_path: Path, model: MessageModel
) -> None:
    """Members that broadcast all hold every queue, and share none."""
    recorder = writer(tmp_path)
    owned(recorder, 0, "one@1", end=0, model=model)
    owned(recorder, 1, "one@1", "two@1", end=0, model=model)
    owned(recorder, 2, "two@1", end=0, model=model)
    kinds = [(item["kind"], item["before"], item["after"]) for item in events(mqctl, tmp_path, "-g", "G")]
    shared = "queues-shared" if model is MessageModel.CLUSTERING else "queues-moved"
    assert kinds == [(shared, "one@1", "one@1, two@1"), ("queues-moved", "one@1, two@1", "two@1")]
    shown = mqctl("timeline", "--recording", tmp_path).stdout
    assert ("held by one@1, two@1 in one sample" in shown) == (model is MessageModel.CLUSTERING)


def test_a_part_of_it_by_time_and_name(mqctl: Run, night: Path) -> None:
    part = events(mqctl, night, "--since", at(58), "--until", at(63))
    assert [item["kind"] for item in part] == ["disk-filled", "setting-changed"]
    assert {item["kind"] for item in events(mqctl, night, "--broker", "broker-b")} <= {
        "broker-lost",
        "broker-back",
        "not-recorded",
        "clock-jumped",
        *(kind for kind in EventKind if kind.startswith(("member", "subscription"))),  # which have no broker
    }
    assert [item["kind"] for item in events(mqctl, night, "--until", at(48), "--backlog", "10000")] == [
        "queues-moved",
        "member-left",
        "offset-stopped",
        "member-left",
        "offset-resumed",
        "member-joined",
        "member-joined",
    ]
    unknown = mqctl("timeline", "--recording", night, "-g", "nobody")
    assert (unknown.exit_code, "has no consumer group nobody" in unknown.stderr) == (66, True)
    nothing = mqctl("timeline", "--recording", night, "--since", at(100), "--until", at(140))
    assert (nothing.exit_code, "no answered look in that time" in nothing.stderr) == (66, True)
    assert mqctl("timeline", "--recording", night, "--since", "now", "--until", "-2h").exit_code == 64


def test_people_read_the_worst_first_and_all_of_it_fits(mqctl: Run, night: Path) -> None:
    outcome = mqctl("timeline", "--recording", night)
    lines = outcome.stdout.splitlines()
    assert len(lines) < 60
    worst = lines[lines.index("What stands out, worst first:") + 1]
    assert "FATAL" in worst and "broker broker-b lost" in worst
    assert "G: two@1 left and came back 3 times" in outcome.stdout
    assert "not recorded for 55 min: the recorder did not run" in outcome.stdout
    cut = mqctl("timeline", "--recording", night, "--limit", "3").stdout
    assert "3 of " in cut and "broker broker-b lost" in cut.splitlines()[-4] + cut.splitlines()[-3]
    chinese = mqctl("timeline", "--recording", night, "--lang", "zh").stdout
    assert "Broker broker-b 失联" in chinese and "没有录制" in chinese


def test_what_is_whole_of_a_damaged_recording_is_used(mqctl: Run, night: Path, tmp_path: Path) -> None:
    place = tmp_path / "damaged"
    for file in night.rglob("*.parquet"):
        copy = place / file.relative_to(night)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    victim = next(file for file in sorted(place.rglob("members/*/*.parquet")))
    victim.write_bytes(victim.read_bytes()[:100])
    outcome = mqctl("timeline", "--recording", place, "-o", "json")
    assert outcome.exit_code == 74
    assert str(victim.name) in outcome.stderr and "cut or damaged" in outcome.stderr
    answer = json.loads(outcome.stdout)
    assert answer["unreadable"] and "broker-lost" in {item["kind"] for item in answer["events"]}
    assert mqctl("timeline", "--recording", tmp_path / "none").exit_code == 66


def test_the_page_scrolls_zooms_and_prints(mqctl: Run, night: Path, tmp_path: Path) -> None:
    """In a browser: lines are drawn, an event leads to its moment, and nothing else is fetched."""
    file = tmp_path / "night.html"
    outcome = mqctl("timeline", "--recording", night, "--html", file)
    assert outcome.exit_code == 0, outcome.stderr
    assert f"charts and events are in {file}" in outcome.stderr
    with page_of(file, DESK) as page:
        span, lines = page.locator("#span"), page.locator("#backlog path.line")
        whole = span.inner_text()
        assert (page.locator("#backlog .gap").count(), lines.count()) == (1, 2), "broken where nobody recorded"
        assert page.locator("#rates path.line").count() >= 2
        rows = page.locator("#events tr[data-row]")
        moments = rows.locator("td:first-child").all_inner_texts()
        assert moments == sorted(moments)
        page.locator("#events tr[data-row]", has_text="broker broker-b lost").click()
        near = span.inner_text()
        assert near != whole
        assert page.locator("#events tr.chosen").count() == 1
        page.locator("#backlog").hover()
        page.mouse.wheel(0, -300)
        page.wait_for_function("before => document.getElementById('span').textContent !== before", arg=near)
        page.locator("#all").click()
        assert span.inner_text() == whole
        page.locator("#in").click()
        zoomed = span.inner_text()
        box = page.locator("#rates").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60, steps=3)
        page.mouse.up()
        assert span.inner_text() not in (whole, zoomed)
        page.locator("#all").click()
        page.emulate_media(media="print")
        assert not page.locator("#keys").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]
        assert page.evaluate("(e => e.scrollHeight <= e.clientHeight + 1)(document.getElementById('events'))")
        assert page.pdf(format="A4").startswith(b"%PDF-")


def test_the_page_is_narrowed_to_a_group_in_chinese_too(mqctl: Run, tmp_path: Path) -> None:
    """Names stay text: nothing that a broker is called ends the script."""
    recorder = writer(tmp_path / "recording")
    for minute in range(8):
        own = broker(end=minute * 9_000, offset=0, members=ONE if minute != 5 else {})
        other = ConsumerOffsetState(group="H", topic="Pay", queue_id=0, offset=minute * 9_000 if minute < 4 else 27_000)
        own = replace(own, consumer_offsets=(*own.consumer_offsets, other))
        look(recorder, minute, own, *([] if minute > 2 else [broker("</script><b>")]))
    file = tmp_path / "page.html"
    outcome = mqctl("timeline", "--recording", tmp_path / "recording", "--html", file, "--lang", "zh")
    assert outcome.exit_code == 0, outcome.stderr
    text = file.read_text()
    assert '<html lang="zh">' in text and text.count("</script>") == 2 and "</script><b>" not in text
    with page_of(file, DESK) as page:
        assert "每秒消息数" in page.locator("main").inner_text()
        rows = page.locator("#events tr[data-row]:visible")
        every, lines = rows.count(), page.locator("#backlog path.line")
        assert lines.count() == 2
        page.locator("#group").fill("H")
        assert lines.count() == 1
        shown = rows.all_inner_texts()
        assert 0 < len(shown) < every
        assert any("H / Pay" in row for row in shown) and not any("G / Pay" in row for row in shown), shown
        assert any("</script><b>" in row for row in shown), "what is about no group stays"
        page.locator("#group").fill("nobody")
        assert (rows.count(), page.locator("#group.unknown").count()) == (every, 1)
