"""Builds what the wheel carries and git does not: man pages, and the table of options behind the Tab."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuiltTexts(BuildHookInterface[Any]):
    """Adds the built texts to a wheel. An editable install gets none: a checkout builds its table at first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the texts and adds them to the files of the wheel."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from docs import man
        from mqctl.cli.catalog import BY_PATH
        from mqctl.cli.option_table import option_table
        from mqctl.main import load_command

        self._directory = TemporaryDirectory()
        place = Path(self._directory.name)
        table = place / "catalog_options.txt"
        table.write_text(f"\n{option_table(BY_PATH, load_command)}", encoding="utf-8")
        build_data["force_include"][str(table)] = f"mqctl/cli/{table.name}"
        for name, text in man.pages().items():
            (place / name).write_text(text, encoding="utf-8")
            build_data["shared_data"][str(place / name)] = f"share/man/man1/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what the wheel has taken in."""
        if version != "editable":
            self._directory.cleanup()
