"""The language that a command line speaks: that of --lang, else of MQCTL_LANG, else English."""

from __future__ import annotations

import os

from mqctl.errors import ConfigurationError
from mqctl.model.lang import Lang
from mqctl.text import sentence

_asked: list[Lang] = []


def ask_for(lang: Lang | None) -> Lang | None:
    """Notes what --lang says, for what is written later; a callback of the option."""
    if lang is not None:
        _asked[:] = [lang]
    return lang


def spoken() -> Lang | None:
    """Returns the language of this command line; None where nobody asked for one.

    Raises:
        ConfigurationError: MQCTL_LANG names none that mqctl speaks.
    """
    if _asked:
        return _asked[0]
    text = os.environ.get("MQCTL_LANG")
    if not text:
        return None
    try:
        return Lang(text.lower())
    except ValueError as error:
        raise ConfigurationError(
            sentence("cli-lang-not-language", "MQCTL_LANG={text} is not a language of mqctl", text=text),
            remedy=sentence("cli-use-unset", "use one of: {known}, or unset it", known=tuple(Lang)),
        ) from error
