"""Asking before something severe happens: the name is typed, or given with `--confirm`; silence means no."""

from __future__ import annotations

import sys

from mqctl.errors import RefusedError, UsageError


def confirm_name(kind: str, name: str, confirmed: str | None) -> None:
    """Has the user type a name, or takes `--confirm`.

    Args:
        kind: what is named, `group` or `topic` for instance.

    Raises:
        RefusedError: it was not typed, or there is no terminal to ask on.
        UsageError: `--confirm` names something else.
    """
    if confirmed is None and sys.stdin.isatty():
        sys.stderr.write(f"Type the {kind}'s name to go on, anything else to stop: {name}? ")
        sys.stderr.flush()
        if sys.stdin.readline().strip() != name:
            raise RefusedError("nothing was changed", reason="the name was not typed")
        return
    if confirmed is None:
        raise RefusedError(
            "--execute needs a confirmation", reason="there is no terminal to ask on", remedy=f"add --confirm {name}"
        )
    if confirmed != name:
        raise UsageError(f"--confirm {confirmed} is not the {kind}", reason=f"the plan is about {name}")
