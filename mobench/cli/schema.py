"""`mobench schema`: what a suite file or a setting may be, as JSON Schema, for editors and other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mobench.cli.command import PLUGINS, Command
from mobench.core.settings import choice, settings_model


class Schema(Command):
    """Print the JSON Schema of suite files, or of all settings.

    An editor completes and checks a suite whose first line is `# yaml-language-server: $schema=suite.schema.json`.
    """

    name = "schema"
    loads = "plugins"
    words = ("what",)
    examples = """
  mobench schema suite > suite.schema.json
  mobench schema settings plugins=my_method.py
"""

    what: str = choice(
        None, ("suite", "settings"), meaning="suite files, or the settings of methods, problems, training"
    )
    plugins: list[str] = PLUGINS

    def execute(self) -> int:
        self.need("what")
        print(
            json.dumps(
                suite_schema() if self.what == "suite" else _settings(self.plugins), indent=2, ensure_ascii=False
            )
        )
        return 0


def suite_schema() -> dict[str, Any]:
    """Return the JSON Schema of suite files."""
    from pydantic import TypeAdapter

    from mobench.planning.suite_parts import Parts, Profile, SuiteFile

    schema: dict[str, Any] = TypeAdapter(SuiteFile).json_schema()
    for parent in (Parts, Profile):  # pydantic forgets the docstrings of inherited fields
        for name, field in TypeAdapter(parent).json_schema()["properties"].items():
            for part in (schema, schema["$defs"]["Profile"]) if "description" in field else ():
                part["properties"][name]["description"] = field["description"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _settings(plugins: list[str]) -> dict[str, Any]:
    from mobench.core.registry import load_plugins, methods, problems
    from mobench.training.optimizer import Training

    load_plugins(plugins)
    found: dict[str, Mapping[str, Any]] = {"methods": methods(), "problems": problems(), "": {"training": Training}}
    schemas = {
        part: {name: settings_model(owner).json_schema() for name, owner in kinds.items()}
        for part, kinds in found.items()
    }
    return {**schemas.pop(""), **schemas}
