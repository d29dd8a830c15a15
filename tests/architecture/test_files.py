"""Files are written through `mqctl.store.own_files` only, where no link is followed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import Source, in_every_module, parsed

_WRITERS = {"mqctl/store/own_files.py", "mqctl/store/disk.py"}
"""The one way for all files, and the one for the mapped files of a store that an embedded broker has open."""
_ELSEWHERE = {
    ("mqctl/__main__.py", "open(os.devnull, 'w', encoding='utf-8')"): "the null device",
    ("mqctl/cli/emit.py", "os.open(os.devnull, os.O_WRONLY)"): "the null device",
    ("mqctl/cli/exit.py", "os.open(os.devnull, os.O_WRONLY)"): "the null device",
    (
        "mqctl/execute/alone.py",
        "FileLock(lock)",
    ): "the library refuses a link; tests/store/test_own_files.py holds that",
    ("mqctl/store/rocksdb_database.py", "(folder / each.name).symlink_to(each)"): "a new name in a new folder of ours",
}
_METHODS = frozenset(
    {
        "write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "FileLock", "symlink_to", "hardlink_to",
        "symlink", "link", "copyfile", "copy2", "copytree", "chown", "lchown", "mkfifo", "mknod",
    }
)  # fmt: skip
_MODES = frozenset("wax+")
_FLAGS = ("O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", "O_APPEND")


def _writes(source: Source) -> Iterator[tuple[str, str]]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_write(node):
            yield source.name, ast.unparse(node)


def _is_write(call: ast.Call) -> bool:
    function, _, name = ast.unparse(call.func).rpartition(".")
    words = [ast.unparse(each) for each in (*call.args, *(key.value for key in call.keywords))]
    if name == "open" and function == "os":
        return any(flag in word for word in words for flag in _FLAGS)
    if name in ("open", "fdopen"):
        modes = [each.value for each in (*call.args, *(key.value for key in call.keywords if key.arg == "mode"))
                 if isinstance(each, ast.Constant) and isinstance(each.value, str)]  # fmt: skip
        return any(_MODES & set(mode) for mode in modes if len(mode) <= 3)
    if name == "truncate":
        return function == "os"
    if name == "touch":
        return function not in ("self", "self.topics")
    return name in _METHODS and not (name == "write_text" and not function)  # our own, of a page


_all_writes = in_every_module(_writes)


def test_files_are_written_in_one_way() -> None:
    """A link that somebody planted, or a name that can be guessed, is refused in one place, for root as well."""
    assert {write for write in _all_writes() if write[0] not in _WRITERS} == set(_ELSEWHERE)


def test_the_search_sees_each_way_to_write() -> None:
    ways = (
        "open(p, 'w')", "p.open('ab')", "p.open(mode='r+b')", "os.open(p, os.O_RDWR | os.O_CREAT)", "p.write_text('')",
        "p.write_bytes(b'')", "p.touch()", "tempfile.mkstemp()", "shutil.copyfile(a, b)", "os.fdopen(d, 'w')",
        "os.chown(p, 0, 0)", "FileLock(p)", "p.symlink_to(q)",
    )  # fmt: skip
    assert [way for way in ways if not list(_writes(parsed("a.py", way)))] == []
    assert list(_writes(parsed("a.py", "p.open('rb'); open(p); os.open(p, os.O_RDONLY); stream.truncate(9)"))) == []


def test_what_opens_to_write_follows_no_link() -> None:
    opened = [text for name, text in _all_writes() if name in _WRITERS and text.startswith("os.open(")]
    assert opened
    # `_NEW` and what opens by `flags` have it; a pipe or a terminal that the user named is given its bytes.
    assert [text for text in opened if not any(word in text for word in ("O_NOFOLLOW", "_NEW"))] == [
        "os.open(file, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)"
    ]
