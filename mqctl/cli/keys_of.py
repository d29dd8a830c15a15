"""Where keys and TLS settings come from: options and environment, then the profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mqctl.errors import ConfigurationError

if TYPE_CHECKING:
    from mqctl.cli.profiles import Profile
    from mqctl.client.tls import TlsSettings
    from mqctl.protocol.acl import Credentials

_SERVICE = "mqctl"
_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off", ""})


def credentials_of(profile: Profile | None = None) -> Credentials | None:
    """Returns the keys that sign requests: those of --acl-file, of the profile, of the environment; None for none.

    Raises:
        ConfigurationError: they are named, and not to be had.
        PermissionDeniedError: the file with them may be read by others.
    """
    file = os.environ.get("MQCTL_ACL_FILE") or (profile.acl_file if profile is not None else None)
    if file:
        from mqctl.cli.profiles import credentials_from_file

        return credentials_from_file(Path(file).expanduser())
    account = (profile.keyring if profile is not None else None) or os.environ.get("MQCTL_KEYRING")
    if account:
        return _from_keyring(account)
    if profile is None or profile.access_key_env is None:
        return _from_environment("MQCTL_ACCESS_KEY", "MQCTL_SECRET_KEY")
    found = _from_environment(profile.access_key_env, profile.secret_key_env or "")
    if found is None:
        raise ConfigurationError(
            f"the profile takes its keys from {profile.access_key_env} and {profile.secret_key_env}",
            reason="they are not set",
        )
    return found


def forget_secrets() -> None:
    """Takes secrets out of the environment, before a process is started that outlives the command and needs none."""
    for name in ("MQCTL_SECRET_KEY", "MQCTL_TLS_KEY_PASSWORD"):
        os.environ.pop(name, None)


def _warn_of_readers(key_file: str | None) -> None:
    """Says so when others may read the key of our certificate; whether it can be used is found out elsewhere."""
    try:
        open_to_all = key_file is not None and Path(key_file).stat().st_mode & 0o077
    except OSError:
        return
    if open_to_all:
        from mqctl.cli.emit import tell

        tell(f"mqctl: others may read the key {key_file}; chmod 600 makes it yours alone")


def _from_environment(access: str, secret: str) -> Credentials | None:
    if not os.environ.get(access) or not os.environ.get(secret):
        return None
    from mqctl.protocol.acl import Credentials

    return Credentials(os.environ[access], os.environ[secret])


def _from_keyring(access_key: str) -> Credentials:
    """Asks the system's keyring for the secret of an access key; it may ask its user in turn."""
    from mqctl.protocol.acl import Credentials

    problem = f"could not take the secret of {access_key} from the keyring"
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        remedy = "pip install 'mqctl[keyring]'"
        raise ConfigurationError(problem, reason="the library keyring is not installed", remedy=remedy) from error
    try:
        secret = keyring.get_password(_SERVICE, access_key)
    except KeyringError as error:
        reason = str(error) or type(error).__name__
        raise ConfigurationError(problem, reason=reason, remedy="unlock it, or use a file (--acl-file)") from error
    if not secret:
        remedy = f"put it there: keyring set {_SERVICE} {access_key}"
        raise ConfigurationError(problem, reason=f"it has none under {_SERVICE}", remedy=remedy)
    return Credentials(access_key, secret)


def tls_of(profile: Profile | None = None) -> TlsSettings | None:
    """Returns how connections are secured, option by option the environment before the profile; None for plain ones.

    Raises:
        ConfigurationError: MQCTL_TLS is neither true nor false, or a file cannot be used.
    """
    word = os.environ.get("MQCTL_TLS")
    if word is not None and word.lower() not in _YES | _NO:
        raise ConfigurationError(f"MQCTL_TLS={word} cannot be read", remedy="set it to true or false")
    wanted = word.lower() in _YES if word else any(os.environ.get(name) for name in ("MQCTL_TLS_CA", "MQCTL_TLS_CERT"))
    if not wanted and (word is not None or profile is None or not profile.tls):
        return None
    from mqctl.client.tls import TlsSettings, client_context

    def chosen(variable: str, of_profile: str | None) -> str | None:
        return os.environ.get(variable) or of_profile or None

    authority = chosen("MQCTL_TLS_CA", profile.tls_ca if profile else None)
    settings = TlsSettings(
        ca_file=None if authority == "none" else authority,
        cert_file=chosen("MQCTL_TLS_CERT", profile.tls_cert if profile else None),
        key_file=chosen("MQCTL_TLS_KEY", profile.tls_key if profile else None),
        key_password=os.environ.get("MQCTL_TLS_KEY_PASSWORD") or None,
        server_name=chosen("MQCTL_TLS_SERVER_NAME", profile.tls_server_name if profile else None),
        verify=authority != "none",
    )
    _warn_of_readers(settings.key_file)
    client_context(settings)  # what cannot be used is said before anybody is asked
    return settings
