"""Profiles: named clusters in one YAML file, so that commands need not be told addresses and keys."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mqctl.cli.emit import note
from mqctl.errors import ConfigurationError, MqctlError, NotFoundError, PermissionDeniedError, StorageError, UsageError
from mqctl.model.forms import PROFILES, UPGRADE, newer_than_known
from mqctl.model.names_alike import meant
from mqctl.protocol.yaml_text import UnreadableYaml, decode_yaml
from mqctl.store.plain_files import read_whole, refused
from mqctl.text import sentence

FILE_NAME = "profiles.yaml"
_NOT_FOR_US: dict[int | None, type[MqctlError]] = {
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: StorageError,
    errno.ENOTDIR: ConfigurationError,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One cluster.

    Attributes:
        namesrv: `host:port;host:port`, or the URL of an address service.
        cluster: cluster to speak of where the name servers know several.
        timeout_ms: limit of a whole command.
        acl_file: file with `accessKey` and `secretKey`; readable by its owner only.
        access_key_env, secret_key_env: environment variables with the keys, instead of a file.
        keyring: access key whose secret the system's keyring has, under `mqctl`, instead of a file.
        tls: whether connections are secured; the files are PEM, and `tls_ca` may be `none` to trust anybody.
        proxies: remoting ports of proxies (5.x), `host:port;host:port`, which alone know their clients.
        room_rule: how the machine room is read from names, `prefix:-` for instance.
        brokers: names of those that belong to it: one that is not registered is missed.
    """

    namesrv: str
    cluster: str | None = None
    timeout_ms: int | None = None
    acl_file: str | None = None
    access_key_env: str | None = None
    secret_key_env: str | None = None
    room_rule: str | None = None
    keyring: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str | None = None
    proxies: str | None = None
    brokers: tuple[str, ...] = ()


class _Head(msgspec.Struct):
    version: int = 1


class Profiles(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The whole file.

    Attributes:
        version: its form, see mqctl.model.forms; 1 where it tells none.
        current: the profile that is used when none is named.
    """

    version: int = 1
    current: str | None = None
    profiles: dict[str, Profile] = {}

    def get(self, name: str) -> Profile:
        """Returns a profile. Raises NotFoundError."""
        profile = self.profiles.get(name)
        if profile is None:
            known = sorted(self.profiles)
            remedy = meant(name, self.profiles, "mqctl profile show")
            raise NotFoundError(
                sentence("cli-no-profile", "there is no profile {name}", name=name),
                reason=sentence("common-known", "known: {known}", known=known),
                remedy=remedy,
            )
        return profile


def checked_name(name: str) -> str:
    """Returns `name` if a profile may be called so. Raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            sentence("cli-not-valid-name-profile", "{name!r} is not a valid name for a profile", name=name),
            remedy=sentence("cli-use-letters-digits", "use letters, digits, -, _ and ."),
        )
    return name


def load_profiles(directory: Path) -> Profiles:
    """Reads the file; without one there are no profiles.

    Raises:
        PermissionDeniedError, StorageError: it cannot be read.
        ConfigurationError: it says what it must not.
    """
    file = directory / FILE_NAME
    try:
        text = read_whole(file)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise refused(sentence("could-not-read", "could not read {file}", file=file), error) from error
    try:
        if not text.strip():
            return Profiles()
        reason = newer_than_known(decode_yaml(text, _Head).version, PROFILES)
        if reason is not None:
            raise ConfigurationError(
                sentence("could-not-read", "could not read {file}", file=file), reason=reason, remedy=UPGRADE
            )
        return decode_yaml(text, Profiles)
    except UnreadableYaml as error:
        remedy = sentence("cli-fix-remove-add-profiles", "fix it, or remove it and add the profiles again")
        raise ConfigurationError(
            sentence("could-not-read", "could not read {file}", file=file), reason=str(error), remedy=remedy
        ) from error


@contextmanager
def changed_profiles(directory: Path, *, wait_s: float = 10.0) -> Iterator[Profiles]:
    """Gives the profiles to be changed and writes them back, whole or not at all; one command at a time.

    Args:
        wait_s: how long to wait for another command.

    Raises:
        PermissionDeniedError: the file must not be read or written.
        ConfigurationError: it says what it must not, or its directory is none.
        StorageError: the disk does not take it; the profiles are as they were.
        RefusedError: another command holds it, and it is said who.
    """
    from mqctl.store.exclusive_lock import exclusive_lock
    from mqctl.store.own_files import write_whole

    file = directory / FILE_NAME
    remedy = sentence("cli-wait-then-profile-show", "wait for it, then look at mqctl profile show")
    try:
        with exclusive_lock(
            directory / f".{FILE_NAME}.lock",
            sentence("common-change", "change {record}", record=file),
            wait_s=wait_s,
            remedy=remedy,
            say=note,
        ):
            profiles = load_profiles(directory)
            yield profiles
            write_whole(file, msgspec.yaml.encode(profiles), mode=0o600, sweep=FILE_NAME)
    except OSError as error:
        problem, reason = sentence("could-not-write", "could not write {path}", path=file), error.strerror or str(error)
        if error.errno in _NOT_FOR_US:
            remedy = sentence("cli-set-config-directory", "set MQCTL_CONFIG_DIR to a writable directory")
            raise _NOT_FOR_US[error.errno](problem, reason=reason, remedy=remedy) from error
        remedy = sentence(
            "cli-free-disk-of-profiles",
            "free its disk, or set MQCTL_CONFIG_DIR to another one; the profiles are as they were",
        )
        raise StorageError(problem, reason=reason, remedy=remedy) from error
