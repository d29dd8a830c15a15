"""The catalogue of sentences in Chinese, from the sources: `python docs/texts.py` brings it up to date.

New sentences get an entry without a translation, sentences that are gone lose theirs, and each entry shows the English
of today above it. `python docs/texts.py --check` lists what to translate and changes nothing.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mqctl.cli.usage_texts import OF_PARSER  # noqa: E402 - the checkout goes before an installed copy
from mqctl.local.scenario_files import load_scenario, scenario_names  # noqa: E402
from mqctl.render.translation import CATALOGUE, read_catalogue  # noqa: E402
from mqctl.rules import RULES  # noqa: E402
from mqctl.text import Text, word_key  # noqa: E402

PACKAGE = ROOT / "mqctl"
_HEAD = """\
# Sentences of mqctl in Chinese. Keys and English come from the sources: python docs/texts.py
msgid ""
msgstr "Language: zh\\nMIME-Version: 1.0\\nContent-Type: text/plain; charset=UTF-8\\nContent-Transfer-Encoding: 8bit\\n"
"""
_NAME = re.compile(r"[a-z]+(-[a-z]+)+")
"""Two words or more in lower case with hyphens: the subject or the place, and what is said of it."""
_MADE = re.compile(r"(head|word|none|count|scenario|usage|title)-|mq\d")
_ENGLISH = re.compile(r'^#\. (.*)\nmsgid "(.*)"$', re.MULTILINE)


def sources() -> dict[str, set[str]]:
    """Returns the English templates of each key, as the sources have them; a key should have one."""
    known: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(call in text for call in ("sentence(", "Sentence(", "counted(", "Column(", "column(", "Section(")):
            for key, template in _written(ast.parse(text)):
                known.setdefault(key, set()).add(template)
    for code, rule in RULES.items():
        for key, template in rule.texts.keyed(code).items():
            known.setdefault(key, set()).add(template)
    for key, template in OF_PARSER.items():
        known.setdefault(key, set()).add(template)
    for name in scenario_names():
        scenario = load_scenario(name)
        for said in (scenario.title, *scenario.planted):
            assert isinstance(said, Text)
            known.setdefault(said.key, set()).add(said.template)
    return known


def _written(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="sentence" | "Sentence"),
                args=[ast.Constant(value=str(key)), ast.Constant(value=str(template))],
            ):
                yield key, template
            case (
                ast.Call(func=ast.Name(id="Column"), args=[_, ast.Constant(value=str(head)), *_], keywords=others)
                | ast.Call(func=ast.Name(id="column"), args=[ast.Constant(value=str(head)), *_], keywords=others)
            ):
                yield from _of_column(head, others)
            case ast.Call(func=ast.Name(id="Section"), args=[_, ast.Constant(value=str(title)), *_]):
                yield word_key("title", title), title
            case ast.Call(func=ast.Name(id="counted"), args=[_, ast.Constant(value=str(one)), *_]):
                yield f"count-{one.replace(' ', '-')}", f"{{count:{one}}}"


def _of_column(head: str, others: list[ast.keyword]) -> Iterator[tuple[str, str]]:
    if "_" not in head:  # a column of CSV is headed by its key
        yield word_key("head", head), head
    for item in others:
        match item:
            case ast.keyword(arg="none", value=ast.Constant(value=str(none))) if none.strip("?-"):
                yield word_key("none", none), none


def words(catalogue: str) -> dict[str, set[str]]:
    """Returns the states and kinds that the catalogue has: values of enumerations, looked up as they come."""
    listed = ((key, json.loads(f'"{english}"')) for english, key in _ENGLISH.findall(catalogue))
    return {key: {english} for key, english in listed if key.startswith("word-")}


def places(template: str) -> set[str]:
    """Returns the names of a template's places."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def catalogue_text(known: dict[str, set[str]], translations: dict[str, str]) -> str:
    """Returns the `.po` file of these keys."""
    entries = (
        f"#. {json.dumps(min(templates), ensure_ascii=False)[1:-1]}\n"
        f"msgid {json.dumps(key)}\nmsgstr {json.dumps(translations.get(key, ''), ensure_ascii=False)}\n"
        for key, templates in sorted(known.items())
    )
    return "\n".join((_HEAD, *entries))


def to_translate(known: dict[str, set[str]], catalogue: str) -> list[str]:
    """Returns what a translator has to look at: keys that are missing or left over, and those whose English changed."""
    translated = read_catalogue(catalogue)
    english = {key: json.loads(f'"{template}"') for template, key in _ENGLISH.findall(catalogue)}
    missing = [f"missing: {key}: {min(known[key])}" for key in sorted(known.keys() - translated.keys())]
    unused = [f"not used: {key}" for key in sorted(translated.keys() - known.keys())]
    changed = [
        f"changed: {key}: {min(known[key])}"
        for key in sorted(known.keys() & translated.keys())
        if english.get(key) not in known[key]
    ]
    return [*missing, *unused, *changed]


def misnamed(known: dict[str, set[str]]) -> list[str]:
    """Returns the keys that are no names: one word, a trailing number, several templates; and templates of two keys.

    Heads, states, counts and the sentences of rules have keys that are made of what they name.
    """
    written = {key: templates for key, templates in known.items() if not _MADE.match(key)}
    keys_of: dict[str, set[str]] = {}
    for key, templates in written.items():
        keys_of.setdefault(min(templates), set()).add(key)
    wrong = [f"no name: {key}" for key in sorted(written) if not _NAME.fullmatch(key)]
    wrong += [f"several templates: {key}" for key, templates in sorted(written.items()) if len(templates) > 1]
    return wrong + [f"one template: {', '.join(sorted(keys))}" for keys in keys_of.values() if len(keys) > 1]


def main() -> None:
    """Brings the catalogue up to date, or lists what to translate."""
    catalogue = CATALOGUE.read_text(encoding="utf-8")
    known = sources() | words(catalogue)
    sys.stdout.writelines(f"{line}\n" for line in [*misnamed(known), *to_translate(known, catalogue)])
    if "--check" not in sys.argv:
        CATALOGUE.write_text(catalogue_text(known, read_catalogue(catalogue)), encoding="utf-8")


if __name__ == "__main__":
    main()
