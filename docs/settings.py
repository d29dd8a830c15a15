"""References of what mqctl is told and what it keeps: environment, profiles, checks, snapshots, machine forms."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import msgspec

from mqctl.cli.connection.profiles import Profile, Profiles
from mqctl.commands.check import checks_file
from mqctl.model import snapshot
from mqctl.model.gap import Part

VARIABLES = {
    "MQCTL_NAMESRV, NAMESRV_ADDR": "name servers, where neither --namesrv nor --profile says",
    "MQCTL_PROFILE": "the profile to use",
    "MQCTL_PROXY": "remoting ports of 5.x proxies, where --proxy does not say",
    "MQCTL_ACCESS_KEY, MQCTL_SECRET_KEY": "keys of access control",
    "MQCTL_ACL_FILE": "file with the keys, readable by its owner only",
    "MQCTL_KEYRING": "access key whose secret the system's keyring has",
    "MQCTL_TLS": "`true` secures all connections",
    "MQCTL_TLS_CA, MQCTL_TLS_CERT, MQCTL_TLS_KEY, MQCTL_TLS_SERVER_NAME": "as the options of these names",
    "MQCTL_TLS_KEY_PASSWORD": "opens an encrypted key",
    "MQCTL_WEBHOOK": "address that `check` posts to, as --webhook: keeps a token in it off the command line",
    "MQCTL_LANG": "language of sentences, failures included: en or zh; codes and JSON stay as they are",
    "MQCTL_CONFIG_DIR": "where profiles are kept",
    "MQCTL_STATE_DIR": "where journals, replays and local clusters are kept",
    "MQCTL_CACHE_DIR": "where names for the Tab and archives are kept; can be deleted at any time",
    "MQCTL_TIME_SCALE": "periods of brokers and clients are so many times as short (scenarios)",
    "MQCTL_TEE_JSON": "file that gets the JSON form as well, whatever -o says",
    "MQCTL_PLAN_FILE": "file that gets a plan when it is shown; with --execute, what it holds is done, or refused",
    "NO_COLOR, TERM=dumb": "no colours",
    "MQCTL_DEBUG": "shows the traceback of a bug",
}
"""Environment variables that mqctl reads, with what each is for."""


def pages() -> dict[str, str]:
    """Returns the text of every page by its path below the repository's root."""
    return {
        "docs/configuration.md": configuration(),
        "docs/snapshot.md": snapshot_page(),
    }


def configuration() -> str:
    """Returns the page about environment variables, profiles and the file of checks."""
    lines = [
        "# Configuration",
        "",
        "mqctl works without any. What is said closest wins: an option, then the environment,",
    ]
    lines += ["then the profile, then the local cluster that runs on this machine.", "", "## Environment", ""]
    lines += ["| variable | meaning |", "|---|---|"]
    lines += [
        f"| {', '.join(f'`{name}`' for name in names.split(', '))} | {text} |" for names, text in VARIABLES.items()
    ]
    lines += ["", "Without the three directories' variables the system's own places are used (`~/.config/mqctl`,"]
    lines += [
        "`~/.local/state/mqctl`, `~/.cache/mqctl` on Linux). In a home that cannot be written, reading works, and what"
    ]
    lines += ["has to be kept says which variable to set.", "", "## Profiles", ""]
    lines += ["`profiles.yaml` in the configuration directory; `mqctl profile add` writes it.", "", "```yaml"]
    lines += [
        "current: prod",
        "profiles:",
        "  prod: {namesrv: '10.0.0.1:9876;10.0.0.2:9876', acl_file: ~/.rocketmq/acl.yml}",
    ]
    lines += ["  staging: {namesrv: 'http://address.example:8080/rocketmq/nsaddr', timeout_ms: 30000}", "```", ""]
    lines += [
        *_fields(Profiles),
        "",
        "Of each profile:",
        "",
        *_fields(Profile),
        "",
        "A word that is not known is an error.",
    ]
    lines += ["", "## Checks", "", "What `mqctl check FILE` reads is in [monitoring.md](monitoring.md#expectations)."]
    for kind in (checks_file._File, checks_file._Topic, checks_file._Group, checks_file._Limits):
        lines += ["", purpose(kind), "", *_fields(kind)]
    return "\n".join([*lines, ""])


def snapshot_page() -> str:
    """Returns the page about what a snapshot holds."""
    lines = [
        "# Snapshots",
        "",
        "`mqctl snapshot save FILE` writes what a cluster or a store shows into one file: gzip-compressed",
    ]
    lines += [
        'JSON, `{"schema": "snapshot/2", "snapshot": ...}`. `mqctl snapshot show FILE -o json` prints it; its form is'
    ]
    lines += ["`snapshot.show/1` of the [JSON schemas](schemas.json). A later mqctl reads the files of an earlier one."]
    for kind in (snapshot.ClusterSnapshot, snapshot.BrokerSnapshot):
        lines += ["", f"## {kind.__name__}", "", purpose(kind), "", *_fields(kind)]
    lines += [
        "",
        "## What can be missing",
        "",
        "A part that could not be asked has an entry in `unavailable`: the part, the reason, and the",
    ]
    lines += ["topic, queue or file it is limited to. Rules that need it are not judged, and say so.", ""]
    lines += [", ".join(f"`{part}`" for part in Part) + "."]
    return "\n".join([*lines, ""])


def purpose(kind: type) -> str:
    """Returns the first paragraph of a docstring on one line, for a table."""
    text = (kind.__doc__ or "").partition("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def _fields(kind: type) -> list[str]:
    """Returns a table of the fields of a dataclass or struct, explained by its docstring."""
    told = _attributes(kind.__doc__ or "")
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for name, shown, default in _declared(kind):
        rows.append(f"| `{name}` | `{shown}` | {default} | {told.get(name, '')} |".replace(" | None` ", "` "))
    return rows


def _declared(kind: Any) -> list[tuple[str, str, str]]:
    if dataclasses.is_dataclass(kind):
        return [
            (field.name, _type_text(field.type), _default(field.default, dataclasses.MISSING))
            for field in dataclasses.fields(kind)
        ]
    return [
        (field.name, _type_text(kind.__annotations__[field.name]), _default(field.default, msgspec.NODEFAULT))
        for field in msgspec.structs.fields(kind)
    ]


def _type_text(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return (
        re.sub(r"\b_(\w)", r"\1", text)
        .replace("tuple[", "list[")
        .replace(", ...]", "]")
        .replace("Mapping[", "map[")
        .replace("|", "or")
    )


def _default(value: object, absent: object) -> str:
    if value is absent:
        return ""
    return f"`{value!r}`" if value not in (None, (), [], {}) else "-"


def _attributes(text: str) -> dict[str, str]:
    """Reads the `Attributes:` of a docstring: `name, other: what`, continued by deeper lines."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in text.partition("Attributes:\n")[2].splitlines():
        start = re.match(r" {8}(\w+(?:, \w+)*): (.*)", line)
        if start is not None:
            names = start[1].split(", ")
            found |= dict.fromkeys(names, start[2])
        elif line.startswith(" " * 9) and names:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return {name: text.replace("|", "\\|") for name, text in found.items()}
