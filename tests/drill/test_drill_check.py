"""`mqctl drill check`, as typed."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from mqctl.drill.plan import plan_names
from mqctl.model.drill_verdict import DrillVerdict
from mqctl.text import encoded
from tests.drill.written import Written
from tests.live.conftest import Run


def test_a_kept_drill_ends_with_0_and_the_machine_form_is_the_documented_one(mqctl: Run, tmp_path: Path) -> None:
    path = Written().stored(0, 0).delivered(0, 0).ends().file(tmp_path)
    outcome = mqctl("drill", "check", path, "-o", "json")
    assert (outcome.exit_code, outcome.json["state"]) == (0, "kept")
    document = outcome.json
    assert document.pop("schema") == "drill.verdict/1"
    verdict = msgspec.convert(document, DrillVerdict, strict=True)
    assert json.loads(msgspec.json.encode(verdict, enc_hook=encoded)) == document


def test_a_broken_promise_ends_with_2_and_shows_the_lines(mqctl: Run, tmp_path: Path) -> None:
    path = Written().stored(0, 0).stored(1, 1).delivered(1, 1).ends().file(tmp_path)
    outcome = mqctl("drill", "check", path)
    assert outcome.exit_code == 2
    assert "VIOLATED: lost 1" in outcome.stdout
    assert "lost: g: message 0 of p acknowledged and never consumed" in outcome.stdout
    sent, acknowledged = (number for number, line in enumerate(path.read_text().splitlines(), 1) if " 1 1 0 " in line)
    assert f"  line {sent}  s " in outcome.stdout
    assert f"  line {acknowledged}  a " in outcome.stdout
    suite = ElementTree.fromstring(mqctl("drill", "check", path, "--as", "junit").stdout)
    assert (suite.get("name"), suite.get("failures"), suite.get("errors")) == ("mqctl drill", "1", "0")
    failure = suite.find("testcase[@name='lost']/failure")
    assert failure is not None
    assert f"line {sent}  s " in str(failure.get("message"))
    chinese = ElementTree.fromstring(mqctl("drill", "check", path, "--as", "junit", "--lang", "zh").stdout)
    failure = chinese.find("testcase[@name='lost']/failure")
    assert failure is not None
    assert "检查 2 处，违反 1 处；lost: g: p 的消息 0 已确认，但从未被消费" in str(failure.get("message"))


def test_a_verdict_says_what_it_could_not_check_in_both_languages(mqctl: Run, tmp_path: Path) -> None:
    path = Written().stored(0, 0).delivered(0, 0).ends().file(tmp_path)
    english, chinese = mqctl("drill", "check", path).stdout, mqctl("drill", "check", path, "--lang", "zh").stdout
    assert "KEPT: none of the 5 promises that could be checked was broken." in english
    assert "Not checked: late (the plan sets no late_after)." in english
    assert "had nothing of the kind: delivered-though-rolled-back, delivered-though-refused, " in english
    assert "通过：所检查的 5 项承诺均未被违反。" in chinese
    assert "未检查：late" in chinese


def test_a_page_shows_the_verdict_and_its_evidence(mqctl: Run, tmp_path: Path) -> None:
    path = Written().stored(0, 0).stored(1, 1).delivered(1, 1).ends().file(tmp_path)
    assert mqctl("drill", "check", path, "--html", tmp_path / "page.html", "--lang", "zh").exit_code == 2
    page = (tmp_path / "page.html").read_text()
    assert '<html lang="zh">' in page
    assert "违反：lost 1" in page
    assert "g: p 的消息 0 已确认，但从未被消费" in page
    assert "<pre" in page and "<script" not in page


def test_an_interrupted_drill_ends_with_3_and_says_why(mqctl: Run, tmp_path: Path) -> None:
    path = Written().stored(0, 0).file(tmp_path)
    outcome = mqctl("drill", "check", path)
    assert outcome.exit_code == 3
    assert "The history has no end" in outcome.stdout
    assert "g was still owed 1 when the history ended" in outcome.stdout
    suite = ElementTree.fromstring(mqctl("drill", "check", path, "--as", "junit").stdout)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_what_is_no_history_ends_with_65_and_none_with_66(mqctl: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text\n")
    assert mqctl("drill", "check", tmp_path / "text").exit_code == 65
    assert mqctl("drill", "check", tmp_path / "none").exit_code == 66


def test_what_cannot_be_is_said_before_a_drill_begins(mqctl: Run, tmp_path: Path) -> None:
    """A stranger's first lines: plans are listed, and neither a page nor a client that cannot be starts anything."""
    shown = " ".join(mqctl("drill", "run", "--help").stdout.split())
    assert [name for name in plan_names() if name not in shown] == []
    words = ("drill", "run", "scale-out", "--history", tmp_path / "h")
    page = mqctl(*words, "--html", tmp_path / "none" / "page.html")
    assert (page.exit_code, "its directory does not exist" in page.stderr) == (74, True), page.stderr
    bench = mqctl("bench", "produce", "-n", "127.0.0.1:1", "--html", tmp_path / "none" / "page.html")
    assert (bench.exit_code, "its directory does not exist" in bench.stderr) == (74, True), bench.stderr
    client = mqctl(*words, "--client", "java 'of nobody")
    assert (client.exit_code, "cannot read --client" in client.stderr) == (64, True), client.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_history_without_its_beginning_ends_with_65(mqctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(Written().stored(0, 0).file(tmp_path).read_bytes()[:60])
    cut = mqctl("drill", "check", tmp_path / "cut")
    assert (cut.exit_code, "the start of the drill is missing" in cut.stderr) == (65, True), cut.stderr
    newer = mqctl("drill", "check", written_by_a_newer(tmp_path))
    assert (newer.exit_code, "it was written by a newer mqctl" in newer.stderr) == (65, True), newer.stderr


def written_by_a_newer(directory: Path) -> Path:
    path = directory / "newer"
    path.write_bytes(Written().ends().file(directory).read_bytes().replace(b"-history 1", b"-history 9", 1))
    return path
