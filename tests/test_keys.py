"""The look at JSON for sentences of mqctl without their keys sees them, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from mqctl.model.said import said
from mqctl.text import key_of, sentence, values_of
from tests.keys import sentences_without_key

GAP = sentence("store-no-valid-entries", "queue offsets {low} to {high} hold no valid entries", low=3, high=9)


@pytest.mark.parametrize(
    ("document", "is_found"),
    [
        ({"reason": GAP}, True),
        ({"rows": [{"notes": ["x", GAP]}]}, True),
        ({"reason": GAP, "reason_key": key_of(GAP)}, False),
        ({"reason": GAP, "key": key_of(GAP), "values": values_of(GAP)}, False),
        ({"notes": [GAP], "keyed_notes": [{"text": each.text, "key": each.key} for each in said([GAP])]}, False),
        ({"reason_values": {"why": GAP}}, False),
        ({"body": "a b c", "reason": "the consumer group is in use: 12 of 20"}, False),
        ({"title": "A consumer group is behind"}, False),
    ],
)
def test_sentences_without_keys_are_seen(document: Any, *, is_found: bool) -> None:
    assert bool(sentences_without_key(document)) is is_found
