"""Pages that are other commands: each runs inside this process, and its document is taken."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import field

import typer

from mqctl.cli.connection.target import ClusterTarget
from mqctl.cli.emit import overheard
from mqctl.errors import MqctlError
from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document
from mqctl.text import composed, sentence

Run = Callable[[Sequence[str]], object]
"""Runs a command line of mqctl in this process, as `mqctl` itself would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """What a command answered.

    Attributes:
        document: None where it failed as a whole.
        talk: its lines of talk, or why it failed and what helps.
    """

    document: Document | None = None
    talk: Sequence[str] = field(default=())


def runner(context: typer.Context) -> Run:
    """Returns what runs other commands of the tree that a command belongs to."""
    root = context.find_root().command

    def run(words: Sequence[str]) -> object:
        with root.make_context("mqctl", list(words)) as inner:
            return root.invoke(inner)

    return run


def command_line(words: Sequence[str], target: ClusterTarget) -> str:
    """Returns what to type in a shell for the same answer."""
    return " ".join([shell_words(["mqctl", *words]), target.option])


def ask(run: Run, words: Sequence[str], target: ClusterTarget) -> PageAnswer:
    """Runs a command; its failure is an answer, too."""
    with overheard() as listener:
        try:
            run([*words, *shlex.split(target.option)])
        except MqctlError as error:
            failure = (
                composed("{problem}: {reason}", problem=error.problem, reason=error.reason)
                if error.reason
                else error.problem
            )
            return PageAnswer(
                talk=[
                    failure,
                    *([sentence("next-line", "next: {command}", command=error.remedy)] if error.remedy else []),
                ]
            )
        except typer.TyperException as error:
            return PageAnswer(talk=[error.format_message()])
        except OSError as error:
            return PageAnswer(talk=[error.strerror or str(error)])
    return PageAnswer(document=listener.documents[-1] if listener.documents else None, talk=listener.talk)
