"""Rounds of mqctl commands that are killed at any instant, on disks that fill, fail and lose power; what must hold.

`python -m tests.reliability.tool --rounds 500 --seed 7`. A round runs a changing command as a process of its own on an
embedded cluster; it is killed at one of its instants (a change of a file, bytes to a server) or at any time, loses
power there, or has every write from there on fail. Then:

* `history` can be read, and knows of a change if a changing request was sent;
* the cluster is as before, as planned, or the way on or back that `history` names brings it exactly there;
* profiles, names for the Tab and snapshots are whole: old or new; a local cluster can be brought down, and no process
  stays that cannot be;
* no lock keeps the next command away; who takes over a killed command's says so; no temporary file stays for ever;
* on a failing disk the exit code is 74 and nothing was sent, or 2 and the change can be finished; never a traceback.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import psutil

from embedded_broker import EmbeddedCluster
from tests.conftest import REPOSITORY, Outcome, environment_of
from tests.forked_commands import ForkedCommands
from tests.live.changing import CHANGING
from tests.reliability.faulty_home import ERROR, KILL, POWER, RENAME, Fault
from tests.reliability.results import run_rounds
from tests.reliability.tool_kinds import CLUSTER_KINDS, FILE_KINDS, ClusterKind, FileKind, prepare, state_of

LOCAL_KINDS = ("local up", "local down")
KINDS = (*CLUSTER_KINDS, *FILE_KINDS, *LOCAL_KINDS)
ANY_TIME = "any time"
HOWS = (KILL, KILL, ANY_TIME, POWER, ERROR, ERROR, RENAME)
_NEVER = 1 << 40
_SECONDS = 120
_ROUNDS_PER_HOME = 20
_TAKEN_OVER = "took over the lock"
_OURS = re.compile(
    r"state/journal/delay-repair/[^/.]+\.json|files/store/.*(?<!\.mqctl)"
    r"|config/(profiles\.yaml|\.profiles\.yaml\.lock)|cache/names/[0-9a-f]{8}|files/one\.snap"
    r"|state/journal/(\.[^/]+\.lock|[^/.]+\.json|settings/[^/.]+\.json|resends/[^/.]+\.ndjson)"
    r"|state/replays/[^/.]+(\.plan)?\.json|state/local/default\.(lock|log)|state/seen/[0-9a-f]+\.json"
)


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    kills: int = 0
    power_losses: int = 0
    disk_errors: int = 0
    taken_back: int = 0
    finished: int = 0
    untouched: int = 0
    done: int = 0
    locks_taken_over: int = 0
    sent_without_journal: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Usual:
    """How a kind of command goes when nothing happens: how many instants, how many of them before it changes a file,
    how long, and what it comes to."""

    instants: int
    asking: int
    seconds: float
    after: object


class Home:
    """A user's directories and a cluster, through several rounds."""

    def __init__(self, root: Path, cluster: EmbeddedCluster, random: Random, figures: Figures) -> None:
        self.root = root
        self.cluster = cluster
        self.random = random
        self.figures = figures
        self.forgets = False
        self._usual: dict[str, Usual] = {}
        self._known: set[str] = set()
        places = {f"MQCTL_{name.upper()}_DIR": str(root / name) for name in ("config", "state", "cache")}
        self._env = {**environment_of(root), **places, "MQCTL_NAMESRV": cluster.namesrv}
        self._commands = ForkedCommands(root, environment_of(root))

    def close(self) -> None:
        self._commands.close()

    def run(self, *words: str) -> Outcome:
        """Runs mqctl on a sound disk."""
        outcome = Outcome(*self._commands.run(list(words), self._env))
        self.figures.locks_taken_over += _TAKEN_OVER in outcome.stderr
        return outcome

    def under(self, fault: Fault, words: Sequence[str], kill_after_s: float | None = None) -> Outcome:
        """Runs mqctl under a fault."""
        command = [sys.executable, "-m", "tests.reliability.faulty_home", json.dumps(asdict(fault)), *words]
        with subprocess.Popen(
            command, cwd=REPOSITORY, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            if kill_after_s is not None:
                try:
                    process.wait(kill_after_s)
                except subprocess.TimeoutExpired:
                    process.kill()
            out, errors = process.communicate(timeout=_SECONDS)
        return Outcome(process.returncode, out, errors)

    # One round

    def instants(self, kind: str) -> int:
        """Returns how many instants a kind of command has when nothing happens."""
        self._usual[kind] = self._usual.get(kind) or self._as_usual(kind)
        return self._usual[kind].instants

    def round(self, kind: str, how: str, *, at: int | None = None) -> None:
        """One command under one fault, at a random instant unless one is given."""
        self.instants(kind)
        usual = self._usual[kind]
        words, before = self._begin(kind)
        number = self.random.choice((errno.ENOSPC, errno.EIO))
        asking = usual.asking if self.random.random() < 0.9 else 0
        if at is None:
            at = 1 if how == RENAME else self.random.randrange(asking, usual.instants) + 1
        seed = self.random.randrange(1 << 30)
        fault = Fault(str(self.root), how, at, number=number, seed=seed, forgets=self.forgets)
        about = f"{kind}, {how} at {at}" + (f" ({errno.errorcode[number]})" if how == ERROR else "")
        self.cluster.record_requests()
        if how == ANY_TIME:
            at_s = self.random.uniform(0.3, 1) * usual.seconds
            outcome = self.under(Fault(str(self.root), KILL, _NEVER), words, at_s)
        else:
            outcome = self.under(fault, words)
        self._count(how)
        problems = [*self._judge_words(how, outcome), *self._torn()]
        problems += self._judge(kind, how, outcome, before, usual.after)
        self.figures.problems += [f"round {self.figures.rounds}: {about}: {item}" for item in problems]
        self.figures.rounds += 1

    def _as_usual(self, kind: str) -> Usual:
        words, _ = self._begin(kind)
        instants = self.root / "instants"
        begun = time.monotonic()
        outcome = self.under(Fault(str(self.root), KILL, _NEVER, told=str(instants)), words)
        seconds = time.monotonic() - begun
        assert outcome.exit_code == 0, (kind, outcome)
        after = self._look(kind)
        count, asking = map(int, instants.read_text(encoding="utf-8").split())
        instants.unlink()
        if kind in LOCAL_KINDS:
            self.run("local", "down")
        self._known = self._history() or set()
        return Usual(count, asking, seconds, after)

    def _begin(self, kind: str) -> tuple[tuple[str, ...], object]:
        """Makes what the command begins on; returns its words, and what is there before."""
        if kind in CLUSTER_KINDS:
            prepare(self.cluster)
            for record in (self.root / "state" / "journal" / "resends").glob("*.ndjson"):
                record.unlink()  # it speaks of letters of the same ids, of before the cluster was emptied
            words = CLUSTER_KINDS[kind].words
        elif kind in FILE_KINDS:
            FILE_KINDS[kind].begin(self.root)
            words = FILE_KINDS[kind].words(self.root, self.cluster)
        else:
            if kind == "local down":
                assert self.run("local", "up", "--memory").exit_code == 0
            words = ("local", "down") if kind == "local down" else ("local", "up", "--memory")
        return words, self._look(kind)

    def _look(self, kind: str) -> object:
        if kind in CLUSTER_KINDS:
            return state_of(self.cluster)
        return FILE_KINDS[kind].look(self.root) if kind in FILE_KINDS else None

    def _count(self, how: str) -> None:
        self.figures.kills += how in (KILL, ANY_TIME)
        self.figures.power_losses += how == POWER
        self.figures.disk_errors += how in (ERROR, RENAME)

    # Judgement

    def _judge_words(self, how: str, outcome: Outcome) -> Iterator[str]:
        if "Traceback" in outcome.stderr or "has a bug" in outcome.stderr:
            yield f"it told of a bug: {outcome.stderr[-400:]}"
        if how in (ERROR, RENAME) and outcome.exit_code not in (0, 2, 74):
            yield f"exit code {outcome.exit_code}: {outcome.stderr[-400:]}"
        advised = "next: " in outcome.stderr or "; free its disk" in outcome.stderr
        if how in (ERROR, RENAME) and outcome.exit_code in (2, 74) and not advised:
            yield f"it does not say what to do: {outcome.stderr[-400:]}"

    def _torn(self) -> Iterator[str]:
        for file in (self.root / "state").rglob("*.json"):
            try:
                json.loads(file.read_bytes())
            except ValueError as error:
                yield f"{file.name} is torn: {error}"

    def _judge(self, kind: str, how: str, outcome: Outcome, before: object, after: object) -> Iterator[str]:
        if kind in CLUSTER_KINDS:
            yield from self._judge_cluster(CLUSTER_KINDS[kind], how, outcome, before, after)
        elif kind in FILE_KINDS:
            yield from self._judge_files(FILE_KINDS[kind], how, outcome, before, after)
        else:
            yield from self._judge_local()

    def _history(self) -> set[str] | None:
        outcome = self.run("history", "-o", "json")
        return {item["id"] for item in outcome.json["changes"]} if outcome.exit_code == 0 else None

    def _judge_cluster(
        self, kind: ClusterKind, how: str, outcome: Outcome, before: object, after: object
    ) -> Iterator[str]:
        sent = [item for item in self.cluster.requests() if item.code in CHANGING]
        ids = self._history()
        if ids is None:
            yield "history cannot be read"
            return
        new, self._known = ids - self._known, ids
        now = state_of(self.cluster)
        if how in (ERROR, RENAME) and outcome.exit_code == 74 and sent:
            yield f"exit 74 although {len(sent)} changing requests were sent"
        if outcome.exit_code == 0:
            self.figures.done += 1
            if now != after:
                yield f"it ended with 0, and the cluster is not as planned: {_difference(now, after)}"
        elif not new:
            self.figures.untouched += 1
            if sent or now != before:
                self.figures.sent_without_journal += bool(sent)
                yield f"no journal knows of {len(sent)} changing requests: {_difference(now, before)}"
        elif len(new) > 1:
            yield f"one change has {len(new)} records"
        else:
            yield from self._settle(kind, new.pop(), before, after)

    def _settle(self, kind: ClusterKind, change: str, before: object, after: object) -> Iterator[str]:
        """Goes on or back by what mqctl offers."""
        forward = kind.forward or (kind.words if kind.again else None)
        back = kind.back is not None and (forward is None or self.random.random() < 0.5)
        template = kind.back if back else forward
        assert template is not None
        words = [change if word == "ID" else word for word in template]
        outcome = self.run(*words)
        self._known = self._history() or self._known
        wanted = before if back else after
        now = state_of(self.cluster)
        self.figures.taken_back += back
        self.figures.finished += not back
        if outcome.exit_code not in (0, 76) or now != wanted:
            difference = _difference(now, wanted)
            yield f"mqctl {' '.join(words)} ended with {outcome.exit_code}: {outcome.stderr[-300:]} {difference}"

    def _judge_files(self, kind: FileKind, how: str, outcome: Outcome, before: object, after: object) -> Iterator[str]:
        now = kind.look(self.root)
        if kind.undo is not None:
            yield from self._undo(kind.undo)
            now = before if outcome.exit_code else now
            if kind.look(self.root) != before:
                yield "undo did not bring the files back"
        if now not in (before, after) or (outcome.exit_code == 0 and how != POWER and now != after):
            yield f"the file is neither old nor new: {now!r}"
        self.figures.untouched += now == before
        self.figures.done += now == after
        if kind.reader is not None and now:
            read = self.run(*kind.reader(self.root))
            if read.exit_code != 0:
                yield f"it cannot be read: {read.stderr}"

    def _undo(self, sure: tuple[str, ...]) -> Iterator[str]:
        """Takes a change of files back by what `history` names, if it knows of one."""
        changes = self.run("history", "-o", "json").json["changes"]
        for item in changes:
            if item["id"] not in self._known:
                undone = self.run(*item["back"].split()[1:], *sure)
                self.figures.taken_back += 1
                if undone.exit_code not in (0, 76):
                    yield f"{item['back']} ended with {undone.exit_code}: {undone.stderr}"
        self._known = self._history() or self._known

    def _judge_local(self) -> Iterator[str]:
        """Whatever runs is found by `local down`; what is not found ends by itself."""
        down = self.run("local", "down")
        if down.exit_code not in (0, 66):
            yield f"local down ended with {down.exit_code}: {down.stderr}"
        _, alive = psutil.wait_procs(self._brokers(), 30)
        for process in alive:
            yield f"process {process.pid} stays, and local down does not find it"
            process.kill()
        self.figures.finished += 1

    def _brokers(self) -> list[psutil.Process]:
        mine = str(self.root)
        brokers = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            place = (process.info["environ"] or {}).get("MQCTL_STATE_DIR", "")
            if "embedded_broker" in (process.info["cmdline"] or ()) and place.startswith(mine):
                brokers.append(process)
        return brokers

    def check_leftovers(self) -> None:
        """Two hours later, once every command has run again, nothing is there but what belongs there."""
        if self._strange():
            past = time.time() - 7_200
            for path in self.root.rglob("*"):
                os.utime(path, (past, past))
            for kind in tuple(self._usual):
                self._as_usual(kind)
        for name in self._strange():
            self.figures.problems.append(f"after round {self.figures.rounds}: {name} stays for ever")

    def _strange(self) -> list[str]:
        files = [str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()]
        return [name for name in files if not _OURS.fullmatch(name)]


def _difference(now: object, wanted: object) -> str:
    if not isinstance(now, dict) or not isinstance(wanted, dict):
        return f"{now!r} instead of {wanted!r}"
    return "; ".join(f"{key}: {now[key]} instead of {wanted[key]}" for key in wanted if now.get(key) != wanted[key])


@contextmanager
def home(number: int, random: Random, figures: Figures) -> Iterator[Home]:
    """A new user at a new cluster; releases take turns."""
    version = ("4.9.8", "5.3.3")[number % 2]
    with (
        TemporaryDirectory(prefix="mqctl-tool-") as name,
        EmbeddedCluster(brokers=2, version=version) as cluster,
    ):
        made = Home(Path(name).resolve(), cluster, random, figures)
        try:
            yield made
        finally:
            made.run("local", "down")
            made.close()


def run(
    rounds: int,
    seed: int,
    *,
    kinds: Sequence[str] = KINDS,
    hows: Sequence[str] = HOWS,
    forgets: bool = False,
) -> Figures:
    """Runs so many rounds, with a new home and cluster every twenty.

    Args:
        forgets: leave out all syncs of mqctl, to see that the checks find that.
    """
    figures, random = Figures(), Random(seed)
    order: list[str] = []
    for number in range(0, rounds, _ROUNDS_PER_HOME):
        with home(number // _ROUNDS_PER_HOME, random, figures) as user:
            user.forgets = forgets
            for _ in range(min(_ROUNDS_PER_HOME, rounds - number)):
                order = order or random.sample(kinds, len(kinds))
                user.round(order.pop(), random.choice(hows))
            user.check_leftovers()
    return figures


if __name__ == "__main__":
    sys.exit(run_rounds("tool", __doc__, run, sys.argv[1:], rounds=500))
