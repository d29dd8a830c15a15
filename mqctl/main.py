"""The command tree, built from the catalog; a command's module is imported when the command is asked for."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from mqctl.cli import catalog
from mqctl.cli.connection.access_options import add_access_options
from mqctl.cli.language import spoken
from mqctl.cli.options.bare_name import add_bare_name, with_option
from mqctl.errors import UsageError

_HELP = ["-h", "--help"]
_CONTEXT = {"help_option_names": _HELP, "max_content_width": 100}
_ROOT_HELP = "Operations and diagnostics for Apache RocketMQ."
_ROOT_EPILOG = (
    "`mqctl commands` lists them all, `mqctl COMMAND -h` shows examples. Judging commands end with 0 fine, 1 warning, "
    "2 error or worse, 3 unknown."
)


class ExampleCommand(TyperCommand):
    """A command whose help begins with examples."""

    examples: tuple[str, ...] = ()
    impact: str = "reads"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = [*args]
        if typed.count("--store") + typed.count("--snapshot") > 1 or any(
            "--s" in word and "=" in word for word in typed
        ):
            from mqctl.cli.one_source import refuse_second_source

            refuse_second_source(self.params, typed)
        try:
            return super().parse_args(ctx, with_option(self, ctx, args))
        except typer.TyperException as error:
            if hasattr(error, "option_name") and hasattr(error, "possibilities"):  # there is no such option
                from mqctl.cli.carried import carried
                from mqctl.cli.options.meaning import suggested
                from mqctl.cli.usage_texts import of_parser

                error.possibilities = suggested(self, error.option_name)
                meant = carried(ctx.command_path.removeprefix("mqctl "), typed, load_command)
                if not any(word.startswith(error.option_name) for word in meant.left_out):
                    raise UsageError(of_parser(error.format_message()), remedy=meant.line) from error
            raise

    def invoke(self, ctx: Any) -> Any:
        if not gc.isenabled():  # `run` disabled it; what was imported since stays
            gc.freeze()
            gc.enable()
        return super().invoke(ctx)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Examples"):
            for line in self.examples:
                formatter.write(f"  {line}\n")
        super().format_help_text(ctx, formatter)
        formatter.write(f"\n  Impact: {self.impact}.\n")


class CatalogGroup(TyperGroup):
    """A group whose members come from the catalog, imported one by one as they are asked for."""

    def __init__(self, *, path: catalog.Path, **settings: Any) -> None:
        super().__init__(name=path[-1] if path else "mqctl", **settings)
        self.path = path

    def list_commands(self, ctx: Any) -> list[str]:
        return list(catalog.children(self.path))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        path = (*self.path, cmd_name)
        if path in catalog.BY_PATH:
            return load_command(path)
        if cmd_name in catalog.children(self.path):
            return group(path)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            from mqctl.cli.guesses import refuse_guess

            refuse_guess(self.path, args, load_command)
        # typer suggests from `commands`; only the names are needed for that.
        self.commands = dict.fromkeys(self.list_commands(ctx), typer.core.TyperCommand(name="listed"))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        known = catalog.children(self.path)
        with formatter.section("Commands"):
            if self.path:
                formatter.write_dl(list(known.items()))
                return
            sections = {title: [word for word in words if word in known] for title, words in catalog.SECTIONS.items()}
            placed = {word for words in sections.values() for word in words}
            sections["More"] = [word for word in known if word not in placed]
            formatter.write_dl([(title, "  ".join(words)) for title, words in sections.items() if words])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in _HELP:
            from mqctl.cli.guesses import refuse_guess

            refuse_guess(self.path, args, load_command)
        return super().parse_args(ctx, args or ["--help"])


def main(arguments: Sequence[str]) -> object:
    """Parses and runs a command line; returns what the command returned. `help X` is `X --help`."""
    spoken()  # a language that mqctl does not speak is refused before anything is done
    root = group(())
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    arguments = catalog.present_words(arguments)
    try:
        with root.make_context("mqctl", arguments) as context:
            return root.invoke(context)
    except typer.Exit as stop:  # help was asked for and shown
        return stop.exit_code


def group(path: catalog.Path) -> CatalogGroup:
    """Builds the group at `path` (the root for the empty path)."""
    help_text = catalog.GROUPS[path[-1]] if path else _ROOT_HELP
    return CatalogGroup(
        path=path,
        help=help_text,
        epilog=None if path else _ROOT_EPILOG,
        rich_markup_mode=None,
        context_settings=_CONTEXT,
    )


@cache  # a line asks twice: whether there is such a command, and for the command
def load_command(path: catalog.Path) -> TyperCommand:
    """Imports the module of the command at `path` and builds it from its `command` function and `EXAMPLES`."""
    entry = catalog.BY_PATH[path]
    module = importlib.import_module(f"mqctl.commands.{entry.module}")
    holder = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    holder.command(name=path[-1], cls=ExampleCommand, context_settings=_CONTEXT)(module.command)
    built = typer.main.get_command(holder)
    if not isinstance(built, ExampleCommand):
        raise TypeError(f"{entry.module} did not build a single command")
    built.examples = module.EXAMPLES
    built.impact = entry.impact
    add_access_options(built)
    add_bare_name(built, " ".join(path))
    for parameter in built.params:  # who opens a file says what forbids it, and with the code of permissions
        if hasattr(parameter.type, "readable"):
            parameter.type.readable = False
        if hasattr(parameter.type, "case_sensitive"):  # outputs print levels and modes in capitals
            parameter.type.case_sensitive = False
    return built
