"""States of idempotent consumption in Redis, for members of a group on several machines (extra `mqctl[redis]`).

An entry holds its state and when that expires, by the clock of the members; Redis itself removes it a while later.
"""

from __future__ import annotations

from mqctl.client.consumer.dedup import Standing
from mqctl.errors import ConfigurationError, StorageError
from mqctl.model.numbers import decimal
from mqctl.text import sentence

_PREFIX = "mqctl:dedup:"
_WAIT_S = 5.0
_MARGIN_MS = 60_000


class RedisStates:
    """States in a Redis; each is one key that expires by itself.

    Args:
        url: `redis://host:port/number`, `rediss://...` or `unix://...`.
        prefix: of all keys, so that several groups can share a Redis.

    Raises:
        ConfigurationError: the extra is not installed, or the URL is none.
        StorageError: Redis cannot be reached, or refuses.
    """

    def __init__(self, url: str, *, prefix: str = _PREFIX) -> None:
        try:
            import redis
        except ImportError as error:
            raise ConfigurationError(
                sentence("client-dedup-states-redis-needs", "--dedup-states in Redis needs the redis client"),
                reason=sentence("not-installed", "it is not installed"),
                remedy=sentence(
                    "client-pip-install-redis-keep", "pip install 'mqctl[redis]', or keep the states in a file"
                ),
            ) from error
        self._error = redis.RedisError
        self._overtaken = redis.WatchError
        self._now_ms = 0
        self._prefix = prefix
        self._url = url
        try:
            self._redis = redis.Redis.from_url(
                url, socket_timeout=_WAIT_S, socket_connect_timeout=_WAIT_S, decode_responses=True
            )
        except ValueError as error:
            raise ConfigurationError(
                sentence("client-cannot-use-redis", "cannot use the Redis {url!r}", url=url), reason=str(error)
            ) from error
        try:
            self._redis.ping()
        except redis.RedisError as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> StorageError:
        return StorageError(
            sentence("client-states-cannot-used", "The states in {url} cannot be used", url=self._url),
            reason=str(error),
        )

    def begin(self, key: str, now_ms: int, expires_ms: int) -> Standing:
        name = self._prefix + key
        self._now_ms = now_ms
        try:
            with self._redis.pipeline() as pipe:
                pipe.watch(name)
                standing = _standing(pipe.get(name), now_ms)
                if standing is Standing.NEW:
                    pipe.multi()
                    pipe.set(name, f"{Standing.CONSUMING.value} {expires_ms}", px=self._kept_ms(expires_ms))
                    pipe.execute()
                return standing
        except self._overtaken:
            return Standing.CONSUMING  # somebody else began between the look and the entry
        except self._error as error:
            raise self._failed(error) from error

    def finish(self, key: str, expires_ms: int) -> None:
        text = f"{Standing.CONSUMED.value} {expires_ms}"
        try:
            self._redis.set(self._prefix + key, text, px=self._kept_ms(expires_ms))
        except self._error as error:
            raise self._failed(error) from error

    def _kept_ms(self, expires_ms: int) -> int:
        """How long Redis keeps an entry: a little longer than it counts, for it is the members' clock that counts."""
        return max(0, expires_ms - self._now_ms) + _MARGIN_MS

    def forget(self, key: str) -> None:
        try:
            self._redis.delete(self._prefix + key)
        except self._error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Closes the connections."""
        self._redis.close()


def _standing(text: str | None, now_ms: int) -> Standing:
    state, _, expires = (text or "").partition(" ")
    if (decimal(expires) or 0) <= now_ms:
        return Standing.NEW
    return Standing.CONSUMED if state == Standing.CONSUMED.value else Standing.CONSUMING
