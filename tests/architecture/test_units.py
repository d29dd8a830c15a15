"""How the suite is dealt out to workers."""

from __future__ import annotations

from tests.conftest import unit_of


def test_modules_share_a_worker_with_what_they_share() -> None:
    assert unit_of("tests/spark/test_tables.py::test_a") == unit_of("tests/spark/test_reports.py::test_b[x::y]")
    assert unit_of("tests/spark/test_cluster.py::test_a") == "tests/spark/test_cluster.py"
    assert unit_of("tests/architecture/test_circles.py::a") == unit_of("tests/render/test_plans_in_words.py::b")
    one, other = (unit_of(f"tests/live/group/test_lag.py::{test}") for test in ("test_a[5.3.3]", "test_b[4.9.8]"))
    assert one == other
    one, other = (unit_of(f"tests/local/test_playbooks.py::test_a[{slug}]") for slug in ("backlog", "hot-key"))
    assert one != other
