"""The leaderboard as a static site: pages, pictures, drill-down data and downloads, made of stored results."""

from .build import SiteOptions, build_site

__all__ = ["SiteOptions", "build_site"]
