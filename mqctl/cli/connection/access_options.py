"""How a command proves who it is and secures its connections: options of every command that speaks to a cluster.

They are added where commands are built, and only put down in the environment, where `connection` and processes that
the command starts find them: `--tls-ca FILE` is the same as MQCTL_TLS_CA=FILE. Secrets are no options: process lists
show them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperOption

from mqctl.model.command_line import shell_words

ACL_FILE, TLS_NAME = "MQCTL_ACL_FILE", "MQCTL_TLS_SERVER_NAME"
TLS, TLS_CA, TLS_CERT, TLS_KEY = "MQCTL_TLS", "MQCTL_TLS_CA", "MQCTL_TLS_CERT", "MQCTL_TLS_KEY"
NO_CA = "none"
_MARK = "--namesrv"
_typed: dict[str, str] = {}
_EXCEPT = frozenset({"add"})  # `profile add` has options of these names that go into the profile

_OPTIONS = (
    ("--acl-file", "FILE", ACL_FILE, "File with accessKey and secretKey, readable by you alone. Also MQCTL_ACL_FILE."),
    (
        "--tls-ca",
        "FILE",
        TLS_CA,
        "Authority that signs the cluster's certificates (PEM); `none` trusts any certificate.",
    ),
    ("--tls-cert", "FILE", TLS_CERT, "Our certificate, where the cluster asks for one (PEM)."),
    ("--tls-key", "FILE", TLS_KEY, "The key of --tls-cert (PEM). MQCTL_TLS_KEY_PASSWORD opens an encrypted one."),
    ("--tls-server-name", "NAME", TLS_NAME, "Name that all certificates carry instead of addresses; `any` for all."),
)


def add_access_options(command: TyperCommand) -> None:
    """Gives a command that speaks to clusters the options of keys and TLS."""
    known = {word for parameter in command.params for word in parameter.opts}
    if _MARK not in known or command.name in _EXCEPT:
        return
    command.params.append(
        TyperOption(
            param_decls=["--tls"],
            is_flag=True,
            default=False,
            expose_value=False,
            callback=_switch_on,
            help="Secure all connections with TLS. Also MQCTL_TLS=true; the other --tls options imply it.",
        )
    )
    for word, metavar, variable, text in _OPTIONS:
        command.params.append(
            TyperOption(
                param_decls=[word],
                type=str,
                default=None,
                metavar=metavar,
                expose_value=False,
                callback=_put_down(word, variable, is_file=metavar == "FILE"),
                help=text,
            )
        )


def typed_options() -> list[str]:
    """Returns the options of keys and TLS that were typed, for commands to type next."""
    return list(_typed.values())


def _switch_on(_context: Any, _option: Any, value: object) -> object:
    if value:
        os.environ[TLS] = "true"
        _typed["--tls"] = "--tls"
    return value


def _put_down(word: str, variable: str, *, is_file: bool) -> Callable[[Any, Any, Any], object]:
    def put(_context: Any, _option: Any, value: str | None) -> object:
        if value is not None:
            if is_file and not (variable == TLS_CA and value == NO_CA):
                value = str(Path(value).expanduser().absolute())
            os.environ[variable] = value
            _typed[word] = shell_words([word, value])
            if variable != ACL_FILE:
                os.environ[TLS] = "true"
        return value

    return put
