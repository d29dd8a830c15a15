"""Each promise has a history that breaks it and is accused of exactly that, and a twin that is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.drill.checker import Checker
from mqctl.drill.declarations import Allowances
from mqctl.drill.history import Kind
from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.drill_verdict import DrillState, Promise
from tests.drill.written import CONSUMER, OTHER, Written, accused

RESTART = Allowances(repeats_back_us=5_000, settle_us=5_000)
CRASH = Allowances(repeats_back_us=5_000, settle_us=5_000, loses_back_us=5_000)


def sound(mode: str = "orderly") -> Written:
    return Written(mode).stored(0, 0, key=1).delivered(0, 0).stored(1, 1, key=1).delivered(1, 1).committed(2)


def test_a_sound_history_is_kept(tmp_path: Path) -> None:
    verdict = sound().ends().judged(tmp_path)
    assert (verdict.state, accused(verdict), verdict.sent, verdict.delivered) == (DrillState.KEPT, {}, 2, 2)
    looked = {each.promise: each.looked_at for each in verdict.promises}
    assert looked[Promise.LOST] == looked[Promise.KEY_ORDER] == looked[Promise.QUEUE_ORDER] == 2


BROKEN: dict[Promise, tuple[Written, list[str]]] = {
    Promise.LOST: (sound().stored(2, 2), ["s", "a"]),
    Promise.ROLLED_BACK: (
        sound().sent(2, transactional=1).acknowledged(2).fate(Kind.ROLLED_BACK, 2).delivered(2, 7),
        ["s", "a", "r", "d"],
    ),
    Promise.REFUSED: (sound().sent(2).fate(Kind.FAILED, 2).delivered(2, 2), ["s", "f", "d"]),
    Promise.UNSENT: (sound().delivered(9, 2), ["d"]),
    Promise.REPEATED: (sound().delivered(1, 1), ["s", "a", "d", "d"]),
    Promise.KEY_ORDER: (
        Written("key-ordered").stored(0, 0, 5).stored(1, 1, 5).delivered(1, 1).delivered(0, 0),
        ["s", "a", "s", "a", "d", "d"],
    ),
    Promise.QUEUE_ORDER: (Written().stored(0, 0).stored(1, 1).delivered(1, 1).delivered(0, 0), ["d", "d"]),
    Promise.STORED_ORDER: (
        Written("concurrent").stored(0, 1).stored(1, 0).delivered(0, 1).delivered(1, 0), ["a", "a"],
    ),
    Promise.LATE: (
        Written("orderly", late_after_us=5_000).stored(0, 0).passes(5_000).delivered(0, 0), ["s", "a", "d"],
    ),
    Promise.EARLY: (sound().sent(2, delay_us=9_000).acknowledged(2).delivered(2, 2), ["s", "a", "d"]),
    Promise.OFFSET_BACK: (sound().committed(1), ["o", "o"]),
    Promise.COMMITTED_AHEAD: (sound().stored(2, 2).committed(3).delivered(2, 2), ["a", "o", "d"]),
}  # fmt: skip


@pytest.mark.parametrize("promise", Promise)
def test_it_is_accused_of_exactly_that_with_the_lines_that_show_it(promise: Promise, tmp_path: Path) -> None:
    history, letters = BROKEN[promise]
    verdict = history.passes(0).ends().judged(tmp_path)
    assert (verdict.state, accused(verdict)) == (DrillState.VIOLATED, {promise: (0, 1)})
    (breach,) = verdict.breaches
    assert [line.text[0] for line in breach.excerpt] == letters
    texts = (tmp_path / "drill.history").read_text().splitlines()
    assert [texts[line.line - 1] for line in breach.excerpt] == [line.text for line in breach.excerpt]


def test_what_an_event_explains_comes_soon_after_it(tmp_path: Path) -> None:
    """A repeat long after an event is explained by it only if nobody was there meanwhile."""
    late = sound().leaves(CONSUMER).joins(OTHER).passes(50_000).delivered(1, 1, actor=OTHER)
    assert accused(late.ends().judged(tmp_path)) == {Promise.REPEATED: (0, 1)}
    absent = sound().leaves(CONSUMER).passes(500_000).joins(OTHER).passes(4_000).delivered(1, 1, actor=OTHER)
    assert accused(absent.ends().judged(tmp_path)) == {Promise.REPEATED: (1, 0)}
    replay = Allowances(repeats_back_us=1 << 40, settle_us=5_000, again_us=90_000)
    replayed = sound().happens("offsets were moved", replay).passes(80_000).delivered(1, 1)
    assert accused(replayed.ends().judged(tmp_path)) == {Promise.REPEATED: (1, 0)}
    too_late = sound().happens("offsets were moved", replay).passes(95_000).delivered(1, 1)
    assert accused(too_late.ends().judged(tmp_path)) == {Promise.REPEATED: (0, 1)}


def test_what_was_asked_for_again_when_something_happened_may_come_twice_later(tmp_path: Path) -> None:
    doubled = sound().stored(2, 2).happens("broker-a was killed", RESTART)
    doubled.delivered(2, 2, later=1).delivered(2, 2, later=1).passes(50_000)
    doubled.delivered(2, 0, queue=2).delivered(2, 1, queue=2)
    assert accused(doubled.ends().judged(tmp_path)) == {Promise.REPEATED: (1, 0)}
    calm = sound().stored(2, 2).delivered(2, 2, later=1).delivered(2, 0, queue=2).delivered(2, 1, queue=2)
    assert accused(calm.ends().judged(tmp_path)) == {Promise.REPEATED: (0, 1)}


def test_a_clock_that_was_set_explains_what_came_early_by_as_much(tmp_path: Path) -> None:
    def early(allowed_us: int) -> dict[Promise, tuple[int, int]]:
        sent = sound().sent(2, delay_us=9_000).acknowledged(2)
        jumped = sent.happens("the clock was set", Allowances(early_us=allowed_us)).delivered(2, 2)
        return accused(jumped.ends().judged(tmp_path))

    assert (early(9_000), early(100)) == ({Promise.EARLY: (1, 0)}, {Promise.EARLY: (0, 1)})


def test_what_is_stored_while_a_queue_is_shorter_than_its_readers_may_be_lost(tmp_path: Path) -> None:
    """Its offsets are given a second time; readers that had them pass by, until a pull corrects them."""
    cut = sound().happens("broker-a lost power", CRASH)
    assert accused(cut.stored(2, 1).ends().judged(tmp_path))[Promise.LOST] == (1, 0)
    settled = sound().happens("broker-a lost power", CRASH).passes(6_000).stored(2, 2)
    assert accused(settled.ends().judged(tmp_path)) == {Promise.LOST: (0, 1)}


def test_what_an_event_explains_is_inside(tmp_path: Path) -> None:
    killed = sound().leaves(CONSUMER).joins(OTHER).delivered(1, 1, actor=OTHER)
    assert accused(killed.ends().judged(tmp_path)) == {Promise.REPEATED: (1, 0)}
    long_before = sound().passes(5_000).leaves(CONSUMER).joins(OTHER).delivered(1, 1, actor=OTHER)
    assert accused(long_before.ends().judged(tmp_path)) == {Promise.REPEATED: (0, 1)}
    crashed = sound().stored(2, 2).happens("broker-a lost power", CRASH)
    verdict = crashed.ends().judged(tmp_path)
    assert (verdict.state, accused(verdict)) == (DrillState.KEPT, {Promise.LOST: (1, 0)})
    assert verdict.breaches[0].allowed_by is not None
    assert "lost power" in verdict.breaches[0].allowed_by
    restarted = sound().stored(2, 2).happens("broker-a restarted", RESTART)
    assert accused(restarted.ends().judged(tmp_path)) == {Promise.LOST: (0, 1)}
    back = sound().happens("broker-a restarted", RESTART).committed(1)
    assert accused(back.ends().judged(tmp_path)) == {Promise.OFFSET_BACK: (1, 0)}
    forward = sound().stored(2, 2).happens("offsets moved to the end", Allowances(skips=True)).committed(3)
    assert accused(forward.ends().judged(tmp_path)) == {Promise.LOST: (1, 0)}


def test_a_key_may_change_its_queue_only_where_the_route_moved(tmp_path: Path) -> None:
    def overtaken(allows: Allowances) -> Written:
        history = Written("key-ordered").stored(0, 0, 5).happens("broker-a died", allows).stored(1, 0, 5, queue=1)
        return history.delivered(1, 0, queue=1).delivered(0, 0).ends()

    assert accused(overtaken(Allowances(moves_route=True)).judged(tmp_path)) == {Promise.KEY_ORDER: (1, 0)}
    assert accused(overtaken(Allowances(settle_us=9_000)).judged(tmp_path)) == {Promise.KEY_ORDER: (0, 1)}


def test_modes_promise_what_they_promise(tmp_path: Path) -> None:
    def swapped(mode: str) -> Written:
        return Written(mode).stored(0, 0, 5).stored(1, 1, 5).delivered(1, 1).delivered(0, 0).ends()

    promises = {
        mode: set(accused(swapped(mode).judged(tmp_path))) for mode in ("concurrent", "orderly", "key-ordered", "pop")
    }
    assert promises == {
        "concurrent": set(),
        "pop": set(),
        "key-ordered": {Promise.KEY_ORDER},
        "orderly": {Promise.KEY_ORDER, Promise.QUEUE_ORDER},
    }


def test_what_was_asked_for_again_comes_again_and_must_come(tmp_path: Path) -> None:
    again = sound("concurrent").stored(2, 2).delivered(2, 2, later=1)
    assert accused(again.delivered(2, 0, queue=2).ends().judged(tmp_path)) == {}
    never = sound("concurrent").stored(2, 2).delivered(2, 2, later=1)
    assert accused(never.ends().judged(tmp_path)) == {Promise.LOST: (0, 1)}


def test_a_send_without_an_answer_owes_nothing_and_may_be_there_twice(tmp_path: Path) -> None:
    missing = sound().sent(2).fate(Kind.UNKNOWN, 2)
    assert accused(missing.ends().judged(tmp_path)) == {}
    twice = sound().sent(2).fate(Kind.UNKNOWN, 2).delivered(2, 2).delivered(2, 3)
    assert accused(twice.ends().judged(tmp_path)) == {}


def test_each_instance_of_a_broadcast_group_is_owed_what_was_sent_while_it_was_there(tmp_path: Path) -> None:
    both = Written("broadcast").joins(OTHER).stored(0, 0).delivered(0, 0).delivered(0, 0, actor=OTHER)
    assert accused(both.ends().judged(tmp_path)) == {}
    one = Written("broadcast").joins(OTHER).stored(0, 0).delivered(0, 0).ends().judged(tmp_path)
    assert accused(one) == {Promise.LOST: (0, 1)}
    assert one.breaches[0].reader == "g/c3"
    gone = (
        Written("broadcast")
        .joins(OTHER)
        .stored(0, 0)
        .delivered(0, 0)
        .leaves(OTHER)
        .leaves(CONSUMER)
        .ends()
        .judged(tmp_path)
    )
    assert (gone.state, accused(gone)) == (DrillState.KEPT, {})


def test_an_interrupted_history_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    path = sound().stored(2, 2).file(tmp_path)
    path.write_bytes(path.read_bytes() + b"d 17 2 1 2")
    verdict = Checker(path).judge()
    assert (verdict.state, verdict.complete, verdict.cut_bytes) == (DrillState.NOT_JUDGED, False, 10)
    assert (verdict.undecided, accused(verdict)) == ({"g": 1}, {})
    broken = Checker(sound().delivered(1, 1).file(tmp_path)).judge()
    assert (broken.state, accused(broken)) == (DrillState.VIOLATED, {Promise.REPEATED: (0, 1)})


def test_a_group_that_everybody_has_left_is_not_judged_by_what_came_afterwards(tmp_path: Path) -> None:
    verdict = sound().leaves(CONSUMER).stored(2, 2).ends().judged(tmp_path)
    assert (verdict.state, verdict.undecided, accused(verdict)) == (DrillState.NOT_JUDGED, {"g": 1}, {})


def test_nothing_sent_is_no_promise_kept(tmp_path: Path) -> None:
    assert Written().ends().judged(tmp_path).state is DrillState.NOT_JUDGED


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"d 17 2 1 2", "line 12 "),
        (b"s1 2 3 4 5 6 7 8 ", "line 12 "),
        (b"d 1-2 3 4 5 6 7 8 9", "line 12 "),
        (b"x 1 2 3 4 5 6 7 8", "line 12 "),
        (b"d 1 2 3 4 5 6 7 999999999999999999", "line 12 "),
        (b"d 1 2 3 4 5 6 7 99999999999999999999999", "line 12 "),
        (b"", "line 12 "),
        (b'!{"event":"went"}', "line 12 "),
        (b"!\xff", "line 12 "),
        (b'!{"event":"left","actor":77}', "line 12 "),
    ],
)
def test_a_line_that_is_none_is_named(line: bytes, reason: str, tmp_path: Path) -> None:
    history = sound()
    history.lines.insert(11, line)
    with pytest.raises(BadInputError) as raised:
        history.ends().judged(tmp_path)
    assert reason in str(raised.value)


def test_what_is_no_history_says_so(tmp_path: Path) -> None:
    file = tmp_path / "drill.history"
    for text in (b"", b"mqctl-drill-history 2\n", b"PK\x03\x04"):
        file.write_bytes(text)
        with pytest.raises(BadInputError, match="not a history"):
            Checker(file).judge()
    with pytest.raises(NotFoundError):
        Checker(tmp_path / "none").judge()
