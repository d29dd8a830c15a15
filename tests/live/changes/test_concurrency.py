"""Two people at once: one of two real processes gets the lock, the other is told who holds it."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import msgspec
import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.errors import RefusedError
from mqctl.local.supervisor import LocalClusterOptions, Supervisor
from mqctl.store.exclusive_lock import Holder, command_text, exclusive_lock, forget_dead, lock_name, who
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY, Outcome
from tests.live.changing import reached
from tests.live.conftest import Run

UPDATE_CONSUMER_OFFSET, UPDATE_TOPIC = 15, 17
CLUSTER = "DefaultCluster"
DONE = 60
Background = Callable[[Sequence[object]], "subprocess.Popen[str]"]
Hold = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def background(cluster: EmbeddedCluster, tmp_path: Path) -> Iterator[Background]:
    """Starts mqctl in the background, with the directories of `live`."""
    places = {name: str(tmp_path / name.lower()) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}
    with ExitStack() as stack:

        def start(words: Sequence[object]) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "mqctl", *map(str, words)],
                    cwd=REPOSITORY,
                    env={**os.environ, **places, "MQCTL_NAMESRV": cluster.namesrv},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Starts a process that holds a lock until it is killed, by the code that commands hold it with."""
    with ExitStack() as stack:

        def start(lock: Path) -> subprocess.Popen[str]:
            probe = (
                "import sys, pathlib; from mqctl.store.exclusive_lock import exclusive_lock\n"
                "with exclusive_lock(pathlib.Path(sys.argv[1]), 'hold it'):\n"
                "    print('held', flush=True); sys.stdin.read()\n"
            )
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", probe, str(lock), "mqctl", "playing", "with\x1b[31m fire"],
                    cwd=REPOSITORY,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            return process

        yield start


def test_one_group_is_changed_by_one_command_at_a_time(
    live: Run, background: Background, cluster: EmbeddedCluster
) -> None:
    cluster.record_requests()
    cluster.fault(UPDATE_CONSUMER_OFFSET, Drop())
    reset = ("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest", "--execute", "--confirm", "G")
    first = background((*reset, "--timeout", "60s"))
    reached(cluster, UPDATE_CONSUMER_OFFSET)
    first.send_signal(signal.SIGSTOP)  # else it gives its broker up after three seconds, and the lock with it
    for words in (reset, ("group", "update", "-g", "G", "--retry-max", "3", "--execute", "--confirm", "G")):
        second = live(*words)
        assert second.exit_code == 76, second
        errors = second.stderr
        assert "change group G" in errors
        assert "next: wait for it, then look at mqctl history" in errors
        assert f"{getpass.getuser()}@" in errors
        assert f"process {first.pid}, since 20" in errors
        assert "mqctl offset reset -g G -t Pay --to-earliest --execute" in errors
    others = live("group", "create", "-g", "H", "--execute")
    assert others.exit_code == 0, "another group is free"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    cluster.clear_faults()
    again = live(*reset)
    assert again.exit_code == 0, "the lock of a killed process is free"
    assert f"took over the lock to change group G of {CLUSTER}: who held it ended at its work: " in again.stderr
    assert f"process {first.pid}, since 20" in again.stderr


def test_one_of_two_undos_takes_a_change_back(live: Run, cluster: EmbeddedCluster) -> None:
    """Both write the same journal; the change is taken back once, and every record stays readable."""
    made = live("topic", "update", "-t", "Pay", "--perm", "R", "--execute", "--confirm", "Pay")
    assert made.exit_code == 0, made
    change = next(record["id"] for record in live("history", "-o", "json").json["changes"])
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda _: live("undo", change, "--execute", "--confirm", "Pay"), range(2)))
    assert 0 in {end.exit_code for end in ends}, ends
    assert all(end.exit_code in (0, 65, 76) for end in ends), ends
    history = live("history", "-o", "json")
    assert history.exit_code == 0
    assert len([record for record in history.json["changes"] if record["kind"] == "undo"]) == 1


def test_who_undoes_what_is_being_undone_is_told_by_whom(
    live: Run, background: Background, cluster: EmbeddedCluster
) -> None:
    """One change, one record: the second undo is refused, the journal can be read, and other changes go into it."""
    made = live("topic", "update", "-t", "Pay", "--perm", "R", "--execute", "--confirm", "Pay", "-o", "json")
    undo = ("undo", made.json["id"], "--execute", "--confirm", "Pay")
    cluster.fault(UPDATE_TOPIC, Drop())
    cluster.record_requests()
    first = background(undo)
    reached(cluster, UPDATE_TOPIC)
    first.send_signal(signal.SIGSTOP)
    cluster.clear_faults()
    second = live(*undo)
    assert (second.exit_code, f"process {first.pid}, since 20" in second.stderr) == (76, True), second.stderr
    assert f"mqctl undo {made.json['id']}" in second.stderr
    assert "next: wait for it, then look at mqctl history" in second.stderr
    assert live("group", "create", "-g", "H", "--execute").exit_code == 0
    states = {change["kind"]: change["state"] for change in live("history", "-o", "json").json["changes"]}
    assert states == {"topic-update": "confirmed", "undo": "interrupted", "group-create": "confirmed"}
    first.send_signal(signal.SIGKILL)
    first.communicate()
    third = live(*undo)
    assert (third.exit_code, f"took over the lock to change topic Pay of {CLUSTER}" in third.stderr) == (0, True)
    assert f"process {first.pid}, since 20" in third.stderr
    assert "took over" not in live(*undo).stderr


@pytest.mark.long
def test_a_profile_file_is_changed_by_one_command_at_a_time(mqctl: Run, hold: Hold, tmp_path: Path) -> None:
    """The second waits for ten seconds, whatever release there is."""
    file = tmp_path / "mqctl_config_dir" / "profiles.yaml"

    def live(*words: str) -> Outcome:
        return mqctl(*words, env={"MQCTL_CONFIG_DIR": str(file.parent)})

    file.parent.mkdir()
    file.write_text("profiles: {old: {namesrv: '127.0.0.1:3'}}")
    holder = hold(file.parent / ".profiles.yaml.lock")
    refused = live("profile", "add", "q", "-n", "127.0.0.1:2")
    assert refused.exit_code == 76, refused
    waited, message, advice = refused.stderr.splitlines()
    for line in (waited, message):
        assert f"change {file}: another mqctl is at it: {getpass.getuser()}@" in line
        assert f"process {holder.pid}, since 20" in line
        assert line.endswith("mqctl playing 'with\\x1b[31m fire'")
    assert (waited[:22], advice) == ("mqctl: waiting to chan", "  next: wait for it, then look at mqctl profile show")
    holder.communicate(timeout=DONE)
    assert live("profile", "add", "q", "-n", "127.0.0.1:2").exit_code == 0
    assert {row["name"] for row in live("profile", "show", "-o", "json").json["profiles"]} == {"old", "q"}


def test_who_waits_for_a_local_cluster_is_told_for_whom_at_once(background: Background, tmp_path: Path) -> None:
    """The first command has the lock, and is stopped on its way."""
    up = background(("local", "up", "--memory"))
    wait_until((tmp_path / "mqctl_state_dir" / "local" / "default.lock.holder").exists, "the lock is held")
    up.send_signal(signal.SIGSTOP)
    down = background(("local", "down"))
    assert down.stderr is not None
    line = down.stderr.readline()
    up.send_signal(signal.SIGCONT)
    assert (up.wait(DONE), down.wait(DONE)) == (0, 0)
    assert "waiting to work on the local cluster default: another mqctl is at it: " in line
    assert f"process {up.pid}, since 20" in line
    assert line.endswith("mqctl local up --memory\n")
    assert "is down" in down.stderr.read()


def test_a_local_cluster_is_worked_on_by_one_command_at_a_time(hold: Hold, tmp_path: Path) -> None:
    holder = hold(tmp_path / "default.lock")
    options = LocalClusterOptions(memory=True, data_dir=tmp_path / "data")
    for work in (
        partial(Supervisor(tmp_path, wait_s=0.1).up, "default", options),
        partial(Supervisor(tmp_path, wait_s=0.1).down, "default"),
    ):
        with pytest.raises(RefusedError, match="work on the local cluster default") as caught:
            work()
        assert f"process {holder.pid}" in caught.value.reason
        assert "mqctl playing 'with\\x1b[31m fire'" in caught.value.reason, "nothing that terminals obey"


def test_one_of_two_starts_of_a_local_cluster_wins(live: Run) -> None:
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda _: live("local", "up", "--memory"), range(2)))
    try:
        assert sorted(end.exit_code for end in ends) == [0, 76], ends
        loser = next(end for end in ends if end.exit_code == 76)
        assert "runs already" in loser.stderr
    finally:
        assert live("local", "down").exit_code == 0


def test_many_writers_of_one_profile_file_lose_nothing(live: Run) -> None:
    def add_and_use(number: int) -> int:
        return live("profile", "add", f"p{number}", "-n", "127.0.0.1:1").exit_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(add_and_use, range(12))) == {0}
    assert len(live("profile", "show", "-o", "json").json["profiles"]) == 12


def test_a_number_that_another_process_got_since_is_not_blamed(tmp_path: Path) -> None:
    """The note outlives a killed holder; its process number may be somebody else's by then."""
    lock = tmp_path / "x.lock"
    with exclusive_lock(lock, "do"):
        note = lock.with_name("x.lock.holder")
        number = note.read_text()
        note.write_text(number.replace('"since_s":', '"since_s":1.5,"was":'))
        with pytest.raises(RefusedError) as caught, exclusive_lock(lock, "do it too"):
            pass
    assert "since 1970" in caught.value.reason
    assert "pytest" not in caught.value.reason
    assert not note.exists()


def test_lock_names_fit_into_a_directory() -> None:
    names = {lock_name(f"group {'G' * 250}{end} of {'C' * 250}") for end in "ab"}
    assert len(names) == 2
    assert all(len(name) < 200 and "/" not in name for name in (*names, lock_name("group ../../x of y")))


def test_a_command_is_told_as_it_was_typed() -> None:
    assert command_text(["/usr/bin/python3", "-m", "mqctl", "doctor"]) == "mqctl doctor"
    assert command_text(["/v/bin/python", "/v/bin/mqctl", "offset", "-g", "a b"]) == "mqctl offset -g 'a b'"
    assert len(command_text(["mqctl", "x" * 1000])) < 200


def test_notes_of_holders_that_are_gone_go(tmp_path: Path) -> None:
    """Of a lock that nobody takes again; a kill or a power failure may have cut one short."""
    now_s = time.time()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    notes = {
        "dead": Holder(who=who(), pid=ended.pid, since_s=now_s),
        "number-of-another": Holder(who=who(), pid=os.getpid(), since_s=now_s - 86_400),
        "elsewhere": Holder(who="root@elsewhere", pid=ended.pid, since_s=now_s),
        "mine": Holder(who=who(), pid=os.getpid(), since_s=now_s),
    }
    for name, holder in notes.items():
        (tmp_path / name).write_bytes(msgspec.json.encode(holder))
    for name, age_s in (("cut-short", 7_200), ("being-written", 0)):
        (tmp_path / name).write_bytes(b'{"who":')
        os.utime(tmp_path / name, (now_s - age_s, now_s - age_s))
    forget_dead(tmp_path.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", "mine", "being-written"}
