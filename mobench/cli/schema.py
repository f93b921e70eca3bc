"""`mobench schema suite`: the JSON Schema of suite files, for editors."""

from __future__ import annotations

import json
from typing import Any

from mobench.cli.command import Command


class Schema(Command):
    """Print the JSON Schema of suite files.

    An editor completes and checks a suite whose first line is `# yaml-language-server: $schema=suite.schema.json`.
    """

    name = "schema suite"
    examples = """
  mobench schema suite > suite.schema.json
"""

    def execute(self) -> int:
        print(json.dumps(suite_schema(), indent=2, ensure_ascii=False))
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
