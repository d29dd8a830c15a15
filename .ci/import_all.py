"""Imports every module of packages, and fails when one asks for what is not there, but for the extras left out.

Usage: python .ci/import_all.py PACKAGE...
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

from mqctl.errors import MqctlError

# Libraries of extras that the folder for hosts without Python leaves out (.ci/folder.py).
LEFT_OUT = {"pyspark", "pyarrow", "pandas", "numba", "matplotlib", "duckdb", "hdrh", "rocksdict", "redis"}
LEFT_OUT |= {"fsspec", "keyring", "pytest"}


def wants_what_is_left_out(error: BaseException | None) -> bool:
    """Tells whether an import failed for a library that is left out, be it put into words of our own."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in LEFT_OUT:
            return True
        error = error.__cause__ or error.__context__
    return False


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
            except (ModuleNotFoundError, MqctlError) as error:
                if not wants_what_is_left_out(error):
                    missing.append(f"{found.name}: {error}")
    sys.stderr.write("".join(f"cannot be imported: {line}\n" for line in missing))
    return len(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
