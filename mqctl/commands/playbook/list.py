"""`mqctl playbook list`: every playbook with what it is for."""

from __future__ import annotations

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import LangOption, NoColorOption, OutputOption
from mqctl.commands.playbook.view import list_document
from mqctl.model.lang import Lang
from mqctl.playbook.places import load_playbook, slugs

EXAMPLES = (
    "mqctl playbook list",
    "mqctl playbook list --lang zh",
    "mqctl playbook list -o json | jq -r '.playbooks[] | select(.answers | index(\"MQ203\")) | .playbook'",
)


def command(
    lang: LangOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> None:
    """List the playbooks with their purpose, their parameters, and whether they can change anything."""
    emit(list_document([load_playbook(slug) for slug in slugs()], lang or Lang.EN), output)
