"""What a method's page says of it when there is only the text of its file, which is read and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mobench.core.about import Reference

from .cards import Card, blocks

NOT_RUN = "Its code came with a submission and is not run here, so nothing was measured of it."


def source_card(method: str, source: str) -> Card | None:
    """Return the card of a method from the text of the file that defines it, None where that is not to be found."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for found in ast.walk(tree):
        if isinstance(found, ast.ClassDef) and _name(found) == method:
            reference = _reference(found)
            return Card(
                id=method,
                title=_text(found, "title") or found.name,
                words=blocks(_text(found, "words") or ast.get_docstring(found) or ""),
                formulas=(),
                details=(),
                reference=str(reference),
                link=reference.link if isinstance(reference, Reference) else "",
                settings=(),
                refusal=NOT_RUN,
            )
    return None


def _name(found: ast.ClassDef) -> str:
    return _text(found, "name") or found.name.lower()


def _text(found: ast.ClassDef, name: str) -> str:
    value = next(_assigned(found, name), None)
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _reference(found: ast.ClassDef) -> str | Reference:
    """Return the reference that a class states as a text, or as a `Reference` of texts and numbers."""
    value = next(_assigned(found, "reference"), None)
    if not isinstance(value, ast.Call):
        return _text(found, "reference")
    try:
        given = [ast.literal_eval(part) for part in value.args]
        named = {part.arg: ast.literal_eval(part.value) for part in value.keywords if part.arg is not None}
        return Reference(*given, **named)
    except Exception:  # noqa: BLE001 - whatever a stranger wrote there costs the reference alone
        return ""


def _assigned(found: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    for line in found.body:
        if not isinstance(line, (ast.Assign, ast.AnnAssign)) or line.value is None:
            continue
        targets = line.targets if isinstance(line, ast.Assign) else [line.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            yield line.value
