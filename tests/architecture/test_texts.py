"""What errors, gaps, notes and plans say are texts with keys, never mere strings of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.sources import Source, in_every_module, parsed

SAID = frozenset({"problem", "reason", "remedy", "note"})
"""Arguments that say something, whoever takes them: errors, gaps, parts of plans, what makes one of these."""
SHOWN = frozenset({"title", "empty"})
"""Those of a table."""
_WHY = re.compile(r"(^|_)(why|reason|problem|unfit|trouble)(_|$)")
"""Functions of such names return what is said."""
_SAYS = re.compile(r"[^\W\d]\S* \S")
"""Several words; one alone is a code or a name."""
_WORD = re.compile(r"[^\W\d]{2,}")
Known = Mapping[str, list[ast.expr]]


class Handed(NamedTuple):
    """A mere string that is handed on: to a class, a function or a method as its argument number `place`, from 0 on, or
    (None) as something that is said whoever takes it."""

    taker: str | None
    where: str
    place: int = 0


class Taker(NamedTuple):
    """What has a parameter that says something: a class, a function or a method, and which one."""

    name: str
    place: int


def error_names(classes: Iterable[tuple[str, frozenset[str]]]) -> set[str]:
    """The names of MqctlError and of all classes below it, of classes and what is above each."""
    above = dict(classes)
    names = {"MqctlError"}
    while more := {name for name, bases in above.items() if bases & names} - names:
        names |= more
    return names


def classes_of(source: Source) -> Iterator[tuple[str, frozenset[str]]]:
    """Yields the classes of a module, each with the names above it."""
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            yield node.name, frozenset(base.id for base in node.bases if isinstance(base, ast.Name))


def takers_of(source: Source) -> Iterator[Taker]:
    """Yields the classes, functions and methods of a module whose parameters have names of what is said."""
    methods: set[ast.AST] = set()
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            methods.update(node.body)
            fields = [
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
            made = next(
                (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
            )
            names = fields if made is None else _parameters(made)[1:]
            yield from (Taker(node.name, place) for place, name in enumerate(names) if name in SAID)
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = _parameters(node)
            bound = node in methods and names[:1] in (["self"], ["cls"])
            yield from (Taker(node.name, place) for place, name in enumerate(names[bound:]) if name in SAID)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def mere_strings(source: Source) -> Iterator[Handed]:
    """Yields the sentences of a module without a key that are handed on."""
    if source.name.startswith("embedded_broker"):
        return
    of_module = assigned(list(source.tree.body))
    for scope, inside in scopes(source.tree):
        known = {**of_module, **assigned(inside)}
        handed_on: list[tuple[str | None, int, ast.expr]] = [(None, 0, value) for value in defaults(scope)]
        for node in inside:
            handed_on += handed(node)
            if isinstance(node, ast.Return) and node.value is not None and _WHY.search(getattr(scope, "name", "")):
                handed_on.append((None, 0, node.value))
        for taker, place, argument in handed_on:
            for text in mere(argument, known):
                yield Handed(taker, f"{source.name}:{text.lineno}: {ast.unparse(text)}", place)


classes_everywhere = in_every_module(classes_of)
mere_strings_everywhere = in_every_module(mere_strings)
takers_everywhere = in_every_module(takers_of)


def said_without_key(strings: Iterable[Handed], errors: set[str], takers: Iterable[Taker]) -> list[str]:
    known = set(takers)
    return [
        one.where for one in strings if one.taker is None or one.taker in errors or Taker(one.taker, one.place) in known
    ]


def scopes(module: ast.Module) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yields a module and each function of it with the nodes that belong to it alone."""
    waiting: list[ast.AST] = [module]
    while waiting:
        scope = waiting.pop()
        inside, rest = [], list(ast.iter_child_nodes(scope))
        while rest:
            node = rest.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                waiting.append(node)
                continue
            inside.append(node)
            rest += ast.iter_child_nodes(node)
        if inside:
            yield scope, inside


def assigned(nodes: list[ast.AST]) -> Known:
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values.setdefault(name, []).append(value)
    return values


def handed(node: ast.AST) -> Iterator[tuple[str | None, int, ast.expr]]:
    match node:
        case ast.Call(func=ast.Name(id=taker) | ast.Attribute(attr=taker)):
            yield from ((taker, place, value) for place, value in enumerate(node.args))
            said = SAID | SHOWN if taker == "Table" else SAID
            yield from ((None, 0, word.value) for word in node.keywords if word.arg in said)
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in SAID:
            yield None, 0, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            yield from ((None, 0, value) for one, value in zip(names, values, strict=False) if ast.unparse(one) in SAID)


def defaults(scope: ast.AST) -> Iterator[ast.expr]:
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*scope.args.posonlyargs, *scope.args.args]
        positional = zip(arguments[len(arguments) - len(scope.args.defaults) :], scope.args.defaults, strict=True)
        by_name = zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
        yield from (value for argument, value in (*positional, *by_name) if argument.arg in SAID and value is not None)


def mere(value: ast.expr, known: Known) -> Iterator[ast.expr]:
    """Yields the parts of an expression that are mere strings with words of ours in them."""
    match value:
        case ast.Constant(value=str(text)) if _SAYS.search(text):
            yield value
        case ast.JoinedStr(values=parts):
            if any(isinstance(part, ast.Constant) and _WORD.search(str(part.value)) for part in parts):
                yield value
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*mere(left, known), *mere(right, known))
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*mere(body, known), *mere(orelse, known))
        case ast.BoolOp(values=values):
            for one in values:
                yield from mere(one, known)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as template, attr="format" | "join")):
            yield from mere(template, known)
        case ast.Name(id=name):
            for one in known.get(name, []):
                yield from mere(one, {})


def test_whatever_says_something_says_a_text_with_a_key() -> None:
    errors = error_names(classes_everywhere())
    strings = said_without_key(mere_strings_everywhere(), errors, takers_everywhere())
    assert len(errors) > 10 and strings == [], "use sentence() of mqctl.text, or command_line()"


_MADE = frozenset({"sentence", "composed", "counted", "joined"})
"""What makes texts."""


def flattened(source: Source) -> Iterator[str]:
    """Yields f-strings and joins of a module that make a mere string of texts, as these stand there or have a name."""
    if source.name.startswith("embedded_broker"):
        return
    for _, inside in scopes(source.tree):
        texts = {name for name, values in assigned(inside).items() if any(map(_makes_text, values))}
        for node in inside:
            match node:
                case ast.JoinedStr(values=parts):
                    inner = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
                case ast.Call(
                    func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.GeneratorExp(elt=value)]
                ):
                    inner = [value]
                case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.List(elts=values)]):
                    inner = values
                case _:
                    continue
            if any(_makes_text(value) or (isinstance(value, ast.Name) and value.id in texts) for value in inner):
                yield f"{source.name}:{node.lineno}: {ast.unparse(node)}"


def _makes_text(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _MADE
        case ast.IfExp(body=body, orelse=orelse):
            return _makes_text(body) or _makes_text(orelse)
        case ast.BoolOp(values=values):
            return any(map(_makes_text, values))
    return False


flattened_everywhere = in_every_module(flattened)


def test_texts_stay_texts_where_they_are_put_together() -> None:
    assert flattened_everywhere() == [], "use composed() or joined()"
    assert (
        len(list(flattened(parsed("a.py", 'a = sentence("b", "c")\nf"{a}; d"\n", ".join(counted(n, "e") for n in f)'))))
        == 2
    )


def plurals(source: Source) -> Iterator[str]:
    """Yields choices between two words by whether a number is one: `mqctl.units` has nouns and verbs with counts."""
    for node in source.nodes:
        match node:
            case ast.IfExp(
                test=ast.Compare(comparators=[ast.Constant(value=1)]),
                body=ast.Constant(value=str(one)),
                orelse=ast.Constant(value=str(other)),
            ) if re.fullmatch("[a-z ]+", f"{one}{other}"):
                yield f"{source.name}:{node.lineno}: {ast.unparse(node)}"


plurals_everywhere = in_every_module(plurals)


def test_nouns_and_verbs_of_counts_are_made_in_one_place() -> None:
    assert plurals_everywhere() == [], "use counted(), or {count:message is/are} in a sentence"
    assert len(list(plurals(parsed("a.py", "f\"{n} key{'' if n == 1 else 's'}\"")))) == 1


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ('raise UsageError("no such thing")', True),
        ('raise UsageError(f"no {thing}")', True),
        ('raise UsageError(sentence("a", "b"), remedy="mqctl topic list")', True),
        ('raise Refused(text if text else "nothing else")', True),
        ('def f():\n why = "too late"\n raise UsageError(problem, reason=why)', True),
        ('def f(*, remedy: str = "wait for it") -> None:\n    pass', True),
        ('Gap(part=part, cause=cause, reason="it was " + name)', True),
        ('reason = f"line {number} is cut"', True),
        ('problem, remedy = f"could not write {file}", None', True),
        ('WHY = "it is too late"\ndef f():\n    raise UsageError(problem, reason=WHY)', True),
        ('def f(pid: int, reason: str) -> None: ...\nf(4711, "it has ended")', True),
        ('def f(pid: int, reason: str) -> None: ...\nf("it has ended", reason)', False),
        ('class Dump:\n def cut(self, reason: str) -> None: ...\nDump().cut("the end is missing")', True),
        ('class Unread(NamedTuple):\n part: str\n reason: str\nUnread("index", f"{size} bytes too many")', True),
        ('class Unfit(Exception):\n def __init__(self, path, reason): ...\nraise Unfit("a", "no step")', True),
        ('def _header_problem(index):\n return "negative counters"', True),
        ('def why_incomplete(queue):\n return "" if queue else f"no file of {queue}"', True),
        ('Table(columns, rows, empty="no group has offsets")', True),
        ('Column(empty="no group has offsets")', False),
        ('raise UsageError(sentence("a", "b"), reason=str(error))', False),
        ('raise UsageError(sentence("a", "b"), remedy=command_line("mqctl topic list"))', False),
        ('raise ValueError("of Python")', False),
        ('raise UsageError(problem, reason=f"{error}")', False),
    ],
)
def test_the_look_at_the_sources_finds_mere_strings(source: str, *, is_found: bool) -> None:
    module = parsed("a.py", f"class Refused(UsageError): ...\nclass UsageError(MqctlError): ...\n{source}")
    strings = said_without_key(mere_strings(module), error_names(classes_of(module)), takers_of(module))
    assert bool(strings) is is_found
