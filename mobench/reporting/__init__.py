"""Documents: results as Markdown, LaTeX and CSV."""
