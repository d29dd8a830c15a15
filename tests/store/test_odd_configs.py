"""Configuration files that can be parsed and are no sound tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqctl.store.config_files import TOPICS, read_config


@pytest.mark.quick
@pytest.mark.parametrize("text", ['{"a":{"$ref":"@"}}', '{"a":{"b":{"$ref":"$"}},"c":[{"$ref":".."}]}'])
def test_a_document_that_refers_to_itself_has_an_end(tmp_path: Path, text: str) -> None:
    (tmp_path / TOPICS).write_text(text, encoding="utf-8")
    assert set(read_config(tmp_path, TOPICS).value) == ({"a"} if "@" in text else {"a", "c"})


@pytest.mark.quick
def test_the_place_of_a_number_that_is_not_finite_is_named(tmp_path: Path) -> None:
    (tmp_path / TOPICS).write_text('{"a":{"b":[1,{"c":1e999}]}}', encoding="utf-8")
    assert "a.b.1.c is not a finite number" in str(read_config(tmp_path, TOPICS))
