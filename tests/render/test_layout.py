"""What stands on a terminal fits it, and nothing that people copy from it is broken."""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st

from mqctl.render.layout import Grid, paragraph, table_lines, width, wrapped

_TITLES = ("TOPIC", "BROKER", "QUEUE", "CONSUMER OFFSET", "LAG", "LAG TIME", "STATE", "OWNER")
_RIGHT = (False, False, True, True, True, True, False, False)
_ROWS = (
    ("%RETRY%matching", "CP-broker-a", "0", "0", "0", "0 ms", "caught-up", "HT-127.0.0.1@m1"),
    ("trades", "CP-broker-a", "1", "542", "358", "1 min 25 s", "behind", "HT-127.0.0.1@m1"),
)
_word = st.text(string.ascii_letters + string.digits + "-@", min_size=1, max_size=12)
_text = st.one_of(
    st.lists(_word, min_size=1, max_size=6).map(" ".join),
    st.text("消费组落后了分钟，。", min_size=1, max_size=20),
)


def _grid(rows: tuple[tuple[str, ...], ...] = _ROWS) -> Grid:
    return Grid(titles=_TITLES, right=_RIGHT, rows=rows, styles=[[""] * len(_TITLES) for _ in rows])


def _shown(grid: Grid, room: int) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in table_lines(grid, room)]


@st.composite
def _grids(draw: st.DrawFn) -> Grid:
    count = draw(st.integers(1, 7))
    right = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    row = st.tuples(*(st.integers(0, 10**9).map("{:,}".format) if number else _text for number in right))
    rows = draw(st.lists(row, min_size=1, max_size=5))
    titles = draw(st.lists(st.lists(_word, min_size=1, max_size=3).map(" ".join), min_size=count, max_size=count))
    return Grid(titles=titles, right=right, rows=rows, styles=[[""] * count for _ in rows])


def test_where_there_is_room_a_table_is_one_line_a_row() -> None:
    assert _shown(_grid(), 120) == [
        "TOPIC            BROKER       QUEUE  CONSUMER OFFSET  LAG    LAG TIME  STATE      OWNER",
        "%RETRY%matching  CP-broker-a      0                0    0        0 ms  caught-up  HT-127.0.0.1@m1",
        "trades           CP-broker-a      1              542  358  1 min 25 s  behind     HT-127.0.0.1@m1",
    ]


def test_headings_break_before_anything_else_and_stand_low() -> None:
    assert _shown(_grid(), 91)[:2] == [
        "                                     CONSUMER",
        "TOPIC            BROKER       QUEUE    OFFSET  LAG    LAG TIME  STATE      OWNER",
    ]


def test_what_all_rows_share_is_said_once_when_that_makes_the_rest_fit() -> None:
    assert _shown(_grid(), 70) == [
        "in every row: BROKER CP-broker-a  OWNER HT-127.0.0.1@m1",
        "TOPIC            QUEUE  CONSUMER OFFSET  LAG    LAG TIME  STATE",
        "%RETRY%matching      0                0    0        0 ms  caught-up",
        "trades               1              542  358  1 min 25 s  behind",
    ]


def test_a_narrow_terminal_gets_values_behind_their_headings() -> None:
    rows = (_ROWS[0], (*_ROWS[1][:1], "HT-broker-a", *_ROWS[1][2:-1], "CP-127.0.0.1@m2"))
    assert _shown(_grid(rows), 44) == [
        "TOPIC %RETRY%matching  BROKER CP-broker-a",
        "  QUEUE 0  CONSUMER OFFSET 0  LAG 0",
        "  LAG TIME 0 ms  STATE caught-up",
        "  OWNER HT-127.0.0.1@m1",
        "TOPIC trades  BROKER HT-broker-a  QUEUE 1",
        "  CONSUMER OFFSET 542  LAG 358",
        "  LAG TIME 1 min 25 s  STATE behind",
        "  OWNER CP-127.0.0.1@m2",
    ]


def test_one_long_name_does_not_change_how_all_rows_are_read() -> None:
    long = "%RETRY%" + "a-very-long-group-name-" * 3
    rows = [("trades", str(number), "behind") for number in range(8)]
    rows[3] = (long, "3", "behind for hours")
    grid = Grid(titles=("TOPIC", "LAG", "STATE"), right=(False, True, False), rows=rows, styles=[[""] * 3] * 8)
    assert _shown(grid, 60) == [
        f"{'TOPIC':<32}  LAG  STATE",
        *(f"{'trades':<32}    {number}  behind" for number in range(3)),
        f"{long[:16]}…{long[-15:]}    3  behind for hours",
        *(f"{'trades':<32}    {number}  behind" for number in range(4, 8)),
    ]
    whole = ["".join(text for text, _ in line) for line in table_lines(grid, 60, whole=True)]
    assert f"  {long[58:]}  LAG 3  STATE behind for hours" in whole


def test_a_long_name_is_shortened_in_a_table_of_two_rows_too() -> None:
    long = "g" * 255
    grid = Grid(
        titles=("GROUP", "MODE", "LAG"),
        right=(False, False, True),
        rows=[("billing", "CLUSTERING", "1"), (long, "BROADCASTING", "2")],
        styles=[[""] * 3] * 2,
    )
    assert _shown(grid, 80) == [
        f"{'GROUP':<48}  MODE          LAG",
        f"{'billing':<48}  CLUSTERING      1",
        f"{'g' * 24}…{'g' * 23}  BROADCASTING    2",
    ]


def test_a_column_of_one_name_says_it_once_and_whole() -> None:
    long = "g" * 60
    grid = Grid(titles=("TOPIC", "GROUP"), right=(False, False), rows=[("a", long), ("b", long)], styles=[[""] * 2] * 2)
    assert _shown(grid, 61) == ["in every row: GROUP", long, "TOPIC", "a", "b"]


@given(grid=_grids(), room=st.integers(40, 160))
def test_lines_fit_and_no_word_or_number_is_broken(grid: Grid, room: int) -> None:
    shown = _shown(grid, room)
    assert all(width(line) <= room for line in shown)
    text = "\n".join(shown)
    for row in grid.rows:
        for cell, number in zip(row, grid.right, strict=True):
            assert all(word in text for word in ([cell] if number else cell.split(" ") if cell.isascii() else []))


@given(text=_text, room=st.integers(1, 60))
@example(text="x" * 100, room=7)
def test_wrapping_loses_nothing_but_the_spaces_at_line_ends(text: str, room: int) -> None:
    lines = wrapped(text, room)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(width(line) <= max(room, 2) for line in lines)


def test_chinese_breaks_between_characters_and_not_before_its_punctuation() -> None:
    assert wrapped("消费组落后，消息在等待。", 10) == ["消费组落", "后，消息在", "等待。"]


def test_a_command_to_copy_stays_one_line() -> None:
    command = "  next: mqctl group lag --namesrv '127.0.0.1:37587;127.0.0.1:37889' -g billing"
    assert paragraph(command, 40) == [command]
    assert paragraph(command.replace("next: ", "下一步："), 40) == [command.replace("next: ", "下一步：")]
    assert paragraph("  Group billing is behind on payments", 20) == ["  Group billing is", "  behind on payments"]
