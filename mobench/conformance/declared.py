"""The check of declared settings, the same for methods and problems."""

from __future__ import annotations

from mobench.conformance.finding import Verdict
from mobench.core.settings import Configurable


def declared_settings(plugin: Configurable) -> Verdict:
    """Every default is accepted by its own declaration, and a plugin's settings rebuild it."""
    for name, setting in plugin.settings.items():
        key = f"{plugin.label()}.{name}"
        if setting.parse(key, setting.default) != setting.default:
            return Verdict(False, None, f"the default of {key} changes when it is given explicitly")
        if not setting.meaning:
            return Verdict(False, None, f"{key} does not say what it means")
    rebuilt = type(plugin)(**plugin.configuration())
    if rebuilt.configuration() != plugin.configuration():
        return Verdict(False, None, "built again from its own settings it differs")
    return Verdict(True, None, f"{len(plugin.settings)} settings, each with an accepted default and a meaning")
