"""Builds what the wheel carries and git does not: the table of options behind the Tab."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuiltTexts(BuildHookInterface[Any]):
    """Adds the table to a wheel. An editable install gets none: a checkout builds its table at first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the table and adds it to the files of the wheel."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from mqctl.cli.catalog import BY_PATH
        from mqctl.cli.option_table import option_table
        from mqctl.main import load_command

        self._directory = TemporaryDirectory()
        place = Path(self._directory.name)
        table = place / "catalog_options.txt"
        table.write_text(f"\n{option_table(BY_PATH, load_command)}", encoding="utf-8")
        build_data["force_include"][str(table)] = f"mqctl/cli/{table.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what the wheel has taken in."""
        if version != "editable":
            self._directory.cleanup()
