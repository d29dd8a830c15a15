"""Runs a drill: starts clients, gives orders, lets the schedule happen, watches offsets, waits until all is quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import sleep

from mqctl.drill.allowing import Protocol, span_us
from mqctl.drill.client_lines import DrillTask
from mqctl.drill.client_process import ClientProcess
from mqctl.drill.declarations import (
    Allowances,
    ConsumerJoined,
    ConsumerLeft,
    DrillBegan,
    DrillEnded,
    GroupNamed,
    Happened,
    ProducerNamed,
)
from mqctl.drill.ground import DrillGround, DrillNames
from mqctl.drill.plan import (
    Ask,
    BrokerStep,
    Burst,
    DrillPlan,
    GroupPlanned,
    Join,
    JumpClock,
    Kill,
    KillBrokerFor,
    Leave,
    LosePower,
    ProducerPlanned,
    ResetOffsets,
    Step,
    StopBrokerFor,
)
from mqctl.drill.writing import HistoryWriter
from mqctl.model.counts import counted
from mqctl.text import composed, sentence

_POLL_S = 0.05
_LOOK_US = 500_000
_QUIET_US = 1_000_000
"""How long a drill listens on when nothing is owed any more: what comes twice comes then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillMeans:
    """What a conductor works with.

    Attributes:
        program: words of the client program; `{role}` in them is `producer` or `consumer`.
        tell: told of each step, one line each.
        ask: shows the operator a text and returns when it is done.
        directory: for logs and files of clients.
        keys: access and secret key, where the cluster wants them.
    """

    program: tuple[str, ...]
    tell: Callable[[str], None]
    ask: Callable[[str], None]
    directory: Path
    keys: tuple[str, str] | None = None


class Conductor:
    """Runs one drill. What it writes can be judged, wherever it is interrupted."""

    def __init__(
        self, plan: DrillPlan, names: DrillNames, ground: DrillGround, history: HistoryWriter, means: DrillMeans
    ) -> None:
        self._plan = plan
        self._names = names
        self._ground = ground
        self._history = history
        self._means = means
        self._protocol = Protocol(plan)
        self._clients: dict[str, ClientProcess] = {}
        self._groups = {each.name: number for number, each in enumerate(plan.groups)}
        self._serial = {each.name: count(1) for each in plan.groups}
        self._ordered: dict[str, int] = {}
        self._looked_us = 0
        self._quota_us = span_us(plan.quota.time)
        self._back: list[tuple[int, str, Happened]] = []

    def conduct(self) -> None:
        """Runs the drill on topic and groups that are there. Raises MqctlError: it could not be run to its end."""
        self._declare()
        self._run()

    def _run(self) -> None:
        with self._ended():
            for group in self._plan.groups:
                self._join(group, group.consumers)
            self._start_producers()
            began_us = self._history.at_us()
            for at_us, step in sorted(self._timetable(), key=lambda item: item[0]):
                self._wait_until(began_us + at_us)
                self._happen(step)
            while self._back:  # brokers come back, whatever the quota says
                self._tick()
            self._rest()
            for name in list(self._clients):
                self._leave(name, tell=False)
            self._look()
        self._history.declare(DrillEnded(at_us=self._history.at_us()))

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """Leaves no process behind, whatever happens."""
        try:
            yield
        finally:
            while self._clients:
                self._clients.popitem()[1].kill()
            self._history.flush()

    def _declare(self) -> None:
        limits = self._plan.limits
        self._history.declare(
            DrillBegan(
                topic=self._names.topic,
                began_ms=self._history.began_ms,
                plan=self._plan.name,
                lost_after_us=span_us(limits.lost_after),
                late_after_us=None if limits.late_after is None else span_us(limits.late_after),
                early_us=span_us(limits.early),
                membership=self._protocol.membership(),
            )
        )
        for group in self._plan.groups:
            self._history.declare(GroupNamed(group=self._groups[group.name], name=group.name, mode=group.mode))

    # Clients

    def _task(self, of: ProducerPlanned | GroupPlanned, name: str) -> DrillTask:
        access_key, secret_key = self._means.keys or (None, None)
        shared = DrillTask(
            role="producer" if isinstance(of, ProducerPlanned) else "consumer",
            name=name,
            namesrv=self._ground.namesrv,
            topic=self._names.topic,
            group=self._names.group(of.name),
            time_scale=self._plan.time_scale,
            access_key=access_key,
            secret_key=secret_key,
            directory=str(self._means.directory),
        )
        from msgspec.structs import replace

        if isinstance(of, ProducerPlanned):
            return replace(
                shared, sends=of.sends, keys=of.keys if of.sends == "keyed" else 0, body_bytes=of.body_bytes,
                delay_level=of.delay_level if of.sends == "delayed" else 0, rolls_back=of.rolls_back,
            )  # fmt: skip
        return replace(shared, mode=of.mode, threads=of.threads, fails=of.fails, work_ms=of.work_ms)

    def _start(self, task: DrillTask, reader: int) -> ClientProcess:
        words = tuple(word.replace("{role}", task.role) for word in self._means.program)
        client = ClientProcess(task, words, partial(self._history.said, task.name, reader))
        self._clients[task.name] = client
        return client

    def _join(self, group: GroupPlanned, consumers: int) -> None:
        joining = []
        for _ in range(consumers):
            name = f"{group.name}-{next(self._serial[group.name])}"
            actor = self._history.actor(name)
            joining.append((actor, self._start(self._task(group, name), self._reader(group, actor))))
        for actor, client in joining:
            client.wait_until_ready()
            at_us = self._history.at_us()
            self._history.declare(
                ConsumerJoined(at_us=at_us, actor=actor, name=client.task.name, group=self._groups[group.name])
            )
            self._means.tell(sentence("drill-joined", "{task} joined ({mode})", task=client.task.name, mode=group.mode))

    def _reader(self, group: GroupPlanned, actor: int) -> int:
        """Each instance of a broadcast group is a reader of its own."""
        return len(self._groups) + actor if group.mode == "broadcast" else self._groups[group.name]

    def _leave(self, name: str, how: str = "asked", *, tell: bool = True) -> None:
        client = self._clients.pop(name, None)
        if client is None:
            return
        at_us = self._history.at_us()
        client.kill() if how == "killed" else client.stop()
        if client.task.role == "consumer":
            self._history.declare(ConsumerLeft(at_us=at_us, actor=self._history.actor(name), how=how))
            if how == "asked":  # leaving takes a while, in which others take over already
                self._history.declare(
                    ConsumerLeft(at_us=self._history.at_us(), actor=self._history.actor(name), how=how)
                )
        if tell:
            self._means.tell(
                sentence("drill-killed", "{name} was killed", name=name)
                if how == "killed"
                else sentence("drill-left-group", "{name} left its group", name=name)
            )

    def _start_producers(self) -> None:
        for each in self._plan.producers:
            actor = self._history.actor(each.name)
            self._history.owed.body_bytes[actor] = each.body_bytes
            self._history.declare(ProducerNamed(actor=actor, name=each.name))
            self._start(self._task(each, each.name), -1)
        for each in self._plan.producers:
            self._clients[each.name].wait_until_ready()
        for each in self._plan.producers:
            self._send(each.name, each.messages, each.rate)

    def _send(self, name: str, messages: int, rate: int) -> None:
        self._ordered[name] = self._ordered.get(name, 0) + messages
        self._clients[name].order(" ".join(("send", str(messages), str(rate))))

    # What happens

    def _timetable(self) -> list[tuple[int, Step]]:
        return [(span_us(step.at), step) for step in self._plan.schedule]

    def _happen(self, step: Step) -> None:
        match step:
            case Join():
                self._join(next(each for each in self._plan.groups if each.name == step.group), step.consumers)
            case Leave():
                self._leave(step.consumer)
            case Kill():
                self._leave(step.consumer, "killed")
            case Burst():
                self._send(step.producer, step.messages, 0)
                self._means.tell(
                    sentence(
                        "drill-sends-once",
                        "{producer} sends {messages} at once",
                        producer=step.producer,
                        messages=step.messages,
                    )
                )
            case KillBrokerFor():
                self._broker(
                    "kill_broker",
                    step,
                    sentence("drill-killed", "{name} was killed", name=step.broker),
                    self._protocol.broker(),
                )
            case StopBrokerFor():
                self._broker(
                    "stop_broker",
                    step,
                    sentence("drill-stopped", "{broker} was stopped", broker=step.broker),
                    self._protocol.broker(),
                )
            case LosePower():
                self._broker(
                    "lose_power",
                    step,
                    sentence("drill-lost-power", "{broker} lost power", broker=step.broker),
                    self._protocol.power(step.loses_back),
                )
            case JumpClock():
                self._jump(step)
            case ResetOffsets():
                self._reset(step)
            case Ask():
                self._asked(step)

    def _broker(self, do: str, step: BrokerStep, what: str, allows: Allowances) -> None:
        at_us = self._history.at_us()
        away = Happened(at_us=at_us, what=what, allows=allows)
        self._history.declare(away)
        self._ground.broker(do, step.broker)
        self._means.tell(away.what)
        if step.back_after is not None:
            self._back.append((at_us + span_us(step.back_after), step.broker, away))

    def _bring_back(self) -> None:
        for each in list(self._back):
            due_us, broker, away = each
            if due_us <= self._history.at_us():
                self._ground.broker("start_broker", broker)
                self._back.remove(each)
                until_us = self._history.at_us()
                self._happened(
                    sentence("drill-came-back", "{what}, and came back", what=away.what),
                    away.at_us,
                    until_us,
                    away.allows,
                )

    def _jump(self, step: JumpClock) -> None:
        by_us = span_us(step.by.removeprefix("-")) * (-1 if step.by.startswith("-") else 1)
        by = step.by.removeprefix("-")
        what = (
            sentence("drill-brokers-clock-set-forward", "the brokers' clock was set forward by {by}", by=by)
            if by_us > 0
            else sentence("drill-brokers-clock-set-back", "the brokers' clock was set back by {by}", by=by)
        )
        self._happened(what, self._history.at_us(), None, self._protocol.clock(by_us))
        self._ground.jump_clock(by_us // 1000)

    def _happened(self, what: str, since_us: int, until_us: int | None, allows: Allowances) -> None:
        self._history.declare(Happened(at_us=since_us, until_us=until_us, what=what, allows=allows))
        self._means.tell(what)

    def _reset(self, step: ResetOffsets) -> None:
        at_us = self._history.at_us()
        what = sentence(
            "drill-offsets-moved-back", "offsets of {group} were moved {back} back", group=step.group, back=step.back
        )
        self._history.declare(Happened(at_us=at_us, what=what, allows=self._protocol.reset()))
        self._ground.reset(self._names.group(step.group), self._history.epoch_ms() - span_us(step.back) // 1000)
        self._happened(what, at_us, self._history.at_us(), self._protocol.reset())

    def _asked(self, step: Ask) -> None:
        at_us = self._history.at_us()
        allows = self._protocol.broker() if step.means == "broker" else self._protocol.membership()
        self._history.declare(
            Happened(at_us=at_us, what=sentence("drill-asked", "asked: {step}", step=step.text), allows=allows)
        )
        self._history.flush()
        self._means.ask(step.text)
        self._happened(sentence("drill-done", "done: {step}", step=step.text), at_us, self._history.at_us(), allows)

    # Waiting

    def _wait_until(self, at_us: int) -> None:
        while self._history.at_us() < at_us and not self._over_quota():
            self._tick()

    def _tick(self) -> None:
        sleep(_POLL_S)
        if self._history.trouble is not None:
            raise self._history.trouble
        if self._history.at_us() - self._looked_us > _LOOK_US:
            self._look()
            self._history.flush()
        self._bring_back()
        for name, client in list(self._clients.items()):
            if not client.alive:
                self._crashed(name, client)

    def _crashed(self, name: str, client: ClientProcess) -> None:
        at_us = self._history.at_us()
        del self._clients[name]
        client.kill()
        if client.task.role == "consumer":
            self._history.declare(ConsumerLeft(at_us=at_us, actor=self._history.actor(name), how="crashed"))
        self._means.tell(
            sentence(
                "drill-ended-itself", "{name} ended by itself: {last_words}", name=name, last_words=client.last_words()
            )
        )

    def _look(self) -> None:
        self._looked_us = self._history.at_us()
        for group in self._plan.groups:
            if group.mode == "broadcast":
                continue
            for broker, queue_id, offset in self._ground.offsets(self._names.group(group.name)):
                self._history.offset(self._groups[group.name], self._names.topic, broker, queue_id, offset)

    def _over_quota(self) -> bool:
        owed, quota = self._history.owed, self._plan.quota
        over = ""
        if self._history.at_us() > self._quota_us:
            over = sentence("drill-time", "the time of {time}", time=quota.time)
        elif sum(owed.sent.values()) > quota.messages:
            over = counted(quota.messages, "message")
        elif owed.sent_bytes > quota.mebibytes << 20:
            over = composed("{size_bytes}", size_bytes=quota.mebibytes << 20)
        if not over:
            return False
        producing = [name for name, client in self._clients.items() if client.task.role == "producer"]
        for name in producing:
            self._clients.pop(name).kill()
        if producing:
            self._means.tell(
                sentence("drill-quota-used-up-nothing", "the quota is used up: {over}; nothing more is sent", over=over)
            )
        return True

    def _rest(self) -> None:
        """Waits until everything that was ordered is sent, and everything that is owed has come or is lost."""
        while self._sending() and not self._over_quota():
            self._tick()
        self._means.tell(sentence("drill-all-sent-waiting-still", "all is sent; waiting for what is still owed"))
        patience_us = span_us(self._plan.limits.lost_after)
        while self._owing() and self._history.at_us() <= self._quota_us + patience_us:
            if self._history.at_us() > self._history.owed.last_due_us + patience_us + _QUIET_US:
                break
            self._tick()
        quiet_us = self._history.at_us() + _QUIET_US
        while self._history.at_us() < quiet_us:
            self._tick()

    def _sending(self) -> bool:
        answered = self._history.owed.answered
        return any(
            name in self._clients and answered[self._history.actor(name)] < messages
            for name, messages in self._ordered.items()
        )

    def _owing(self) -> bool:
        readers = [self._groups[each.name] for each in self._plan.groups if each.mode != "broadcast"]
        groups = {self._names.group(each.name): each for each in self._plan.groups}
        for name, client in self._clients.items():
            if client.task.role == "consumer" and groups[client.task.group].mode == "broadcast":
                readers.append(self._reader(groups[client.task.group], self._history.actor(name)))
        with suppress(RuntimeError):  # a table grew meanwhile: it is looked at again
            return any(self._history.owed.missing(reader) for reader in readers)
        return True
