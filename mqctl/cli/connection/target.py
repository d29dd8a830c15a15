"""Which cluster a command speaks to, and with which keys: flag over environment over profile over the local cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from mqctl.cli.connection.credentials import credentials_of, tls_of
from mqctl.cli.emit import note
from mqctl.cli.places import config_dir, state_dir
from mqctl.errors import ConfigurationError, UsageError
from mqctl.model.command_line import shell_words
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import NEWEST, release_text
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.client.admin.cluster import Cluster
    from mqctl.client.instance import ClientSettings
    from mqctl.client.remoting.deadline import Deadline
    from mqctl.client.remoting.link import LinkSettings
    from mqctl.client.remoting.links import Unproven
    from mqctl.client.remoting.tls import TlsSettings
    from mqctl.protocol.acl import Credentials

DEFAULT_TIMEOUT_MS = 15_000
_LONGEST_MS = 60_000
_LEAVE_TIMEOUT_MS = 300
NamesrvOption = Annotated[
    str | None,
    typer.Option(
        "--namesrv",
        "-n",
        metavar="ADDRESSES",
        help="Name servers, `host:port;host:port`, or the URL of an address service. Also MQCTL_NAMESRV, NAMESRV_ADDR.",
    ),
]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile of `mqctl profile`. Also MQCTL_PROFILE.")
]
TimeoutOption = Annotated[
    str | None, typer.Option("--timeout", metavar="SPAN", help="Time limit of the command, for instance 15s.")
]


ProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy",
        metavar="HOST[:PORT]",
        help="Remoting port of a 5.x proxy, 8080 unless given; may be repeated. Also MQCTL_PROXY.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTarget:
    """What a command was told about the cluster.

    Attributes:
        source: where the address came from, for people.
        proxies: remoting ports of its proxies.
        brokers: names of those that belong to it, where the profile tells.
        option: the options that name the cluster and give access to it, for commands to type next.
    """

    namesrv: str
    timeout_ms: int
    source: str
    option: str
    cluster: str | None = None
    credentials: Credentials | None = None
    tls: TlsSettings | None = None
    room_rule: str | None = None
    proxies: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()

    def open(self) -> Cluster:
        """Returns the cluster, to be used as a context manager."""
        from mqctl.cli.connection.seen_brokers import tell_missing
        from mqctl.client.admin.cluster import Cluster

        return Cluster(
            self.namesrv,
            self.links(),
            proxies=self.proxies,
            on_brokers=partial(tell_missing, target=self),
            on_unproven=_tell_unproven,
        )

    def links(self) -> LinkSettings:
        """Returns how connections are made: signed and secured as told."""
        from mqctl.client.remoting.link import LinkSettings

        return LinkSettings(credentials=self.credentials, tls=self.tls)

    def sender(self) -> ClientSettings:
        """Returns the settings of a producer for one command: a broker that hangs does not hold up its end."""
        from mqctl.client.instance import ClientSettings

        return ClientSettings(name_servers=self.namesrv, links=self.links(), leave_timeout_ms=_LEAVE_TIMEOUT_MS)

    def patient(self) -> tuple[ClusterTarget, int | None]:
        """Returns the target with a limit for thousands of questions where nobody set one, and how much of it may be
        waited for those that do not answer (None for all of it)."""
        if self.timeout_ms != DEFAULT_TIMEOUT_MS:
            return self, None
        return replace(self, timeout_ms=_LONGEST_MS), self.timeout_ms

    def deadline(self) -> Deadline:
        """Starts the command's time, of which a little is kept for putting the answers together."""
        from mqctl.client.remoting.deadline import Deadline

        return Deadline(self.timeout_ms, spare_ms=self.timeout_ms // 32)


def _tell_unproven(peers: list[Unproven]) -> None:
    for peer in peers:
        note(
            sentence(
                "cli-unproven-answers",
                "release {release} of {address} is newer than those that mqctl knows (to {newest}): its answers to "
                "{requests} may mean something else there",
                release=peer.release,
                address=peer.address,
                newest=release_text(NEWEST),
                requests=peer.requests,
            )
        )


def cluster_target(
    namesrv: str | None, profile: str | None, timeout: str | None, *, proxies: Iterable[str] | None = None
) -> ClusterTarget:
    """Decides which cluster is meant.

    Args:
        proxies: as --proxy has them; those of the environment or of the profile unless given.

    Raises:
        UsageError: the timeout is none, or a proxy is no address.
        NotFoundError: there is no such profile.
        ConfigurationError: no cluster is named and none runs here, or several do.
    """
    timeout_ms = _timeout_ms(timeout)
    named = _proxies(";".join(proxies or ()))
    address, source = namesrv, "--namesrv"
    if address is None and profile is None:
        for variable in ("MQCTL_NAMESRV", "NAMESRV_ADDR"):
            if os.environ.get(variable):
                address, source = os.environ[variable], variable
                break
    if address is not None:
        return ClusterTarget(
            namesrv=address,
            timeout_ms=timeout_ms or DEFAULT_TIMEOUT_MS,
            source=source,
            option=_option("--namesrv", address),
            credentials=credentials_of(),
            tls=tls_of(),
            proxies=named,
        )
    chosen = _from_profile(profile or os.environ.get("MQCTL_PROFILE"), timeout_ms) or _local(timeout_ms)
    return replace(chosen, proxies=named) if named else chosen


def named_again(namesrv: str | None, profile: str | None) -> str:
    """Returns the options that name the cluster, as they were typed, with a blank before: for commands to type next in
    the same shell, which has the same environment."""
    from mqctl.cli.connection.access_options import typed_options

    words = [shell_words([word, value]) for word, value in (("-n", namesrv), ("--profile", profile)) if value]
    return "".join(f" {word}" for word in (*words, *typed_options()))


def _option(word: str, value: str) -> str:
    from mqctl.cli.connection.access_options import typed_options

    return " ".join([shell_words([word, value]), *typed_options()])


def _proxies(text: str) -> tuple[str, ...]:
    text = text or os.environ.get("MQCTL_PROXY", "")
    if not text:
        return ()
    from mqctl.client.remoting.addresses import proxy_addresses

    return proxy_addresses(text)


def _timeout_ms(text: str | None) -> int | None:
    if text is None:
        return None
    from mqctl.cli.times import parse_span_ms

    limit = parse_span_ms(text)
    if limit <= 0:
        raise UsageError(
            sentence("cli-timeout-must-greater", "--timeout must be greater than 0"),
            remedy=sentence("cli-use-instance-timeout", "use for instance --timeout 15s"),
        )
    return limit


def _from_profile(name: str | None, timeout_ms: int | None) -> ClusterTarget | None:
    directory = config_dir()
    if name is None and not (directory / "profiles.yaml").exists():
        return None
    from mqctl.cli.connection.profiles import load_profiles

    profiles = load_profiles(directory)
    chosen = name or profiles.current
    if chosen is None:
        return None
    profile = profiles.get(chosen)
    return ClusterTarget(
        namesrv=profile.namesrv,
        timeout_ms=timeout_ms or profile.timeout_ms or DEFAULT_TIMEOUT_MS,
        source=f"profile {chosen}",
        option=_option("--profile", chosen),
        cluster=profile.cluster,
        credentials=credentials_of(profile),
        tls=tls_of(profile),
        room_rule=profile.room_rule,
        proxies=_proxies(profile.proxies or ""),
        brokers=profile.brokers,
    )


def _local(timeout_ms: int | None) -> ClusterTarget:
    """The local cluster that runs, if there is just one."""
    directory = state_dir() / "local"
    running = []
    if directory.is_dir():
        from mqctl.local.state import LocalStates

        running = [state for state in LocalStates(directory).all() if state.alive]
    if len(running) == 1:
        address = running[0].ready.namesrv
        return ClusterTarget(
            namesrv=address,
            timeout_ms=timeout_ms or DEFAULT_TIMEOUT_MS,
            source=f"local cluster {running[0].name}",
            option=_option("--namesrv", address),
            credentials=credentials_of(),
            tls=tls_of(),
        )
    if running:
        names = ", ".join(f"{state.name} ({state.ready.namesrv})" for state in running)
        raise ConfigurationError(
            sentence("cli-no-cluster-selected-several", "no cluster selected and several local clusters running"),
            reason=names,
            remedy=sentence("cli-add-namesrv-host-port", "add --namesrv HOST:PORT"),
        )
    raise ConfigurationError(
        sentence("cli-no-cluster-selected", "no cluster selected and no local cluster running"),
        remedy=sentence(
            "cli-add-namesrv-host-port-profile",
            "add --namesrv HOST:PORT; or mqctl profile add NAME --namesrv HOST:PORT; or mqctl local up",
        ),
    )
