"""The bit map against the worked vectors."""

from __future__ import annotations

import pytest

from mqctl.filter.bloom import BloomShape, element, holds_all

SHAPE = BloomShape.of()


@pytest.mark.parametrize(
    ("error_percent", "shape"),
    [(20, (3, 112)), (10, (4, 160)), (5, (5, 200)), (1, (7, 312))],
)
def test_shape(error_percent: int, shape: tuple[int, int]) -> None:
    made = BloomShape.of(error_percent)
    assert (made.hash_count, made.bit_count) == shape


@pytest.mark.parametrize(
    ("text", "positions"),
    [("GID_a#TopicTest", (46, 22, 110)), ("order_group#OrderTopic", (55, 27, 33)), ("g#t", (22, 87, 58))],
)
def test_positions(text: str, positions: tuple[int, ...]) -> None:
    assert SHAPE.positions(text) == positions


def test_a_bitmap_holds_what_was_put_in() -> None:
    bitmap = SHAPE.bitmap([element("GID_a", "TopicTest")])
    assert bitmap.hex() == "0000400000400000000000000040"
    assert holds_all(bitmap, SHAPE.positions("GID_a#TopicTest"))
    assert not holds_all(bitmap, SHAPE.positions("g#t"))
    assert holds_all(SHAPE.bitmap(["GID_a#TopicTest", "g#t"]), SHAPE.positions("g#t"))


def test_a_shape_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="no bloom filter"):
        BloomShape.of(0)
