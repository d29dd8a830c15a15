"""Every command with `--store` on stores of which one file is no file, or one that cannot be read or is cut.

    python -m tests.commands.odd_files [--kind KIND]... [--place PLACE]... [--only COMMAND]... [--spark]

crosses all of both. What is said of each run: it ends with a documented code, without a signal and a traceback, within
a time; and where it says anything else than of the sound store, it names the file, or the queue that it belongs to.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mqctl.errors import ExitCode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.requests_client import EndTransaction, UpdateConsumerOffset
from tests.conftest import Outcome, environment_of
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.forked_commands import ForkedCommands
from tests.reliability.live_stores import commands
from tests.store.failing_disk import failing

MOST_S = 20.0
MESSAGES, QUEUES, WAITING = 1_600, 4, 20
_SETTINGS = (
    "mappedFileSizeCommitLog=65536", "mappedFileSizeConsumeQueue=4000", "flushConsumerOffsetInterval=200",
    "transactionTimeOut=6000000", "timerWheelEnable=true",
)  # fmt: skip
_HOUR_MS, _LONG_AGO_S = 3_600_000, 1_700_000_000
_CHANGING = re.compile(
    r'"(disk_used_share|free_bytes|disk_bytes|used_share|full_in_ms|full_at_ms|mapped_file_count)": ?[^,}\]]+'
)

Faults = list[tuple[Any, ...]]
PLACES = {
    "log": "commitlog/00000000000000131072",
    "last log": "commitlog/00000000000000458752",
    "queue": "consumequeue/Orders/2/00000000000000000000",
    "last of a queue": "consumequeue/Orders/2/00000000000000004000",
    "schedule queue": "consumequeue/SCHEDULE_TOPIC_XXXX/9/00000000000000000000",
    "half queue": "consumequeue/RMQ_SYS_TRANS_HALF_TOPIC/0/00000000000000000000",
    "op queue": "consumequeue/RMQ_SYS_TRANS_OP_HALF_TOPIC/0/00000000000000000000",
    "timer queue": "consumequeue/rmq_sys_wheel_timer/0/00000000000000000000",
    "index": "index/*",
    "timer log": "timerlog/00000000000000000000",
    "timer wheel": "timerwheel",
    "timer check": "config/timercheck",
    "checkpoint": "checkpoint",
    "topics": "config/topics.json",
    "offsets": "config/consumerOffset.json",
    "groups": "config/subscriptionGroup.json",
    "delay offsets": "config/delayOffset.json",
}


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _socket(file: Path) -> None:
    file.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{os.open(file.parent, os.O_RDONLY)}/{file.name}")


def _nowhere(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def _terabyte(file: Path) -> None:
    os.truncate(file, 1 << 40)


def _page(file: Path) -> Faults:
    return [(str(file), 0x1800 if file.stat().st_size > 0x2000 else 0, 0x1801)]


KINDS: dict[str, Callable[[Path], Faults | None]] = {
    "link to itself": _link,
    "pipe": _pipe,
    "directory": _directory,
    "socket": _socket,
    "link to nowhere": _nowhere,
    "EIO": lambda file: [(str(file), 0, 1 << 30)],
    "EIO in a page": _page,
    "terabyte": _terabyte,
    "cut while read": lambda file: [(str(file), "cut")],
    "gone while read": lambda file: [(str(file), "gone")],
}
"""What a file becomes, or what its disk refuses of it."""


def seeded(root: Path) -> Path:
    """Has a broker of 5.x make a store with all that commands look at: several log files, and much that waits."""
    words = [word for item in _SETTINGS for word in ("--set", item)]
    with process("--as-version", "5.3.3", "--brokers", "broker-a", "--data-dir", str(root), *words) as (_, ready):
        store = Path(ready["brokers"][0]["store"])
        with Peer(ready["brokers"][0]["address"]) as peer:
            for number in range(MESSAGES):
                keys = {"KEYS": f"k{number}", "TAGS": f"T{number % 3}", "UNIQ_KEY": f"{number:032X}"}
                properties = {**keys, "__SHARDINGKEY": str(number % 7)}
                sent = send("Orders", queue_id=number % QUEUES, properties=properties, born_ms=_now_ms())
                assert peer.call(sent, b"x" * 60).code == 0
            heartbeat(peer, "reader@1", group="Reader", subscriptions={"Orders": "*"})
            for queue_id in range(QUEUES):
                commit = UpdateConsumerOffset(
                    consumer_group="Reader", topic="Orders", queue_id=queue_id, commit_offset=100
                )
                peer.call(commit)
            for number in range(WAITING):
                _what_waits(peer, number)
        _until(lambda: (store / "config/consumerOffset.json").exists() and any(store.glob("timerlog/*")))
        _until(lambda: b"Reader" in (store / "config/consumerOffset.json").read_bytes())
    return store


def _what_waits(peer: Peer, number: int) -> None:
    """Sends one message for later by level, one by time, and one in a transaction that half of the time ends."""
    peer.call(send("Later", properties={"DELAY": "10", "UNIQ_KEY": f"L{number}"}, born_ms=_now_ms()), b"later")
    timed = {"TIMER_DELAY_MS": str(_HOUR_MS), "UNIQ_KEY": f"T{number}"}
    peer.call(send("Timed", properties=timed, born_ms=_now_ms()), b"timed")
    properties = {"UNIQ_KEY": f"H{number}", "TRAN_MSG": "true", "PGROUP": "GP"}
    half = peer.call(send("Paid", properties=properties, sys_flag=4, born_ms=_now_ms()), b"paid")
    if number % 2:
        end = EndTransaction(
            producer_group="GP",
            tran_state_table_offset=int(half.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(half.ext("msgId") or "").physical_offset,
            commit_or_rollback=8,
            msg_id=f"H{number}",
        )
        peer.call(end)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end


@dataclass
class OddFiles:
    """Runs commands on copies of one store, each with one odd file.

    Attributes:
        problems: what did not hold.
    """

    base: Path
    home: Path
    forked: ForkedCommands
    on_spark: bool = False
    problems: list[str] = field(default_factory=list)
    runs: int = 0
    _sound: dict[str, Outcome] = field(default_factory=dict)

    def lines(self, only: Sequence[str] = ()) -> dict[str, str]:
        """Returns the commands with their words."""
        chosen = {name: words for name, words in commands().items() if not only or name in only}
        if not self.on_spark:
            return chosen
        return {name: words.replace("--no-spark", "") for name, words in chosen.items() if "--no-spark" in words}

    @property
    def _store(self) -> Path:
        return self.home / "odd"

    def _renew(self) -> None:
        shutil.rmtree(self._store, ignore_errors=True)
        shutil.copytree(self.base, self._store, copy_function=_copy)

    def _date(self) -> None:
        """Gives everything one time: a store is judged as of its newest one."""
        for path in self._store.rglob("*"):
            os.utime(path, (_LONG_AGO_S, _LONG_AGO_S), follow_symlinks=False)

    def run(self, name: str, words: str, faults: Faults | None = None) -> Outcome:
        """Runs one command."""
        words = words.format(store=self._store, place=self.home, namesrv="127.0.0.1:1")
        environment = environment_of(self.home) | (failing(faults) if faults else {})
        line = [*name.split(), "--store", str(self._store), *words.split()]
        self.runs += 1
        return Outcome(*self.forked.run(line, environment))

    def sound(self, name: str, words: str) -> Outcome:
        """Returns what a command says of the store as it was made."""
        if name not in self._sound:
            self._renew()
            self._date()
            self._sound[name] = self.run(name, words)
        return self._sound[name]

    def cross(self, kind: str, place: str, only: Sequence[str] = ()) -> dict[str, Outcome]:
        """Runs all commands on a store with one odd file; what does not hold is noted."""
        lines = self.lines(only)
        for line in lines.items():
            self.sound(*line)
        self._renew()
        (file,) = self._store.glob(PLACES[place])
        faults = KINDS[kind](file)
        self._date()
        ran = {}
        for name, words in lines.items():
            if kind.endswith("while read"):
                self._renew()
                self._date()
            begun = time.monotonic()
            outcome = ran[name] = self.run(name, words, faults)
            seconds = time.monotonic() - begun
            problem = self._problem(name, outcome, file.relative_to(self._store), kind) or (
                f"took {seconds:.0f} s" if seconds > MOST_S and not self.on_spark else ""
            )
            if problem and (name, place) not in UNNAMED:
                said = f"{outcome.stdout[:300]}\n{outcome.stderr[-500:]}"
                self.problems.append(f"{name}, {place}, {kind}: exit {outcome.exit_code}: {problem}\n{said}")
        return ran

    def _problem(self, name: str, outcome: Outcome, file: Path, kind: str) -> str:
        said = outcome.stdout + outcome.stderr
        if outcome.exit_code not in set(ExitCode) - {ExitCode.BUG}:
            return "no documented end"
        if "Traceback" in said or "has a bug" in said:
            return "a traceback"
        sound = self._sound[name]
        if kind == "gone while read":  # as retention does it: what was mapped by then is read
            return ""
        if (outcome.exit_code, _steady(outcome.stdout)) == (sound.exit_code, _steady(sound.stdout)):
            return ""
        if name == "snapshot save" and outcome.exit_code == 0:  # who looks at it is told
            said = self.forked.run(
                ["doctor", "--snapshot", str(self.home / "store.snap"), "-o", "json"], environment_of(self.home)
            )[1]
        return "" if _names(said, file) else "another answer, and the file is not named"


UNNAMED: dict[tuple[str, str], str] = {
    (name, "topics"): "only the broker's name is missing, which is not told then"
    for name in commands()
    if name.startswith("report ")
} | {("ha compare", place): "it names the table" for place in ("topics", "offsets", "groups", "delay offsets")}
"""Answers that may change without a word about the file, and why."""


def _copy(source: str, target: str) -> None:
    """Copies a file with its holes: what was never written reads as zeros."""
    with Path(source).open("rb") as reading, Path(target).open("wb") as writing:
        size = os.fstat(reading.fileno()).st_size
        writing.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(reading.fileno(), at, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(reading.fileno(), at, os.SEEK_HOLE)
            os.pwrite(writing.fileno(), os.pread(reading.fileno(), end - at, at), at)
            at = end


def _steady(text: str) -> str:
    return _CHANGING.sub("", text)


def _names(said: str, file: Path) -> bool:
    if str(file) in said or f"of {file.name}" in said or f'"name": "{file.name}"' in said:
        return True
    if file.parts[0] != "consumequeue":
        return False
    topic, queue_id = file.parts[1:3]
    return f"{topic}/{queue_id}" in said or bool(
        re.search(rf'"topic": ?"{re.escape(topic)}",\s*"queue_id": ?{queue_id}\b', said)
    )


@contextmanager
def opened(place: Path, *, on_spark: bool = False) -> Iterator[OddFiles]:
    """Makes the store, and what runs commands on copies of it."""
    home = place / "home"
    home.mkdir()
    forked = ForkedCommands(home, environment_of(home))
    try:
        yield OddFiles(seeded(place / "made"), home, forked, on_spark)
    finally:
        forked.close()


def main(words: list[str]) -> int:
    """Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.commands.odd_files", description=__doc__)
    parser.add_argument("--kind", action="append", choices=KINDS, help="repeatable; all if left out")
    parser.add_argument("--place", action="append", choices=PLACES, help="repeatable; all if left out")
    parser.add_argument("--only", metavar="COMMAND", action="append", default=[], help="as 'group lag'; repeatable")
    parser.add_argument("--spark", action="store_true", help="run the reports on Spark instead")
    options = parser.parse_args(words)
    with TemporaryDirectory(prefix="odd-files-") as place, opened(Path(place), on_spark=options.spark) as odd:
        for place_name in options.place or PLACES:
            for kind in options.kind or KINDS:
                before = len(odd.problems)
                odd.cross(kind, place_name, options.only)
                sys.stderr.write(f"{place_name}, {kind}: {odd.runs} runs, {len(odd.problems)} problems\n")
                sys.stderr.writelines(f"{problem}\n" for problem in odd.problems[before:])
        return 1 if odd.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
