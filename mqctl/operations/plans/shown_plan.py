"""A playbook shows a plan in one process and carries it out in another: what was shown binds what is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from mqctl.errors import BadInputError
from mqctl.store.own_files import write_named
from mqctl.store.plain_files import read_named
from mqctl.text import encoded, sentence

T = TypeVar("T")
VARIABLE = "MQCTL_PLAN_FILE"
"""Names the file that gets the plan when it is shown, and that holds the plan when it is to be carried out."""


def shown_before(part: str, plan: T, kind: type[T], *, execute: bool) -> T | None:
    """Keeps a plan that is shown; of one that is to be carried out, returns what was shown of it.

    Args:
        part: which one, where a command has several.

    Returns:
        None when this process only shows, or is not the second one of two.

    Raises:
        BadInputError: nothing of the kind was shown.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    path = Path(name)
    if not execute:
        parts = _parts(path) if path.is_file() else {}
        shown = {**parts, part: msgspec.Raw(msgspec.json.encode(plan, order="sorted", enc_hook=encoded))}
        write_named(path, msgspec.json.encode(shown, enc_hook=encoded))
        return None
    try:
        return msgspec.json.decode(_parts(path)[part], type=kind)
    except (OSError, KeyError, msgspec.DecodeError) as error:
        raise overtaken(sentence("no-plan-shown-before", "no plan of it was shown before")) from error


def must_be_shown(plan: object, *, execute: bool) -> None:
    """Keeps a plan that is shown, and refuses to carry out another one than was shown.

    Raises:
        BadInputError: it is another one.
    """
    now = msgspec.to_builtins(plan, order="sorted", enc_hook=encoded)
    shown = shown_before("plan", now, object, execute=execute)
    if shown is not None and msgspec.json.encode(shown, order="sorted", enc_hook=encoded) != msgspec.json.encode(
        now, order="sorted", enc_hook=encoded
    ):
        raise overtaken(
            sentence(
                "plan-somebody-else-changed-something",
                "somebody else changed something since the plan was shown: it would now do something else",
            )
        )


def overtaken(reason: str) -> BadInputError:
    """Returns the error for a plan that is not the one that was shown."""
    return BadInputError(
        sentence("nothing-changed", "nothing was changed"),
        reason=reason,
        remedy=sentence("look-new-plan-run", "look at the new plan and run it again"),
    )


def _parts(path: Path) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(read_named(path), type=dict[str, msgspec.Raw])
