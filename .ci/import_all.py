"""Imports every module of packages, and fails when one asks for what is not there, but for the extras left out.

Usage: python .ci/import_all.py PACKAGE...
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

# Libraries of extras that the folder for hosts without Python leaves out (.ci/folder.py).
LEFT_OUT = {"pyspark", "pyarrow", "pandas", "numba", "matplotlib", "duckdb", "textual", "hdrh", "rocksdict", "redis"}
LEFT_OUT |= {"fsspec", "keyring", "pytest"}


def main(packages: list[str]) -> int:
    """Returns the number of modules that cannot be imported."""
    missing = []
    for package in packages:
        place = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(place, f"{package}.", onerror=lambda _name: None):
            if found.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in LEFT_OUT:
                    missing.append(f"{found.name}: {error}")
    sys.stderr.write("".join(f"cannot be imported: {line}\n" for line in missing))
    return len(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
