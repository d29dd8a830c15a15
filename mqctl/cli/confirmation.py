"""Asking before something severe happens: the name is typed, or given with `--confirm`; silence means no."""

from __future__ import annotations

import sys

from mqctl.errors import RefusedError, UsageError
from mqctl.render.document import Document


def confirm(name: str, confirmed: str | None, shown: Document) -> None:
    """Shows the plan and has the user type the name, or takes `--confirm`. Raises RefusedError, UsageError."""
    if confirmed is None and sys.stdin.isatty():
        from mqctl.render.text import write_plain

        write_plain(shown, sys.stderr, wide=False)
        sys.stderr.write(f"Type {name} to go on, anything else to stop: ")
        sys.stderr.flush()
        confirmed = sys.stdin.readline().strip()
        if confirmed != name:
            raise RefusedError("nothing was changed", reason="the name was not typed")
    if confirmed is None:
        raise RefusedError(
            "--execute needs a confirmation", reason="there is no terminal to ask on", remedy=f"add --confirm {name}"
        )
    if confirmed != name:
        raise UsageError(f"--confirm {confirmed} is not what is changed", reason=f"the plan is about {name}")
