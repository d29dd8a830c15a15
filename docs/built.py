"""The references that git does not carry, made from the code they describe: commands, rules, machine forms, man pages.

`python docs/generate.py` writes them below build/, the site shows them, and the wheel carries the man pages.
"""

from __future__ import annotations

from typing import Any

import msgspec

from docs import man
from docs.schemas import DIALECT, LIVE, SCHEMAS
from docs.settings import purpose
from mqctl.cli import catalog
from mqctl.cli.option_table import parameters
from mqctl.main import load_command
from mqctl.render.finding_texts import explain, title
from mqctl.rules import RULES
from mqctl.rules.engine.audience import GroupKind, TopicKind


def site_pages() -> dict[str, str]:
    """Returns the pages of the site, and the schemas beside them, by their paths there."""
    return {
        "docs/commands.md": commands(),
        "docs/rules.md": rules(),
        "docs/schemas/README.md": schema_index(),
        **{f"docs/schemas/{name.replace('/', '-')}.json": schema(name) for name in SCHEMAS},
    }


def files() -> dict[str, str]:
    """Returns the text of every file by its path below build/."""
    return {**site_pages(), **{f"man/{name}": text for name, text in man.pages().items()}}


def commands() -> str:
    """Returns the command reference: every command with examples, options and what it may do."""
    parts = ["# Commands", "", "Generated from the command line itself.", ""]
    for entry in catalog.ENTRIES:
        built: Any = load_command(entry.path)
        parts += [f"## mqctl {' '.join(entry.path)}", "", built.help.strip(), "", f"Impact: {entry.impact}.", "", "```"]
        parts += [*built.examples, "```", "", "| option | meaning |", "|---|---|"]
        for names, parameter in parameters(built):
            shown = ", ".join(f"`{name}`" for name in names) if names[0].startswith("-") else f"`{names[0].upper()}`"
            parts.append(f"| {shown} | {(parameter.help or '').replace('|', chr(92) + '|')} |")
        parts.append("")
    return "\n".join(parts)


def rules() -> str:
    """Returns the rule reference: every rule with severity, reference, what it needs, and its explanation."""
    parts = ["# Rules", "", "What `mqctl doctor` judges. `mqctl explain CODE` shows the same on a terminal.", ""]
    parts += ["| code | severity | finds | playbook |", "|---|---|---|---|"]
    for rule in RULES.values():
        row = (
            f"[{rule.code}](#{rule.code.lower()})",
            str(rule.severity),
            title(rule.code),
            rule.playbook or "-",
        )
        parts.append(f"| {' | '.join(row)} |")
    for rule in RULES.values():
        parts += ["", f"## {rule.code}", "", f"**{title(rule.code)}**", "", *explain(rule.code), ""]
        parts.append(
            f"Severity {rule.severity}; RocketMQ `{rule.source}`; needs {', '.join(rule.needs) or 'nothing more'}."
        )
        for what, every, judged in (("groups", GroupKind, rule.groups), ("topics", TopicKind, rule.topics)):
            if judged:
                others = ", ".join(str(kind) for kind in every if kind not in judged)
                named = ", ".join(str(kind) for kind in every if kind in judged)
                parts.append(f"Judges {what}: {named}{f'; not: {others}' if others else ''}.")
        parts += ["", f"- Speaks: {rule.texts.speaks}.", f"- Silent: {rule.texts.silent}."]
    return "\n".join([*parts, ""])


def schema_index() -> str:
    """Returns the list of machine forms."""
    lines = [
        "# Machine forms",
        "",
        "What `-o json` prints, by the name in its field `schema`. A new number means that a reader has to",
    ]
    lines += [
        "change; fields may be added under the same one. Where a live cluster did not tell everything, `unavailable` is"
    ]
    lines += [
        "there as well: `part`, `scope` and `reason` of what the answer lacks. What is not there is unknown then.",
        "",
        "| schema | what | of |",
        "|---|---|---|",
    ]
    for name in sorted(SCHEMAS):
        file = f"{name.replace('/', '-')}.json"
        of = "a live cluster" if name in LIVE else "files, or both"
        lines.append(f"| [{name}]({file}) | {purpose(SCHEMAS[name])} | {of} |")
    lines += [
        "",
        "Errors are one object on stderr: `error/1` with `exit_code`, `problem`, `reason` and `remedy`. Each of the",
        "three has a key and values for programs (`key` and `values` of the problem, `reason_key`, `reason_values`,",
        "`remedy_key`, `remedy_values`), null for what a broker or the system said. A text among the values has",
        "`text`, `key` and `values`. A key stays when its sentence is corrected. Gaps in `unavailable` have `key` and",
        "`values` of their reason as well, findings a `key`.",
    ]
    return "\n".join([*lines, ""])


def schema(name: str) -> str:
    """Returns the JSON schema of a command's machine form."""
    described = msgspec.json.schema(SCHEMAS[name])
    document = {"$schema": DIALECT, "title": name, **described}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
