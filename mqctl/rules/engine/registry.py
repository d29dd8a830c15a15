"""Every rule, found by walking the families: importing this module registers them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from mqctl.rules.engine.rule import RULES as _REGISTERED

for _family in iter_modules(import_module("mqctl.rules").__path__):
    if _family.name.startswith("mq"):
        _package = import_module(f"mqctl.rules.{_family.name}")
        for _theme in iter_modules(_package.__path__, f"{_package.__name__}."):
            import_module(_theme.name)

RULES = dict(sorted(_REGISTERED.items()))
"""Every rule by code, in order."""
