"""Names for the Tab that this machine knows by itself: profiles, local clusters, changes, rules, other tools' words."""

from __future__ import annotations

from collections.abc import Callable

Named = list[tuple[str, str]]

_BY_OPTION = {"--profile": "profile", "--mqadmin": "mqadmin"}
_BY_COMMAND_OPTION = {
    **{(f"local {verb}", "--name"): "local" for verb in ("down", "logs", "status")},
    ("doctor", "--only"): "rule",
    ("doctor", "--skip"): "rule",
}
_BY_ARGUMENT = {
    "explain": "explained",
    "local scenario run": "scenario",
    "playbook run": "playbook",
    "playbook show": "playbook",
    "profile remove": "profile",
    "profile show": "profile",
    "profile use": "profile",
    "undo": "change",
}


def own_names(command: str, before: list[str], *, takes_value: bool) -> Named | None:
    """Returns the names that belong under the cursor with a word on each, None where none of this machine's do.

    A file that cannot be read gives no names: a Tab is no place for errors.

    Args:
        before: the words before the cursor.
        takes_value: the last of them is an option, so that its value is wanted.
    """
    if takes_value:
        option = before[-1]
        kind = _BY_COMMAND_OPTION.get((command, option)) or _BY_OPTION.get(option)
    else:
        kind = _BY_ARGUMENT.get(command)
    if kind is None:
        return None
    from mqctl.errors import MqctlError

    try:
        return _KINDS[kind]()
    except (MqctlError, OSError):
        return []


def _profiles() -> Named:
    from mqctl.cli.connection.profiles import load_profiles
    from mqctl.cli.places import config_dir

    known = load_profiles(config_dir()).profiles
    return [(name, profile.namesrv) for name, profile in sorted(known.items())]


def _local_clusters() -> Named:
    from mqctl.cli.places import state_dir
    from mqctl.local.state import LocalStates

    directory = state_dir() / "local"
    if not directory.is_dir():
        return []
    return [(state.name, "runs" if state.alive else "ended") for state in LocalStates(directory).all()]


def _scenarios() -> Named:
    from mqctl.local.scenario_files import load_scenario, scenario_names

    return [(name, load_scenario(name).title) for name in scenario_names()]


def _playbooks() -> Named:
    from mqctl.playbook.places import slugs

    return [(slug, "playbook") for slug in slugs()]


def _rules() -> Named:
    from mqctl.rules import RULES

    return [(code, rule.texts.title) for code, rule in RULES.items()]


def _changes() -> Named:
    """Returns the ids of changes made from here, the newest first."""
    from mqctl.cli.places import state_dir

    ids = {path.stem for path in (state_dir() / "journal").glob("**/*.json")}
    return [(name, "change") for name in sorted(ids, reverse=True)]


def _kafka_terms() -> Named:
    from mqctl.render.kafka_terms import KAFKA_TERMS

    return [(term.name, term.rocketmq) for term in KAFKA_TERMS]


def _mqadmin() -> Named:
    from mqctl.cli.catalog_mqadmin import TABLE, span_of

    return [("all", "Every one."), *((entry.name, span_of(entry.versions)) for entry in TABLE)]


_KINDS: dict[str, Callable[[], Named]] = {
    "change": _changes,
    "profile": _profiles,
    "local": _local_clusters,
    "explained": lambda: [*_rules(), *_kafka_terms()],
    "playbook": _playbooks,
    "rule": _rules,
    "scenario": _scenarios,
    "mqadmin": _mqadmin,
}
