"""What stands in the way of a dump: real processes that may not be looked into, and the remedy for each cause."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.capture.access import Facts, attach_obstacle, existing, obstacle, ptrace_obstacle
from mqctl.errors import NotFoundError, PermissionDeniedError, RefusedError
from tests.conftest import REPOSITORY

Start = Callable[[Sequence[str]], "subprocess.Popen[str]"]
_NOBODY = 65534
_SLEEPS = (sys.executable, "-c", "print('ready', flush=True); import sys; sys.stdin.read()")
_ROOT_ONLY = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give its rights up, with setpriv"
)
BASE = Facts(
    pid=7,
    user="app",
    own_user="ops",
    is_root=False,
    may_attach=False,
    ptrace_scope=None,
    has_capability=False,
    inside_container=False,
    container=None,
)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process, and ends it after the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(words: Sequence[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(list(words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def asked_with(rights: Sequence[str], pid: int, first: str = "") -> tuple[str, str, str]:
    """Asks for what is in the way of a dump in a process with fewer rights; returns kind, reason and remedy.

    `first` is what that process does when it has imported all it needs.
    """
    code = (
        f"import os, sys; from mqctl.capture.access import existing, obstacle\n{first}\n"
        f"found = obstacle(existing({pid}))\n"
        "print('\\t'.join((type(found).__name__, found.reason, found.remedy) if found else ('None', '', '')))"
    )
    words = [*(("setpriv", *rights, "--") if rights else ()), sys.executable, "-c", code]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    kind, reason, remedy = done.stdout.rstrip("\n").split("\t")
    return kind, reason, remedy


def test_nothing_is_in_the_way_of_ones_own_process(start: Start) -> None:
    assert obstacle(existing(start(_SLEEPS).pid)) is None


@_ROOT_ONLY
def test_without_the_capability_it_is_named_before_anything_happens(start: Start) -> None:
    process = start(_SLEEPS)
    kind, reason, remedy = asked_with(("--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace"), process.pid)
    assert (kind, "SYS_PTRACE" in reason, "--client ID -g GROUP" in remedy) == ("PermissionDeniedError", True, True)
    assert asked_with((), process.pid) == ("None", "", "")


@_ROOT_ONLY
def test_a_foreign_users_process_needs_sudo(start: Start) -> None:
    process = start(_SLEEPS)
    become = f"os.setgroups([]); os.setgid({_NOBODY}); os.setuid({_NOBODY})"
    kind, reason, remedy = asked_with((), process.pid, become)
    assert (kind, "belongs to root" in reason) == ("PermissionDeniedError", True)
    assert f"sudo mqctl stacks dump --pid {process.pid}" in remedy


def test_a_process_that_has_ended_is_not_found(start: Start) -> None:
    process = start(_SLEEPS)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and not collected yet
    with pytest.raises(NotFoundError, match="has ended; its parent"):
        existing(process.pid)
    process.communicate()
    with pytest.raises(NotFoundError, match=f"no process {process.pid}"):
        existing(process.pid)


def test_a_process_of_neither_kind_is_refused(start: Start) -> None:
    why_not = obstacle(existing(start(("sh", "-c", "echo ready; read line")).pid))
    assert isinstance(why_not, RefusedError)
    assert "does not seem to run Python or" in why_not.reason


def test_what_is_only_named_java_is_not_sent_the_signal_that_would_end_it(start: Start, tmp_path: Path) -> None:
    named = tmp_path / "java"
    shutil.copy(Path(shutil.which("sh") or "/bin/sh").resolve(), named)
    process = start((str(named), "-c", "echo ready; read line"))
    why_not = obstacle(existing(process.pid))
    assert isinstance(why_not, RefusedError)
    assert "no Java virtual machine" in why_not.reason
    assert process.poll() is None


@pytest.mark.parametrize(
    ("facts", "reason", "remedy"),
    [
        (replace(BASE), "belongs to app", "sudo -u app mqctl stacks dump --pid 7"),
        (replace(BASE, ptrace_scope=1), "belongs to app", "sudo mqctl stacks dump --pid 7"),
        (replace(BASE, container="f" * 64), "belongs to app", "sudo mqctl stacks dump --pid 7"),
        (replace(BASE, user="ops", ptrace_scope=1), "ptrace_scope is 1", "sysctl kernel.yama.ptrace_scope=0"),
        (replace(BASE, user="ops", ptrace_scope=2), "ptrace_scope is 2", "sudo mqctl stacks dump --pid 7"),
        (replace(BASE, ptrace_scope=3), "until the next boot", "--client ID -g GROUP"),
        (replace(BASE, user="ops"), "capabilities that this process lacks", "sudo mqctl"),
        (replace(BASE, is_root=True, own_user="root"), "without the capability CAP_SYS_PTRACE", "capsh --print"),
        (replace(BASE, is_root=True, inside_container=True), "container lacks", "--cap-add SYS_PTRACE"),
    ],
)
def test_each_cause_has_its_remedy(facts: Facts, reason: str, remedy: str) -> None:
    why_not = ptrace_obstacle(facts)
    assert isinstance(why_not, PermissionDeniedError)
    assert reason in why_not.reason
    assert remedy in why_not.remedy
    assert ptrace_obstacle(replace(facts, may_attach=True)) is None


def test_a_jvm_speaks_to_its_own_user_and_to_root() -> None:
    why_not = attach_obstacle(replace(BASE, may_attach=None))
    assert why_not is not None
    assert "sudo -u app jcmd 7 Thread.print -l" in why_not.remedy
    inside = attach_obstacle(replace(BASE, container="0123456789abcdef" * 4))
    assert inside is not None
    assert "docker exec 0123456789ab jcmd 1" in inside.remedy
    for allowed in (replace(BASE, user="ops"), replace(BASE, is_root=True)):
        assert attach_obstacle(allowed) is None
