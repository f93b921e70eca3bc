"""Tables in LaTeX, for `booktabs`, in characters that every LaTeX engine can set."""

from __future__ import annotations

from mobench.reporting.format import headings, lines_of
from mobench.reporting.notes import sentences
from mobench.scoring.tables import Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_SYMBOLS = {
    **dict(zip("–—…“”", ("--", "---", r"\ldots{}", "``", "''"), strict=True)),
    **{
        character: f"${command}$"
        for character, command in {
            "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "ε": r"\epsilon", "θ": r"\theta", "κ": r"\kappa",
            "λ": r"\lambda", "µ": r"\mu", "μ": r"\mu", "σ": r"\sigma", "τ": r"\tau", "∇": r"\nabla",
            "‖": r"\Vert", "ℓ": r"\ell", "×": r"\times", "±": r"\pm", "·": r"\cdot", "−": "-", "≈": r"\approx",
            "≤": r"\leq", "≥": r"\geq", "∞": r"\infty", "→": r"\to", "∥": r"\parallel",
            "↑": r"\uparrow", "↓": r"\downarrow", "²": "^2", "³": "^3", "°": r"^\circ",
        }.items()
    },
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Return text that LaTeX sets as it is; symbols of formulas become commands of maths mode."""
    return "".join(_SPECIAL.get(character, _SYMBOLS.get(character, character)) for character in " ".join(text.split()))


def latex_table(table: Table) -> str:
    """Return a `table` environment with caption, label and notes; the preamble needs `booktabs`."""
    caption = escape_latex(". ".join(part.rstrip(".") for part in (table.title, *sentences(table))) + ".")
    first, *header = headings(table)
    lines = [
        r"\begin{table}",
        r"  \centering\small",
        f"  \\caption{{{caption}}}",
        f"  \\label{{tab:{table.name}}}",
        f"  \\begin{{tabular}}{{l{'r' * len(header)}}}",
        r"    \toprule",
        _line([escape_latex(text) for text in (first, *header)]),
        r"    \midrule",
        *(_line([escape_latex(text) for text in texts]) for texts in lines_of(table)),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(texts: list[str]) -> str:
    # A row that starts with a bracket would be read as the optional argument of the \\ before it.
    return "    " + " & ".join(f"{{{text}}}" if text.startswith("[") else text for text in texts) + r" \\"
