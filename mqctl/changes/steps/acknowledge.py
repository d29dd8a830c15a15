"""What `store acknowledge` does: the note that somebody has seen to what a recovery set aside, and its way back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from mqctl.changes.engine.history import ACKNOWLEDGE
from mqctl.changes.engine.records import CONFIRMED, NOT_MOVED, StepRecord
from mqctl.changes.engine.run import Consent, journal, now_ms
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.errors import NotFoundError
from mqctl.model.counts import counted
from mqctl.model.step_plan import Step, StepPlan
from mqctl.render.document import Document
from mqctl.store.directory import StoreDirectory
from mqctl.store.set_aside import acknowledgement, set_aside_parts, write_acknowledgement
from mqctl.text import sentence

SCHEMA = "store.acknowledge/1"
_SEEN = "acknowledged"


def acknowledge_places(store: Path, wanted: Collection[str], consent: Consent) -> tuple[Document, int]:
    """Plans to acknowledge what recoveries of a store set aside, and does it when asked to.

    Args:
        wanted: which places, by their name or path; all of them when empty.

    Raises:
        NotFoundError: the store, or one of the places, is not there.
        MqctlError: it cannot be read, or nobody confirmed.
    """
    root = StoreDirectory.open(store).path.resolve()

    def make() -> StepPlan:
        parts = {place.place: place for place in set_aside_parts(root)}
        chosen = parts if not wanted else {name: parts[name] for name in (_named(parts, one) for one in wanted)}
        steps = [
            Step(
                subject=name,
                old=_SEEN if place.acknowledged else None,
                new=_SEEN,
                effect=sentence("doctor-store-names-no-longer", "doctor --store names it no longer")
                if place.sound_record_count is None
                else sentence(
                    "doctor-store-names-no",
                    "doctor --store names its {sound_record_count} no longer",
                    sound_record_count=counted(place.sound_record_count, "sound record"),
                ),
            )
            for name, place in chosen.items()
            if not place.acknowledged
        ]
        return _plan(root, steps)

    return _run(root, make, consent, undo_hint="mqctl undo")


def take_back_acknowledgement(change_id: str, consent: Consent) -> tuple[Document, int]:
    """Plans to bring back the findings of what a change acknowledged, and does it when asked to.

    Raises:
        NotFoundError: there is no such change, or its store is gone.
        MqctlError: the store cannot be read, or nobody confirmed.
    """
    past = journal().steps(ACKNOWLEDGE).read(change_id)
    root = Path(past.subject)

    def make() -> StepPlan:
        there = {place.place for place in set_aside_parts(root) if place.acknowledged}
        effect = sentence("doctor-store-names-again", "doctor --store names it again")
        gone = [Step(subject=part.subject, old=_SEEN, new=None, effect=effect) for part in past.parts]
        return _plan(root, [step for step in gone if step.subject in there])

    return _run(root, make, consent, undoes=past.id)


def _named(places: Collection[str], wanted: str) -> str:
    for name in places:
        if wanted.rstrip("/").endswith(name) or name.rpartition("/")[2] == wanted:
            return name
    raise NotFoundError(
        sentence("store-nothing-set-aside", "nothing was set aside as {wanted}", wanted=wanted),
        reason=sentence("store-places", "there is {places}", places=places or sentence("none-nothing", "nothing")),
    )


def _plan(root: Path, steps: list[Step]) -> StepPlan:
    return StepPlan(kind=ACKNOWLEDGE, target=str(root), confirm=root.name, made_at_ms=now_ms(), steps=tuple(steps))


def _run(
    root: Path, make: Callable[[], StepPlan], consent: Consent, *, undo_hint: str = "", undoes: str | None = None
) -> tuple[Document, int]:
    perform = partial(_write, root)
    change = StepChange(kind=ACKNOWLEDGE, schema=SCHEMA, make=make, perform=perform, undo_hint=undo_hint, undoes=undoes)
    return run_steps(change, consent)


def _write(root: Path, change: StepRecord, save: Save) -> None:
    """Writes or removes the notes, reads them back, and writes down what each step came to."""
    for step in change.parts:
        text = None if step.new is None else json.dumps({"change": change.id, "who": change.who, "at_ms": now_ms()})
        write_acknowledgement(root, step.subject, text)
        note = acknowledgement(root, step.subject)
        step.found = None if note is None else _SEEN
        step.state, step.reason = (
            (CONFIRMED, None)
            if note == text
            else (NOT_MOVED, sentence("store-note-reads-otherwise", "its note reads otherwise"))
        )
        save()
