"""Where keys and TLS settings come from: options and environment, then the profile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import ConfigurationError
from mqctl.model.command_line import command_line
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.cli.connection.profiles import Profile
    from mqctl.client.remoting.tls import TlsSettings
    from mqctl.protocol.acl import Credentials

_SERVICE = "mqctl"
_KEYS = ("MQCTL_ACCESS_KEY", "MQCTL_SECRET_KEY", "MQCTL_TLS_KEY_PASSWORD")
_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off", ""})
_held: dict[str, str] = {}


def credentials_of(profile: Profile | None = None) -> Credentials | None:
    """Returns the keys that sign requests: those of --acl-file, of the profile, of the environment; None for none.

    Raises:
        ConfigurationError: they are named, and not to be had; or one of two is there.
        PermissionDeniedError: the file with them may be read by others.
    """
    file = os.environ.get("MQCTL_ACL_FILE") or (profile.acl_file if profile is not None else None)
    if file:
        from mqctl.cli.connection.key_file import credentials_from_file

        return credentials_from_file(Path(file).expanduser())
    account = (profile.keyring if profile is not None else None) or os.environ.get("MQCTL_KEYRING")
    if account:
        return _from_keyring(account)
    if profile is None or profile.access_key_env is None:
        return _from_environment("MQCTL_ACCESS_KEY", "MQCTL_SECRET_KEY")
    pair = _from_environment(profile.access_key_env, profile.secret_key_env or "")
    if pair is None:
        raise ConfigurationError(
            sentence(
                "cli-profile-takes-keys",
                "the profile takes its keys from {access_key_env} and {secret_key_env}",
                access_key_env=profile.access_key_env,
                secret_key_env=profile.secret_key_env,
            ),
            reason=sentence("cli-not-set", "they are not set"),
        )
    _hold(profile.access_key_env, profile.secret_key_env or "")
    return pair


def hold_secrets() -> None:
    """Takes keys out of the environment, for this process to keep to itself.

    What it starts inherits none: local clusters outlive the command, and programs that dump stacks or run reports are
    not ours. A process that signs for us is given them by `with_secrets`.
    """
    _hold(*_KEYS)


def _hold(*names: str) -> None:
    for name in names:
        value = os.environ.pop(name, None)
        if value is not None:
            _held[name] = value


def with_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of a process that signs requests as we do."""
    return {**environment, **_held}


def _variable(name: str) -> str:
    return _held.get(name) or os.environ.get(name) or ""


def _warn_of_readers(key_file: str | None) -> None:
    """Says so when others may read the key of our certificate; whether it can be used is found out elsewhere."""
    try:
        open_to_all = key_file is not None and Path(key_file).stat().st_mode & 0o077
    except OSError:
        return
    if open_to_all:
        from mqctl.cli.emit import tell

        tell(
            sentence(
                "cli-others-read-key-chmod",
                "mqctl: others may read the key {key_file}; chmod 600 makes it yours alone",
                key_file=key_file,
            )
        )


def _from_environment(access: str, secret: str) -> Credentials | None:
    given = {name: _variable(name) for name in (access, secret)}
    if not any(given.values()):
        return None
    for name, value in given.items():
        other = secret if name == access else access
        if not value:
            raise ConfigurationError(
                sentence("cli-set-not", "{other} is set, and {name} is not", other=other, name=name),
                remedy=sentence("cli-set-both-take-away", "set both, or take {other} away", other=other),
            )
        if not value.isprintable():  # bytes that are no text, line ends of a file that was read
            raise ConfigurationError(
                sentence("cli-cannot-used", "{name} cannot be used", name=name),
                reason=sentence("cli-holds-characters-no-key", "it holds characters that no key has"),
            )
    from mqctl.protocol.acl import Credentials

    return Credentials(given[access], given[secret])


def _from_keyring(access_key: str) -> Credentials:
    """Asks the system's keyring for the secret of an access key; it may ask its user in turn."""
    from mqctl.protocol.acl import Credentials

    problem = sentence(
        "cli-could-not-take-secret", "could not take the secret of {access_key} from the keyring", access_key=access_key
    )
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise ConfigurationError(
            problem,
            reason=sentence("cli-library-keyring-not-installed", "the library keyring is not installed"),
            remedy=command_line("pip install 'mqctl[keyring]'"),
        ) from error
    try:
        secret = keyring.get_password(_SERVICE, access_key)
    except KeyringError as error:
        reason = str(error) or type(error).__name__
        raise ConfigurationError(
            problem, reason=reason, remedy=sentence("cli-unlock-use-file-acl", "unlock it, or use a file (--acl-file)")
        ) from error
    if not secret:
        remedy = sentence(
            "cli-put-secret-into-keyring",
            "put it there: {command}",
            command=command_line("keyring set {} {}", _SERVICE, access_key),
        )
        raise ConfigurationError(
            problem, reason=sentence("none-under", "it has none under {service}", service=_SERVICE), remedy=remedy
        )
    return Credentials(access_key, secret)


def tls_of(profile: Profile | None = None) -> TlsSettings | None:
    """Returns how connections are secured, option by option the environment before the profile; None for plain ones.

    Raises:
        ConfigurationError: MQCTL_TLS is neither true nor false, or a file cannot be used.
    """
    word = os.environ.get("MQCTL_TLS")
    if word is not None and word.lower() not in _YES | _NO:
        raise ConfigurationError(
            sentence("cli-tls-cannot-read", "MQCTL_TLS={word} cannot be read", word=word),
            remedy=sentence("cli-set-true-false", "set it to true or false"),
        )
    wanted = word.lower() in _YES if word else any(os.environ.get(name) for name in ("MQCTL_TLS_CA", "MQCTL_TLS_CERT"))
    if not wanted and (word is not None or profile is None or not profile.tls):
        return None
    from mqctl.client.remoting.tls import TlsSettings, client_context

    def chosen(variable: str, of_profile: str | None) -> str | None:
        return os.environ.get(variable) or of_profile or None

    authority = chosen("MQCTL_TLS_CA", profile.tls_ca if profile else None)
    settings = TlsSettings(
        ca_file=None if authority == "none" else authority,
        cert_file=chosen("MQCTL_TLS_CERT", profile.tls_cert if profile else None),
        key_file=chosen("MQCTL_TLS_KEY", profile.tls_key if profile else None),
        key_password=_variable("MQCTL_TLS_KEY_PASSWORD") or None,
        server_name=chosen("MQCTL_TLS_SERVER_NAME", profile.tls_server_name if profile else None),
        verify=authority != "none",
    )
    _warn_of_readers(settings.key_file)
    client_context(settings)  # what cannot be used is said before anybody is asked
    return settings
