"""Where a store is verified: in this process, or by Spark's executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mqctl.cli.options.spark import LOCAL, session_settings, started
from mqctl.errors import UsageError
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import Verifier, verify
from mqctl.text import sentence


@contextmanager
def verifier(location: str, *, on_spark: bool, master: str | None, conf: Sequence[str] | None) -> Iterator[Verifier]:
    """Yields what verifies the store at `location`; a session lives as long as the block. A `master` asks for Spark.

    Raises:
        UsageError: settings of Spark without Spark.
        ConfigurationError: Spark or Java is missing.
    """
    if not on_spark and master is None:
        if conf:
            raise UsageError(
                sentence("store-conf-setting-spark", "--conf is a setting of Spark"),
                remedy=sentence("store-add-spark-master-url", "add --spark, or --master URL"),
            )
        yield verify
        return
    with started(session_settings(master or LOCAL, conf)) as spark:
        from mqctl.spark.verification import verify_on_spark

        yield lambda store, progress: verify_on_spark(spark, location, store, progress)


@contextmanager
def store_at(place: str) -> Iterator[tuple[str, StoreDirectory]]:
    """Opens a store by its directory or URL, and yields where executors on this machine find it, too.

    Raises:
        NotFoundError: there is no such directory.
        BadInputError: it is no store.
        ConfigurationError: no library opens such a URL.
    """
    if "://" not in place:
        path = Path(place)
        yield str(path.absolute()), StoreDirectory.open(path)
        return
    from mqctl.spark.scan.planning import open_store
    from mqctl.spark.scan.remote import leave

    try:
        yield place, open_store(place)
    finally:
        leave()
