"""Runs the cases of `cases.yaml` in one tree and returns what each command line answered."""

from __future__ import annotations

import gzip
import json
import os
import queue
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from benchmarks.sameness.live import Stage
from tests.embedded_broker.access import write_list

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
GOLDEN = REPOSITORY / "tests" / "golden"
LANES = 4
"""Lines run at the same time: some wait for clusters, and two cores are kept busy."""
NOW_MS = 1_795_382_401_234
"""The moment at which every command line runs: some hours after the recorded stores were written."""
_STORY_LINE_MS = 1_000
"""Changes are told apart by the second in which they were made."""
_ZONE = "Asia/Shanghai"
_FORMATS = ("json", "csv", "wide")
_LANGUAGES = ("en", "zh")
_TURNS = (("json en", "wide zh"), ("json zh", "csv en"), ("json en", "wide en"), ("json zh", "csv zh"))
"""All formats come from one document: of inputs that resemble each other, each runs a line in two variants. Two turns
that follow each other have JSON in both languages, a table and CSV."""
_CASES = HERE / "cases.yaml"
_ADDRESS = re.compile(r"\b((?:\d{1,3}\.){3}\d{1,3}):(\d{4,5})\b")
_CLIENTS_FROM = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="utf-8").split()[0])
_UNLIKE = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b"), "<change>"),
    (re.compile(r"(?<=@)\d+#\d{6,}"), "<instance>"),
)
"""What the same code writes otherwise at each run: numbers of changes, and what clients call themselves."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one command line answered.

    Attributes:
        group: the group of cases, with the input that it is about.
        command: words of the catalogue, `group lag`.
        line: as typed, with its number where a group types it more than once.
        variant: format and language: `json en`.
        cpu_ms: processor time, which is not compared.
    """

    group: str
    command: str
    line: str
    variant: str
    code: int
    out: str
    err: str
    cpu_ms: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        return self.group, self.line, self.variant


@dataclass(frozen=True, kw_only=True)
class Group:
    """Command lines that run one after the other, in a home of their own.

    Attributes:
        variants: format and language of each run of a line; of a story, each variant runs all of it anew.
        turn: with which of `_TURNS` the first line begins; None where each line is run in all variants.
        cluster: words of `python -m embedded_broker`; None without a cluster.
        port: the first of the cluster's ports.
        covers: whether its lines count as cases of their commands.
        line_ms: time that passes with each line.
        values: what `{...}` in lines stands for.
    """

    name: str
    lines: tuple[str, ...]
    variants: tuple[str, ...]
    values: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    port: int = 0
    covers: bool = True
    line_ms: int = 0
    turn: int | None = None


@dataclass(frozen=True)
class Table:
    """The file of cases.

    Attributes:
        without_output: commands that have no `-o`.
        without_case: commands without a case, with the reason.
        renamed: by the beginning of a line of the base, what the other tree calls it.
        warm_up: lines that are run once in the process that all others are forks of.
    """

    groups: tuple[Group, ...]
    without_output: frozenset[str]
    without_case: Mapping[str, str]
    renamed: Mapping[str, str]
    warm_up: tuple[str, ...] = ()

    def variants(self, group: Group, number: int, command: str) -> Sequence[str]:
        """Returns the formats and languages that a group runs one of its lines in, the first of which has number 1."""
        variants, line = group.variants, group.lines[number - 1]
        if group.turn is not None and not group.line_ms:
            variants = _TURNS[(group.turn + number - 1) % len(_TURNS)]
        if command in self.without_output or re.search(r" (-o|--as|--collapsed|--plain)\b", line):
            return list(dict.fromkeys(f"as-typed {variant.split()[1]}" for variant in variants))
        return variants


def read_table(path: Path = _CASES) -> Table:
    """Reads the cases; a group with `each` becomes one for each of its values, a story one for each variant."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Table(
        groups=tuple(group for name, entry in document["groups"].items() for group in _groups(name, entry)),
        without_output=frozenset(document["without_output"]),
        without_case=document["without_case"],
        renamed=document["renamed"],
        warm_up=_lines(document.get("warm_up", "")),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in map(str.strip, text.splitlines()) if line and line[0] != "#")


def _groups(name: str, entry: Mapping[str, Any]) -> Iterator[Group]:
    lines = _lines(entry["lines"])
    variants = tuple(entry.get("variants") or [f"{form} {lang}" for form in _FORMATS for lang in _LANGUAGES])
    each = entry.get("each", "")
    if isinstance(each, str) and each:
        # Many short groups cost more than one long one, and one long one occupies one lane only.
        items = _LISTS[each]()
        for number in range(LANES):
            filled = tuple(line.replace("{each}", item) for item in items[number::LANES] for line in lines)
            yield Group(name=f"{name} {number}", lines=filled, variants=variants, covers=entry.get("covers", True))
        return
    for number, item in enumerate(each or [{}]):
        values = {key: str(value) for key, value in item.items()}
        about = f"{name} {next(iter(values.values()))}" if values else name
        turn = number if entry.get("in_turn") else None
        chosen = variants if turn is None else _TURNS[turn % len(_TURNS)]
        whole = Group(name=about, lines=lines, variants=chosen, values=values, cluster=entry.get("cluster"), turn=turn)
        if entry.get("story"):
            story = replace(whole, line_ms=_STORY_LINE_MS)
            yield from (replace(story, name=f"{about} ({it})", variants=(it,)) for it in chosen)
        else:
            yield whole


def _worlds() -> list[str]:
    with tarfile.open(HERE / "worlds.tar.xz") as packed:
        return sorted(Path(name).stem for name in packed.getnames() if name.endswith(".json"))


_LISTS: Mapping[str, Callable[[], list[str]]] = {
    "worlds": _worlds,
    "rules": lambda: sorted({name[:5] for name in _worlds() if name.startswith("MQ")}),
    "playbooks": lambda: sorted(path.parent.name for path in REPOSITORY.glob("playbooks/*/playbook.yaml")),
    "commands": lambda: sorted(commands_of(REPOSITORY)),
}


def commands_of(root: Path) -> list[str]:
    """Returns the names of a tree's commands, as it lists them itself."""
    run = [sys.executable, "-P", "-m", "mqctl", "commands", "-o", "json"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root)}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`mqctl commands` of {root} ended with {done.returncode}: {done.stderr}")
    return [entry["command"].removeprefix("mqctl ") for entry in json.loads(done.stdout)["commands"]]


def command_of(line: str, commands: Sequence[str]) -> str:
    """Returns the command that a line begins with; the longest names come first in `commands`."""
    return next((name for name in commands if f"{line} ".startswith(f"{name} ")), line.split(maxsplit=1)[0])


def unpack_inputs(place: Path) -> None:
    """Unpacks recorded stores, dumps, worlds and a recording; all of them are read only."""
    place.mkdir(parents=True)
    stores = [path for room in ("stores", "pop", "ha") for path in sorted((GOLDEN / room).glob("*.tar.gz"))]
    for archive in [*stores, HERE / "worlds.tar.xz"]:
        with tarfile.open(archive) as packed:
            packed.extractall(place / "packed", filter="data")
        roots = list((place / "packed").iterdir())
        for root in roots:
            root.rename(place / (archive.name.split(".tar")[0] if len(roots) == 1 else root.name))
    (place / "packed").rmdir()
    worlds = place / "worlds"
    for path in worlds.glob("*.json"):
        path.with_suffix(".snap").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    shutil.copytree(GOLDEN / "dumps", place / "dumps")


class Tree:
    """One checkout, and a process of it that has imported its mqctl.

    Args:
        root: where it lies.
        work: directory of this run, the same for both trees, that homes and stores of clusters are made in.
        hash_seed: of the order of sets: an answer that depends on it differs between the trees.
        warm_up: command lines that are run once in the process itself.
    """

    def __init__(self, root: Path, work: Path, *, hash_seed: int, warm_up: Sequence[Sequence[str]] = ()) -> None:
        self.root = root
        self.work = work
        ours, theirs = zip(*(socket.socketpair() for _ in range(LANES)), strict=True)
        self._lanes: queue.Queue[socket.socket] = queue.Queue()
        for lane in ours:
            self._lanes.put(lane)
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{HERE / 'shim'}{os.pathsep}{root}",
            "PYTHONHASHSEED": str(hash_seed),
            "PYTHONDONTWRITEBYTECODE": "",
            "SAMENESS_NOW_MS": str(NOW_MS),
            "SAMENESS_SEED": "0",
            "TZ": _ZONE,
            "LC_ALL": "C.UTF-8",
        }
        numbers = [lane.fileno() for lane in theirs]
        self._server = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "server.py"), str(root), json.dumps(warm_up), *map(str, numbers)],
            env={**self.environment, "HOME": str(work)},
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=numbers,
        )
        for lane in theirs:
            lane.close()

    @contextmanager
    def lane(self) -> Iterator[socket.socket]:
        """Gives a lane that nobody else uses."""
        lane = self._lanes.get()
        try:
            yield lane
        finally:
            self._lanes.put(lane)

    def run(
        self, lane: socket.socket, words: Sequence[str], home: Path, environment: Mapping[str, str]
    ) -> tuple[int, str, str, int]:
        """Runs one command line; returns exit code, stdout, stderr, and processor time in milliseconds."""
        request = {
            "words": list(words),
            "directory": str(home),
            "environment": {**self.environment, "HOME": str(home), **environment},
        }
        answer = b""
        try:
            lane.sendall(json.dumps(request).encode() + b"\n")
            while piece := lane.recv(1 << 20):
                answer += piece
                if piece.endswith(b"\n"):
                    break
        except ConnectionError:
            answer = b""
        if not answer:
            raise RuntimeError(f"the process that runs mqctl of {self.root} has ended; it said why on stderr")
        code, out, err, cpu_ms = json.loads(answer)
        return code, out, err, cpu_ms

    def close(self) -> None:
        """Ends the process."""
        while not self._lanes.empty():
            self._lanes.get().close()
        self._server.wait()

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Runner:
    """Runs groups in one tree.

    Args:
        commands: the commands of this tree.
        renamed: what a beginning of a line is called in this tree.
    """

    def __init__(
        self, tree: Tree, table: Table, inputs: Path, commands: Sequence[str], renamed: Mapping[str, str]
    ) -> None:
        self.tree = tree
        self._table = table
        self._inputs = inputs
        self._renamed = renamed
        self._names = sorted(commands, key=len, reverse=True)

    def run(self, groups: Sequence[Group]) -> list[Answer]:
        """Runs all groups on all lanes; the answers are in the order of the groups."""
        longest_first = sorted(groups, key=lambda it: (it.cluster is None, -len(it.lines) * len(it.variants)))
        pool = ThreadPoolExecutor(LANES)
        try:
            answered = dict(
                zip([it.name for it in longest_first], pool.map(self._run_group, longest_first), strict=True)
            )
        finally:  # where one fails, or a signal ends this, no other group begins
            pool.shutdown(cancel_futures=True)
        return [answer for group in groups for answer in answered[group.name]]

    def _command_of(self, line: str) -> str:
        return command_of(line, self._names)

    def _run_group(self, group: Group) -> list[Answer]:
        home = self.tree.work / re.sub(r"[^\w.-]+", "-", group.name)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        write_list(home)
        values = {"inputs": str(self._inputs), "home": str(home), **group.values}
        cluster = None if group.cluster is None else filled(group.cluster, values)
        typed: Counter[str] = Counter()
        answers: list[Answer] = []
        with self.tree.lane() as lane, Stage.of(cluster, group.port, home, self.tree.environment) as stage:
            for number, line in enumerate(group.lines, 1):
                typed[line] += 1
                if group.line_ms:
                    stage.advance(group.line_ms)
                known = {**values, **stage.values}
                try:
                    if line.startswith("!"):
                        stage.do(filled(line[1:].strip(), known))
                        continue
                    words = shlex.split(filled(self._now_called(line), known))
                except (KeyError, ValueError, RuntimeError) as error:
                    raise RuntimeError(f"{group.name}: {line}: {error!r}") from error
                for variant in self._table.variants(group, number, self._command_of(line)):
                    seed = {"SAMENESS_SEED": str(number), "MQCTL_LANG": variant.split()[1]}
                    ran = self.tree.run(lane, words + _options(variant), home, {**stage.environment(), **seed})
                    stage.note(ran[1] + ran[2])
                    answers.append(self._answer(group, line, typed[line], variant, ran))
        shutil.rmtree(home, ignore_errors=True)
        return answers

    def _answer(self, group: Group, line: str, turn: int, variant: str, ran: tuple[int, str, str, int]) -> Answer:
        code, out, err, cpu_ms = ran
        return Answer(
            group=group.name,
            command=self._command_of(line),
            line=line if turn == 1 else f"{line} ({turn})",
            variant=variant,
            code=code,
            out=self._plain(out),
            err=self._plain(err),
            cpu_ms=cpu_ms,
        )

    def _now_called(self, line: str) -> str:
        for old, new in self._renamed.items():
            if f"{line} ".startswith(f"{old} "):
                return new + line.removeprefix(old)
        return line

    def _plain(self, text: str) -> str:
        """Replaces what differs between two runs of the same code: places of the run, and ports of clients."""
        text = text.replace(str(self.tree.root), "<tree>")
        for place, name in ((self._inputs, "<inputs>"), (self.tree.work, "<work>")):
            text = text.replace(str(place), name)
        for pattern, name in _UNLIKE:
            text = pattern.sub(name, text)
        return _ADDRESS.sub(lambda it: it[0] if int(it[2]) < _CLIENTS_FROM else f"{it[1]}:<client>", text)


def filled(line: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], line)


def _options(variant: str) -> list[str]:
    form = variant.split(maxsplit=1)[0]
    return [] if form == "as-typed" else ["-o", form]
