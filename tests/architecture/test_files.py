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
        "mqctl/store/exclusive_lock.py",
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


_READERS = {"mqctl/store/plain_files.py"}
"""Where files of others are opened: regular ones only, or what a user named; never more than 256 MiB at once."""
_OWN_READERS = {
    "embedded_broker/proxy/endpoint.py": "certificates that the settings of the broker name",
    "mqctl/capture/access.py": "/proc", "mqctl/capture/pause.py": "/proc, and the JVM's own file of this process",
    "mqctl/capture/processes.py": "/proc", "mqctl/capture/thread_cpu.py": "/proc",
    "mqctl/cli/catalog_options.py": "a file that this release made",
    "mqctl/cli/completion/names.py": "a file of the user's own cache",
    "mqctl/cli/connection/key_file.py": "64 KiB at most of a file that the user named",
    "mqctl/cli/terminal/passwords.py": "a line, of bounded length, of a file that the user named",
    "mqctl/client/remoting/tls.py": "certificates that the user named",
    "mqctl/commands/local/logs.py": "the log of the user's own cluster",
    "mqctl/commands/message/send.py": "the largest body at most of a file that the user named",
    "mqctl/drill/client_process.py": "the log of a client that this process started",
    "mqctl/drill/history.py": "pieces of 4 MiB of a file that the user named",
    "mqctl/drill/plan.py": "a file of the package",
    "mqctl/drill/scratch.py": "a lock in a folder of ours", "mqctl/drill/spill.py": "a file in a folder of ours",
    "mqctl/local/breaking.py": "the store of a cluster that this process started",
    "mqctl/local/keeping.py": "the log of the user's own cluster",
    "mqctl/local/processes.py": "the log of a process that this one started",
    "mqctl/local/scenario_files.py": "a file of the package", "mqctl/local/stage.py": "a file of the package",
    "mqctl/local/supervisor.py": "the log of the user's own cluster",
    "mqctl/commands/quickstart/steps.py": "what a command said that this process started",
    "mqctl/cli/sources/running_recorder.py": "4 KiB at most of a file of the user's own state",
    "mqctl/commands/stacks/gather.py": "pieces of a dump that the user named",
    "mqctl/playbook/child.py": "what a step said that this process started",
    "mqctl/playbook/places.py": "a README of a playbook", "mqctl/playbook/reading.py": "a file of the package",
    "mqctl/commands/timeline/page.py": "a file of the package", "mqctl/render/translation.py": "a file of the package",
    "mqctl/snapshot/archive.py": "pieces of a snapshot that the user named, 1 GiB unpacked at most",
    "mqctl/spark/reports/dealing.py": "a file in a folder of ours",
    "mqctl/spark/scan/log_splits.py": "where the holes of a file are that is mapped already",
    "mqctl/spark/session/java.py": "a file of the Java that was found",
    "mqctl/spark/session/open.py": "a log and an archive in folders of ours",
    "mqctl/spark/trends.py": "the end of a recording's file of 256 MiB at most",
    "mqctl/store/compiled/__init__.py": "files of the package",
    "mqctl/store/disk.py": "the store of the broker that runs here", "mqctl/store/host.py": "/proc",
    "mqctl/store/lock_holder.py": "/proc", "mqctl/store/mapping_guard.py": "a file that is mapped already",
    "mqctl/store/own_files.py": "directories whose names are to last",
    "mqctl/store/rocksdb.py": "files in a folder of ours", "mqctl/store/rocksdb_database.py": "opened by plain_files",
}  # fmt: skip
"""Modules that open files otherwise, and whose these are or what bounds them."""


def _reads(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_read(node):
            yield source.name


def _is_read(call: ast.Call) -> bool:
    function, _, name = ast.unparse(call.func).rpartition(".")
    if name in ("read_text", "read_bytes", "fromfile", "memmap", "fdopen"):
        return bool(function) and not _is_write(call)
    if name in ("read_table", "read_metadata"):
        return any(isinstance(each, ast.Name) and each.id in ("path", "file") for each in call.args)
    if name != "open" or _is_write(call) or function.endswith(("fsspec", "webbrowser")):
        return False
    if function in ("os", "gzip", "io", ""):
        return bool(call.args) and "devnull" not in ast.unparse(call)
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return "rb" in modes or "r" in modes or any(key.arg == "encoding" for key in call.keywords)


_all_reads = in_every_module(_reads)


def test_files_of_others_are_opened_in_one_way() -> None:
    """What opens a file otherwise says whose it is, or what bounds it; what opens none any more leaves the list."""
    assert set(_all_reads()) - _READERS == set(_OWN_READERS)
