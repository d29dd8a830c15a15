"""Reads what jstack, `jcmd` and `kill -3` write (HotSpot 8 to 21), and lists of Java's `ThreadInfo`.

The latter (`"name" Id=7 WAITING on ...`) are what Arthas and many application servers print.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from mqctl.model.dump import DumpTool, LockUse, StackFrame, StackLock, StackThread, ThreadState
from mqctl.model.numbers import decimal, fraction, hexadecimal
from mqctl.stacks.collecting import Collector, FrameTable, OpenDump
from mqctl.stacks.frame_text import java_frame
from mqctl.text import sentence

_HEADER = re.compile(
    r'"(?P<name>.*)"(?=[ ])(?: - Thread t@(?P<visual>\d+)| #(?P<id>\d+))?(?: \[(?P<os>\d+)\])?(?P<daemon> daemon)?'
    r"(?P<rest>(?: \w+=\S+)*)(?P<doing> .*)?\s*$"
)
_FILE_HEADER = re.compile(
    r'#(?P<id>\d+) "(?P<name>.*)"(?P<visual>(?!))?(?P<os>(?!))?(?P<daemon> virtual)?'
    r"(?P<rest>)(?P<doing> [A-Z_]+\b.*)?\s*$"
)
_CPU = re.compile(r" cpu=([\d.]+)ms")
_NATIVE_ID = re.compile(r" nid=(0x[0-9a-f]+|\d+)")
_LONGEST_ID = 19
_OWN_ID = re.compile(r" Id=(\d+)")
_BARE = re.compile(r"[\w.$/@]+\([^()]*\)$")
_BEGIN = re.compile(r"\s*Full thread dump (?P<vm>[^:]*)")
_MOMENT = re.compile(r"\s*(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_PID = re.compile(r"(\d{1,9}):\s*$")
_STATE = re.compile(r"\s+java\.lang\.Thread\.State\s*[:：]\s*(?P<text>\S.*?)\s*$")
_LOCK = re.compile(
    r"-\s+(?P<what>(?:[^<(@]|\(\))*?)(?: on)?\s*(?:<(?P<id>(?:0x)?[0-9a-f]+)>(?:\s*\(an? (?P<kind>[^()]+)\))?"
    r"|(?<= )(?P<named>[\w.$]+)@(?P<hash>[0-9a-f]+))(?: owned by .*)?\s*$"
)
_USES = {
    "locked": LockUse.HOLDS,
    "": LockUse.HOLDS,
    "waiting to lock": LockUse.WAITS_FOR,
    "waiting": LockUse.WAITS_ON,  # `on` belongs to the pattern: some tools say `locked on`
    "waiting to re-lock in wait()": LockUse.WAITS_FOR,
    "parking to wait for": LockUse.WAITS_ON,
}
_STATES = {state.value: state for state in ThreadState}
_OWNED_LOCK = re.compile(r"java\.util\.concurrent\.locks\.Reentrant\w*Lock\$")


class JavaReader:
    """Takes the lines of Java dumps.

    Args:
        zone: of the clock times.
    """

    def __init__(self, collector: Collector, zone: tzinfo) -> None:
        self._collector = collector
        self._zone = zone
        self._frames = FrameTable(java_frame, collector.limits)
        self._most_lines = 2 * collector.limits.thread_frame_count
        self._stacks: dict[tuple[str, ...], tuple[StackFrame, ...]] = {}
        self._header: re.Match[str] | None = None
        self._state = ""
        self._lines: list[str] = []
        self._with_locks = False
        self._owned: list[StackLock] = []
        self._circle: list[str] | None = None
        self._told = False
        self._moment_ms: int | None = None
        self._pid: int | None = None

    def begins(self, line: str) -> bool:
        """Tells whether a Java dump, or a thread of one, can begin with this line."""
        if line.startswith(('"', "#")):
            return _head(line) is not None
        return (
            "Full thread dump" in line or "Java-level deadlock" in line or bool(_MOMENT.match(line) or _PID.match(line))
        )

    def takes(self, line: str) -> bool:
        """Takes a line; False when it is nothing of a Java dump."""
        if self._header is not None:
            if line.startswith("\tat "):
                if len(self._lines) <= self._most_lines:
                    self._lines.append(line)
                return True
            if self._inside(line):
                return True
        return self._outside(line)

    def _inside(self, line: str) -> bool:
        """Takes a line that belongs to the open thread."""
        text = line.strip()
        full = len(self._lines) > self._most_lines
        if text.startswith("at ") or (line.startswith("      ") and text.endswith(")") and _BARE.match(text)):
            text = text.removeprefix("at ")
            if not full:
                self._lines.append(f"\tat {text}")
        elif text.startswith(("- ", "-  ")):
            self._with_locks = True
            if not full:
                self._lines.append(text)
        elif not text:
            pass  # the list of synchronizers follows an empty line
        elif (match := _STATE.match(line)) is not None:
            self._state = match["text"]
        elif text.startswith("Locked ownable synchronizers"):
            self._lines.append(text)
        else:
            return False
        return True

    def _outside(self, line: str) -> bool:
        if line.startswith(('"', "#")) and self._circle is None:
            head = _head(line)
            if head is not None:
                self.end_thread()
                self._header = head
                return True
        if self._circle is not None:
            return self._deadlock_line(line)
        if "Java-level deadlock" in line or "dead lock" in line:
            self.end_thread()
            self._circle, self._told = [], False
            return True
        if "Full thread dump" in line and (begin := _BEGIN.search(line)) is not None:
            self.end_thread()
            self._collector.open(
                OpenDump(
                    tool=DumpTool.JSTACK,
                    taken_at_ms=self._moment_ms,
                    pid=self._pid,
                    runtime=begin["vm"].strip() or None,
                    complete=False,
                )
            )
            self._moment_ms = self._pid = None
            return True
        return self._other(line)

    def _other(self, line: str) -> bool:
        if line.lstrip().startswith("JNI global ref"):
            self.end_thread()
            current = self._collector.current
            if current is not None and current.tool is DumpTool.JSTACK:
                current.complete = True
            return True
        match = _MOMENT.match(line)
        if match is not None:
            self.end_thread()
            self._moment_ms = self._instant(match[1])
            return True
        match = _PID.match(line)
        if match is not None:
            self.end_thread()
            self._pid = decimal(match[1])
            return True
        return False

    def _instant(self, text: str) -> int | None:
        try:
            moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=self._zone)
            return round(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            return None

    def _deadlock_line(self, line: str) -> bool:
        """Reads the circle; the stacks that follow it are those of the threads above and are passed over."""
        circle = self._circle
        assert circle is not None
        text = line.strip()
        if text.startswith('"') and text.endswith('":'):
            if text[1:-2] not in circle:
                circle.append(text[1:-2])
        elif text.startswith("Java stack information"):
            self._collector.deadlock(tuple(circle))
            self._told = True
        elif re.match(r"Found (\d+|one|a total of).*deadlocks?\.", text):
            self._end_circle()
        elif "Java-level deadlock" in text and circle:
            self._end_circle()
            self._circle, self._told = [], False
        elif "Full thread dump" in text or text.startswith("JNI global ref"):
            self._end_circle()
            return self._outside(line)
        return True

    def _end_circle(self) -> None:
        """Hands on a circle whose stacks are missing."""
        if self._circle and not self._told:
            self._collector.deadlock(tuple(self._circle))
        self._circle = None

    def end_text(self) -> None:
        """Hands on what is open: the text ends here, perhaps in the middle of it."""
        self.end_thread(at_end=True)
        self._end_circle()

    def end_thread(self, *, at_end: bool = False) -> None:
        """Hands the open thread on."""
        header, lines = self._header, self._lines
        if header is None:
            return
        truncated = bool(at_end and lines and not lines[-1].rstrip().endswith((")", "None")))
        truncated = truncated or len(lines) > self._most_lines
        frames = self._stack(lines)
        wanted = _wanted(frames)
        rest = header["rest"]
        cpu, native = _CPU.search(rest), _NATIVE_ID.search(rest)
        doing = (header["doing"] or "").partition("[")[0].strip()
        words = (self._state or doing).split()  # ThreadInfo and Arthas tell the state in the first line
        thread = StackThread(
            name=header["name"],
            id=_id(header),
            native_id=_native_id(native[1]) if native else None,
            state=_STATES.get(words[0], ThreadState.UNKNOWN) if words else ThreadState.UNKNOWN,
            state_text=self._state or doing,
            cpu_ms=_number(cpu[1]) if cpu else None,
            frames=frames,
            waiting_for=wanted,
            holds=_held(frames, self._owned, wanted),
            daemon=header["daemon"] is not None,
            truncated=truncated,
        )
        self._header, self._state, self._lines, self._owned, self._with_locks = None, "", [], [], False
        self._collector.add(DumpTool.JSTACK, thread)
        if self._frames.full:
            self._collector.full = True
            self._collector.cut(
                sentence("stacks-too-many-different-calls", "too many different calls: the rest was not read")
            )

    def _stack(self, lines: list[str]) -> tuple[StackFrame, ...]:
        limit = self._collector.limits.thread_frame_count
        if len(lines) > self._most_lines:
            self._collector.note(
                sentence(
                    "stacks-innermost-calls-thread-read",
                    "only the innermost {limit} calls of a thread were read",
                    limit=limit,
                )
            )
            del lines[self._most_lines :]
        if self._with_locks:
            return tuple(self._locked_stack(lines)[:limit])
        key = tuple(lines)
        known = self._stacks.get(key)
        if known is None:
            frames = [self._frame(line) for line in lines]
            known = tuple([frame for frame in frames if frame is not None][:limit])
            # One with a call that could not be read is noted wherever it stands.
            if None not in frames and len(self._stacks) < 10_000:
                self._stacks[key] = known
        return known

    def _frame(self, line: str) -> StackFrame | None:
        frame = self._frames.get(line[4:])
        if frame is None and line.startswith("\tat "):
            self._collector.note(sentence("stacks-call-could-not-read", "a call could not be read"))
        return frame

    def _locked_stack(self, lines: list[str]) -> list[StackFrame]:
        frames: list[StackFrame] = []
        locks: list[StackLock] = []
        owned = False
        for line in lines:
            if line.startswith("\tat "):
                if locks and frames:
                    frames[-1] = _with(frames[-1], locks)
                    locks = []
                frame = self._frame(line)
                if frame is not None:
                    frames.append(frame)
            elif line.startswith("Locked ownable"):
                owned = True
            else:
                lock = _lock(line)
                if lock is not None:
                    (self._owned if owned else locks).append(lock)
        if locks and frames:
            frames[-1] = _with(frames[-1], locks)
        return frames


def _head(line: str) -> re.Match[str] | None:
    """Returns the first line of a thread. It needs a number or an attribute: a quotation is none."""
    if line.startswith("#"):  # `jcmd Thread.dump_to_file` (JDK 19 and later)
        return _FILE_HEADER.match(line)
    match = _HEADER.match(line)
    return match if match and (match["id"] or match["visual"] or match["rest"]) else None


def _native_id(text: str) -> int | None:
    """Reads `0x1a2b` (up to JDK 18) or `4711`, leading zeros of a damaged dump included."""
    return hexadecimal(text) if text.startswith("0x") else decimal(text)


def _id(header: re.Match[str]) -> int | None:
    thread_id = header["id"] or header["visual"] or ((match := _OWN_ID.search(header["rest"])) and match[1])
    return decimal(thread_id)


def _number(text: str) -> float | None:
    return fraction(text)


def _lock(line: str) -> StackLock | None:
    match = _LOCK.match(line)
    if match is None:
        return None
    use = _USES.get(match["what"])
    if use is None:
        return None
    kind = match["kind"] or match["named"]
    if match["what"] == "parking to wait for" and kind and _OWNED_LOCK.match(kind):
        use = LockUse.WAITS_FOR
    return StackLock(id=match["id"] or match["hash"], use=use, kind=kind)


def _with(frame: StackFrame, locks: list[StackLock]) -> StackFrame:
    return StackFrame(
        function=frame.function,
        module=frame.module,
        file=frame.file,
        line=frame.line,
        native=frame.native,
        locks=tuple(locks),
    )


def _wanted(frames: tuple[StackFrame, ...]) -> StackLock | None:
    """Returns the lock that a thread waits for or on: the first such in its innermost calls."""
    for frame in frames[:8]:
        for lock in frame.locks:
            if lock.use is not LockUse.HOLDS:
                return lock
    return None


def _held(frames: tuple[StackFrame, ...], owned: list[StackLock], wanted: StackLock | None) -> tuple[StackLock, ...]:
    """Returns the locks that a thread has. A monitor that it waits on or wants back is listed as locked too."""
    held = {lock.id: lock for frame in frames for lock in frame.locks if lock.use is LockUse.HOLDS}
    if wanted is not None:
        held.pop(wanted.id, None)
    elif held and any(frame.function.startswith("wait") and frame.module == "java.lang.Object" for frame in frames[:3]):
        del held[next(iter(held))]  # `waiting on <no object reference available>`: it gave the innermost one back
    held.update((lock.id, lock) for lock in owned)
    return tuple(held.values())
