"""The texts of all generated files, made from the code they describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from docs.dependencies import page as dependency_page
from docs.incident_page import page as incident_page
from docs.incident_page import readme
from docs.kafka_page import page as kafka_page
from docs.literature_page import page as literature_page
from docs.man import pages as man_pages
from docs.numbers_page import page as numbers_page
from docs.playbook_scripts import scripts
from docs.protocol_v2 import files as protocol_v2
from docs.reliability_page import page as reliability
from docs.rule_worlds import WORLDS
from docs.schemas import SCHEMAS
from docs.settings import pages as setting_pages
from docs.stack_classes import page as stack_classes
from docs.support import support
from mqctl.cli import catalog
from mqctl.cli import catalog_mqadmin as mqadmin
from mqctl.cli.completion.scripts import FILE_NAMES, script
from mqctl.diagnosis import RULES
from mqctl.diagnosis.audience import GroupKind, TopicKind
from mqctl.errors import ExitCode
from mqctl.main import load_command
from mqctl.model.gap import Cause, Gap, Part, exit_code_of
from mqctl.model.lang import Lang
from mqctl.render.messages import explain, title

_EXIT_MEANINGS = {
    ExitCode.OK: "done; a judging command found nothing",
    ExitCode.WARNING: "a judging command found at worst a warning",
    ExitCode.CRITICAL: "a judging command found an error or worse",
    ExitCode.UNKNOWN: "a judging command could not see enough to judge; an answer lacks a broker that is gone",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.BAD_INPUT: "input that allows no answer at all: a directory that is no store, a file that is no snapshot",
    ExitCode.NOT_FOUND: "no such topic, group, broker, message or file",
    ExitCode.UNREACHABLE: "nobody answered",
    ExitCode.BUG: "a bug in mqctl",
    ExitCode.IO: "the operating system refused to read or write",
    ExitCode.TIMEOUT: "no answer within the deadline",
    ExitCode.REFUSED: "refused by the broker, or impossible in this state",
    ExitCode.PERMISSION: "access control, file permissions or ptrace are in the way",
    ExitCode.CONFIG: "a setting that cannot be used: a broken profile, no Java for Spark",
    ExitCode.INTERRUPTED: "interrupted",
}


_CAUSE_MEANINGS = {
    Cause.SILENT: "nobody was there, or the connection was lost",
    Cause.TIMED_OUT: "asked, and not answered in time",
    Cause.NOT_ASKED: "the time of the command was over before its turn came",
    Cause.DENIED: "access control or a permission is in the way",
    Cause.REFUSED: "somebody answered, and said no",
    Cause.UNSUPPORTED: "the other side, or its version, does not support it",
    Cause.DAMAGED: "an answer or a file that cannot be understood",
    Cause.UNREADABLE: "the operating system refused to read it, or its format is not read offline",
    Cause.LEFT_OUT: "it was not looked at: a limit, a quick look, a snapshot saved without it",
    Cause.UNREGISTERED: "a broker that belongs to the cluster, or was there within a day, is not registered: "
    "there is nobody to ask",
}


def files() -> dict[str, str]:
    """Returns the text of every generated file by its path below the repository's root."""
    return {
        "docs/commands.md": commands(),
        "docs/exit-codes.md": exit_codes(),
        "docs/mqadmin.md": mqadmin_table(),
        "docs/incidents.md": incident_page(),
        "docs/kafka.md": kafka_page(Lang.EN),
        "docs/kafka.zh.md": kafka_page(Lang.ZH),
        "docs/literature.md": literature_page(Lang.EN),
        "docs/literature.zh.md": literature_page(Lang.ZH),
        "docs/numbers.md": numbers_page(Lang.EN),
        "docs/numbers.zh.md": numbers_page(Lang.ZH),
        "README.md": readme(),
        "docs/reliability.md": reliability(),
        "docs/rules.md": rules(),
        "docs/stack-classes.md": stack_classes(),
        "embedded_broker/SUPPORT.md": support(),
        "docs/dependencies.md": dependency_page(),
        **{f"docs/schemas/{name.replace('/', '-')}.json": schema(name) for name in SCHEMAS},
        **protocol_v2(),
        **scripts(),
        **setting_pages(),
        **man_pages(_EXIT_MEANINGS),
        **{f"completions/{name}": script(shell) for shell, name in FILE_NAMES.items()},
    }


def _parameters(path: catalog.Path) -> Iterable[tuple[list[str], Any]]:
    """Yields the names under which each parameter is typed, with the parameter; positional ones have no dashes."""
    for parameter in load_command(path).params:
        if not getattr(parameter, "hidden", False):
            yield [*parameter.opts, *parameter.secondary_opts], parameter


def commands() -> str:
    """Returns the command reference: every command with examples, options and what it may do."""
    parts = ["# Commands", "", "Generated from the command line itself.", ""]
    for entry in catalog.ENTRIES:
        built: Any = load_command(entry.path)
        parts += [f"## mqctl {' '.join(entry.path)}", "", built.help.strip(), "", f"Impact: {entry.impact}.", "", "```"]
        parts += [*built.examples, "```", "", "| option | meaning |", "|---|---|"]
        for names, parameter in _parameters(entry.path):
            shown = ", ".join(f"`{name}`" for name in names) if names[0].startswith("-") else f"`{names[0].upper()}`"
            parts.append(f"| {shown} | {(parameter.help or '').replace('|', chr(92) + '|')} |")
        parts.append("")
    return "\n".join(parts)


def mqadmin_table() -> str:
    """Returns the table of mqadmin's sub-commands with what stands in for each."""
    lines = ["# From mqadmin", "", "Every sub-command of mqadmin 4.9.8 and 5.3.3, and what to type instead.", ""]
    lines += ["| mqadmin | in | mqctl | coverage | note |", "|---|---|---|---|---|"]
    for entry in mqadmin.TABLE:
        ours = "<br>".join(f"`mqctl {line}`" for line in entry.ours)
        lines.append(f"| `{entry.name}` | {entry.versions} | {ours} | {entry.coverage} | {entry.note} |")
    return "\n".join([*lines, ""])


def exit_codes() -> str:
    """Returns the exit code reference."""
    rows = [f"| {int(code)} | {meaning} |" for code, meaning in _EXIT_MEANINGS.items()]
    codes = {cause: int(exit_code_of([Gap(part=Part.QUEUES, cause=cause, reason="")])) for cause in Cause}
    causes = [f"| {cause} | {_CAUSE_MEANINGS[cause]} | {code} |" for cause, code in codes.items()]
    return "\n".join([*_EXIT_CODES_BEGIN, *rows, *_GAPS_BEGIN, *causes, ""])


_EXIT_CODES_BEGIN = ("# Exit codes", "", "The same for every command.", "", "| code | meaning |", "|---|---|")
_GAPS_BEGIN = (
    "",
    "## An answer in part",
    "",
    "A command that reads and could not ask everything shows the rest, names each gap on stderr and under",
    "`unavailable` of machine output, and ends with the code of its cause; of several causes the highest counts. A",
    "judging command ends with 3 unless it found something.",
    "",
    "| cause | meaning | code |",
    "|---|---|---|",
)


def rules() -> str:
    """Returns the rule reference: every rule with severity, reference, what it needs, and its explanation."""
    parts = ["# Rules", "", "What `mqctl doctor` judges. `mqctl rules explain CODE` shows the same on a terminal.", ""]
    parts += ["| code | severity | finds | playbook |", "|---|---|---|---|"]
    for rule in RULES.values():
        row = (
            f"[{rule.code}](#{rule.code.lower()})",
            str(rule.severity),
            title(rule.code, Lang.EN),
            rule.playbook or "-",
        )
        parts.append(f"| {' | '.join(row)} |")
    for rule in RULES.values():
        parts += ["", f"## {rule.code}", "", f"**{title(rule.code, Lang.EN)}**", "", explain(rule.code, Lang.EN), ""]
        parts.append(
            f"Severity {rule.severity}; RocketMQ `{rule.source}`; needs {', '.join(rule.needs) or 'nothing more'}."
        )
        for what, every, judged in (("groups", GroupKind, rule.groups), ("topics", TopicKind, rule.topics)):
            if judged:
                others = ", ".join(str(kind) for kind in every if kind not in judged)
                named = ", ".join(str(kind) for kind in every if kind in judged)
                parts.append(f"Judges {what}: {named}{f'; not: {others}' if others else ''}.")
        speaks, silent = WORLDS[rule.code]
        parts += ["", f"- Speaks: {speaks}.", f"- Silent: {silent}."]
    return "\n".join([*parts, ""])


def schema(name: str) -> str:
    """Returns the JSON schema of a command's machine form."""
    described = msgspec.json.schema(SCHEMAS[name])
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name, **described}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
