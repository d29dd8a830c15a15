"""Tables of the screen: what the filter leaves, in which order, and what the bars mean."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.commands.top.walk_view import SPAN_MS, Past, Sorting, chosen_rows, laid_out, spark_bars, trail
from mqctl.render.document import CellKind, Column, Table


@dataclass(frozen=True)
class Row:
    name: str
    lag: int | None


COLUMNS = (Column("name", "group"), Column("lag", "lag", CellKind.COUNT, none="?"))
TABLE = Table(COLUMNS, [Row("pay", 5), Row("Ship", None), Row("mail", 1200)])


def names(wanted: str = "", sorting: Sorting | None = None) -> list[str]:
    return [row.name for row in chosen_rows(TABLE, wanted, sorting or Sorting()) if isinstance(row, Row)]


def test_rows_are_filtered_by_what_is_read_in_any_cell() -> None:
    assert (names(), names("SHIP"), names("1,200"), names("?")) == (
        ["pay", "Ship", "mail"],
        ["Ship"],
        ["mail"],
        ["Ship"],
    )


def test_numbers_stand_largest_first_and_what_is_not_known_last() -> None:
    by_name = Sorting().next(COLUMNS)
    by_lag = by_name.next(COLUMNS)
    assert names(sorting=by_name) == ["mail", "pay", "Ship"]
    assert names(sorting=by_lag) == ["mail", "pay", "Ship"]
    assert names(sorting=Sorting(key="lag", backwards=True)) == ["pay", "mail", "Ship"]
    assert by_lag.next(COLUMNS) == Sorting()


def test_bars_stand_at_their_time_and_tell_nothing_from_zero() -> None:
    assert spark_bars([None, 0, 1, 4, 8]) == " ▁▂▅█"
    past = Past()
    for moment_ms, value in ((1, 8.0), (SPAN_MS // 2, 4.0), (SPAN_MS, None)):
        past.note("G", moment_ms, value)
    assert past.drawn("G", SPAN_MS) == "█    ▅      "
    assert past.drawn("G", SPAN_MS * 2) == " " * 12
    assert past.drawn("H", SPAN_MS) == " " * 12


def test_columns_fit_what_stands_in_them_and_carry_the_past() -> None:
    laid = laid_out(TABLE, TABLE.rows, Sorting(key="lag"), drawn="lag", drawn_title="past", draw=lambda row: "▁█")
    assert [laid.heading, *laid.lines] == [
        "GROUP   LAG↓  PAST",
        "pay        5  ▁█  ",
        "Ship       ?  ▁█  ",
        "mail   1,200  ▁█  ",
    ]


def test_the_way_to_a_page_keeps_its_end() -> None:
    titles = ["brokers", "topics of broker-a", "groups of Pay"]
    assert trail(titles, 80) == "brokers > topics of broker-a > groups of Pay"
    assert trail(titles, 40) == "topics of broker-a > groups of Pay"
    assert trail(titles, 5) == "groups of Pay"
