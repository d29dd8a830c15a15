"""The Dockerfile and the manifests for Kubernetes: versions, images and command lines are ones that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mqctl import __version__
from mqctl.cli.catalog import BY_PATH
from mqctl.commands.check.checks_file import load_expectations
from mqctl.main import load_command
from tests.conftest import REPOSITORY
from tests.each import each

MANIFESTS = sorted((REPOSITORY / "docs" / "examples" / "kubernetes").glob("*.yaml"))
IMAGE = f"mqctl:{__version__}"


def documents(file: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(file.read_text()) if document]


def pods(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The specs of the pods that a document makes."""
    if "containers" in found:
        yield found
    for value in found.values():
        if isinstance(value, dict):
            yield from pods(value)


@each("file", MANIFESTS)
def test_a_manifest_starts_commands_that_exist_with_no_rights_beyond_its_volumes(file: Path) -> None:
    manifests = documents(file)
    assert all({"apiVersion", "kind", "metadata"} <= document.keys() for document in manifests)
    made = [pod for document in manifests for pod in pods(document)]
    assert len(made) == 1
    names = {volume["name"] for volume in made[0]["volumes"]}
    assert made[0]["securityContext"]["runAsNonRoot"] is True
    for container in made[0]["containers"]:
        assert container["image"] == (f"{IMAGE}-record" if file.stem == "record" else IMAGE)
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert {mount["name"] for mount in container["volumeMounts"]} == names
        words = container.get("args")
        if words is None:
            assert container["command"][0] == "sleep"
            continue
        path = next(tuple(words[:size]) for size in (2, 1) if tuple(words[:size]) in BY_PATH)
        load_command(path).make_context("mqctl", [str(word) for word in words[len(path) :]], resilient_parsing=False)


def test_the_checks_in_the_manifest_are_ones_that_mqctl_reads(tmp_path: Path) -> None:
    config = documents(MANIFESTS[0].with_name("check.yaml"))[0]
    (tmp_path / "checks.yaml").write_text(config["data"]["checks.yaml"])
    assert [group.group for group in load_expectations(tmp_path / "checks.yaml").groups] == ["order-service"]


def test_the_image_is_built_of_files_of_the_checkout_and_writes_where_the_manifests_mount() -> None:
    text = (REPOSITORY / "Dockerfile").read_text()
    assert IMAGE in text
    assert (REPOSITORY / re.findall(r"python (\.ci/\S+)", text)[0]).exists()
    assert (REPOSITORY / re.findall(r"(\S+\.lock)", text)[0]).exists()
    state = re.findall(r"MQCTL_STATE_DIR=(\S+)", text)[0]
    assert f"10001 {state}" in text
    assert all(f"mountPath: {state}" in file.read_text() for file in MANIFESTS if file.stem != "check")
    left_out = (REPOSITORY / ".dockerignore").read_text().split()
    wanted = re.findall(r'^"([\w/]+)" = ', (REPOSITORY / "pyproject.toml").read_text().split("force-include]")[1], re.M)
    assert not {name.partition("/")[0] for name in wanted} & set(left_out)
