"""Files that outlive a command, as each form was written: they are read, and one of a newer form is refused by name.

`tests/model/forms` keeps them as they are; a new form gets a new file beside the old ones. Journals and
snapshots of form 1 lie where they have tests of their own.
"""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqctl import __version__
from mqctl.commands.check.checks_file import load_expectations
from mqctl.model.forms import FORMS
from tests.conftest import REPOSITORY, Outcome
from tests.each import each

Run = Callable[..., Outcome]
KEPT = REPOSITORY / "tests" / "model" / "forms"
CHANGE = "20261123-000449-108d"


def read(mqctl: Run, kind: str, place: Path) -> Outcome:
    """Runs a command that reads a file of this kind."""
    file = str(place)
    if kind == "profiles":
        return mqctl("profile", "show", "-o", "json", env={"MQCTL_CONFIG_DIR": file})
    if kind == "journal":
        return mqctl("history", "-o", "json", env={"MQCTL_STATE_DIR": file})
    if kind == "snapshot":
        return mqctl("snapshot", "show", file, "-o", "json")
    if kind == "drill":
        return mqctl("drill", "check", file, "-o", "json")
    if kind == "recording":
        return mqctl("timeline", "--recording", file, "-o", "json")
    return mqctl("check", file, "--namesrv", "127.0.0.1:1", "-o", "json")


def kept(kind: str, form: int) -> Path:
    apart = {
        ("journal", 1): REPOSITORY / "tests" / "changes" / "engine" / "old_journals",
        ("snapshot", 1): REPOSITORY / "tests" / "snapshot" / "old" / "snapshot-1.snap",
    }
    suffix = {"checks": ".yaml", "snapshot": ".snap", "drill": ".history"}.get(kind, "")
    return apart.get((kind, form), KEPT / f"{kind}-{form}{suffix}")


@each("kind", FORMS)
def test_a_file_of_every_form_is_kept(kind: str) -> None:
    assert [kept(kind, form).exists() for form in range(1, FORMS[kind] + 2)] == [True] * FORMS[kind] + [False]


@pytest.mark.parametrize("form", [1, 2])
def test_journals(mqctl: Run, form: int) -> None:
    outcome = read(mqctl, "journal", kept("journal", form))
    assert outcome.exit_code == 0
    assert [change["id"] for change in outcome.json["changes"] if form == 1 or change["id"] == CHANGE]


@pytest.mark.parametrize("form", [1, 2])
def test_snapshots(mqctl: Run, form: int) -> None:
    outcome = read(mqctl, "snapshot", kept("snapshot", form))
    assert (outcome.exit_code, outcome.json["schema"]) == (0, "snapshot.show/1")


def test_profiles_and_checks(mqctl: Run) -> None:
    assert read(mqctl, "profiles", kept("profiles", 1)).json["profiles"][0]["namesrv"] == "mq1:9876"
    assert [group.group for group in load_expectations(kept("checks", 1)).groups] == ["order-service"]


def test_histories_of_drills(mqctl: Run) -> None:
    outcome = read(mqctl, "drill", kept("drill", 1))
    assert (outcome.exit_code, outcome.json["state"], outcome.json["sent"]) == (0, "kept", 3)


def test_recordings(mqctl: Run) -> None:
    outcome = read(mqctl, "recording", kept("recording", 1))
    assert (outcome.exit_code, outcome.json["look_count"]) == (0, 2)


def newer(kind: str, tmp_path: Path) -> Path:
    """A file as a later mqctl may write it: of the next form, and with a field that this one does not know."""
    source, target, form = kept(kind, FORMS[kind]), tmp_path / "newer", FORMS[kind] + 1
    if kind == "snapshot":
        text = gzip.decompress(source.read_bytes()).replace(b'"snapshot/2"', b'"snapshot/3","more":1', 1)
        target.write_bytes(gzip.compress(text))
    elif kind == "drill":
        target.write_bytes(b"mqctl-drill-history 2\n!{}\n")
    elif kind == "journal":
        shutil.copytree(source, target)
        file = next(target.rglob("*.json"))
        text = re.sub(rb'"form": \d+', b'"form": %d' % form, file.read_bytes())
        file.write_bytes(text.replace(b'"kind"', b'"kinds"', 1))
    elif kind == "recording":
        shutil.copytree(source, target)
        for file in target.rglob("*.parquet"):
            table = pq.read_table(file)
            metadata = {**table.schema.metadata, b"format": b"recording/%d" % form}
            pq.write_table(table.replace_schema_metadata(metadata), file)
    else:
        file = target / "profiles.yaml" if kind == "profiles" else target
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"version: %d\nmore: 1\n" % form)
    return target


@pytest.mark.parametrize(
    ("kind", "code"),
    [("profiles", 78), ("checks", 78), ("journal", 74), ("snapshot", 65), ("drill", 65), ("recording", 65)],
)
def test_a_newer_form_is_refused_by_name(mqctl: Run, tmp_path: Path, kind: str, code: int) -> None:
    outcome = read(mqctl, kind, newer(kind, tmp_path))
    assert outcome.exit_code == code
    assert f"newer mqctl: it has form {FORMS[kind] + 1}, and mqctl {__version__} reads" in outcome.stderr
    assert "upgrade this mqctl" in outcome.stderr


@pytest.mark.parametrize("word", ["-o", "--output"])
def test_the_version_tells_the_forms(mqctl: Run, word: str) -> None:
    forms = mqctl("--version", word, "json").json
    assert (forms["schema"], forms["version"], forms["forms"]) == ("version/1", __version__, FORMS)


def test_the_version_stands_alone(mqctl: Run) -> None:
    outcome = mqctl("--version", "--verbose")
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert "mqctl --version -o" in outcome.stderr
