"""What holds for every change, seen on the smallest kind: the lock, the second plan, the record of one that stopped."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqctl.changes.engine.journal import Journal
from mqctl.changes.engine.records import CONFIRMED, StepRecord
from mqctl.changes.engine.run import Consent
from mqctl.changes.steps.change import Save, StepChange, run_steps
from mqctl.errors import BadInputError, RefusedError, StorageError
from mqctl.model.step_plan import Step, StepPlan

KIND = "some-kind"
YES = Consent(execute=True, confirmed="x")


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("MQCTL_STATE_DIR", str(tmp_path))
    return Journal(tmp_path)


def plan(*subjects: str) -> StepPlan:
    steps = tuple(Step(subject=name, old="was", new="is") for name in subjects)
    return StepPlan(kind=KIND, target="the store", confirm="x", made_at_ms=1, steps=steps)


class Steps:
    """Two steps; the second one can fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.plans = [plan("one", "two")]
        self.done: list[str] = []

    def change(self) -> StepChange:
        return StepChange(kind=KIND, schema="some/1", make=self.make, perform=self.perform, undo_hint="mqctl undo")

    def make(self) -> StepPlan:
        return self.plans.pop() if len(self.plans) > 1 else self.plans[0]

    def perform(self, record: StepRecord, save: Save) -> None:
        for part in record.parts:
            if part.subject == "two" and self.error is not None:
                raise self.error
            self.done.append(part.subject)
            part.state, part.found = CONFIRMED, part.new
            save()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "stopped in the middle: interrupted"),
        (StorageError("could not write x", reason="no space", remedy="free its disk"), "no space; free its disk"),
    ],
)
def test_a_change_that_stops_ends_with_2_and_its_record_says_how_far_it_came(
    journal: Journal, capsys: pytest.CaptureFixture[str], error: BaseException, said: str
) -> None:
    _, code = run_steps(Steps(error).change(), YES)
    (record,) = journal.steps(KIND).all()
    assert (code, record.state, [part.state for part in record.parts]) == (2, "interrupted", ["confirmed", "planned"])
    errors = capsys.readouterr().err
    assert said in errors
    again = f"next: run the same command again; undo: mqctl undo {record.id} (shows its plan; --execute does it)"
    assert again in errors


def test_what_stops_says_so_in_chinese_and_its_command_is_to_be_typed_as_it_is(
    journal: Journal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQCTL_LANG", "zh")
    run_steps(Steps(KeyboardInterrupt()).change(), YES)
    (record,) = journal.steps(KIND).all()
    errors = capsys.readouterr().err
    assert "中途停止：已中断\n" in errors
    assert f"下一步：再次执行同一命令；回退：mqctl undo {record.id}（先显示计划；加 --execute 执行）\n" in errors


def test_nobody_else_changes_the_same_thing_meanwhile(journal: Journal) -> None:
    steps = Steps()
    with (
        journal.alone(f"{KIND} of the store", lambda _: None),
        pytest.raises(RefusedError, match="another mqctl is at it"),
    ):
        run_steps(steps.change(), YES)
    assert (steps.done, journal.steps(KIND).all()) == ([], [])
    assert run_steps(steps.change(), YES)[1] == 0


ADDRESSES = st.sets(st.sampled_from([f"192.0.2.{number}:10911" for number in range(1, 6)]))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mine=ADDRESSES, theirs=ADDRESSES, group=st.sampled_from(["billing", "orders"]))
def test_clusters_of_one_name_are_told_apart_by_their_brokers(mine: set[str], theirs: set[str], group: str) -> None:
    """A broker in common makes it the same cluster, however many of its brokers either command saw."""
    with TemporaryDirectory() as directory:
        changes = Journal(Path(directory))
        with changes.alone("group billing of DefaultCluster", lambda _: None, mine):
            same = group == "billing" and (bool(mine & theirs) or not (mine or theirs))
            refused = pytest.raises(RefusedError, match="another mqctl is at it") if same else nullcontext()
            with refused, changes.alone(f"group {group} of DefaultCluster", lambda _: None, theirs):
                pass


def test_what_is_not_as_it_was_shown_is_not_changed(journal: Journal) -> None:
    steps = Steps()
    steps.plans = [plan("one"), plan("one", "two")]  # the last one first
    with pytest.raises(BadInputError, match="has changed since the plan was made"):
        run_steps(steps.change(), YES)
    assert (steps.done, journal.steps(KIND).all()) == ([], [])
