"""What somebody means who types a name where a command is, or options before the command."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import pairwise

from mqctl.cli import catalog
from mqctl.cli.carried import Load, carried, left_out
from mqctl.errors import MqctlError, UsageError
from mqctl.model.command_line import shell_words
from mqctl.model.names import RETRY_PREFIX
from mqctl.text import sentence

_PATIENCE = "2s"
"""How long a cluster has to tell what the name is."""
_CLUSTER = {"-n": "namesrv", "--namesrv": "namesrv", "--profile": "profile"}


def refuse_option(path: tuple[str, ...], words: list[str], verb: str | None, load: Load) -> None:
    """Raises UsageError with the line to type when options stand before the command.

    Args:
        verb: the command that is meant where a noun is followed by options only.
        load: builds the command at a path of the catalog.
    """
    if path:
        if verb is not None:
            meant = carried(verb, words, load)
            raise UsageError(
                sentence("cli-no-command-after", "no command after {quoted}", quoted=_quoted(path)),
                reason=left_out(meant.left_out),
                remedy=meant.line,
            )
        return
    first = next((place for place, word in enumerate(words) if word in catalog.children(())), None)
    if first is not None:
        noun = words[first]
        both = (noun, *words[first + 1 : first + 2])
        end = first + (2 if both in catalog.BY_PATH else 1)
        line = ["mqctl", *words[first:end], *words[:first], *words[end:]]
        raise UsageError(
            sentence("cli-belongs-behind-command", "{words} belongs behind the command", words=words[0]),
            remedy=shell_words(line),
        )


def refuse_name(path: tuple[str, ...], words: list[str], load: Load) -> None:
    """Raises UsageError with the command that describes the group or the topic `words[0]`, where it may be one.

    A selected cluster is asked which of both it is; without one nobody is asked.
    """
    name, *options = words
    if path not in ((), ("topic",), ("group",)) or (options and not options[0].startswith("-")):
        return
    kinds = _kinds(name, options)
    near = get_close_matches(name, catalog.children(path))
    typed = _quoted((*path, name))
    if len(kinds) == 1:
        reason = (
            sentence("shared-consumer-group", "it is a consumer group")
            if kinds == ["group"]
            else sentence("common-topic", "it is a topic")
        )
        raise UsageError(
            sentence("cli-no-command", "no command {quoted}", quoted=typed),
            reason=reason,
            remedy=_described(kinds[0], name, options, load),
        )
    if path and near:
        own = _described(path[0], name, options, load)
        raise UsageError(
            sentence(
                "cli-no-such-command-did",
                "No such command '{name}'. Did you mean {near!r}?",
                name=name,
                near=near[0],
            ),
            remedy=sentence(
                "cli-name",
                "mqctl {path} {near}; of a {path_2} with that name: {own}",
                path=path[0],
                near=near[0],
                path_2=path[0],
                own=own,
            ),
        )
    if not path and not near:
        either = [_described(kind, name, options, load) for kind in ("group", "topic")]
        raise UsageError(
            sentence("cli-no-such-command", "No such command '{name}'", name=name),
            remedy=sentence(
                "cli-group-name-topic",
                "of a group with that name: {either}; of a topic: {either_2}",
                either=either[0],
                either_2=either[1],
            ),
        )


def _kinds(name: str, options: list[str]) -> list[str]:
    """Returns what the selected cluster has under a name, `group` or `topic`; nothing where it cannot be asked."""
    from mqctl.cli.connection.target import cluster_target
    from mqctl.client.admin.nameserver import topic_names

    selected = {_CLUSTER[word]: value for word, value in pairwise(options) if word in _CLUSTER}
    try:
        target = cluster_target(selected.get("namesrv"), selected.get("profile"), _PATIENCE)
        with target.open() as cluster:
            names = cluster.name_servers.ask(topic_names(), target.deadline())
    except MqctlError:  # no cluster is selected, or it does not answer: the words alone have to do
        return []
    return [kind for kind, topic in (("group", f"{RETRY_PREFIX}{name}"), ("topic", name)) if topic in names]


def _quoted(words: tuple[str, ...]) -> str:
    return f"`{' '.join(words)}`"


def _described(kind: str, name: str, options: list[str], load: Load) -> str:
    return carried(f"{kind} describe", [name, *options], load).line
