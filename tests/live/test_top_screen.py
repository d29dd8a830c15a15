"""`top` as a screen, in a real terminal: from page to page and back, filter, order, command lines, poor terminals."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.cli.catalog import BY_PATH
from mqctl.commands.top.pages import PAGES, About
from mqctl.recording.writer import LookTime
from tests.live.conftest import Consume, Run
from tests.live.pane import Pane, pane
from tests.live.test_record import Recorder
from tests.recording.worlds import broker, look, writer
from tests.recording.worlds import cluster as recorded_cluster

Screen = Callable[..., AbstractContextManager[Pane]]


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture
def screen(cluster: EmbeddedCluster, tmp_path: Path) -> Screen:
    """Runs `mqctl top` against the cluster in a terminal."""

    def run(*words: str, columns: int, rows: int, **env: str) -> AbstractContextManager[Pane]:
        places = {
            name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")
        }
        settings = {**places, "MQCTL_NAMESRV": cluster.namesrv, **env}
        return pane(("top", "--every", "500ms", *words), settings, tmp_path, columns=columns, rows=rows)

    return run


def test_from_brokers_to_messages_and_back(screen: Screen, live: Run) -> None:
    with screen(columns=80, rows=24) as shown:
        shown.see("broker-a", "broker-b", "LAST 5 MIN", "q quit")
        shown.press("Enter")
        shown.see("brokers > topics of broker-a", "Pay")
        shown.press("Enter")
        shown.see("groups of Pay", "LAG", "█")
        shown.press("Enter")
        shown.see("queues of Pay/G", "behind")
        shown.press("c")
        command = shlex.split(shown.see("copied: mqctl group lag").partition("copied: ")[2].split("\n")[0])
        assert shlex.split(shown.tmux("show-buffer")) == command  # by OSC 52, as a terminal over ssh gets it
        assert "behind" in live(*command[1:]).stdout
        shown.press("Enter")
        shown.see("messages of broker-a/Pay/0", "STORED", "k4")
        shown.press("Enter")
        shown.see("message of", "KEYS = k")
        shown.press("Escape")
        shown.see("STORED", without="message of")
        shown.press("Escape")
        shown.see("behind", without="messages of")
        shown.press("q")
        assert "queues of" not in shown.see("ended with 0")


def test_members_stacks_and_findings(screen: Screen, consume: Consume, cluster: EmbeddedCluster) -> None:
    consume("sleep")
    with screen(columns=200, rows=60) as shown:
        shown.see("broker-b")
        shown.press("g")
        shown.see("brokers > groups", "Pay")
        shown.press("m")
        shown.see("members of G", "127.0.0.1@one", "CLIENT ID")
        shown.press("Enter")
        shown.see("member of G/127.0.0.1@one", "concurrent")
        shown.press("Escape")
        shown.see("CLIENT ID", without="member of")
        shown.press("k")
        shown.see("stacks of G/127.0.0.1@one", "sleep")
        cluster.broker("broker-b").kill()
        shown.press("F")
        shown.see("> findings", "WHAT IS WRONG", "MQ")
        shown.press("Enter")
        shown.see("finding of MQ", "confidence:")


BARS = re.compile("[▁▂▃▄▅▆▇█]{6,}")


def recorded(cluster: EmbeddedCluster, place: Path) -> None:
    """Writes what a recorder saw in the last minutes: group G ever further behind, on a broker with ever more to do."""
    into = writer(place, name_server=";".join(sorted(cluster.namesrv.split(";"))), every_ms=20_000)
    now_ms = round(time.time() * 1000)
    for number in range(13):
        moment_ms = now_ms - 290_000 + number * 20_000
        state = broker(end=number * number * 10, runtime={"putTps": f"{number * 10} 0 0"})
        into.look(recorded_cluster(state, moment_ms=moment_ms), LookTime(wall_ms=moment_ms, steady_ms=moment_ms))


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60)])
def test_what_a_recorder_saw_before_is_drawn(
    screen: Screen, cluster: EmbeddedCluster, tmp_path: Path, columns: int, rows: int
) -> None:
    """Small: a recording that is named. Large: that of the recorder which runs for the same user."""
    place = tmp_path / "recording"
    recorded(cluster, place)
    with ExitStack() as stack:
        words: list[str] = ["--recording", str(place)]
        if columns == 200:
            stack.enter_context(Recorder(cluster, place, tmp_path))
            words = []
        shown = stack.enter_context(screen(*words, columns=columns, rows=rows))
        shown.wait(lambda text: drawn(row(text, "broker-a")) and not drawn(row(text, "broker-b")), "bars")
        shown.press("g")
        shown.see("brokers > groups", "Pay")
        shown.wait(lambda text: drawn(row(text, "G ")), "bars of the group")
        shown.press("Enter")
        shown.see("queues of Pay/G")
        shown.wait(lambda text: len(BARS.findall(text)) == 1, "bars of the one queue that was recorded")
        shown.press("Escape", "t")
        shown.wait(lambda text: "> topics" in text and drawn(row(text, "Pay")), "bars of the topic")


def drawn(line: str) -> bool:
    return BARS.search(line) is not None


def row(text: str, start: str) -> str:
    """Returns the first line that begins like this."""
    return next((line for line in text.splitlines() if line.startswith(start)), "")


def test_a_recording_of_another_cluster_or_without_the_screen_is_refused(live: Run, tmp_path: Path) -> None:
    look(writer(tmp_path / "other"), 0, broker())
    once = live("top", "--once", "--recording", tmp_path / "other")
    assert (once.exit_code, "--recording is for the screen" in once.stderr) == (64, True), once.stderr


def test_the_command_of_a_broker_s_topics_shows_that_broker_s(
    screen: Screen, live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    look(writer(tmp_path / "other"), 0, broker())
    with screen("--recording", str(tmp_path / "other"), columns=200, rows=60) as shown:
        shown.see("it holds the recording of ns:9876", "ended with 76")
    with screen(columns=80, rows=24) as shown:
        shown.see("broker-a")
        shown.press("Down", "Enter")
        seen = shown.see("brokers > topics of broker-b", "Pay")
        shown.press("c")
        command = shlex.split(shown.see("copied: mqctl top").partition("copied: ")[2].split(" --namesrv ")[0])
    assert command[1:] == ["top", "--once", "--broker", "broker-b"]
    frame = live(*command[1:], "--every", "100ms", "-o", "json").json
    (topic,) = frame["topics"]
    assert ([each["name"] for each in frame["brokers"]], topic["message_count"], topic["queue_count"]) == (
        ["broker-b"],
        5,
        2,
    )
    assert re.search(r"^Pay .* 5 +2 *$", seen, re.MULTILINE), seen


def test_filter_order_and_help_in_chinese(screen: Screen) -> None:
    with screen(columns=80, rows=24, MQCTL_LANG="zh") as shown:
        shown.see("近 5 分钟", "写入/秒", "q 退出")
        shown.press("/", "B", "-", "b")
        shown.see("过滤：B-b_", "共 2 行，显示 0 行")
        shown.press("BSpace", "BSpace", "BSpace", "r", "-", "b", "Enter")
        shown.see("过滤：r-b", "broker-b", without="broker-a")
        shown.press("Escape")
        shown.see("broker-a")
        shown.press("s", "S")
        shown.wait(lambda text: "BROKER↑" in text and text.index("broker-b") < text.index("broker-a"), "turned round")
        shown.press("k")
        shown.see("请先选择一个消费组")
        shown.press("?")
        shown.see("此界面只读")
        shown.press("q")
        shown.see("broker-b", without="此界面只读")


def test_a_terminal_without_the_library_has_the_plain_form(screen: Screen, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['textual'] = None\n")
    with screen(columns=80, rows=24, PYTHONPATH=f"{tmp_path}:{Path.cwd()}") as shown:
        shown.see("sorted by time", "p pause")
        shown.press("q")
        shown.see("pip install 'mqctl[screen]'", "ended with 0")
    with screen("--plain", columns=80, rows=24) as shown:
        shown.see("sorted by time", "p pause")


def test_no_page_can_change_anything() -> None:
    everything = About(broker="b", topic="t", group="g", queue_id=0, client_id="c", message_id="m", code="MQ101")
    for name, page in PAGES.items():
        words = page.words(page.obeyed(everything))
        path = next(tuple(words[:length]) for length in (2, 1) if tuple(words[:length]) in BY_PATH)
        assert (name, BY_PATH[path].impact) == (name, "reads")
