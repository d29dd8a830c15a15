"""`mqctl profile add`: give a cluster a name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mqctl.cli.connection.access_options import NO_CA
from mqctl.cli.connection.profiles import Profile, changed_profiles, checked_name
from mqctl.cli.emit import tell
from mqctl.cli.places import config_dir
from mqctl.errors import UsageError
from mqctl.text import sentence

EXAMPLES = (
    "mqctl profile add prod --namesrv '10.0.0.1:9876;10.0.0.2:9876'",
    "mqctl profile add prod --namesrv 10.0.0.1:9876 --acl-file ~/.mq-keys.yaml --replace",
    "mqctl profile add prod --namesrv mq.example.com:9876 --tls --tls-ca ca.pem --keyring ops-account",
    "mqctl profile add prod --namesrv 10.0.0.1:9876 --proxy 10.0.0.5 --replace",
    "mqctl profile add prod --namesrv 10.0.0.1:9876 --brokers broker-a,broker-b --replace",
    "mqctl profile add stage --namesrv http://addresses:8080/rocketmq/nsaddr --timeout 30s",
)


_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the profile.")]
_Namesrv = Annotated[
    str,
    typer.Option("--namesrv", "-n", metavar="ADDRESSES", help="Name servers, or the URL of an address service."),
]
_Cluster = Annotated[
    str | None, typer.Option("--cluster", metavar="NAME", help="Cluster to use, where there are several.")
]
_AclFile = Annotated[
    Path | None,
    typer.Option("--acl-file", metavar="FILE", help="File with accessKey and secretKey, readable by you alone."),
]
_AccessKeyEnv = Annotated[
    str | None, typer.Option("--access-key-env", metavar="VARIABLE", help="Variable with the access key.")
]
_SecretKeyEnv = Annotated[
    str | None, typer.Option("--secret-key-env", metavar="VARIABLE", help="Variable with the secret key.")
]
_Keyring = Annotated[
    str | None,
    typer.Option("--keyring", metavar="ACCESS_KEY", help="Its secret is in the keyring: keyring set mqctl KEY."),
]
_Tls = Annotated[bool, typer.Option("--tls", help="Secure all connections with TLS.")]
_TlsCa = Annotated[
    Path | None,
    typer.Option("--tls-ca", metavar="FILE", help="Authority to trust (PEM); `none` trusts any certificate."),
]
_TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Our certificate, if asked for (PEM).")
]
_TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key (PEM).")]
_TlsServerName = Annotated[
    str | None,
    typer.Option("--tls-server-name", metavar="NAME", help="Name that all certificates carry; `any` for all."),
]
_Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="SPAN", help="Time limit of each command; 15s by default.")
]
_RoomRule = Annotated[
    str | None,
    typer.Option("--room-rule", metavar="RULE", help="How names show their room: prefix:-, prefix:@, regex:PATTERN."),
]
_Proxies = Annotated[
    list[str] | None,
    typer.Option("--proxy", metavar="HOST[:PORT]", help="Remoting port of a 5.x proxy, 8080 unless given; repeat."),
]
_Brokers = Annotated[
    str | None,
    typer.Option("--brokers", metavar="NAMES", help="Its brokers, with commas: one that is gone is missed."),
]
_Replace = Annotated[bool, typer.Option("--replace", help="Replace a profile of this name.")]


def command(
    name: _Name,
    namesrv: _Namesrv,
    cluster: _Cluster = None,
    acl_file: _AclFile = None,
    access_key_env: _AccessKeyEnv = None,
    secret_key_env: _SecretKeyEnv = None,
    keyring: _Keyring = None,
    tls: _Tls = False,
    tls_ca: _TlsCa = None,
    tls_cert: _TlsCert = None,
    tls_key: _TlsKey = None,
    tls_server_name: _TlsServerName = None,
    timeout: _Timeout = None,
    room_rule: _RoomRule = None,
    proxy: _Proxies = None,
    brokers: _Brokers = None,
    replace: _Replace = False,
) -> None:
    """Give a cluster a name, so that commands need no addresses. The first profile becomes the current one."""
    if (access_key_env is None) != (secret_key_env is None):
        raise UsageError(
            sentence("profile-access-key-env-secret", "--access-key-env and --secret-key-env belong together")
        )
    if sum(way is not None for way in (acl_file, access_key_env, keyring)) > 1:
        raise UsageError(
            sentence("profile-keys-come-place", "keys come from one place"),
            remedy=sentence("profile-choose-acl-file-access", "choose --acl-file, --access-key-env or --keyring"),
        )
    proxies = ";".join(proxy or ()) or None
    _try(namesrv, acl_file, room_rule, proxies)
    with changed_profiles(config_dir()) as profiles:
        if checked_name(name) in profiles.profiles and not replace:
            raise UsageError(
                sentence("profile-already", "there is a profile {name} already", name=name),
                remedy=sentence("profile-add-replace-choose-another", "add --replace, or choose another name"),
            )
        profiles.profiles[name] = Profile(
            namesrv=namesrv,
            cluster=cluster,
            timeout_ms=_span_ms(timeout),
            acl_file=_text(acl_file),
            access_key_env=access_key_env,
            secret_key_env=secret_key_env,
            room_rule=room_rule,
            keyring=keyring,
            tls=tls or tls_ca is not None or tls_cert is not None,
            tls_ca=NO_CA if str(tls_ca) == NO_CA else _text(tls_ca),
            tls_cert=_text(tls_cert),
            tls_key=_text(tls_key),
            tls_server_name=tls_server_name,
            proxies=proxies,
            brokers=tuple(name.strip() for name in (brokers or "").split(",") if name.strip()),
        )
        profiles.current = profiles.current or name
        current = profiles.current
    tell(
        sentence(
            "profile-saved-commands-use",
            "mqctl: profile {name} saved; commands use {current} by default",
            name=name,
            current=current,
        )
    )


def _try(namesrv: str, acl_file: Path | None, room_rule: str | None, proxies: str | None) -> None:
    """Reads what the profile is to hold, so that a slip shows now and not at the first command that uses it."""
    if room_rule is not None:
        from mqctl.allocation.rooms import room_rule as read_rule

        read_rule(room_rule)
    if acl_file is not None:
        from mqctl.cli.connection.key_file import credentials_from_file

        credentials_from_file(acl_file.expanduser())
    from mqctl.client.remoting.addresses import name_server_source, proxy_addresses

    if proxies is not None:
        proxy_addresses(proxies)
    name_server_source(namesrv)


def _text(file: Path | None) -> str | None:
    return str(file.expanduser().absolute()) if file is not None else None


def _span_ms(text: str | None) -> int | None:
    if text is None:
        return None
    from mqctl.cli.times import parse_span_ms

    return parse_span_ms(text)
