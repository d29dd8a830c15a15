"""`mqctl completion`: the script that makes a shell complete mqctl's command line."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from mqctl.cli.completion.scripts import script

EXAMPLES = (
    "mqctl completion bash",
    "source <(mqctl completion bash)",
    "mkdir -p ~/.local/share/bash-completion/completions && mqctl completion bash > $_/mqctl",
    "mqctl completion zsh > ~/.zfunc/_mqctl",
    "mqctl completion fish > ~/.config/fish/completions/mqctl.fish",
)


class Shell(StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(shell: Annotated[Shell, typer.Argument(help="The shell to print the script for.")]) -> None:
    """Print the completion script of a shell."""
    sys.stdout.write(script(shell.value))
