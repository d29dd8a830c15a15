"""Names in the subject of a change stay apart, whatever is in them."""

from __future__ import annotations

import pytest

from mqctl.changes.settings.access_places import entry_named, entry_subject
from mqctl.model.access import AccessEntry


@pytest.mark.parametrize("user", ["User:ops", "User:a b", "User: Default Topic:*", "User:50%20off", "User:\u7528 \n"])
def test_an_entry_is_that_of_its_user(user: str) -> None:
    entry = AccessEntry("Topic:orders x", ("PUB",), "ALLOW", (), "CUSTOM")
    assert entry_named(entry_subject(user, entry)) == (user, "CUSTOM", "Topic:orders x")


def test_an_ordinary_name_is_written_as_it_is() -> None:
    entry = AccessEntry("Topic:orders", ("PUB",), "ALLOW", (), "CUSTOM")
    assert entry_subject("User:ops-1@x", entry) == "User:ops-1@x CUSTOM Topic:orders"
