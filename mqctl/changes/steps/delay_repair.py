"""What `delay repair` does with a store: the plan for delayOffset.json, carrying it out, taking it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

from mqctl.changes.engine.cautions import Touched
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, StepRecord
from mqctl.changes.engine.run import Consent, journal, now_ms
from mqctl.changes.plan.delay_repair import LevelRepair, needs_rewriting, plan_repair, table_after
from mqctl.changes.steps import delay_files
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.cli.emit import tell
from mqctl.cli.options.common import at_ms
from mqctl.errors import BadInputError, NotFoundError, RefusedError, UsageError
from mqctl.model.counts import counted
from mqctl.model.delay_state import DelayState
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.step_plan import Step, StepPlan
from mqctl.render.document import Document
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.store.config_files import DELAY_OFFSETS, delay_offsets, read_config
from mqctl.text import joined, sentence

KIND = "delay-repair"
SCHEMA = "delay.repair/1"
_MAIN, _BACKUP = delay_files.FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """What is to be repaired.

    Attributes:
        offsets: offsets asked for by level; without any, those that the queues call for.
    """

    store: Path
    levels: str | None
    at: str | None
    offsets: Mapping[int, int]
    execute: bool
    confirmed: str | None


def pairs(texts: Iterable[str]) -> dict[int, int]:
    """Reads `LEVEL=OFFSET`. Raises UsageError."""
    offsets = {}
    for text in texts:
        level, _, offset = map(decimal, text.partition("="))
        if level is None or offset is None:
            raise UsageError(
                sentence("delay-cannot-read-set", "cannot read --set {text!r}", text=text),
                remedy=sentence("delay-write-level-offset-instance", "write LEVEL=OFFSET, for instance --set 3=17"),
            )
        offsets[level] = offset
    return offsets


def repair(request: RepairRequest) -> tuple[Document, int]:
    """Plans, and repairs when asked to.

    Raises:
        RefusedError: a broker uses the store, or nobody confirmed.
        MqctlError: the store cannot be read or written.
    """
    if not request.execute and delay_files.in_use(request.store):
        tell(
            sentence(
                "delay-broker-using-store-offsets",
                "mqctl: a broker is using this store: its offsets move, and nothing can be written until it is stopped",
            )
        )
    with delay_files.alone(request.store) if request.execute else nullcontext():
        plan, text = _planned(request)

        def perform(change: StepRecord, save: Save) -> None:
            _write(request.store, change, dict.fromkeys(delay_files.FILES, text), save)

        change = StepChange(
            kind=KIND,
            schema=SCHEMA,
            make=lambda: plan,  # nobody else can use the store meanwhile
            perform=perform,
            undo_hint="mqctl delay repair --undo",
            before=delay_files.contents(request.store),
            rests_on=lambda: Touched(store=request.store, files=(DELAY_OFFSETS,)),
        )
        return run_steps(change, Consent(execute=request.execute, confirmed=request.confirmed))


def undo(change_id: str, *, execute: bool, confirmed: str | None) -> tuple[Document, int]:
    """Plans to bring both files back to what they were, and does it when asked to.

    Raises:
        NotFoundError: there is no such change.
        BadInputError: the files are no longer as that change left them.
    """
    past = journal().steps(KIND).read(change_id)
    store = Path(past.subject)
    if not store.is_dir():
        raise NotFoundError(
            sentence("delay-store-not", "the store {store} is not there", store=store),
            reason=sentence("delay-change-made", "change {change_id} was made there", change_id=change_id),
        )
    with delay_files.alone(store) if execute else nullcontext():
        now = delay_files.contents(store)
        if not _left_by(past, now):
            raise BadInputError(
                sentence("change-cannot-undone", "change {change_id} cannot be undone", change_id=change_id),
                reason=sentence(
                    "delay-backup-changed-since-broker",
                    "{main} or its backup has changed since: a broker ran, or the file was edited",
                    main=_MAIN,
                ),
                remedy=sentence(
                    "look-delay-repair-store",
                    "look at mqctl delay repair --store; --set LEVEL=OFFSET sets single levels",
                ),
            )
        steps = tuple(
            Step(subject=step.subject, old=step.new, new=step.old, effect=sentence("delay-before", "as it was before"))
            for step in past.parts
            if step.state == CONFIRMED or not past.ended
        )
        if not steps or now == past.before:
            raise RefusedError(
                sentence("change-cannot-undone", "change {change_id} cannot be undone", change_id=change_id),
                reason=sentence("none-applied", "none of it was applied"),
            )
        plan = StepPlan(kind=KIND, target=str(store), confirm=past.confirm, made_at_ms=now_ms(), steps=steps)

        def perform(change: StepRecord, save: Save) -> None:
            _write(store, change, past.before, save)

        change = StepChange(
            kind=KIND, schema=SCHEMA, make=lambda: plan, perform=perform, before=now, undoes=past.id
        )  # fmt: skip
        return run_steps(change, Consent(execute=execute, confirmed=confirmed))


def _left_by(change: StepRecord, now: Mapping[str, str | None]) -> bool:
    """Tells whether both files are as a change left them; one that was killed may have written the one and not the
    other."""
    if change.ended:
        return now == change.after
    return all(now[name] in (change.before.get(name), change.after.get(name)) for name in delay_files.FILES)


def _planned(request: RepairRequest) -> tuple[StepPlan, str]:
    """Returns the plan, and the text of the file as it will be."""
    state = _state(request)
    repairs = plan_repair(state, request.offsets)
    text = delay_files.document(_document(request.store), table_after(state, repairs))
    return _plan(request, state, repairs), text


def _state(request: RepairRequest) -> DelayState:
    moment = at_ms(request.at, datetime.now().astimezone())
    snapshot = gather_store(request.store, at_ms=moment, levels=request.levels, deep=False, parts=(Part.DELAY,))
    state = snapshot.brokers[0].delay
    if state is None or all(level.queue is None for level in state.levels):
        reason = sentence(
            "delay-consume-queues-rocksdb-not", "its consume queues are in a RocksDB, which is not read offline"
        )
        raise RefusedError(
            sentence("cannot-repair-delay-offsets", "cannot repair delay offsets of {store}", store=request.store),
            reason=reason,
        )
    return state


def _plan(request: RepairRequest, state: DelayState, repairs: tuple[LevelRepair, ...]) -> StepPlan:
    steps = [_step(item) for item in repairs]
    problem = needs_rewriting(state)
    if problem is not None:
        effect = sentence(
            "delay-broker-reads-backup-now",
            "the broker reads its backup now; after this it reads the file itself",
        )
        steps.append(Step(subject=_MAIN, old=problem, new="rewritten", effect=effect))
    steps += [
        Step(
            subject=sentence("delay-key", "key {key}", key=key),
            old=key,
            new=None,
            effect=sentence("not-delay-level-brokers", "not a delay level; brokers cannot read it"),
        )
        for key in state.rejected_keys
    ]
    store = request.store.resolve()
    return StepPlan(kind=KIND, target=str(store), confirm=store.name, made_at_ms=now_ms(), steps=tuple(steps))


def _step(item: LevelRepair) -> Step:
    parts: list[str] = [item.reason]
    if item.rescued_count:
        parts.append(
            sentence(
                "delay-not-delivered-far",
                "{rescued_count} not delivered so far will be",
                rescued_count=counted(item.rescued_count, "message"),
            )
        )
    if item.passed_count:
        parts.append(
            sentence(
                "delay-passed-not-delivered",
                "{passed_count} not delivered again",
                passed_count=counted(item.passed_count, "delivered message"),
            )
        )
    if item.again_count:
        parts.append(
            sentence(
                "delay-delivered-again",
                "{again_count} delivered again",
                again_count=counted(item.again_count, "message"),
            )
        )
    if item.lost_count:
        parts.append(
            sentence(
                "delay-never-delivered", "{lost_count} never delivered", lost_count=counted(item.lost_count, "message")
            )
        )
    return Step(
        subject=sentence("common-level", "level {level}", level=item.level),
        old=None if item.old is None else str(item.old),
        new=str(item.new),
        effect=joined("; ", parts),
        problem=item.problem,
    )


def _document(store: Path) -> dict[str, object]:
    return dict(read_config(store / "config", DELAY_OFFSETS).value)


def _write(store: Path, change: StepRecord, texts: Mapping[str, str | None], save: Save) -> None:
    """Writes both files, reads them back, and notes what each step came to."""
    change.after = dict(texts)
    save()
    delay_files.write(store, texts)
    same = delay_files.contents(store) == dict(texts)
    table = delay_offsets(read_config(store / "config", DELAY_OFFSETS)).offsets
    for step in change.parts:
        level = decimal(step.subject.removeprefix("level ")) if step.subject.startswith("level ") else None
        current = table.get(level) if level is not None else None
        step.found = (None if current is None else str(current)) if level is not None else step.new
        done = same and step.found == step.new
        step.state, step.reason = (
            (CONFIRMED, None)
            if done
            else (
                NOT_MOVED,
                sentence("delay-reads-otherwise", "{main} or {backup} reads otherwise", main=_MAIN, backup=_BACKUP),
            )
        )
    save()
