"""The `run.sh` of each playbook: its reading steps as plain lines of mqctl, for people who would rather see them.

Decisions and steps that need what an earlier one told are printed, not run; changes are shown as plans.
"""

from __future__ import annotations

import re
import shlex

from mqctl.model.lang import Lang
from mqctl.model.playbook import Parameter, Playbook, PlaybookStep
from mqctl.playbook import conditions, template
from mqctl.playbook.places import load_playbook, slugs

_SIMPLE = re.compile(r"!?[a-z_]+( && !?[a-z_]+)*")
_HEAD = """\
#!/usr/bin/env bash
# {slug}: {title}
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
{usage}
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run {slug}` does the same with decisions, changes, time limits and a report.
set -uo pipefail

step() {{ # EXPECTED-EXITS COMMAND...
  local expected=" $1 " code=0
  shift
  printf '\\n$ %s\\n' "$*"
  "$@" || code=$?
  case "$expected" in
    *" $code "*) ;;
    *)
      printf 'exit %s was not expected here: stop, and look\\n' "$code" >&2
      exit 2
      ;;
  esac
}}
"""


def scripts() -> dict[str, str]:
    """Returns the text of every run.sh by its path below the repository's root."""
    return {f"playbooks/{slug}/run.sh": _script(load_playbook(slug)) for slug in slugs()}


def _script(playbook: Playbook) -> str:
    required = [item for item in playbook.parameters if item.required]
    optional = [item for item in playbook.parameters if not item.required]
    call = " ".join([*(f"{item.name.upper()}=..." for item in required), f"playbooks/{playbook.slug}/run.sh"])
    usage = [f"# {call}"]
    usage += [f"#   {item.name.upper()}: {item.about[Lang.EN]}" for item in playbook.parameters]
    lines = [_HEAD.format(slug=playbook.slug, title=playbook.title[Lang.EN], usage="\n".join(usage))]
    lines += [f': "${{{item.name.upper()}:?{item.about[Lang.EN]}}}"' for item in required]
    lines += [f"{item.name.upper()}=${{{item.name.upper()}:-{_default(item)}}}" for item in optional]
    names = {item.name for item in playbook.parameters}
    for number, step in enumerate(playbook.steps, start=1):
        lines += ["", f"# {number}. {' '.join(step.about[Lang.EN].split())}", *_step(step, names)]
    return "\n".join(lines) + "\n"


def _default(item: Parameter) -> str:
    return "" if item.default is None else str(item.default)


def _step(step: PlaybookStep, parameters: set[str]) -> list[str]:
    if step.command is None:
        return [_told(f"decide: {name}: {words[Lang.EN]}") for name, words in step.options.items()]
    known = template.template_places(step.command) <= parameters
    simple = step.when is None or (_SIMPLE.fullmatch(step.when) and conditions.looked_up(step.when) <= parameters)
    if not known or not simple:
        condition = f", when {step.when}" if step.when else ""
        return [_told(f"then{condition}: mqctl {step.command}")]
    # A change is shown as its plan here, and a plan ends with 0.
    exits = " ".join(map(str, sorted({0} if step.changes else set(map(int, step.meanings)) or {0})))
    line = f'step "{exits}" mqctl {_shell_words(step.command)}'
    if step.when is None:
        return [line]
    test = " && ".join(
        f'[ -{"z" if name.startswith("!") else "n"} "${name.lstrip("!").upper()}" ]' for name in step.when.split(" && ")
    )
    return [f"if {test}; then", f"  {line}", "fi"]


def _told(text: str) -> str:
    """Returns a line that prints `text`; names in braces stand as they would be typed."""
    named = re.sub(r"\{([a-z0-9_]+)\}", lambda place: place[1].upper(), text)
    return f"echo {shlex.quote(named)}"


def _shell_words(command: str) -> str:
    parts = []
    for words, optional in template.template_parts(command):
        text = " ".join(_shell_word(word) for word in words)
        if optional:
            name = next(iter(template.template_places(" ".join(words)))).upper()
            text = f"${{{name}:+{text}}}"
        parts.append(text)
    return " ".join(parts)


def _shell_word(word: str) -> str:
    if not template.template_places(shlex.quote(word)):
        return shlex.quote(word)
    inner = re.sub(r"\{([a-z0-9_]+)\}", lambda place: f"${{{place[1].upper()}}}", word.replace('"', '\\"'))
    return f'"{inner}"'
