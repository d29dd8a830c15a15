"""Where keys come from, looked at by somebody who gets it wrong; and who else gets to see them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from tests.live.conftest import Run
from tests.live.connection.ops_account import KEYS, LIST, SECRET, asked, guarded, key_file_of
from tests.live.playbook.test_playbook_run import write
from tests.requires import need_extra
from tests.spark.test_java import fake_java

__all__ = ["asked", "guarded"]
ASK = ("broker", "config", "-o", "json")


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[bytes | str], Path]:
    """Writes a key file that its owner alone may read."""

    return partial(key_file_of, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        f"accessKey: ops-account\r\nsecretKey: {SECRET}\r\n",
        f"\ufeffaccessKey: ops-account\nsecretKey: {SECRET}",
        f"# who\naccessKey: ops-account # ours\nsecretKey: {SECRET}  # changed in May\n",
        f"region: x\naccessKey: 'ops-account' # ours\nwhat: [1]\nsecretKey: \"{SECRET}\"\n",
        f"accessKey=ops-account\nsecretKey = {SECRET}\n",
        f"#accessKey: before\n#secretKey: before\naccessKey: ops-account\nsecretKey: {SECRET}\n",
    ],
    ids=["crlf", "bom", "comments", "quotes", "equals", "switched-off"],
)
def test_a_key_file_may_be_written_as_people_write_it(
    asked: Run, kept: Callable[[bytes | str], Path], text: str
) -> None:
    outcome = asked(*ASK, "--acl-file", kept(text))
    assert outcome.exit_code == 0, outcome


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it lacks accessKey and secretKey"),
        (f"secretKey: {SECRET}\n", "it lacks accessKey"),
        ("accessKey: ops-account\nsecretKey:   # none\n", "it lacks secretKey"),
        (f"accessKey: ops-account\nsecretKey: {SECRET}\n".encode("utf-16"), "it is not UTF-8 text"),
        (f"accessKey: ops-account\nsecretKey: {SECRET}".encode() + b"\xff", "it is not UTF-8 text"),
        (f"accessKey: a\nsecretKey: b\naccessKey: ops-account\nsecretKey: {SECRET}\n", "keys of several accounts"),
        (LIST, "it lacks accessKey"),
    ],
)
def test_a_key_file_that_cannot_be_used_says_why_and_shows_nothing_of_it(
    asked: Run, kept: Callable[[bytes | str], Path], content: bytes | str, reason: str
) -> None:
    outcome = asked(*ASK, "--acl-file", kept(content))
    assert (outcome.exit_code, reason in outcome.stderr, "remedy" in outcome.stderr) == (78, True, True), outcome


def test_a_link_leads_to_a_file_and_its_mode(asked: Run, kept: Callable[[bytes | str], Path], tmp_path: Path) -> None:
    file = kept(f"accessKey: ops-account\nsecretKey: {SECRET}\n")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert asked(*ASK, "--acl-file", link).exit_code == 0
    file.chmod(0o644)
    assert asked(*ASK, "--acl-file", link).exit_code == 77
    file.unlink()
    dangling = asked(*ASK, "--acl-file", link)
    assert (dangling.exit_code, "No such file" in dangling.stderr, "Errno" in dangling.stderr) == (78, True, False)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"MQCTL_ACCESS_KEY": "ops-account"}, "MQCTL_ACCESS_KEY is set, and MQCTL_SECRET_KEY is not"),
        ({"MQCTL_SECRET_KEY": SECRET}, "MQCTL_SECRET_KEY is set, and MQCTL_ACCESS_KEY is not"),
        ({**KEYS, "MQCTL_SECRET_KEY": ""}, "MQCTL_ACCESS_KEY is set, and MQCTL_SECRET_KEY is not"),
        ({**KEYS, "MQCTL_SECRET_KEY": f"{SECRET}\n"}, "characters that no key has"),
        ({**KEYS, "MQCTL_SECRET_KEY": f"{SECRET}\udcff"}, "characters that no key has"),
    ],
)
def test_half_of_the_keys_is_not_taken_for_none(asked: Run, env: dict[str, str], said: str) -> None:
    """A request that goes out unsigned by mistake would be refused with words about the account."""
    outcome = asked(*ASK, env=env)
    assert (outcome.exit_code, said in outcome.stderr) == (78, True), outcome


@pytest.mark.parametrize("word", ["--secret", "--secret-key", "--password", "--access-key", "--security-token"])
def test_a_secret_as_an_option_is_refused_with_the_reason(asked: Run, word: str) -> None:
    for words in ((word, SECRET), (f"{word}={SECRET}",)):
        outcome = asked("topic", "list", *words)
        assert (outcome.exit_code, "no option takes a secret" in outcome.stderr) == (64, True), outcome
        assert "--acl-file" in outcome.stderr


CONFIG = """
- id: config
  about: {en: Which settings?, zh: 哪些配置？}
  run: broker config
  exits:
    0: {en: "They are known.", zh: "已知。"}
"""

# What processes that commands start get to see


def noting(program: Path, notes: Path) -> None:
    """Makes a program that writes down its arguments and its environment, and fails."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$@" >> {notes}\nenv >> {notes}\nexit 1\n')
    program.chmod(0o755)


def test_programs_that_dump_stacks_do_not_see_keys(asked: Run, tmp_path: Path) -> None:
    """What looks like a Java process (its name, a libjvm.so, a handler of SIGQUIT), with a jcmd beside it."""
    notes = tmp_path / "notes"
    java, libjvm = tmp_path / "jdk" / "bin" / "java", tmp_path / "libjvm.so"
    noting(java.with_name("jcmd"), notes)
    shutil.copy("/bin/sh", java)
    library = re.search(r"/\S*/libc[.-]\S*", Path("/proc/self/maps").read_text())
    assert library is not None
    shutil.copy(library[0], libjvm)
    # A shell cannot trap what was ignored when it began, as QUIT is in jobs in the background.
    words = ["env", "--default-signal=QUIT", str(java), "-c", "trap : QUIT; echo ready; read line"]
    env = {**os.environ, "LD_PRELOAD": str(libjvm)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        process.stdout.readline()
        outcome = asked("stacks", "dump", "--pid", process.pid, env=KEYS)
        process.kill()
    assert notes.exists(), outcome
    assert "Thread.print" in notes.read_text()
    assert SECRET not in notes.read_text()


@pytest.mark.spark
def test_spark_does_not_see_keys(asked: Run, golden_store: Callable[[str], Path], tmp_path: Path) -> None:
    need_extra("spark", "pyspark")
    notes = tmp_path / "notes"
    home = fake_java(tmp_path / "jdk", "17.0.9", release=True)
    noting(home / "bin" / "java", notes)
    asked("report", "backlog", "--store", golden_store("store-clean"), env={**KEYS, "JAVA_HOME": str(home)})
    assert "SparkSubmit" in notes.read_text()
    assert SECRET not in notes.read_text()


def test_the_steps_of_a_playbook_sign_as_the_command_does(asked: Run, guarded: EmbeddedCluster, tmp_path: Path) -> None:
    guarded.record_requests()
    run = asked("playbook", "run", write(tmp_path, CONFIG), "-p", "group=G", env=KEYS)
    assert run.exit_code == 0, run
    of_brokers = [request for request in guarded.requests() if not request.server.startswith("namesrv")]
    assert of_brokers and all("Signature" in request.ext_fields for request in of_brokers)


def test_keys_named_by_a_profile_are_kept_from_others_as_well(asked: Run, guarded: EmbeddedCluster) -> None:
    words = ("--access-key-env", "OPS_KEY", "--secret-key-env", "OPS_SECRET")
    assert asked("profile", "add", "p", "-n", guarded.namesrv, *words).exit_code == 0
    bare = {"MQCTL_NAMESRV": "", "OPS_KEY": "ops-account", "OPS_SECRET": SECRET}
    assert asked(*ASK, "--profile", "p", env=bare).exit_code == 0
    half = asked(*ASK, "--profile", "p", env={**bare, "OPS_SECRET": ""})
    assert (half.exit_code, "OPS_SECRET is not" in half.stderr) == (78, True), half
    none = asked(*ASK, "--profile", "p", env={"MQCTL_NAMESRV": ""})
    assert (none.exit_code, "they are not set" in none.stderr) == (78, True), none
