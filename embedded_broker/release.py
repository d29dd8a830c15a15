"""Which release the embedded broker behaves like, where the two version lines differ."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Release:
    """One release.

    Attributes:
        ordinal: version number in frames.
        is_v5: whether it is of the 5.x line.
    """

    name: str
    ordinal: int
    is_v5: bool


RELEASES = {
    release.name: release for release in (Release("4.9.8", 409, is_v5=False), Release("5.3.3", 479, is_v5=True))
}


def as_version(name: str) -> Release:
    """Returns the release `name`.

    Raises:
        ConfigurationError: the embedded broker does not know its behaviour.
    """
    release = RELEASES.get(name)
    if release is None:
        raise ConfigurationError(
            f"cannot behave like RocketMQ {name}", reason=f"known are {', '.join(RELEASES)}", remedy="choose one"
        )
    return release


FURTHER_READING = {
    False: "\nSee http://rocketmq.apache.org/docs/faq/ for further details.",
    True: "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
}
"""What remarks about missing topics and groups end with, by version line."""
