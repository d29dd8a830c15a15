"""Profiles as rows."""

from __future__ import annotations

from mqctl.cli.connection.profiles import Profile, Profiles
from mqctl.render.profiles import ProfileRow


def profile_row(name: str, profile: Profile, profiles: Profiles) -> ProfileRow:
    """Returns the row of a profile; it tells where keys come from, never the keys."""
    keys = profile.acl_file or (f"${profile.access_key_env}" if profile.access_key_env else None)
    if keys is None and profile.keyring is not None:
        keys = f"keyring: {profile.keyring}"
    return ProfileRow(
        name=name,
        current=name == profiles.current,
        namesrv=profile.namesrv,
        cluster=profile.cluster,
        timeout_ms=profile.timeout_ms,
        keys=keys,
        room_rule=profile.room_rule,
        proxies=profile.proxies,
        brokers=", ".join(profile.brokers) or None,
        tls=(profile.tls_ca or "system authorities") if profile.tls else None,
    )
