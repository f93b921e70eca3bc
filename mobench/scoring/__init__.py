"""The results table, indicators, selection, ranking and published numbers."""
