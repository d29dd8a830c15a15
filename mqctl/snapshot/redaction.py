"""Snapshots that may leave the house: who the clients and machines are is replaced, what the rules judge by stays.

Bodies of messages are in no snapshot, and of their properties only ids and keys. What is replaced, the same thing by
the same word everywhere: addresses and host names, client ids (a room in front of the address stays, so does an
instance name that says nothing), values of message keys and message ids, paths, the home directories in texts. New
words sort as the old ones did, because rebalancing goes by the order of client ids. Names of topics, groups, brokers
and clusters stay: rules and rooms are told by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import msgspec

from mqctl.model.gap import TEXT_FIELDS
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.leftovers import Originals, texts_of, without_leftovers
from mqctl.text import encoded

_FOUR = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_SIX = re.compile(r"(?<![\w:])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{3,39}(?![\w:])")
_HOST = re.compile(r"\b([A-Za-z][\w-]*(?:\.[\w-]+)*):(\d{2,5})\b")
_HOME = re.compile(r"(/home|/Users)/[^/\s;,:\"']+")
_PATH = re.compile(r"(?<![\w/])(?:/[\w.@+-]+){2,}/?")
# In a key of a table a path ends the key, whatever stands before it: `commitLogDiskRatio_/data/store`.
_KEY_PATH = re.compile(r"(?<=_)/.+|(?:(?<![\w/])/[\w.@+-]+){2,}/?")
_PLAIN_INSTANCE = re.compile(r"DEFAULT|\d+(#\d+)?")
_ADDRESS_FIELDS = frozenset({"address", "addresses", "location"})
_ADDRESS_WORDS = ("addr", "namesrv", "host")
_CLIENT_FIELDS = frozenset({"client_id", "client_ids"})
_KEY_FIELDS = frozenset({"key", "keys", "unique_key"})
_FIRST, _SPAN = 100, 156  # three digits always, so that new addresses sort as numbers do

Leaf = tuple[str, str]


def redacted(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Returns the same snapshot without what tells who its clients and machines are.

    The result is searched for every value that was replaced anywhere; one that stands where none was expected goes too.
    """
    tree = _without_values(msgspec.to_builtins(snapshot, enc_hook=encoded))
    words = _Words(tuple(_leaves(tree, "")))
    changed = msgspec.convert(without_leftovers(words.tree(tree, ""), words.originals(tree)), ClusterSnapshot)
    return replace(changed, origin=replace(changed.origin, redacted=True))


def _without_values(node: Any, field: str = "") -> Any:
    """Returns a snapshot whose gaps keep their sentences only: what those name, their values would name again."""
    if isinstance(node, dict):
        texts = TEXT_FIELDS if field == "unavailable" else ()
        return {name: _without_values(value, name) for name, value in node.items() if name not in texts}
    return [_without_values(item, field) for item in node] if isinstance(node, list) else node


def _leaves(node: object, field: str) -> Iterator[Leaf]:
    """Yields every text with the name of the field, or the property, that it is in."""
    if isinstance(node, str):
        yield field, node
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield from _leaves(value, field if field in _ADDRESS_FIELDS or not isinstance(name, str) else name)
    elif isinstance(node, Sequence):
        for item in node:
            yield from _leaves(item, field)


def _names_address(field: str) -> bool:
    return field in _ADDRESS_FIELDS or any(word in field.lower() for word in _ADDRESS_WORDS)


class _Words:
    """Old words and new ones."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        fours = {address for _, text in leaves for address in _FOUR.findall(text)}
        # An address is followed by the `@` of a client id where order matters.
        self._fours = {old: _new_four(n) for n, old in enumerate(sorted(fours, key=lambda old: f"{old}@"))}
        sixes = {address for _, text in leaves for address in _SIX.findall(text) if address.count(":") > 1}
        self._sixes = {old: f"2001:db8::{n + 4096:x}" for n, old in enumerate(sorted(sixes))}
        hosts = {
            name
            for field, text in leaves
            if _names_address(field)
            for name, _ in _HOST.findall(text)
            if not _FOUR.fullmatch(name)
        }
        self._hosts = _numbered("host", hosts)
        clients = {text for field, text in leaves if field in _CLIENT_FIELDS}
        parts = [client.split("@") for client in clients]
        self._owners = _numbered("client", {own for own, *_ in parts if not _FOUR.search(own)})
        self._instances = _numbered(
            "instance", {part for _, *rest in parts for part in rest if not _PLAIN_INSTANCE.fullmatch(part)}
        )
        self._clients = {client: self._client(client) for client in clients}
        self._keys = _numbered("key", {text for field, text in leaves if field in _KEY_FIELDS})
        known = {**self._clients, **self._hosts}
        longest_first = sorted((word for word in known if len(word) > 2), key=len, reverse=True)
        self._known = known
        self._in_texts = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def _client(self, client: str) -> str:
        owner, *rest = client.split("@")
        owner = self._owners.get(owner) or self._addresses(owner)
        return "@".join([owner, *[self._instances.get(part, part) for part in rest]])

    def _addresses(self, text: str) -> str:
        text = _FOUR.sub(lambda match: self._fours[match[0]], text)
        return _SIX.sub(lambda match: self._sixes.get(match[0], match[0]), text)

    def tree(self, node: object, field: str) -> object:
        """Returns a copy of a part of the snapshot with new words."""
        if isinstance(node, str):
            return self._text(node, field)
        if isinstance(node, Mapping):
            return {
                self._key(name) if isinstance(name, str) else name: self.tree(
                    value, field if field in _ADDRESS_FIELDS or not isinstance(name, str) else name
                )
                for name, value in node.items()
            }
        if isinstance(node, Sequence):
            return [self.tree(item, field) for item in node]
        return node

    def _key(self, name: str) -> str:
        return self._text(_KEY_PATH.sub(lambda match: f"/.../{PurePath(match[0]).name}", name), "")

    def originals(self, tree: object) -> Originals:
        """Returns what must not be found any more."""
        leaves = list(_leaves(tree, ""))
        plain = [text for field, text in leaves if field not in _STACK_FIELDS and "/" in text]
        paths = {path.rstrip("/") for text in plain for path in _PATH.findall(text)}
        paths |= {path.rstrip("/") for text in texts_of(tree) if "_/" in text for path in _KEY_PATH.findall(text)}
        kept = {text for field, text in leaves if field in _NAME_FIELDS}
        whole = {*self._fours, *self._sixes, *self._hosts, *self._clients, *paths}
        return Originals(
            anywhere=frozenset(whole - kept),
            telling=frozenset({*self._owners, *self._instances, *self._keys} - kept),
        )

    def _text(self, text: str, field: str) -> str:
        if field in _KEY_FIELDS:
            return self._keys[text]
        if text in self._known:
            return self._known[text]
        if field in _NAME_FIELDS:
            return text
        if "/" in text:
            text = _HOME.sub(r"\1/user", text)
            if field not in _STACK_FIELDS:
                text = _PATH.sub(lambda match: f"/.../{PurePath(match[0]).name}", text)
        if self._in_texts is None or not (" " in text or _names_address(field) or len(text) > _LONG_TEXT):
            return self._addresses(text)
        pieces, at = [], 0
        for match in self._in_texts.finditer(text):  # what was replaced is not looked at again
            pieces += [self._addresses(text[at : match.start()]), self._known[match[0]]]
            at = match.end()
        return "".join([*pieces, self._addresses(text[at:])])


_STACK_FIELDS = frozenset({"stacks", "text"})
_NAME_FIELDS = frozenset({"name", "topic", "group", "broker_name", "cluster", "tags", "expression"})
_LONG_TEXT = 200


def _new_four(number: int) -> str:
    high, low = divmod(number, _SPAN)
    second, third = divmod(high, _SPAN)
    return f"{_FIRST + second}.{_FIRST}.{_FIRST + third}.{_FIRST + low}"


def _numbered(word: str, old: set[str]) -> dict[str, str]:
    return {name: f"{word}-{number:05}" for number, name in enumerate(sorted(old, key=lambda name: f"{name}@"), 1)}
