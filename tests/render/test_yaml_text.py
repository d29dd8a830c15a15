"""Values written as YAML: as PyYAML's dump writes them, and read back as they were."""

from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mqctl.render.yaml_text import yaml_text

MISREAD = st.sampled_from(["123", "yes", "~", "a: b", "1e3", "- x"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), MISREAD)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_it_is_what_the_library_writes(value: object, allow_unicode: bool) -> None:
    wanted = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=allow_unicode, width=120)
    assert yaml_text(value, allow_unicode=allow_unicode) == wanted


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e17, 1e-7, 0.5, True, 10**30])
def test_numbers(value: float) -> None:
    assert yaml.safe_load(yaml_text({"n": [value]}, allow_unicode=True)) == {"n": [value]}
