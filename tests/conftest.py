"""What holds for all tests: a slow machine fails none of them, since timing is for benchmarks."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
