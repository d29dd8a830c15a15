"""What stands in the way of a stack dump, found out before anything touches the process.

Linux lets a process be looked into when the reader is of the same user and has all its capabilities, or has
CAP_SYS_PTRACE; Yama's `kernel.yama.ptrace_scope` narrows that to descendants (1), administrators (2) or nobody (3).
Opening `/proc/PID/mem` is put to the same test as attaching to the process and has no effect on it. A JVM is asked
through a socket that only its own user and root may open, after a SIGQUIT: one that does not catch that signal would
end by it.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from mqctl.capture.processes import PROC, LocalProcess, Runtime, loaded, runtime_of
from mqctl.errors import MqctlError, NotFoundError, PermissionDeniedError, RefusedError
from mqctl.model.command_line import command_line
from mqctl.model.numbers import decimal, hexadecimal
from mqctl.text import composed, sentence

_CAP_SYS_PTRACE = 1 << 19
_SIGQUIT = 1 << 2
_YAMA = "sys/kernel/yama/ptrace_scope"
_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")
_CONTAINER_GROUPS = re.compile(r"docker|kubepods|containerd|libpod|lxc")
_FILE_REMEDY = "mqctl stacks dump --file DUMP"
_BROKER_REMEDY = sentence(
    "capture-stacks-dump-client-id", "mqctl stacks dump --client ID -g GROUP (through the broker)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What decides whether a process may be looked into.

    Attributes:
        may_attach: the kernel's own word; None where it has none (not Linux).
        ptrace_scope: Yama's setting; None where there is no Yama.
        has_capability: whether this process has CAP_SYS_PTRACE.
        inside_container: this process runs in one.
        container: id of the container that the other process runs in, or `""` for a namespace without a known name.
    """

    pid: int
    user: str
    own_user: str
    is_root: bool
    may_attach: bool | None
    ptrace_scope: int | None
    has_capability: bool | None
    inside_container: bool
    container: str | None

    @property
    def foreign(self) -> bool:
        return self.user != self.own_user


def existing(pid: int, proc: Path = PROC) -> psutil.Process:
    """Returns a process that runs.

    Raises:
        NotFoundError: there is none with this id, or it has ended and waits to be collected.
    """
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return process
        reason = sentence("capture-ended-parent-collected-yet", "it has ended; its parent has not collected it yet")
    except psutil.NoSuchProcess:
        reason = sentence("capture-ended-or-never-was", "it has ended, or never was")
        if inside_container(proc):
            reason = sentence(
                "capture-in-container",
                "{reason}; this runs in a container and sees the processes of that one only",
                reason=reason,
            )
    raise vanished(pid, reason)


def vanished(pid: int, reason: str) -> NotFoundError:
    """Returns the error about a process that is no more."""
    return NotFoundError(
        sentence("capture-no-process", "there is no process {pid}", pid=pid),
        reason=reason,
        remedy=command_line("mqctl stacks find"),
    )


def obstacle(process: psutil.Process | LocalProcess, proc: Path = PROC) -> MqctlError | None:
    """Returns what stands in the way of a dump of a process, or None.

    Raises:
        NotFoundError: it has ended.
    """
    pid = process.pid
    try:
        runtime = process.runtime if isinstance(process, LocalProcess) else runtime_of(process)
        facts = facts_of(pid, proc)
    except psutil.NoSuchProcess as error:
        raise vanished(pid, sentence("capture-ended-while-looked-at", "it ended while it was looked at")) from error
    if runtime is Runtime.PYTHON:
        return ptrace_obstacle(facts)
    if runtime is Runtime.JVM:
        return attach_obstacle(facts) or _signal_obstacle(pid, proc)
    again = command_line("mqctl stacks dump --pid {}", pid)
    return RefusedError(
        sentence("capture-process-no-stacks", "process {pid} has no stacks", pid=pid),
        reason=sentence("capture-not-seem-run-python", "it does not seem to run Python or a Java virtual machine"),
        remedy=sentence(
            "capture-if-consumer-another",
            "if it is a consumer: {broker_remedy}; if it is another user's: sudo {again}",
            broker_remedy=_BROKER_REMEDY,
            again=again,
        ),
    )


def facts_of(pid: int, proc: Path = PROC) -> Facts:
    """Gathers what decides about access to a process.

    Raises:
        psutil.NoSuchProcess: it has ended.
    """
    status = _status(proc / "self" / "status")
    capabilities = status.get("CapEff")
    return Facts(
        pid=pid,
        user=psutil.Process(pid).username(),
        own_user=psutil.Process().username(),
        is_root=os.geteuid() == 0,
        may_attach=_may_attach(pid, proc),
        ptrace_scope=_number(proc / _YAMA),
        has_capability=bool((hexadecimal(capabilities) or 0) & _CAP_SYS_PTRACE) if capabilities else None,
        inside_container=inside_container(proc),
        container=_container_of(pid, proc),
    )


def ptrace_obstacle(facts: Facts) -> PermissionDeniedError | None:
    """Tells why py-spy could not look into a process, and what would let it; None when it can."""
    if facts.may_attach or (facts.may_attach is None and facts.is_root):
        return None
    again = command_line("sudo mqctl stacks dump --pid {}", facts.pid)
    remedy: str = again
    if facts.ptrace_scope == 3:
        reason = sentence(
            "capture-ptrace-scope-all",
            "kernel.yama.ptrace_scope is 3: no process may look into another one until the next boot",
        )
        remedy = _BROKER_REMEDY
    elif facts.inside_container and facts.is_root:
        reason = sentence("capture-container-no-ptrace", "this container lacks the capability SYS_PTRACE")
        remedy = sentence(
            "capture-start-with-ptrace",
            "start it with --cap-add SYS_PTRACE (Kubernetes: securityContext.capabilities.add: [SYS_PTRACE]), "
            "or run mqctl on the host; or {broker}",
            broker=_BROKER_REMEDY,
        )
    elif facts.is_root:
        reason = sentence("capture-process-no-ptrace", "this process was started without the capability CAP_SYS_PTRACE")
        remedy = sentence(
            "capture-shell-with-ptrace",
            "run it from a shell that has it (capsh --print shows it); or {broker}",
            broker=_BROKER_REMEDY,
        )
    elif facts.foreign:
        reason = sentence(
            "capture-process-of-other",
            "it belongs to {user}, and this runs as {own_user}",
            user=facts.user,
            own_user=facts.own_user,
        )
        if not facts.ptrace_scope and facts.container is None:
            remedy = _either(_as_user(facts, "mqctl stacks dump --pid {}"), again)
    elif facts.ptrace_scope == 2:
        reason = sentence(
            "capture-ptrace-scope-administrators",
            "kernel.yama.ptrace_scope is 2: only administrators may look into other processes",
        )
    elif facts.ptrace_scope == 1:
        reason = sentence(
            "capture-ptrace-scope-children",
            "kernel.yama.ptrace_scope is 1: a process may look into its own children only",
        )
        remedy = sentence(
            "capture-until-next-boot",
            "{command}; or, until the next boot, {sysctl}",
            command=again,
            sysctl=command_line("sudo sysctl kernel.yama.ptrace_scope=0"),
        )
    else:
        reason = sentence(
            "capture-kernel-forbids",
            "the kernel forbids to look into it: it has capabilities that this process lacks, or hides its memory",
        )
    return PermissionDeniedError(
        sentence("capture-could-not-look-process", "could not look into process {pid}", pid=facts.pid),
        reason=reason,
        remedy=remedy,
    )


def _as_user(facts: Facts, template: str) -> str:
    """Returns a command for the process as the user whose it is would type it."""
    return command_line(f"sudo -u {{}} {template}", facts.user, facts.pid)


def _either(one: str, other: str) -> str:
    return sentence("capture-either-command", "{one}, or {other}", one=one, other=other)


def _dumped(jcmd: str) -> str:
    return sentence("capture-jcmd-into-file", "{jcmd} > DUMP and {read}", jcmd=jcmd, read=command_line(_FILE_REMEDY))


def attach_obstacle(facts: Facts) -> PermissionDeniedError | None:
    """Tells why a Java virtual machine would not speak to this user; None when it would."""
    if facts.is_root or not facts.foreign:
        return None
    again = command_line("sudo mqctl stacks dump --pid {}", facts.pid)
    if facts.container is None:
        own = _either(again, _as_user(facts, "mqctl stacks dump --pid {}"))
        dumped = _dumped(_as_user(facts, "jcmd {} Thread.print -l"))
        remedy = composed(
            "{own}; {dumped}", own=own, dumped=sentence("capture-or-else", "or {command}", command=dumped)
        )
    else:
        name = facts.container[:12] or "CONTAINER"
        dumped = _dumped(command_line("docker exec {} jcmd 1 Thread.print -l", name))
        remedy = composed(
            "{dumped}; {own}", dumped=dumped, own=sentence("capture-or-else", "or {command}", command=again)
        )
    return PermissionDeniedError(
        sentence("capture-could-not-attach-java", "could not attach to the Java process {pid}", pid=facts.pid),
        reason=sentence(
            "capture-belongs-runs-jvm-answers",
            "it belongs to {user}, mqctl runs as {own_user}; a JVM answers only its own user and root",
            user=facts.user,
            own_user=facts.own_user,
        ),
        remedy=remedy,
    )


def _signal_obstacle(pid: int, proc: Path) -> RefusedError | None:
    """Refuses where the signal that opens a JVM's door would end the process, or where the door is locked."""
    if not proc.is_dir():
        return None
    if "/libjvm.so" not in loaded(pid, proc):
        return RefusedError(
            sentence("capture-could-not-attach-process", "could not attach to process {pid}", pid=pid),
            reason=sentence(
                "capture-named-java-but-loaded",
                "it is named java but has loaded no Java virtual machine: the signal that asks for a dump ends it",
            ),
            remedy=_BROKER_REMEDY,
        )
    caught = _status(proc / str(pid) / "status").get("SigCgt")
    if caught is not None and not (hexadecimal(caught) or 0) & _SIGQUIT:
        return RefusedError(
            sentence("capture-could-not-attach-java", "could not attach to the Java process {pid}", pid=pid),
            reason=sentence(
                "capture-not-catch-sigquit-started",
                "it does not catch SIGQUIT (started with -Xrs?): asking for a dump would end it, as kill -3 would",
            ),
            remedy=_BROKER_REMEDY,
        )
    if psutil.Process(pid).status() == psutil.STATUS_STOPPED:
        return RefusedError(
            sentence("capture-could-not-attach-java", "could not attach to the Java process {pid}", pid=pid),
            reason=sentence(
                "capture-stopped-sigstop-nothing-runs",
                "it is stopped (SIGSTOP): nothing in it runs, and it would not answer",
            ),
            remedy=sentence("capture-kill-cont-resumes", "kill -CONT {pid} resumes it", pid=pid),
        )
    if "-XX:+DisableAttachMechanism" in _words(pid):
        return RefusedError(
            sentence("capture-could-not-attach-java", "could not attach to the Java process {pid}", pid=pid),
            reason=sentence(
                "capture-started-xx-disableattachmechanism", "it was started with -XX:+DisableAttachMechanism"
            ),
            remedy=sentence(
                "capture-kill-writes-dump-standard",
                "kill -3 {pid} writes the dump to its standard output: then {file_remedy}; or {broker_remedy}",
                pid=pid,
                file_remedy=_FILE_REMEDY,
                broker_remedy=_BROKER_REMEDY,
            ),
        )
    return None


def inside_container(proc: Path = PROC) -> bool:
    """Tells whether this process runs in a container, as far as a container shows from the inside."""
    if any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")):
        return True
    return _CONTAINER_GROUPS.search(_text(proc / "1" / "cgroup")) is not None


def _container_of(pid: int, proc: Path) -> str | None:
    """Returns the container of a process that lives in a pid namespace below this one; None when it does not."""
    if len(_status(proc / str(pid) / "status").get("NSpid", "").split()) < 2:
        return None
    match = _CONTAINER_ID.search(_text(proc / str(pid) / "cgroup"))
    return match[0] if match else ""


def _may_attach(pid: int, proc: Path) -> bool | None:
    try:
        os.close(os.open(proc / str(pid) / "mem", os.O_RDONLY))
    except OSError as error:
        return False if error.errno in (errno.EACCES, errno.EPERM) else None
    return True


def _words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def _status(file: Path) -> dict[str, str]:
    entries = (line.partition(":") for line in _text(file).splitlines())
    return {name: value.strip() for name, _, value in entries}


def _number(file: Path) -> int | None:
    return decimal(_text(file).strip())


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
