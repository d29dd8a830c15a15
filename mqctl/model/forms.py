"""The forms of the files that outlive a command, counted from 1: a newer mqctl reads the older ones, an older one
refuses a newer by name instead of misreading it.

A form is raised when an older mqctl would get a file wrong: a field that changes what others mean, or one that it must
not leave out. tests/model/test_forms.py keeps a file of each form.
"""

from __future__ import annotations

from mqctl import __version__
from mqctl.text import sentence

PROFILES = 1
CHECKS = 1
JOURNAL = 2
"""Form 1 had a layout for each kind of change."""
SNAPSHOT = 2
"""Form 1 gave no cause of what could not be asked."""
DRILL = 1
RECORDING = 1
"""Stands in every file as `recording/1`."""
FORMS = {
    "profiles": PROFILES,
    "checks": CHECKS,
    "journal": JOURNAL,
    "snapshot": SNAPSHOT,
    "drill": DRILL,
    "recording": RECORDING,
}
"""What `mqctl --version -o json` tells."""
UPGRADE = sentence("forms-upgrade", "upgrade this mqctl, or use the one that wrote it")


def newer_than_known(written: int, known: int) -> str | None:
    """The reason not to read a file of form `written`; None where it is known."""
    if written <= known:
        return None
    return sentence(
        "forms-newer-than-known",
        "it was written by a newer mqctl: it has form {written}, and mqctl {version} reads forms up to {known}",
        written=written,
        version=__version__,
        known=known,
    )
