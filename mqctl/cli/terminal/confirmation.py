"""Asking before something severe happens: the name is typed, or given with `--confirm`; silence means no."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace

from mqctl.errors import RefusedError, UsageError
from mqctl.model.command_line import shell_word
from mqctl.render.document import Document, Paragraphs
from mqctl.text import sentence

_ALREADY_TYPED = "; add --execute"


def confirm(name: str, confirmed: str | None, shown: Document, *, where: Sequence[str] = ()) -> None:
    """Shows the plan and has the user type the name, or takes `--confirm`. Raises RefusedError, UsageError.

    Args:
        where: the cluster's name servers, for many clusters bear the name DefaultCluster; none for a store.
    """
    if confirmed is None and sys.stdin.isatty():
        _show(shown)
        if where:
            sys.stderr.write(sentence("cli-name-servers", "name servers: {where}\n", where=where))
        sys.stderr.write(f"Type {name} to go on, anything else to stop: ")
        sys.stderr.flush()
        confirmed = sys.stdin.readline().strip()
        if confirmed != name:
            raise RefusedError(
                sentence("nothing-changed", "nothing was changed"),
                reason=sentence("cli-name-not-confirmed", "the name was not confirmed"),
            )
    if confirmed is None:
        raise RefusedError(
            sentence("cli-execute-needs-confirmation", "--execute needs a confirmation"),
            reason=sentence("cli-no-terminal-confirm", "there is no terminal to confirm on"),
            remedy=sentence("cli-add-confirm", "add --confirm {name}", name=shell_word(name)),
        )
    if confirmed != name:
        raise UsageError(
            sentence(
                "cli-confirm-not-match-changed",
                "--confirm {confirmed} does not match what is changed",
                confirmed=confirmed,
            ),
            reason=sentence("cli-plan-about", "the plan is about {name}", name=name),
        )


def _show(plan: Document) -> None:
    """Writes the plan to stderr as it fits the terminal, without the advice to add what is there already."""
    from mqctl.render import text

    blocks = [
        Paragraphs([line for line in item.lines if _ALREADY_TYPED not in line], severity=item.severity)
        if isinstance(item, Paragraphs)
        else item
        for item in plan.blocks
    ]
    shown = replace(plan, blocks=blocks)
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        room = shutil.get_terminal_size().columns
        text.write_fitted(shown, sys.stderr, wide=False, room=room, styled=not os.environ.get("NO_COLOR"))
    else:
        text.write_plain(shown, sys.stderr, wide=False)
