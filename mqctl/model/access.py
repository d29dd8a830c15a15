"""Users and access entries of 5.x, and what a broker decides by them.

Source: `AclAuthorizationHandler`, `Resource`, `PolicyEntry` of 5.3.3. Recorded are refusals without an entry, a literal
Deny beside a prefix, and two prefixes. How a broker ranks entries that fit one request depends on the order in which
they were added: see `ranked`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass

SUPER, NORMAL = "Super", "Normal"
ENABLE, DISABLE = "enable", "disable"
ALLOW, DENY = "Allow", "Deny"
CUSTOM, DEFAULT = "Custom", "Default"
ALL = "All"
ACTIONS = (ALL, "Pub", "Sub", "Create", "Update", "Delete", "Get", "List")
ANYTHING = "*"
RESOURCE_TYPES = ("Cluster", "Topic", "Group")


@dataclass(frozen=True, slots=True)
class AccessUser:
    """A user of a broker, without the password.

    Attributes:
        kind: `Super` or `Normal`.
        status: `enable` or `disable`.
    """

    name: str
    kind: str = NORMAL
    status: str = ENABLE


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """What a user may, or may not, do with a resource.

    Attributes:
        resource: `*`, or `Topic:name`, `Group:name`, `Cluster:name`, where the name may be `*` or end with it.
        sources: addresses, ranges or networks that it counts for; none is everywhere.
        policy: `Custom`, or `Default`, which counts where nothing of the first fits.
    """

    resource: str
    actions: tuple[str, ...]
    decision: str = ALLOW
    sources: tuple[str, ...] = ()
    policy: str = CUSTOM

    @property
    def kind(self) -> str:
        return self.resource.partition(":")[0]

    @property
    def name(self) -> str:
        """The name, or what names begin with, without the star."""
        return self.resource.partition(":")[2].removesuffix("*")

    @property
    def is_literal(self) -> bool:
        return not self.resource.endswith("*")

    @property
    def is_whole_kind(self) -> bool:
        return self.resource.endswith(":*")

    def fits(self, resource: str, actions: Sequence[str], address: str) -> bool:
        """Tells whether the entry speaks of any of the actions on a resource, asked from an address."""
        if not self._covers(resource):
            return False
        if ALL not in self.actions and not any(action in self.actions for action in actions):
            return False
        return not self.sources or any(source_holds(source, address) for source in self.sources)

    def _covers(self, resource: str) -> bool:
        if self.resource == ANYTHING:
            return True
        kind, _, name = resource.partition(":")
        if kind != self.kind:
            return False
        return name == self.name if self.is_literal else name.startswith(self.name)

    def overlaps(self, other: AccessEntry) -> bool:
        """Tells whether one request can fit both entries."""
        shared = ALL in self.actions or ALL in other.actions or bool(set(self.actions) & set(other.actions))
        if not shared:
            return False
        if ANYTHING in (self.resource, other.resource):
            return True
        if self.kind != other.kind:
            return False
        if self.is_literal or other.is_literal:
            return self._covers(other.resource) if other.is_literal else other._covers(self.resource)
        return self.name.startswith(other.name) or other.name.startswith(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessState:
    """The users of one broker with their entries.

    Attributes:
        entries: by user, in the order in which the broker lists them.
        well_known: users whose password everybody tries first; the password itself is nowhere kept.
        unchecked: access files of 4.9 whose white list lets requests from everywhere in.
        unsigned: accounts of 4.9 that need no signature, from anywhere.
        listed: whether this is what access files of 4.9 say; `access_list` decides by them then.
        white, white_of: of 4.9, addresses from which nothing is checked, and the same of single accounts.
    """

    users: tuple[AccessUser, ...] = ()
    entries: Mapping[str, tuple[AccessEntry, ...]] = field(default_factory=dict)
    well_known: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    unsigned: tuple[str, ...] = ()
    listed: bool = False
    white: tuple[str, ...] = ()
    white_of: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccessFile:
    """One file of the access list of a 4.9 broker; what it holds no request tells.

    Attributes:
        change_count: how often it was changed by request.
        changed_ms: when it was changed last, or read first, epoch milliseconds.
    """

    path: str
    change_count: int
    changed_ms: int


_TRIED_FIRST = frozenset({"12345678", "1234567", "123456", "rocketmq", "admin", "password", "test", "secret"})


def is_well_known(name: str, password: str) -> bool:
    """Tells whether a password is one of RocketMQ's examples, one that everybody tries, or the name itself."""
    return password.lower() in _TRIED_FIRST or password == name


@dataclass(frozen=True, slots=True)
class Decision:
    """What a broker says to one action on one resource.

    Attributes:
        reason: a refusal's words as the broker writes them; where it is allowed empty, or why nothing is checked.
        entry: the entry that decides; None for a Super user, and where none fits.
        against: entries that fit as well and say the opposite: with them, the order of additions decides.
    """

    allowed: bool
    reason: str = ""
    entry: AccessEntry | None = None
    against: tuple[AccessEntry, ...] = ()


def decide_access(
    user: AccessUser, entries: Sequence[AccessEntry], resource: str, actions: Sequence[str], address: str
) -> Decision:
    """Returns what a broker decides.

    Args:
        entries: all of the user, in the order in which the broker lists them.
        actions: of which any one is enough.
        address: where the request comes from, without port.
    """
    if user.status == DISABLE:
        return Decision(allowed=False, reason=_disabled(user))
    if user.kind == SUPER:
        return Decision(allowed=True)
    for policy in (CUSTOM, DEFAULT):
        fitting = [item for item in entries if item.policy == policy and item.fits(resource, actions, address)]
        if fitting:
            best = ranked(fitting)[0]
            against = tuple(item for item in fitting if item.decision != best.decision)
            allowed = best.decision == ALLOW
            reason = "" if allowed else _refusal(user, resource, address, "the decision is deny.")
            return Decision(allowed=allowed, reason=reason, entry=best, against=against)
    return Decision(allowed=False, reason=_refusal(user, resource, address, "no matched policies."))


def _disabled(user: AccessUser) -> str:
    return f"User:{user.name} is disabled."  # a broker's words, as below


def _refusal(user: AccessUser, resource: str, address: str, why: str) -> str:
    return f"User:{user.name} has no permission to access {resource} from {address}, {why}"


def ranked(entries: Sequence[AccessEntry]) -> list[AccessEntry]:
    """Sorts entries as Java does with the broker's comparator, which contradicts itself.

    A literal name and a prefix each come before the other, so that of the two the one added last wins. Java sorts up
    to 31 items by insertion behind a first run; longer lists it sorts in parts, which is not imitated.
    """
    items = list(entries)
    run = 1
    if len(items) > 1 and _compare(items[1], items[0]) < 0:
        run = 2
        while run < len(items) and _compare(items[run], items[run - 1]) < 0:
            run += 1
        items[:run] = reversed(items[:run])
    else:
        while run < len(items) and _compare(items[run], items[run - 1]) >= 0:
            run += 1
    for at in range(run, len(items)):
        pivot = items.pop(at)
        low, high = 0, at
        while low < high:
            middle = (low + high) // 2
            if _compare(pivot, items[middle]) < 0:
                high = middle
            else:
                low = middle + 1
        items.insert(low, pivot)
    return items


def _compare(one: AccessEntry, other: AccessEntry) -> int:
    """Returns less than 0 where the first comes first (`AclAuthorizationHandler.comparePolicyEntries`)."""
    if (one.resource == ANYTHING) != (other.resource == ANYTHING):
        return 1 if one.resource == ANYTHING else -1
    if one.is_literal != other.is_literal or one.is_whole_kind != other.is_whole_kind:
        return 0 if one.is_whole_kind else -1
    return 0 if one.is_literal else len(one.name) - len(other.name)


def source_problem(text: str) -> bool:
    """Tells whether a text is no address, no range (`10.0.0.1-10.0.0.9`) and no network (`10.0.0.0/8`)."""
    try:
        _bounds(text)
    except ValueError:
        return True
    return False


def source_holds(source: str, address: str) -> bool:
    """Tells whether an address lies in an address, a range or a network."""
    from ipaddress import ip_address

    try:
        low, high = _bounds(source)
        own = ip_address(address)
    except ValueError:
        return False
    return own.version == low[0] and low[1] <= int(own) <= high[1]


def _bounds(source: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns version and number of the first and last address. Raises ValueError."""
    from ipaddress import ip_address, ip_network

    if "/" in source:
        network = ip_network(source, strict=False)
        return (network.version, int(network[0])), (network.version, int(network[-1]))
    first, dash, last = source.partition("-")
    low = ip_address(first)
    high = ip_address(last) if dash else low
    if high.version != low.version:
        raise ValueError(source)
    return (low.version, int(low)), (high.version, int(high))
