"""Data for the page's scripts, as scripts: a page opened from a file may not fetch, but may load a script."""

from __future__ import annotations

from typing import Any

import orjson

NAMESPACE = "mobenchData"
"""The global object that the data files fill."""

_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&'\u2028\u2029"}


def script_of(key: str, value: Any) -> bytes:
    """Return a script that puts `value` under `key`.

    The value is JSON inside a string literal, handed to `JSON.parse`: data can then neither end the script,
    nor be read as code, nor reach an object's prototype. What is not finite becomes null.
    """
    text, name = _literal(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()), _literal(key)
    return f"(window.{NAMESPACE}=window.{NAMESPACE}||new Map()).set({name},JSON.parse({text}));\n".encode()


def _literal(text: str) -> str:
    """Return a text as a string literal that is the same in every version of JavaScript, inside or outside markup."""
    return orjson.dumps(text).decode().translate(_UNSAFE)
