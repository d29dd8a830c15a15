"""What writes and reads recordings, an extra: whether it is installed."""

from __future__ import annotations

from importlib.util import find_spec

from mqctl.errors import ConfigurationError
from mqctl.text import sentence


def require_libraries() -> None:
    """Passes where what writes and reads recordings is installed. Raises ConfigurationError."""
    missing = [name for name in ("pyarrow", "duckdb") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            sentence("could-not-work-recordings", "could not work with recordings"),
            reason=sentence("recording-not-installed", "{missing:and} not installed", missing=missing),
            remedy=sentence(
                "recording-pip-install-record-adds", "pip install 'mqctl[record]', which adds Parquet and DuckDB"
            ),
        )
