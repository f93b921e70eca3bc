import pandas as pd
import pytest

from mobench.reporting.latex import escape_latex, latex_table
from mobench.reporting.markdown import escape_markdown, markdown_table
from mobench.reporting.sheet import Cell, Sheet, number, number_cell, slug, spelled_number

SHEET = Sheet(
    "mine",
    "τ & 50 % of_it",
    ("", "a|b", "<c>"),
    ((Cell("90 %"), Cell("1.0", strong=True, interval="[0.5, 1.5]"), Cell("–")), (Cell("[x]"), Cell("2"), Cell("3"))),
    pd.DataFrame(),
    ("A note.",),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b*c", r"a\_b\*c"),
        ("x | y", r"x \| y"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("![a](b)", r"!\[a\](b)"),
        ("a\nb\r\n# c", r"a b \# c"),
        ("$x$ & `y` \\", r"\$x\$ &amp; \`y\` \\"),
        ("τ = 0.1", "τ = 0.1"),
    ],
)
def test_markdown_shows_text_as_it_is(text, expected):
    assert escape_markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50 % & #1 of $2_3", r"50 \% \& \#1 of \$2\_3"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a^b~c", r"a\textasciicircum{}b\textasciitilde{}c"),
        ("‖∇L1‖ ≤ τ", r"$\Vert$$\nabla$L1$\Vert$ $\leq$ $\tau$"),
        ("1 – 2 … 3", r"1 -- 2 \ldots{} 3"),
        ("a\nb", "a b"),
    ],
)
def test_latex_sets_text_as_it_is(text, expected):
    assert escape_latex(text) == expected


def test_a_markdown_table():
    assert markdown_table(SHEET) == (
        "|  | a\\|b | &lt;c&gt; |\n| :-- | --: | --: |\n"
        "| 90 % | **1.0 \\[0.5, 1.5\\]** | – |\n| \\[x\\] | 2 | 3 |\n\nA note.\n"
    )


def test_a_latex_table():
    assert latex_table(SHEET) == (
        "\\begin{table}\n  \\centering\\small\n  \\caption{$\\tau$ \\& 50 \\% of\\_it. A note.}\n  \\label{tab:mine}\n"
        "  \\begin{tabular}{lrr}\n    \\toprule\n"
        "     & a\\textbar{}b & \\textless{}c\\textgreater{} \\\\\n    \\midrule\n"
        "    90 \\% & \\textbf{1.0 [0.5, 1.5]} & -- \\\\\n    {[x]} & 2 & 3 \\\\\n"
        "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n"
    )


def test_numbers_and_intervals():
    nan = float("nan")
    assert [spelled_number(value) for value in (nan, None, 3, 0.12344, 123456.0)] == [
        "–",
        "–",
        "3",
        "0.1234",
        "1.23e+05",
    ]
    assert [number(value, 3) for value in (5260.4, 99.96, 123.4)] == ["5260", "100", "123"]
    assert [spelled_number(value, 1) for value in (nan, 2.25, 98.0)] == ["–", "2.2", "98.0"]
    assert number_cell(98.0, 97.0, 99.0, 1).full == "98.0 [97.0, 99.0]"
    assert number_cell(98.0, nan, nan, 1).full == "98.0"
    assert number_cell(nan, nan, nan).full == "–"


def test_file_names_keep_what_tells_numbers_apart():
    names = [
        "quadratic: scale=1e-04",
        "quadratic: scale=1e+04",
        "quadratic: scale=-1",
        "quadratic: scale=1",
        "../../etc: x=1",
    ]
    assert len({slug(name) for name in names}) == len(names)
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("compression: network=resnet-34, dataset=cifar-10") == "compression-network=resnet-34-dataset=cifar-10"
