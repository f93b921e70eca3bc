"""Bundles beside each other: one name is one method, and a run is submitted once."""

from __future__ import annotations

from mobench.submissions.form import Bundle
from mobench.submissions.text import shown


class Neighbours:
    """What the bundles seen so far have taken."""

    def __init__(self) -> None:
        self._sources: dict[str, tuple[str | None, str]] = {}
        self._runs: dict[str, str] = {}

    def conflicts(self, bundle: Bundle) -> list[str]:
        """Return in what a bundle collides with those before it; one that does not is remembered.

        To be asked for bundles without findings only, so that a refused one takes no name.
        """
        found = []
        for method in bundle.methods:
            source, name = self._sources.get(method.name, (method.source, bundle.name))
            if source != method.source:
                found.append(f"{method.name} is the name of another source in {shown(name)}; choose another name")
        taken = sorted({self._runs[record.id] for record in bundle.records if record.id in self._runs})
        found += [f"some of its runs are already in {shown(name)}" for name in taken]
        if not found:
            self._sources |= {method.name: (method.source, bundle.name) for method in bundle.methods}
            self._runs |= {record.id: bundle.name for record in bundle.records}
        return found
