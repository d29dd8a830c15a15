"""Changes of owners in traces, by hand: what each did to the order of messages."""

from __future__ import annotations

from mqctl.allocation.handovers import Delivery, Handover, handovers
from mqctl.model.queue import MessageQueue
from tests.each import each

QUEUE = MessageQueue("T", "b", 0)
Given = tuple[str, int, int, int | None]


def changes(*rows: Given, queue: MessageQueue = QUEUE) -> list[Handover]:
    """Deliveries as client, offset, begin and end."""
    return handovers(
        Delivery(queue=queue, queue_offset=offset, client=client, began_ms=began, ended_ms=ended)
        for client, offset, began, ended in rows
    )


def told(change: Handover) -> tuple[str, str, int, int, int, int, int, int | None]:
    return (
        *(change.old, change.new, change.at_ms, change.at_offset),
        *(change.unfinished_count, change.late_count, change.again_count, change.last_ms),
    )


@each(
    "rows, expected, kept",
    [
        ([("a", 0, 10, 11), ("a", 1, 12, 13)], None, None),
        ([("a", 0, 10, 11), ("b", 1, 12, 13)], ("a", "b", 12, 1, 0, 0, 0, None), True),
        # The end of the old owner's last message is the new one's beginning, or a moment later.
        ([("a", 0, 10, 12), ("b", 1, 12, 13)], ("a", "b", 12, 1, 0, 0, 0, None), True),
        ([("a", 0, 10, 13), ("b", 1, 12, 13)], ("a", "b", 12, 1, 1, 0, 0, 13), False),
        ([("a", 0, 10, 19), ("a", 1, 11, 15), ("b", 2, 12, 13)], ("a", "b", 12, 2, 2, 0, 0, 19), False),
        ([("a", 0, 10, None), ("b", 1, 12, 13)], ("a", "b", 12, 1, 0, 0, 0, None), True),
        # What both were given: from the last committed offset on.
        ([("a", 0, 10, 11), ("a", 1, 11, 12), ("b", 1, 13, 14)], ("a", "b", 13, 1, 0, 0, 1, None), True),
        (
            [("a", 0, 10, 11), ("a", 1, 11, 12), ("b", 0, 13, 14), ("b", 1, 14, 15), ("b", 2, 16, 17)],
            ("a", "b", 13, 0, 0, 0, 2, None),
            True,
        ),
        # The old owner goes on with what it had pulled.
        (
            [("a", 0, 10, 11), ("b", 3, 12, 13), ("a", 1, 14, 15), ("a", 2, 15, 18)],
            ("a", "b", 12, 3, 0, 2, 0, 18),
            False,
        ),
        ([("a", 0, 10, 11), ("b", 3, 12, 13), ("a", 1, 14, None)], ("a", "b", 12, 3, 0, 1, 0, 14), False),
        (
            [("a", 0, 10, 11), ("b", 1, 12, 13), ("b", 2, 13, 14), ("a", 1, 15, 16)],
            ("a", "b", 12, 1, 0, 1, 1, 16),
            False,
        ),
        # Late with one message, and unfinished with another that ends even later.
        (
            [("a", 0, 10, 30), ("b", 2, 12, 13), ("a", 1, 14, 15)],
            ("a", "b", 12, 2, 1, 1, 0, 30),
            False,
        ),
        # The same message again to the same client is no handover.
        (
            [("a", 0, 10, 11), ("a", 0, 12, 13), ("b", 1, 14, 15), ("b", 1, 15, 16)],
            ("a", "b", 14, 1, 0, 0, 0, None),
            True,
        ),
    ],
)
def test_one_change(
    rows: list[Given], expected: tuple[str, str, int, int, int, int, int, int | None] | None, kept: bool | None
) -> None:
    for order in (rows, rows[::-1]):
        listed = changes(*order)
        assert [told(item) for item in listed] == ([expected] if expected else [])
        assert [item.kept_order for item in listed] == ([kept] if expected else [])


def test_a_queue_that_comes_back_changes_twice() -> None:
    first, second = changes(("a", 0, 10, 11), ("b", 1, 12, 13), ("a", 2, 14, 15), ("a", 3, 16, 17))
    assert (told(first), told(second)) == (("a", "b", 12, 1, 0, 0, 0, None), ("b", "a", 14, 2, 0, 0, 0, None))


def test_who_is_late_is_late_for_its_own_last_loss() -> None:
    listed = changes(
        ("a", 0, 10, 11), ("b", 5, 12, 13), ("a", 6, 14, 15), ("c", 9, 16, 17), ("a", 7, 18, 19), ("b", 8, 19, 20)
    )
    assert [(item.old, item.new, item.late_count) for item in listed] == [("a", "b", 0), ("b", "a", 1), ("a", "c", 1)]


def test_who_never_had_the_queue_takes_it_wherever_it_begins() -> None:
    """A reset: the new owner is given what the old one had long before, and owns the queue by it."""
    (change,) = changes(("a", 5, 10, 11), ("b", 2, 12, 13))
    assert told(change) == ("a", "b", 12, 2, 0, 0, 0, None)
    # What is as far as anything before it is no late message.
    assert len(changes(("a", 0, 10, 11), ("b", 1, 12, 13), ("a", 1, 14, 15))) == 2


def test_queues_are_apart_and_in_order() -> None:
    other = MessageQueue("T", "a", 1)
    deliveries = [
        Delivery(queue=queue, queue_offset=number, client=client, began_ms=number)
        for queue in (QUEUE, other)
        for number, client in enumerate("ab")
    ]
    assert [(item.queue, item.old, item.new) for item in handovers(deliveries)] == [
        (other, "a", "b"),
        (QUEUE, "a", "b"),
    ]
    assert handovers([]) == []


def test_of_one_moment_the_first_offset_comes_first() -> None:
    assert [told(item)[:4] for item in changes(("b", 1, 10, 11), ("a", 0, 10, 11))] == [("a", "b", 10, 1)]
