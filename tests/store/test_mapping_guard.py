"""Store files that are cut while they are mapped: an error that names the file, never the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqctl.errors import ExitCode
from tests.conftest import REPOSITORY
from tests.store.builder import StoreBuilder, message

_CUT_WHILE_READ = """
import os, sys
from pathlib import Path
from mqctl.cli.exit import run_guarded
from mqctl.store.directory import StoreDirectory

root, victim, size = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = StoreDirectory.open(root)
queue, index = store.consume_queue("TopicTest", 0), store.index_files()[0]
looks = {
    "commitlog": lambda: store.commit_log.walk(store.commit_log.files[0]).positions,
    "consumequeue": lambda: queue.entries(0).copy(),
    "index": lambda: index.entries.copy(),
}
look = looks[victim.partition("/")[0]]
look()
os.truncate(root / victim, size)
sys.exit(run_guarded(["store"], lambda _: len(look())))
"""
_GONE_WHILE_READ = """
import os, sys
from pathlib import Path
from mqctl.cli.exit import run_guarded
from mqctl.main import main

root, victim, how, words = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
acts = {
    "deleted": victim.unlink,
    "replaced by a shorter one": lambda: os.replace(root / "short", victim),
    "replaced by a directory": lambda: (victim.unlink(), victim.mkdir()),
}

def at_the_first_mapping(event, arguments):
    if event == "mmap.__new__" and how in acts:
        acts.pop(how)()

sys.addaudithook(at_the_first_mapping)
sys.exit(run_guarded([*words, "--store", str(root)], main))
"""
"""The hook does to a file what another process does, between the look at the directory and the reading."""
_HOLES_OF_A_FULL_TMPFS = """
import os
from pathlib import Path
from mqctl.store.mapped_files import map_file

sparse = Path("sparse")
with sparse.open("wb") as file:
    file.truncate(8 << 20)
    file.seek(4 << 20)
    file.write(b"abc")
try:
    with open("filling", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
except OSError:
    print(int(map_file(sparse).sum()))
"""

_NO_MEMORY = """
import os, resource, sys
from pathlib import Path
from mqctl.store.mapped_files import map_file

buffer = map_file(Path(sys.argv[1]))
os.truncate(sys.argv[1], 0)
resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
buffer[100]
print("was read")
"""


def _run(*arguments: str, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=where, env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("size", [0, 4_096])
@pytest.mark.parametrize("part", ["commitlog", "consumequeue/TopicTest/0", "index"])
def test_a_file_that_is_cut_while_it_is_read_is_named(tmp_path: Path, part: str, size: int) -> None:
    built = StoreBuilder(commit_log_file_bytes=1 << 18, queue_file_entries=1_000)
    for number in range(600):
        built.append(message("TopicTest", 0, bytes(200), {"KEYS": "k"}, store_time_ms=1_795_218_000_000 + number))
    built.write(tmp_path)
    victim = next((tmp_path / part).iterdir())
    before = victim.stat().st_size

    done = _run(
        sys.executable, "-c", _CUT_WHILE_READ, str(tmp_path), f"{part}/{victim.name}", str(size), where=tmp_path
    )

    assert done.returncode == ExitCode.IO, done
    complaint = f"could not read {victim}: it was cut from {before:,} to {size:,} bytes while it was read\n"
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("words", "how"),
    [
        (("doctor",), "deleted"),
        (("doctor",), "replaced by a shorter one"),
        (("store", "verify"), "replaced by a shorter one"),
        (("store", "verify"), "replaced by a directory"),
    ],
)
def test_a_file_that_goes_away_while_a_store_is_read_ends_nothing(
    tmp_path: Path, words: tuple[str, ...], how: str
) -> None:
    store = tmp_path / "store"
    built = StoreBuilder(commit_log_file_bytes=1 << 16, queue_file_entries=100)
    for number in range(600):
        built.append(message("TopicTest", 0, bytes(200), {"KEYS": "k"}, store_time_ms=1_795_218_000_000 + number))
    built.write(store)
    victim = sorted((store / "commitlog").iterdir())[1]
    (store / "short").write_bytes(victim.read_bytes()[:5_000])

    done = _run(sys.executable, "-c", _GONE_WHILE_READ, str(store), str(victim), how, *words, where=tmp_path)

    assert done.returncode in {0, 1, 2, 3, ExitCode.IO, ExitCode.NOT_FOUND}, done
    assert "Traceback" not in done.stderr
    assert "has a bug" not in done.stderr
    assert not victim.is_file() or victim.stat().st_size == 5_000, "it was to go while the store was read"


def test_holes_of_a_full_tmpfs_read_as_zeros(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=1m none . && cd . && exec "$@"'
    unshared = ("unshare", "-rm", "sh", "-c", mounted, "sh")
    if _run(*unshared, "true", where=tmp_path).returncode:
        pytest.skip("this system does not let us mount a tmpfs")

    done = _run(*unshared, sys.executable, "-c", _HOLES_OF_A_FULL_TMPFS, where=tmp_path)

    assert (done.returncode, done.stdout) == (0, f"{sum(b'abc')}\n"), done


def test_a_fault_that_cannot_be_mended_ends_the_process_with_a_word(tmp_path: Path) -> None:
    victim = tmp_path / "file"
    victim.write_bytes(b"a" * 8_192)
    done = _run(sys.executable, "-c", _NO_MEMORY, str(victim), where=tmp_path)
    assert (done.returncode, done.stdout) == (ExitCode.IO, "")
    assert done.stderr == f"mqctl: could not read {victim}: its disk failed, and memory is used up\n"
