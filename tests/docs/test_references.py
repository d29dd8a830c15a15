"""The generated references say all there is to say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs import schemas, site
from docs.settings import VARIABLES
from tests.conftest import REPOSITORY
from tests.docs import markdown

LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)(?:#[\w-]*)?\)")
# Properties of messages and names of producers, not settings.
NO_SETTINGS = re.compile(
    r"MQCTL_(ORIGIN_\w*|REPLAY_ID|PROBE|BENCH_?|DRILL_|RESENT_\w+|DELAY_RELAY\w*|DELIVER_MS|FOLLOW_\w*|PRODUCER|TOPIC|TEST_\w+)"
)


def test_every_variable_that_is_read_is_documented() -> None:
    read = set()
    for file in (REPOSITORY / "mqctl").rglob("*.py"):
        read |= set(re.findall(r"\bMQCTL_[A-Z_]+\b", file.read_text(encoding="utf-8")))
    names = set(re.findall(r"MQCTL_[A-Z_]+", " ".join(VARIABLES)))
    assert {name for name in read if not NO_SETTINGS.fullmatch(name)} == names


def test_every_field_is_explained_or_plain() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    profile = page.partition("Of each profile:")[2].partition("## Checks")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", profile, re.MULTILINE)
    assert len(rows) > 8
    assert {name for name, text in rows if not text} <= {"tls_ca", "tls_cert", "tls_key", "tls_server_name"}


def dead_links(file: Path) -> list[str]:
    targets = LINK.findall(re.sub(r"^```.*?^```", "", file.read_text(), flags=re.DOTALL | re.MULTILINE))
    return [target for target in targets if not (file.parent / target).exists()]


@pytest.mark.parametrize("file", markdown.files(), ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_links_lead_somewhere(file: Path) -> None:
    assert dead_links(file) == []


def test_links_of_the_built_references_lead_somewhere(references: Path) -> None:
    pages = list(references.rglob("*.md"))
    assert len(pages) == len(site.BUILT)
    assert [link for page in pages for link in dead_links(page)] == []


def test_the_machine_forms_are_those_of_the_contract() -> None:
    """A difference means that what readers of `-o json` rely on changes: docs/generate.py writes it down."""
    assert (REPOSITORY / "docs" / "schemas.json").read_text(encoding="utf-8") == schemas.contract()


def test_the_contract_is_a_schema_of_every_form() -> None:
    contract = json.loads(schemas.contract())
    assert contract["forms"].keys() == schemas.SCHEMAS.keys()
    referred = set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', json.dumps(contract)))
    assert referred == contract["$defs"].keys()
    assert contract["$defs"]["GroupLag"]["properties"]["group"] == {"type": "string"}
    assert "group" in contract["$defs"]["GroupLag"]["required"]
