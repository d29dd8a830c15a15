"""Archives of class data: who takes them over, and when."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mqctl.spark.session.java import Java
from mqctl.spark.session.open import _class_data_options
from tests.requires import need_extra

COMPLETE, TORN = b"\xf0\x0b\xab\xa2" + bytes(60), bytes(64)


@pytest.fixture(autouse=True)
def _spark() -> None:
    """The name of an archive says which Spark it is of."""
    need_extra("spark", "pyspark")


def runtime(home: Path) -> Java:
    base = home / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True)
    base.touch()
    return Java(home, 17, "test", has_vector_module=True)


def pending_in(options: list[str]) -> Path:
    (option,) = (each for each in options if "ArchiveClassesAtExit" in each)
    return Path(option.strip('"').split("=", 1)[1])


def test_archive_of_a_finished_session_is_used_by_the_next(tmp_path: Path) -> None:
    java, cache = runtime(tmp_path / "java"), tmp_path / "cache"
    pending = pending_in(_class_data_options(java, cache))
    pending.write_bytes(COMPLETE)
    options = _class_data_options(java, cache)
    (archive,) = cache.iterdir()
    assert options == [f'"-XX:SharedArchiveFile={archive}"', "-Xshare:auto"]
    assert archive.suffix == ".jsa"


def test_archive_of_a_killed_jvm_is_cleared_away(tmp_path: Path) -> None:
    java, cache = runtime(tmp_path / "java"), tmp_path / "cache"
    pending_in(_class_data_options(java, cache)).write_bytes(TORN)
    assert pending_in(_class_data_options(java, cache)).suffix == ".pending"
    assert list(cache.iterdir()) == []


def test_archive_that_is_still_being_written_is_left_alone(tmp_path: Path) -> None:
    java, cache = runtime(tmp_path / "java"), tmp_path / "cache"
    pending = pending_in(_class_data_options(java, cache))
    pending.write_bytes(COMPLETE)
    writer = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()", f"-XX:ArchiveClassesAtExit={pending}"],
        stdin=subprocess.PIPE,
    )
    try:
        assert pending_in(_class_data_options(java, cache)).parent == cache
        assert pending.read_bytes() == COMPLETE
    finally:
        writer.communicate()
    assert "-Xshare:auto" in _class_data_options(java, cache)


def test_runtime_without_an_archive_of_its_own_and_a_cache_that_cannot_be_made_go_without(tmp_path: Path) -> None:
    assert _class_data_options(Java(tmp_path, 25, "test", has_vector_module=False), tmp_path / "cache") == []
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    assert _class_data_options(runtime(tmp_path / "java"), in_the_way / "cache") == []
