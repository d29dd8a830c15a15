"""Reads what `py-spy dump` writes, as text and as JSON."""

from __future__ import annotations

import json
import re

from mqctl.model.dump import DumpTool, StackFrame, StackThread, ThreadState
from mqctl.model.numbers import decimal, hexadecimal
from mqctl.stacks.collecting import Collector, FrameTable, OpenDump
from mqctl.stacks.frame_text import py_spy_frame, python_frame
from mqctl.text import sentence

_PROCESS = re.compile(r"Process (?P<pid>\d{1,9}): ")
_RUNTIME = re.compile(r"(?P<text>Python v\S+) \(.*\)\s*$")
_THREAD = re.compile(r'Thread (?P<id>0x[0-9A-Fa-f]{1,16}|\d{1,18}) \((?P<state>[^)]*)\)(?:: "(?P<name>.*)")?\s*$')
_WORDS = {"idle": ThreadState.IDLE, "active": ThreadState.RUNNABLE}
_LONGEST_OBJECT = 8 << 20


class PySpyTextReader:
    """Takes the lines of py-spy's text."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._frames = FrameTable(python_frame, collector.limits)
        self._header: re.Match[str] | None = None
        self._lines: list[str] = []

    def begins(self, line: str) -> bool:
        """Tells whether a dump, or a thread of one, can begin with this line."""
        if line.startswith("Error: "):
            return True
        return bool(_THREAD.match(line) or _PROCESS.match(line) or _RUNTIME.match(line))

    def takes(self, line: str) -> bool:
        """Takes a line; False when it is nothing of a py-spy dump."""
        if self._header is not None and line.startswith("    "):
            deeper = line.startswith("        ")  # arguments and local variables
            if not deeper and len(self._lines) <= self._collector.limits.thread_frame_count:
                self._lines.append(line)
            return True
        if line.startswith("Thread ") and (match := _THREAD.match(line)) is not None:
            self.end_thread()
            self._header = match
            return True
        if line.startswith("Process ") and (match := _PROCESS.match(line)) is not None:
            self.end_thread()
            self._collector.open(OpenDump(tool=DumpTool.PY_SPY, pid=decimal(match["pid"])))
            return True
        if line.startswith("Python v") and (match := _RUNTIME.match(line)) is not None:
            current = self._collector.current
            if current is not None:
                current.runtime = match["text"]
            return True
        if line.startswith("Error: "):
            self._collector.note(sentence("stacks-py-spy", "py-spy: {line}", line=line[7:].strip()[:200]))
            return True
        return False

    def end_text(self) -> None:
        """Hands on what is open: the text ends here, perhaps in the middle of it."""
        self.end_thread(at_end=True)

    def end_thread(self, *, at_end: bool = False) -> None:
        """Hands the open thread on."""
        header, lines = self._header, self._lines
        if header is None:
            return
        limit = self._collector.limits.thread_frame_count
        if len(lines) > limit:
            self._collector.note(
                sentence(
                    "stacks-innermost-calls-thread-read",
                    "only the innermost {limit} calls of a thread were read",
                    limit=limit,
                )
            )
        frames = [self._frames.get(line) for line in lines[:limit]]
        if None in frames:
            self._collector.note(sentence("stacks-call-could-not-read", "a call could not be read"))
        thread_id = header["id"]
        number = hexadecimal(thread_id) if thread_id.startswith("0x") else decimal(thread_id)
        thread = StackThread(
            name=header["name"] or f"thread {header['id']}",
            id=number,
            native_id=number if number is not None and number < 1 << 31 else None,
            state=_WORDS.get(header["state"].partition("+")[0], ThreadState.UNKNOWN),
            state_text=header["state"],
            frames=tuple(frame for frame in frames if frame is not None),
            truncated=len(lines) > limit or (at_end and bool(lines) and not lines[-1].rstrip().endswith(")")),
        )
        self._header, self._lines = None, []
        self._collector.add(DumpTool.PY_SPY, thread)
        if self._frames.full:
            self._collector.full = True
            self._collector.cut(
                sentence("stacks-too-many-different-calls", "too many different calls: the rest was not read")
            )


class PySpyJsonReader:
    """Takes the lines of py-spy's JSON: an array with one object a thread, decoded one object after the other."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._inside = False
        self._text = ""
        self._parts: list[str] = []
        self._size = 0
        self._pid: int | None = None
        self._known: dict[tuple[object, ...], StackFrame] = {}

    def begins(self, line: str) -> bool:
        """Tells whether an array of objects can begin with this line."""
        text = line.lstrip("\ufeff \t")
        return text.startswith("[") and text[1:].strip()[:1] in ("", "{", "]")

    def takes(self, line: str) -> bool:
        """Takes a line; False when it is no JSON of threads."""
        if not self._inside:
            if not self.begins(line):
                return False
            text = line.lstrip("\ufeff \t")
            self._inside, self._pid = True, None
            line = text[1:]
        elif self._foreign(line):
            self._decode()
            if self._inside:
                self._leave()
                self._collector.cut(sentence("stacks-end-dump-missing", "the end of the dump is missing"))
            return False
        self._parts.append(line)
        self._size += len(line)
        if line.startswith(("  }", "}", "]")) or len(line) > 1_000 or self._size > _LONGEST_OBJECT:
            self._decode()
        return True

    def _foreign(self, line: str) -> bool:
        """Tells whether a line cannot go on with an array that was laid out over lines, or begin it."""
        if len(line) > 1_000:
            return False
        if not self._text and not "".join(self._parts).strip():
            return line.strip()[:1] not in ("", "{", "]", ",")
        return line[:1] not in ("", " ", "\t", "{", "}", "[", "]", ",")

    def _decode(self) -> None:
        text = (self._text + "".join(self._parts)).lstrip(" \t\r\n,")
        self._parts = []
        decoder = json.JSONDecoder()
        while text.startswith("{"):
            try:
                value, end = decoder.raw_decode(text)
            except (ValueError, RecursionError):
                break
            text = text[end:].lstrip(" \t\r\n,")
            self._thread(value)
        if text.startswith("]"):
            self._leave()
            return
        self._text, self._size = text, len(text)
        if self._size > _LONGEST_OBJECT or (text and not text.startswith("{")):
            self._leave()
            self._collector.cut(sentence("stacks-json-passed-over", "JSON that cannot be read was passed over"))

    def _leave(self) -> None:
        self._inside, self._text, self._parts, self._size = False, "", [], 0

    def end_text(self) -> None:
        """Ends the array: a text that stops before its end is incomplete."""
        if not self._inside:
            return
        self._decode()
        if self._inside:
            self._leave()
            self._collector.cut(sentence("stacks-end-dump-missing", "the end of the dump is missing"))

    def end_thread(self) -> None:
        """An object is a whole thread: nothing stays open between lines."""

    def _thread(self, value: object) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("frames"), list):
            self._collector.note(
                sentence("stacks-object-no-thread-passed", "an object that is not a thread was skipped")
            )
            return
        pid = _whole(value.get("pid"))
        if self._collector.current is None or pid != self._pid:
            self._collector.open(OpenDump(tool=DumpTool.PY_SPY, pid=pid))
            self._pid = pid
        active, gil = value.get("active"), value.get("owns_gil")
        word = "active" if active else "idle"
        state = ThreadState.UNKNOWN if not isinstance(active, bool) else _WORDS[word]
        name = value.get("thread_name")
        number = _whole(value.get("thread_id"))
        frames = [self._frame(item) for item in value["frames"][: self._collector.limits.thread_frame_count]]
        if None in frames:
            self._collector.note(sentence("stacks-call-could-not-read", "a call could not be read"))
        self._collector.add(
            DumpTool.PY_SPY,
            StackThread(
                name=name if isinstance(name, str) else f"thread {number}",
                id=number,
                native_id=_whole(value.get("os_thread_id")),
                state=state,
                state_text=f"{word}+gil" if gil is True else word,
                frames=tuple(frame for frame in frames if frame is not None),
            ),
        )

    def _frame(self, item: object) -> StackFrame | None:
        if not isinstance(item, dict):
            return None
        name, file, line = item.get("name"), item.get("filename"), _whole(item.get("line"))
        if not isinstance(name, str) or not isinstance(file, str):
            return None
        short = item.get("short_filename")
        key = (name, file, line)
        frame = self._known.get(key)
        if frame is None:
            frame = py_spy_frame(name, file, short if isinstance(short, str) else file, line or None)
            if len(self._known) < self._collector.limits.distinct_frame_count:
                self._known[key] = frame
        return frame


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else None
