"""The script that plants faults finds its places, leaves no fault behind and reports what tests notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.planted_faults import FAULTS, Fault, judge, place_of, planted, room_tests

SOUND = "def larger(a, b):\n    return a if a > b else b\n"
FAULT = Fault("pick.larger", "a > b", "a < b", "the smaller number is returned")
EQUAL = Fault("pick.larger", "a > b", "a >= b", "nothing")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Gives a tree of two packages with a test that notices the fault."""
    files = {
        "pytest.ini": "[pytest]\naddopts = -ra\n",
        "mqctl/__init__.py": "",
        "mqctl/store/__init__.py": "",
        "mqctl/store/pick.py": SOUND,
        "embedded_broker/__init__.py": "",
        "tests/store/test_any.py": "def test_any(): ...\n",
        "tests/store/test_pick.py": (
            "from mqctl.store.pick import larger\n\n\ndef test_larger():\n    assert larger(1, 2) == 2\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_fault_is_found_by_its_text_wherever_its_module_went(root: Path) -> None:
    moved = root / "embedded_broker" / "deep" / "chosen.py"
    moved.parent.mkdir()
    (root / "mqctl/store/pick.py").rename(moved)
    assert place_of(root, FAULT) == moved


@pytest.mark.parametrize("text", [SOUND + SOUND, ""])
def test_a_text_that_does_not_occur_once_needs_renewing(root: Path, text: str) -> None:
    (root / "mqctl/store/pick.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"the fault in pick\.larger needs renewing"):
        place_of(root, FAULT)


def test_the_text_is_sound_afterwards(root: Path) -> None:
    file = root / "mqctl/store/pick.py"
    with pytest.raises(RuntimeError), planted(file, FAULT):
        assert file.read_text(encoding="utf-8") == SOUND.replace("a > b", "a < b")
        raise RuntimeError
    assert file.read_text(encoding="utf-8") == SOUND


def test_tests_that_name_the_module_come_first(root: Path) -> None:
    file = root / "mqctl/store/pick.py"
    assert room_tests(root, file) == ["tests/store/test_pick.py", "tests/store"]
    assert room_tests(root, root / "embedded_broker/__init__.py") == []


def test_a_fault_is_noticed_by_a_test_that_passes_without_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # ours comes with the packages that this tree replaces
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    file = root / "mqctl/store/pick.py"
    noticed = judge(root, file, FAULT, ("-n0", "tests/store"))
    assert (noticed.verdict, noticed.test) == ("noticed", "tests/store/test_pick.py::test_larger")
    assert judge(root, file, EQUAL, ("-n0", "tests/store")).verdict == "missed"
    (root / "tests/store/test_any.py").write_text("def test_any():\n    raise OSError\n", encoding="utf-8")
    assert judge(root, file, EQUAL, ("-n0", "tests/store")).verdict == "unclear"
    with pytest.raises(RuntimeError, match="ended with 4"):
        judge(root, file, FAULT, ("-n0", "tests/elsewhere"))


def test_the_faults_are_twenty_and_change_something() -> None:
    assert len({fault.old for fault in FAULTS}) == 20
    assert [fault for fault in FAULTS if fault.new == fault.old] == []
